//! One running summary. Fragments of the past come back by likeness, if the mode asks for them.
//!
//! Entries are summarised in chunks from the oldest on until the rest fits. The summary is kept as
//! paragraphs; when there are too many it is itself summarised.

use serde_json::Value;
use serde_json::json;

use super::Chat;
use super::ChatLimits;
use super::MemoryFailure;
use super::Stop;
use super::StrategyOutcome;
use super::ask::Answers;
use super::count::EntryCounter;
use super::data;
use super::entry::ChatEntry;
use super::entry::ChatRole;
use super::entry::EntryPart;
use super::ranking::KnownVectors;
use super::ranking::VectorIndex;
use super::ranking::Way;
use super::request;
use super::texts::MemoryTexts;
use crate::utf16;

/// Added to the tokens before anything else, and to those of fragments of the past.
const SPARE: f64 = 10.0;

/// The settings of the strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningSummarySettings {
    /// With or without fragments of the past.
    pub mode: SummaryMode,
    /// How many tokens are summarised at once, at most.
    pub chunk_tokens_max: f64,
    /// Whether punctuation is taken out of what is remembered.
    pub removes_punctuation: bool,
    /// How a summary is asked for.
    pub prompt: String,
    /// The name of the user in the chat.
    pub user: String,
    /// The name of the character.
    pub character: String,
    /// Whether one character or several speak.
    pub cast: Cast,
}

/// Whether one character or several speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cast {
    /// A conversation with one character.
    #[default]
    One,
    /// A conversation with several characters, so messages get no name before them.
    Group,
}

/// With or without fragments of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryMode {
    /// The running summary alone.
    Alone,
    /// The running summary with recalled fragments.
    WithFragments,
}

/// The memory to store after the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunningSummaryData {
    /// The value to store; absent if it did not change.
    pub memory: Option<String>,
    /// The first message that is not covered.
    pub last_id: Option<String>,
}

/// Makes a chat fit.
///
/// # Errors
/// A question, or why it cannot be done.
pub fn running_summary(
    chat: &Chat<'_>,
    memory: Option<&str>,
    settings: &RunningSummarySettings,
    answers: &mut Answers<'_>,
) -> Result<StrategyOutcome<RunningSummaryData>, Stop> {
    let Chat { entries, limits: ChatLimits { max, .. }, count, known, texts, .. } = *chat;
    let tokens = chat.tokens + SPARE;
    let (summary, past, stored) = (String::new(), Vec::new(), None);
    let mut run = Run { entries, at: 0, tokens, max, settings, count, texts, summary, past, stored };
    if tokens <= max {
        return Ok(run.outcome(Vec::new(), RunningSummaryData::default()));
    }
    if let Some(start) = entries.iter().position(|entry| entry.part == EntryPart::Opening) {
        run.drop_to(start);
    }
    let mut id = None;
    if let Some(memory) = memory.filter(|memory| utf16::len(memory) > 4) {
        id = run.load(memory)?;
    }
    let fragments = run.recall(known, answers)?;
    if run.tokens < max {
        let memory = ChatEntry::memory(format!("{}\n\n{fragments}", run.summary), EntryPart::Memory);
        return Ok(run.outcome(vec![memory], RunningSummaryData::default()));
    }
    while run.tokens > max {
        if let Some(ended_by) = run.summarise_chunk(answers)? {
            id = ended_by;
        }
    }
    let mut memories = vec![ChatEntry::memory(run.summary.clone(), EntryPart::Memory)];
    if settings.mode == SummaryMode::WithFragments && !fragments.is_empty() {
        memories.insert(0, ChatEntry::memory(fragments, EntryPart::Fragments));
    }
    let memory = run.to_store(id.as_deref());
    Ok(run.outcome(memories, RunningSummaryData { memory: Some(memory), last_id: id }))
}

struct Run<'a> {
    entries: &'a [ChatEntry],
    /// The first entry that is still in the chat.
    at: usize,
    tokens: f64,
    max: f64,
    settings: &'a RunningSummarySettings,
    count: &'a EntryCounter<'a>,
    texts: &'a MemoryTexts,
    summary: String,
    /// Fragments of the past.
    past: Vec<String>,
    /// The fragments that v1 has stored.
    stored: Option<Vec<Value>>,
}

impl Run<'_> {
    fn outcome(&self, mut memories: Vec<ChatEntry>, data: RunningSummaryData) -> StrategyOutcome<RunningSummaryData> {
        memories.extend(self.entries[self.at..].iter().cloned());
        StrategyOutcome { entries: memories, tokens: self.tokens, data, batches: Vec::new() }
    }

    fn fail(&self, code: &'static str) -> MemoryFailure {
        MemoryFailure::new(code, Vec::new(), self.tokens)
    }

    fn drop_to(&mut self, start: usize) {
        self.tokens -= self.count.entries(&self.entries[self.at..start]);
        self.at = start;
    }

    /// Takes up what is stored, and gives the id of the first message that it does not cover.
    fn load(&mut self, memory: &str) -> Result<Option<String>, MemoryFailure> {
        match (memory.strip_prefix(data::WITH_FRAGMENTS), self.settings.mode) {
            (Some(_), SummaryMode::Alone) => Err(self.fail("stored_with_fragments")),
            (None, SummaryMode::WithFragments) => Ok(None),
            (Some(json), SummaryMode::WithFragments) => self.load_v1(json).map(Some),
            (None, SummaryMode::Alone) => {
                let (id, text) = memory.split_once('\n').unwrap_or((memory, ""));
                while !self.entries.get(self.at).ok_or_else(|| self.fail("chat_id_not_found"))?.has_memo(id) {
                    self.drop_to(self.at + 1);
                }
                self.summary = self.cleaned(text);
                self.tokens += self.count.text(&self.summary);
                Ok(Some(id.to_owned()))
            }
        }
    }

    fn load_v1(&mut self, json: &str) -> Result<String, MemoryFailure> {
        let Ok(Value::Array(stored)) = serde_json::from_str(json) else {
            return Err(self.fail("stored_data_not_a_list"));
        };
        let place = |entry: &Value| {
            let id = entry.get("id")?.as_str()?;
            let at = self.entries[self.at..].iter().position(|entry| entry.has_memo(id))?;
            Some((entry.clone(), id.to_owned(), self.at + at))
        };
        let Some((entry, id, at)) = stored.iter().find_map(place) else {
            return Err(self.fail("chat_id_not_found"));
        };
        self.drop_to(at);
        self.summary = entry.get(data::SUMMARY_KEY).and_then(Value::as_str).unwrap_or_default().to_owned();
        let past = entry.get(data::FRAGMENTS_KEY).and_then(Value::as_array).cloned().unwrap_or_default();
        self.past = past.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        self.stored = Some(stored);
        Ok(id)
    }

    /// Fragments of the past that are like what the chat now begins with.
    fn recall(&mut self, known: &KnownVectors, answers: &mut Answers<'_>) -> Result<String, Stop> {
        let worth = |text: &&String| utf16::len(text) > 1;
        if self.settings.mode == SummaryMode::Alone || !self.past.iter().any(|text| worth(&text)) {
            return Ok(String::new());
        }
        let said = without_punctuation(&self.summary);
        let mut texts: Vec<String> = Vec::new();
        for text in self.past.iter().filter(worth) {
            let is_said = said.contains(&without_punctuation(text));
            let text = self.cleaned(text);
            if !is_said && !texts.contains(&text) {
                texts.push(text);
            }
        }
        let failed =
            |error: &str| MemoryFailure::new("similarity_search_failed", Vec::new(), self.tokens).because(error);
        let mut index = VectorIndex::new(Way::First, known, &texts, answers)?.map_err(|error| failed(&error))?;
        let oldest = self.entries[self.at..].iter().filter(|entry| entry.role != ChatRole::System).take(4);
        let mut query: Vec<String> = oldest
            .map(|entry| match &entry.name {
                Some(name) => format!("{name}: {}", entry.content),
                None => entry.content.clone(),
            })
            .collect();
        query.push(format!("{}:", self.settings.character));
        let vectors = index.queries(&[query.join("\n\n")], answers)?.map_err(|error| failed(&error))?;
        let queries: Vec<(Vec<f32>, f64)> = vectors.into_iter().map(|vector| (vector, 1.0)).collect();
        let best: Vec<String> = index.ranked(&queries).into_iter().take(3).map(|scored| scored.text).collect();
        let fragments = self.texts.fragments(&best.join(","));
        self.tokens += self.count.system(&fragments) + SPARE;
        Ok(fragments)
    }

    /// Summarises entries from the oldest on, as many as a chunk holds. Gives the memo of the entry
    /// that ended the chunk; nothing if the summary itself was summarised and that was enough.
    fn summarise_chunk(&mut self, answers: &mut Answers<'_>) -> Result<Option<Option<String>>, Stop> {
        let mut limit = (self.max / 3.0).floor().min(self.settings.chunk_tokens_max);
        let before = self.tokens;
        let (mut text, mut size, mut n) = (String::new(), 0.0, 0);
        let mut has_summarised_itself = false;
        let ended_by = loop {
            let Some(entry) = self.entries.get(self.at + n) else {
                self.tokens = before;
                (text, size, n) = (String::new(), 0.0, 0);
                if has_summarised_itself {
                    if limit < 500.0 {
                        return Err(self.fail("not_enough_tokens").into());
                    }
                    limit *= 0.7;
                    continue;
                }
                has_summarised_itself = true;
                self.summarise_itself(answers)?;
                if self.tokens <= self.max {
                    return Ok(None);
                }
                continue;
            };
            let cost = self.count.entry(entry);
            if size + cost > limit {
                if n == 0 {
                    // The reference never ends here; an entry of ours that is too large cannot go.
                    if matches!(entry.role, ChatRole::System | ChatRole::Function) {
                        return Err(self.fail("not_enough_tokens").into());
                    }
                    text.push_str(&self.line(entry));
                    self.tokens -= cost;
                    n += 1;
                }
                break entry.memo.clone();
            }
            text.push_str(&self.line(entry));
            self.tokens -= cost;
            size += cost;
            n += 1;
        };
        self.at += n;
        if !text.is_empty() {
            let summary = self.ask(&text, answers)?;
            self.past.push(collapsed(&summary));
            let n_paragraphs = self.summary.split("\n\n").filter(|text| utf16::len(text) > 1).count();
            let n_max = if self.settings.mode == SummaryMode::WithFragments { 3 } else { 4 };
            if n_paragraphs >= n_max {
                self.summarise_itself(answers)?;
            }
            self.tokens += self.count.text(&format!("{summary}\n\n"));
            let so_far = self.summary.trim_end_matches('\n');
            self.summary = if so_far.is_empty() { summary } else { format!("{so_far}\n\n{summary}") };
        }
        Ok(Some(ended_by))
    }

    fn summarise_itself(&mut self, answers: &mut Answers<'_>) -> Result<(), Stop> {
        let summary = format!("{}\n\n", self.ask(&self.summary.clone(), answers)?);
        self.tokens += self.count.text(&summary) - self.count.text(&self.summary);
        self.summary = summary;
        Ok(())
    }

    fn ask(&self, text: &str, answers: &mut Answers<'_>) -> Result<String, Stop> {
        let answer = answers.summary(request::messages(text, &self.settings.prompt))?;
        answer.map_err(|error| self.fail("summarizer_http").because(&error).into())
    }

    fn line(&self, entry: &ChatEntry) -> String {
        let speaker = match (entry.role, self.settings.cast) {
            (ChatRole::Assistant, Cast::One) => self.settings.character.as_str(),
            (ChatRole::Assistant, Cast::Group) => "",
            (ChatRole::System | ChatRole::User | ChatRole::Function, _) => self.settings.user.as_str(),
        };
        format!("{speaker}: {}\n\n", entry.content)
    }

    fn cleaned(&self, text: &str) -> String {
        if self.settings.removes_punctuation { without_punctuation(text) } else { text.to_owned() }
    }

    fn to_store(&self, id: Option<&str>) -> String {
        let id = id.unwrap_or_default();
        if self.settings.mode == SummaryMode::Alone {
            return format!("{id}\n{}", self.summary);
        }
        let mut stored = self.stored.clone().unwrap_or_default();
        let is_newest = stored.first().and_then(|newest| newest.get("id")).and_then(Value::as_str) == Some(id);
        if is_newest {
            stored[0][data::FRAGMENTS_KEY] = json!(self.past);
            stored[0][data::SUMMARY_KEY] = json!(self.summary);
        } else {
            stored.insert(0, json!({ "id": id, data::FRAGMENTS_KEY: self.past, data::SUMMARY_KEY: self.summary }));
        }
        let json = serde_json::to_string_pretty(&stored).unwrap_or_default();
        format!("{}\n{json}", data::WITH_FRAGMENTS)
    }
}

fn without_punctuation(text: &str) -> String {
    const MARKS: &str = ".,/#!$%^&*;:{}=-_`~()";
    text.chars().filter(|c| !MARKS.contains(*c)).collect()
}

/// Replaces runs of newlines by one newline.
fn collapsed(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' || !collapsed.ends_with('\n') {
            collapsed.push(c);
        }
    }
    collapsed
}
