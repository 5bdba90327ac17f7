//! What the record of requests gets of tool calls.

use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use pellucid_tools::notes::NotedCall;

use super::Session;
use crate::open_notes::Upto;

impl Session {
    /// Records the calls up to the one that an item answers, if it answers one.
    pub(crate) fn log_answered(&mut self, item: &Item) {
        if let Item::FunctionCallOutput { call_id, .. } | Item::CustomToolCallOutput { call_id, .. } = item {
            if let Some(telemetry) = self.log.telemetry() {
                telemetry.output(item);
            }
            self.log_calls(Upto::Answer(call_id));
        }
    }

    /// Records what was noted of calls, in the order in which the model made them.
    pub(crate) fn log_calls(&mut self, upto: Upto<'_>) {
        for (turn, noted) in self.jobs.notes.take(upto) {
            self.log_call(&turn, noted);
        }
    }

    /// Records what was noted of a command that a person typed.
    pub(crate) fn log_user_command(&mut self, call_id: &str) {
        if let Some((turn, noted)) = self.jobs.notes.take_user_command(call_id) {
            self.log_call(&turn, noted);
        }
    }

    fn log_call(&mut self, turn: &TurnId, noted: NotedCall) {
        // Without a file nothing is written, but the call may be exported.
        let at = self.log.written().unwrap_or(0);
        self.log.sent_from_start().call(at, turn, &self.setup.identity.originator, noted, None);
    }
}
