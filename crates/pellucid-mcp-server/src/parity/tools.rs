//! The two tools: how they are listed, what they take, what they answer.

use serde::Deserialize;
use serde_json::Value;
use serde_json::json;
use uuid::Uuid;

use crate::open::AskedSettings;
use crate::session::CallEnd;
use crate::settings;

/// The tool that begins a session.
pub const CODEX: &str = "codex";

/// The tool that continues a session.
pub const CODEX_REPLY: &str = "codex-reply";

/// Both tools, as clients list them.
pub fn list() -> Value {
    let answer = json!({
        "type": "object",
        "properties": { "threadId": { "type": "string" }, "content": { "type": "string" } },
        "required": ["threadId", "content"],
    });
    json!([
        {
            "name": CODEX,
            "title": "Codex",
            "description": "Begin a session of a coding agent with a prompt, and wait for its answer. Arguments count above the configuration.",
            "inputSchema": { "properties": settings::properties(), "required": ["prompt"], "type": "object" },
            "outputSchema": answer,
        },
        {
            "name": CODEX_REPLY,
            "title": "Codex Reply",
            "description": "Go on with a session of the coding agent: send the next prompt, and wait for the answer.",
            "inputSchema": {
                "properties": {
                    "conversationId": { "description": "The older name of threadId.", "type": "string" },
                    "prompt": { "description": "The next message for the agent.", "type": "string" },
                    "threadId": { "description": "The session, as the answer to its first prompt named it.", "type": "string" },
                },
                "required": ["prompt"],
                "type": "object",
            },
            "outputSchema": answer,
        },
    ])
}

/// A session that is asked for, with its first prompt.
#[derive(Debug, PartialEq)]
pub struct CodexCall {
    pub prompt: String,
    pub settings: AskedSettings,
}

impl CodexCall {
    /// Reads the arguments of a call, or says what is wrong with them.
    pub fn read(arguments: Option<Value>) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Prompt {
            prompt: String,
        }
        let arguments = arguments.ok_or("Missing arguments for codex tool-call; the `prompt` field is required.")?;
        let settings = AskedSettings::deserialize(&arguments).map_err(|error| unreadable(&error))?;
        let Prompt { prompt } = Prompt::deserialize(&arguments).map_err(|error| unreadable(&error))?;
        Ok(Self { prompt, settings })
    }
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("Failed to parse configuration for Codex tool: {error}")
}

/// The next prompt of a session.
#[derive(Debug, PartialEq, Eq)]
pub struct CodexReplyCall {
    pub session: String,
    pub prompt: String,
}

impl CodexReplyCall {
    /// Reads the arguments of a call, or says what is wrong with them.
    pub fn read(arguments: Option<Value>) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Arguments {
            conversation_id: Option<String>,
            thread_id: Option<String>,
            prompt: String,
        }
        let arguments = arguments
            .ok_or("Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.")?;
        let Arguments { conversation_id, thread_id, prompt } =
            serde_json::from_value(arguments).map_err(|error| unreadable(&error))?;
        let id = thread_id
            .or(conversation_id)
            .ok_or("Failed to parse thread_id: either threadId or conversationId must be provided")?;
        let session = Uuid::parse_str(&id).map_err(|error| format!("Failed to parse thread_id: {error}"))?;
        Ok(Self { session: session.to_string(), prompt })
    }
}

/// The answer to a call.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    text: String,
    session: Option<String>,
    is_error: bool,
}

impl ToolAnswer {
    /// A call that failed before it had a session.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), session: None, is_error: true }
    }

    /// The same about a session.
    #[must_use]
    pub fn of(self, session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..self }
    }

    /// The answer to a call whose turn ended so. A turn that was interrupted has none.
    pub fn of_turn(session: &str, end: CallEnd) -> Option<Self> {
        let answer = match end {
            CallEnd::Answer(text) => Self { text, session: None, is_error: false },
            CallEnd::Failed(why) => Self::error(why),
            CallEnd::Gone => Self::error("the session ended before the prompt was answered"),
            CallEnd::Interrupted => return None,
        };
        Some(answer.of(session))
    }

    /// The result of the call.
    pub fn json(&self) -> Value {
        let mut result = json!({ "content": [{ "type": "text", "text": self.text }] });
        if let Some(session) = &self.session {
            result["structuredContent"] = json!({ "threadId": session, "content": self.text });
        }
        if self.is_error {
            result["isError"] = json!(true);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_session(arguments: Option<Value>, expected: &Expect) {
        expected.assert_eq(&match CodexCall::read(arguments) {
            Ok(call) => format!("{call:?}"),
            Err(why) => why,
        });
    }

    #[track_caller]
    fn check_reply(arguments: Option<Value>, expected: &Expect) {
        expected.assert_eq(&match CodexReplyCall::read(arguments) {
            Ok(call) => format!("{call:?}"),
            Err(why) => why,
        });
    }

    #[test]
    fn arguments_of_a_session_are_read_and_what_is_unknown_is_ignored() {
        check_session(
            Some(json!({ "prompt": "Hi", "approval-policy": "never", "sandbox": "read-only", "cwd": "a", "more": 1 })),
            &expect![[
                r#"CodexCall { prompt: "Hi", settings: AskedSettings { model: None, profile: None, cwd: Some("a"), approval_policy: Some(Never), sandbox: Some(ReadOnly), config: None, base_instructions: None, developer_instructions: None, compact_prompt: None } }"#
            ]],
        );
        check_session(None, &expect!["Missing arguments for codex tool-call; the `prompt` field is required."]);
        check_session(
            Some(json!({ "prompt": null })),
            &expect!["Failed to parse configuration for Codex tool: invalid type: null, expected a string"],
        );
    }

    #[test]
    fn a_reply_names_its_session_by_either_name() {
        let id = "0199A213-81C0-7800-8AA1-BBAB2A035A53";
        check_reply(
            Some(json!({ "prompt": "Hi", "conversationId": id })),
            &expect![[r#"CodexReplyCall { session: "0199a213-81c0-7800-8aa1-bbab2a035a53", prompt: "Hi" }"#]],
        );
        check_reply(
            Some(json!({ "prompt": "Hi" })),
            &expect!["Failed to parse thread_id: either threadId or conversationId must be provided"],
        );
        check_reply(
            Some(json!({ "threadId": id })),
            &expect!["Failed to parse configuration for Codex tool: missing field `prompt`"],
        );
    }

    #[test]
    fn an_interrupted_turn_has_no_answer() {
        assert_eq!(ToolAnswer::of_turn("s", CallEnd::Interrupted), None);
        let failed = ToolAnswer::of_turn("s", CallEnd::Failed("why".to_owned())).unwrap();
        expect![[r#"{"content":[{"type":"text","text":"why"}],"structuredContent":{"threadId":"s","content":"why"},"isError":true}"#]]
            .assert_eq(&failed.json().to_string());
    }
}
