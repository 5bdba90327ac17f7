//! Starts a program of the user when a turn is over.
//!
//! The program gets one more argument, a JSON object. Pellucid neither waits for the program nor reads its output, and
//! the program may outlive the session.

use std::collections::BTreeSet;
use std::ffi::OsString;

use pellucid_engine::boundary;
use pellucid_exec::waited;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use serde::Serialize;

/// The JSON object that the program receives.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "agent-turn-complete", rename_all = "kebab-case")]
pub(crate) struct TurnOver<'a> {
    pub thread_id: &'a SessionId,
    pub turn_id: &'a TurnId,
    pub cwd: &'a str,
    /// What people said in the whole conversation.
    pub input_messages: Vec<String>,
    pub last_assistant_message: Option<&'a str>,
}

/// What people said, a text for each message.
pub(crate) fn input_messages(items: impl Iterator<Item = Item>) -> Vec<String> {
    items.filter_map(|item| boundary::said_by_person(&item)).collect()
}

/// Starts the program without the variables in `withheld`. If the program does not start, only the log says so.
pub(crate) fn notify(program: &[String], turn_over: &TurnOver<'_>, withheld: &BTreeSet<String>) {
    let Some(name) = program.first() else { return };
    let argument = match serde_json::to_string(turn_over) {
        Ok(argument) => argument,
        Err(error) => {
            tracing::warn!(%error, "the end of a turn cannot be written as JSON");
            return;
        }
    };
    let argv: Vec<OsString> = program.iter().cloned().chain([argument]).map(OsString::from).collect();
    if let Err(error) = waited::start_left_alone(&argv, withheld) {
        tracing::warn!(%error, program = name, "the program to notify does not start");
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_program_is_told_what_was_said() {
        let items = [
            Item::text("user", "<environment_context>\n</environment_context>"),
            Item::text("user", "one"),
            Item::text("assistant", "1"),
            Item::text("user", "two"),
        ];
        let told = TurnOver {
            thread_id: &SessionId::new("s"),
            turn_id: &TurnId::new("t"),
            cwd: "/work",
            input_messages: input_messages(items.into_iter()),
            last_assistant_message: None,
        };
        expect![[r#"{"type":"agent-turn-complete","thread-id":"s","turn-id":"t","cwd":"/work","input-messages":["one","two"],"last-assistant-message":null}"#]]
            .assert_eq(&serde_json::to_string(&told).unwrap());
    }
}
