//! The JSON Schemas of the answers, by path. Answers of commands have the schemas of the commands (`pellucid schema`).

use serde_json::Value;
use serde_json::json;

/// A path of the interface and the schema of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerSchema {
    /// The path, with placeholders in upper case.
    pub path: &'static str,
    /// The JSON Schema.
    pub text: &'static str,
}

/// The schemas of the answers that no command prints.
pub const ALL: [AnswerSchema; 17] = [
    AnswerSchema { path: "error", text: include_str!("schemas/error.json") },
    AnswerSchema { path: "hello", text: include_str!("schemas/hello.json") },
    AnswerSchema { path: "sessions", text: include_str!("schemas/sessions.json") },
    AnswerSchema { path: "sessions/ID", text: include_str!("schemas/session.json") },
    AnswerSchema { path: "sessions/ID/timeline", text: include_str!("schemas/timeline.json") },
    AnswerSchema { path: "sessions/ID/requests/N", text: include_str!("schemas/request.json") },
    AnswerSchema { path: "sessions/ID/requests/N/rows", text: include_str!("schemas/rows.json") },
    AnswerSchema { path: "sessions/ID/requests/N/text", text: include_str!("schemas/text.json") },
    AnswerSchema { path: "sessions/ID/requests/N/absent", text: include_str!("schemas/absent.json") },
    AnswerSchema { path: "sessions/ID/items", text: include_str!("schemas/items.json") },
    AnswerSchema { path: "sessions/ID/items/K", text: include_str!("schemas/item.json") },
    AnswerSchema { path: "sessions/ID/compactions", text: include_str!("schemas/compactions.json") },
    AnswerSchema { path: "sessions/ID/compactions/K", text: include_str!("schemas/compaction.json") },
    AnswerSchema { path: "sessions/ID/calls", text: include_str!("schemas/calls.json") },
    AnswerSchema { path: "sessions/ID/calls/CALL", text: include_str!("schemas/call.json") },
    AnswerSchema { path: "sessions/ID/calls/CALL/output", text: include_str!("schemas/output.json") },
    AnswerSchema { path: "fork", text: include_str!("schemas/fork.json") },
];

/// All schemas in one object, by path.
pub fn all() -> Value {
    let mut answers = json!({});
    for AnswerSchema { path, text } in ALL {
        answers[path] = serde_json::from_str(text).unwrap_or_default();
    }
    json!({ "schema": "pellucid.inspect.schemas/1", "answers": answers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_json_that_describes_an_object() {
        for AnswerSchema { path, text } in ALL {
            let schema: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(schema["type"], "object", "{path}");
            assert_eq!(all()["answers"][path], schema);
        }
    }
}
