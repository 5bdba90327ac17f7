//! What a session shows of its last request.

use pellucid_engine::transcript::Divergence;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::ContextReport;

use super::*;
use crate::context_events::ContextEvents;
use crate::replay::Before;
use crate::replay::Reader;

impl Session {
    /// How a request continues the one before. The first one of a session that goes on is compared with the record of
    /// the last one, for faces that want to know and for the record itself.
    pub(super) fn continuity(
        &mut self,
        frame: &Frame,
        request: &Request,
        divergence: Option<Divergence>,
    ) -> Option<Continuity> {
        self.recall_before();
        let left = self.transcript.take_left();
        let next = continuity::Next {
            frame,
            request,
            items: self.transcript.rendered(),
            order: self.setup.provider.reading_order(),
            left,
            cause: self.cause.take(),
        };
        match &self.last {
            Some(last) => last.sent.continued_by(&next, divergence),
            None => self.recorded.take()?.continued_by(&next),
        }
    }

    /// Reads once what the record has of the requests of earlier processes: what all of them cost, and what the next
    /// request is compared with.
    pub(super) fn recall_before(&mut self) {
        let reader = if self.setup.context_events.are_wanted() { Reader::Face } else { Reader::InPassing };
        let is_told = reader == Reader::Face || self.log.is_recording();
        let file = self.restored_from.take().filter(|_| is_told);
        let home = &self.setup.sources.config.folders.home;
        let Some(before) = file.and_then(|file| Before::read(home, &file, reader)) else {
            return;
        };
        self.spent.add(&before.usage);
        if let Some(request) = before.request {
            self.cache.recall(&request);
            self.recorded = Some(Box::new(request.sent));
        }
    }

    /// The wire that it speaks.
    pub fn wire_api(&self) -> WireApi {
        self.setup.provider.wire_api
    }

    /// The body of a request with everything recorded so far, as a wire writes it. Nothing is noted of it.
    pub fn body_on(&self, wire: WireApi, output_schema: Option<Value>) -> Vec<u8> {
        let settings = WireSettings { wire, ..self.setup.wire(output_schema) };
        let frame = Frame::new(&self.setup.pack, &self.setup.gathered.facts, &self.instructions, &settings);
        frame.request(&mut self.transcript.clone()).body()
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
        let history: Vec<Item> = self.transcript.items().collect();
        report.files = instruction_files_after(&self.setup.gathered.facts, &history);
        report.changed_files.clone_from(&last.changed_files);
        report.said_again = self.said_again();
        Some(report)
    }

    /// What all requests of the session cost, by what is charged for, as far as its record tells.
    pub fn usage_split(&self) -> UsageSplit {
        self.spent
    }

    /// Where the last request differs from the one before, if it does.
    pub(super) fn cache_break(&self) -> Option<CacheBreak> {
        cache_break(self.last.as_ref()?.continuity.as_ref()?)
    }

    /// What the first request of a resumed session pays for again, because something changed since.
    fn resume_cost(&self) -> Option<CacheBreak> {
        let is_first = self.n_requests == 1;
        self.cache_break().filter(|_| is_first)
    }

    /// Whether clients are sent what each request is made of; they join and leave through it.
    pub fn context_events_switch(&self) -> &ContextEvents {
        &self.setup.context_events
    }

    /// What faces that ask for it are told of the last request. What the first context leaves out
    /// is told with the first.
    pub(crate) fn context_events(&mut self) -> Vec<EventMessage> {
        if !self.setup.context_events.are_wanted() {
            let changed = self.last.iter().flat_map(|last| &last.changed_files);
            let changed = changed.map(|it| EventMessage::ContextFileChanged { message: it.to_string() });
            return changed.chain(self.resume_cost().map(EventMessage::ContextResumeCost)).collect();
        }
        let Some(report) = self.report() else {
            return Vec::new();
        };
        let is_first = self.n_requests == 1;
        let omissions = report.omissions.iter().filter(|_| is_first).map(|omission| EventMessage::ContextOmission {
            part: omission.slot.to_string(),
            what: omission.what.clone(),
            why: why_text(&omission.why),
            bytes: omission.why.bytes(),
        });
        let broken = self.cache_break().map(EventMessage::ContextCacheBreak);
        let facts = &self.setup.gathered.facts;
        let injected = if is_first { facts.injection.collect(facts.prompt_mode).injected } else { Vec::new() };
        let injected = injected
            .iter()
            .map(|it| EventMessage::ContextInjection { account: serde_json::to_value(it).unwrap_or_default() });
        let mut events: Vec<EventMessage> = omissions.chain(injected).chain(broken).collect();
        events.push(self.report_event(&report, None));
        events
    }

    /// The event that reports a request to clients: its rows but for those that the request before had, and what it asks for if
    /// that is not an answer.
    pub(super) fn report_event(&mut self, report: &Report, purpose: Option<&str>) -> EventMessage {
        if self.setup.context_events.take_new_reader() {
            self.told_rows.clear();
        }
        let told = report.told(&self.told_rows);
        self.told_rows.clone_from(&report.rows);
        EventMessage::ContextReport(ContextReport { purpose: purpose.map(str::to_owned), ..told })
    }
}

/// Where a request differs from the one before, if it does.
pub(super) fn cache_break(continuity: &Continuity) -> Option<CacheBreak> {
    let broken = continuity.broken.as_ref()?;
    Some(CacheBreak {
        first_byte: broken.first_byte,
        part: broken.part.to_string(),
        tokens_rebilled: broken.tokens_rebilled,
        span: (broken.first_byte, broken.first_byte + broken.part_bytes),
        source: broken.source.clone(),
        cause: broken.cause.as_str().to_owned(),
        changes: continuity.changes.clone(),
    })
}
