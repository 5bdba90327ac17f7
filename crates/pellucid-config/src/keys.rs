//! Every key of the configuration, in one table.
//!
//! The rows in [`SECTIONS`] say what a key takes, what it is without being set, who may set it,
//! whether it counts in the file of a project, and what it is for. Checking, the reference page and the JSON Schema are all made from them.
//!
//! Not here: what the program does with a value.

pub(crate) mod default;
mod elsewhere;
mod table;
mod tree;

pub use table::SECTIONS;
pub(crate) use tree::Node;
pub(crate) use tree::root;

/// Why keys about a terminal have no effect.
const TERMINAL: &str = "there is no terminal client yet";

/// Keys that belong together.
#[derive(Debug)]
pub struct Section {
    /// What they are about.
    pub title: &'static str,
    /// The keys, in the order of the reference page.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The dotted path. `<name>` stands for any name, `[]` for each table of a list.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What is true without it: a value in backticks or a number, or words about where the value comes from. Blank if
    /// nothing is. See [`Key::default_value`].
    pub default: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Where it may stand.
    pub scope: Scope,
    /// Whether it counts in the file of a trusted project.
    pub in_project: InProject,
    /// Whether the table that it is in must have it.
    pub required: bool,
    /// Other spellings of its last name.
    pub aliases: &'static [&'static str],
    /// Why this version accepts the key and does nothing with it. Absent for keys that the program reads.
    pub not_used: Option<&'static str>,
}

/// Where a key may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// At the top.
    Top,
    /// At the top and in a profile, where it is stronger.
    Profile,
    /// In a profile only.
    ProfileOnly,
}

/// Whether a value in the file of a trusted project counts. Keys that name programs, providers, addresses or files,
/// that say where keys and records go, or that widen what commands may do are never free: whoever changes a
/// repository would use them to run something outside of the sandbox, or to be sent what belongs to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    /// The project's value counts.
    Free,
    /// It does once a person has seen and accepted what the file says of such keys. See [`crate::accepted`].
    Accepted,
    /// The same, but these values, which widen nothing, count anyway.
    AcceptedUnless(&'static [&'static str]),
    /// It never does.
    Never,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text.
    String,
    /// The path of a file or folder; relative ones start at the folder of the file that has the key.
    Path,
    /// A name, or a path if it has a slash in it or begins with a dot or a tilde.
    NameOrPath,
    /// Yes or no.
    Bool,
    /// A number.
    Float,
    /// A whole number in a range.
    Integer(Bounds),
    /// One of some words.
    Words(Words),
    /// Several of a kind.
    List(&'static Kind),
    /// Names of the user's choice, each with one of a kind.
    Map(&'static Kind),
    /// One kind or another.
    Either(&'static Kind, &'static Kind),
}

/// A range of whole numbers.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The least.
    pub min: i64,
    /// The greatest.
    pub max: i64,
    /// Its name in messages.
    pub name: &'static str,
}

/// The words a key takes.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// The words.
    pub words: &'static [&'static str],
    /// Words that mean the same as another, and which.
    pub aliases: &'static [(&'static str, &'static str)],
}

impl Kind {
    /// Any whole number.
    pub const INT: Self = Self::Integer(Bounds { min: i64::MIN, max: i64::MAX, name: "i64" });
    /// A whole number that counts something.
    pub const COUNT: Self = Self::Integer(Bounds { min: 0, max: i64::MAX, name: "usize" });
    /// A port.
    pub const PORT: Self = Self::Integer(Bounds { min: 0, max: u16::MAX as i64, name: "u16" });
    /// Texts.
    pub const STRINGS: Self = Self::List(&Self::String);
    /// Paths.
    pub const PATHS: Self = Self::List(&Self::Path);
    /// Texts by name.
    pub const STRING_MAP: Self = Self::Map(&Self::String);

    /// One of some words.
    pub const fn words(words: &'static [&'static str]) -> Self {
        Self::Words(Words { words, aliases: &[] })
    }

    /// What a message says that was expected.
    pub fn expected(&self) -> String {
        match self {
            Self::String | Self::Words(_) => "a string".to_owned(),
            Self::Path | Self::NameOrPath => "path string".to_owned(),
            Self::Bool => "a boolean".to_owned(),
            Self::Float => "f64".to_owned(),
            Self::Integer(bounds) => bounds.name.to_owned(),
            Self::List(_) => "a sequence".to_owned(),
            Self::Map(_) => "a map".to_owned(),
            Self::Either(one, other) => format!("{} or {}", one.expected(), other.expected()),
        }
    }
}

impl Key {
    /// Whether a profile may set it.
    pub fn in_profiles(&self) -> bool {
        matches!(self.scope, Scope::Profile | Scope::ProfileOnly)
    }

    const fn new(
        in_project: InProject,
        path: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { path, kind, default, doc, scope: Scope::Top, in_project, required: false, aliases: &[], not_used: None }
    }

    /// Marks a key that is accepted so that a file of the Codex CLI loads, and that nothing reads.
    const fn not_used(mut self, why: &'static str) -> Self {
        self.not_used = Some(why);
        self
    }

    /// What it is for, and whether it has an effect.
    pub fn meaning(&self) -> String {
        match self.not_used {
            Some(why) => format!("{} Accepted, not used: {why}.", self.doc),
            None => self.doc.to_owned(),
        }
    }

    const fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// The key that stands for a dotted path, if there is one.
///
/// ```
/// use pellucid_config::keys;
///
/// assert_eq!(keys::find("model_providers.mine.base_url").unwrap().path, "model_providers.<id>.base_url");
/// assert!(keys::find("modle").is_none());
/// ```
pub fn find(path: &str) -> Option<&'static Key> {
    crate::value::segments(path).try_fold(root(), |node, name| node.child(name))?.key
}

/// Every key, in the order of the reference page.
pub fn all() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}
