//! What a session shows of its last request.

use pellucid_engine::transcript::Divergence;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::UsageSplit;

use super::*;
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
        let reader = if self.setup.context_events { Reader::Face } else { Reader::InPassing };
        let is_told = reader == Reader::Face || self.log.is_recording();
        let before = self.restored_from.take().filter(|_| is_told);
        let home = &self.setup.sources.config.folders.home;
        let before = before.and_then(|file| Before::read(home, &file, reader));
        if let Some(before) = &before {
            self.spent.add(&before.usage);
        }
        let mut continuity = match (&self.last, before.and_then(|before| before.request)) {
            (Some(last), _) => Some(last.sent.continued_by(frame, divergence)),
            (None, recorded) => recorded.map(|recorded| recorded.continued_by(frame, request)),
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

    /// What all requests of the session cost, by what is charged for, as far as its record tells.
    pub fn usage_split(&self) -> UsageSplit {
        self.spent
    }

    /// Notes what an answer cost: in the record, and for faces that ask for it.
    pub(crate) fn note_reply(&mut self, event: &ReplyEvent) -> Option<EventMessage> {
        match event {
            ReplyEvent::CacheWritten(tokens) => {
                self.cache_write = Some(*tokens);
                None
            }
            ReplyEvent::Completed { response_id, usage } => {
                let cache_write = self.cache_write.take();
                if let Some((sent, _)) = self.log.sent() {
                    sent.reply(response_id, *usage, cache_write);
                }
                let request = UsageSplit::new(usage.as_ref()?, cache_write);
                self.spent.add(&request);
                let event = EventMessage::ContextUsage { request, session: self.spent };
                self.setup.context_events.then_some(event)
            }
            _ => None,
        }
    }

    /// Where the last request parts from the one before, if it does.
    pub(super) fn cache_break(&self) -> Option<CacheBreak> {
        self.last.as_ref()?.continuity.as_ref()?.broken.as_ref()?;
        cache_break(&self.report()?)
    }

    /// What the first request of a session that goes on pays for anew, because something is not as it was. Another model
    /// is told of already.
    fn resume_cost(&self) -> Option<CacheBreak> {
        let is_first = self.n_requests == 1;
        self.cache_break().filter(|broken| is_first && broken.cause != Cause::Model.as_str())
    }

    /// What faces that ask for it are told of the last request. What the first context leaves out
    /// is told with the first.
    pub(crate) fn context_events(&self) -> Vec<EventMessage> {
        if !self.setup.context_events {
            return self.resume_cost().map(EventMessage::ContextResumeCost).into_iter().collect();
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
        let broken = cache_break(&report).map(EventMessage::ContextCacheBreak);
        let facts = &self.setup.gathered.facts;
        let injected = if is_first { facts.injection.collect(facts.prompt_mode).injected } else { Vec::new() };
        let injected = injected
            .iter()
            .map(|it| EventMessage::ContextInjection { account: serde_json::to_value(it).unwrap_or_default() });
        omissions.chain(injected).chain(broken).chain([EventMessage::ContextReport(report.by_part())]).collect()
    }
}

/// Where the request of a report parts from the one before, with the source that the byte belongs to.
fn cache_break(report: &Report) -> Option<CacheBreak> {
    let broken = report.continuity.as_ref()?.broken.as_ref()?;
    let row = report.row_at(broken.first_byte);
    Some(CacheBreak {
        first_byte: broken.first_byte,
        part: row.map_or(&broken.part, |row| &row.part).to_string(),
        tokens_rebilled: broken.tokens_rebilled,
        span: row.map_or((broken.first_byte, broken.first_byte), |row| (row.start, row.start + row.bytes)),
        source: row.map_or_else(String::new, |row| {
            format!("{} {}", row.origin.kind(), row.origin.detail()).trim_end().to_owned()
        }),
        cause: broken.cause.as_str().to_owned(),
    })
}
