//! A session: a conversation with its settings, and the requests it makes.

use pellucid_engine::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::meter::Meter;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::request::WireSettings;
use pellucid_engine::skills::select;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::user_message::user_message;
use pellucid_model::Model;
use pellucid_model::catalogue::Match;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use serde_json::Value;

use crate::gather::Gathered;
use crate::identity::Identity;
use crate::images;
use crate::metadata;
use crate::metadata::Repositories;
use crate::skills;
use crate::skills::Wanted;

/// What a session is made of.
#[derive(Debug)]
pub struct Setup {
    /// Its id.
    pub session_id: SessionId,
    /// How input is put together.
    pub pack: Pack,
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
    sent: Option<Sent>,
}

/// What the last request was made of.
#[derive(Debug)]
struct Sent {
    frame: Frame,
    n_items: usize,
}

impl Session {
    /// A new session, with its first context recorded.
    pub fn new(setup: Setup) -> Self {
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let mut transcript = Transcript::new(ids(&setup.provider));
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        let mut omissions = setup.gathered.omissions.clone();
        omissions.extend(context.omissions);
        Self { setup, transcript, meter: Meter::default(), instructions: context.instructions, omissions, sent: None }
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

    /// Records what a person said, and the skills that it asks for. Gives what a person should hear
    /// of skills that cannot be read.
    pub fn record_input(&mut self, inputs: &[UserInput]) -> Vec<EventMessage> {
        let wanted = if select::may_select(inputs) { self.wanted_skills(inputs) } else { Wanted::default() };
        let images = images::load(inputs);
        self.transcript.record_draft(&user_message(&self.setup.pack, inputs, &images));
        for message in wanted.messages {
            self.transcript.record_draft(&message);
        }
        wanted.warnings.into_iter().map(|message| EventMessage::Warning { message }).collect()
    }

    /// The skills that an input asks for. After the first turn they are looked for again, because
    /// they may have come or gone since.
    fn wanted_skills(&self, inputs: &[UserInput]) -> Wanted {
        let same_name = self.setup.pack.layout.skills.same_name;
        let Gathered { facts, skill_search, .. } = &self.setup.gathered;
        if self.sent.is_some() {
            skills::wanted(&skill_search.load(), inputs, same_name)
        } else {
            skills::wanted(&facts.skills, inputs, same_name)
        }
    }

    /// Records an item.
    pub(crate) fn record(&mut self, item: &Item, origin: &Origin) {
        self.transcript.record(item, origin);
    }

    /// What surrounds the items in the requests of a turn.
    pub fn frame(&self, output_schema: Option<Value>) -> Frame {
        let wire =
            WireSettings { session_id: self.setup.session_id.clone(), ids: ids(&self.setup.provider), output_schema };
        Frame::new(&self.setup.pack, &self.setup.gathered.facts, &self.instructions, &wire)
    }

    /// The request with everything recorded so far.
    pub fn request(&mut self, frame: &Frame) -> Request {
        self.sent = Some(Sent { frame: frame.clone(), n_items: self.transcript.entries().len() });
        frame.request(&mut self.transcript)
    }

    /// What the last request was made of; absent before the first.
    pub fn report(&self) -> Option<Report> {
        let sent = self.sent.as_ref()?;
        let candidates = self.setup.gathered.facts.candidates.clone();
        let entries = &self.transcript.entries()[..sent.n_items];
        Some(Report::new(&sent.frame, entries, self.omissions.clone(), candidates))
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
    pub(crate) fn headers(&self, turn: &TurnHeaders<'_>) -> Vec<(String, String)> {
        let facts = &self.setup.gathered.facts;
        let sandbox = metadata::sandbox_word(&facts.sandbox_policy, &facts.features);
        let mut headers = vec![
            ("originator", self.setup.identity.originator.clone()),
            ("user-agent", self.setup.identity.user_agent.clone()),
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
        headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
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
