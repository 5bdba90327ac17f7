//! What a session shows of its last request.

use pellucid_engine::documents::listed::instruction_files_after;
use pellucid_engine::report::Report;
use pellucid_engine::report::why_text;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::provider::ReadSection;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::usage::UsageSplit;
use serde_json::Value;

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
        let facts = &self.setup.gathered.facts;
        let injected =
            if is_first { facts.system.injection.collect(facts.system.prompt_mode).injected } else { Vec::new() };
        let injected = injected
            .iter()
            .map(|it| EventMessage::ContextInjection { account: serde_json::to_value(it).unwrap_or_default() });
        let mut events: Vec<EventMessage> = omissions.chain(injected).chain(broken).collect();
        events.push(self.requests.report_event(&report, None, &mut self.setup.context_events));
        events
    }
}
