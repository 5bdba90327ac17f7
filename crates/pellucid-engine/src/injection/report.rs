//! The report about each item, in one form for all sources.
//!
//! The report has one [`Injected`] for each item, used or not, and for each source without items. It does not contain
//! the content itself.

use serde::Serialize;

use super::item::InjectionItem;
use crate::fragment::Origin;
use crate::tokens::tokens_of_bytes;

/// The report about one item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Injected {
    /// The kind of its source.
    pub source_type: &'static str,
    /// The index of the source.
    pub source_index: usize,
    /// The id that the caller gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The part of the request that the item is inserted into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'static str>,
    /// The role of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// The position among the items of the same target.
    pub order: i64,
    /// The mode of the prompt.
    pub prompt_mode: &'static str,
    /// The origins of the text, with their sizes.
    pub origin: Vec<InjectedOrigin>,
    /// The number of bytes before cutting.
    pub bytes_before: usize,
    /// The number of bytes after cutting.
    pub bytes_after: usize,
    /// The number of characters after cutting.
    pub chars_after: usize,
    /// How many tokens that may be.
    pub tokens_estimate: usize,
    /// Whether the item was cut.
    pub truncated: bool,
    /// Whether the item is in the prompt, or why not.
    pub outcome: ItemOutcome,
    /// Why the item is not in the prompt, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A file or entry that an item's text comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InjectedOrigin {
    /// The file, or the name of the entry.
    pub path: String,
    /// The number of its bytes that are used.
    pub bytes: u64,
}

/// Whether an item is in the prompt, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOutcome {
    /// The item is in the prompt.
    Injected,
    /// The item is for another mode.
    SkippedMode,
    /// The item is blank.
    SkippedBlank,
    /// The source of the item is switched off.
    SkippedDisabled,
    /// The file of the item does not exist.
    Missing,
    /// The item cannot be used.
    Error,
}

impl ItemOutcome {
    /// The word for the outcome in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Injected => "injected",
            Self::SkippedMode => "skipped_mode",
            Self::SkippedBlank => "skipped_blank",
            Self::SkippedDisabled => "skipped_disabled",
            Self::Missing => "missing",
            Self::Error => "error",
        }
    }
}

/// The files and entries that an item's text comes from, each once.
pub(super) fn origins(item: &InjectionItem) -> Vec<InjectedOrigin> {
    let mut origins: Vec<InjectedOrigin> = Vec::new();
    for fragment in &item.content {
        let path = match &fragment.origin {
            Origin::File { path, .. } => path.as_ref(),
            Origin::Provided { place } => place.as_ref(),
            _ => continue,
        };
        let bytes = fragment.text.len() as u64;
        match origins.iter_mut().find(|origin| origin.path == path) {
            Some(origin) => origin.bytes += bytes,
            None => origins.push(InjectedOrigin { path: path.to_owned(), bytes }),
        }
    }
    origins
}

pub(super) fn estimate(bytes: usize) -> usize {
    tokens_of_bytes(bytes)
}
