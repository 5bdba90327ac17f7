//! Summaries as cards, of which the pinned, the newest, the most like and some by chance
//! come back before the chat.
//!
//! There is a standard and an experimental way of it. The standard one asks for summaries one after
//! the other and always puts a block before the chat, even an empty one; the experimental one asks
//! for all of them together and has no block before there is something in it.

mod choose;
mod similar;

use super::Batch;
use super::BatchFate;
use super::Chat;
use super::MemoryFailure;
use super::Stop;
use super::StrategyOutcome;
use super::ask::Answers;
use super::card_settings::CardSettings;
use super::data::CardData;
use super::data::MemorySummary;
use super::entry::ChatEntry;
use super::entry::ChatRole;
use super::entry::EntryPart;
use super::request;
use crate::utf16;

/// How many of the newest entries are never summarised.
const KEPT: usize = 3;

/// How cards come by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chance {
    /// Cards are drawn in their stored order.
    Stored,
    /// In an order that this number decides.
    Seeded(u64),
}

/// Everything that a run looks at.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The chat and its limits.
    pub chat: Chat<'a>,
    /// The settings of the strategy.
    pub settings: &'a CardSettings,
    /// How a summary is asked for when the settings do not say.
    pub prompt: &'a str,
    /// How cards come by chance.
    pub chance: Chance,
}

impl Input<'_> {
    fn is_experimental(&self) -> bool {
        self.settings.experimental
    }

    fn prompt(&self) -> &str {
        let own = &self.settings.summary_prompt;
        if utf16::is_blank(own) { self.prompt } else { own }
    }

    fn cost(&self, summary: &MemorySummary) -> f64 {
        self.chat.count.system(&format!("{}\n\n", summary.text))
    }

    /// The messages that ask for a summary of entries.
    fn request(&self, entries: &[&ChatEntry]) -> Vec<super::ask::SummaryMessage> {
        let lines: Vec<String> = entries.iter().map(|entry| entry.line()).collect();
        request::messages(&lines.join("\n"), self.prompt())
    }
}

/// Makes a chat fit. What is remembered is in `data`, also when it cannot be done, because
/// summaries that were made are worth keeping; after a failure that is raised they are not.
///
/// # Errors
/// A question, or why it cannot be done.
pub fn summary_cards(
    input: &Input<'_>,
    data: &mut CardData,
    answers: &mut Answers<'_>,
) -> Result<StrategyOutcome<()>, Stop> {
    let Input { chat: Chat { entries, limits, count, texts, .. }, settings, .. } = *input;
    let max = limits.max;
    if settings.recent_ratio + settings.similar_ratio > 1.0 {
        return Err(MemoryFailure::new("ratio_sum_gt_1", vec![1.0], input.chat.tokens).into());
    }
    let mut tokens = input.chat.tokens - limits.response;
    data.last_selected_summaries = None;
    if !settings.keep_orphans {
        data.drop_orphans(entries);
    }
    let start = start(entries, data);
    tokens -= count.entries(&entries[..start]);

    let empty = count.system(&texts.cards(""));
    let share = (max * settings.memory_ratio).floor();
    let (reserved, available) = match (input.is_experimental(), data.summaries.is_empty()) {
        (false, true) if tokens + empty <= max => (empty, 0.0),
        (true, true) if tokens <= max => (0.0, 0.0),
        _ => (share, share - empty),
    };
    tokens += reserved;
    let mut run = Run { input, data, answers, tokens, at: start, batches: Vec::new() };
    run.summarise()?;
    let Run { mut tokens, at, batches, data, answers, .. } = run;

    let rest = entries[at..].iter().cloned();
    if data.summaries.is_empty() {
        // The reserved tokens stay counted.
        let block = (!input.is_experimental()).then(|| ChatEntry::memory(texts.cards(""), EntryPart::Memory));
        return Ok(StrategyOutcome { entries: block.into_iter().chain(rest).collect(), tokens, data: (), batches });
    }
    let choice = choose::choose(input, data, available, tokens, answers)?;
    let cards: Vec<&str> = choice.cards().into_iter().map(|card| data.summaries[card].text.as_str()).collect();
    let block = texts.cards(&cards.join("\n\n"));
    data.metrics = Some(choice.metrics);
    tokens += count.system(&block) - reserved;
    if tokens > max {
        let failure = MemoryFailure::new("unexpected_overflow", vec![tokens, max], tokens);
        return Err(MemoryFailure { is_raised: true, ..failure }.into());
    }
    let entries = std::iter::once(ChatEntry::memory(block, EntryPart::Memory)).chain(rest).collect();
    Ok(StrategyOutcome { entries, tokens, data: (), batches })
}

/// The index of the first entry after the last summary.
fn start(entries: &[ChatEntry], data: &CardData) -> usize {
    let Some(last) = data.summaries.last() else {
        return 0;
    };
    let memo = last.chat_memos.last().cloned().flatten();
    entries.iter().position(|entry| entry.memo == memo).map_or(0, |at| at + 1)
}

struct Run<'a, 'b, 'c> {
    input: &'a Input<'a>,
    data: &'b mut CardData,
    answers: &'b mut Answers<'c>,
    tokens: f64,
    /// The first entry that is still in the chat.
    at: usize,
    batches: Vec<Batch>,
}

impl<'a> Run<'a, '_, '_> {
    /// Summarises batches until the chat fits.
    fn summarise(&mut self) -> Result<(), Stop> {
        let Input { chat: Chat { entries, limits, count, .. }, settings, .. } = *self.input;
        let (max, goal) = (limits.max, limits.max * (1.0 - settings.extra_ratio));
        let mut later: Vec<Vec<&ChatEntry>> = Vec::new();
        let is_over = self.tokens > max;
        while is_over && self.tokens > goal {
            if entries.len() - self.at <= KEPT {
                if self.tokens <= max {
                    break;
                }
                let numbers = vec![self.tokens, max, KEPT as f64];
                return Err(MemoryFailure::new("cannot_summarize_further", numbers, self.tokens).into());
            }
            let (end, batch) = self.batch();
            let size = count.entries(&entries[self.at..end]);
            if self.tokens <= max && self.tokens - size < goal {
                break;
            }
            self.note(end, &batch);
            if !batch.is_empty() && self.input.is_experimental() {
                later.push(batch);
            } else if !batch.is_empty() {
                let answer = self.answers.summary(self.input.request(&batch))?;
                self.keep(&batch, answer)?;
            }
            self.tokens -= size;
            self.at = end;
        }
        if !later.is_empty() {
            let requests = later.iter().map(|batch| self.input.request(batch)).collect();
            let answers = self.answers.summaries(requests)?;
            for (n, batch) in later.iter().enumerate() {
                let answer = answers.get(n).cloned().unwrap_or_else(|| Err("canceled".to_owned()));
                self.keep(batch, answer)?;
            }
        }
        Ok(())
    }

    /// The next entries to leave the chat: where they end, and which of them are summarised.
    fn batch(&self) -> (usize, Vec<&'a ChatEntry>) {
        let Input { chat: Chat { entries, .. }, settings, .. } = *self.input;
        // A batch of none would never make the chat shorter.
        let n_max = settings.messages_per_card.max(1.0);
        let mut batch = Vec::new();
        let mut end = self.at;
        while end < entries.len() - KEPT {
            let n_counted = if self.input.is_experimental() { batch.len() } else { end - self.at };
            if n_counted as f64 >= n_max {
                break;
            }
            let entry = &entries[end];
            let is_left_out = matches!(entry.part, EntryPart::Example | EntryPart::Opening)
                || utf16::is_blank(&entry.content)
                || (settings.skip_user_messages && entry.role == ChatRole::User);
            if !is_left_out {
                batch.push(entry);
            }
            end += 1;
        }
        (end, batch)
    }

    fn note(&mut self, end: usize, batch: &[&ChatEntry]) {
        let memos = |entries: &mut dyn Iterator<Item = &ChatEntry>| entries.map(|entry| entry.memo.clone()).collect();
        let is_in = |entry: &&ChatEntry| batch.iter().any(|other| std::ptr::eq(*other, *entry));
        let passed: Vec<Option<String>> =
            memos(&mut self.input.chat.entries[self.at..end].iter().filter(|entry| !is_in(entry)));
        if !passed.is_empty() {
            self.batches.push(Batch { memos: passed, fate: BatchFate::PassedOver });
        }
        if !batch.is_empty() {
            let memos = memos(&mut batch.iter().copied());
            self.batches.push(Batch { memos, fate: BatchFate::Summarised });
        }
    }

    fn keep(&mut self, batch: &[&ChatEntry], answer: Result<String, String>) -> Result<(), MemoryFailure> {
        let failed =
            |error: String| MemoryFailure::new("summarization_failed", Vec::new(), self.tokens).because(&error);
        let text = answer.and_then(|answer| request::cleaned(&answer)).map_err(failed)?;
        let chat_memos = batch.iter().map(|entry| entry.memo.clone()).collect();
        let tags = Some(Vec::new());
        self.data.summaries.push(MemorySummary { text, chat_memos, tags, ..MemorySummary::default() });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
