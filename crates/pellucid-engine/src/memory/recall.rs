//! The window, and before it the past messages that are most similar to the last messages.

use super::Chat;
use super::ChatLimits;
use super::MemoryFailure;
use super::Stop;
use super::StrategyOutcome;
use super::ask::Answers;
use super::entry::ChatEntry;
use super::entry::EntryPart;
use super::ranking::VectorIndex;
use super::ranking::Way;
use crate::utf16;

const DOCUMENT: &str = "search_document: ";
const QUERY: &str = "search_query: ";

/// The number of characters of [`DOCUMENT`] that are removed again. One blank is left.
const TAKEN_OFF: usize = 16;

/// How much room is made for the past, and in which pieces it comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecallSettings {
    /// The tokens that recalled entries may take.
    pub tokens: f64,
    /// Whether paragraphs are compared one by one.
    pub is_split: bool,
}

/// Makes a chat fit.
///
/// # Errors
/// A question, or that nothing is left of the chat.
pub fn recall(
    chat: &Chat<'_>,
    settings: &RecallSettings,
    answers: &mut Answers<'_>,
) -> Result<StrategyOutcome<()>, Stop> {
    let Chat { entries, tokens, limits: ChatLimits { max, .. }, count, known, .. } = *chat;
    let failed = |error: &str| MemoryFailure::new("similarity_search_failed", Vec::new(), tokens).because(error);
    let documents = documents(entries, settings);
    let mut index = VectorIndex::new(Way::First, known, &documents, answers)?.map_err(|error| failed(&error))?;
    let mut queries = Vec::new();
    for (n, entry) in entries.iter().rev().take(3).enumerate() {
        if !entry.content.is_empty() {
            queries.push((format!("{QUERY}{}", entry.content), 1.0 / (n + 1) as f64));
        }
    }
    let texts: Vec<String> = queries.iter().map(|(text, _)| text.clone()).collect();
    let vectors = index.queries(&texts, answers)?.map_err(|error| failed(&error))?;
    let queries: Vec<(Vec<f32>, f64)> = vectors.into_iter().zip(queries).map(|(v, (_, weight))| (v, weight)).collect();

    let mut tokens = tokens + settings.tokens;
    let mut first = 0;
    while tokens > max {
        let Some(oldest) = entries.get(first) else {
            return Err(MemoryFailure::new("too_many_tokens", vec![tokens], tokens).into());
        };
        tokens -= count.entry(oldest);
        first += 1;
        if first == entries.len() {
            return Err(MemoryFailure::new("too_many_tokens", vec![tokens], tokens).into());
        }
    }
    tokens -= settings.tokens;
    let kept = &entries[first..];
    let mut recalled: Vec<&str> = Vec::new();
    let ranked = index.ranked(&queries);
    for scored in &ranked {
        let text = &scored.text[TAKEN_OFF..];
        if kept.iter().any(|entry| entry.content == text) {
            continue;
        }
        let cost = count.system(text) + 2.0;
        if tokens + cost >= max {
            break;
        }
        tokens += cost;
        recalled.push(text);
    }
    let mut all = vec![ChatEntry::memory(recalled.join("\n\n"), EntryPart::Memory)];
    all.extend(kept.iter().cloned());
    Ok(StrategyOutcome { entries: all, tokens, data: (), batches: Vec::new() })
}

fn documents(entries: &[ChatEntry], settings: &RecallSettings) -> Vec<String> {
    let n_old = entries.len().saturating_sub(3);
    let mut documents = Vec::new();
    for entry in &entries[..n_old] {
        let paragraphs = if settings.is_split { entry.content.split("\n\n").collect() } else { vec![&*entry.content] };
        let texts = paragraphs.into_iter().map(utf16::trim).filter(|text| !text.is_empty());
        documents.extend(texts.map(|text| format!("{DOCUMENT}{text}")));
    }
    documents
}
