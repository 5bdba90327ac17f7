//! The settings that a session may be given, as a JSON Schema.

use serde_json::Value;
use serde_json::json;

/// The prompt and the settings of a session, by the names of the reference.
pub fn properties() -> Value {
    json!({
        "approval-policy": {
            "description": "When commands of the model need approval: `untrusted`, `on-failure`, `on-request` or `never`.",
            "type": "string",
            "enum": ["untrusted", "on-failure", "on-request", "never"],
        },
        "base-instructions": { "description": "Instructions that replace the usual base instructions.", "type": "string" },
        "compact-prompt": { "description": "The prompt that asks the model for a summary.", "type": "string" },
        "config": {
            "description": "Keys of the configuration, also dotted ones, that count above the file's.",
            "type": "object",
            "additionalProperties": true,
        },
        "cwd": {
            "description": "The working folder. A relative path starts at the folder of the server.",
            "type": "string",
        },
        "developer-instructions": { "description": "A further message with the role `developer`.", "type": "string" },
        "model": { "description": "The name of the model, as its provider knows it.", "type": "string" },
        "profile": { "description": "The profile of the configuration that applies.", "type": "string" },
        "prompt": { "description": "The first message for the agent.", "type": "string" },
        "sandbox": {
            "description": "What commands may write: `read-only`, `workspace-write` or `danger-full-access`.",
            "type": "string",
            "enum": ["read-only", "workspace-write", "danger-full-access"],
        },
    })
}
