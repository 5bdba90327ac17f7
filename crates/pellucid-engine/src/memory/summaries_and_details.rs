//! Summaries of batches, oldest first, and the paragraphs of them that are similar to the last
//! messages.
//!
//! A batch whose summary fails is not asked for again. Its entries leave the chat all the same,
//! which the reference does too; it shows in [`StrategyOutcome::batches`].

use super::Batch;
use super::BatchFate;
use super::Chat;
use super::ChatLimits;
use super::MemoryFailure;
use super::Stop;
use super::StrategyOutcome;
use super::ask::Answers;
use super::count::EntryCounter;
use super::data::DetailData;
use super::data::MainChunk;
use super::data::SummaryChunk;
use super::entry::ChatEntry;
use super::entry::EntryPart;
use super::ranking::VectorIndex;
use super::ranking::Way;
use super::request;
use crate::utf16;

/// How many of the newest entries are never summarised.
const KEPT: usize = 4;

/// After so many failures in a row nothing more is tried.
const FAILURES_MAX: u32 = 3;

/// The settings of the strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct DetailSettings {
    /// The room for the memory, in tokens.
    pub allocated_tokens: f64,
    /// How many tokens are summarised at once, at most.
    pub chunk_size: f64,
    /// How a summary is asked for.
    pub prompt: String,
}

/// Makes a chat fit.
///
/// # Errors
/// A question, or why it cannot be done.
pub fn summaries_and_details(
    chat: &Chat<'_>,
    mut data: DetailData,
    settings: &DetailSettings,
    answers: &mut Answers<'_>,
) -> Result<StrategyOutcome<DetailData>, Stop> {
    let Chat { entries, limits: ChatLimits { max, response }, count, .. } = *chat;
    let room = settings.allocated_tokens;
    data.drop_orphans(entries);
    let mut tokens = chat.tokens - response + room;
    let last = data.main_chunks.last().map(|chunk| chunk.last_chat_memo.clone());
    let found = last.and_then(|last| entries.iter().position(|entry| entry.memo == last));
    let mut at = found.map_or(0, |at| at + 1);
    tokens -= count.entries(&entries[..at]);
    let mut batches = Vec::new();
    let mut n_failures = 0;
    while tokens > max {
        let Collected { batch, size, end, too_large } = collect(entries, at, settings, count);
        if batch.is_empty() {
            return Err(match too_large {
                Some(cost) => {
                    MemoryFailure::new("message_exceeds_chunk", vec![cost, settings.chunk_size, cost], tokens).into()
                }
                None => {
                    let numbers = vec![tokens, max, KEPT as f64, tokens];
                    MemoryFailure::new("cannot_summarize_last_4", numbers, tokens).into()
                }
            });
        }
        at = end;
        let memos: Vec<Option<String>> = batch.iter().map(|entry| entry.memo.clone()).collect();
        let lines: Vec<String> = batch.iter().map(|entry| entry.line()).collect();
        let text = match answers.summary(request::messages(&lines.join("\n"), &settings.prompt))? {
            Ok(text) => text,
            Err(error) => {
                n_failures += 1;
                if n_failures >= FAILURES_MAX {
                    let failure = MemoryFailure::new("summarization_failed_repeatedly", Vec::new(), tokens);
                    return Err(failure.because(&error).into());
                }
                batches.push(Batch { memos, fate: BatchFate::PassedOver });
                continue;
            }
        };
        n_failures = 0;
        data.last_main_chunk_id += 1;
        let id = data.last_main_chunk_id;
        let paragraphs = text.split("\n\n").map(utf16::trim).filter(|text| !text.is_empty());
        data.chunks.extend(paragraphs.map(|text| SummaryChunk { main_chunk_id: id, text: text.to_owned() }));
        batches.push(Batch { memos: memos.clone(), fate: BatchFate::Summarised });
        let last_chat_memo = memos.last().cloned().flatten();
        data.main_chunks.push(MainChunk { id, text, chat_memos: memos, last_chat_memo });
        tokens -= size;
    }

    let mut used = 0.0;
    let mut summaries = String::new();
    for chunk in &data.main_chunks {
        let cost = count.system(&chunk.text);
        if used + cost > room / 2.0 {
            break;
        }
        used += cost;
        summaries.push_str("\n\n");
        summaries.push_str(&chunk.text);
    }
    let details = details(chat, &data, room - used, tokens, answers)?;
    let block = chat.texts.details(&summaries, &details);
    tokens += count.system(&block) - room;
    let mut all = vec![ChatEntry::memory(block, EntryPart::Memory)];
    all.extend(entries[at..].iter().cloned());
    Ok(StrategyOutcome { entries: all, tokens, data, batches })
}

struct Collected<'a> {
    batch: Vec<&'a ChatEntry>,
    size: f64,
    /// The index at which the next batch begins.
    end: usize,
    /// The tokens of the entry that ended the batch, if it does not fit a separate batch either.
    too_large: Option<f64>,
}

fn collect<'a>(
    entries: &'a [ChatEntry],
    start: usize,
    settings: &DetailSettings,
    count: &EntryCounter<'_>,
) -> Collected<'a> {
    let mut collected = Collected { batch: Vec::new(), size: 0.0, end: start, too_large: None };
    let end = entries.len().saturating_sub(KEPT);
    while collected.size < settings.chunk_size && collected.end < end {
        let entry = &entries[collected.end];
        if collected.end == 0 || utf16::is_blank(&entry.content) {
            collected.end += 1;
            continue;
        }
        let cost = count.entry(entry);
        if collected.size + cost > settings.chunk_size {
            collected.too_large = Some(cost);
            break;
        }
        collected.batch.push(entry);
        collected.size += cost;
        collected.end += 1;
    }
    collected
}

/// Paragraphs that are similar to the last messages, as many as fit.
fn details(
    chat: &Chat<'_>,
    data: &DetailData,
    mut room: f64,
    tokens: f64,
    answers: &mut Answers<'_>,
) -> Result<String, Stop> {
    let Chat { entries, count, known, .. } = *chat;
    let failed = |error: &str| MemoryFailure::new("similarity_search_failed", Vec::new(), tokens).because(error);
    let documents: Vec<String> = data.chunks.iter().map(|chunk| format!("search_document: {}", chunk.text)).collect();
    if documents.is_empty() {
        return Ok(String::new());
    }
    let mut index = VectorIndex::new(Way::First, known, &documents, answers)?.map_err(|error| failed(&error))?;
    let newest = entries.iter().rev().take(3);
    let queries: Vec<String> = newest.map(|entry| format!("search_query: {}", entry.content)).collect();
    let vectors = index.queries(&queries, answers)?.map_err(|error| failed(&error))?;
    let weighted: Vec<(Vec<f32>, f64)> =
        vectors.into_iter().enumerate().map(|(n, vector)| (vector, 1.0 / (n + 1) as f64)).collect();
    let mut details = String::new();
    for scored in index.ranked(&weighted) {
        let text = &data.chunks[scored.place].text;
        let cost = count.system(text);
        if cost > room {
            break;
        }
        room -= cost;
        details.push_str(text);
        details.push_str("\n\n");
    }
    Ok(details)
}
