//! Selects the part of a history that a summary replaces, and the items of it that the model is shown.
//!
//! The last turns may be kept unchanged. The context of the layout need not be shown to the model, because it is sent
//! again after the summary.

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::SummaryInput;

use crate::boundary;

/// Beginnings of messages of role `user` that a layout says.
const STANDING: [&str; 4] =
    ["# AGENTS.md instructions for ", "<user_instructions>", "<environment_context>", "<personality_spec>"];

/// The part of a history that a summary replaces.
#[derive(Debug, Clone, Copy)]
pub struct Region<'a> {
    /// How many of the last turns stay, as far as an earlier one is left to summarise.
    pub keep_turns: usize,
    /// Which items the model is shown.
    pub input: SummaryInput,
    /// The current context of the layout, which the summary need not repeat.
    pub pinned: &'a [Item],
}

impl Region<'_> {
    /// The number of items before those that stay.
    pub(super) fn n_head(&self, items: &[Item], summary_start: &str) -> usize {
        let begins = |item: &Item| boundary::said_by_person(item).is_some_and(|said| !said.starts_with(summary_start));
        let beginnings: Vec<usize> =
            items.iter().enumerate().filter(|(_, item)| begins(item)).map(|(n, _)| n).collect();
        // Something must be left to summarise, so the first turn never stays.
        let n_kept = self.keep_turns.min(beginnings.len().saturating_sub(1));
        match n_kept.checked_sub(1) {
            Some(before) => beginnings.iter().rev().nth(before).copied().unwrap_or(items.len()),
            None => items.len(),
        }
    }

    /// Whether the model that summarises is shown an item.
    pub(super) fn shows(&self, item: &Item) -> bool {
        match self.input {
            SummaryInput::All => true,
            SummaryInput::Conversation => !self.is_pinned(item),
        }
    }

    /// Whether the layout sends this item in every session.
    pub(super) fn is_pinned(&self, item: &Item) -> bool {
        is_standing(item) || self.pinned.contains(item)
    }
}

/// Whether an item is not part of the conversation: a developer message, or a message that is sent in every session.
pub fn is_standing(item: &Item) -> bool {
    match item {
        Item::Message { role, .. } if role == "developer" => true,
        Item::Message { role, content, .. } if role == "user" => match content.as_slice() {
            [ContentPart::InputText { text }] => STANDING.iter().any(|start| text.trim_start().starts_with(start)),
            _ => false,
        },
        _ => false,
    }
}
