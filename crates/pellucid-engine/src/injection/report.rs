//! The report about each item, in one form for all sources.
//!
//! The report has one [`Injected`] for each item, used or not, and for each source without items. It does not contain
//! the content itself.

use std::borrow::Cow;

use serde::Serialize;

use super::item::InjectionItem;
use super::read::ReadCost;
use crate::cut::ends::KeptEnds;
use crate::fragment::Origin;
use crate::tokens::tokens_of_bytes;

/// The report about one item.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Injected {
    /// The kind of its source, as it was written.
    pub source_type: Cow<'static, str>,
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
    pub origin: Vec<ItemOrigin>,
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
    /// How the item was cut, if it was cut by a rule of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// Whether the item is in the prompt, or why not.
    pub outcome: ItemOutcome,
    /// Why the item is not in the prompt, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long reading the files of the source took, in milliseconds, if the program around the engine measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
}

/// How an item was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Truncation {
    /// The rule: `head`, `head_marker_tail`, or `files` for budgets of single files.
    pub strategy: &'static str,
    /// How many bytes are kept at the beginning; of single files the sum.
    pub kept_head: usize,
    /// How many bytes are kept at the end.
    pub kept_tail: usize,
    /// How many bytes the markers have.
    pub marker_bytes: usize,
    /// The budget, if one number says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
}

impl Truncation {
    /// A cut that keeps both ends.
    pub(super) fn of_ends(kept: KeptEnds, budget: Option<i64>) -> Self {
        let KeptEnds { head, tail, marker } = kept;
        let budget = Some(budget.and_then(|budget| usize::try_from(budget).ok()).unwrap_or(0));
        Self { strategy: "head_marker_tail", kept_head: head, kept_tail: tail, marker_bytes: marker, budget }
    }

    /// A cut that keeps the beginning.
    pub(super) fn of_head(kept: usize, budget: usize) -> Self {
        Self { strategy: "head", kept_head: kept, kept_tail: 0, marker_bytes: 0, budget: Some(budget) }
    }

    /// The cuts of single files together with one more.
    pub(super) fn with_file(so_far: Option<Self>, kept: KeptEnds, budget: Option<usize>) -> Self {
        let Some(so_far) = so_far else {
            let KeptEnds { head, tail, marker } = kept;
            return Self { strategy: "files", kept_head: head, kept_tail: tail, marker_bytes: marker, budget };
        };
        Self {
            kept_head: so_far.kept_head + kept.head,
            kept_tail: so_far.kept_tail + kept.tail,
            marker_bytes: so_far.marker_bytes + kept.marker,
            budget: so_far.budget.filter(|before| Some(*before) == budget),
            ..so_far
        }
    }
}

/// The origin of an item's text, with what is known of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemOrigin {
    /// The file or entry with its used bytes.
    #[serde(flatten)]
    pub origin: InjectedOrigin,
    /// How many bytes of the file were kept in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// When the file was changed last, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtime: Option<u64>,
    /// The SHA-256 of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOutcome {
    /// The item is in the prompt.
    #[default]
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
pub(super) fn origins(item: &InjectionItem, cost: &ReadCost) -> Vec<ItemOrigin> {
    let mut origins: Vec<ItemOrigin> = Vec::new();
    for fragment in &item.content {
        let (path, sha256) = match &fragment.origin {
            Origin::File { path, .. } => (path.as_ref(), path.sha256()),
            Origin::Provided { place } => (place.as_ref(), None),
            _ => continue,
        };
        let bytes = fragment.text.len() as u64;
        match origins.iter_mut().find(|known| known.origin.path == path) {
            Some(known) => known.origin.bytes += bytes,
            None => {
                let of_file = cost.files.get(path);
                origins.push(ItemOrigin {
                    origin: InjectedOrigin { path: path.to_owned(), bytes },
                    bytes_read: of_file.map(|it| it.bytes_read),
                    mtime: of_file.and_then(|it| it.mtime),
                    sha256: sha256.map(ToString::to_string),
                });
            }
        }
    }
    origins
}

pub(super) fn estimate(bytes: usize) -> usize {
    tokens_of_bytes(bytes)
}
