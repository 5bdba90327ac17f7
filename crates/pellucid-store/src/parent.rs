//! The parent of a session: the one that it was forked from, or that started it as an agent.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::query::Page;
use crate::read;
use crate::read::ReadError;
use crate::summary::SessionSummary;

/// A parent, and how the session came from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParentSession {
    /// The id of the parent.
    pub id: String,
    /// `forked` for a copy, `started` for an agent that the parent started.
    pub how: &'static str,
}

impl ParentSession {
    /// The parent by what the first line of a session file says: the session it was forked from, and its client.
    pub fn of(forked_from: Option<&String>, source: &Value) -> Option<Self> {
        let started = source["subagent"]["thread_spawn"]["parent_thread_id"].as_str();
        let started = started.map(|id| Self { id: id.to_owned(), how: "started" });
        started.or_else(|| forked_from.map(|id| Self { id: id.clone(), how: "forked" }))
    }

    /// The parent of a session in a list.
    pub fn of_summary(summary: &SessionSummary) -> Option<Self> {
        let source = serde_json::from_str(&summary.source).unwrap_or_default();
        Self::of(summary.begun.forked_from.as_ref(), &source)
    }

    /// The parent of the session that has this file; absent if it was neither forked nor started by another.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_file(path: &Path) -> Result<Option<Self>, ReadError> {
        let meta = read::open_damaged(path)?.meta;
        Ok(Self::of(meta.forked_from_id.as_ref(), &meta.source))
    }
}

/// A page of a list as JSON, with the parent of every session.
///
/// # Errors
/// When a summary cannot be written as JSON.
pub fn page_json(page: &Page) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(page)?;
    if let Some(listed) = value["sessions"].as_array_mut() {
        for (session, summary) in listed.iter_mut().zip(&page.sessions) {
            session["parent"] = serde_json::to_value(ParentSession::of_summary(summary))?;
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_parent(forked_from: Option<&str>, source: &Value, expected: Option<(&str, &str)>) {
        let found = ParentSession::of(forked_from.map(str::to_owned).as_ref(), source);
        assert_eq!(found.as_ref().map(|it| (it.id.as_str(), it.how)), expected);
    }

    #[test]
    fn a_session_comes_from_the_one_that_started_or_was_copied_into_it() {
        let agent = json!({"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}});
        check_parent(None, &json!("exec"), None);
        check_parent(None, &json!({"subagent": "review"}), None);
        check_parent(Some("f"), &json!("cli"), Some(("f", "forked")));
        check_parent(None, &agent, Some(("p", "started")));
        check_parent(Some("f"), &agent, Some(("p", "started")));
    }
}
