//! How a session begins: with nothing, with items that a client gives, or with the history of a session file.

use std::sync::Mutex;

use pellucid_engine::assemble;
use pellucid_engine::assemble::Context;
use pellucid_engine::compaction;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::SlotRole;
use pellucid_engine::reinject::phases::PhaseNames;
use pellucid_engine::server_input::GivenParts;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_store::phase::PhaseFile;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::entry::How;
use pellucid_tools::edits::EditLog;
use pellucid_tools::outputs::Outputs;
use pellucid_tools::toolbox::Equipment;
use pellucid_tools::toolbox::Toolbox;

use super::Session;
use super::apps::NamedApps;
use super::asked_skills::AskedSkills;
use super::conversation::Conversation;
use super::notices::Notices;
use super::placing::Placing;
use super::requests::Requests;
use super::setup::Past;
use super::setup::Setup;
use super::shortening::Shortening;
use super::turns::LastTurn;
use crate::child::StartedBy;
use crate::habits::Habits;
use crate::habits::Happened;
use crate::jobs::Jobs;
use crate::log::Log;
use crate::phases::PhaseOwner;
use crate::phases::PhaseScope;
use crate::phases::Phases;
use crate::sandbox;
use crate::sent::Extent;
use crate::sent::OpeningRecord;
use crate::sent::SentLog;
use crate::session::mcp::ServerSwitch;
use crate::telemetry::Telemetry;

/// What a session begins with.
#[derive(Debug, Clone, Copy)]
pub enum Beginning<'a> {
    /// No history. The layout's messages are recorded at once.
    Nothing,
    /// Items that a client gives. The session's file is written at once.
    Items(&'a [Item]),
    /// The session's own file, which is continued. The layout's messages are recorded with the next turn.
    Resumed(&'a SessionFile),
    /// A copy of another session's file, up to an offset. The session's file is written at once.
    Forked(&'a SessionFile, u64),
}

impl<'a> Beginning<'a> {
    /// The file that the history is in, and how many bytes of it are the history.
    fn file(self, recorder: &Recorder) -> Result<Option<(&'a SessionFile, u64)>, ReadError> {
        Ok(match self {
            Self::Nothing | Self::Items(_) => None,
            Self::Resumed(file) => Some((file, recorder.len().map_or_else(|| file_len(file), Ok)?)),
            Self::Forked(file, upto) => Some((file, upto)),
        })
    }
}

impl Session {
    /// Opens a session. Every session begins here, whether a client or another session starts it.
    ///
    /// # Errors
    /// The file of the history cannot be read.
    pub fn open(mut setup: Setup, recorder: Recorder, beginning: Beginning<'_>) -> Result<Self, ReadError> {
        let file = beginning.file(&recorder)?;
        setup.phases = phases(&setup, &recorder, beginning);
        let mut context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let user_instructions = user_instructions(&setup.pack, &context);
        let mut past = file.map(|(file, upto)| setup.restore(file, upto, &context)).transpose()?;
        if past.is_some() {
            // The instructions of the file are known now.
            context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        }
        setup.gathered.facts = setup.frames.facts(&setup.gathered.facts);
        let sent = sent_log(&setup, &recorder).observed(Telemetry::begin(&mut setup));
        let mut log = Log::new(recorder, sent, user_instructions).keeping_raw(setup.raw_items);
        begin_log(&mut log, &setup, &context, beginning, file.zip(past.as_mut()))?;
        let mut session = match (file, past) {
            (Some((file, _)), Some(past)) => Self::with_history(setup, log, &context, beginning, file, past),
            _ => Self::without_history(setup, log, &context, beginning),
        };
        session.record_beginning(context, beginning);
        Ok(session)
    }

    fn without_history(setup: Setup, log: Log, context: &Context, beginning: Beginning<'_>) -> Self {
        let n_context = match beginning {
            Beginning::Nothing => context.messages.len(),
            Beginning::Items(_) | Beginning::Resumed(_) | Beginning::Forked(..) => 0,
        };
        let truncation = setup.gathered.facts.settings.model.truncation_policy;
        let instructions = setup.frames.instructions(&context.instructions);
        let conversation = Conversation::new(instructions, setup.item_ids(), truncation);
        let last_turn = LastTurn::new(setup.gathered.facts.clone(), None, false);
        let session = Self::with(setup, log, context, conversation, last_turn);
        Self { shortening: Shortening::new(n_context), ..session }
    }

    fn with_history(
        mut setup: Setup,
        log: Log,
        context: &Context,
        beginning: Beginning<'_>,
        file: &SessionFile,
        past: Past,
    ) -> Self {
        let Past { mut restored, recalled, .. } = past;
        let model = &setup.gathered.facts.settings.model.slug;
        if let Some(before) = restored.model.as_ref().filter(|before| *before != model) {
            let message = format!(
                "this session was last used with the model `{before}` and continues with `{model}`; its answers may differ from those of `{before}`"
            );
            setup.notices.push(EventMessage::Warning { message });
        }
        let is_resumed = matches!(beginning, Beginning::Resumed(_));
        let requests = Requests::after(is_resumed.then(|| file.clone()), recalled.files, restored.cause.take());
        let last_turn = LastTurn::new(setup.gathered.facts.clone(), restored.model.take(), is_resumed);
        let conversation = Conversation::restored(setup.frames.instructions(&context.instructions), restored);
        let mut session = Self { requests, ..Self::with(setup, log, context, conversation, last_turn) };
        let origin = Origin::Recorded { path: file.path.to_string_lossy().as_ref().into() };
        let restored = Happened::Restored(session.conversation.transcript(), origin);
        session.habits.note(&mut session.setup, &restored);
        session
    }

    fn with(mut setup: Setup, log: Log, context: &Context, conversation: Conversation, last_turn: LastTurn) -> Self {
        let omissions = setup.gathered.omissions.iter().chain(&context.omissions).cloned().collect();
        Self {
            habits: Habits::of(&mut setup),
            injected: Vec::new(),
            jobs: Jobs::new(toolbox(&setup, &log)),
            conversation,
            requests: Requests::default(),
            framed: Mutex::default(),
            notices: Notices::new(omissions),
            shortening: Shortening::default(),
            last_turn,
            placing: Placing::default(),
            skills: AskedSkills::default(),
            given: GivenParts::default(),
            named_apps: NamedApps::default(),
            servers: None,
            server_switch: ServerSwitch::default(),
            memories: None,
            log,
            setup,
        }
    }

    /// Records what the session begins with.
    fn record_beginning(&mut self, context: Context, beginning: Beginning<'_>) {
        match beginning {
            Beginning::Nothing => self.record_context(context),
            Beginning::Items(items) => {
                let origin = Origin::Provided { place: "the history that a client gave".into() };
                for item in items {
                    self.record(item, &origin);
                }
                self.record_context(context);
            }
            Beginning::Resumed(_) => {}
            Beginning::Forked(..) => {
                self.look_at_files();
                let is_all_known = self.conversation.transcript().is_attributed();
                self.log_origins_of(if is_all_known { Extent::Covered } else { Extent::Copied });
                self.record_context_after_history(context);
                return;
            }
        }
        self.look_at_files();
    }
}

/// The phase settings of a session that begins. A copy has the phase of the session that it is a copy of, and an agent that
/// of the session that started it.
fn phases(setup: &Setup, recorder: &Recorder, beginning: Beginning<'_>) -> Phases {
    let home = &setup.sources.config.folders.home;
    let config = setup.sources.config.prompt.phase.clone();
    let cwd = &setup.gathered.facts.settings.cwd;
    let owner = PhaseOwner { names: PhaseNames::of(&setup.pack), home, config, cwd: cwd.as_ref() };
    // What cannot be read of another session is reported where that session is opened.
    let of_stored = |file: &SessionFile| PhaseFile::of_session(home, &file.meta.id).get().ok().flatten();
    let taken_over = match (&setup.origin, beginning) {
        (StartedBy::Spawned { .. }, Beginning::Nothing) => setup.phases.of_session().ok().flatten(),
        (_, Beginning::Forked(file, _)) => of_stored(file),
        _ => None,
    };
    let id = setup.session_id.as_str();
    if recorder.path().is_none() || recorder.is_held() {
        let resumed = match beginning {
            Beginning::Resumed(file) => of_stored(file),
            _ => None,
        };
        return Phases::held(owner, resumed.or(taken_over));
    }
    let phases = Phases::kept(owner, id);
    if let Some(Err(error)) = taken_over.map(|phase| phases.set(PhaseScope::Session, &phase)) {
        tracing::warn!(%error, "the session does not have the phase of the session that it comes from");
    }
    phases
}

/// Writes the head of a new file, and notes in the record how the session was opened.
fn begin_log(
    log: &mut Log,
    setup: &Setup,
    context: &Context,
    beginning: Beginning<'_>,
    history: Option<((&SessionFile, u64), &mut Past)>,
) -> Result<(), ReadError> {
    let prefix = compaction::summary_prefix(&setup.pack);
    let instructions = concat(&context.instructions);
    match (beginning, history) {
        (Beginning::Resumed(_), Some(((_, len), past))) => {
            let sent = log.sent_from_start();
            sent.recall(&mut past.recalled);
            let summaries = past.summaries(&prefix);
            sent.open(&OpeningRecord { summaries, ..setup.opening(How::Resumed, len) });
            log.keep_client_tools(setup);
        }
        (Beginning::Forked(..), Some(((file, upto), past))) => {
            log.begin(setup, instructions, Some(file.meta.id.clone()));
            log.copy(&file.path, upto).map_err(|error| ReadError::io(&file.path, error))?;
            if let Some(at) = log.written() {
                let parent = Some((file.meta.id.as_str(), upto));
                // What the parent's record keeps of origins is kept here too.
                let origins_from = if past.restored.transcript.is_attributed() { 0 } else { at };
                let (files, summaries) = (past.recalled.files.as_ref(), past.summaries(&prefix));
                let sent = log.sent_from_start();
                sent.open(&OpeningRecord { summaries, parent, origins_from, files, ..setup.opening(How::Forked, at) });
                // The file is there at once, so the record of whose requests its first lines name is too.
                sent.begin();
            }
        }
        _ => {
            log.begin(setup, instructions, None);
            log.sent_from_start().open(&setup.opening(How::New, 0));
            if let Beginning::Items(_) = beginning {
                log.persist();
            }
        }
    }
    Ok(())
}

/// The tools of the session, with the folders and rules that they work under.
fn toolbox(setup: &Setup, log: &Log) -> Toolbox {
    let config = &setup.sources.config;
    Toolbox::new(Equipment {
        rules: setup.sources.policy.rules.clone(),
        sandbox: sandbox::of(config),
        protection: sandbox::protection(config),
        home: config.folders.home.clone(),
        homes: sandbox::homes(config, &setup.sources.env),
        roots: setup.sources.roots.clone(),
        node_paths: config.tools.node_paths.clone(),
        found_apps: setup.gathered.facts.tools.apps.found.clone(),
        outputs: log.is_kept().then(|| Outputs::of(&config.folders.home, setup.session_id.as_str())),
        edits: log.is_kept().then(|| EditLog::of(log.disk().clone(), &config.folders.home, setup.session_id.as_str())),
    })
}

/// The record of requests beside the session's file.
fn sent_log(setup: &Setup, recorder: &Recorder) -> SentLog {
    match recorder.path() {
        Some(path) => SentLog::new(recorder.disk().clone(), &setup.sources.config.folders.home, path),
        None => SentLog::none(),
    }
}

fn file_len(file: &SessionFile) -> Result<u64, ReadError> {
    let metadata = std::fs::metadata(&file.path).map_err(|error| ReadError::io(&file.path, error))?;
    Ok(metadata.len())
}

/// The text of the user's and the project's documents, as the session begins with it.
fn user_instructions(pack: &Pack, context: &Context) -> Option<String> {
    context.inside(&pack.layout, SlotRole::UserInstructions)
}
