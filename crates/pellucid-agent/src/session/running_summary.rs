//! A summary that is being made: what is summarised, for which model, and what was answered so far.
//!
//! The driver and a conversation that is had again both keep one of these while a turn wishes for a summary.

use pellucid_engine::compaction::Compaction;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::turn::TurnEvent;
use pellucid_protocol::item::Item;

use super::Session;

/// A summary that is being made.
#[derive(Debug)]
pub(crate) struct RunningSummary {
    /// What is summarised.
    pub compaction: Compaction,
    /// The facts of the model that makes it.
    pub facts: Facts,
    /// What was given so far, where a summary that fails leaves no trace.
    pub reply: Option<Vec<(Item, Origin)>>,
}

impl RunningSummary {
    /// A summary of which nothing is given yet.
    pub(crate) fn new(session: &Session, compaction: Compaction, facts: Facts) -> Self {
        let is_checked = session.compaction_rules().is_checked() && !compaction.is_by_window();
        Self { compaction, facts, reply: is_checked.then(Vec::new) }
    }

    /// Puts an item of the answer where it belongs: aside until the summary is accepted, or into the session.
    pub(crate) fn note(running: Option<&mut Self>, session: &mut Session, item: Item, origin: Origin) {
        match running.and_then(|running| running.reply.as_mut()) {
            Some(reply) => reply.push((item, origin)),
            None => session.note(&item, &origin),
        }
    }

    /// Puts a summary that is made without a model in place of the history.
    pub(crate) fn rebuild_locally(self, session: &mut Session) -> TurnEvent {
        TurnEvent::Rebuilt(session.rebuild_locally(self.compaction, &self.facts))
    }

    /// Puts what was given in place of the history.
    pub(crate) fn rebuild(mut self, session: &mut Session) -> TurnEvent {
        for (item, origin) in self.reply.take().unwrap_or_default() {
            session.note(&item, &origin);
        }
        TurnEvent::Rebuilt(session.rebuild(self.compaction, &self.facts))
    }
}
