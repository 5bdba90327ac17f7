//! What people learn from loading a configuration.

use std::path::PathBuf;

use crate::guard::Acceptance;
use crate::layers::Location;

/// Warnings and notices from loading a configuration, for people.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noticed {
    /// Keys and values of files that have no effect.
    pub warnings: Vec<Warning>,
    /// Values that an administrator does not allow, and the values used instead.
    pub disallowed: Vec<Disallowed>,
    /// Old spellings that are in use.
    pub deprecations: Vec<Deprecation>,
    /// The keys of features under development that are on, unless the user suppresses the warning.
    pub unstable_features: Vec<&'static str>,
}

/// A key or value of a file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The program does not know the key.
    UnknownKey {
        /// The dotted path of the key.
        key: String,
        /// The file and line of the key.
        place: Location,
        /// A known key with a similar spelling.
        suggestion: Option<String>,
    },
    /// The program does not know the feature.
    UnknownFeature {
        /// The name under `[features]`.
        key: String,
        /// The file and line of the name.
        place: Location,
        /// A known feature with a similar spelling.
        suggestion: Option<String>,
    },
    /// A project may not set this key.
    NotForProjects {
        /// The dotted path of the key.
        key: String,
        /// The file and line of the key.
        place: Location,
    },
    /// Values of a project that have not been accepted.
    NotAccepted {
        /// The keys as text for people.
        keys: String,
        /// The file and line of the first key.
        place: Location,
        /// Whether the file was accepted with other values.
        standing: Acceptance,
        /// The folder for which `pellucid trust accept` accepts them.
        folder: PathBuf,
    },
    /// The file of accepted values cannot be read.
    AcceptedUnreadable {
        /// The error as text for people.
        error: String,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, key, place, suggestion) = match self {
            Self::UnknownKey { key, place, suggestion } => ("key", key, place, suggestion),
            Self::UnknownFeature { key, place, suggestion } => ("feature", key, place, suggestion),
            Self::NotForProjects { key, place } => {
                return write!(f, "key `{key}` in {place} is ignored: a project may not set it");
            }
            Self::NotAccepted { keys, place, standing, folder } => {
                let why = match standing {
                    Acceptance::Changed => "they changed since they were accepted",
                    Acceptance::New | Acceptance::Accepted => "they are not accepted yet",
                };
                let folder = command_line_word(&folder.to_string_lossy());
                return write!(
                    f,
                    "{place}: not applied, because {why}: {keys}; `pellucid trust accept {folder}` shows and accepts them"
                );
            }
            Self::AcceptedUnreadable { error } => return write!(f, "{error}; nothing counts as accepted"),
        };
        write!(f, "unknown {what} `{key}` in {place}")?;
        match suggestion {
            Some(suggestion) => write!(f, " (did you mean `{suggestion}`?)"),
            None => Ok(()),
        }
    }
}

/// A path quoted for a shell.
fn command_line_word(path: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+=:@%,".contains(it);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// A value that an administrator does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disallowed {
    /// The key whose value is not allowed.
    pub key: &'static str,
    /// The value that was configured.
    pub wanted: &'static str,
    /// The value that is used instead.
    pub used: &'static str,
    /// The file of the administrator, and the values that it allows.
    pub reason: String,
}

impl std::fmt::Display for Disallowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, wanted, used, reason } = self;
        write!(f, "`{key}` is `{used}` and not `{wanted}` as configured: {reason}")
    }
}

/// An old spelling that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deprecation {
    /// The old spelling, in a sentence.
    pub summary: String,
    /// What to write instead.
    pub details: Option<String>,
}
