//! Whether it can be promised that the bytes of a request are those that are sent.

use serde_json::Value;
use serde_json::json;

use crate::style;

/// Why the bytes that are shown cannot be promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// For programs: `mcp_cached`, `mcp_missing`, `mcp_off`, `mcp_failed`, `mcp_input`, `message`,
    /// `session_id`, `memory`, `revision` or `tokens`.
    pub kind: &'static str,
    /// The same in a sentence for people.
    pub why: String,
}

impl Reason {
    pub fn kept_tools(server: &str) -> Self {
        let why = format!("the tools of the MCP server {server} are those it listed last; --mcp connect asks it");
        Self { kind: "mcp_cached", why }
    }

    pub fn starting_tools(server: &str) -> Self {
        let why = format!("the MCP server {server} is starting; its tools are those it listed last");
        Self { kind: "mcp_cached", why }
    }

    pub fn not_counted(error: &str) -> Self {
        Self { kind: "tokens", why: format!("{error}; tokens are estimated from bytes") }
    }

    pub fn unknown_tools(server: &str) -> Self {
        Self { kind: "mcp_missing", why: format!("the tools of the MCP server {server} are not known") }
    }

    pub fn tools_left_out(server: &str) -> Self {
        Self { kind: "mcp_off", why: format!("the tools of the MCP server {server} are left out") }
    }

    pub fn not_started(server: &str) -> Self {
        Self { kind: "mcp_failed", why: format!("the MCP server {server} did not start, and may start next time") }
    }

    pub fn no_message() -> Self {
        Self { kind: "message", why: "no message was given, so the request stops before it".to_owned() }
    }

    pub fn new_id() -> Self {
        let why = "a session gets its id when it begins, and its requests have it; --session-id gives one";
        Self { kind: "session_id", why: why.to_owned() }
    }

    pub fn revision(revision: &str) -> Self {
        let why = format!(
            "instruction files, skills and bootstrap files of the project are those of {revision}; its configuration and \
             other files are those on disk"
        );
        Self { kind: "revision", why }
    }

    /// Whether the reason is about what a pack, a file or a server gives, and not about the message and the id of a session,
    /// which every new session has still to get.
    pub fn is_about_content(&self) -> bool {
        !matches!(self.kind, "message" | "session_id")
    }

    pub fn unasked_server(why: &str) -> Self {
        Self { kind: "mcp_input", why: format!("{why}; --mcp connect asks for it now") }
    }

    pub fn memory(why: &str) -> Self {
        Self { kind: "memory", why: why.to_owned() }
    }
}

/// The two fields of a report for programs.
pub fn add_to(report: &mut Value, reasons: &[Reason]) {
    report["certain"] = reasons.is_empty().into();
    report["reasons"] = reasons.iter().map(|it| json!({ "kind": it.kind, "why": it.why })).collect();
}

/// Says on standard error that the bytes cannot be promised, and why.
pub fn tell(reasons: &[Reason]) {
    if let Some(line) = line(reasons) {
        style::line(&format!("note: {line}"));
    }
}

/// The note with the reasons why the bytes cannot be promised; absent if they can.
pub fn line(reasons: &[Reason]) -> Option<String> {
    if reasons.is_empty() {
        return None;
    }
    let reasons: Vec<&str> = reasons.iter().map(|it| it.why.as_str()).collect();
    Some(format!("these bytes are not certain to be sent: {}", reasons.join("; ")))
}
