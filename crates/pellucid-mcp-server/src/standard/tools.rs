//! The four tools: how they are listed and what they take.

use std::sync::Arc;

use rmcp::model::JsonObject;
use rmcp::model::Tool;
use rmcp::model::ToolAnnotations;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::json;

use crate::open::AskedSettings;
use crate::settings;

/// The tool that begins a session.
pub const PELLUCID: &str = "pellucid";

/// The tool that continues a session.
pub const REPLY: &str = "reply";

/// The tool that reports what would be sent.
pub const CONTEXT: &str = "context";

/// The tool that proves what was sent.
pub const REPLAY: &str = "replay";

/// All tools, as clients list them.
pub fn list() -> Vec<Tool> {
    let thread = json!({ "description": "The id of the session.", "type": "string" });
    let answer = json!({
        "type": "object",
        "properties": {
            "threadId": thread,
            "content": { "description": "The last message of the agent.", "type": "string" },
            "approvals": {
                "description": "`asked`: questions go to the client. `never`: the client takes none, so commands that need approval are refused.",
                "type": "string",
                "enum": ["asked", "never"],
            },
        },
        "required": ["threadId", "content", "approvals"],
    });
    let mut asked = settings::properties();
    asked["threadId"] =
        json!({ "description": "A session. Without it, the request of a new session.", "type": "string" });
    asked["rows"] =
        json!({ "description": "Whether the origin of every stretch of bytes is listed.", "type": "boolean" });
    vec![
        tool(
            PELLUCID,
            "Begin a session",
            "Begin a session of a coding agent with a prompt, and wait for its answer. Arguments count above the configuration.",
            json!({ "type": "object", "properties": settings::properties(), "required": ["prompt"] }),
            answer.clone(),
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true),
        ),
        tool(
            REPLY,
            "Go on with a session",
            "Go on with a session of the coding agent: send the next prompt, and wait for the answer.",
            json!({
                "type": "object",
                "properties": {
                    "threadId": thread,
                    "prompt": { "description": "The next message for the agent.", "type": "string" },
                },
                "required": ["threadId", "prompt"],
            }),
            answer,
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true),
        ),
        tool(
            CONTEXT,
            "What would be sent",
            "Report the next request of a session without sending it: its size, its digest, and the sources of its bytes. No model is asked.",
            json!({ "type": "object", "properties": asked }),
            json!({
                "type": "object",
                "properties": {
                    "purpose": { "type": "string" },
                    "sha256": { "type": "string" },
                    "bytes": { "type": "integer" },
                    "tokens": { "type": "integer" },
                    "sources": { "type": "array", "items": { "type": "object" } },
                    "reasons": {
                        "description": "Why other bytes may be sent.",
                        "type": "array",
                        "items": { "type": "string" },
                    },
                },
                "required": ["purpose", "sha256", "bytes", "tokens", "sources", "reasons"],
            }),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
        tool(
            REPLAY,
            "Prove what was sent",
            "Make every request of a stored session again from its files and compare it with the digest of what was sent.",
            json!({ "type": "object", "properties": { "threadId": thread }, "required": ["threadId"] }),
            json!({
                "type": "object",
                "properties": {
                    "threadId": thread,
                    "status": { "type": "string", "enum": ["proved", "refuted", "not provable"] },
                    "equal": { "type": "integer" },
                    "different": { "type": "integer" },
                    "unproved": { "type": "integer" },
                    "requests": { "type": "array", "items": { "type": "object" } },
                },
                "required": ["threadId", "status", "equal", "different", "unproved", "requests"],
            }),
            ToolAnnotations::new().read_only(true).idempotent(true).open_world(false),
        ),
    ]
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    input: Value,
    output: Value,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, object(input))
        .with_title(title)
        .with_raw_output_schema(object(output))
        .with_annotations(annotations)
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}

/// What `pellucid` takes.
#[derive(Debug, Deserialize)]
pub struct BeginCall {
    pub prompt: String,
    #[serde(flatten)]
    pub settings: AskedSettings,
}

/// What `reply` takes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplyCall {
    pub thread_id: String,
    pub prompt: String,
}

/// What `context` takes.
#[derive(Debug, Deserialize)]
pub struct ContextCall {
    #[serde(rename = "threadId")]
    pub session: Option<String>,
    pub prompt: Option<String>,
    #[serde(default)]
    pub rows: bool,
    #[serde(flatten)]
    pub settings: AskedSettings,
}

/// What `replay` takes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayCall {
    pub thread_id: String,
}

/// Reads the arguments of a call, or says what is wrong with them.
pub fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("{tool}: {error}"))
}
