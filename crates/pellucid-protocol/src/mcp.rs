//! Tools and resources of servers that speak the Model Context Protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// Its name at the server.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON schema of its arguments.
    pub input_schema: Value,
    /// A JSON schema of its structured answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints about what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Pictures for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Value>>,
    /// What else the server says of it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolResult {
    /// For the model, part by part.
    #[serde(default)]
    pub content: Vec<Value>,
    /// For programs; the model sees it in place of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool says that it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What else the server says.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl McpToolResult {
    /// Whether the tool did what it was called for.
    pub fn is_success(&self) -> bool {
        self.is_error != Some(true)
    }
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpInvocation {
    /// At which server.
    pub server: String,
    /// Which tool.
    pub tool: String,
    /// With what.
    pub arguments: Option<Value>,
}

/// A call begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallBegin {
    /// The call.
    pub call_id: String,
    /// What is called.
    pub invocation: McpInvocation,
}

/// A call has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpToolCallEnd {
    /// The call.
    pub call_id: String,
    /// What was called.
    pub invocation: McpInvocation,
    /// How long it took.
    pub duration: Duration,
    /// What the tool answered, or why it did not.
    pub result: Result<McpToolResult, String>,
}

impl McpToolCallEnd {
    /// Whether the tool did what it was called for.
    pub fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(McpToolResult::is_success)
    }
}

/// How the start of a server stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum McpStartupStatus {
    /// It has begun.
    Starting,
    /// The server can be used.
    Ready,
    /// The server cannot be used.
    Failed {
        /// Why.
        error: String,
    },
    /// It was broken off.
    Cancelled,
}

/// How a server knows who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpAuthStatus {
    /// There is nothing to log in to.
    Unsupported,
    /// There is, and nobody has.
    NotLoggedIn,
    /// By a token of the configuration.
    BearerToken,
    /// By a login.
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

/// What a server has to offer.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServerStatus {
    /// Its name.
    pub name: String,
    /// Its tools, by their names at the server.
    pub tools: BTreeMap<String, McpTool>,
    /// Its resources, as it describes them.
    pub resources: Vec<Value>,
    /// Its templates of resources, as it describes them.
    pub resource_templates: Vec<Value>,
    /// How it knows who asks.
    pub auth_status: McpAuthStatus,
}

/// A part of a list that a server gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpPage {
    /// What is in it, as the server describes it.
    pub entries: Vec<Value>,
    /// Where the next part begins, if there is one.
    pub next_cursor: Option<String>,
}

/// Why a server did not do what it was asked for: what failed first, what caused that after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpFailure {
    /// What failed, and its causes.
    pub causes: Vec<String>,
}

impl McpFailure {
    /// A failure without further causes.
    pub fn new(what: impl Into<String>) -> Self {
        Self { causes: vec![what.into()] }
    }

    /// The same as the cause of something else that failed.
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
