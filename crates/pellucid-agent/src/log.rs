//! Writes a session down, in the format of session files.
//!
//! What was written is sealed in the request log: at the end of a turn, within a long turn, and when the writer ends.

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_engine::facts::Facts;
use pellucid_files::Disk;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RequestSent;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use pellucid_store::copy;
use pellucid_store::detail::Detail;
use pellucid_store::record::BaseInstructions;
use pellucid_store::record::Compacted;
use pellucid_store::record::Record;
use pellucid_store::record::RecordedGit;
use pellucid_store::record::RecordedNetwork;
use pellucid_store::record::SessionMeta;
use pellucid_store::record::TurnContext;
use pellucid_store::recorder;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::seal::PIECE_BYTES;
use serde_json::Value;

use crate::client_tools;
use crate::client_tools::Indexed;
use crate::identity::VERSION;
use crate::sent::SentLog;
use crate::session::Setup;
use crate::telemetry::SessionTelemetry;

/// Writes a session's files: the session itself, and what it sends.
#[derive(Debug)]
pub struct Log {
    recorder: Recorder,
    sent: SentLog,
    /// The documents that the session began with; every turn's settings name them.
    user_instructions: Option<String>,
    /// Recorded items that clients have not received yet; absent if no client wants raw items.
    raw: Option<Vec<Item>>,
    /// The turn that writes now.
    turn: Option<TurnId>,
    /// Tools of the client, which go into the index once the session file exists.
    client_tools: Option<ClientTools>,
    reported: ReportedFailures,
}

/// Which files a client knows not to be written.
#[derive(Debug, Default)]
struct ReportedFailures {
    session: bool,
    requests: bool,
}

/// Tools that the index keeps for a session.
#[derive(Debug)]
struct ClientTools {
    home: PathBuf,
    session: String,
    tools: Vec<Value>,
}

impl Drop for Log {
    fn drop(&mut self) {
        self.seal();
    }
}

impl Log {
    /// A log that goes to this recorder, with a record of what is sent beside it.
    pub fn new(recorder: Recorder, sent: SentLog, user_instructions: Option<String>) -> Self {
        Self {
            recorder,
            sent,
            user_instructions,
            raw: None,
            turn: None,
            client_tools: None,
            reported: ReportedFailures::default(),
        }
    }

    /// Keeps recorded items for clients that want them raw.
    #[must_use]
    pub fn keeping_raw(mut self, raw: RawItems) -> Self {
        self.raw = (raw == RawItems::Shown).then(Vec::new);
        self
    }

    /// Seals in the request log what was written since the last seal.
    fn seal(&mut self) {
        if let Some(piece) = self.recorder.take_unsealed() {
            self.sent.seal(piece, self.turn.as_ref());
        }
    }

    /// Seals within a turn if much was written since the last seal.
    fn seal_if_long(&mut self) {
        if self.recorder.unsealed() >= PIECE_BYTES {
            self.seal();
        }
    }

    /// Whether the files have everything that was recorded.
    pub(crate) fn is_written(&self) -> bool {
        self.recorder.is_written() && self.raw.as_ref().is_none_or(Vec::is_empty) && self.client_tools.is_none()
    }

    /// How many records wait for the first message of a person; absent if the file is there, or clients wait for records.
    pub(crate) fn n_waiting(&self) -> Option<usize> {
        self.recorder.n_waiting().filter(|_| self.raw.as_ref().is_none_or(Vec::is_empty))
    }

    /// Drops what the file would begin with, but for its first line.
    pub(crate) fn take_head(&mut self) -> Option<Box<SessionMeta>> {
        let head = self.recorder.take_head();
        self.client_tools = None;
        self.user_instructions = None;
        self.sent = SentLog::none();
        head
    }

    /// Has the first line of the file say what [`Log::take_head`] gave.
    pub(crate) fn put_head(&mut self, head: Box<SessionMeta>) {
        self.recorder.put_head(head);
    }

    /// Closes the files of a session that is unloaded.
    pub(crate) fn unload(&mut self) {
        self.seal();
        self.recorder.unload();
        self.sent.unload();
    }

    /// Opens the session file again. Gives whether it is as long as it was.
    ///
    /// # Errors
    /// When the file cannot be opened, or another process writes it.
    pub(crate) fn load_again(&mut self) -> io::Result<bool> {
        self.recorder.load_again()
    }

    /// Takes the recorded items that clients have not received yet.
    pub fn take_raw(&mut self) -> Vec<Item> {
        self.raw.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What is exported of the session, if anything is.
    pub(crate) fn telemetry(&mut self) -> Option<&mut SessionTelemetry> {
        self.sent.telemetry()
    }

    /// The value of `traceparent` for requests to the model, if they have it.
    pub(crate) fn traceparent(&self) -> Option<String> {
        self.sent.traceparent()
    }

    /// Takes the requests that clients have not received yet.
    pub fn take_noted(&mut self) -> Vec<RequestSent> {
        self.sent.take_noted()
    }

    /// Begins a new file.
    pub fn begin(&mut self, setup: &Setup, instructions: String, forked_from_id: Option<String>) {
        let facts = &setup.gathered.facts;
        self.recorder.record(Record::SessionMeta(Box::new(SessionMeta {
            id: setup.session_id.to_string(),
            forked_from_id,
            timestamp: recorder::now(),
            cwd: facts.settings.cwd.clone(),
            originator: setup.identity.originator.clone(),
            cli_version: VERSION.to_owned(),
            source: setup.origin.source(),
            model_provider: Some(setup.provider_id.clone()),
            base_instructions: Some(BaseInstructions { text: instructions }),
            dynamic_tools: Some(client_tools_of(facts)).filter(|tools| !tools.is_empty()),
            git: repository(setup),
        })));
        self.keep_client_tools(setup);
    }

    /// Has the index keep the client's tools as soon as there is a file, if it keeps them at all.
    pub fn keep_client_tools(&mut self, setup: &Setup) {
        let tools = client_tools_of(&setup.gathered.facts);
        if setup.indexed() == Indexed::Yes && self.is_kept() && !self.is_held() && !tools.is_empty() {
            let home = setup.sources.config.folders.home.clone();
            self.client_tools = Some(ClientTools { home, session: setup.session_id.to_string(), tools });
        }
    }

    /// Copies the beginning of another session's file.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn copy(&mut self, from: &Path, upto: u64) -> io::Result<()> {
        self.persist();
        copy::copy(from, upto, &mut self.recorder)
    }

    /// How many bytes the session file has; absent when nothing is written.
    pub fn written(&self) -> Option<u64> {
        self.recorder.len()
    }

    /// Whether it is written down what is sent.
    pub fn is_recording(&self) -> bool {
        self.sent.is_open()
    }

    /// Writes down what is sent.
    pub fn sent(&mut self) -> Option<(&mut SentLog, u64)> {
        let at = self.recorder.len()?;
        Some((&mut self.sent, at))
    }

    /// The same before there is a file.
    pub fn sent_from_start(&mut self) -> &mut SentLog {
        &mut self.sent
    }

    /// Whether there is a file, or will be.
    pub fn is_kept(&self) -> bool {
        self.path().is_some()
    }

    /// The disk that the session's files are on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        self.recorder.disk()
    }

    /// How much of what happens the session file keeps.
    pub(crate) fn detail(&self) -> Detail {
        self.recorder.detail()
    }

    /// Whether the file stays as it is, whatever happens.
    pub fn is_held(&self) -> bool {
        self.recorder.is_held()
    }

    /// Leaves the session file as it is, while requests are still recorded.
    pub fn hold_still(&mut self) {
        self.recorder.hold_still();
    }

    /// Writes the session file again that [`Log::hold_still`] left as it is.
    pub fn let_go(&mut self) {
        self.recorder.let_go();
    }

    /// Where the file is, or will be.
    pub fn path(&self) -> Option<&Path> {
        self.recorder.path()
    }

    /// Writes an item down, as it is, that is sent as this part.
    pub fn item(&mut self, item: &Item, part: &str) {
        if *item != Item::Other {
            self.recorder.record_part(Record::ResponseItem(item.clone()), part);
            self.seal_if_long();
            if let Some(raw) = &mut self.raw {
                raw.push(item.clone());
            }
        }
    }

    /// Writes an event down, if files keep it.
    pub fn event(&mut self, event: &EventMessage) {
        if let EventMessage::TaskStarted { turn_id, .. } = event {
            self.begin_turn(turn_id);
        }
        if let Some(telemetry) = self.sent.telemetry() {
            telemetry.event(event);
        }
        self.recorder.event(event);
        match event {
            EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. } => {
                self.seal();
                self.turn = None;
            }
            EventMessage::ThreadRolledBack { .. } => self.seal(),
            _ => self.seal_if_long(),
        }
    }

    /// What is written from now on is of this turn.
    fn begin_turn(&mut self, turn: &TurnId) {
        if self.turn.as_ref().is_some_and(|last| last != turn) {
            self.seal();
        }
        self.turn = Some(turn.clone());
    }

    /// Writes the settings of a request down.
    pub fn turn_context(&mut self, facts: &Facts, turn_id: &TurnId, schema: Option<&Value>) {
        self.begin_turn(turn_id);
        self.recorder.record(Record::TurnContext(Box::new(TurnContext {
            turn_id: Some(turn_id.to_string()),
            cwd: facts.settings.cwd.clone(),
            approval_policy: facts.settings.approval_policy,
            sandbox_policy: facts.settings.sandbox_policy.clone(),
            network: facts.settings.network.as_ref().map(|network| RecordedNetwork {
                allowed_domains: network.allowed_domains.clone(),
                denied_domains: network.denied_domains.clone(),
            }),
            model: facts.settings.model.slug.clone(),
            personality: facts.settings.personality,
            collaboration_mode: Some(facts.settings.collaboration_mode.clone()),
            effort: facts.settings.effort,
            summary: facts.settings.summary,
            user_instructions: self.user_instructions.clone(),
            developer_instructions: facts.settings.developer_instructions.as_ref().map(|given| given.text.clone()),
            final_output_json_schema: schema.cloned(),
            truncation_policy: Some(facts.settings.model.truncation_policy),
        })));
    }

    /// Writes a summary down.
    pub fn compacted(&mut self, message: String, replacement_history: Option<Vec<Item>>) {
        self.recorder.record(Record::Compacted(Compacted { message, replacement_history }));
        self.seal_if_long();
    }

    /// Why the session is not kept, if its file cannot be written.
    pub fn failure(&self) -> Option<&str> {
        self.recorder.failure()
    }

    /// Warnings about files that cannot be written any more, each once: from then on the conversation is lost when the
    /// process ends.
    pub fn take_failures(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(failure) = self.recorder.failure()
            && !std::mem::replace(&mut self.reported.session, true)
        {
            warnings.push(format!("the session is not saved: {failure}"));
        }
        if let Some(failure) = self.sent.failure()
            && !std::mem::replace(&mut self.reported.requests, true)
        {
            warnings.push(format!("the record of requests is not saved: {failure}"));
        }
        warnings.extend(self.sent.telemetry().map(|it| it.take_notices()).unwrap_or_default());
        warnings
    }

    /// Makes sure that there is a file.
    pub fn persist(&mut self) {
        self.recorder.persist();
        if let Some(ClientTools { home, session, tools }) = self.client_tools.take() {
            client_tools::keep(&home, &session, &tools);
        }
    }
}

/// The client's tools, as files keep them.
fn client_tools_of(facts: &Facts) -> Vec<Value> {
    facts.tools.dynamic_tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()).collect()
}

/// The repository of the working directory, from its files.
fn repository(setup: &Setup) -> Option<RecordedGit> {
    let (folders, cwd) = (&setup.sources.config.folders, Path::new(&setup.gathered.facts.settings.cwd));
    let known = folders.work_tree.as_deref().filter(|_| folders.cwd == cwd);
    let found = pellucid_git::Repository::discover(known.unwrap_or(cwd))?;
    let head = found.head();
    Some(RecordedGit {
        commit_hash: head.as_ref().map(|head| head.commit.clone()),
        branch: head.and_then(|head| head.branch),
        repository_url: found.remote_urls().remove("origin"),
    })
}
