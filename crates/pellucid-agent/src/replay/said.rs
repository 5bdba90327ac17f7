//! What was said in a recorded session, turn by turn: the person's input, the model's answers, the outputs of tools.
//!
//! Messages that a pack made are left out, so that another pack or setting can make its own around the same conversation.

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::usage::TokenUsage;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::record::Record;
use pellucid_store::record::TurnContext;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::RequestEntry;
use pellucid_store::requests::entry::RequestTerms;
use pellucid_store::requests::parts::PartStore;

use super::ReplayError;
use super::family::Found;
use super::history;
use super::source::ReplaySource;
use super::walk::replies;

/// The conversation of a recorded session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SaidSession {
    /// The turns in their order.
    pub turns: Vec<SaidTurn>,
    /// The summaries of the history that a model gave, in their order.
    pub summaries: Vec<SaidAnswer>,
}

/// A turn of a recorded session.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidTurn {
    /// The id of the turn.
    pub id: String,
    /// Whether another process continued the session with this turn.
    pub is_resumed: bool,
    /// The settings of the process that ran the turn; absent in records of earlier versions.
    pub terms: Option<RequestTerms>,
    /// What the person said; absent in a turn that only summarises the history.
    pub inputs: Option<Vec<UserInput>>,
    /// The settings of the turn.
    pub settings: Option<Box<TurnContext>>,
    /// The model's answers, in their order.
    pub answers: Vec<SaidAnswer>,
}

/// An answer of the model, with the outputs of the tools that it called.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidAnswer {
    /// The number of the request that was answered, from 1.
    pub number: usize,
    /// The digest of the body of the request.
    pub body: String,
    /// What the model said.
    pub items: Vec<Item>,
    /// The outputs of tools, by the id of the call.
    pub outputs: BTreeMap<String, Item>,
    /// What was attached or said before the next request of the same turn, by a tool or by the person.
    pub attached: Vec<UserInput>,
    /// The token counts, if the server reported them.
    pub usage: Option<TokenUsage>,
    /// Why there is no answer, in a word.
    pub failure: Option<String>,
}

/// Why the conversation of a session cannot be read apart.
#[derive(Debug, thiserror::Error)]
pub enum SaidError {
    /// The session's files cannot be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The session has something that is not clear.
    #[error("{0}")]
    Unclear(String),
}

impl From<ReadError> for SaidError {
    fn from(error: ReadError) -> Self {
        Self::Replay(error.into())
    }
}

impl SaidSession {
    /// Reads what was said in a session.
    ///
    /// # Errors
    /// When the files cannot be read, or do not say who said what: requests of another session or
    /// program, a message while a summary was made, or a memory that asks a model.
    pub fn read(home: &Path, file: &SessionFile) -> Result<Self, SaidError> {
        let source = ReplaySource::open(home, file)?;
        let (numbers, chain) = (numbers(&source)?, source.chain());
        let parts = PartStore::new(home);
        let mut reader = Reader {
            lines: history::forwards(file, 0)?,
            at: 0,
            file,
            said: Self::default(),
            is_resumed: false,
            terms: None,
            inputs: Vec::new(),
            settings: None,
            last: Last::Nothing,
        };
        let replies = replies(chain);
        for (link, it) in chain.links.iter().enumerate() {
            match &it.entry {
                LogEntry::Opened(opened) => {
                    reader.advance(opened.at)?;
                    reader.is_resumed = opened.how == How::Resumed;
                    reader.last = Last::Nothing;
                    reader.terms = opened.terms.as_deref().cloned();
                }
                LogEntry::Request(request) => {
                    reader.advance(request.at)?;
                    let mut answer = SaidAnswer {
                        number: numbers.get(&link).copied().unwrap_or_default(),
                        body: request.body.clone(),
                        items: Vec::new(),
                        outputs: BTreeMap::new(),
                        attached: Vec::new(),
                        usage: None,
                        failure: None,
                    };
                    if let Some(reply) = replies.get(&it.n) {
                        answer.usage = reply.usage;
                        answer.failure.clone_from(&reply.failure);
                    }
                    reader.request(request, answer)?;
                }
                LogEntry::Noted(noted) => reader.noted(history::item(&noted.item, &parts).map_err(SaidError::Unclear)?),
                _ => {}
            }
        }
        reader.advance(u64::MAX)?;
        Ok(reader.said)
    }
}

/// The numbers of requests by their lines of the record.
fn numbers(source: &ReplaySource) -> Result<BTreeMap<usize, usize>, SaidError> {
    let numbering = source.own_numbering()?;
    let is_copy =
        source.chain.links.iter().any(|link| matches!(&link.entry, LogEntry::Opened(it) if it.how == How::Forked));
    if is_copy {
        return Err(SaidError::Unclear(
            "the session is a copy of another, which has a part of the conversation".into(),
        ));
    }
    let mut numbers = BTreeMap::new();
    for (at, place) in numbering.own.iter().enumerate() {
        match &place.found {
            Found::Recorded { link } => drop(numbers.insert(*link, at + 1)),
            Found::Unrecorded(_) => {
                let why = format!("another program sent request #{} of the session", at + 1);
                return Err(SaidError::Unclear(why));
            }
        }
    }
    Ok(numbers)
}

/// The answer that lines of the file belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Answer,
    Summary,
}

struct Reader<'a> {
    file: &'a SessionFile,
    lines: Forwards,
    /// The offset behind the last line that was read.
    at: u64,
    said: SaidSession,
    is_resumed: bool,
    terms: Option<RequestTerms>,
    /// What the person said since the last request.
    inputs: Vec<UserInput>,
    settings: Option<Box<TurnContext>>,
    last: Last,
}

impl Reader<'_> {
    /// Follows the session file up to this offset.
    fn advance(&mut self, upto: u64) -> Result<(), SaidError> {
        while self.at < upto {
            let line = self.lines.next_line().map_err(|error| ReadError::io(&self.file.path, error))?;
            let Some(line) = line else { break };
            self.at = line.end;
            if let LineReading::Record(record) = read_line(line.bytes) {
                self.line(record);
            }
        }
        Ok(())
    }

    fn line(&mut self, record: Record) {
        match record {
            Record::TurnContext(settings) => self.settings = Some(settings),
            Record::EventMsg(EventMessage::UserMessage { message, images, local_images, text_elements }) => {
                let images = images.into_iter().map(|image_url| UserInput::Image { image_url });
                self.inputs.extend(images);
                self.inputs.extend(local_images.into_iter().map(|path| UserInput::LocalImage { path }));
                if !message.is_empty() {
                    self.inputs.push(UserInput::Text { text: message, text_elements });
                }
            }
            Record::ResponseItem(item) if self.last == Last::Answer => {
                let answer = self.said.turns.last_mut().and_then(|turn| turn.answers.last_mut());
                if let Some(answer) = answer {
                    answer.add(item);
                }
            }
            Record::SessionMeta(_) | Record::ResponseItem(_) | Record::Compacted(_) | Record::EventMsg(_) => {}
        }
    }

    fn request(&mut self, request: &RequestEntry, answer: SaidAnswer) -> Result<(), SaidError> {
        let number = answer.number;
        let is_new = self.said.turns.last().is_none_or(|turn| turn.id != request.turn);
        let inputs = std::mem::take(&mut self.inputs);
        if is_new {
            let is_resumed = std::mem::take(&mut self.is_resumed);
            let turn = SaidTurn {
                id: request.turn.clone(),
                is_resumed,
                terms: self.terms.clone(),
                inputs: None,
                settings: None,
                answers: Vec::new(),
            };
            self.said.turns.push(turn);
        }
        let Some(turn) = self.said.turns.last_mut() else { return Ok(()) };
        match (is_new || turn.inputs.is_none(), inputs.is_empty()) {
            (_, true) => {}
            // A summary may be asked for before the input of its turn is recorded.
            (true, false) => turn.inputs = Some(inputs),
            (false, false) => match turn.answers.last_mut().filter(|_| self.last == Last::Answer) {
                Some(answer) => answer.attached = inputs,
                None => {
                    let why = format!("the person said something while a summary was made, before request #{number}");
                    return Err(SaidError::Unclear(why));
                }
            },
        }
        match &request.purpose {
            Purpose::Answer => {
                turn.settings = self.settings.clone();
                turn.answers.push(answer);
                self.last = Last::Answer;
            }
            Purpose::AnswerAgain => {
                match turn.answers.last() {
                    Some(failed) if failed.failure.is_some() && failed.items.is_empty() => drop(turn.answers.pop()),
                    _ => {
                        let why = format!("request #{number} was sent again after a part of its answer");
                        return Err(SaidError::Unclear(why));
                    }
                }
                turn.answers.push(answer);
                self.last = Last::Answer;
            }
            Purpose::Summary { .. } => {
                turn.settings = turn.settings.take().or_else(|| self.settings.clone());
                self.said.summaries.push(answer);
                self.last = Last::Summary;
            }
            Purpose::ProviderSummary => {
                let why = format!("the provider summarised the history with request #{number}");
                return Err(SaidError::Unclear(why));
            }
            Purpose::MemorySummary { .. } | Purpose::Vectors => {
                let why = format!("the memory of the session asked a model with request #{number}");
                return Err(SaidError::Unclear(why));
            }
        }
        Ok(())
    }

    /// An item that only the record has: an answer to a request for a summary.
    fn noted(&mut self, item: Item) {
        if let Some(summary) = self.said.summaries.last_mut().filter(|_| self.last == Last::Summary) {
            summary.items.push(item);
        }
    }
}

impl SaidAnswer {
    /// Adds an item, if the model or a tool gave it.
    fn add(&mut self, item: Item) {
        match &item {
            Item::FunctionCallOutput { call_id, .. } | Item::CustomToolCallOutput { call_id, .. } => {
                self.outputs.insert(call_id.clone(), item);
            }
            Item::Message { role, .. } if role != "assistant" => {}
            Item::GhostSnapshot { .. } | Item::Other => {}
            _ => self.items.push(item),
        }
    }
}
