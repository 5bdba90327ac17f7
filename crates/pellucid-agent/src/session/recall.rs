//! What a session remembers of what left its window, in packs that remember.

use pellucid_engine::encode::Span;
use pellucid_store::requests::entry;

use super::*;
use crate::memory::Over;

impl Session {
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
    pub(crate) fn memory_asker(&self, headers: Vec<(String, String)>, turn: &TurnId) -> Asker {
        let mut facts = self.setup.gathered.facts.clone();
        if let Some(slug) = self.memory.as_ref().and_then(|memory| memory.layout().summary_model.as_deref()) {
            facts.model = self.setup.sources.model(slug).0;
            facts.effort = supported_effort(&facts);
        }
        let frame = Frame::for_summary(&self.setup.pack, &facts, &[], &self.setup.wire(None));
        let least = Least::new(self.setup.provider.wire_api, &facts.model.slug);
        let is_told = self.log.is_recording() || self.setup.context_events.are_wanted();
        let asked = is_told.then(|| self.memory_asked.clone());
        let (model, ids) = (self.setup.model.clone(), ids(&self.setup.provider));
        Asker { model, headers, frame, ids, least, failure: FirstFailure::default(), turn: turn.clone(), asked }
    }

    /// Records the requests that were made for the memory, with what came of the provider's cache for each, and reports them
    /// to clients that ask for it.
    pub(super) fn log_memory_requests(&mut self) {
        for asked in self.memory_asked.take() {
            let (request, report) = asked.reported(ids(&self.setup.provider));
            let report = Report { changed_files: self.files.take_changed(), ..report };
            let is_wanted = self.setup.context_events.are_wanted();
            if is_wanted {
                let purpose =
                    if asked.items.is_some() { NextPurpose::MemorySummary } else { NextPurpose::MemoryVectors };
                let event = self.report_event(&report, Some(purpose.as_str()));
                self.told.push(event);
            }
            let continuity = self.continuity_beside(&asked.frame, &request);
            let reply = asked.over.unwrap_or_else(|| Over::now(Err(INTERRUPTED))).reply(&asked.attempts);
            let is_answered = reply.failure.is_none();
            let cache =
                is_answered.then(|| self.judge_beside(asked.sent_at, continuity.as_ref(), reply.usage.as_ref()));
            let reply = entry::Reply { cache, ..reply };
            if let (Some(request), Some(cache)) = (reply.split(), &reply.cache) {
                self.spent.add(&request);
                let event = EventMessage::ContextUsage { request, session: self.spent, cache: cache.clone() };
                self.told.extend(is_wanted.then_some(event));
            }
            if let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) {
                let purpose = asked.items.map_or(Purpose::Vectors, |items| {
                    let spans: Vec<&[Span]> = items.iter().map(|(_, spans)| &**spans).collect();
                    let origins = sent.spans(&spans);
                    Purpose::MemorySummary { items: items.iter().map(|(item, _)| sent.item(item)).collect(), origins }
                });
                sent.request(at, &asked.turn, purpose, &asked.frame, &asked.account, None, asked.sent_at);
                sent.reply(reply);
            }
        }
    }

    /// Takes over what a memory did, and shows it. Gives what faces may hear.
    ///
    /// # Errors
    /// Why the conversation cannot be made to fit.
    pub(crate) fn remembered(&mut self, remembered: Remembered) -> Result<Vec<EventMessage>, String> {
        self.log_memory_requests();
        let Some(memory) = &mut self.memory else {
            return Ok(Vec::new());
        };
        let (result, file) = memory.take(remembered);
        keep(&mut self.setup.side, memory::SIDE, file);
        let id = &self.setup.session_id;
        let done = result.map_err(|failure| match failure.is_of_window() {
            true => format!("memory: {failure}; {}", way_on(id)),
            false => format!("memory: {failure}"),
        })?;
        self.cause = Some(Cause::Memory);
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        let is_written = self.log.is_recording() && memory.is_shown_anew(&done);
        let before: Option<Vec<Item>> = is_written.then(|| self.transcript.items().collect());
        memory.show(&done, &mut self.transcript, context);
        if let (Some(before), Some((sent, at))) = (before, self.log.sent()) {
            let after: Vec<Item> = self.transcript.items().collect();
            sent.shown(at, &before, &after);
        }
        Ok(if self.setup.context_events.are_wanted() { batch_events(&done) } else { Vec::new() })
    }
}

/// Keeps something beside the session's file. A session goes on without it.
pub(super) fn keep(side: &mut Side, name: &str, value: Value) {
    if let Err(error) = side.put(name, value) {
        tracing::warn!(%error, name, "the session's state is not kept");
    }
}

/// What a person can do when a conversation does not fit the window.
fn way_on(id: &SessionId) -> String {
    format!(
        "raise `model_context_window`, write shorter messages, continue from an earlier message with \
         `pellucid fork {id} --at N PROMPT`, or begin a new session"
    )
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
