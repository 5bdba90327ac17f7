//! Changes to the text of a configuration file: text in, text out.
//!
//! Everything else keeps its spelling, comments and order. A change without effect returns the same text, byte for
//! byte.
//!
//! Not here: whether the result is a valid configuration ([`crate::verify`]), and writing it ([`crate::user_file`]).

use serde_json::Value as Json;
use toml_edit::Array;
use toml_edit::ArrayOfTables;
use toml_edit::DocumentMut;
use toml_edit::InlineTable;
use toml_edit::Item;
use toml_edit::Table;
use toml_edit::TableLike;
use toml_edit::Value;

use crate::value;
use crate::value::dotted;
use crate::value::segments;

/// One change at one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The names of the path. Invariant: at least one.
    names: Vec<String>,
    /// The change at the path.
    pub change: ValueEdit,
}

/// The kind of change.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueEdit {
    /// The value replaces the existing one.
    Replace(Json),
    /// A table is merged with the existing one, any other value replaces it.
    Merge(Json),
    /// The existing value is removed.
    Clear,
}

/// Why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The path is empty.
    #[error("the path of a key must not be empty")]
    NoPath,
    /// The text is not TOML.
    #[error("the file is not TOML: {0}")]
    NotToml(String),
    /// A name on the path has a value that is not a table.
    #[error("`{0}` is not a table, so nothing can be set in it")]
    NotATable(String),
    /// The table in which something should be cleared does not exist.
    #[error("there is no `{0}`")]
    NotFound(String),
    /// The value cannot be written.
    #[error("`{path}` cannot be set: {reason}")]
    Value {
        /// The dotted path of the value.
        path: String,
        /// Why the value cannot be written.
        reason: &'static str,
    },
}

impl Edit {
    /// A change at a dotted path. A name in double quotes may contain dots.
    ///
    /// # Errors
    /// When the path is empty.
    pub fn at(path: &str, change: ValueEdit) -> Result<Self, EditError> {
        if path.trim().is_empty() {
            return Err(EditError::NoPath);
        }
        Ok(Self { names: segments(path).map(str::to_owned).collect(), change })
    }

    /// A change of a top-level key.
    pub fn top(name: &str, change: ValueEdit) -> Self {
        Self { names: vec![name.to_owned()], change }
    }

    /// Extends the path by one name.
    pub fn under(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    /// The names of the path.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// Makes changes one after the other; all of them or none.
///
/// ```
/// use pellucid_config::edit::{ValueEdit, Edit, apply};
///
/// let edit = Edit::at("features.sqlite", ValueEdit::Replace(true.into()))?;
/// let text = apply("model = \"o3\" # fast\n", &[edit])?;
/// assert_eq!(text, "model = \"o3\" # fast\n\n[features]\nsqlite = true\n");
/// # Ok::<(), pellucid_config::edit::EditError>(())
/// ```
///
/// # Errors
/// When the text is not TOML, or a change cannot be made.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    changed(text, |document| {
        edits.iter().try_for_each(|edit| match &edit.change {
            ValueEdit::Replace(value) => set(document, &edit.names, value, Merging::Replace),
            ValueEdit::Merge(value) => set(document, &edit.names, value, Merging::Merge),
            ValueEdit::Clear => clear(document, &edit.names),
        })
    })
}

/// Switches a skill on or off. Only skills that are off are in the file: switching a skill on removes its entry.
/// `is_it` decides whether a path in the file means the skill.
///
/// # Errors
/// When the text is not TOML, or `skills` is not a table with a list.
pub fn switch_skill(text: &str, path: &str, enabled: bool, is_it: &dyn Fn(&str) -> bool) -> Result<String, EditError> {
    const SKILLS: &str = "skills";
    const CONFIG: &str = "config";
    changed(text, |document| {
        let root = document.as_table_mut();
        if enabled && !root.contains_key(SKILLS) {
            return Ok(());
        }
        let skills = full_table(root, SKILLS, SKILLS)?;
        if let Some(Item::Value(Value::Array(array))) = skills.get(CONFIG) {
            // The list may be written in brackets; it is written as tables from now on.
            let entries: Option<ArrayOfTables> =
                array.iter().map(|entry| Some(entry.as_inline_table()?.clone().into_table())).collect();
            let entries = entries.ok_or_else(|| EditError::NotATable("skills.config".to_owned()))?;
            skills.insert(CONFIG, Item::ArrayOfTables(entries));
        }
        let entries = skills
            .entry(CONFIG)
            .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()))
            .as_array_of_tables_mut()
            .ok_or_else(|| EditError::NotATable("skills.config".to_owned()))?;
        entries.retain(|entry| !entry.get("path").and_then(Item::as_str).is_some_and(is_it));
        if !enabled {
            let mut entry = Table::new();
            entry.insert("path", toml_edit::value(path));
            entry.insert("enabled", toml_edit::value(false));
            entries.push(entry);
        }
        if entries.is_empty() {
            skills.remove(CONFIG);
        }
        if skills.is_empty() {
            root.remove(SKILLS);
        }
        Ok(())
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Merging {
    Replace,
    Merge,
}

fn changed(text: &str, change: impl FnOnce(&mut DocumentMut) -> Result<(), EditError>) -> Result<String, EditError> {
    let not_toml = |message: String| EditError::NotToml(message);
    let before = value::Table::parse(text, 0).map_err(|fault| not_toml(fault.message))?;
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| not_toml(error.to_string()))?;
    change(&mut document)?;
    let new = document.to_string();
    let after = value::Table::parse(&new, 0).map_err(|fault| not_toml(fault.message))?;
    // If no value changes, the text keeps the user's spelling.
    Ok(if before.to_json() == after.to_json() { text.to_owned() } else { new })
}

/// A table, by how it is written: with a header or dots, or in braces, which cannot contain headers.
enum Place<'t> {
    Full(&'t mut Table),
    Inline(&'t mut InlineTable),
}

impl<'t> Place<'t> {
    fn of(item: &'t mut Item) -> Option<Self> {
        match item {
            Item::Table(table) => Some(Self::Full(table)),
            Item::Value(Value::InlineTable(table)) => Some(Self::Inline(table)),
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Full(table) => table.contains_key(name),
            Self::Inline(table) => table.contains_key(name),
        }
    }

    fn get(self, name: &str) -> Option<&'t mut Item> {
        match self {
            Self::Full(table) => table.get_mut(name),
            Self::Inline(table) => TableLike::get_mut(table, name),
        }
    }

    fn insert_table(&mut self, name: &str) {
        match self {
            Self::Full(table) => table.insert(name, Item::Table(implicit())),
            Self::Inline(table) => TableLike::insert(*table, name, Item::Value(InlineTable::new().into())),
        };
    }

    fn remove(self, name: &str) {
        match self {
            Self::Full(table) => table.remove(name),
            Self::Inline(table) => TableLike::remove(table, name),
        };
    }

    /// Inserts a value. It takes over the comments of the value it replaces.
    fn put<'v>(
        self,
        name: &'v str,
        value: &'v Json,
        merging: Merging,
        path: &mut Vec<&'v str>,
    ) -> Result<(), EditError> {
        path.push(name);
        let is_inline = matches!(self, Self::Inline(_));
        let table: &mut dyn TableLike = match self {
            Self::Full(table) => table,
            Self::Inline(table) => table,
        };
        if merging == Merging::Merge
            && let Json::Object(members) = value
            && table.get(name).is_some_and(Item::is_table_like)
        {
            for (member, value) in members {
                if let Some(there) = table.get_mut(name).and_then(Place::of) {
                    there.put(member, value, merging, path)?;
                }
            }
            path.pop();
            return Ok(());
        }
        let mut new = match value {
            Json::Object(members) if !is_inline => Item::Table(full(members, path)?),
            _ => Item::Value(plain(value, path)?),
        };
        path.pop();
        let Some(old) = table.get_mut(name) else {
            table.insert(name, new);
            if is_inline {
                // Formats the spaces around the commas.
                table.fmt();
            }
            return Ok(());
        };
        match (&*old, &mut new) {
            (Item::Value(old), Item::Value(new)) => new.decor_mut().clone_from(old.decor()),
            (Item::Table(old), Item::Table(new)) => {
                new.decor_mut().clone_from(old.decor());
                new.set_position(old.position());
            }
            _ => {}
        }
        *old = new;
        Ok(())
    }
}

fn set(document: &mut DocumentMut, names: &[String], value: &Json, merging: Merging) -> Result<(), EditError> {
    let Some((last, parents)) = names.split_last() else { return Err(EditError::NoPath) };
    let mut place = Place::Full(document.as_table_mut());
    let mut path: Vec<&str> = Vec::new();
    for name in parents {
        path.push(name);
        if !place.has(name) {
            place.insert_table(name);
        }
        place = place.get(name).and_then(Place::of).ok_or_else(|| EditError::NotATable(dotted(&path)))?;
    }
    place.put(last, value, merging, &mut path)
}

fn clear(document: &mut DocumentMut, names: &[String]) -> Result<(), EditError> {
    let Some((last, parents)) = names.split_last() else { return Err(EditError::NoPath) };
    let mut place = Place::Full(document.as_table_mut());
    let mut path: Vec<&str> = Vec::new();
    for name in parents {
        path.push(name);
        place = place.get(name).and_then(Place::of).ok_or_else(|| EditError::NotFound(dotted(&path)))?;
    }
    place.remove(last);
    Ok(())
}

fn full<'v>(members: &'v serde_json::Map<String, Json>, path: &mut Vec<&'v str>) -> Result<Table, EditError> {
    let mut table = implicit();
    for (name, value) in members {
        path.push(name);
        let item = match value {
            Json::Object(members) => Item::Table(full(members, path)?),
            _ => Item::Value(plain(value, path)?),
        };
        path.pop();
        table.insert(name, item);
    }
    table.set_implicit(!table.is_empty() && table.iter().all(|(_, item)| item.is_table()));
    Ok(table)
}

fn plain(value: &Json, path: &[&str]) -> Result<Value, EditError> {
    let refused = |reason| EditError::Value { path: dotted(path), reason };
    Ok(match value {
        Json::Null => return Err(refused("null is not a value of TOML")),
        Json::Bool(flag) => (*flag).into(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) if !value.is_u64() => number.into(),
            _ => return Err(refused("the number is too large")),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => {
            let items: Result<Array, _> = items.iter().map(|item| plain(item, path)).collect();
            items?.into()
        }
        Json::Object(members) => {
            let mut table = InlineTable::new();
            for (name, value) in members {
                table.insert(name, plain(value, path)?);
            }
            table.into()
        }
    })
}

/// A table without a header, as long as it only contains tables.
fn implicit() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

/// The table of a name with a header; one in braces is converted.
fn full_table<'t>(parent: &'t mut Table, name: &str, path: &str) -> Result<&'t mut Table, EditError> {
    let item = parent.entry(name).or_insert_with(|| Item::Table(implicit()));
    if item.is_inline_table() {
        let inline = std::mem::take(item);
        let mut table = inline.into_table().map_err(|_| EditError::NotATable(path.to_owned()))?;
        // The header is needed only for values that are not tables themselves.
        table.set_implicit(true);
        parent.remove(name);
        parent.insert(name, Item::Table(table));
    }
    parent.get_mut(name).and_then(Item::as_table_mut).ok_or_else(|| EditError::NotATable(path.to_owned()))
}

#[cfg(test)]
mod tests;
