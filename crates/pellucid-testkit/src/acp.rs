//! Checks lines of the Agent Client Protocol against the official schema of version 1.
//!
//! `acp.schema.json` is `schema/v1/schema.unstable.json` of the TypeScript SDK 2.4.0 (npm, `@agentclientprotocol/sdk`, Apache
//! License 2.0) without descriptions and hints for readers; see `NOTICE`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::fits_schema;

const SCHEMA: &str = include_str!("acp.schema.json");

/// Checks the lines of an agent. It has to know what the client asked for.
#[derive(Debug)]
pub struct AcpLines {
    schema: Value,
    asked: BTreeMap<String, String>,
}

impl Default for AcpLines {
    fn default() -> Self {
        Self { schema: serde_json::from_str(SCHEMA).expect("the schema is JSON"), asked: BTreeMap::new() }
    }
}

impl AcpLines {
    /// Notes a message of the client.
    pub fn sent(&mut self, message: &Value) {
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
    }

    /// Checks a message of the agent.
    ///
    /// # Panics
    /// When the message does not fit the schema, or answers nothing that was asked.
    #[track_caller]
    pub fn check(&self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let id = message.get("id").map(Value::to_string);
        let (name, part) = match (message["method"].as_str(), message.get("result"), message.get("error")) {
            (Some(method), None, None) => {
                (self.name(method, "client", &["Request", "Notification"]), &message["params"])
            }
            (None, Some(result), None) => {
                let method = self.asked.get(&id.unwrap_or_default()).unwrap_or_else(|| panic!("not asked: {message}"));
                (self.name(method, "agent", &["Response"]), result)
            }
            (None, None, Some(error)) => ("Error".to_owned(), error),
            _ => panic!("neither a request nor an answer: {message}"),
        };
        let schema = serde_json::json!({ "$ref": format!("#/$defs/{name}"), "$defs": self.schema["$defs"] });
        if let Err(why) = fits_schema(&schema, part) {
            panic!("not a {name}: {why}\n{message}");
        }
    }

    /// The definition of what is sent under a method.
    fn name(&self, method: &str, side: &str, ends: &[&str]) -> String {
        let fits = |(name, definition): &(&String, &Value)| {
            definition["x-method"] == method
                && definition["x-side"] == side
                && ends.iter().any(|end| name.ends_with(end))
        };
        let found = self.schema["$defs"].as_object().into_iter().flatten().find(fits);
        found.map_or_else(|| panic!("the schema has no {method}"), |(name, _)| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_that_fit_pass() {
        let mut lines = AcpLines::default();
        lines.sent(&json!({ "id": 1, "method": "session/prompt" }));
        lines.check(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "stopReason": "end_turn" } }));
        lines.check(&json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "no" } }));
        let update = json!({ "sessionUpdate": "plan", "entries": [] });
        lines.check(
            &json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } }),
        );
    }

    #[test]
    #[should_panic = "not a PromptResponse"]
    fn a_wrong_answer_is_found() {
        let mut lines = AcpLines::default();
        lines.sent(&json!({ "id": 1, "method": "session/prompt" }));
        lines.check(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "stopReason": "over" } }));
    }

    #[test]
    #[should_panic = "not a SessionNotification"]
    fn a_wrong_update_is_found() {
        let update = json!({ "sessionUpdate": "plan", "entries": [{ "content": "x", "priority": "medium" }] });
        AcpLines::default().check(
            &json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } }),
        );
    }
}
