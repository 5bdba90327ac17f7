//! The notes of calls whose end is not in the record yet.
//!
//! Calls end in any order, whichever is quicker. Their notes leave in the order in which the model made them, when
//! their answers are recorded.

use pellucid_protocol::call::ToolCall;
use pellucid_protocol::id::TurnId;
use pellucid_store::moment::Moment;
use pellucid_tools::notes::CallNotes;
use pellucid_tools::notes::NotedCall;

/// The notes of calls and of commands of the person, each with its turn.
#[derive(Debug, Default)]
pub(crate) struct OpenNotes {
    calls: Vec<(TurnId, CallNotes, String)>,
    user_commands: Vec<(TurnId, CallNotes, String)>,
}

/// Up to where notes leave.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Upto<'a> {
    /// Up to the call with this id, whose answer is recorded.
    Answer(&'a str),
    /// All of them: no call runs any more.
    End,
}

impl OpenNotes {
    /// For a call that the model makes.
    pub(crate) fn of_call(&mut self, turn: &TurnId, call: &ToolCall) -> CallNotes {
        let notes = CallNotes::new(&call.call_id, &call.name, now);
        self.calls.push((turn.clone(), notes.clone(), call.call_id.clone()));
        notes
    }

    /// For a command that a person typed.
    pub(crate) fn of_user_command(&mut self, turn: &TurnId, call_id: &str) -> CallNotes {
        let notes = CallNotes::new(call_id, "", now);
        self.user_commands.push((turn.clone(), notes.clone(), call_id.to_owned()));
        notes
    }

    /// Takes the notes of calls, in the order in which the model made them.
    pub(crate) fn take(&mut self, upto: Upto<'_>) -> Vec<(TurnId, NotedCall)> {
        let n_taken = match upto {
            Upto::Answer(id) => self.calls.iter().position(|(.., call_id)| call_id == id).map_or(0, |at| at + 1),
            Upto::End => self.calls.len(),
        };
        self.calls.drain(..n_taken).map(|(turn, notes, _)| (turn, notes.take())).collect()
    }

    /// Takes the notes of a command that a person typed.
    pub(crate) fn take_user_command(&mut self, call_id: &str) -> Option<(TurnId, NotedCall)> {
        let at = self.user_commands.iter().position(|(.., id)| id == call_id)?;
        let (turn, notes, _) = self.user_commands.remove(at);
        Some((turn, notes.take()))
    }
}

fn now() -> String {
    Moment::now().to_string()
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::call::Payload;

    use super::*;

    /// Which notes leave with the answers of these calls, and which at the end.
    #[track_caller]
    fn check_order(made: &[&str], answered: &[&str], expected: &[&str]) {
        let mut notes = OpenNotes::default();
        let turn = TurnId::new("t");
        for id in made {
            let payload = Payload::Function { arguments: String::new() };
            notes.of_call(&turn, &ToolCall { call_id: (*id).to_owned(), name: "shell".to_owned(), payload });
        }
        let mut left = Vec::new();
        for upto in answered.iter().map(|id| Upto::Answer(id)).chain([Upto::End]) {
            let taken = notes.take(upto);
            left.push(taken.into_iter().map(|(_, noted)| noted.call_id).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(left, expected);
    }

    #[test]
    fn notes_leave_in_the_order_of_calls() {
        check_order(&["a", "b", "c"], &["a", "b", "c"], &["a", "b", "c", ""]);
        // A call without an answer leaves with the next that has one, or at the end.
        check_order(&["a", "b", "c"], &["b"], &["a b", "c"]);
        // Calls that the record lacks do not matter, and ids that come twice are taken one after the other.
        check_order(&["a", "a"], &["x", "a", "a"], &["", "a", "a", ""]);
    }
}
