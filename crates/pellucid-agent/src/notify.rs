//! Telling a program of the user's that a turn is over.
//!
//! The program gets one more argument, a JSON object. Nobody waits for it, nobody reads what it
//! says, and it may outlive the session.

use std::collections::BTreeSet;
use std::ffi::OsString;

use pellucid_engine::boundary;
use pellucid_exec::waited;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use serde::Serialize;

/// What the program is told.
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

/// Starts the program, without the variables that are withheld. When that fails the turn is over all the same.
pub(crate) fn notify(program: &[String], told: &TurnOver<'_>, withheld: &BTreeSet<String>) {
    let Some(name) = program.first() else { return };
    let argument = match serde_json::to_string(told) {
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
