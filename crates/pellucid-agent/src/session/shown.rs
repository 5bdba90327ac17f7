//! What a session shows of its last request.

use pellucid_engine::documents::listed::instruction_files_after;
use pellucid_engine::injection::InjectionTotals;
use pellucid_engine::report::Report;
use pellucid_engine::report::why_text;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::usage::UsageSplit;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::Session;
use crate::context_events::ContextEvents;

impl Session {
    /// The API format of the session's provider.
    pub fn wire_api(&self) -> WireApi {
        self.setup.provider.wire_api
    }

    /// The order in which the provider's models read a request.
    pub fn reading_order(&self) -> &[ReadSection] {
        self.setup.provider.reading_order()
    }

    /// The body of a request with everything recorded so far, in an API format. The session stays as it is.
    pub fn body_on(&self, wire: WireApi, output_schema: Option<Value>) -> Vec<u8> {
        let settings = WireSettings { wire, ..self.setup.wire(output_schema) };
        let instructions = self.conversation.instructions();
        let frame = Frame::new(&self.setup.pack, &self.setup.gathered.facts, instructions, &settings);
        frame.request(&mut self.conversation.transcript().clone()).body()
    }

    /// What the last request was made of; absent before the first.
    pub fn report(&self) -> Option<Report> {
        let facts = &self.setup.gathered.facts;
        let transcript = self.conversation.transcript();
        let mut report = self.requests.report(transcript, self.notices.omissions(), facts.world.candidates.clone())?;
        report.files = instruction_files_after(facts, transcript.messages());
        self.habits.report(&mut report);
        Some(report)
    }

    /// What all requests of the session cost, by what is charged for, as far as its record was read.
    pub fn usage_split(&self) -> UsageSplit {
        self.requests.spent()
    }

    /// What the first request of a resumed session pays for again, because something changed since.
    fn resume_cost(&self) -> Option<CacheBreak> {
        let is_first = self.requests.n() == 1;
        self.requests.cache_break().filter(|_| is_first)
    }

    /// Whether clients are sent what each request is made of; they join and leave through it.
    pub fn context_events_switch(&self) -> &ContextEvents {
        &self.setup.context_events
    }

    /// Notes which turn the next events are about, and whether a person asked for a summary in it.
    pub(crate) fn events_are_about(&mut self, turn: &TurnId, is_summary_asked: bool) {
        self.notices.turn_is(turn, is_summary_asked);
    }

    /// What became of every item that a source gave, and all of them together. Nothing if the layout has no sources.
    fn injections(&self) -> Vec<EventMessage> {
        let facts = &self.setup.gathered.facts;
        let injection = &facts.system.injection;
        if injection.sources.is_empty() {
            return Vec::new();
        }
        let about = self.events_about();
        let with = |fields: Value| {
            let mut account = about.clone();
            account.extend(fields.as_object().cloned().unwrap_or_default());
            Value::Object(account)
        };
        let collected = injection.collect(facts.system.prompt_mode, &self.setup.pack.layout.source_texts).injected;
        let items = collected.iter().map(|it| serde_json::to_value(it).unwrap_or_default());
        let mut events: Vec<EventMessage> =
            items.map(|it| EventMessage::ContextInjection { account: with(it) }).collect();
        let window = self.compaction_rules().window;
        let totals = InjectionTotals::of(&collected);
        let system: usize = self.conversation.instructions().iter().map(|fragment| fragment.text.len()).sum();
        let summary = json!({
            "prompt_mode": facts.system.prompt_mode.as_str(),
            "targets": totals.targets,
            "sources": totals.sources,
            "system_prompt_bytes": system,
            "messages_count": self.conversation.transcript().n_items(),
            "tokens_estimate": self.conversation.tokens(),
            "context_window": window.context_window.or(facts.settings.model.context_window),
            "reserved": window.reserved(),
        });
        events.push(EventMessage::ContextInjections { account: with(summary) });
        events
    }

    /// What every event about injections begins with: session, turn and pack.
    fn events_about(&self) -> Map<String, Value> {
        let fields = json!({
            "run_id": self.setup.session_id,
            "turn_id": self.notices.turn(),
            "profile": self.setup.pack.name,
        });
        fields.as_object().cloned().unwrap_or_default()
    }

    /// Events about the last request, for clients that ask for them. What the first context leaves out comes with the first
    /// request. Other clients learn of changed files, and of what the first request of a resumed session costs.
    pub(crate) fn context_events(&mut self) -> Vec<EventMessage> {
        if !self.setup.context_events.are_wanted() {
            let changed = self.requests.last_changed_files().iter();
            let changed = changed.map(|it| EventMessage::ContextFileChanged { message: it.to_string() });
            return changed.chain(self.resume_cost().map(EventMessage::ContextResumeCost)).collect();
        }
        let Some(report) = self.report() else {
            return Vec::new();
        };
        let is_first = self.requests.n() == 1;
        let omissions = report.omissions.iter().filter(|_| is_first).map(|omission| EventMessage::ContextOmission {
            part: omission.slot.to_string(),
            what: omission.what.clone(),
            why: why_text(&omission.why),
            bytes: omission.why.bytes(),
        });
        let broken = self.requests.cache_break().map(EventMessage::ContextCacheBreak);
        let injected = if is_first { self.injections() } else { Vec::new() };
        let mut events: Vec<EventMessage> = omissions.chain(injected).chain(broken).collect();
        events.push(self.requests.report_event(&report, None, &mut self.setup.context_events));
        events
    }
}
