//! What a session remembers of what left its window, in packs that remember.

use pellucid_engine::assemble;
use pellucid_engine::continuity::Cause;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::concat;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::Purpose;

use super::Session;
use super::next::NextPurpose;
use super::sending::INTERRUPTED;
use crate::least::Least;
use crate::memory;
use crate::memory::AskedList;
use crate::memory::Asker;
use crate::memory::Done;
use crate::memory::FirstFailure;
use crate::memory::Job;
use crate::memory::Memory;
use crate::memory::Over;
use crate::memory::Remembered;

impl Session {
    /// Whether the conversation is made to fit by a memory rather than by a summary of all of it.
    pub(crate) fn has_memory(&self) -> bool {
        self.habits.memory().is_some()
    }

    /// What has to be done before the next request, so that it fits: always for the first one of a
    /// turn, later only if it does not fit.
    pub(crate) fn memory_job(&self, frame: &Frame, is_first: bool) -> Option<Job> {
        let memory = self.habits.memory()?;
        let facts = &self.setup.gathered.facts;
        let context = assemble::assemble(&self.setup.pack, facts);
        let placed = context.placed.iter().map(|placed| &placed.message);
        let messages = context.messages.iter().chain(placed);
        let context: usize = messages.map(|message| concat(&message.fragments).len()).sum();
        let around = tokens_of_bytes(frame.n_bytes() + context) as f64;
        let (model, window) = (&facts.settings.model.slug, facts.settings.model.effective_window());
        let is_due = is_first || memory.is_over(model, window, around);
        is_due.then(|| memory.job(model, window, around))
    }

    /// Who answers the questions of a memory.
    pub(crate) fn memory_asker(&self, headers: Vec<(String, String)>, turn: &TurnId) -> Asker {
        let memory = self.habits.memory();
        let facts = self.setup.facts_of_model(memory.and_then(|memory| memory.layout().summary_model.as_deref()));
        let frame = Frame::for_summary(&self.setup.pack, &facts, &[], &self.setup.wire(None));
        let least = Least::new(self.setup.provider.wire_api, &facts.settings.model.slug);
        let is_noted = self.log.is_recording() || self.setup.context_events.are_wanted();
        let asked = memory.filter(|_| is_noted).map(|memory| memory.asked().clone());
        let (model, ids) = (self.setup.model.clone(), self.setup.item_ids());
        Asker { model, headers, frame, ids, least, failure: FirstFailure::default(), turn: turn.clone(), asked }
    }

    /// Records the requests that were made for the memory, with what came of the provider's cache for each, and reports them
    /// to clients that ask for it.
    pub(super) fn log_memory_requests(&mut self) {
        let is_recording = self.log.is_recording();
        for asked in self.habits.memory().map(Memory::asked).map(AskedList::take).unwrap_or_default() {
            let (request, report) = asked.reported(self.setup.item_ids());
            let report = Report { changed_files: self.requests.take_changed_files(), ..report };
            let is_wanted = self.setup.context_events.are_wanted();
            if is_wanted {
                let purpose =
                    if asked.items.is_some() { NextPurpose::MemorySummary } else { NextPurpose::MemoryVectors };
                let readers = &mut self.setup.context_events;
                self.notices.send(self.requests.report_event(&report, Some(purpose.as_str()), readers));
            }
            let continuity = self.requests.continuity_beside(&asked.frame, &request, &self.setup, is_recording);
            let reply = asked.over.unwrap_or_else(|| Over::now(Err(INTERRUPTED))).reply(&asked.attempts);
            let is_answered = reply.failure.is_none();
            let (usage, kept_for) = (reply.usage.as_ref(), self.setup.provider.cache_kept());
            let judge = || self.requests.judge_beside(asked.sent_at, continuity.as_ref(), usage, kept_for);
            let cache = is_answered.then(judge);
            let reply = entry::ReplyEntry { cache, ..reply };
            if let (Some(request), Some(cache)) = (reply.split(), &reply.cache) {
                let event = self.requests.spend(request, cache.clone());
                if self.setup.context_events.is_usage_wanted() {
                    self.notices.send(event);
                }
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

    /// Takes over what a memory did, and shows it in the requests to come. Gives events for clients that ask for them.
    ///
    /// # Errors
    /// Why the conversation cannot be made to fit.
    pub(crate) fn remembered(&mut self, remembered: Remembered) -> Result<Vec<EventMessage>, String> {
        self.log_memory_requests();
        let Some(memory) = self.habits.memory_mut() else {
            return Ok(Vec::new());
        };
        let result = memory.take(&mut self.setup, remembered);
        let id = &self.setup.session_id;
        let done = result.map_err(|failure| match failure.is_of_window() {
            true => format!("memory: {failure}; {}", way_on(id)),
            false => format!("memory: {failure}"),
        })?;
        let changes_view = memory.changes_view(&done);
        if changes_view {
            self.requests.expect_break(Cause::Memory);
        }
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        let is_recorded = self.log.is_recording() && changes_view;
        let before = is_recorded.then(|| self.conversation.items());
        memory.show(&done, self.conversation.transcript_mut(), context);
        if let (Some(before), Some((sent, at))) = (before, self.log.sent()) {
            sent.shown(at, &before, &self.conversation.items());
        }
        Ok(if self.setup.context_events.are_wanted() { batch_events(&done) } else { Vec::new() })
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
