//! A session: a conversation with its settings, and the requests it makes.

use pellucid_engine::assemble;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::Sent;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::meter::Meter;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::truncate::tokens_of_bytes;
use pellucid_engine::turn::Rebuilt;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::update::Change;
use pellucid_engine::update::updates;
use pellucid_engine::user_message::user_message;
use pellucid_model::Model;
use pellucid_model::catalogue::Match;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;

use crate::gather::Gathered;
use crate::gather::Sources;
use crate::identity::Identity;
use crate::images;
use crate::metadata;
use crate::metadata::Repositories;

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
    /// What a person should hear before the first turn.
    pub notices: Vec<EventMessage>,
}

/// A conversation.
#[derive(Debug)]
pub struct Session {
    pub(crate) setup: Setup,
    pub(crate) transcript: Transcript,
    pub(crate) meter: Meter,
    instructions: Vec<Fragment>,
    omissions: Vec<Omission>,
    last: Option<LastRequest>,
    /// The facts of the last turn that began, or of the start.
    before: Facts,
    /// The model of the last task that ended.
    previous_model: Option<String>,
}

/// What the last request was made of.
#[derive(Debug)]
struct LastRequest {
    frame: Frame,
    n_items: usize,
    sent: Sent,
    continuity: Option<Continuity>,
}

impl Session {
    /// A new session, with its first context recorded.
    pub fn new(setup: Setup) -> Self {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let mut transcript = Transcript::new(ids(&setup.provider), setup.gathered.facts.model.truncation_policy);
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        let mut omissions = setup.gathered.omissions.clone();
        omissions.extend(context.omissions);
        let before = setup.gathered.facts.clone();
        Self {
            setup,
            transcript,
            meter: Meter::default(),
            instructions: context.instructions,
            omissions,
            last: None,
            before,
            previous_model: None,
        }
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
    pub(crate) fn begin_turn(&mut self) {
        let facts = &self.setup.gathered.facts;
        let previous_model = self.previous_model.as_deref();
        let change = Change { pack: &self.setup.pack, before: &self.before, after: facts, previous_model };
        for message in updates(&change) {
            self.transcript.record_draft(&Draft::from(message));
        }
        self.before = facts.clone();
    }

    /// Notes that a task ended, whatever it was.
    pub(crate) fn end_task(&mut self) {
        self.previous_model = Some(self.setup.gathered.facts.model.slug.clone());
    }

    /// Takes the last turns of the person away.
    pub(crate) fn roll_back(&mut self, n_turns: usize) -> EventMessage {
        self.transcript.roll_back(n_turns);
        self.previous_model = Some(self.setup.gathered.facts.model.slug.clone());
        let tokens = i64::try_from(self.prompt_tokens()).unwrap_or(i64::MAX);
        self.meter.estimate(tokens, self.setup.gathered.facts.model.effective_window());
        self.meter.event()
    }

    /// Records what a person said.
    pub fn record_input(&mut self, inputs: &[UserInput]) {
        let images = images::load(inputs);
        self.transcript.record_draft(&user_message(&self.setup.pack, inputs, &images));
    }

    /// Records an item.
    pub(crate) fn record(&mut self, item: &Item, origin: &Origin) {
        self.transcript.record(item, origin);
    }

    /// What surrounds the items in the requests of a turn.
    pub fn frame(&self, output_schema: Option<Value>) -> Frame {
        let wire = self.wire(output_schema);
        Frame::new(&self.setup.pack, &self.setup.gathered.facts, &self.instructions, &wire)
    }

    /// What surrounds them in the request for a summary.
    pub(crate) fn summary_frame(&self) -> Frame {
        Frame::for_summary(&self.setup.pack, &self.setup.gathered.facts, &self.instructions, &self.wire(None))
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

    /// Begins to summarise the history.
    pub(crate) fn compaction(&self) -> Compaction {
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
        let has_endpoint = provider.name == "OpenAI" && provider.wire_api == WireApi::Responses;
        if has_endpoint { SummarisedBy::Provider } else { SummarisedBy::Model }
    }

    /// The request to that endpoint.
    pub(crate) fn provider_summary_request(&self, compaction: &Compaction) -> Option<Request> {
        compaction.request_to_provider(&self.setup.gathered.facts, &self.instructions)
    }

    /// Puts the provider's items in place of the history, with the context as it is now.
    pub(crate) fn replace(&mut self, compaction: Compaction, items: Vec<Item>) -> Rebuilt {
        let tokens_before = self.prompt_tokens();
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        compaction.rebuild_from(&mut self.transcript, items, context);
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped: 0 }
    }

    /// Puts the summary in place of the history, with the context as it is now.
    pub(crate) fn rebuild(&mut self, compaction: Compaction) -> Rebuilt {
        let (tokens_before, n_dropped) = (self.prompt_tokens(), compaction.n_dropped());
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        compaction.rebuild(&mut self.transcript, &self.setup.pack, context);
        Rebuilt { tokens_before, tokens_after: self.prompt_tokens(), n_dropped }
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
        self.last = Some(LastRequest {
            frame: frame.clone(),
            n_items: self.transcript.rendered().len(),
            sent: Sent::new(frame, self.transcript.shown_len()),
            continuity,
        });
        request
    }

    /// What the last request was made of; absent before the first.
    pub fn report(&self) -> Option<Report> {
        let last = self.last.as_ref()?;
        let candidates = self.setup.gathered.facts.candidates.clone();
        let items = self.transcript.rendered().get(..last.n_items)?;
        let not_on_wire = last.frame.omissions().iter().chain(self.transcript.omissions());
        let omissions = self.omissions.iter().chain(not_on_wire).cloned().collect();
        let mut report = Report::new(&last.frame, items, omissions, candidates);
        report.continuity.clone_from(&last.continuity);
        Some(report)
    }

    /// What the first context leaves out or cuts.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// What is true in this session.
    pub fn facts(&self) -> &Facts {
        &self.setup.gathered.facts
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

/// What a turn adds to the headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnHeaders<'a> {
    pub turn_id: &'a pellucid_protocol::id::TurnId,
    pub repositories: &'a Repositories,
    pub state: Option<&'a str>,
}

fn ids(provider: &Provider) -> ItemIds {
    if provider.is_azure() { ItemIds::Sent } else { ItemIds::Hidden }
}
