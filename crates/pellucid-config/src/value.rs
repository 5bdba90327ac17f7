//! Configuration values that know where they were written.
//!
//! A TOML document becomes a [`Table`] in the order of the file, each key and value with its place.
//!
//! Not here: what a key means (`keys`), or which of two values wins (`layers`).

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;

/// Where a value was written: a layer, and the bytes in its file if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValuePlace {
    /// The index of the layer in its stack.
    pub layer: usize,
    /// The first byte of the value.
    pub start: usize,
    /// The byte after the last byte.
    pub end: usize,
}

impl ValuePlace {
    fn of(layer: usize, span: &Range<usize>) -> Self {
        Self { layer, start: span.start, end: span.end }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The data of the value.
    pub data: Data,
    /// Where it was written.
    pub place: ValuePlace,
}

/// The data of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// A TOML string.
    String(String),
    /// A TOML whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or time, as written.
    Datetime(String),
    /// A list of values.
    List(Vec<Value>),
    /// A table of named values.
    Table(Table),
}

/// Named values in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    entries: Vec<TableEntry>,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct TableEntry {
    /// The name in the table.
    pub key: String,
    /// Where the name was written.
    pub place: ValuePlace,
    /// The value with its place.
    pub value: Value,
}

/// Why a text is not TOML, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxFault {
    /// What is wrong with the text.
    pub message: String,
    /// The bytes that are wrong.
    pub span: Range<usize>,
}

impl Table {
    /// Reads a TOML document as the table of a layer.
    ///
    /// # Errors
    ///
    /// When the text is not TOML.
    pub fn parse(text: &str, layer: usize) -> Result<Self, SyntaxFault> {
        let document = DeTable::parse(text).map_err(|error| SyntaxFault {
            message: error.message().to_owned(),
            span: error.span().unwrap_or_default(),
        })?;
        from_table(document.into_inner(), layer)
    }

    /// Whether the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in their order.
    pub fn iter(&self) -> impl Iterator<Item = &TableEntry> {
        self.entries.iter()
    }

    /// The entries in their order, mutable.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TableEntry> {
        self.entries.iter_mut()
    }

    /// The value of a name.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The value under a path of names.
    pub fn at<'k>(&self, path: impl IntoIterator<Item = &'k str>) -> Option<&Value> {
        let mut segments = path.into_iter();
        let first = self.get(segments.next()?)?;
        segments.try_fold(first, |value, segment| value.as_table()?.get(segment))
    }

    /// Sets a value under a path of names. Missing tables are created; any other value on the path is replaced by a
    /// table.
    pub fn set(&mut self, path: &[&str], value: Value) {
        let Some((first, rest)) = path.split_first() else { return };
        let place = value.place;
        let slot = self.slot(first, place);
        if rest.is_empty() {
            *slot = value;
            return;
        }
        if !matches!(slot.data, Data::Table(_)) {
            *slot = Value { data: Data::Table(Self::default()), place };
        }
        if let Data::Table(table) = &mut slot.data {
            table.set(rest, value);
        }
    }

    /// Lays another table over this one: tables merge, everything else is replaced.
    pub fn overlay(&mut self, upper: &Self) {
        for entry in &upper.entries {
            match self.entries.iter_mut().find(|lower| lower.key == entry.key) {
                None => self.entries.push(entry.clone()),
                Some(lower) => match (&mut lower.value.data, &entry.value.data) {
                    (Data::Table(lower), Data::Table(upper)) => lower.overlay(upper),
                    _ => lower.clone_from(entry),
                },
            }
        }
    }

    /// A table of these entries.
    pub(crate) fn of(entries: Vec<TableEntry>) -> Self {
        Self { entries }
    }

    /// The table as JSON, for lists of layers.
    pub fn to_json(&self) -> serde_json::Value {
        self.entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
    }

    fn slot(&mut self, key: &str, place: ValuePlace) -> &mut Value {
        let index = self.entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            let value = Value { data: Data::Table(Self::default()), place };
            self.entries.push(TableEntry { key: key.to_owned(), place, value });
            self.entries.len() - 1
        });
        &mut self.entries[index].value
    }
}

impl Data {
    /// A JSON value as a value of the configuration; `null` is none.
    pub fn of_json(value: &serde_json::Value) -> Option<Self> {
        let inner = |value| Some(Value { data: Self::of_json(value)?, place: ValuePlace::default() });
        Some(match value {
            serde_json::Value::Null => return None,
            serde_json::Value::Bool(it) => Self::Boolean(*it),
            serde_json::Value::Number(it) => {
                it.as_i64().map_or_else(|| Self::Float(it.as_f64().unwrap_or_default()), Self::Integer)
            }
            serde_json::Value::String(it) => Self::String(it.clone()),
            serde_json::Value::Array(list) => Self::List(list.iter().filter_map(inner).collect()),
            serde_json::Value::Object(map) => {
                let mut table = Table::default();
                for (key, value) in map {
                    if let Some(value) = inner(value) {
                        table.set(&[key], value);
                    }
                }
                Self::Table(table)
            }
        })
    }
}

impl Value {
    /// Reads the right side of an assignment, as a value without a file. `None` if it is not TOML.
    pub fn parse(text: &str, layer: usize) -> Option<Self> {
        const NAME: &str = "value";
        let document = format!("{NAME} = {text}");
        let table = Table::parse(&document, layer).ok()?;
        let mut value = table.get(NAME)?.clone();
        value.move_to(ValuePlace { layer, ..ValuePlace::default() });
        Some(value)
    }

    /// Text as a value without a file.
    pub fn text(text: &str, layer: usize) -> Self {
        Self { data: Data::String(text.to_owned()), place: ValuePlace { layer, ..ValuePlace::default() } }
    }

    /// The value as a table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value as a list, if it is one.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.data {
            Data::List(values) => Some(values),
            _ => None,
        }
    }

    /// The value as a text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a whole number, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self.data {
            Data::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// The value as a number, whole or not, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self.data {
            Data::Float(number) => Some(number),
            Data::Integer(number) => Some(number as f64),
            _ => None,
        }
    }

    /// The value as a boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Boolean(flag) => Some(flag),
            _ => None,
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.data {
            Data::String(text) | Data::Datetime(text) => text.as_str().into(),
            Data::Integer(number) => (*number).into(),
            Data::Float(number) => (*number).into(),
            Data::Boolean(flag) => (*flag).into(),
            Data::List(values) => values.iter().map(Self::to_json).collect(),
            Data::Table(table) => table.to_json(),
        }
    }

    pub(crate) fn move_to(&mut self, place: ValuePlace) {
        self.place = place;
        match &mut self.data {
            Data::List(values) => values.iter_mut().for_each(|value| value.move_to(place)),
            Data::Table(table) => {
                for entry in &mut table.entries {
                    entry.place = place;
                    entry.value.move_to(place);
                }
            }
            _ => {}
        }
    }
}

/// Splits a dotted path into names. A name in double quotes may contain dots.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        if let Some(quoted) = text.strip_prefix('"')
            && let Some((name, tail)) = quoted.split_once('"')
        {
            rest = tail.strip_prefix('.');
            return Some(name);
        }
        let (name, tail) = text.split_once('.').map_or((text, None), |(name, tail)| (name, Some(tail)));
        rest = tail;
        Some(name)
    })
}

/// Joins names to a dotted path that [`segments`] splits again.
pub fn dotted(names: &[&str]) -> String {
    let mut path = String::new();
    for name in names {
        if !path.is_empty() {
            path.push('.');
        }
        if name.contains('.') {
            path.push('"');
            path.push_str(name);
            path.push('"');
        } else {
            path.push_str(name);
        }
    }
    path
}

fn from_table(table: DeTable<'_>, layer: usize) -> Result<Table, SyntaxFault> {
    let entries = table
        .into_iter()
        .map(|(key, value)| {
            let place = ValuePlace::of(layer, &key.span());
            let value = from_value(value, layer)?;
            Ok(TableEntry { key: key.into_inner().into_owned(), place, value })
        })
        .collect::<Result<_, SyntaxFault>>()?;
    Ok(Table { entries })
}

fn from_value(value: Spanned<DeValue<'_>>, layer: usize) -> Result<Value, SyntaxFault> {
    let span = value.span();
    let place = ValuePlace::of(layer, &span);
    let too_large = || SyntaxFault { message: "the number is too large".to_owned(), span: span.clone() };
    let data = match value.into_inner() {
        DeValue::String(text) => Data::String(text.into_owned()),
        DeValue::Integer(number) => {
            Data::Integer(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| too_large())?)
        }
        DeValue::Float(number) => Data::Float(number.as_str().parse().map_err(|_| too_large())?),
        DeValue::Boolean(flag) => Data::Boolean(flag),
        DeValue::Datetime(time) => Data::Datetime(time.to_string()),
        DeValue::Array(values) => {
            Data::List(values.into_iter().map(|value| from_value(value, layer)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Data::Table(from_table(table, layer)?),
    };
    Ok(Value { data, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_segments(path: &str, expected: &[&str]) {
        let names: Vec<_> = segments(path).collect();
        assert_eq!(names, expected);
        assert_eq!(dotted(&names), path);
    }

    #[test]
    fn paths_are_cut_at_dots_outside_quotes() {
        check_segments("model", &["model"]);
        check_segments("a.b.c", &["a", "b", "c"]);
        check_segments(r#"projects."/a.b".trust_level"#, &["projects", "/a.b", "trust_level"]);
        check_segments("a.", &["a", ""]);
    }

    #[test]
    fn a_place_is_that_of_the_value_and_of_the_header() {
        let text = "model = 5\n[a.b]\nc = 1\n";
        let table = Table::parse(text, 3).unwrap();
        let place = |path: &str| {
            let place = table.at(segments(path)).unwrap().place;
            assert_eq!(place.layer, 3);
            &text[place.start..place.end]
        };
        assert_eq!(place("model"), "5");
        assert_eq!(place("a.b"), "[a.b]");
        assert_eq!(place("a.b.c"), "1");
    }

    #[test]
    fn tables_merge_and_lists_do_not() {
        let mut lower = Table::parse("a = [1]\n[t]\nx = 1\ny = 1\n", 0).unwrap();
        let upper = Table::parse("a = [2, 3]\n[t]\ny = 2\n[t.z]\nw = true\n", 1).unwrap();
        lower.overlay(&upper);
        assert_eq!(lower.to_json().to_string(), r#"{"a":[2,3],"t":{"x":1,"y":2,"z":{"w":true}}}"#);
        assert_eq!(lower.at(["t", "x"]).unwrap().place.layer, 0);
        assert_eq!(lower.at(["t", "y"]).unwrap().place.layer, 1);
    }

    #[test]
    fn numbers_that_do_not_fit_are_faults() {
        let fault = Table::parse("a = 99999999999999999999", 0).unwrap_err();
        assert_eq!(fault, SyntaxFault { message: "the number is too large".to_owned(), span: 4..24 });
    }
}
