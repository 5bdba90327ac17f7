//! The provider's prompt cache: what changed since the request before, and what was read from the cache.

use serde::Deserialize;
use serde::Serialize;

use crate::settings::word_enum;

/// A part of a request that differs from the request before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheChange {
    /// What happened to the part.
    pub how: CacheChangeKind,
    /// The name of the part.
    pub part: String,
    /// Where the part comes from, or came from if it was removed; empty if that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Whether the model reads the part, so that the change costs tokens.
    pub is_read: bool,
}

word_enum! {
    /// What happened to a part of a request.
    CacheChangeKind {
        /// The part was not in the request before.
        Added = "added",
        /// The part is not in this request any more.
        Removed = "removed",
        /// The part has another text.
        Changed = "changed",
        /// The part has another place in its list.
        Moved = "moved",
    }
}

/// The outcome of the provider's cache for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheVerdict {
    /// The outcome in a word.
    pub verdict: CacheWord,
    /// Why the request does not extend the one before, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How many tokens the cache should have contained: those of the request before, as far as this request repeats
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<i64>,
    /// How many tokens were read from the cache, as the provider reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<i64>,
    /// How many milliseconds passed since the request before, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

impl CacheVerdict {
    /// The verdict on a request without any figures.
    pub fn unknown() -> Self {
        Self { verdict: CacheWord::Unknown, cause: None, expected: None, read: None, idle_ms: None }
    }
}

word_enum! {
    /// The outcome of the provider's cache in a word.
    CacheWord {
        /// The session sent no request before.
        Cold = "cold",
        /// The request extends the one before, which was read from the cache.
        Extended = "extended",
        /// The request does not extend the one before.
        Broken = "broken",
        /// Turns were rolled back; the remaining ones were read from the cache.
        Shortened = "shortened",
        /// The request extends the one before, but more time passed than the provider keeps a request.
        Expired = "expired",
        /// The request extends the one before in time, and yet was not read from the cache.
        Missed = "missed",
        /// There are no figures to decide by.
        Unknown = "unknown",
    }
}
