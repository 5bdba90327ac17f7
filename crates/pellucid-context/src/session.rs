//! One conversation: records what was said, and makes requests of it.
//!
//! The layout's messages are made once, when the session begins. Facts that change afterwards add the messages that the
//! layout has for them; the base instructions stay. So a request extends the one before.

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_engine::assemble::assemble;
use pellucid_engine::assemble::placed;
use pellucid_engine::boundary::begins_user_turn;
use pellucid_engine::continuity::NextRequest;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::documents::listed::instruction_files;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::reinject::Blocked;
use pellucid_engine::reinject::ReinjectState;
use pellucid_engine::reinject::envelope;
use pellucid_engine::reinject::envelope::EnvelopeInput;
use pellucid_engine::reinject::envelope::EnvelopeOutput;
use pellucid_engine::reinject::envelope::EnvelopeTexts;
use pellucid_engine::reinject::files::FoundFile;
use pellucid_engine::reinject::files::HashedText;
use pellucid_engine::reinject::files::InjectionInput;
use pellucid_engine::reinject::parts::PartTexts;
use pellucid_engine::reinject::settings::ReinjectOverrides;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::server_input::GivenParts;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::DraftPart;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::update::FactsChange;
use pellucid_engine::update::updates;
use pellucid_engine::user_message::Images;
use pellucid_engine::user_message::user_message;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;

use crate::built::BuiltRequest;
use crate::engine::Engine;
use crate::recording::RecordedStep;
use crate::recording::Recording;

/// The part of the report with what was left out of standing texts.
const STANDING: &str = "reinject";

/// One conversation of an engine.
#[derive(Debug, Clone)]
pub struct EngineSession {
    engine: Engine,
    facts: Facts,
    pub(crate) wire: WireSettings,
    pub(crate) instructions: Vec<Fragment>,
    pub(crate) frame: Frame,
    pub(crate) transcript: Transcript,
    /// The running summary of turns that were dropped.
    pub(crate) running_summary: Option<String>,
    /// How many messages of the layout the history begins with.
    pub(crate) n_context: usize,
    omissions: Vec<Omission>,
    /// The tools of calls, by the ids of the calls.
    tools: BTreeMap<String, Arc<str>>,
    reinject: ReinjectState,
    last: Option<SentRequest>,
    /// Whether a turn began since texts were placed within the conversation.
    is_turn_new: bool,
    /// The slot whose text within the conversation moved or changed since the last request.
    moved: Option<Arc<str>>,
    recording: Recording,
}

/// Why a message with standing texts was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandingError {
    /// The layout has no `[reinject]`.
    #[error("the pack `{pack}` has no `[reinject]`, so it has no standing texts")]
    NotInPack {
        /// The name of the pack.
        pack: String,
    },
    /// A file of standing texts cannot be used, and the layout holds the message back.
    #[error(transparent)]
    Blocked(#[from] Blocked),
}

impl EngineSession {
    pub(crate) fn new(engine: Engine, facts: Facts, wire: WireSettings) -> Self {
        let facts = engine.complete(facts);
        let context = assemble(engine.pack(), &facts);
        let mut transcript = Transcript::new(wire.ids, facts.settings.model.truncation_policy);
        let n_context = context.messages.len();
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        let frame = Frame::new(engine.pack(), &facts, &context.instructions, &wire);
        Self {
            recording: Recording::of(engine.pack()),
            engine,
            facts,
            wire,
            instructions: context.instructions,
            frame,
            transcript,
            running_summary: None,
            n_context,
            omissions: context.omissions,
            tools: BTreeMap::new(),
            reinject: ReinjectState::default(),
            last: None,
            is_turn_new: true,
            moved: None,
        }
    }

    /// The facts of the session, with what the program gave.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Records a message of the person.
    pub fn say(&mut self, text: &str) {
        let draft = user_message(self.engine.pack(), &[UserInput::text(text)], &Images::new(), &GivenParts::default());
        self.record_draft(&draft);
    }

    /// Records a message of the person, with the standing texts that the layout's `[reinject]` puts before it now: the first
    /// time, when they changed, and again after turns or when the window fills. `files` are what the caller read;
    /// instructions that are a file of the pack need not be given. `occupancy` is the used share of the window, if known.
    /// Returns why standing texts went before the message, in one word, or `None` if none did.
    ///
    /// # Errors
    /// If the layout has no standing texts, or holds the message back because a file cannot be used.
    pub fn say_standing(
        &mut self,
        text: &str,
        files: &InjectionInput,
        occupancy: Option<f64>,
    ) -> Result<Option<String>, StandingError> {
        let pack = self.engine.pack();
        let Some(layout) = &pack.layout.reinject else {
            return Err(StandingError::NotInPack { pack: pack.name.clone() });
        };
        let layout = layout.chosen();
        let settings = layout.settings(ReinjectOverrides::default());
        let mut files = files.clone();
        if let (FoundFile::NotWanted, Some(file), None) =
            (&files.instructions, &layout.instructions, &layout.assets_dir)
        {
            let template = pack.template(file);
            files.instructions = FoundFile::Text(HashedText::in_pack(template.file(), &template.written()));
        }
        let decision = self.reinject.decide(&settings, &files, &PartTexts::of(pack, &settings), occupancy);
        let injection = decision.injection?;
        let reason = injection.as_ref().map(|injection| injection.reason.clone());
        let injected = injection.map(|injection| injection.fragments());
        let said = EnvelopeInput::<DraftPart>::Text(Fragment { origin: Origin::User, text: text.to_owned() });
        let sent = envelope::wrap(injected, &EnvelopeTexts::of(pack, &layout), None, said);
        let parts = match sent {
            EnvelopeOutput::Text(fragments) => vec![DraftPart::Text(fragments)],
            EnvelopeOutput::Items { texts, items } => texts.into_iter().map(DraftPart::Text).chain(items).collect(),
        };
        self.omissions.retain(|omission| &*omission.slot != STANDING);
        self.omissions.extend(files.omissions(STANDING));
        self.reinject.complete_turn();
        self.record_draft(&Draft { part: "user".into(), role: "user", parts });
        Ok(reason)
    }

    /// Records a text that the program adds as a message of the developer, with its origins.
    pub fn instruct(&mut self, part: &str, fragments: Vec<Fragment>) {
        self.record_draft(&Draft::text(part, "developer", fragments));
    }

    /// Records an item of the model's answer, the output of a tool, or any other item. The origin of its bytes follows from
    /// its kind and role.
    pub fn record(&mut self, item: &Item) {
        let origin = match item {
            Item::FunctionCall { name, call_id, .. } | Item::CustomToolCall { name, call_id, .. } => {
                self.tools.insert(call_id.clone(), name.as_str().into());
                Origin::Model
            }
            Item::FunctionCallOutput { call_id, .. } | Item::CustomToolCallOutput { call_id, .. } => {
                Origin::Tool { name: self.tools.get(call_id).cloned().unwrap_or_else(|| "unknown".into()) }
            }
            Item::Message { role, .. } if role == "user" => Origin::User,
            Item::Message { role, .. } if role != "assistant" => Origin::Provided { place: "items".into() },
            _ => Origin::Model,
        };
        self.is_turn_new |= begins_user_turn(item);
        self.transcript.record(item, &origin);
        self.recording.steps.push(RecordedStep::Item { item: item.clone() });
    }

    /// Takes other facts, and records the messages that the layout has about what changed. The messages of the layout's
    /// other slots and the base instructions stay as they are.
    pub fn change_facts(&mut self, facts: Facts) {
        let facts = self.engine.complete(facts);
        let previous = self.facts.settings.model.slug.clone();
        let pack = self.engine.pack();
        let change = FactsChange { pack, before: &self.facts, after: &facts, previous_model: Some(&previous) };
        let updates = updates(&change);
        self.take_facts(facts);
        self.omissions.extend(updates.omissions);
        for message in updates.messages {
            self.record_draft(&Draft::from(message));
        }
    }

    /// The next request: everything that is recorded so far.
    pub fn request(&mut self) -> BuiltRequest {
        let built = self.built();
        self.last = Some(SentRequest::new(&self.frame, self.transcript.shown_len(), built.items.len()));
        let (bytes, sha256) = (built.request.len(), built.digest().to_string());
        self.recording.steps.push(RecordedStep::Request { bytes, sha256 });
        built
    }

    /// What the session recorded, to make its requests again.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    pub(crate) fn take_facts(&mut self, facts: Facts) {
        self.facts = facts;
        self.frame = Frame::new(self.engine.pack(), &self.facts, &self.instructions, &self.wire);
        self.transcript.set_truncation(self.facts.settings.model.truncation_policy);
        self.recording.steps.push(RecordedStep::Facts);
    }

    pub(crate) fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    pub(crate) fn note_step(&mut self, step: RecordedStep) {
        self.recording.steps.push(step);
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn record_again(&mut self, item: &Item) {
        self.is_turn_new |= begins_user_turn(item);
        self.transcript.record(item, &Origin::Recorded { path: "recording".into() });
    }

    fn record_draft(&mut self, draft: &Draft) {
        let item = draft.item();
        self.is_turn_new |= begins_user_turn(&item);
        self.transcript.record_draft(draft);
        self.recording.steps.push(RecordedStep::Item { item });
    }

    /// Places the texts that the layout has within the conversation, once for a turn.
    fn place_texts(&mut self) {
        if std::mem::take(&mut self.is_turn_new) && self.engine.pack().layout.has_depth() {
            let (placed, omissions) = placed(self.engine.pack(), &self.facts);
            let new = omissions.into_iter().filter(|omission| !self.omissions.contains(omission)).collect::<Vec<_>>();
            self.omissions.extend(new);
            self.moved = self.transcript.place(&placed);
        }
    }

    fn built(&mut self) -> BuiltRequest {
        self.place_texts();
        let request = self.frame.request(&mut self.transcript);
        let items = self.transcript.rendered().to_vec();
        let omissions = [&self.omissions, self.frame.omissions(), self.transcript.omissions()].concat();
        let mut report = Report::new(&self.frame, &items, omissions, self.facts.world.candidates.clone());
        report.files = instruction_files(&self.facts);
        if let Some(counter) = self.engine.counter() {
            report.count(&request.body(), counter);
        }
        let divergence = self.transcript.take_divergence();
        let moved = self.moved.take();
        let next = NextRequest {
            frame: &self.frame,
            request: &request,
            items: &items,
            order: self.wire.wire.reading_order(),
            left: None,
            cause: None,
            moved: moved.as_deref(),
        };
        report.continuity = self.last.as_ref().and_then(|last| last.continued_by(&next, divergence));
        BuiltRequest { frame: self.frame.clone(), request, items, report, wire: self.wire.wire }
    }
}
