//! Every key of the configuration, in one table.
//!
//! The rows in [`SECTIONS`] say what a key accepts, its default, where it may be set, whether it applies in a project's
//! file, and what it is for. The checks, the reference page and the JSON Schema are all made from them.
//!
//! Not here: what the program does with a value.

mod bootstrap;
pub(crate) mod default;
mod elsewhere;
mod table;
mod tree;

pub use table::SECTIONS;
pub(crate) use tree::Node;
pub(crate) use tree::root;

/// Why keys about a terminal have no effect.
const TERMINAL: &str = "the terminal client does not use it yet";

/// Keys that belong together.
#[derive(Debug)]
pub struct KeySection {
    /// The heading of the section.
    pub title: &'static str,
    /// The keys, in the order of the reference page.
    pub keys: &'static [Key],
}

/// A key of the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The dotted path. `<name>` matches any name, `[]` each table of a list.
    pub path: &'static str,
    /// What kind of value the key accepts.
    pub kind: ValueKind,
    /// The default, as text for the reference page; empty if there is none.
    pub default: &'static str,
    /// A sentence that says what the key is for.
    pub doc: &'static str,
    /// Where the key may be set.
    pub scope: Scope,
    /// Whether the key applies in the file of a trusted project.
    pub in_project: InProject,
    /// Whether the table that contains the key must have it.
    pub required: bool,
    /// Other spellings of the key's last name.
    pub aliases: &'static [&'static str],
    /// Why this version accepts the key and does nothing with it. `None` for keys that the program reads.
    pub not_used: Option<&'static str>,
}

/// Where a key may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Only outside of profiles.
    Top,
    /// Also in a profile, which is stronger.
    Profile,
    /// Only in a profile.
    ProfileOnly,
}

/// Whether a value in the file of a trusted project applies.
///
/// Keys that name programs, providers, addresses or files, that say where keys and records go, or that widen what
/// commands may do are never free: anyone who can change the repository could use them to run a program outside of the
/// sandbox, or to receive the user's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    /// The project's value applies.
    Free,
    /// The project's value applies once a person has seen and accepted the file's guarded values. See
    /// [`crate::accepted`].
    Accepted,
    /// As `Accepted`, but these values, which widen nothing, always apply.
    AcceptedUnless(&'static [&'static str]),
    /// The project's value never applies.
    Never,
}

/// The kind of value that a key accepts.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    /// A text without further rules.
    String,
    /// The path of a file or folder; a relative one starts at the folder of the file that sets the key.
    Path,
    /// A name, or a path if it contains a slash or begins with a dot or a tilde.
    NameOrPath,
    /// `true` or `false`.
    Bool,
    /// A number with or without a fraction.
    Float,
    /// A whole number in a range.
    Integer(IntegerBounds),
    /// One of a list of words.
    Words(AllowedWords),
    /// A list of values of one kind.
    List(&'static ValueKind),
    /// A table with names of the user's choice and values of one kind.
    Map(&'static ValueKind),
    /// A value of either kind.
    Either(&'static ValueKind, &'static ValueKind),
}

/// A range of whole numbers.
#[derive(Debug, Clone, Copy)]
pub struct IntegerBounds {
    /// The smallest number that is allowed.
    pub min: i64,
    /// The largest number that is allowed.
    pub max: i64,
    /// The name of the range in error messages.
    pub name: &'static str,
}

/// The words that a key accepts.
#[derive(Debug, Clone, Copy)]
pub struct AllowedWords {
    /// The words, in the order of the reference page.
    pub words: &'static [&'static str],
    /// Words that mean the same as another: the alias, and the word.
    pub aliases: &'static [(&'static str, &'static str)],
}

impl ValueKind {
    /// Any whole number of 64 bits.
    pub const INT: Self = Self::Integer(IntegerBounds { min: i64::MIN, max: i64::MAX, name: "i64" });
    /// A number of things, not negative.
    pub const COUNT: Self = Self::Integer(IntegerBounds { min: 0, max: i64::MAX, name: "usize" });
    /// A network port.
    pub const PORT: Self = Self::Integer(IntegerBounds { min: 0, max: u16::MAX as i64, name: "u16" });
    /// A list of texts.
    pub const STRINGS: Self = Self::List(&Self::String);
    /// A list of paths.
    pub const PATHS: Self = Self::List(&Self::Path);
    /// A table of texts.
    pub const STRING_MAP: Self = Self::Map(&Self::String);

    /// One of these words.
    pub const fn words(words: &'static [&'static str]) -> Self {
        Self::Words(AllowedWords { words, aliases: &[] })
    }

    /// What an error message says that the key accepts.
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
    /// Whether a profile may set the key.
    pub fn in_profiles(&self) -> bool {
        matches!(self.scope, Scope::Profile | Scope::ProfileOnly)
    }

    const fn new(
        in_project: InProject,
        path: &'static str,
        kind: ValueKind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { path, kind, default, doc, scope: Scope::Top, in_project, required: false, aliases: &[], not_used: None }
    }

    /// Marks a key that is accepted so that a file of the Codex CLI loads, but that no code reads.
    const fn not_used(mut self, why: &'static str) -> Self {
        self.not_used = Some(why);
        self
    }

    /// What the key is for, and whether it has an effect.
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

/// The key of a dotted path, if there is one.
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
