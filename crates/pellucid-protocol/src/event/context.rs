//! Events about the requests that are sent to models.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::cache::CacheChange;

/// The parts of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextReport {
    /// The size of the request in bytes.
    pub bytes: usize,
    /// The estimated tokens of the request.
    pub tokens: usize,
    /// How many bytes at the beginning equal those of the request before.
    pub kept_bytes: usize,
    /// The parts of the request, in the order of their first bytes.
    pub parts: Vec<ContextPart>,
    /// The instruction files and files of the pack that have changed since the request before, with both hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<Value>,
    /// The purpose of a request that asks for no answer: `summary`, `provider_summary` at the provider's compaction
    /// endpoint, `memory_summary` or `vectors` for the memory of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// How many rows at the beginning equal those of the request before, if this process sent that request.
    #[serde(default)]
    pub rows_kept: usize,
    /// The other rows, as the report has them.
    #[serde(default)]
    pub rows: Vec<Value>,
}

/// A request that was recorded, by which `replay` finds and proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSent {
    /// The number of the request in its session, from 1, as `replay` counts.
    pub n: u64,
    /// The SHA-256 of the request's body, in hexadecimal digits.
    pub sha256: String,
    /// The size of the body in bytes.
    pub bytes: u64,
    /// What the request asks for, in the word of the record: `answer`, `answer_again`, `summary` and others.
    pub purpose: String,
}

/// Where a request differs from what the model read of the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBreak {
    /// The byte of the body that the difference begins at.
    pub first_byte: usize,
    /// The first part, in the order of reading, that was added, removed, changed or moved.
    pub part: String,
    /// The estimated tokens that are paid for again: from that part to the end, in the order of reading.
    pub tokens_rebilled: usize,
    /// The byte range of that part in the body, its end exclusive; empty if the part was removed.
    pub span: (usize, usize),
    /// Where that part comes from.
    pub source: String,
    /// The cause in a word.
    pub cause: String,
    /// All parts that were added, removed, changed or moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<CacheChange>,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// The name of the part.
    pub part: String,
    /// The size of the part in bytes.
    pub bytes: usize,
    /// The estimated tokens of the part.
    pub tokens: usize,
}
