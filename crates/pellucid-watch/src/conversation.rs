//! One conversation of a watched program: a session with its file and its record.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use pellucid_agent::sent::SentLog;
use pellucid_agent::sent::WatchedSend;
use pellucid_engine::cache_verdict::CacheGrounds;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::NextRequest;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::digest::Digest;
use pellucid_engine::digest::Items;
use pellucid_engine::digest::Ledger;
use pellucid_engine::encode::Encoded;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::Divergence;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_engine::watched::WatchedFormat;
use pellucid_engine::watched::WatchedItem;
use pellucid_engine::watched::WatchedPlace;
use pellucid_files::RealDisk;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::TokenUsageInfo;
use pellucid_store::moment::Moment;
use pellucid_store::name;
use pellucid_store::record::Record;
use pellucid_store::record::SessionMeta;
use pellucid_store::record::WATCHED_SOURCE;
use pellucid_store::recorder;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::entry;
use serde_json::Value;

use crate::answer::DecodedAnswer;
use crate::documents::Document;
use crate::origins;
use crate::origins::CallNames;
use crate::origins::Evidence;
use crate::said;
use crate::taken::TakenBody;

/// A conversation that is recorded.
#[derive(Debug)]
pub struct Conversation {
    /// The id of the session.
    pub session: SessionId,
    /// The service that the conversation is with.
    pub slot: String,
    format: WatchedFormat,
    recorder: Recorder,
    log: SentLog,
    items: Vec<WatchedItem>,
    transcript: Transcript,
    ledger: Ledger,
    sent: Option<SentRequest>,
    /// The digest of the instructions, and the key that the program gives to the conversation.
    base: TakenBase,
    names: CallNames,
    n_turns: usize,
    last_sent: Option<Moment>,
    last_tokens: Option<i64>,
    /// Requests without an answer, by the number of their line.
    pending: BTreeMap<u64, Pending>,
    spent: TokenUsage,
    /// Whether the session file has the last answer already.
    has_answer: bool,
    /// What surrounds the items of the last request, and the files by which its origins were found.
    frame: Option<((Encoded, Encoded), Vec<Document>)>,
}

/// What the verdict about the cache needs once the answer is there.
#[derive(Debug)]
struct Pending {
    has_before: bool,
    continuity: Option<Continuity>,
    tokens_before: Option<i64>,
    idle: Option<Duration>,
    turn: String,
}

/// What begins a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Beginning<'a> {
    /// The home folder.
    pub home: &'a Path,
    /// The working directory of the program.
    pub cwd: &'a Path,
    /// The name of the program.
    pub program: &'a str,
    /// The service, and the address that it is forwarded to.
    pub slot: &'a str,
    /// The address that the requests are forwarded to.
    pub upstream: &'a str,
}

impl Conversation {
    /// Begins a session for a body.
    pub fn begin(beginning: Beginning<'_>, taken: &TakenBody<'_>, base: TakenBase) -> Self {
        let Beginning { home, cwd, program, slot, upstream } = beginning;
        let id = uuid::Uuid::now_v7().to_string();
        let session = SessionId::new(id.as_str());
        let path = name::path(home, jiff::Zoned::now().datetime(), &id);
        let disk = RealDisk::shared();
        let mut recorder = Recorder::new(disk.clone(), path.clone());
        recorder.record(Record::SessionMeta(Box::new(SessionMeta {
            id,
            forked_from_id: None,
            timestamp: recorder::now(),
            cwd: cwd.to_string_lossy().into_owned(),
            originator: program.to_owned(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Value::from(WATCHED_SOURCE),
            model_provider: None,
            base_instructions: None,
            dynamic_tools: None,
            git: None,
        })));
        let format = taken.format;
        let mut log = SentLog::new(disk, home, &path);
        let (program, upstream) = (program.to_owned(), upstream.to_owned());
        let terms = entry::RequestTerms {
            pack: format!("{program} (watched)"),
            cache_order: format.wire().reading_order().to_vec(),
            cache_seconds: kept_for(format).map(|it| it.as_secs()),
            compact_at: None,
            window: None,
        };
        log.open_watched(
            &session,
            entry::WatchedProgram { program, format: format.name().to_owned(), upstream },
            terms,
        );
        let uncut = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
        Self {
            session,
            slot: slot.to_owned(),
            format,
            recorder,
            log,
            items: Vec::new(),
            transcript: Transcript::new(ItemIds::Hidden, uncut),
            ledger: Ledger::default(),
            sent: None,
            base,
            names: CallNames::new(),
            n_turns: 0,
            last_sent: None,
            last_tokens: None,
            pending: BTreeMap::new(),
            spent: TokenUsage::default(),
            has_answer: false,
            frame: None,
        }
    }

    /// How many items a body has in common with the last request, if it belongs to this conversation.
    pub fn match_of(&self, slot: &str, taken: &TakenBody<'_>, base: &TakenBase) -> Option<usize> {
        if self.slot != slot || self.format != taken.format {
            return None;
        }
        if taken.format == WatchedFormat::Raw {
            return Some(0);
        }
        let n_common = self.common(taken);
        let (n_before, n_now) = (self.items.len(), taken.items.len());
        let is_begun = n_common == n_before.min(n_now) && n_common > 0;
        // An answer of the model in common, or one that follows what was sent, is proof. Without that, what surrounds the
        // items has to be the same.
        let has_answer = self.items[..n_common].iter().any(is_models);
        let is_answered = n_common == n_before
            && n_common > 0
            && taken.items.get(n_common).is_some_and(|next| is_models(&WatchedItem::read(&taken.text[next.clone()])));
        let has_key = base.1.is_some() && *base == self.base;
        let is_alone = n_before == 0 && n_now == 0;
        (has_answer || is_answered || has_key || (base.0 == self.base.0 && (is_begun || is_alone))).then_some(n_common)
    }

    /// How many items a body begins with that the last request has too. Marks for the provider's cache do not count.
    fn common(&self, taken: &TakenBody<'_>) -> usize {
        let is_same = |(item, range): &(&WatchedItem, &std::ops::Range<usize>)| {
            let text = taken.text[(*range).clone()].trim_start_matches([',', ' ', '\t', '\r', '\n']);
            *item.bytes == *text.as_bytes()
                || (differs_at_mark(&item.bytes, text.as_bytes())
                    && unmarked(&String::from_utf8_lossy(&item.bytes)) == unmarked(text))
        };
        self.items.iter().zip(&taken.items).take_while(is_same).count()
    }

    /// Records a request. Gives the number of its line.
    pub fn request(
        &mut self,
        taken: &TakenBody<'_>,
        evidence: &Evidence<'_>,
        (head, base): (entry::WatchedRequest, TakenBase),
        sent_at: Moment,
    ) -> Option<u64> {
        let n_common = self.common(taken);
        let items = self.attributed(taken, evidence);
        self.write_said(taken, &items, n_common, evidence);
        let (head_bytes, tail_bytes) = self.frame(taken, evidence);
        let view = View { wire: taken.format.wire(), watched: Some(taken.format), ..View::default() };
        let frame = Frame::recorded(view, head_bytes, tail_bytes);
        let before = std::mem::replace(&mut self.items, items);
        self.transcript.show_watched(places(&before, &self.items));
        let request = frame.request(&mut self.transcript);
        let is_changed = self.transcript.take_divergence().is_some();
        let rows = self.transcript.rendered();
        let account =
            self.ledger.account(&frame, &request, rows, if is_changed { Items::Changed } else { Items::Extended });
        let kept: usize = rows.iter().take(n_common).map(pellucid_engine::transcript::Rendered::len).sum();
        let of: usize = before.iter().map(|item| item.lead.len() + item.bytes.len()).sum();
        let divergence = (n_common < before.len()).then(|| Divergence { kept: kept.min(of.saturating_sub(1)), of });
        let order = taken.format.wire().reading_order();
        let next =
            NextRequest { frame: &frame, request: &request, items: rows, order, left: None, cause: None, moved: None };
        let continuity = self.sent.as_ref().and_then(|sent| sent.continued_by(&next, divergence));
        self.sent = Some(SentRequest::new(&frame, self.transcript.shown_len(), rows.len()));
        self.base = base;
        let turn = self.n_turns.max(1).to_string();
        let line = self.log.request_watched(WatchedSend {
            at: self.recorder.len().unwrap_or(0),
            turn: &turn,
            frame: &frame,
            before: &before,
            items: &self.items,
            account: &account,
            cache_break: continuity.as_ref().and_then(Continuity::cache_break),
            sent_at,
            head,
        })?;
        let idle = self.last_sent.map(|before| sent_at.since(before));
        let (has_before, tokens_before) = (self.last_sent.is_some(), self.last_tokens);
        self.last_sent = Some(sent_at);
        self.pending.insert(line, Pending { has_before, continuity, tokens_before, idle, turn });
        Some(line)
    }

    /// Records what came of a request.
    pub fn reply(&mut self, line: u64, answer: DecodedAnswer, reply: entry::ReplyEntry) {
        let Some(pending) = self.pending.remove(&line) else {
            return;
        };
        let verdict = CacheGrounds {
            has_before: pending.has_before,
            continuity: pending.continuity.as_ref(),
            tokens_before: pending.tokens_before,
            tokens_read: answer.usage.map(|usage| usage.cached_input_tokens),
            idle: pending.idle,
            kept_for: kept_for(self.format),
        };
        let cache = reply.failure.is_none().then(|| verdict.verdict());
        let DecodedAnswer { items, usage, cache_write, response_id } = answer;
        self.write_answer(&items, usage.as_ref());
        self.last_tokens = usage.map(|usage| usage.input_tokens).or(self.last_tokens);
        self.log.reply_to(line, entry::ReplyEntry { response_id, usage, cache_write, cache, ..reply });
        self.seal(&TurnId::new(pending.turn));
    }

    /// Seals what the session file got.
    fn seal(&mut self, turn: &TurnId) {
        if let Some(piece) = self.recorder.take_unsealed() {
            self.log.seal(piece, Some(turn));
        }
    }

    /// Ends the recording: requests without an answer failed, and everything is sealed.
    pub fn end(&mut self) {
        for (line, pending) in std::mem::take(&mut self.pending) {
            let reply = entry::ReplyEntry { failure: Some("interrupted".to_owned()), ..entry::ReplyEntry::default() };
            self.log.reply_to(line, reply);
            self.seal(&TurnId::new(pending.turn));
        }
    }

    /// Why the conversation is not recorded any more, if writing failed.
    pub fn failure(&self) -> Option<&str> {
        self.recorder.failure().or(self.log.failure())
    }

    /// What surrounds the items, with its origins. It is taken apart only if it has changed, or a file has.
    fn frame(&mut self, taken: &TakenBody<'_>, evidence: &Evidence<'_>) -> (Encoded, Encoded) {
        let (head, tail) = (&taken.text.as_bytes()[..taken.head], &taken.text.as_bytes()[taken.tail()]);
        let is_same = |(frame, documents): &&((Encoded, Encoded), Vec<Document>)| {
            *frame.0.bytes == *head && *frame.1.bytes == *tail && *documents == evidence.documents
        };
        if let Some((frame, _)) = self.frame.as_ref().filter(is_same) {
            return frame.clone();
        }
        let frame = origins::frame(taken, evidence);
        self.frame = Some((frame.clone(), evidence.documents.to_vec()));
        frame
    }

    /// The items of a body with their origins. Those that the last request has keep theirs.
    fn attributed(&mut self, taken: &TakenBody<'_>, evidence: &Evidence<'_>) -> Vec<WatchedItem> {
        let known: BTreeMap<&[u8], &Arc<[pellucid_engine::encode::Span]>> =
            self.items.iter().map(|item| (&*item.bytes, &item.spans)).collect();
        let mut items = Vec::with_capacity(taken.items.len());
        for (n, range) in taken.items.iter().enumerate() {
            let text = &taken.text[range.clone()];
            if let Some(before) = self.items.get(n)
                && text.len() == before.lead.len() + before.bytes.len()
                && text.starts_with(&*before.lead)
                && text.as_bytes()[before.lead.len()..] == *before.bytes
            {
                items.push(before.clone());
                continue;
            }
            let item = WatchedItem::read(text);
            let body = &text[item.lead.len()..];
            let spans = match known.get(body.as_bytes()) {
                Some(spans) => (*spans).clone(),
                None => {
                    origins::note_calls(&serde_json::from_str(body).unwrap_or_default(), &mut self.names);
                    origins::item(body, &self.names, evidence)
                }
            };
            items.push(item.with(spans));
        }
        items
    }

    /// Writes what is new in the conversation into the session file, for people.
    fn write_said(&mut self, taken: &TakenBody<'_>, items: &[WatchedItem], n_common: usize, evidence: &Evidence<'_>) {
        let skips_answer = std::mem::take(&mut self.has_answer);
        let mut new: Vec<Item> = Vec::new();
        for item in &items[n_common..] {
            let value: Value = serde_json::from_slice(&item.bytes).unwrap_or_default();
            new.extend(said::items(taken.format, &value));
        }
        if skips_answer {
            let n_answered = new.iter().take_while(|item| said::is_models(item)).count();
            new.drain(..n_answered);
        }
        let mut message = new.iter().rev().find_map(said::said_by_person);
        if self.n_turns == 0 && message.is_none() {
            let input = taken.string("input");
            message = Some(input.unwrap_or_else(|| format!("requests of {}", evidence.program)));
        }
        for item in new {
            self.recorder.record(Record::ResponseItem(item));
        }
        if let Some(message) = message {
            self.n_turns += 1;
            let (images, local_images, text_elements) = (Vec::new(), Vec::new(), Vec::new());
            self.recorder.event(&EventMessage::UserMessage { message, images, local_images, text_elements });
            self.recorder.persist();
        }
    }

    /// Writes an answer into the session file, for people.
    fn write_answer(&mut self, items: &[Item], usage: Option<&TokenUsage>) {
        for item in items {
            self.recorder.record(Record::ResponseItem(item.clone()));
            if let Item::Message { content, .. } = item {
                let texts = content.iter().filter_map(|part| match part {
                    ContentPart::OutputText { text } => Some(text.as_str()),
                    _ => None,
                });
                self.recorder.event(&EventMessage::AgentMessage { message: texts.collect() });
            }
        }
        self.has_answer = items.iter().any(said::is_models);
        if let Some(usage) = usage {
            self.spent.add(usage);
            let info =
                TokenUsageInfo { total_token_usage: self.spent, last_token_usage: *usage, model_context_window: None };
            self.recorder.event(&EventMessage::TokenCount { info: Some(info), rate_limits: None });
        }
    }

    /// Gives the session a name.
    ///
    /// # Errors
    /// When the name cannot be written.
    pub fn name(&self, home: &Path, name: &str) -> io::Result<()> {
        pellucid_store::names::set(home, self.session.as_str(), name).map(drop).map_err(io::Error::other)
    }
}

/// The member that marks what a provider may cache. It moves from message to message and is not read by the model.
const CACHE_MARK: &str = "\"cache_control\"";

/// How many bytes before a difference a mark can begin, if the difference is in the value of the mark.
const MARK_BYTES_MAX: usize = 96;

/// Whether the first difference of two items is at a mark for the provider's cache, so that the rest may be the same.
fn differs_at_mark(one: &[u8], two: &[u8]) -> bool {
    let place = one.iter().zip(two).position(|(one, two)| one != two).unwrap_or(one.len().min(two.len()));
    let has_mark = |bytes: &[u8]| {
        let end = bytes.len().min(place + CACHE_MARK.len() + 2);
        memmem::find(&bytes[place.saturating_sub(MARK_BYTES_MAX).min(end)..end], CACHE_MARK.as_bytes()).is_some()
    };
    has_mark(one) || has_mark(two)
}

/// An item without marks for the provider's cache.
fn unmarked(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(strip),
            Value::Object(table) => {
                table.remove("cache_control");
                table.values_mut().for_each(strip);
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap_or_default();
    strip(&mut value);
    value
}

fn is_models(item: &WatchedItem) -> bool {
    matches!(item.role.as_deref(), Some("assistant" | "model"))
        || matches!(item.kind, "reasoning" | "function_call" | "custom_tool_call" | "local_shell_call")
}

/// For how long the provider's cache keeps a request, where the API format says so.
fn kept_for(format: WatchedFormat) -> Option<Duration> {
    match format {
        WatchedFormat::Responses | WatchedFormat::Messages => format.wire().cache_seconds().map(Duration::from_secs),
        WatchedFormat::Chat | WatchedFormat::Gemini | WatchedFormat::Raw => None,
    }
}

/// The digest of a body's instructions, and the key that the program gives to the conversation.
pub type TakenBase = (Digest, Option<String>);

/// What distinguishes a body from those of other conversations, besides its items.
pub fn base(taken: &TakenBody<'_>) -> TakenBase {
    let is_base = |key: &str| matches!(key, "instructions" | "system" | "systemInstruction" | "system_instruction");
    let members = taken.members.iter().filter(|(key, _)| is_base(key)).map(|(_, range)| range);
    let texts = members.chain(&taken.instructions).map(|range| taken.text[range.clone()].as_bytes());
    (Digest::of(texts), taken.string("prompt_cache_key"))
}

/// The items of a request as places of the request before.
fn places(before: &[WatchedItem], items: &[WatchedItem]) -> Vec<WatchedPlace> {
    let place = |(n, item): (usize, &WatchedItem)| match before.get(n) {
        Some(old) if old.bytes == item.bytes && old.lead == item.lead => WatchedPlace::Before(n),
        _ => WatchedPlace::New(item.clone()),
    };
    items.iter().enumerate().map(place).collect()
}
