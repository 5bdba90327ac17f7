//! Records what is forwarded: bodies become requests of sessions, answers become replies.
//!
//! Notes come in the order in which requests were forwarded. Writing happens beside the forwarding and never holds it back,
//! unless very many notes wait.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use pellucid_engine::digest::Digest;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;
use tokio::sync::mpsc;

use crate::answer;
use crate::answer::DecodedAnswer;
use crate::conversation;
use crate::conversation::Beginning;
use crate::conversation::Conversation;
use crate::conversation::TakenBase;
pub use crate::documents::DocumentPlaces;
use crate::documents::Documents;
use crate::held::HeldBytes;
use crate::origins::Evidence;
use crate::origins::SeenAnswers;
use crate::taken;
use crate::taken::TakenBody;

/// What recording needs to know of the program.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// The home folder that sessions are written to.
    pub home: PathBuf,
    /// The working directory of the program.
    pub cwd: PathBuf,
    /// The name of the program.
    pub program: String,
    /// The words of the command line.
    pub words: Vec<String>,
    /// A name for the first session; others get a number behind it.
    pub name: Option<String>,
    /// Where files are looked for whose text a request may have.
    pub places: DocumentPlaces,
}

/// Something that was forwarded.
#[derive(Debug)]
pub enum ForwardNote {
    /// A body went to the upstream server.
    Sent(Box<SentNote>),
    /// What came of it.
    Answered(Box<AnswerNote>),
}

/// A body that was forwarded.
#[derive(Debug)]
pub struct SentNote {
    /// The number of the exchange.
    pub exchange: u64,
    /// The service that the body went to.
    pub slot: String,
    /// The address that the service is forwarded to.
    pub upstream: String,
    /// The method of HTTP.
    pub method: String,
    /// The path behind the upstream address, with its query.
    pub path: String,
    /// The headers that may be kept.
    pub headers: Vec<(String, String)>,
    /// The encoding of the body.
    pub encoding: Option<String>,
    /// The body as it was forwarded.
    pub body: Bytes,
    /// The body's share of the bytes that may be held.
    #[expect(dead_code, reason = "the share is given back when the note is dropped")]
    pub(crate) held: HeldBytes,
    /// When it was forwarded.
    pub sent_at: Moment,
}

/// What came of a body.
#[derive(Debug)]
pub struct AnswerNote {
    /// The number of the exchange.
    pub exchange: u64,
    /// The status of HTTP; absent if there was no answer.
    pub status: Option<u16>,
    /// When the first byte of the answer came.
    pub first_at: Option<Moment>,
    /// When the answer was complete, or ended.
    pub done_at: Moment,
    /// The encoding of the answer.
    pub encoding: Option<String>,
    /// The bytes of the answer.
    pub content: AnswerContent,
    /// Their share of the bytes that may be held.
    pub(crate) held: HeldBytes,
    /// Why there is no whole answer, in a word.
    pub failure: Option<&'static str>,
}

/// The bytes of an answer.
#[derive(Debug)]
pub enum AnswerContent {
    /// The body of an HTTP answer.
    Body(Vec<Bytes>),
    /// The messages of a WebSocket.
    Messages(Vec<Vec<u8>>),
}

/// What was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchSummary {
    /// The ids of the sessions, in their order.
    pub sessions: Vec<String>,
    /// How many requests were recorded.
    pub n_requests: usize,
    /// What could not be written, for people.
    pub failures: Vec<String>,
}

/// Records notes until no more can come.
pub fn record(plan: RecordPlan, mut notes: mpsc::Receiver<ForwardNote>) -> WatchSummary {
    let mut record = WatchRecord::new(plan);
    while let Some(note) = notes.blocking_recv() {
        match note {
            ForwardNote::Sent(sent) => record.sent(&sent),
            ForwardNote::Answered(answer) => record.answered(&answer),
        }
    }
    record.end()
}

/// The conversations of a program.
#[derive(Debug)]
struct WatchRecord {
    plan: RecordPlan,
    program: Arc<str>,
    documents: Documents,
    answers: SeenAnswers,
    conversations: Vec<Conversation>,
    /// The conversation and the line of every exchange without an answer, with the format.
    waiting: BTreeMap<u64, (usize, u64, pellucid_engine::watched::WatchedFormat)>,
    n_requests: usize,
    failures: Vec<String>,
}

impl WatchRecord {
    fn new(plan: RecordPlan) -> Self {
        let mut documents = Documents::new(plan.places.clone());
        plan.words.iter().for_each(|word| documents.note(word));
        Self {
            program: plan.program.as_str().into(),
            documents,
            plan,
            answers: SeenAnswers::default(),
            conversations: Vec::new(),
            waiting: BTreeMap::new(),
            n_requests: 0,
            failures: Vec::new(),
        }
    }

    fn sent(&mut self, note: &SentNote) {
        let plain = answer::decoded(note.encoding.as_deref(), &note.body);
        let is_plain = matches!(plain, Some(Cow::Borrowed(_)));
        let text = plain.and_then(|plain| match plain {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        });
        // Bytes that are no text are kept in hexadecimal digits.
        let (text, encoding) = match text {
            Some(text) if is_plain => (text, None),
            Some(text) => (text, note.encoding.clone()),
            None => {
                let hex: String = note.body.iter().map(|byte| format!("{byte:02x}")).collect();
                (Cow::Owned(hex), Some("hex".to_owned()))
            }
        };
        let path = if encoding.as_deref() == Some("hex") { "" } else { note.path.as_str() };
        let taken = TakenBody::of(path, &text);
        let head = entry::WatchedRequest {
            method: note.method.clone(),
            path: crate::headers::path_without_values(&note.path),
            model: taken::model_in_path(&note.path),
            headers: note.headers.clone(),
            encoded_sha256: encoding.is_some().then(|| Digest::of([&*note.body]).to_string()),
            encoding,
        };
        let base = conversation::base(&taken);
        let (n_common, place) = self.conversation(note, &taken, &base);
        for item in &taken.items[n_common..] {
            self.documents.note_item(&taken.text[item.clone()]);
        }
        let documents = self.documents.now();
        let evidence =
            Evidence { program: &self.program, words: &self.plan.words, documents: &documents, answers: &self.answers };
        let Some(conversation) = self.conversations.get_mut(place) else {
            return;
        };
        match conversation.request(&taken, &evidence, (head, base), note.sent_at) {
            Some(line) => {
                self.n_requests += 1;
                self.waiting.insert(note.exchange, (place, line, taken.format));
            }
            None => self.failed(place),
        }
    }

    /// How many items a body has in common with the conversation that it belongs to, and the place of that conversation; it is
    /// begun if there is none.
    fn conversation(&mut self, note: &SentNote, taken: &TakenBody<'_>, base: &TakenBase) -> (usize, usize) {
        let known = self.conversations.iter().enumerate();
        let best = known.filter_map(|(place, it)| Some((it.match_of(&note.slot, taken, base)?, place))).max();
        if let Some(best) = best {
            return best;
        }
        let RecordPlan { home, cwd, program, name, .. } = &self.plan;
        let beginning = Beginning { home, cwd, program, slot: &note.slot, upstream: &note.upstream };
        let conversation = Conversation::begin(beginning, taken, base.clone());
        let place = self.conversations.len();
        if let Some(name) = name {
            let name = if place == 0 { name.clone() } else { format!("{name}-{}", place + 1) };
            if let Err(error) = conversation.name(home, &name) {
                self.failures.push(format!("the session cannot be named {name}: {error}"));
            }
        }
        self.conversations.push(conversation);
        (0, place)
    }

    fn answered(&mut self, note: &AnswerNote) {
        let Some((place, line, format)) = self.waiting.remove(&note.exchange) else {
            return;
        };
        let decoded = match &note.content {
            _ if note.status.is_some_and(|status| status >= 400) => DecodedAnswer::default(),
            AnswerContent::Body(chunks) => answer::read(format, note.encoding.as_deref(), chunks),
            AnswerContent::Messages(messages) => answer::of_messages(messages),
        };
        for item in &decoded.items {
            match item {
                Item::Message { content, .. } => content.iter().for_each(|part| {
                    if let ContentPart::OutputText { text } = part {
                        self.answers.note_text(text);
                    }
                }),
                Item::FunctionCall { call_id, .. } | Item::CustomToolCall { call_id, .. } => {
                    self.answers.note_call(call_id);
                }
                _ => {}
            }
        }
        let failure = match note.status {
            Some(status) if status >= 400 => Some("refused"),
            _ => note.failure,
        };
        let reply = entry::ReplyEntry {
            first_event_at: note.first_at.map(|at| at.to_string()),
            done_at: Some(note.done_at.to_string()),
            attempts: vec![note.status],
            failure: failure.map(str::to_owned),
            ..entry::ReplyEntry::default()
        };
        if let Some(conversation) = self.conversations.get_mut(place) {
            conversation.reply(line, decoded, reply);
        }
        self.failed(place);
    }

    /// Notes once why a conversation is not recorded any more.
    fn failed(&mut self, place: usize) {
        let failure = self.conversations.get(place).and_then(|it| it.failure().map(str::to_owned));
        if let Some(failure) = failure.filter(|failure| !self.failures.contains(failure)) {
            self.failures.push(failure);
        }
    }

    fn end(mut self) -> WatchSummary {
        for conversation in &mut self.conversations {
            conversation.end();
        }
        let sessions = self.conversations.iter().map(|it| it.session.to_string()).collect();
        WatchSummary { sessions, n_requests: self.n_requests, failures: self.failures }
    }
}
