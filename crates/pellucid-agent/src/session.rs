//! A session: a conversation with its settings, and the requests it makes.

use pellucid_engine::assemble;
use pellucid_engine::assemble::Context;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::Fit;
use pellucid_engine::compaction::WINDOW_SUMMARY;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::Sent;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::increment::Increment;
use pellucid_engine::increment::Step;
use pellucid_engine::meter::Meter;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::Strategy;
use pellucid_engine::report::Report;
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
use pellucid_engine::update::updates;
use pellucid_engine::user_message::user_message;
use pellucid_engine::window::summary::output_tokens;
use pellucid_model::Model;
use pellucid_model::catalogue::Match;
use pellucid_model::socket::Known;
use pellucid_model::socket::SocketAsk;
use pellucid_model::socket::SocketVersion;
use pellucid_protocol::event::EventMessage;
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
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_store::read::Loaded;
use pellucid_store::recorder::Recorder;
use pellucid_store::side::Side;
use serde_json::Value;

use crate::gather::Gathered;
use crate::gather::Sources;
use crate::identity::Identity;
use crate::images;
use crate::log::Log;
use crate::memory;
use crate::memory::Asker;
use crate::memory::Done;
use crate::memory::Job;
use crate::memory::Kept;
use crate::memory::Memory;
use crate::memory::MemoryFile;
use crate::memory::Remembered;
use crate::metadata;
use crate::metadata::Repositories;
use crate::restore;
use crate::skills;
use crate::skills::Wanted;
use crate::standing;
use crate::standing::Standing;

/// What a session is made of.
#[derive(Debug)]
pub struct Setup {
    /// Its id.
    pub session_id: SessionId,
    /// How input is put together.
    pub pack: Pack,
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
    /// How the model is asked for a summary, if the user has their own wording.
    pub compact_prompt: Option<Provided>,
    /// Whether faces are told what each request is made of.
    pub context_events: bool,
    /// What a person should hear before the first turn.
    pub notices: Vec<EventMessage>,
    /// What is known of the session beside its file.
    pub side: Side,
}

/// A conversation.
#[derive(Debug)]
pub struct Session {
    pub(crate) setup: Setup,
    pub(crate) transcript: Transcript,
    pub(crate) meter: Meter,
    pub(crate) log: Log,
    instructions: Vec<Fragment>,
    omissions: Vec<Omission>,
    last: Option<LastRequest>,
    /// How many requests were made.
    n_requests: u64,
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
    /// What is remembered of what left the window, in packs that remember.
    memory: Option<Memory>,
    /// A summary that is not written down yet: its text, and the history of a provider's.
    summary: Option<(String, Option<Vec<Item>>)>,
    /// The running summary of turns that were dropped, for layouts that drop them.
    running_summary: Option<String>,
    /// How many messages of the layout the history begins with.
    n_context: usize,
}

/// What the last request was made of.
#[derive(Debug)]
struct LastRequest {
    frame: Frame,
    n_items: usize,
    sent: Sent,
    continuity: Option<Continuity>,
    /// What a server knows of it that remembers the one before.
    known: Option<Known>,
}

impl Session {
    /// A new session, with its first context recorded.
    pub fn new(setup: Setup, recorder: Recorder) -> Self {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let mut log = Log::new(recorder, user_instructions(&context));
        log.begin(&setup, concat(&context.instructions));
        let mut session = Self::with(setup, log, &context);
        session.n_context = context.messages.len();
        session.record_context(context);
        session
    }

    /// A session that goes on where its file ends. Its context is recorded with the next turn.
    pub fn resumed(mut setup: Setup, recorder: Recorder, loaded: &Loaded) -> Self {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let policy = setup.gathered.facts.model.truncation_policy;
        let restored = restore::restore(loaded, &setup.pack, &context, policy);
        let place = format!("the session file {}", loaded.path.display());
        setup.gathered.facts.recorded_instructions = restored.instructions.map(|text| Provided { place, text });
        let model = &setup.gathered.facts.model.slug;
        if let Some(before) = restored.model.as_ref().filter(|before| *before != model) {
            let message = format!(
                "this session was last used with the model `{before}` and goes on with `{model}`; its answers may differ from those of `{before}`"
            );
            setup.notices.push(EventMessage::Warning { message });
        }
        let log = Log::new(recorder, user_instructions(&context));
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let mut session = Self::with(setup, log, &context);
        let origin = Origin::Recorded { path: loaded.path.to_string_lossy().as_ref().into() };
        for item in &restored.items {
            session.transcript.record(item, &origin);
            if let Some(memory) = &mut session.memory {
                memory.note_restored(item, &origin);
            }
        }
        session.meter = Meter::resumed(restored.usage);
        session.previous_model = restored.model;
        session.context_is_due = true;
        session
    }

    fn with(mut setup: Setup, log: Log, context: &Context) -> Self {
        let mut omissions = setup.gathered.omissions.clone();
        omissions.extend(context.omissions.iter().cloned());
        let standing = standing(&mut setup);
        let file = MemoryFile::read(setup.side.get(memory::SIDE));
        let layout = setup.pack.layout.memory.as_ref();
        let memory = layout.map(|layout| Memory::new(layout, layout.prompt(&setup.pack), file));
        let facts = &setup.gathered.facts;
        Self {
            transcript: Transcript::new(ids(&setup.provider), facts.model.truncation_policy),
            log,
            meter: Meter::default(),
            instructions: context.instructions.clone(),
            omissions,
            last: None,
            before: facts.clone(),
            n_requests: 0,
            previous_model: None,
            context_is_due: false,
            skills: Vec::new(),
            standing,
            memory,
            summary: None,
            running_summary: None,
            n_context: 0,
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
        self.log.item(&draft.item());
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
        Ok(told.into_iter().map(|message| EventMessage::Warning { message }).collect())
    }

    /// Tells faces what each request is made of.
    pub fn tell_context(&mut self) {
        self.setup.context_events = true;
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

    /// Changes settings for the turns to come.
    pub fn change_settings(&mut self, change: SettingsChange) {
        self.setup.sources.change(&mut self.setup.gathered, change);
        self.transcript.set_truncation(self.setup.gathered.facts.model.truncation_policy);
    }

    /// Records what changed since the last turn began, before the next one does.
    pub fn begin_turn(&mut self) {
        if std::mem::take(&mut self.context_is_due) {
            let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
            self.record_context(context);
        }
        let facts = &self.setup.gathered.facts;
        let previous_model = self.previous_model.as_deref();
        let change = Change { pack: &self.setup.pack, before: &self.before, after: facts, previous_model };
        let messages = updates(&change);
        self.before = facts.clone();
        for message in messages {
            self.record_layout(&Draft::from(message));
        }
    }

    /// Notes that something was sent, whatever came of it.
    pub(crate) fn complete_turn(&mut self) {
        if let Some(standing) = &mut self.standing {
            standing.complete_turn();
            keep(&mut self.setup.side, standing::SIDE, standing.kept());
        }
    }

    /// Notes that a task ended, whatever it was.
    pub(crate) fn end_task(&mut self) {
        self.previous_model = Some(self.setup.gathered.facts.model.slug.clone());
    }

    /// Takes the last turns of the person away.
    pub(crate) fn roll_back(&mut self, n_turns: usize) -> EventMessage {
        self.transcript.roll_back(n_turns);
        if let Some(memory) = &mut self.memory {
            memory.roll_back(n_turns);
        }
        self.previous_model = Some(self.setup.gathered.facts.model.slug.clone());
        let tokens = i64::try_from(self.prompt_tokens()).unwrap_or(i64::MAX);
        self.meter.estimate(tokens, self.setup.gathered.facts.model.effective_window());
        self.meter.event()
    }

    /// Records what a person said, and the skills that it asks for. Gives what a person should hear
    /// of skills that cannot be read.
    pub fn record_input(&mut self, inputs: &[UserInput]) -> Vec<EventMessage> {
        let wanted = if select::may_select(inputs) { self.wanted_skills(inputs) } else { Wanted::default() };
        self.record_message(inputs);
        self.skills = wanted.messages;
        wanted.warnings.into_iter().map(|message| EventMessage::Warning { message }).collect()
    }

    /// Records what a person said, and nothing else.
    pub(crate) fn record_message(&mut self, inputs: &[UserInput]) {
        let images = images::load(inputs);
        let mut draft = user_message(&self.setup.pack, inputs, &images);
        if let Some(standing) = &mut self.standing {
            draft = standing.wrap(inputs, draft);
        }
        self.record_draft(&draft);
    }

    /// Records the skills that the last input asked for.
    pub fn record_skills(&mut self) {
        for message in std::mem::take(&mut self.skills) {
            self.record_draft(&message);
        }
    }

    /// The skills that an input asks for. After the first turn they are looked for again, because
    /// they may have come or gone since.
    fn wanted_skills(&self, inputs: &[UserInput]) -> Wanted {
        let same_name = self.setup.pack.layout.skills.same_name;
        let Gathered { facts, skill_search, .. } = &self.setup.gathered;
        if self.last.is_some() {
            skills::wanted(&skill_search.load(), inputs, same_name)
        } else {
            skills::wanted(&facts.skills, inputs, same_name)
        }
    }

    /// Records an item.
    pub(crate) fn record(&mut self, item: &Item, origin: &Origin) {
        self.log.item(item);
        self.transcript.record(item, origin);
        if let Some(memory) = &mut self.memory {
            memory.note(Kept::Item(item.clone(), origin.clone()));
        }
    }

    /// What surrounds the items in the requests of a turn.
    pub fn frame(&self, output_schema: Option<Value>) -> Frame {
        let wire = self.wire(output_schema);
        Frame::new(&self.setup.pack, &self.setup.gathered.facts, &self.instructions, &wire)
    }

    /// What surrounds them in the request for a summary.
    pub(crate) fn summary_frame(&self, facts: &Facts) -> Frame {
        let pack = &self.setup.pack;
        match pack.layout.compaction.strategy {
            Strategy::Summarise => Frame::for_summary(pack, facts, &self.instructions, &self.wire(None)),
            Strategy::Window => {
                let instructions = pack.template(WINDOW_SUMMARY).text();
                let mut wire = self.wire(None);
                let tokens = output_tokens(pack.layout.compaction.summary_max_output_tokens);
                wire.output_tokens_max = u64::try_from(tokens).ok();
                Frame::for_summary(pack, facts, &instructions, &wire)
            }
        }
    }

    /// The facts under which a summary is made: those of this turn, with the model before it where
    /// that one makes it.
    pub(crate) fn summary_facts(&self, summariser: Summariser) -> Facts {
        let mut facts = self.setup.gathered.facts.clone();
        if let (Summariser::Previous, Some(slug)) = (summariser, &self.previous_model) {
            facts.model = self.setup.sources.model(slug).0;
            facts.effort = supported_effort(&facts);
        }
        facts
    }

    /// Whether the coming turn's model takes over from one with a larger window.
    pub(crate) fn takeover(&self) -> Option<Takeover> {
        let (slug, model) = (self.previous_model.as_ref()?, &self.setup.gathered.facts.model);
        let previous = self.setup.sources.model(slug).0;
        let is_smaller = *slug != model.slug && previous.effective_window() > model.effective_window();
        let limit = model.compaction_limit().filter(|_| is_smaller)?;
        Some(Takeover { limit, previous_window: previous.effective_window() })
    }

    fn wire(&self, output_schema: Option<Value>) -> WireSettings {
        let provider = &self.setup.provider;
        WireSettings {
            session_id: self.setup.session_id.clone(),
            wire: provider.wire_api,
            developer: provider.chat_developer_role.unwrap_or_default(),
            output_tokens_max: provider.max_output_tokens,
            ids: ids(provider),
            output_schema,
        }
    }

    /// What the history has to fit into, for layouts that drop the oldest turns.
    pub(crate) fn fit<'a>(&'a self, input: Option<&'a str>) -> Option<Fit<'a>> {
        (self.setup.pack.layout.compaction.strategy == Strategy::Window).then(|| Fit {
            pack: &self.setup.pack,
            facts: &self.setup.gathered.facts,
            instructions: &self.instructions,
            input,
            summary: self.running_summary.as_deref(),
            n_context: self.n_context,
        })
    }

    /// From how many tokens on the history is made shorter.
    pub(crate) fn compaction_limit(&self) -> Option<i64> {
        match self.fit(None) {
            Some(fit) => fit.limit().map(|limit| limit + 1),
            None => self.setup.gathered.facts.model.compaction_limit(),
        }
    }

    /// Begins to summarise the history.
    pub(crate) fn compaction(&self, input: Option<&str>) -> Compaction {
        if let Some(fit) = self.fit(input) {
            return Compaction::by_window(&self.transcript, fit);
        }
        let prompt = self.setup.compact_prompt.as_ref();
        let prompt = prompt.map(|given| Fragment::provided(&given.place, given.text.as_str()));
        let mut compaction = Compaction::new(&self.transcript, &self.setup.pack, prompt);
        if self.summarised_by() == SummarisedBy::Provider {
            compaction.fit_window(&self.instructions, self.setup.gathered.facts.model.effective_window());
        }
        compaction
    }

    /// Who summarises: the provider of that name has an endpoint for it beside the Responses one.
    pub(crate) fn summarised_by(&self) -> SummarisedBy {
        let provider = &self.setup.provider;
        let has_endpoint = provider.name == "OpenAI"
            && provider.wire_api == WireApi::Responses
            && self.setup.pack.layout.compaction.strategy == Strategy::Summarise;
        if has_endpoint { SummarisedBy::Provider } else { SummarisedBy::Model }
    }

    /// The request to that endpoint.
    pub(crate) fn provider_summary_request(&self, compaction: &Compaction, facts: &Facts) -> Option<Request> {
        compaction.request_to_provider(facts, &self.instructions)
    }

    /// Puts the provider's items in place of the history, with the context as it is now.
    pub(crate) fn replace(&mut self, compaction: Compaction, items: Vec<Item>, facts: &Facts) -> Rebuilt {
        let tokens_before = self.prompt_tokens();
        let context = assemble::assemble(&self.setup.pack, facts);
        compaction.rebuild_from(&mut self.transcript, items, context);
        self.summary = Some((String::new(), Some(self.transcript.items().collect())));
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped: 0 }
    }

    /// Puts the summary in place of the history, with the context as it is now.
    pub(crate) fn rebuild(&mut self, compaction: Compaction, facts: &Facts) -> Rebuilt {
        let (tokens_before, n_dropped) = (self.prompt_tokens(), compaction.n_dropped());
        let context = assemble::assemble(&self.setup.pack, facts);
        if compaction.is_by_window() {
            self.n_context = context.messages.len();
            self.running_summary = compaction.rebuild_window(&mut self.transcript, context);
            let message = self.running_summary.clone().unwrap_or_default();
            self.summary = Some((message, Some(self.transcript.items().collect())));
            return Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped };
        }
        let message = compaction.rebuild(&mut self.transcript, &self.setup.pack, context);
        self.summary = Some((message, None));
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped }
    }

    /// Writes the last summary down.
    pub(crate) fn log_summary(&mut self) {
        if let Some((message, replacement)) = self.summary.take() {
            self.log.compacted(message, replacement);
        }
    }

    /// Whether the conversation is made to fit by a memory rather than by a summary of all of it.
    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// What has to be done before the next request, so that it fits: always for the first one of a
    /// turn, later only if it does not fit.
    pub(crate) fn memory_job(&self, frame: &Frame, is_first: bool) -> Option<Job> {
        let memory = self.memory.as_ref()?;
        let facts = &self.setup.gathered.facts;
        let context = assemble::assemble(&self.setup.pack, facts);
        let context: usize = context.messages.iter().map(|message| concat(&message.fragments).len()).sum();
        let around = tokens_of_bytes(frame.n_bytes() + context) as f64;
        let (model, window) = (&facts.model.slug, facts.model.effective_window());
        let is_due = is_first || memory.is_over(model, window, around);
        is_due.then(|| memory.job(model, window, around))
    }

    /// Who answers the questions of a memory.
    pub(crate) fn memory_asker(&self, headers: Vec<(String, String)>) -> Asker {
        let mut facts = self.setup.gathered.facts.clone();
        if let Some(slug) = self.memory.as_ref().and_then(|memory| memory.layout().summary_model.as_deref()) {
            facts.model = self.setup.sources.model(slug).0;
            facts.effort = supported_effort(&facts);
        }
        let frame = Frame::for_summary(&self.setup.pack, &facts, &[], &self.wire(None));
        Asker { model: self.setup.model.clone(), headers, frame, ids: ids(&self.setup.provider) }
    }

    /// Takes over what a memory did, and shows it. Gives what faces may hear.
    ///
    /// # Errors
    /// Why the conversation cannot be made to fit.
    pub(crate) fn remembered(&mut self, remembered: Remembered) -> Result<Vec<EventMessage>, String> {
        let Some(memory) = &mut self.memory else {
            return Ok(Vec::new());
        };
        let (result, file) = memory.take(remembered);
        keep(&mut self.setup.side, memory::SIDE, file);
        let done = result.map_err(|failure| format!("memory: {failure}"))?;
        memory.show(&done, &mut self.transcript, assemble::assemble(&self.setup.pack, &self.setup.gathered.facts));
        Ok(if self.setup.context_events { batch_events(&done) } else { Vec::new() })
    }

    /// Makes the next request fit without asking anybody. Gives why it may look different.
    pub fn remember_offline(&mut self, frame: &Frame) -> Option<String> {
        let job = self.memory_job(frame, true)?;
        let remembered = memory::remember_now(&job);
        self.remembered(remembered).err()
    }

    /// The estimated tokens of instructions and items.
    fn prompt_tokens(&self) -> usize {
        let instructions: usize = self.instructions.iter().map(|fragment| fragment.text.len()).sum();
        tokens_of_bytes(instructions) + self.transcript.tokens()
    }

    /// The request with everything recorded so far.
    pub fn request(&mut self, frame: &Frame) -> Request {
        let request = frame.request(&mut self.transcript);
        let divergence = self.transcript.take_divergence();
        let continuity = self.last.as_ref().map(|last| last.sent.continued_by(frame, divergence));
        let known = self.last.as_ref().zip(continuity.as_ref()).and_then(|(last, continuity)| {
            let step = Step {
                sent: &last.sent,
                n_items_sent: last.n_items,
                frame,
                continuity,
                items: self.transcript.rendered(),
            };
            let Increment { known_bytes, n_returned } = Increment::of(&step)?;
            Some(Known { number: self.n_requests, bytes: known_bytes, n_returned })
        });
        self.n_requests += 1;
        self.last = Some(LastRequest {
            frame: frame.clone(),
            n_items: self.transcript.rendered().len(),
            sent: Sent::new(frame, self.transcript.shown_len()),
            continuity,
            known,
        });
        request
    }

    /// How the model is spoken to over a WebSocket, if provider, features and model allow it.
    pub(crate) fn socket_version(&self) -> Option<SocketVersion> {
        let facts = &self.setup.gathered.facts;
        let provider = &self.setup.provider;
        if !provider.supports_websockets || provider.wire_api != WireApi::Responses {
            None
        } else if facts.features.is_on(Feature::ResponsesWebsocketsV2) {
            Some(SocketVersion::V2)
        } else if facts.features.is_on(Feature::ResponsesWebsockets) || facts.model.prefer_websockets {
            Some(SocketVersion::V1)
        } else {
            None
        }
    }

    /// How the last request may go over a WebSocket, or one that no other adds to.
    pub(crate) fn socket_ask(&self, turn_id: &TurnId, kind: AskKind) -> Option<SocketAsk> {
        let last = self.last.as_ref().filter(|_| kind == AskKind::LastRequest);
        Some(SocketAsk {
            version: self.socket_version()?,
            turn: turn_id.as_str().into(),
            number: last.map(|_| self.n_requests),
            known: last.and_then(|last| last.known),
            wants_timings: self.setup.gathered.facts.features.is_on(Feature::RuntimeMetrics),
        })
    }

    /// What the last request was made of; absent before the first.
    pub fn report(&self) -> Option<Report> {
        let last = self.last.as_ref()?;
        let candidates = self.setup.gathered.facts.candidates.clone();
        let items = self.transcript.rendered().get(..last.n_items)?;
        let not_on_wire = last.frame.omissions().iter().chain(self.transcript.omissions());
        let mut omissions: Vec<Omission> = self.omissions.iter().chain(not_on_wire).cloned().collect();
        omissions.extend(self.memory.iter().flat_map(Memory::omissions));
        let mut report = Report::new(&last.frame, items, omissions, candidates);
        report.continuity.clone_from(&last.continuity);
        Some(report)
    }

    /// What faces that ask for it are told of the last request. What the first context leaves out
    /// is told with the first.
    pub(crate) fn context_events(&self) -> Vec<EventMessage> {
        if !self.setup.context_events {
            return Vec::new();
        }
        let Some(report) = self.report() else {
            return Vec::new();
        };
        let is_first = report.continuity.is_none();
        let omissions = report.omissions.iter().filter(|_| is_first).map(|omission| EventMessage::ContextOmission {
            part: omission.slot.to_string(),
            what: omission.what.clone(),
            why: why_text(&omission.why),
            bytes: omission.why.bytes(),
        });
        let broken = report.continuity.as_ref().and_then(|continuity| continuity.broken.as_ref());
        let broken = broken.map(|broken| EventMessage::ContextCacheBreak {
            first_byte: broken.first_byte,
            part: broken.part.to_string(),
            tokens_rebilled: broken.tokens_rebilled,
        });
        let facts = &self.setup.gathered.facts;
        let injected = if is_first { facts.injection.collect(facts.prompt_mode).injected } else { Vec::new() };
        let injected = injected
            .iter()
            .map(|it| EventMessage::ContextInjection { account: serde_json::to_value(it).unwrap_or_default() });
        omissions.chain(injected).chain(broken).chain([EventMessage::ContextReport(report.by_part())]).collect()
    }

    /// What the first context leaves out or cuts.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// Why the session is not kept, if its file cannot be written.
    pub fn file_failure(&self) -> Option<&str> {
        self.log.failure()
    }

    /// What is true in this session.
    pub fn facts(&self) -> &Facts {
        &self.setup.gathered.facts
    }

    /// What it is told before the conversation.
    pub fn instructions(&self) -> &[Fragment] {
        &self.instructions
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.setup.session_id
    }

    /// The provider's id.
    pub fn provider_id(&self) -> &str {
        &self.setup.provider_id
    }

    /// How its input is put together.
    pub fn pack(&self) -> &Pack {
        &self.setup.pack
    }

    /// The headers that a request of this session has besides those of the provider and the wire.
    ///
    /// What a turn is about is told on the Responses wire alone; servers of the others are
    /// strangers, and the state of a repository is none of their business.
    pub(crate) fn headers(&self, turn: &TurnHeaders<'_>) -> Vec<(String, String)> {
        match self.setup.provider.wire_api {
            WireApi::Responses => {}
            WireApi::Chat => {
                let mut headers = self.own_headers();
                headers.push(("session_id".to_owned(), self.setup.session_id.to_string()));
                return headers;
            }
            WireApi::Messages => return self.own_headers(),
        }
        let facts = &self.setup.gathered.facts;
        let sandbox = metadata::sandbox_word(&facts.sandbox_policy, &facts.features);
        let mut headers = vec![
            ("session_id", self.setup.session_id.to_string()),
            ("x-codex-turn-metadata", metadata::header(turn.turn_id, turn.repositories, sandbox)),
        ];
        let beta = facts.features.beta_keys().collect::<Vec<_>>().join(",");
        if !beta.is_empty() {
            headers.push(("x-codex-beta-features", beta));
        }
        if let Some(state) = turn.state {
            headers.push(("x-codex-turn-state", state.to_owned()));
        }
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        self.own_headers().into_iter().chain(headers).collect()
    }

    /// The headers that say who we are.
    pub(crate) fn own_headers(&self) -> Vec<(String, String)> {
        let identity = &self.setup.identity;
        vec![
            ("originator".to_owned(), identity.originator.clone()),
            ("user-agent".to_owned(), identity.user_agent.clone()),
        ]
    }
}

/// The standing texts of a pack that has some. A phase that it does not know is told.
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

/// Keeps something beside the session's file. A session goes on without it.
fn keep(side: &mut Side, name: &str, value: Value) {
    if let Err(error) = side.put(name, value) {
        tracing::warn!(%error, name, "the session's state is not kept");
    }
}

/// Which messages left the window for the memory.
fn batch_events(done: &Done) -> Vec<EventMessage> {
    let event = |(n_messages, fate): &(usize, _)| EventMessage::ContextOmission {
        part: "memory".to_owned(),
        what: format!("{n_messages} messages"),
        why: memory::fate_text(*fate).to_owned(),
        bytes: 0,
    };
    done.batches.iter().map(event).collect()
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskKind {
    /// What the session's last request says.
    LastRequest,
    /// A summary.
    Summary,
}

/// What a turn adds to the headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnHeaders<'a> {
    pub turn_id: &'a TurnId,
    pub repositories: &'a Repositories,
    pub state: Option<&'a str>,
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
fn user_instructions(context: &Context) -> Option<String> {
    context.messages.iter().find(|message| &*message.slot == "user_instructions")?.inside.clone()
}
