//! Messages of the first context that are said again when a session continues or after some turns.

use std::collections::BTreeMap;

use pellucid_engine::assemble;
use pellucid_engine::reinject::again;
use pellucid_engine::reinject::again::AgainState;
use pellucid_engine::report::Report;
use pellucid_engine::transcript::Draft;
use pellucid_protocol::event::EventMessage;

use crate::habits::Effect;
use crate::habits::Habit;
use crate::habits::Happened;
use crate::habits::Moment;
use crate::session::Setup;

/// The name under which the state is kept beside the session's file.
const SIDE: &str = "again";

/// Which messages are said again, and what was said so far.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    turns: BTreeMap<String, u64>,
    state: AgainState,
}

impl Schedule {
    /// The schedule of a session that has one. A slot that the layout does not have gives a warning.
    pub(crate) fn of(setup: &mut Setup) -> Option<Self> {
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

impl Habit for Schedule {
    fn copied(&self) -> Box<dyn Habit> {
        Box::new(self.clone())
    }

    fn note(&mut self, setup: &mut Setup, happened: &Happened<'_>) {
        match happened {
            Happened::ContextRecorded | Happened::Shortened => self.state.said_all(),
            Happened::TurnSent => {
                self.state.complete_turn();
                setup.keep(SIDE, serde_json::to_value(&self.state).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn due(&mut self, setup: &mut Setup, moment: &Moment) -> Vec<Effect> {
        let Moment::TurnBegan { .. } = moment else {
            return Vec::new();
        };
        let context = assemble::assemble(&setup.pack, &setup.gathered.facts);
        let due = self.state.due(&self.turns, &context.messages);
        // They are recorded as part of the conversation, because a memory shows nothing else behind the context.
        let effects = due
            .into_iter()
            .map(|(n, again)| [Effect::SayAgain(again), Effect::Record(Draft::from(context.messages[n].clone()))]);
        effects.flatten().collect()
    }

    fn report(&self, report: &mut Report) {
        let slots = self.state.slots.iter().filter(|(_, said)| said.count > 0);
        report.said_again = slots.map(|(slot, said)| (slot.clone(), said.clone())).collect();
    }
}
