//! What events say of the requests that are sent to models.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::cache::CacheChange;

/// What a request is made of, part by part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextReport {
    /// How many bytes it has.
    pub bytes: usize,
    /// How many tokens, estimated.
    pub tokens: usize,
    /// How many bytes are those of the request before.
    pub kept_bytes: usize,
    /// Its parts, in the order of their first bytes.
    pub parts: Vec<ContextPart>,
    /// The files of instructions and of the pack that are not what they were for the request before, with both hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<Value>,
    /// What it asks for, if that is not an answer: `summary`, `provider_summary` at the provider's own endpoint,
    /// `memory_summary` or `vectors` for the memory of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// How many of its first rows are those of the request before, as far as this process sent that.
    #[serde(default)]
    pub rows_kept: usize,
    /// Its other rows, as the report has them.
    #[serde(default)]
    pub rows: Vec<Value>,
}

/// Where a request differs from what the model read of the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBreak {
    /// The byte of the body that the difference begins at.
    pub first_byte: usize,
    /// The part that was added, removed, changed or moved; the first one that is read.
    pub part: String,
    /// The tokens that are paid for again, estimated: from that part to the end, in the order of reading.
    pub tokens_rebilled: usize,
    /// The bytes of that part in the body, from the first to behind the last. None if it was removed.
    pub span: (usize, usize),
    /// Where that part comes from.
    pub source: String,
    /// Why, in a word.
    pub cause: String,
    /// Everything that was added, removed, changed or moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<CacheChange>,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// Its name.
    pub part: String,
    /// How many bytes.
    pub bytes: usize,
    /// How many tokens, estimated.
    pub tokens: usize,
}
