//! Events about the context of requests as JSON, for clients that ask for them.
//!
//! `exec --json --context-events` prints these objects as lines, and the app-server sends them as `context/event`. Both
//! use these types, so a field means the same in either place.

use serde::Serialize;
use serde_json::Value;

use crate::cache::CacheVerdict;
use crate::event::CacheBreak;
use crate::event::ContextReport;
use crate::event::EventMessage;
use crate::failure::FailureCode;
use crate::id::SessionId;
use crate::usage::UsageSplit;

/// The version of these objects. It grows when the meaning of one changes; new kinds may be added without that.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema of these objects.
pub const SCHEMA: &str = include_str!("context_event.schema.json");

/// A context event, with the session that it is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextMessage {
    /// What happened to the context.
    #[serde(flatten)]
    pub event: ContextEvent,
    /// The session, if it is not the one that the client follows: a reviewer or an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<SessionId>,
}

impl ContextMessage {
    /// The event as clients receive it; `None` if it is not about the context.
    pub fn of(event: &EventMessage) -> Option<Self> {
        let thread_id = match event {
            EventMessage::ContextElsewhere { thread_id, .. } => Some(thread_id.clone()),
            _ => None,
        };
        Some(Self { event: ContextEvent::of(event.in_session())?, thread_id })
    }
}

impl EventMessage {
    /// Marks an event about the context with the session in which it happened.
    #[must_use]
    pub fn of_session(self, id: &SessionId) -> Self {
        if ContextEvent::of(&self).is_some() || matches!(self, Self::ContextRequestSent(_)) {
            Self::ContextElsewhere { thread_id: id.clone(), event: Box::new(self) }
        } else {
            self
        }
    }

    /// The event without that mark.
    pub fn in_session(&self) -> &Self {
        match self {
            Self::ContextElsewhere { event, .. } => event.in_session(),
            event => event,
        }
    }
}

/// An event about the context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum ContextEvent {
    /// The parts of the request that is being sent.
    #[serde(rename = "context.report")]
    Report {
        /// The request's bytes, tokens, parts and rows.
        #[serde(flatten)]
        report: ContextReport,
    },
    /// Where that request differs from the one before; in a resumed session also from the session's last one.
    #[serde(rename = "context.cache_break")]
    CacheBreak {
        /// The place and cause of the difference, and the tokens that are paid for again.
        #[serde(flatten)]
        broken: CacheBreak,
    },
    /// An instruction file of another folder was added to the context.
    #[serde(rename = "context.document")]
    Document {
        /// The path of the file.
        path: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// The size of the text in bytes.
        bytes: usize,
        /// The estimated tokens of the text.
        tokens: usize,
    },
    /// The token usage of a response.
    #[serde(rename = "context.usage")]
    Usage {
        /// The request that was answered.
        request: UsageSplit,
        /// All requests of the session that its request log contains.
        session: UsageSplit,
        /// The outcome of the provider's cache.
        cache: CacheVerdict,
    },
    /// Something that was left out of the request.
    #[serde(rename = "context.omission")]
    Omission {
        /// The part that it would belong to.
        part: String,
        /// What was left out.
        what: String,
        /// Why it was left out.
        why: String,
        /// How many bytes were left out.
        bytes: u64,
    },
    /// Text of a reply that was interrupted before its message was complete.
    #[serde(rename = "context.cut_off")]
    CutOff {
        /// The text that had arrived.
        text: String,
    },
    /// A tool call that was not run.
    #[serde(rename = "context.refusal")]
    Refusal {
        /// The id of the call.
        call_id: String,
        /// The reason as a code.
        code: FailureCode,
        /// The reason as text for people.
        why: String,
    },
    /// The effect of a summary on the history.
    #[serde(rename = "context.compaction")]
    Compaction {
        /// Tokens and items before and after, and what was lost.
        #[serde(flatten)]
        account: Value,
    },
    /// A message of the first context that is sent again.
    #[serde(rename = "context.reinjection")]
    Reinjection {
        /// The part that the message belongs to.
        part: String,
        /// Why the message is sent again now.
        reason: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// The estimated tokens of the text.
        tokens: usize,
    },
    /// The outcome of an injection.
    #[serde(rename = "prompt_injection.item")]
    Injection {
        /// The account of the injection, without its content.
        #[serde(flatten)]
        account: Value,
    },
    /// All injections of a request together.
    #[serde(rename = "prompt_injection.summary")]
    Injections {
        /// Sums per target and source, and what the request has besides.
        #[serde(flatten)]
        account: Value,
    },
    /// The start of an MCP server is over.
    #[serde(rename = "context.mcp_server")]
    McpServer {
        /// The name of the server.
        name: String,
        /// `ready`, `failed` or `cancelled`.
        state: String,
        /// Why the server cannot be used; absent if it can.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How long the start took.
        seconds: f64,
    },
    /// Recalled texts that had to leave the request.
    #[serde(rename = "context.memory_dropped")]
    MemoryDropped {
        /// How many there were.
        #[serde(flatten)]
        account: Value,
    },
}

impl ContextEvent {
    /// The event as clients receive it. `None` if it is not about the context, or only for people: the cost of the
    /// first request of a resumed session is a cache break here.
    fn of(event: &EventMessage) -> Option<Self> {
        Some(match event {
            EventMessage::ContextReport(report) => Self::Report { report: report.clone() },
            EventMessage::ContextCacheBreak(broken) => Self::CacheBreak { broken: broken.clone() },
            EventMessage::ContextDocument { path, sha256, bytes, tokens } => {
                Self::Document { path: path.clone(), sha256: sha256.clone(), bytes: *bytes, tokens: *tokens }
            }
            EventMessage::ContextUsage { request, session, cache } => {
                Self::Usage { request: *request, session: *session, cache: cache.clone() }
            }
            EventMessage::ContextOmission { part, what, why, bytes } => {
                Self::Omission { part: part.clone(), what: what.clone(), why: why.clone(), bytes: *bytes }
            }
            EventMessage::ContextCutOff { text } => Self::CutOff { text: text.clone() },
            EventMessage::ContextRefusal { call_id, code, why } => {
                Self::Refusal { call_id: call_id.clone(), code: *code, why: why.clone() }
            }
            EventMessage::ContextCompaction { account } => Self::Compaction { account: account.clone() },
            EventMessage::ContextReinjection { part, reason, sha256, tokens } => Self::Reinjection {
                part: part.clone(),
                reason: reason.clone(),
                sha256: sha256.clone(),
                tokens: *tokens,
            },
            EventMessage::ContextInjection { account } => Self::Injection { account: account.clone() },
            EventMessage::ContextInjections { account } => Self::Injections { account: account.clone() },
            EventMessage::ContextMcpServer { name, state, error, seconds } => {
                Self::McpServer { name: name.clone(), state: state.clone(), error: error.clone(), seconds: *seconds }
            }
            EventMessage::ContextMemoryDropped { account } => Self::MemoryDropped { account: account.clone() },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const SOURCE: &str = include_str!("context_event.rs");
    const PAGE: &str = include_str!("../../../docs/exec.md");

    /// Clients learn the events from the table in the docs, so the table must be complete and exact.
    #[test]
    fn every_event_has_a_row_in_the_table_for_clients() {
        let (types, _) = SOURCE.split_once("#[cfg(test)]").unwrap();
        let mut names: BTreeSet<&str> =
            types.split("#[serde(rename = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() > 5 && names.insert("context.schema"), "{names:?}");
        let row = |line: &'static str| line.strip_prefix("| `")?.split('`').next();
        let rows: BTreeSet<&str> = PAGE.lines().filter_map(row).filter(|name| name.contains('.')).collect();
        assert_eq!(rows, names);
        let schema: serde_json::Value = serde_json::from_str(super::SCHEMA).unwrap();
        let listed =
            schema["anyOf"].as_array().unwrap().iter().filter_map(|it| it["$ref"].as_str()?.rsplit('/').next());
        assert_eq!(listed.collect::<BTreeSet<&str>>(), names, "every event has a schema");
        assert_eq!(schema["$id"], format!("urn:pellucid.context-events/{}", super::SCHEMA_VERSION));
    }
}
