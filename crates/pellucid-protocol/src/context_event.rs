//! What clients that ask for it are sent about the context of requests, as JSON.
//!
//! `exec --json --context-events` prints these objects as lines, and the app-server sends them as `context/event`. Both
//! take them from here, so a field means the same in either place.

use serde::Serialize;
use serde_json::Value;

use crate::cache::CacheVerdict;
use crate::event::CacheBreak;
use crate::event::ContextReport;
use crate::event::EventMessage;
use crate::failure::FailureCode;
use crate::id::SessionId;
use crate::usage::UsageSplit;

/// The version of these objects. It grows when one changes its meaning; new ones may come.
pub const SCHEMA_VERSION: u32 = 1;

/// An event about the context, with the session that it is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextMessage {
    /// What happened to the context.
    #[serde(flatten)]
    pub event: ContextEvent,
    /// In which session, if it is not the one that is being followed: a reviewer, or an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<SessionId>,
}

impl ContextMessage {
    /// The event as clients are sent it; absent if it is not about the context.
    pub fn of(event: &EventMessage) -> Option<Self> {
        let thread_id = match event {
            EventMessage::ContextElsewhere { thread_id, .. } => Some(thread_id.clone()),
            _ => None,
        };
        Some(Self { event: ContextEvent::of(event.in_session())?, thread_id })
    }
}

impl EventMessage {
    /// The same event, marked with the session that it happened in if it is about the context of that.
    #[must_use]
    pub fn of_session(self, id: &SessionId) -> Self {
        match ContextEvent::of(&self) {
            Some(_) => Self::ContextElsewhere { thread_id: id.clone(), event: Box::new(self) },
            None => self,
        }
    }

    /// The event as the session saw it in which it happened.
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
    /// What the request that is being sent is made of.
    #[serde(rename = "context.report")]
    Report {
        /// Its bytes, tokens, parts and rows.
        #[serde(flatten)]
        report: ContextReport,
    },
    /// Where that request differs from the one before; in a resumed session also from the last one of that.
    #[serde(rename = "context.cache_break")]
    CacheBreak {
        /// Where, why, and what is paid for again.
        #[serde(flatten)]
        broken: CacheBreak,
    },
    /// An instruction file of another folder joined.
    #[serde(rename = "context.document")]
    Document {
        /// Its path.
        path: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// How many bytes it has.
        bytes: usize,
        /// Its tokens, estimated.
        tokens: usize,
    },
    /// What an answer cost.
    #[serde(rename = "context.usage")]
    Usage {
        /// The request that was answered.
        request: UsageSplit,
        /// All requests of the session that its record knows.
        session: UsageSplit,
        /// What came of the provider's cache.
        cache: CacheVerdict,
    },
    /// Something that the model does not see.
    #[serde(rename = "context.omission")]
    Omission {
        /// The part it would have been in.
        part: String,
        /// What it is.
        what: String,
        /// Why the model does not see it.
        why: String,
        /// How many bytes are not seen.
        bytes: u64,
    },
    /// Text of a reply that broke off before its message was complete.
    #[serde(rename = "context.cut_off")]
    CutOff {
        /// The text that had arrived.
        text: String,
    },
    /// A call that was not done.
    #[serde(rename = "context.refusal")]
    Refusal {
        /// Which call.
        call_id: String,
        /// What was in its way.
        code: FailureCode,
        /// The same for people.
        why: String,
    },
    /// What a summary did to the history.
    #[serde(rename = "context.compaction")]
    Compaction {
        /// Tokens and items before and after, and what was lost.
        #[serde(flatten)]
        account: Value,
    },
    /// A message of the first context that is said again.
    #[serde(rename = "context.reinjection")]
    Reinjection {
        /// Its part.
        part: String,
        /// Why now.
        reason: String,
        /// The SHA-256 of its text.
        sha256: String,
        /// Its tokens, estimated.
        tokens: usize,
    },
    /// What became of something that was to be injected.
    #[serde(rename = "prompt_injection.item")]
    Injection {
        /// The account of it, without its content.
        #[serde(flatten)]
        account: Value,
    },
}

impl ContextEvent {
    /// The event as clients are sent it. Absent if it is not about the context, or only for people: what the first request of
    /// a resumed session pays for again is a cache break here.
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
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const SOURCE: &str = include_str!("context_event.rs");
    const PAGE: &str = include_str!("../../../docs/exec.md");

    /// Clients learn from the table which events there are, so none is missing and none is made up.
    #[test]
    fn every_event_has_a_row_in_the_table_for_clients() {
        let (types, _) = SOURCE.split_once("#[cfg(test)]").unwrap();
        let mut names: BTreeSet<&str> =
            types.split("#[serde(rename = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() > 5 && names.insert("context.schema"), "{names:?}");
        let row = |line: &'static str| line.strip_prefix("| `")?.split('`').next();
        let rows: BTreeSet<&str> = PAGE.lines().filter_map(row).filter(|name| name.contains('.')).collect();
        assert_eq!(rows, names);
    }
}
