//! The cards of a session's memory, for people.

use pellucid_engine::memory::cards;
use pellucid_engine::memory::count::EntryCounter;
use pellucid_engine::memory::data::MemorySummary;
use pellucid_engine::tokens::Estimate;
use serde::Serialize;

use super::History;
use super::MemoryFile;

/// How many characters of a message are shown.
const SHOWN_CHARS: usize = 60;

/// A card, which is a summary of some messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardView {
    /// The number of the card, from one.
    pub number: usize,
    /// Whether a person pinned the card.
    pub pinned: bool,
    /// Why it was used last.
    pub used: Vec<&'static str>,
    /// What it costs in a request, in tokens.
    pub tokens: usize,
    /// What its messages would cost instead.
    pub tokens_replaced: usize,
    /// The text of the card.
    pub text: String,
    /// The messages it was made from.
    pub origins: Vec<CardOrigin>,
}

/// A message that a card was made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CardOrigin {
    /// The id of the message.
    pub id: String,
    /// Who said it; absent if the message is gone.
    pub role: Option<&'static str>,
    /// The first characters of the message.
    pub begins: String,
}

/// The cards of a memory, in the order in which they are stored.
pub fn cards(file: &MemoryFile, history: &History, model: &str) -> Vec<CardView> {
    let count = EntryCounter::new(&Estimate, model);
    let entries = history.entries();
    let find = |memo: &str| entries.iter().map(|(entry, _)| entry).find(|entry| entry.memo.as_deref() == Some(memo));
    let view = |(n, summary): (usize, &MemorySummary)| {
        let memos = summary.chat_memos.iter().flatten();
        let origin = |memo: &String| {
            let entry = find(memo);
            let begins = entry.map(|entry| shown(&entry.content)).unwrap_or_default();
            CardOrigin { id: memo.clone(), role: entry.map(|entry| entry.role.word()), begins }
        };
        let replaced = memos.clone().filter_map(|memo| find(memo)).map(|entry| count.entry(entry)).sum::<f64>();
        CardView {
            number: n + 1,
            pinned: summary.is_important,
            used: cards::badges(&file.v3, n),
            tokens: count.system(&summary.text) as usize,
            tokens_replaced: replaced as usize,
            text: summary.text.clone(),
            origins: memos.map(origin).collect(),
        }
    };
    file.v3.summaries.iter().enumerate().map(view).collect()
}

fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.trim_end().len() {
        shown.push('…');
    }
    shown
}
