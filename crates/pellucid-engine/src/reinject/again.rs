//! Messages of the first context that are said again after a number of turns, by their slots.
//!
//! Repetitions go to the end of the history, never into it. Text, time, reason and cost of each are kept, so that a
//! report can show them.
//!
//! Not here: texts that go into a person's own message (`super`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::Serialize;

use crate::assemble::LayoutMessage;
use crate::digest::Digest;
use crate::fragment::concat;
use crate::pack::Layout;
use crate::tokens::tokens_of_bytes;

/// After how many turns each slot is said again: what a person sets, else what the layout says.
pub fn schedule(layout: &Layout, given: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let own = layout.slots.iter().filter_map(|slot| Some((slot.id.to_string(), slot.again_turns?)));
    let mut schedule: BTreeMap<String, u64> = own.collect();
    schedule.extend(given.iter().map(|(slot, turns)| (slot.clone(), *turns)));
    schedule.retain(|slot, turns| *turns > 0 && layout.slots.iter().any(|it| *it.id == **slot));
    schedule
}

/// The names that a person sets and the layout does not have.
pub fn unknown<'a>(layout: &Layout, given: &'a BTreeMap<String, u64>) -> Vec<&'a str> {
    let is_known = |name: &str| layout.slots.iter().any(|slot| &*slot.id == name);
    given.keys().map(String::as_str).filter(|name| !is_known(name)).collect()
}

/// What a session stores about repeated instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgainState {
    /// Inputs that were sent.
    pub turn_count: u64,
    /// The turn in which everything was said last, as in the first.
    pub all_said: u64,
    /// The repetitions so far, by slot.
    pub slots: BTreeMap<String, SaidAgain>,
}

/// How often a slot was said again, and how it was last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SaidAgain {
    /// In which turn last.
    pub turn: u64,
    /// The number of repetitions.
    pub count: u64,
    /// The estimated tokens of all times together.
    pub tokens: u64,
    /// The reason for the last repetition.
    pub reason: String,
    /// The SHA-256 of the last text.
    pub sha256: String,
}

/// A message that is said again now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// The id of the slot.
    pub part: Arc<str>,
    /// The reason for the repetition.
    pub reason: String,
    /// The SHA-256 of the text.
    pub sha256: String,
    /// The estimated tokens of the text.
    pub tokens: usize,
}

impl AgainState {
    /// The messages of the context that are due, in its order. They count as said.
    pub fn due(&mut self, schedule: &BTreeMap<String, u64>, context: &[LayoutMessage]) -> Vec<(usize, Again)> {
        let mut due = Vec::new();
        for (n, message) in context.iter().enumerate() {
            let Some(turns) = schedule.get(&*message.slot) else { continue };
            let said = self.slots.entry(message.slot.to_string()).or_default();
            let since = self.turn_count.saturating_sub(said.turn.max(self.all_said));
            if since < *turns {
                continue;
            }
            let text = concat(&message.fragments);
            let tokens = tokens_of_bytes(text.len());
            let reason = format!("{since} turns since it was sent, every {turns}");
            let sha256 = Digest::of([text.as_bytes()]).to_string();
            *said = SaidAgain {
                turn: self.turn_count,
                count: said.count + 1,
                tokens: said.tokens + tokens as u64,
                reason: reason.clone(),
                sha256: sha256.clone(),
            };
            due.push((n, Again { part: message.slot.clone(), reason, sha256, tokens }));
        }
        due
    }

    /// Notes that an input was sent.
    pub fn complete_turn(&mut self) {
        self.turn_count += 1;
    }

    /// Notes that all of the context was said, as after a summary.
    pub fn said_all(&mut self) {
        self.all_said = self.turn_count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::Fragment;

    fn message(slot: &str, text: &str) -> LayoutMessage {
        LayoutMessage { slot: slot.into(), role: "user", fragments: vec![Fragment::layout(text)], inside: None }
    }

    #[test]
    fn a_slot_is_said_again_after_its_turns_and_counted_anew_after_a_summary() {
        let schedule = BTreeMap::from([("rules".to_owned(), 2)]);
        let context = [message("rules", "Be kind."), message("environment", "x")];
        let mut state = AgainState::default();
        let mut said = Vec::new();
        for turn in 0..9 {
            if turn == 5 {
                state.said_all();
            }
            said.extend(state.due(&schedule, &context).iter().map(|(n, again)| (turn, *n, again.tokens)));
            state.complete_turn();
        }
        assert_eq!(said, [(2, 0, 2), (4, 0, 2), (7, 0, 2)]);
        let SaidAgain { count, tokens, reason, .. } = &state.slots["rules"];
        assert_eq!((*count, *tokens, reason.as_str()), (3, 6, "2 turns since it was sent, every 2"));
        assert_eq!(state.slots["rules"].sha256, Digest::of([b"Be kind.".as_slice()]).to_string());
    }
}
