//! Tools and resources of MCP servers.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// The name of the MCP server with the tools of connected apps.
pub const APPS_SERVER: &str = "codex_apps";

/// A tool as its MCP server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// The tool's name at the server.
    pub name: String,
    /// The tool's name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does and when to use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON schema of its arguments.
    pub input_schema: Value,
    /// A JSON schema of the tool's structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The server's hints about the tool, such as `readOnlyHint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Icons that a user interface may show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Value>>,
    /// The `_meta` object of the server.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// The result of an MCP server's tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolResult {
    /// The content blocks for the model.
    #[serde(default)]
    pub content: Vec<Value>,
    /// The result as one JSON value, for programs; the model sees it in place of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool reports that it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The `_meta` object of the server.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl McpToolResult {
    /// Whether the tool reports success.
    pub fn is_success(&self) -> bool {
        self.is_error != Some(true)
    }
}

/// A call of an MCP server's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpInvocation {
    /// The server's name in the configuration.
    pub server: String,
    /// The tool's name at the server.
    pub tool: String,
    /// The arguments, if the model gave any.
    pub arguments: Option<Value>,
}

/// A call of an MCP server's tool begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallBegin {
    /// The id of the tool call.
    pub call_id: String,
    /// The server, the tool and the arguments.
    pub invocation: McpInvocation,
}

/// A call of an MCP server's tool has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallEnd {
    /// The id of the tool call.
    pub call_id: String,
    /// The server, the tool and the arguments.
    pub invocation: McpInvocation,
    /// How long the call took.
    pub duration: Duration,
    /// The result of the tool, or why there is none.
    pub result: Result<McpToolResult, String>,
}

impl McpToolCallEnd {
    /// Whether the tool answered and reports success.
    pub fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(McpToolResult::is_success)
    }
}

/// The state of the start of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum McpStartupStatus {
    /// The start has begun.
    Starting,
    /// The server can be used.
    Ready,
    /// The server cannot be used.
    Failed {
        /// Why the server cannot be used.
        error: String,
    },
    /// The start was interrupted.
    Cancelled,
}

/// How requests to an MCP server are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpAuthStatus {
    /// The server offers no login.
    Unsupported,
    /// The server offers a login, which has not happened.
    NotLoggedIn,
    /// A token of the configuration.
    BearerToken,
    /// An OAuth login, whose token is stored.
    OAuth,
}

impl fmt::Display for McpAuthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsupported => "Unsupported",
            Self::NotLoggedIn => "Not logged in",
            Self::BearerToken => "Bearer token",
            Self::OAuth => "OAuth",
        })
    }
}

/// What an MCP server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServerStatus {
    /// The server's name in the configuration.
    pub name: String,
    /// The server's tools, by their names at the server.
    pub tools: BTreeMap<String, McpTool>,
    /// The server's resources, as it describes them.
    pub resources: Vec<Value>,
    /// The server's resource templates, as it describes them.
    pub resource_templates: Vec<Value>,
    /// How requests to the server are authenticated.
    pub auth_status: McpAuthStatus,
}

/// A page of a list that an MCP server returned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpPage {
    /// The entries of the page, as the server describes them.
    pub entries: Vec<Value>,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
}

/// Why a request to an MCP server failed: the outermost error first, then its causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpFailure {
    /// The error and its causes.
    pub causes: Vec<String>,
}

impl McpFailure {
    /// A failure without further causes.
    pub fn new(what: impl Into<String>) -> Self {
        Self { causes: vec![what.into()] }
    }

    /// Makes this failure the cause of another one.
    #[must_use]
    pub fn of(mut self, what: impl Into<String>) -> Self {
        self.causes.insert(0, what.into());
        self
    }
}

impl fmt::Display for McpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.causes.join(": "))
    }
}

impl std::error::Error for McpFailure {}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn ends_are_written_as_clients_know_them() {
        let end = McpToolCallEnd {
            call_id: "c".to_owned(),
            invocation: McpInvocation { server: "s".to_owned(), tool: "t".to_owned(), arguments: None },
            duration: Duration::from_millis(1500),
            result: Ok(McpToolResult { is_error: Some(false), ..McpToolResult::default() }),
        };
        let written = serde_json::to_string(&end).unwrap();
        expect![[r#"{"call_id":"c","invocation":{"server":"s","tool":"t","arguments":null},"duration":{"secs":1,"nanos":500000000},"result":{"Ok":{"content":[],"isError":false}}}"#]]
            .assert_eq(&written);
        assert_eq!(serde_json::from_str::<McpToolCallEnd>(&written).unwrap(), end);
    }

    #[test]
    fn starts_are_written_as_clients_know_them() {
        let failed = McpStartupStatus::Failed { error: "no".to_owned() };
        expect![[r#"{"state":"failed","error":"no"}"#]].assert_eq(&serde_json::to_string(&failed).unwrap());
    }
}
