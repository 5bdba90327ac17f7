//! A session: a conversation with its settings, and the requests it makes.

mod admission;
mod again;
mod apart;
mod cache;
mod calls;
mod documents;
mod files;
mod headers;
mod input;
mod mcp;
mod next;
mod recall;
mod request;
mod shown;
mod shrink;
mod unseen;
mod variables;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use pellucid_config::Config;
use pellucid_engine::assemble;
use pellucid_engine::assemble::Context;
use pellucid_engine::assemble::ContextMessage;
use pellucid_engine::compaction;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::Fit;
use pellucid_engine::compaction::WINDOW_SUMMARY;
use pellucid_engine::continuity;
use pellucid_engine::continuity::Cause;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::Recorded;
use pellucid_engine::continuity::Sent;
use pellucid_engine::digest::Account;
use pellucid_engine::digest::Digest;
use pellucid_engine::digest::Items;
use pellucid_engine::digest::Ledger;
use pellucid_engine::documents::change::NewText;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Provided;
use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::increment::Increment;
use pellucid_engine::increment::Step;
use pellucid_engine::instruction_file::instruction_files_after;
use pellucid_engine::meter::Meter;
use pellucid_engine::notice;
use pellucid_engine::origins::Origins;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::SlotRole;
use pellucid_engine::pack::Strategy;
use pellucid_engine::presets;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::report::why_text;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::request::WireSettings;
use pellucid_engine::skills::select;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::truncate::tokens_of_bytes;
use pellucid_engine::turn::Rebuilt;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::Summariser;
use pellucid_engine::turn::Takeover;
use pellucid_engine::update::Change;
use pellucid_engine::update::Updates;
use pellucid_engine::update::updates;
use pellucid_engine::user_message::picture_message;
use pellucid_engine::user_message::user_message;
use pellucid_engine::window::summary::output_tokens;
use pellucid_exec::snapshot;
use pellucid_model::Model;
use pellucid_model::catalogue::Match;
use pellucid_model::socket::Known;
use pellucid_model::socket::SocketAsk;
use pellucid_model::socket::SocketVersion;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::find;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::record::Record;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::side::Side;
use pellucid_tools::desk::Notice;
use pellucid_tools::outputs::Outputs;
use pellucid_tools::situation::Situation;
use pellucid_tools::situation::SkillVariables;
use pellucid_tools::toolbox::Equipment;
use pellucid_tools::toolbox::Toolbox;
use pellucid_workspace::images::load_image;
use serde_json::Value;

use self::admission::Size;
use self::again::Schedule;
pub(crate) use self::apart::Answered;
use self::cache::CacheState;
pub(crate) use self::cache::INTERRUPTED;
pub(crate) use self::cache::failure_word;
use self::files::FilesSeen;
pub(crate) use self::headers::TurnHeaders;
pub use self::next::Next;
pub use self::next::NextPurpose;
pub use self::next::Plan;
use self::recall::keep;
pub(crate) use self::request::AskKind;
pub(crate) use self::request::Attempt;
pub(crate) use self::shrink::SummaryRequest;
use crate::child;
use crate::client_tools;
use crate::client_tools::Indexed;
use crate::context_events::ContextEvents;
use crate::crew;
use crate::crew::Crew;
use crate::documents::Documents;
use crate::gather::Gathered;
use crate::gather::Sources;
use crate::identity::Identity;
use crate::images;
use crate::jobs::Jobs;
use crate::least::Least;
use crate::log::Log;
use crate::mcp::Attached;
use crate::memories;
use crate::memory;
use crate::memory::AskedList;
use crate::memory::Asker;
use crate::memory::Done;
use crate::memory::FirstFailure;
use crate::memory::Job;
use crate::memory::Kept;
use crate::memory::Memory;
use crate::memory::MemoryFile;
use crate::memory::Remembered;
use crate::metadata;
use crate::metadata::Repositories;
use crate::notify;
use crate::notify::TurnOver;
use crate::replay::Recalled;
use crate::restore;
use crate::restore::Restored;
use crate::restore::Rules;
use crate::restore::SetAside;
use crate::sandbox;
use crate::sandbox::SandboxReport;
use crate::sent::Extent;
use crate::sent::Opening;
use crate::sent::SentLog;
use crate::situation;
use crate::skills;
use crate::skills::Wanted;
use crate::standing;
use crate::standing::Standing;

/// What a session is made of.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Its id.
    pub session_id: SessionId,
    /// Who started it.
    pub origin: child::Origin,
    /// How input is put together.
    pub pack: Arc<Pack>,
    /// Where facts come from.
    pub sources: Sources,
    /// What is true.
    pub gathered: Gathered,
    /// The provider's id.
    pub provider_id: String,
    /// The provider.
    pub provider: Provider,
    /// Whom to ask.
    pub model: Model,
    /// How we introduce ourselves.
    pub identity: Identity,
    /// Whether faces see raw thoughts.
    pub raw_reasoning: RawReasoning,
    /// Whether faces are told of items as they are recorded.
    pub raw_items: RawItems,
    /// How the model is asked for a summary, if the user has their own wording.
    pub compact_prompt: Option<Provided>,
    /// Whether faces are told what each request is made of.
    pub context_events: ContextEvents,
    /// What a person should hear before the first turn.
    pub notices: Vec<EventMessage>,
    /// What is known of the session beside its file.
    pub side: Side,
    /// The agents that it started.
    pub crew: Crew,
}

impl Setup {
    /// Restores what lines of a file say, as they would be shown now.
    pub(crate) fn restore_records(&self, file: &SessionFile, records: Vec<Record>) -> Restored {
        let context = assemble::assemble(&self.pack, &self.gathered.facts);
        let items: Vec<Item> = context.messages.iter().map(ContextMessage::item).collect();
        let prefix = compaction::summary_prefix(&self.pack);
        let origins = Origins::default();
        let rules = Rules { context_messages: &context.messages, ..self.rules(&prefix, &items, &origins) };
        restore::restore_records(file, records, &rules)
    }

    /// The variables that hold keys of ours, which no program that the session starts is given.
    pub(crate) fn key_variables(&self) -> BTreeSet<String> {
        let Sources { config, env, .. } = &self.sources;
        config.key_variables(env, |value| self.model.is_key(value))
    }

    /// How a history is restored.
    fn rules<'a>(&self, summary_prefix: &'a str, context: &'a [Item], origins: &'a Origins) -> Rules<'a> {
        let (facts, wire) = (&self.gathered.facts, self.wire(None));
        Rules {
            ids: wire.ids,
            truncation: facts.model.truncation_policy,
            view: Some(Frame::new(&self.pack, facts, &[], &wire).view()),
            summary_prefix,
            context,
            context_messages: &[],
            origins,
        }
    }

    /// The tools that the program which drives the session runs: those that it names, or those
    /// that the session was begun with.
    fn recall_dynamic_tools(&mut self, file: &SessionFile) {
        let home = &self.sources.config.folders.home;
        if self.gathered.facts.dynamic_tools.is_empty() {
            self.gathered.facts.dynamic_tools = client_tools::recalled(home, file, self.indexed());
        }
    }

    /// Whether the index keeps the tools that the session was begun with.
    pub(crate) fn indexed(&self) -> Indexed {
        if self.gathered.facts.features.is_on(Feature::Sqlite) { Indexed::Yes } else { Indexed::No }
    }

    /// Restores a history, and remembers its instructions. Gives the context's items too.
    fn restore(
        &mut self,
        file: &SessionFile,
        upto: u64,
        context: &Context,
        recalled: &Recalled,
    ) -> Result<(Restored, Vec<Item>), ReadError> {
        self.recall_dynamic_tools(file);
        let items: Vec<Item> = context.messages.iter().map(ContextMessage::item).collect();
        let prefix = compaction::summary_prefix(&self.pack);
        let rules = Rules { context_messages: &context.messages, ..self.rules(&prefix, &items, &recalled.origins) };
        let mut restored = restore::restore(file, upto, &rules)?;
        let place = format!("the session file {}", file.path.display());
        let instructions = restored.instructions.take();
        self.gathered.facts.recorded_fragments =
            instructions.as_deref().map_or_else(Vec::new, |text| recalled.instructions(text));
        self.gathered.facts.recorded_instructions = instructions.map(|text| Provided { place, text });
        Ok((restored, items))
    }

    /// How the session is opened, with no summaries to restore.
    fn opening(&self, how: How, at: u64) -> Opening<'_> {
        Opening {
            session: &self.session_id,
            how,
            at,
            ids: ids(&self.provider),
            truncation: self.gathered.facts.model.truncation_policy,
            summaries: None,
            origins_from: at,
            parent: None,
            files: None,
        }
    }

    fn wire(&self, output_schema: Option<Value>) -> WireSettings {
        let provider = &self.provider;
        WireSettings {
            session_id: self.session_id.clone(),
            wire: provider.wire_api,
            developer: provider.chat_developer_role.unwrap_or_default(),
            output_tokens_max: provider.max_output_tokens,
            ids: ids(provider),
            output_schema,
        }
    }
}

/// A conversation.
#[derive(Debug)]
pub struct Session {
    pub(crate) setup: Setup,
    pub(crate) transcript: Transcript,
    pub(crate) meter: Meter,
    pub(crate) log: Log,
    /// The calls that are being done.
    pub(crate) jobs: Jobs,
    instructions: Vec<Fragment>,
    omissions: Vec<Omission>,
    /// Whether nothing is sent when the model would not see it as it is.
    is_strict: bool,
    last: Option<LastRequest>,
    /// The one before it.
    previous: Option<LastRequest>,
    /// What is known of the size of its requests.
    size: Size,
    /// How many requests were made.
    n_requests: u64,
    /// The file that its history is from, until the first request.
    restored_from: Option<Box<SessionFile>>,
    /// The last request of an earlier process, until a request of this one is compared with it.
    recorded: Option<Box<Recorded>>,
    /// What its requests cost so far.
    spent: UsageSplit,
    /// The files that its requests are made from.
    files: FilesSeen,
    /// What is known of its requests and the provider's cache.
    cache: CacheState,
    /// Why the next request may not extend the last one.
    cause: Option<Cause>,
    /// The facts of the last turn that began, or of the start.
    before: Facts,
    /// The model of the last task that ended.
    previous_model: Option<String>,
    /// Whether the context has to be recorded before the next turn.
    context_is_due: bool,
    /// Skills that the person asked for; they follow the message.
    skills: Vec<Draft>,
    /// What goes before a person's input, in packs that have it.
    standing: Option<Standing>,
    /// Instruction files that may join or change, where that is asked for.
    documents: Option<Documents>,
    /// What is remembered of what left the window, in packs that remember.
    memory: Option<Memory>,
    /// Requests that were sent for it and are not written down yet.
    memory_asked: AskedList,
    /// The work on memories of past sessions beside this one.
    memories: Option<memories::Background>,
    /// A summary that is not written down yet.
    summary: Option<Summary>,
    /// The running summary of turns that were dropped, for layouts that drop them.
    running_summary: Option<String>,
    /// How many messages of the layout the history begins with.
    n_context: usize,
    /// The digests of requests.
    ledger: Ledger,
    /// Lines of its file that could not be read.
    set_aside: SetAside,
    /// The MCP servers, once they were started.
    pub(crate) servers: Option<Attached>,
    /// Snapshots that the work tree was brought back to.
    pub(crate) undone: BTreeSet<String>,
    /// Messages that are said again, if any are.
    again: Option<Schedule>,
    /// What faces were not told yet.
    told: Vec<EventMessage>,
    /// The rows of the last request, kept if clients ask for reports of requests.
    told_rows: Vec<Row>,
    /// Variables that skills need. They are kept nowhere else.
    skill_variables: SkillVariables,
}

/// A summary that is not written down yet.
#[derive(Debug)]
struct Summary {
    message: String,
    /// The history, if it is a provider's.
    replacement: Option<Vec<Item>>,
    /// The history before and what became of it otherwise, where that is kept.
    rebuilt: Option<(Vec<Item>, Vec<Item>)>,
}

/// What the last request was made of.
#[derive(Debug)]
struct LastRequest {
    frame: Frame,
    n_items: usize,
    sent: Sent,
    continuity: Option<Continuity>,
    /// The files that are not what they were for the request before.
    changed_files: Vec<ChangedFile>,
    /// Its digests, where it is written down what is sent.
    account: Option<Account>,
    /// What a server knows of it that remembers the one before.
    known: Option<Known>,
}

impl Session {
    /// A new session, with its first context recorded.
    pub fn new(setup: Setup, recorder: Recorder) -> Self {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let sent = sent_log(&setup, &recorder);
        let mut log = Log::new(recorder, sent, user_instructions(&setup.pack, &context)).telling(setup.raw_items);
        log.begin(&setup, concat(&context.instructions), None);
        log.sent_from_start().open(&setup.opening(How::New, 0));
        let mut session = Self::with(setup, log, &context);
        session.n_context = context.messages.len();
        session.record_context(context);
        session.look_at_files();
        session
    }

    /// A session that goes on where its file ends. Its context is recorded with the next turn.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn resumed(mut setup: Setup, recorder: Recorder, file: &SessionFile) -> Result<Self, ReadError> {
        let len = recorder.len().map_or_else(|| file_len(file), Ok)?;
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let recalled = Recalled::read(&setup.sources.config.folders.home, file);
        let (restored, items) = setup.restore(file, len, &context, &recalled)?;
        let mut sent = sent_log(&setup, &recorder);
        let files = FilesSeen::after(recalled.files.clone());
        sent.recall(recalled);
        let mut log = Log::new(recorder, sent, user_instructions(&setup.pack, &context)).telling(setup.raw_items);
        let prefix = compaction::summary_prefix(&setup.pack);
        let summaries = restored.has_used_context.then_some((prefix.as_str(), items.as_slice()));
        log.sent_from_start().open(&Opening { summaries, ..setup.opening(How::Resumed, len) });
        log.keep_client_tools(&setup);
        let mut session = Self::going_on(setup, log, file, restored);
        session.files = files;
        session.look_at_files();
        session.context_is_due = true;
        session.restored_from = Some(Box::new(file.clone()));
        Ok(session)
    }

    /// A new session that begins with a copy of another's file, up to an offset. Its file is
    /// there at once.
    ///
    /// # Errors
    /// When that file cannot be read.
    pub fn forked(mut setup: Setup, recorder: Recorder, file: &SessionFile, upto: u64) -> Result<Self, ReadError> {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let recalled = Recalled::read(&setup.sources.config.folders.home, file);
        let (restored, items) = setup.restore(file, upto, &context, &recalled)?;
        let sent = sent_log(&setup, &recorder);
        let mut log = Log::new(recorder, sent, user_instructions(&setup.pack, &context)).telling(setup.raw_items);
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        log.begin(&setup, concat(&context.instructions), Some(file.meta.id.clone()));
        log.copy(&file.path, upto).map_err(|error| ReadError::io(&file.path, error))?;
        let prefix = compaction::summary_prefix(&setup.pack);
        let summaries = restored.has_used_context.then_some((prefix.as_str(), items.as_slice()));
        let is_all_known = restored.transcript.is_attributed();
        if let Some(at) = log.written() {
            let parent = Some((file.meta.id.as_str(), upto));
            let sent = log.sent_from_start();
            // What the parent's record keeps of origins is kept here too.
            let origins_from = if is_all_known { 0 } else { at };
            sent.open(&Opening {
                summaries,
                parent,
                origins_from,
                files: recalled.files.as_ref(),
                ..setup.opening(How::Forked, at)
            });
            // The file is there at once, and so is what says whose requests its first lines speak of.
            sent.begin();
        }
        let mut session = Self::going_on(setup, log, file, restored);
        session.files = FilesSeen::after(recalled.files);
        session.look_at_files();
        session.log_origins_of(if is_all_known { Extent::Told } else { Extent::Copied });
        session.record_context_after_history(context);
        Ok(session)
    }

    /// A new session that begins with items that somebody gives. Its file is there at once.
    pub fn of_history(setup: Setup, recorder: Recorder, items: &[Item]) -> Self {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let sent = sent_log(&setup, &recorder);
        let mut log = Log::new(recorder, sent, user_instructions(&setup.pack, &context)).telling(setup.raw_items);
        log.begin(&setup, concat(&context.instructions), None);
        log.sent_from_start().open(&setup.opening(How::New, 0));
        log.persist();
        let mut session = Self::with(setup, log, &context);
        let origin = Origin::Provided { place: "the history that a client gave".into() };
        for item in items {
            session.record(item, &origin);
        }
        session.record_context(context);
        session.look_at_files();
        session
    }

    /// A session with a history.
    fn going_on(mut setup: Setup, log: Log, file: &SessionFile, restored: Restored) -> Self {
        let model = &setup.gathered.facts.model.slug;
        if let Some(before) = restored.model.as_ref().filter(|before| *before != model) {
            let message = format!(
                "this session was last used with the model `{before}` and continues with `{model}`; its answers may differ from those of `{before}`"
            );
            setup.notices.push(EventMessage::Warning { message });
        }
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let mut session = Self::with(setup, log, &context);
        let origin = Origin::Recorded { path: file.path.to_string_lossy().as_ref().into() };
        if let Some(memory) = &mut session.memory {
            for (item, spans) in restored.transcript.items_with_origins() {
                memory.note_restored(&item, &origin, spans);
            }
        }
        session.transcript = restored.transcript;
        session.meter = Meter::resumed(restored.usage);
        session.previous_model = restored.model;
        session.set_aside = restored.set_aside;
        session.undone = restored.undone;
        session.cause = restored.cause;
        session.cache = CacheState::of_history();
        session
    }

    fn with(mut setup: Setup, log: Log, context: &Context) -> Self {
        let mut omissions = setup.gathered.omissions.clone();
        omissions.extend(context.omissions.iter().cloned());
        let standing = standing(&mut setup);
        let file = MemoryFile::read(setup.side.get(memory::SIDE));
        let layout = setup.pack.layout.memory.as_ref();
        let memory = layout.map(|layout| Memory::new(layout, layout.prompt(&setup.pack), file));
        let again = Schedule::of(&mut setup);
        let facts = &setup.gathered.facts;
        let known = setup.side.get(crate::documents::SIDE);
        let documents = Documents::new(&setup.pack, &setup.sources, facts, known);
        let config = &setup.sources.config;
        let toolbox = Toolbox::new(Equipment {
            rules: setup.sources.policy.rules.clone(),
            sandbox: sandbox::of(config),
            protection: sandbox::protection(config),
            home: config.folders.home.clone(),
            homes: sandbox::homes(config, &setup.sources.env),
            roots: setup.sources.roots.clone(),
            node_paths: config.tools.node_paths.clone(),
            outputs: log.is_kept().then(|| Outputs::of(&config.folders.home, setup.session_id.as_str())),
        });
        Self {
            transcript: Transcript::new(ids(&setup.provider), facts.model.truncation_policy),
            ledger: Ledger::default(),
            set_aside: SetAside::default(),
            servers: None,
            undone: BTreeSet::new(),
            log,
            jobs: Jobs::new(toolbox),
            meter: Meter::default(),
            instructions: context.instructions.clone(),
            omissions,
            is_strict: false,
            last: None,
            previous: None,
            size: Size::default(),
            before: facts.clone(),
            n_requests: 0,
            restored_from: None,
            recorded: None,
            spent: UsageSplit::default(),
            files: FilesSeen::default(),
            cache: CacheState::default(),
            cause: None,
            previous_model: None,
            context_is_due: false,
            skills: Vec::new(),
            standing,
            documents,
            memory,
            memory_asked: AskedList::default(),
            memories: None,
            summary: None,
            running_summary: None,
            n_context: 0,
            again,
            told: Vec::new(),
            told_rows: Vec::new(),
            skill_variables: SkillVariables::default(),
            setup,
        }
    }

    fn record_context(&mut self, context: Context) {
        for message in context.messages {
            self.record_layout(&Draft::from(message));
        }
    }

    /// Records a message that the layout makes, and writes it down.
    fn record_layout(&mut self, draft: &Draft) {
        self.log.item(&draft.item(), &draft.part);
        self.transcript.record_draft(draft);
    }

    /// Records a message of the conversation, and writes it down.
    pub(crate) fn record_draft(&mut self, draft: &Draft) {
        self.record_layout(draft);
        if let Some(memory) = &mut self.memory {
            memory.note(Kept::Draft(draft.clone()));
        }
    }

    /// Looks at what a person says before anything else happens. Gives what the person should hear.
    ///
    /// # Errors
    /// Why it must not be sent.
    pub fn stand(&mut self, inputs: &[UserInput]) -> Result<Vec<EventMessage>, String> {
        let facts = &self.setup.gathered.facts;
        let used = self.meter.info().map(|_| self.meter.last_total() as f64);
        let window = facts.model.effective_window().filter(|window| *window > 0);
        let occupancy = used.zip(window).map(|(used, window)| used / window as f64);
        let Some(standing) = &mut self.standing else {
            return Ok(Vec::new());
        };
        let told = standing.prepare(inputs, facts.cwd.as_ref(), occupancy);
        if told.is_err() {
            // How often it failed counts.
            keep(&mut self.setup.side, standing::SIDE, standing.kept());
        }
        let told = told.map_err(|blocked| blocked.message)?;
        let lost = self.note_standing()?;
        Ok(told.into_iter().chain(lost).map(|message| EventMessage::Warning { message }).collect())
    }

    /// What a person should hear before the first turn, once.
    pub fn take_notices(&mut self) -> Vec<EventMessage> {
        std::mem::take(&mut self.setup.notices)
    }

    /// What the session is like, for the first event.
    pub fn configured(&self) -> EventMessage {
        let facts = &self.setup.gathered.facts;
        EventMessage::SessionConfigured(SessionConfigured {
            session_id: self.setup.session_id.clone(),
            model: facts.model.slug.clone(),
            model_provider_id: self.setup.provider_id.clone(),
            approval_policy: facts.approval_policy,
            sandbox_policy: facts.sandbox_policy.clone(),
            cwd: facts.cwd.clone().into(),
            reasoning_effort: facts.effort,
        })
    }

    /// What a person should hear when a turn begins.
    pub(crate) fn turn_warnings(&self) -> Vec<EventMessage> {
        let slug = &self.setup.gathered.facts.model.slug;
        let unknown = (self.setup.gathered.model_match == Match::Fallback).then(|| EventMessage::Warning {
            message: format!("nothing is known of the model `{slug}`; defaults are used, which may not suit it"),
        });
        unknown.into_iter().collect()
    }

    /// Has a person hear something before the first turn.
    pub fn tell_first(&mut self, message: String) {
        self.setup.notices.push(EventMessage::Warning { message });
    }

    /// Changes settings for the turns to come.
    pub fn change_settings(&mut self, mut change: SettingsChange) {
        change.collaboration_mode = change.collaboration_mode.map(|mode| presets::completed(&self.setup.pack, mode));
        self.setup.sources.change(&mut self.setup.gathered, change);
        self.transcript.set_truncation(self.setup.gathered.facts.model.truncation_policy);
    }

    /// Records what changed since the last turn began, before the next one does.
    pub fn begin_turn(&mut self) {
        self.refresh_documents();
        let text = if self.context_is_due { NewText::Above } else { NewText::Here };
        self.record_due_context();
        let facts = &self.setup.gathered.facts;
        let previous_model = self.previous_model.as_deref();
        let change = Change { pack: &self.setup.pack, before: &self.before, after: facts, previous_model };
        let Updates { messages, omissions } = updates(&change);
        self.before = facts.clone();
        for message in messages {
            self.record_layout(&Draft::from(message));
        }
        for omission in omissions {
            if !self.omissions.contains(&omission) {
                self.note_omission(omission);
            }
        }
        self.tell_changed_documents(text);
        self.say_again();
        self.look_at_files();
    }

    /// Notes that something was sent, whatever came of it.
    pub(crate) fn complete_turn(&mut self) {
        self.complete_turn_again();
        if let Some(standing) = &mut self.standing {
            standing.complete_turn();
            keep(&mut self.setup.side, standing::SIDE, standing.kept());
        }
    }

    /// Notes that a task ended, whatever it was.
    pub(crate) fn end_task(&mut self) {
        self.log_memory_requests();
        self.log_memories();
        // Of a history that no file will have there is nothing to write down.
        if !self.log.is_held() {
            self.log_origins();
        }
        self.previous_model = Some(self.setup.gathered.facts.model.slug.clone());
    }

    /// Tells the program of the user's, if there is one, that a turn has its final answer.
    pub(crate) fn notify(&self, turn_id: &TurnId, last_assistant_message: Option<&str>) {
        let Some(program) = &self.setup.sources.config.records.notify else { return };
        let told = TurnOver {
            thread_id: &self.setup.session_id,
            turn_id,
            cwd: &self.setup.gathered.facts.cwd,
            input_messages: notify::input_messages(self.transcript.items()),
            last_assistant_message,
        };
        notify::notify(program, &told, &self.setup.key_variables());
    }

    /// Removes what sessions left behind that could not clean up after their commands.
    pub(crate) fn clean_login_snapshots(&self) {
        if self.jobs.toolbox.has_login_snapshot() {
            let home = &self.setup.sources.config.folders.home;
            let last_use = |id: &str| std::fs::metadata(find::by_id(home, id)?).ok()?.modified().ok();
            snapshot::clean(home, self.setup.session_id.as_str(), SystemTime::now(), last_use);
        }
    }

    /// Takes the last turns of the person away.
    pub(crate) fn roll_back(&mut self, n_turns: usize) -> EventMessage {
        self.transcript.roll_back(n_turns);
        self.roll_back_documents();
        self.cause = Some(Cause::RollBack);
        if let Some(memory) = &mut self.memory {
            memory.roll_back(n_turns);
        }
        self.previous_model = Some(self.setup.gathered.facts.model.slug.clone());
        let tokens = i64::try_from(self.prompt_tokens()).unwrap_or(i64::MAX);
        self.meter.estimate(tokens, self.setup.gathered.facts.model.effective_window());
        self.meter.event()
    }

    /// What holds for the calls of a turn.
    pub(crate) fn situation(&self, turn_id: &TurnId) -> Situation {
        let agents = crew::line(&self.setup, &self.instructions, &self.log);
        let skill_variables = self.skill_variables.clone();
        Situation { agents, skill_variables, ..situation::situation(&self.setup, turn_id) }
    }

    /// Records an item.
    pub(crate) fn record(&mut self, item: &Item, origin: &Origin) {
        self.log.item(item, origin.kind());
        self.transcript.record(item, origin);
        if let Some(memory) = &mut self.memory {
            memory.note(Kept::Item(item.clone(), origin.clone()));
        }
    }

    /// Keeps an item for a summary. Session files do not have it.
    pub(crate) fn note(&mut self, item: &Item, origin: &Origin) {
        if let Some((sent, at)) = self.log.sent() {
            sent.noted(at, item);
        }
        self.transcript.record(item, origin);
    }

    /// What the first context leaves out or cuts.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// Why the session is not kept, if its file cannot be written.
    pub fn file_failure(&self) -> Option<&str> {
        self.log.failure()
    }

    /// Why it is not kept what was sent, if that cannot be written.
    pub fn sent_failure(&self) -> Option<&str> {
        self.log.sent_failure()
    }

    /// Lines of the session's file that could not be read.
    pub fn set_aside(&self) -> &SetAside {
        &self.set_aside
    }

    /// Where its file is, or will be.
    pub fn path(&self) -> Option<&Path> {
        self.log.path()
    }

    /// The agents that it started.
    pub fn crew(&self) -> &Crew {
        &self.setup.crew
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.setup.session_id
    }

    /// Whether there is a file of it, so that it can be resumed.
    pub fn is_kept(&self) -> bool {
        self.log.is_kept()
    }

    /// The configuration that it runs under.
    pub fn config(&self) -> &Config {
        &self.setup.sources.config
    }

    /// What is true in this session.
    pub fn facts(&self) -> &Facts {
        &self.setup.gathered.facts
    }

    /// What confines its commands, and why that. Mechanisms are tried for it if none was yet.
    pub fn sandbox(&self) -> SandboxReport {
        sandbox::report(&self.setup.sources.config, &self.setup.gathered.facts.sandbox_policy)
    }

    /// What it is told before the conversation.
    pub fn instructions(&self) -> &[Fragment] {
        &self.instructions
    }

    /// The provider's id.
    pub fn provider_id(&self) -> &str {
        &self.setup.provider_id
    }

    /// How its input is put together.
    pub fn pack(&self) -> &Pack {
        &self.setup.pack
    }
}

/// The standing texts of a pack that has some. A phase that it does not know is a warning.
fn standing(setup: &mut Setup) -> Option<Standing> {
    let cwd = setup.gathered.facts.cwd.clone();
    let state = setup.side.get(standing::SIDE);
    match Standing::new(&setup.pack, &setup.sources, cwd.as_ref(), state) {
        Ok(standing) => standing,
        Err(message) => {
            setup.notices.push(EventMessage::Warning { message });
            None
        }
    }
}

/// The log of what is sent, beside the session's file.
fn sent_log(setup: &Setup, recorder: &Recorder) -> SentLog {
    match recorder.path() {
        Some(path) => SentLog::new(&setup.sources.config.folders.home, path),
        None => SentLog::none(),
    }
}

fn file_len(file: &SessionFile) -> Result<u64, ReadError> {
    let metadata = std::fs::metadata(&file.path).map_err(|error| ReadError::io(&file.path, error))?;
    Ok(metadata.len())
}

fn ids(provider: &Provider) -> ItemIds {
    if provider.is_azure() { ItemIds::Sent } else { ItemIds::Hidden }
}

/// The effort that is set if the model knows it, else its middle one, else its own.
fn supported_effort(facts: &Facts) -> Option<ReasoningEffort> {
    let levels = &facts.model.supported_reasoning_levels;
    let is_known = |effort: &ReasoningEffort| levels.iter().any(|level| level.effort == *effort);
    let middle = levels.get(levels.len().saturating_sub(1) / 2).map(|level| level.effort);
    facts.effort.filter(is_known).or(middle).or(facts.model.default_reasoning_level)
}

/// The text of the user's and the project's documents, as the session begins with it.
fn user_instructions(pack: &Pack, context: &Context) -> Option<String> {
    context.inside(&pack.layout, SlotRole::UserInstructions)
}
