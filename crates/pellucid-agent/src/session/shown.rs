//! What a session shows of its last request.

use pellucid_engine::transcript::Divergence;

use super::*;
use crate::replay::last_request;

impl Session {
    /// How a request continues the one before. The first one of a session that goes on is compared with the record of
    /// the last one, for faces that want to know.
    pub(super) fn continuity(
        &mut self,
        frame: &Frame,
        request: &Request,
        divergence: Option<Divergence>,
    ) -> Option<Continuity> {
        let restored_from = self.restored_from.take().filter(|_| self.setup.context_events);
        let mut continuity = match (&self.last, restored_from) {
            (Some(last), _) => Some(last.sent.continued_by(frame, divergence)),
            (None, Some(file)) => {
                let recorded = last_request(&self.setup.sources.config.folders.home, &file);
                recorded.map(|recorded| recorded.continued_by(frame, request))
            }
            (None, None) => None,
        };
        let broken = continuity.as_mut().and_then(|it| it.broken.as_mut()).filter(|it| it.cause == Cause::Items);
        if let (Some(broken), Some(cause)) = (broken, self.cause.take()) {
            broken.cause = cause;
        }
        continuity
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
        report.said_again = self.said_again();
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
        let is_first = self.n_requests == 1;
        let omissions = report.omissions.iter().filter(|_| is_first).map(|omission| EventMessage::ContextOmission {
            part: omission.slot.to_string(),
            what: omission.what.clone(),
            why: why_text(&omission.why),
            bytes: omission.why.bytes(),
        });
        let broken = report.continuity.as_ref().and_then(|continuity| continuity.broken.as_ref());
        let broken = broken.map(|broken| {
            let row = report.row_at(broken.first_byte);
            EventMessage::ContextCacheBreak {
                first_byte: broken.first_byte,
                part: row.map_or(&broken.part, |row| &row.part).to_string(),
                tokens_rebilled: broken.tokens_rebilled,
                span: row.map_or((broken.first_byte, broken.first_byte), |row| (row.start, row.start + row.bytes)),
                source: row.map_or_else(String::new, |row| {
                    format!("{} {}", row.origin.kind(), row.origin.detail()).trim_end().to_owned()
                }),
                cause: broken.cause.as_str().to_owned(),
            }
        });
        let facts = &self.setup.gathered.facts;
        let injected = if is_first { facts.injection.collect(facts.prompt_mode).injected } else { Vec::new() };
        let injected = injected
            .iter()
            .map(|it| EventMessage::ContextInjection { account: serde_json::to_value(it).unwrap_or_default() });
        omissions.chain(injected).chain(broken).chain([EventMessage::ContextReport(report.by_part())]).collect()
    }
}
