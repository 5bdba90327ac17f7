//! Messages of the first context that are said again, when a session goes on or after some turns, and
//! where that is written down.

use std::collections::BTreeMap;

use pellucid_engine::reinject::again;
use pellucid_engine::reinject::again::Again;
use pellucid_engine::reinject::again::AgainState;
use pellucid_engine::reinject::again::SaidAgain;
use pellucid_protocol::settings::ResumeContext;

use super::*;

/// Where the state is kept.
const SIDE: &str = "again";

/// Which messages are said again, and what was.
#[derive(Debug)]
pub(super) struct Schedule {
    turns: BTreeMap<String, u64>,
    state: AgainState,
}

impl Schedule {
    /// The schedule of a session that has one. A slot that the layout does not have is told.
    pub(super) fn of(setup: &mut Setup) -> Option<Self> {
        let given = &setup.sources.config.prompt.reinject_turns;
        let layout = &setup.pack.layout;
        let unknown = again::unknown(layout, given);
        if !unknown.is_empty() {
            let known: Vec<&str> = layout.slots.iter().map(|slot| &*slot.id).collect();
            let (unknown, pack, known) = (unknown.join(", "), &setup.pack.name, known.join(", "));
            let message = format!("reinject_turns: the pack `{pack}` has no slot {unknown}; it has {known}");
            setup.notices.push(EventMessage::Warning { message });
        }
        let turns = again::schedule(&setup.pack.layout, &setup.sources.config.prompt.reinject_turns);
        let kept = setup.side.get(SIDE).and_then(|state| serde_json::from_value(state.clone()).ok());
        (!turns.is_empty()).then(|| Self { turns, state: kept.unwrap_or_default() })
    }
}

impl Session {
    /// Records the context, if that has to be done yet.
    pub(crate) fn record_due_context(&mut self) {
        if std::mem::take(&mut self.context_is_due) {
            let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
            self.record_context_after_history(context);
        }
    }

    /// Records the context of a session that goes on: all of it, or what the history does not have.
    pub(super) fn record_context_after_history(&mut self, mut context: Context) {
        match self.setup.sources.config.prompt.resume_context {
            ResumeContext::Again => self.said_all(),
            ResumeContext::Changed => {
                let known: Vec<Item> = self.transcript.items().collect();
                context.messages.retain(|message| !known.contains(&message.item()));
            }
        }
        self.record_context(context);
    }

    /// Says again what is due, after everything that was said.
    pub(super) fn say_again(&mut self) {
        let Some(schedule) = &mut self.again else {
            return;
        };
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        let due = schedule.state.due(&schedule.turns, &context.messages);
        for (n, again) in due {
            self.note_again(&again);
            // As part of the conversation, because a memory shows nothing else behind the context.
            self.record_draft(&Draft::from(context.messages[n].clone()));
        }
    }

    /// Writes down that something is said again, and tells it.
    pub(super) fn note_again(&mut self, again: &Again) {
        if let Some((sent, at)) = self.log.sent() {
            sent.said_again(at, again);
        }
        if self.setup.context_events.are_wanted() {
            let Again { part, reason, sha256, tokens } = again.clone();
            self.told.push(EventMessage::ContextReinjection { part: part.to_string(), reason, sha256, tokens });
        }
    }

    /// Notes that all of the context was said.
    pub(super) fn said_all(&mut self) {
        if let Some(schedule) = &mut self.again {
            schedule.state.said_all();
        }
    }

    pub(super) fn complete_turn_again(&mut self) {
        if let Some(schedule) = &mut self.again {
            schedule.state.complete_turn();
            let state = serde_json::to_value(&schedule.state).unwrap_or_default();
            keep(&mut self.setup.side, SIDE, state);
        }
    }

    /// What was said again so far, by part.
    pub(super) fn said_again(&self) -> BTreeMap<String, SaidAgain> {
        let slots = self.again.iter().flat_map(|schedule| &schedule.state.slots).filter(|(_, said)| said.count > 0);
        slots.map(|(slot, said)| (slot.clone(), said.clone())).collect()
    }

    /// What faces were not told yet.
    pub(crate) fn take_told(&mut self) -> Vec<EventMessage> {
        std::mem::take(&mut self.told)
    }
}
