//! What providers keep of earlier requests: what changed since, and what came of it.

use serde::Deserialize;
use serde::Serialize;

use crate::settings::word_enum;

/// A part of a request that is not as it was in the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheChange {
    /// What happened to it.
    pub how: CacheChangeKind,
    /// The name of the part.
    pub part: String,
    /// Where it comes from, or came from if it was removed; empty if that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Whether the model reads it, so that it costs something.
    pub is_read: bool,
}

word_enum! {
    /// What happened to a part of a request.
    CacheChangeKind {
        /// It was not there before.
        Added = "added",
        /// It is not there any more.
        Removed = "removed",
        /// It has another text.
        Changed = "changed",
        /// It has another place in its list.
        Moved = "moved",
    }
}

/// What came of the provider's cache for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheVerdict {
    /// In a word.
    pub verdict: CacheWord,
    /// Why the request does not extend the one before, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How many tokens should have been read from the cache: those of the request before, as far as they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<i64>,
    /// How many tokens were read from it, as the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<i64>,
    /// How many milliseconds passed since the request before, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

impl CacheVerdict {
    /// The verdict on a request of which nothing is known.
    pub fn unknown() -> Self {
        Self { verdict: CacheWord::Unknown, cause: None, expected: None, read: None, idle_ms: None }
    }
}

word_enum! {
    /// What came of the provider's cache, in a word.
    CacheWord {
        /// The session sent nothing before.
        Cold = "cold",
        /// The request begins with the one before, and that was read from the cache.
        Extended = "extended",
        /// The request does not begin with the one before.
        Broken = "broken",
        /// Turns were taken back; what they left was read from the cache.
        Shortened = "shortened",
        /// The beginning is the same, but more time passed than the provider keeps it.
        Expired = "expired",
        /// The beginning is the same and came in time, and was not read from the cache.
        Missed = "missed",
        /// There are no figures to tell by.
        Unknown = "unknown",
    }
}
