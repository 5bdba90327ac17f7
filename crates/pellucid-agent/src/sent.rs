//! The record of a session's requests, from which each request can be rebuilt and checked.
//!
//! - `watched`: requests that another program sent
//!
//! Not here: the format (`pellucid_store::requests`), and rebuilding (`replay`).

mod watched;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pellucid_engine::carried::Carried;
use pellucid_engine::carried::carried;
use pellucid_engine::digest::Digest;
use pellucid_engine::digest::RequestDigest;
use pellucid_engine::encode::Span;
use pellucid_engine::encode::to_json;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::origins;
use pellucid_engine::origins::ItemKey;
use pellucid_engine::reinject::account::StandingAccount;
use pellucid_engine::reinject::again::Again;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::Attributed;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::KeptPlace;
use pellucid_engine::transcript::Transcript;
use pellucid_files::Disk;
use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::CallAnswer;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::RequestSent;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_store::moment::Moment;
use pellucid_store::requests::call;
use pellucid_store::requests::call::Descriptions;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::FORMAT;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::Stretch;
use pellucid_store::requests::entry::SummaryContext;
use pellucid_store::requests::log::RequestLog;
use pellucid_store::requests::seal;
use pellucid_tools::notes::NotedCall;
use serde_json::Value;

pub use self::watched::WatchedSend;
use crate::identity::VERSION;
use crate::replay::Recalled;
use crate::telemetry::SessionTelemetry;

/// Writes the record of a session's requests.
#[derive(Debug)]
pub struct SentLog {
    log: RequestLog,
    /// How the session was opened, until the first line is due.
    opened: Option<entry::OpenedEntry>,
    /// The last frame that was written, and its digest.
    frame: Option<(Frame, String)>,
    /// The line of the last request.
    request: Option<u64>,
    /// The origins that the record has.
    kept: BTreeMap<ItemKey, Arc<[Span]>>,
    /// The offset in the session file up to which the record has the origins of items.
    looked_at: u64,
    /// The files that the last request was made from, as the record has them.
    files: Option<Arc<FileStates>>,
    /// The files that the next request is made from, if the record may not have them yet.
    files_due: Option<Arc<FileStates>>,
    /// The files before an input, until the next line of a turn.
    injections_due: Vec<entry::InjectionEntry>,
    /// The grounds of calls that the record has.
    grounds: Descriptions<Value>,
    /// The sandboxes of calls that the record has.
    sandboxes: Descriptions<HeldSandbox>,
    /// What a client has to learn of requests; absent if no client wants that.
    notes: Option<RequestNotes>,
    /// What is exported of the session, if anything is.
    telemetry: Option<Box<SessionTelemetry>>,
}

/// Requests that a client has not received yet.
#[derive(Debug, Default)]
struct RequestNotes {
    /// How many requests the session has recorded.
    n: u64,
    waiting: Vec<RequestSent>,
}

/// Whether a line of the record has to name the place up to which origins were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A request follows, whose line covers everything before it.
    Covered,
    /// The line about origins names the place, even if there are no new origins.
    New,
    /// Nothing covers a copied history of which some origins are lost, so all known origins are written.
    Copied,
}

/// How a session was opened.
#[derive(Debug)]
pub struct OpeningRecord<'a> {
    /// The id of the session.
    pub session: &'a SessionId,
    /// Where the session's history comes from.
    pub how: How,
    /// How many bytes of the session's file are that history.
    pub at: u64,
    /// Whether items carry the ids that the server gave them.
    pub ids: ItemIds,
    /// How output of tools is cut.
    pub truncation: TruncationPolicy,
    /// What summaries begin with and the context around them, if the history needed it.
    pub summaries: Option<(&'a str, &'a [Item])>,
    /// From which byte of the session's file on origins are kept.
    pub origins_from: u64,
    /// The session that it is a copy of, and how many bytes of that one's file were copied.
    pub parent: Option<(&'a str, u64)>,
    /// The files that the last request of a copied history was made from, where that is known.
    pub files: Option<&'a FileStates>,
    /// The settings that answers about the requests depend on.
    pub terms: entry::RequestTerms,
}

impl SentLog {
    /// The log of the session that has this file, on the same disk.
    pub fn new(disk: Arc<dyn Disk>, home: &Path, session_file: &Path) -> Self {
        Self::of(RequestLog::new(disk, home, session_file))
    }

    /// A log that writes nothing.
    pub fn none() -> Self {
        Self::of(RequestLog::none())
    }

    fn of(log: RequestLog) -> Self {
        Self {
            log,
            opened: None,
            frame: None,
            request: None,
            kept: BTreeMap::new(),
            looked_at: 0,
            files: None,
            files_due: None,
            injections_due: Vec::new(),
            grounds: Descriptions::default(),
            sandboxes: Descriptions::default(),
            notes: None,
            telemetry: None,
        }
    }

    /// The same log, whose requests, replies and calls are observed too.
    #[must_use]
    pub(crate) fn observed(self, telemetry: Option<Box<SessionTelemetry>>) -> Self {
        Self { telemetry, ..self }
    }

    /// What is exported of the session, if anything is.
    pub(crate) fn telemetry(&mut self) -> Option<&mut SessionTelemetry> {
        self.telemetry.as_deref_mut()
    }

    /// The value of `traceparent` for requests to the model, if they have it.
    pub(crate) fn traceparent(&self) -> Option<String> {
        self.telemetry.as_ref()?.traceparent()
    }

    /// Whether the record has everything of this that a session needs which is loaded again.
    pub(crate) fn is_kept_in(&self, recalled: &Recalled) -> bool {
        let kept: BTreeMap<ItemKey, Arc<[Span]>> =
            recalled.origins.lists().map(|(key, spans)| (key, spans.clone())).collect();
        let digest = |frame: &Option<(Frame, String)>| frame.as_ref().map(|(_, digest)| digest.clone());
        self.failure().is_none()
            && self.request.is_none()
            && self.notes.as_ref().is_none_or(|notes| notes.waiting.is_empty())
            && digest(&self.frame) == digest(&recalled.frame)
            && kept == self.kept
    }

    /// Drops what the record has, and closes the record.
    pub(crate) fn unload(&mut self) {
        self.kept = BTreeMap::new();
        self.frame = None;
        self.log.unload();
    }

    /// Takes over again what [`SentLog::unload`] dropped.
    pub(crate) fn load_again(&mut self, recalled: &mut Recalled) {
        self.kept = recalled.origins.lists().map(|(key, spans)| (key, spans.clone())).collect();
        self.frame = recalled.frame.take();
    }

    /// Takes over what the record has already, so that it is not written a second time.
    pub fn recall(&mut self, recalled: &mut Recalled) {
        self.kept = recalled.origins.lists().map(|(key, spans)| (key, spans.clone())).collect();
        self.frame = recalled.frame.take();
        self.files = recalled.files.clone().map(Arc::new);
    }

    /// Writes where the bytes of a session's new items came from, for items whose bytes do not show it.
    pub fn origins(&mut self, at: u64, transcript: &mut Transcript, extent: Extent) {
        let from = std::mem::replace(&mut self.looked_at, at);
        if !self.is_open() {
            return;
        }
        let mut new = Vec::new();
        let (is_copied, lost) = match extent {
            Extent::Copied => (true, transcript.lost_keys()),
            Extent::Covered | Extent::New => (false, BTreeSet::new()),
        };
        let from = if is_copied { 0 } else { from };
        for Attributed { key, spans, is_usual } in transcript.take_attributed(|len| is_copied || self.has_kept_of(len))
        {
            // Origins are found by the bytes of an item, so an item with the bytes of a lost one is lost too.
            let is_due = self.kept.get(&key).map_or(!is_usual || is_copied, |known| *known != spans);
            if is_due && !lost.contains(&key) {
                new.push((key, spans));
            }
        }
        if new.is_empty() && extent != Extent::New {
            return;
        }
        let items = new.iter().map(|(key, _)| (key.bytes as u64, key.digest.clone())).collect();
        let lists: Vec<&[Span]> = new.iter().map(|(_, spans)| &**spans).collect();
        let spans = self.log.keep("", &origins::write(&lists));
        self.write(LogEntry::Origins(entry::OriginsEntry { from, at, items, spans }));
        self.kept.extend(new);
    }

    /// Whether origins are kept of an item of so many bytes.
    fn has_kept_of(&self, bytes: usize) -> bool {
        let first = ItemKey { bytes, digest: String::new() };
        self.kept.range(first..).next().is_some_and(|(key, _)| key.bytes == bytes)
    }

    /// Keeps lists of spans for the line of a request.
    pub fn spans(&mut self, lists: &[&[Span]]) -> StoredPiece {
        self.log.keep("", &origins::write(lists))
    }

    /// Whether the record is written at all.
    pub fn is_open(&self) -> bool {
        self.log.is_open()
    }

    /// Why nothing more is written, if writing failed.
    pub fn failure(&self) -> Option<&str> {
        self.log.failure()
    }

    /// Notes how the session was opened. The line is written with the first request.
    pub fn open(&mut self, opening: &OpeningRecord<'_>) {
        if !self.is_open() {
            return;
        }
        let summaries = opening.summaries.map(|(prefix, context)| SummaryContext {
            prefix: self.log.keep("", prefix),
            context: context.iter().map(|item| self.item(item)).collect(),
        });
        let files = opening.files.map(|files| self.log.keep("", &files.write()));
        self.files = opening.files.cloned().map(Arc::new).or(self.files.take());
        self.opened = Some(entry::OpenedEntry {
            format: FORMAT,
            session: opening.session.to_string(),
            version: VERSION.to_owned(),
            how: opening.how,
            at: opening.at,
            ids: serde_json::to_value(opening.ids).unwrap_or_default(),
            truncation: opening.truncation,
            summaries,
            origins_from: Some(opening.origins_from),
            parent: opening.parent.map(|(session, upto)| entry::Parent { session: session.to_owned(), upto }),
            files,
            blanked: None,
            terms: Some(Box::new(opening.terms.clone())),
            watched: None,
        });
        self.looked_at = opening.origins_from;
    }

    /// Writes how the session was opened, before anything is sent.
    pub fn begin(&mut self) {
        if let Some(opened) = self.opened.take() {
            self.log.write(LogEntry::Opened(opened));
        }
    }

    /// Writes a request, with where it differs from the one before and when it is sent.
    #[expect(clippy::too_many_arguments, reason = "each is a field of the line that is written")]
    pub fn request(
        &mut self,
        at: u64,
        turn: &TurnId,
        purpose: Purpose,
        frame: &Frame,
        account: &RequestDigest,
        cache_break: Option<CacheBreak>,
        sent_at: Moment,
    ) {
        if !self.is_open() {
            self.observe(purpose.word(), account, cache_break, sent_at);
            return;
        }
        let observed = self.telemetry.as_ref().and(cache_break.clone());
        let frame = self.frame(frame);
        let marks = account.marks.iter().map(|mark| (mark.n_items as u64, mark.end as u64, mark.beginning.short()));
        let request = entry::RequestEntry {
            turn: turn.to_string(),
            purpose,
            at,
            frame,
            bytes: account.bytes as u64,
            items: account.n_items as u64,
            body: account.body.to_string(),
            marks: marks.collect(),
            cache_break,
            sent_at: Some(sent_at.to_string()),
            files: self.take_files(),
            watched: None,
            injections: std::mem::take(&mut self.injections_due),
        };
        let (bytes, sha256, purpose) = (request.bytes, request.body.clone(), request.purpose.word());
        self.request = self.write(LogEntry::Request(Box::new(request)));
        if let Some(notes) = self.notes.as_mut().filter(|_| self.request.is_some()) {
            notes.n += 1;
            notes.waiting.push(RequestSent { n: notes.n, sha256, bytes, purpose: purpose.to_owned() });
        }
        self.observe(purpose, account, observed, sent_at);
    }

    /// Exports a request: with its place in the record, if it is recorded.
    pub(crate) fn observe(
        &mut self,
        purpose: &'static str,
        account: &RequestDigest,
        cache_break: Option<CacheBreak>,
        sent_at: Moment,
    ) {
        let Some(telemetry) = self.telemetry.as_mut() else { return };
        let record = self.request.filter(|_| self.log.is_open()).zip(self.log.last_hash().map(str::to_owned));
        telemetry.request(purpose, account, cache_break, record, sent_at.nanoseconds());
    }

    /// Notes each request from now on, for a client. So many requests come before them in the session.
    pub fn note_requests(&mut self, n_before: u64) {
        self.notes = Some(RequestNotes { n: n_before, waiting: Vec::new() });
    }

    /// Takes the requests that no client has received yet.
    pub fn take_noted(&mut self) -> Vec<RequestSent> {
        self.notes.as_mut().map(|notes| std::mem::take(&mut notes.waiting)).unwrap_or_default()
    }

    /// Notes which files the next request is made from.
    pub fn files_are(&mut self, files: &Arc<FileStates>) {
        self.files_due = Some(files.clone());
    }

    /// Notes which files were put before the input of the next request.
    pub fn injections_are(&mut self, accounts: &[StandingAccount]) {
        let entry = |it: &StandingAccount| entry::InjectionEntry {
            item_id: it.item_id.to_owned(),
            path: it.path.clone(),
            hash: it.hash.clone(),
            bytes_before: it.bytes_before as u64,
            bytes_after: it.bytes_after as u64,
            outcome: it.outcome.as_str().to_owned(),
            reason: it.reason.clone(),
            chosen_by: it.chosen_by.map(|setting| setting.word().to_owned()),
            turn: it.turn,
            channel: it.channel.clone(),
        };
        self.injections_due.extend(accounts.iter().map(entry));
    }

    fn take_files(&mut self) -> Option<StoredPiece> {
        let due = self.files_due.take().filter(|due| self.files.as_ref() != Some(due))?;
        let piece = self.log.keep("", &due.write());
        self.files = Some(due);
        Some(piece)
    }

    /// Writes that a turn ended before it sent anything, and why in a word.
    pub fn not_sent(&mut self, at: u64, turn: &TurnId, why: &str) {
        let (turn, why) = (turn.to_string(), why.to_owned());
        let injections = std::mem::take(&mut self.injections_due);
        self.write(LogEntry::NotSent(entry::NotSent { at, turn, why, injections }));
    }

    /// Writes that the last request was answered, or failed.
    pub fn reply(&mut self, reply: entry::ReplyEntry) {
        if let Some(telemetry) = self.telemetry.as_mut().filter(|_| self.request.is_some() || !self.log.is_open()) {
            telemetry.reply(self.request, &reply);
        }
        if let Some(request) = self.request.take() {
            self.write(LogEntry::Reply(Box::new(entry::ReplyEntry { request, ..reply })));
        }
    }

    /// The line of the last request, for one whose answer may come after those of others.
    pub fn take_line(&mut self) -> Option<u64> {
        self.request.take()
    }

    /// Writes that the request of a line was answered, or failed.
    pub fn reply_to(&mut self, line: u64, reply: entry::ReplyEntry) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.reply(Some(line), &reply);
        }
        self.write(LogEntry::Reply(Box::new(entry::ReplyEntry { request: line, ..reply })));
    }

    /// Writes what a summary made of the history.
    pub fn rebuilt(&mut self, at: u64, before: &[Item], after: &[Item]) {
        let items = self.stretches(before, after);
        self.write(LogEntry::Rebuilt(entry::RebuiltEntry { at, items }));
    }

    /// Writes that requests show other items from here on.
    pub fn shown(&mut self, at: u64, before: &[Item], after: &[Item]) {
        let items = self.stretches(before, after);
        self.write(LogEntry::Shown(entry::ShownEntry { at, items }));
    }

    /// Writes which texts requests show between items from here on, and where.
    pub fn placed(&mut self, at: u64, places: &[KeptPlace]) {
        let texts = places.iter().map(|it| entry::PlacedText { before: it.before as u64, item: self.item(&it.item) });
        let texts = texts.collect();
        let lists: Vec<&[Span]> = places.iter().map(|it| &*it.spans).collect();
        let origins = self.log.keep("", &origins::write(&lists));
        self.write(LogEntry::Placed(entry::PlacedEntry { at, texts, origins }));
    }

    /// Writes that another session was started from this one.
    pub fn child(&mut self, at: u64, session: &SessionId, purpose: &str) {
        let (session, purpose) = (session.to_string(), purpose.to_owned());
        self.write(LogEntry::Child(entry::ChildEntry { at, session, purpose }));
    }

    fn stretches(&mut self, before: &[Item], after: &[Item]) -> Vec<Stretch> {
        let stretch = |it: Carried| match it {
            Carried::Run { from, n } => Stretch::Before { from: from as u64, n: n as u64 },
            Carried::New(n) => Stretch::Item(self.item(&after[n])),
        };
        carried(before, after).into_iter().map(stretch).collect()
    }

    /// Writes what was noted of a call, and of the calls that it made.
    pub fn call(&mut self, at: u64, turn: &TurnId, client: &str, noted: NotedCall, within: Option<&str>) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.call(&noted, within);
        }
        if !self.is_open() {
            let is_observed = self.telemetry.is_some();
            for inner in noted.inner.into_iter().filter(|_| is_observed) {
                self.call(at, turn, client, inner.take(), Some(&noted.call_id));
            }
            return;
        }
        let grounds = serde_json::to_value(&noted.grounds).unwrap_or_default();
        let of_client = |mut answer: CallAnswer| {
            answer.client = (answer.by == Answerer::Client).then(|| client.to_owned());
            answer
        };
        let runs = noted.runs.into_iter().map(|ran| call::Run {
            sandbox: self.sandboxes.describe(ran.sandbox),
            exit_code: ran.exit_code,
            denied: ran.is_denied,
        });
        let call = call::CallEntry {
            at,
            call: noted.call_id.clone(),
            tool: noted.tool,
            turn: turn.to_string(),
            within: within.map(str::to_owned),
            began_at: noted.began_at,
            ended_at: noted.ended_at,
            outcome: noted.outcome,
            grounds: self.grounds.describe(grounds),
            answers: noted.answers.into_iter().map(of_client).collect(),
            runs: runs.collect(),
        };
        self.write(LogEntry::Call(Box::new(call)));
        for inner in noted.inner {
            self.call(at, turn, client, inner.take(), Some(&noted.call_id));
        }
    }

    /// Writes an item that the session file does not have.
    pub fn noted(&mut self, at: u64, item: &Item) {
        let item = self.item(item);
        self.write(LogEntry::Noted(entry::NotedEntry { at, item }));
    }

    /// Writes that a message is said again, and why.
    pub fn said_again(&mut self, at: u64, again: &Again) {
        self.write(LogEntry::SaidAgain(entry::SaidAgainEntry {
            at,
            part: again.part.to_string(),
            reason: again.reason.clone(),
            sha256: again.sha256.clone(),
        }));
    }

    /// Seals a piece of the session file that a turn wrote.
    pub fn seal(&mut self, piece: seal::UnsealedPiece, turn: Option<&TurnId>) {
        self.begin();
        self.log.seal(piece, turn.map(ToString::to_string));
    }

    /// Keeps an item for a line of the record.
    pub fn item(&mut self, item: &Item) -> StoredPiece {
        self.log.keep("", &String::from_utf8_lossy(&to_json(item)))
    }

    fn write(&mut self, entry: LogEntry) -> Option<u64> {
        self.begin();
        self.log.write(entry)
    }

    /// The digest of a frame. The frame is written if it is not the last one that was.
    fn frame(&mut self, frame: &Frame) -> String {
        if let Some((last, digest)) = &self.frame
            && last.is_same_with_origins(frame)
        {
            return digest.clone();
        }
        let (head, tail) = (frame.head_bytes(), frame.tail_bytes());
        let spans = origins::write(&[frame.head_spans(), frame.tail_spans()]);
        let digest = Digest::of([head.as_ref(), b"\n", &tail[..], b"\n", spans.as_bytes()]).to_string();
        let head = self.pieces(head, frame.head_spans());
        let tail = self.pieces(&tail, frame.tail_spans());
        let view = serde_json::to_value(frame.view()).unwrap_or_default();
        let origins = Some(self.log.keep("", &spans));
        self.write(LogEntry::Frame(entry::FrameEntry { digest: digest.clone(), view, head, tail, origins }));
        self.frame = Some((frame.clone(), digest.clone()));
        digest
    }

    /// The parts of a frame; all tools are one part.
    fn pieces(&mut self, bytes: &[u8], spans: &[Span]) -> Vec<StoredPiece> {
        let group = |span: &Span| span.part.split('/').next().unwrap_or_default().to_owned();
        let mut pieces = Vec::new();
        let mut at = 0;
        for run in spans.chunk_by(|a, b| group(a) == group(b)) {
            let len: usize = run.iter().map(|span| span.len).sum();
            let text = String::from_utf8_lossy(&bytes[at..at + len]);
            at += len;
            pieces.push(self.log.keep(&group(&run[0]), &text));
        }
        pieces
    }
}
