//! Pieces of text the model may see, each with the reason it is there.
//!
//! A fragment is made in one place and never edited afterwards. Whatever is left out or cut on
//! the way becomes an [`Omission`]: the engine drops nothing in silence.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::digest::Digest;
use crate::file_version::FileVersion;
use crate::not_utf8::NotUtf8;

/// A piece of text with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Where it came from.
    pub origin: Origin,
    /// The exact text.
    pub text: String,
}

/// Where bytes of a request came from. Every byte has exactly one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file of the pack.
    Pack {
        /// Which: relative to a pack inside of the program, else its path.
        file: FileVersion,
    },
    /// A file on the user's disk.
    File {
        /// Where.
        path: FileVersion,
        /// Which of its bytes.
        range: Range<u64>,
        /// How many bytes it has in all, but for white space that is trimmed at its end.
        size: u64,
    },
    /// What a skill says of itself at the head of its file, on one line.
    Skill {
        /// The file.
        path: Arc<str>,
    },
    /// A value that configuration, a flag or a caller gave.
    Provided {
        /// Where it was given.
        place: Arc<str>,
    },
    /// Worked out from a fact, such as the working directory.
    Fact {
        /// Which.
        name: Cow<'static, str>,
    },
    /// Put between or around fragments by the layout.
    Layout,
    /// The model catalogue, for models whose entry carries its own texts.
    Catalogue,
    /// The person.
    User,
    /// The model.
    Model,
    /// A tool.
    Tool {
        /// Which.
        name: Arc<str>,
    },
    /// Read back from a session file.
    Recorded {
        /// Which.
        path: Arc<str>,
    },
    /// Put in by the engine where the history has a hole.
    Repair,
    /// The notation of the wire itself: braces, keys, settings.
    Wire,
}

impl Origin {
    /// A fact of this name.
    pub const fn fact(name: &'static str) -> Self {
        Self::Fact { name: Cow::Borrowed(name) }
    }

    /// One word for the kind, as reports show it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pack { .. } => "pack",
            Self::File { .. } => "file",
            Self::Skill { .. } => "skill",
            Self::Provided { .. } => "provided",
            Self::Fact { .. } => "fact",
            Self::Layout => "layout",
            Self::Catalogue => "catalogue",
            Self::User => "user",
            Self::Model => "model",
            Self::Tool { .. } => "tool",
            Self::Recorded { .. } => "session",
            Self::Repair => "repair",
            Self::Wire => "wire",
        }
    }

    /// The hash of the whole file that the bytes came from, where it is known.
    pub fn file_sha256(&self) -> Option<&Digest> {
        match self {
            Self::Pack { file: path } | Self::File { path, .. } => path.sha256(),
            _ => None,
        }
    }

    /// What exactly, as reports show it; empty where the kind says all.
    pub fn detail(&self) -> &str {
        match self {
            Self::Pack { file } => file,
            Self::File { path, .. } => path,
            Self::Skill { path } => path,
            Self::Provided { place } => place,
            Self::Fact { name } => name,
            Self::Recorded { path } => path,
            Self::Tool { name } => name,
            Self::Layout | Self::Catalogue | Self::User | Self::Model | Self::Repair | Self::Wire => "",
        }
    }
}

impl Fragment {
    /// Text of a pack file.
    pub fn pack(file: &FileVersion, text: impl Into<String>) -> Self {
        Self { origin: Origin::Pack { file: file.clone() }, text: text.into() }
    }

    /// Text worked out from a fact.
    pub fn fact(name: &'static str, text: impl Into<String>) -> Self {
        Self { origin: Origin::fact(name), text: text.into() }
    }

    /// Text that was given.
    pub fn provided(place: &str, text: impl Into<String>) -> Self {
        Self { origin: Origin::Provided { place: place.into() }, text: text.into() }
    }

    /// Text that the layout adds.
    pub fn layout(text: impl Into<String>) -> Self {
        Self { origin: Origin::Layout, text: text.into() }
    }
}

/// The texts of fragments, put together.
pub fn concat(fragments: &[Fragment]) -> String {
    let mut text = String::with_capacity(fragments.iter().map(|fragment| fragment.text.len()).sum());
    for fragment in fragments {
        text.push_str(&fragment.text);
    }
    text
}

/// Something that the model does not see though it might have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omission {
    /// The slot it would have been in.
    pub slot: Arc<str>,
    /// What it is: a path or a name.
    pub what: String,
    /// Why, and how much.
    pub why: Why,
}

/// Why something is not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The budget was spent within it.
    Cut {
        /// Bytes that are seen.
        kept: u64,
        /// Bytes it has.
        of: u64,
    },
    /// The budget was spent before it.
    OverBudget {
        /// Bytes it has.
        of: u64,
    },
    /// It left the window, for good or for a summary.
    LeftWindow {
        /// Bytes it has.
        of: u64,
        /// What took its place; empty for nothing.
        kept_as: String,
    },
    /// It is blank.
    Blank,
    /// It is not there.
    Missing,
    /// It is there already.
    Duplicate,
    /// The user has switched it off.
    SwitchedOff,
    /// It is there for those who ask for it.
    OnlyOnMention,
    /// Another of the same name comes first.
    Shadowed {
        /// Which.
        by: String,
    },
    /// Something else was given in its place.
    Replaced {
        /// What.
        by: String,
    },
    /// It is a link of the project that leads out of it.
    Outside {
        /// Where it leads.
        target: String,
    },
    /// The user has said that its project is not to be trusted.
    Untrusted,
    /// It could not be read, or not used.
    Unusable {
        /// Why not.
        error: String,
    },
    /// Some of its bytes are not UTF-8, and U+FFFD is seen in their place.
    NotUtf8(NotUtf8),
}

impl Why {
    /// How many bytes are not seen.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Cut { kept, of } => of - kept,
            Self::OverBudget { of } | Self::LeftWindow { of, .. } => *of,
            Self::NotUtf8(not_utf8) => not_utf8.count,
            Self::Blank
            | Self::Missing
            | Self::Duplicate
            | Self::SwitchedOff
            | Self::OnlyOnMention
            | Self::Shadowed { .. }
            | Self::Replaced { .. }
            | Self::Outside { .. }
            | Self::Untrusted
            | Self::Unusable { .. } => 0,
        }
    }

    /// Whether text that was written for the model is lost. A blank file loses nothing.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Cut { .. }
            | Self::OverBudget { .. }
            | Self::Missing
            | Self::Outside { .. }
            | Self::Unusable { .. }
            | Self::NotUtf8(_) => true,
            Self::LeftWindow { .. }
            | Self::Blank
            | Self::Duplicate
            | Self::SwitchedOff
            | Self::Untrusted
            | Self::OnlyOnMention
            | Self::Shadowed { .. }
            | Self::Replaced { .. } => false,
        }
    }

    /// One word for the kind, as reports show it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Cut { .. } => "cut",
            Self::OverBudget { .. } => "over_budget",
            Self::LeftWindow { .. } => "left_window",
            Self::Blank => "blank",
            Self::Missing => "missing",
            Self::Duplicate => "duplicate",
            Self::SwitchedOff => "switched_off",
            Self::OnlyOnMention => "on_mention",
            Self::Shadowed { .. } => "shadowed",
            Self::Replaced { .. } => "replaced",
            Self::Outside { .. } => "outside",
            Self::Untrusted => "untrusted",
            Self::Unusable { .. } => "unusable",
            Self::NotUtf8(_) => "not_utf8",
        }
    }
}
