//! Pieces of text the model may see, each with its origin.
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
    /// The origin of the text.
    pub origin: Origin,
    /// The text that is sent.
    pub text: String,
}

/// The origin of bytes of a request. Every byte has exactly one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file of the pack.
    Pack {
        /// The file: relative to a built-in pack, else its path.
        file: FileVersion,
    },
    /// A file on the user's disk.
    File {
        /// The path of the file, with its hash.
        path: FileVersion,
        /// The byte range in the file.
        range: Range<u64>,
        /// How many bytes it has in all, but for white space that is trimmed at its end.
        size: u64,
    },
    /// The name and description at the head of a skill's file, on one line.
    Skill {
        /// The path of the skill's file.
        path: Arc<str>,
    },
    /// A value that configuration, a flag or a caller gave.
    Provided {
        /// The configuration key or option that gave the text.
        place: Arc<str>,
    },
    /// Worked out from a fact, such as the working directory.
    Fact {
        /// The name of the fact.
        name: Cow<'static, str>,
    },
    /// Put between or around fragments by the layout.
    Layout,
    /// The model catalogue, for models whose entry carries its own texts.
    Catalogue,
    /// The input of the user.
    User,
    /// The output of the model.
    Model,
    /// The answer of a tool.
    Tool {
        /// The name of the tool.
        name: Arc<str>,
    },
    /// Read back from a session file.
    Recorded {
        /// The path of the session file.
        path: Arc<str>,
    },
    /// Put in by the engine where the history has a hole.
    Repair,
    /// The notation of the wire itself: braces, keys, settings.
    Wire,
    /// A text of another program, which was watched.
    Program {
        /// The name of the program.
        name: Arc<str>,
    },
    /// An origin that the place and the form of the bytes suggest, and nothing proves.
    Likely(Arc<Origin>),
    /// Bytes of another program whose origin is not known.
    Unknown,
}

impl Origin {
    /// A fact of this name.
    pub const fn fact(name: &'static str) -> Self {
        Self::Fact { name: Cow::Borrowed(name) }
    }

    /// The kind as one word, for reports.
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
            Self::Program { .. } => "program",
            Self::Likely(origin) => origin.kind(),
            Self::Unknown => "unknown",
        }
    }

    /// How sure the origin is: `exact`, `likely` or `unknown`. The origins of our own requests are exact.
    pub fn certainty(&self) -> &'static str {
        match self {
            Self::Likely(_) => "likely",
            Self::Unknown => "unknown",
            _ => "exact",
        }
    }

    /// The origin without the remark that it is only likely.
    pub fn claim(&self) -> &Self {
        match self {
            Self::Likely(origin) => origin.claim(),
            origin => origin,
        }
    }

    /// The hash of the whole file that the bytes came from, where it is known.
    pub fn file_sha256(&self) -> Option<&Digest> {
        match self {
            Self::Pack { file: path } | Self::File { path, .. } => path.sha256(),
            Self::Likely(origin) => origin.file_sha256(),
            _ => None,
        }
    }

    /// The path or name for reports; empty where the kind says all.
    pub fn detail(&self) -> &str {
        match self {
            Self::Pack { file } => file,
            Self::File { path, .. } => path,
            Self::Skill { path } => path,
            Self::Provided { place } => place,
            Self::Fact { name } => name,
            Self::Recorded { path } => path,
            Self::Tool { name } | Self::Program { name } => name,
            Self::Likely(origin) => origin.detail(),
            Self::Layout | Self::Catalogue | Self::User | Self::Model | Self::Repair | Self::Wire | Self::Unknown => "",
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
    /// The path or name of the omitted content.
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
        /// The size of the content, in bytes.
        of: u64,
    },
    /// The budget was spent before it.
    OverBudget {
        /// The size of the content, in bytes.
        of: u64,
    },
    /// The items left the window, for good or in exchange for a summary.
    LeftWindow {
        /// The size of the items, in bytes.
        of: u64,
        /// The name of the replacement; empty if nothing replaces the items.
        kept_as: String,
    },
    /// The content is blank.
    Blank,
    /// The file does not exist.
    Missing,
    /// The content is in the request already.
    Duplicate,
    /// The user has switched it off.
    SwitchedOff,
    /// The content is sent only when the user mentions it.
    OnlyOnMention,
    /// Another of the same name comes first.
    Shadowed {
        /// The path of the content that has priority.
        by: String,
    },
    /// Another text was given in place of the content.
    Replaced {
        /// The name of the replacement.
        by: String,
    },
    /// The file is a link in the project that leads out of the project.
    Outside {
        /// The path that the link leads to.
        target: String,
    },
    /// The user has said that its project is not to be trusted.
    Untrusted,
    /// The user accepted instruction files of the project, and not this text.
    NotAccepted {
        /// Whether the user accepted another text of the file.
        is_changed: bool,
    },
    /// A template of the pack left it out.
    ByPack {
        /// The reason that the template gives, for people.
        reason: String,
    },
    /// The file could not be read or parsed, or a template of the pack failed.
    Unusable {
        /// The error, for people.
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
            | Self::NotAccepted { .. }
            | Self::ByPack { .. }
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
            | Self::NotAccepted { .. }
            | Self::Unusable { .. }
            | Self::NotUtf8(_) => true,
            Self::LeftWindow { .. }
            | Self::ByPack { .. }
            | Self::Blank
            | Self::Duplicate
            | Self::SwitchedOff
            | Self::Untrusted
            | Self::OnlyOnMention
            | Self::Shadowed { .. }
            | Self::Replaced { .. } => false,
        }
    }

    /// The kind as one word, for reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Cut { .. } => "cut",
            Self::OverBudget { .. } => "over_budget",
            Self::LeftWindow { .. } => "left_window",
            Self::Blank => "blank",
            Self::Missing => "missing",
            Self::Duplicate => "duplicate",
            Self::ByPack { .. } => "by_pack",
            Self::SwitchedOff => "switched_off",
            Self::OnlyOnMention => "on_mention",
            Self::Shadowed { .. } => "shadowed",
            Self::Replaced { .. } => "replaced",
            Self::Outside { .. } => "outside",
            Self::Untrusted => "untrusted",
            Self::NotAccepted { .. } => "not_accepted",
            Self::Unusable { .. } => "unusable",
            Self::NotUtf8(_) => "not_utf8",
        }
    }
}

#[cfg(test)]
mod tests;
