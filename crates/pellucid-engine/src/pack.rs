//! Packs: how model input is put together, as data.
//!
//! A pack is `pack.toml` (the layout) and the files it names. It is checked whole when it is
//! loaded: unknown sources, gates and variables are refused with file, line and the known names.
//! After that, assembly cannot fail.
//!
//! Not here: reading a pack from disk. Files arrive as a map from name to text.

mod builtin;
mod layout;
mod tool_file;

use std::collections::BTreeMap;

pub use layout::Budget;
pub use layout::Layout;
pub use layout::ModelTexts;
pub use layout::Part;
pub use layout::SameName;
pub use layout::SkillRules;
pub use layout::Slot;
pub use layout::Target;
pub use layout::ToolSlot;
pub use layout::ToolsOnly;
pub use tool_file::Parameter;
pub use tool_file::ParameterType;
pub use tool_file::ToolFile;
pub use tool_file::ToolKind;

use crate::source;
use crate::template::Place;
use crate::template::Shape;
use crate::template::Template;
use crate::tool_list;
use crate::turn;
use crate::user_message;

/// The places of a template that wraps a whole slot.
const SLOT_PLACES: &[Place] = &[Place::must("{{ text }}"), Place::may("{{ directory }}")];

/// A loaded pack.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// Its name.
    pub name: String,
    /// Its layout.
    pub layout: Layout,
    templates: BTreeMap<String, Template>,
    tools: BTreeMap<String, ToolFile>,
}

/// Files of a pack: name relative to the pack, and text.
pub type PackFiles = BTreeMap<String, String>;

impl Pack {
    /// The names of the built-in packs.
    pub fn builtin_names() -> Vec<&'static str> {
        builtin::names()
    }

    /// Loads a built-in pack.
    pub fn builtin(name: &str) -> Option<Self> {
        let files = builtin::files(name)?;
        Some(Self::load(&files).expect("built-in packs are loaded by a test"))
    }

    /// The files of a built-in pack, for those who make their own from it.
    pub fn builtin_files(name: &str) -> Option<PackFiles> {
        builtin::files(name)
    }

    /// Loads a pack from its files.
    ///
    /// # Errors
    /// Whatever is wrong in it, with file, line and what would be right.
    pub fn load(files: &PackFiles) -> Result<Self, PackError> {
        let text = |file: &str| {
            files.get(file).map(String::as_str).ok_or_else(|| PackError::MissingFile { file: file.to_owned() })
        };
        let layout = Layout::parse(layout::FILE, text(layout::FILE)?)?;
        let mut templates = BTreeMap::new();
        let mut load = |file: &str, shape: &Shape| -> Result<(), PackError> {
            templates.insert(file.to_owned(), Template::parse(file, shape, text(file)?)?);
            Ok(())
        };
        for (file, shape) in source::templates(&layout).chain(core_templates()) {
            load(file, shape)?;
        }
        for file in layout.slots.iter().filter_map(|slot| slot.template.as_deref()) {
            load(file, &Shape::with(SLOT_PLACES))?;
        }
        for texts in &layout.models {
            for file in texts.files() {
                load(file, &Shape::VERBATIM)?;
            }
        }
        let mut tools = BTreeMap::new();
        for tool in &layout.tools {
            let file = format!("tools/{}.toml", tool.file);
            let mut parsed = ToolFile::parse(&file, &tool.file, text(&file)?)?;
            if let Some(grammar) = &parsed.grammar_file {
                parsed.grammar = Some(text(grammar)?.to_owned());
            }
            tools.insert(tool.file.to_string(), parsed);
        }
        Ok(Self { name: layout.name.clone(), layout, templates, tools })
    }

    /// A template that a source or the layout named when the pack was loaded.
    ///
    /// # Panics
    /// If nobody named it then.
    pub fn template(&self, file: &str) -> &Template {
        self.templates.get(file).unwrap_or_else(|| panic!("template {file} is declared where it is used"))
    }

    /// A tool's file that the layout named.
    ///
    /// # Panics
    /// If the layout does not name it.
    pub fn tool_file(&self, file: &str) -> &ToolFile {
        self.tools.get(file).unwrap_or_else(|| panic!("tool {file} is named by the layout"))
    }

    /// The texts of its own that the pack has for a model: those of the longest name that
    /// begins the model's.
    pub fn model_texts(&self, slug: &str) -> Option<&ModelTexts> {
        let fits = |texts: &&ModelTexts| texts.longest_prefix(slug).is_some();
        self.layout.models.iter().filter(fits).max_by_key(|texts| texts.longest_prefix(slug))
    }
}

/// Templates that every pack has, because code outside of slots uses them.
fn core_templates() -> impl Iterator<Item = (&'static str, &'static Shape)> {
    let all = [user_message::TEMPLATES, turn::TEMPLATES, tool_list::TEMPLATES];
    all.into_iter().flatten().map(|(file, shape)| (*file, shape))
}

/// What is wrong with a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// A file is named but not there.
    #[error("{file}: the pack has no such file")]
    MissingFile {
        /// Which.
        file: String,
    },
    /// A file does not parse, or has a key or value that means nothing.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// Which.
        file: String,
        /// Where.
        line: usize,
        /// Where in the line.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A name that nothing in the engine has.
    #[error("{file}:{line}: unknown {kind} `{name}`; known: {}", quoted(known))]
    UnknownName {
        /// In which file.
        file: String,
        /// Where.
        line: usize,
        /// Of what kind: source, gate, budget.
        kind: &'static str,
        /// The name.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// A variable that a template cannot have.
    #[error("{file}:{line}: unknown variable `{place}`; known here: {}", quoted(known))]
    UnknownPlace {
        /// In which file.
        file: String,
        /// Where.
        line: usize,
        /// The variable.
        place: String,
        /// Those it can have.
        known: Vec<String>,
    },
    /// A variable that a template must have.
    #[error("{file}: variable `{place}` is missing, its content would be lost")]
    MissingPlace {
        /// In which file.
        file: String,
        /// The variable.
        place: String,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Line and column of a byte, both from one.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn syntax_error(file: &str, text: &str, error: &toml::de::Error) -> PackError {
    let (line, column) = position(text, error.span().map_or(0, |span| span.start));
    PackError::Syntax { file: file.to_owned(), line, column, message: error.message().trim().to_owned() }
}
