//! What a session shows of its last request.

use super::*;

impl Session {
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
        report.files = instruction_files(&self.setup.gathered.facts);
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
}
