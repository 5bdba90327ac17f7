//! Texts of the configuration, with where they were set.

use std::path::PathBuf;

use crate::layers::Location;

/// A text and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The text itself, read from `file` if there is one.
    pub text: String,
    /// Where the value was set.
    pub origin: ValueOrigin,
    /// The file that the text was read from, if the value names one.
    pub file: Option<PathBuf>,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueOrigin {
    /// A flag or a field of a request, which is stronger than all layers.
    Caller,
    /// A layer of the configuration.
    Layer {
        /// The path of the key in the layer, `profiles.…` if a profile set it.
        key: String,
        /// The file and line of the value.
        location: Location,
    },
}

impl std::fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Caller => f.write_str("the caller"),
            Self::Layer { key, location } => write!(f, "{key} in {location}"),
        }
    }
}

/// The text without white space around it, if something is left.
pub(crate) fn not_blank(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
