//! A tool's line to other agents: who they are is the session's affair, this is what tools ask of them.
//!
//! Not here: the tools themselves (`spawn_agent`, `send_input`, `resume_agent`, `wait`, `close_agent`), and how an
//! agent is run.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use serde::Deserialize;
use serde::Serialize;
use tokio::sync::watch;

use crate::CallContext;
use crate::Failed;
use crate::agent_id;

/// A future that a tool waits for.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, AgentError>> + Send + 'a>>;

/// The agents that a session started.
pub trait Agents: Debug + Send + Sync {
    /// Whether this session may start agents, or is one at the last level itself.
    fn depth(&self) -> Depth;

    /// Starts an agent in a role, with its task.
    fn spawn<'a>(&'a self, role: Option<&'a str>, task: Vec<UserInput>) -> Doing<'a, SessionId>;

    /// Sends a message to an agent, and returns the id of the turn.
    fn send<'a>(&'a self, id: &'a SessionId, message: Vec<UserInput>) -> Doing<'a, TurnId>;

    /// Interrupts the current turn of an agent.
    fn interrupt<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()>;

    /// Opens a closed agent again. An open agent is not changed.
    fn resume<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()>;

    /// Shuts an agent down.
    fn close<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()>;

    /// How far an agent is, from now on.
    fn status(&self, id: &SessionId) -> watch::Receiver<AgentStatus>;
}

/// Whether agents may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Agents may start further agents.
    Left,
    /// This is the last level.
    Reached,
}

/// Why something cannot be done with an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// No role has this name.
    #[error("unknown agent_type '{0}'")]
    UnknownRole(String),
    /// The role's configuration cannot be used.
    #[error("agent type is currently not available")]
    RoleUnusable,
    /// No agent has this id.
    #[error("agent with id {0} not found")]
    NotFound(SessionId),
    /// The agent has ended.
    #[error("agent with id {0} is closed")]
    Closed(SessionId),
    /// As many are open as may be.
    #[error("agent thread limit reached (max {0})")]
    LimitReached(usize),
    /// This session cannot have agents.
    #[error("collab manager unavailable")]
    Unavailable,
    /// Any other error, as text.
    #[error("{0}")]
    Other(String),
}

impl AgentError {
    /// The answer to the model, for a call about an agent that should exist.
    pub(crate) fn answered(self) -> Failed {
        match self {
            Self::NotFound(_) | Self::Closed(_) | Self::Unavailable => Failed::Answered(self.to_string()),
            other => Failed::Answered(format!("collab tool failed: {other}")),
        }
    }
}

/// The message to an agent: a text or a list of items.
pub(crate) fn said(message: Option<String>, items: Option<Vec<UserInput>>) -> Result<Vec<UserInput>, Failed> {
    match (message, items) {
        (Some(_), Some(_)) => Err(Failed::answered("Provide either message or items, but not both")),
        (None, None) => Err(Failed::answered("Provide one of: message or items")),
        (Some(message), None) if message.trim().is_empty() => {
            Err(Failed::answered("Empty message can't be sent to an agent"))
        }
        (Some(message), None) => Ok(vec![UserInput::text(message)]),
        (None, Some(items)) if items.is_empty() => Err(Failed::answered("Items can't be empty")),
        (None, Some(items)) => Ok(items),
    }
}

/// The text of a message to an agent, for people.
pub(crate) fn shown(items: &[UserInput]) -> String {
    let line = |item: &UserInput| match item {
        UserInput::Text { text, .. } => text.clone(),
        UserInput::Image { .. } => "[image]".to_owned(),
        UserInput::LocalImage { path } => format!("[local_image:{}]", path.display()),
        UserInput::Skill { name, path } => format!("[skill:${name}]({})", path.display()),
        UserInput::Mention { name, path } => format!("[mention:${name}]({path})"),
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The id of an agent as the model wrote it.
pub(crate) fn parse_id(text: &str) -> Result<SessionId, Failed> {
    agent_id::parse(text).map_err(|error| Failed::Answered(error.to_string()))
}

/// The arguments of a tool that is about one agent.
#[derive(Debug, Deserialize)]
pub(crate) struct OneAgent {
    pub id: String,
}

/// The answer of a tool that is about one agent.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    pub status: AgentStatus,
}

/// An answer in JSON.
pub(crate) fn json(answer: &impl Serialize) -> Result<String, Failed> {
    serde_json::to_string(answer).map_err(|error| Failed::Fatal(error.to_string()))
}

impl CallContext {
    /// The agents of this session.
    pub(crate) fn agents(&self) -> Result<Arc<dyn Agents>, Failed> {
        self.situation.agents.clone().ok_or_else(|| Failed::Answered(AgentError::Unavailable.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::Mutex;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::bench::Bench;
    use crate::bench::function;

    const FIRST: &str = "00000000-0000-7000-8000-000000000001";
    const OPEN: &str = "00000000-0000-7000-8000-00000000000a";

    /// Agents that do nothing but write down what is asked of them.
    #[derive(Debug)]
    struct Paper {
        depth: Depth,
        fails_with: Option<AgentError>,
        known: BTreeMap<String, AgentStatus>,
        asked: Mutex<Vec<String>>,
    }

    impl Paper {
        fn with(status: AgentStatus) -> Self {
            let known = BTreeMap::from([(OPEN.to_owned(), status)]);
            Self { depth: Depth::Left, fails_with: None, known, asked: Mutex::default() }
        }

        fn failing(error: AgentError) -> Self {
            Self { fails_with: Some(error), ..Self::with(AgentStatus::Running) }
        }

        fn done<T: Send + 'static>(&self, asked: String, id: Option<&SessionId>, answer: T) -> Doing<'_, T> {
            self.asked.lock().unwrap().push(asked);
            let unknown = id.filter(|id| !self.known.contains_key(id.as_str())).cloned().map(AgentError::NotFound);
            let failed = self.fails_with.clone().or(unknown);
            Box::pin(async move { failed.map_or(Ok(answer), Err) })
        }
    }

    impl Agents for Paper {
        fn depth(&self) -> Depth {
            self.depth
        }

        fn spawn<'a>(&'a self, role: Option<&'a str>, task: Vec<UserInput>) -> Doing<'a, SessionId> {
            self.done(format!("spawn {role:?} {}", shown(&task)), None, SessionId::new(OPEN))
        }

        fn send<'a>(&'a self, id: &'a SessionId, message: Vec<UserInput>) -> Doing<'a, TurnId> {
            self.done(format!("send {}", shown(&message)), Some(id), TurnId::new("told"))
        }

        fn interrupt<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()> {
            self.done("interrupt".to_owned(), Some(id), ())
        }

        fn resume<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()> {
            self.done("resume".to_owned(), Some(id), ())
        }

        fn close<'a>(&'a self, id: &'a SessionId) -> Doing<'a, ()> {
            self.done("close".to_owned(), Some(id), ())
        }

        fn status(&self, id: &SessionId) -> watch::Receiver<AgentStatus> {
            let status = self.known.get(id.as_str()).cloned().unwrap_or(AgentStatus::NotFound);
            watch::channel(status).1
        }
    }

    /// Shows what is asked of the agents, what people see, and the answer.
    #[track_caller]
    fn check_call(agents: Paper, name: &str, arguments: &str, expected: &Expect) {
        let agents = Arc::new(agents);
        let mut bench = Bench::new();
        bench.situation.agents = Some(agents.clone());
        let shown = bench.show(&function(name, arguments));
        let asked: String = agents.asked.lock().unwrap().iter().map(|line| format!("{line}\n")).collect();
        expected.assert_eq(&(asked + &shown));
    }

    /// Checks the answers to the model for a table of arguments.
    #[track_caller]
    fn check_refused(table: &[(&str, &str)], expected: &Expect) {
        let mut bench = Bench::new();
        bench.situation.agents = Some(Arc::new(Paper::with(AgentStatus::Running)));
        let shown = |(name, arguments): &(&str, &str)| {
            let said = bench.show(&function(name, arguments));
            format!("{name} {arguments}\n    {}\n", said.lines().last().unwrap())
        };
        expected.assert_eq(&table.iter().map(shown).collect::<String>());
    }

    #[test]
    fn an_agent_is_started_in_a_role() {
        check_call(
            Paper::with(AgentStatus::PendingInit),
            "spawn_agent",
            r#"{"message":"Count.","agent_type":" worker "}"#,
            &expect![[r#"
                spawn Some("worker") Count.
                {"type":"collab_agent_spawn_begin","call_id":"c","sender_thread_id":"s","prompt":"Count."}
                {"type":"collab_agent_spawn_end","call_id":"c","sender_thread_id":"s","new_thread_id":"00000000-0000-7000-8000-00000000000a","prompt":"Count.","status":"pending_init"}
                => {"agent_id":"00000000-0000-7000-8000-00000000000a"}
            "#]],
        );
        check_call(
            Paper::with(AgentStatus::Running),
            "spawn_agent",
            r#"{"items":[{"type":"text","text":"Look:"},{"type":"image","image_url":"data:,"},{"type":"local_image","path":"/a.png"},{"type":"skill","name":"s","path":"/s/SKILL.md"},{"type":"mention","name":"m","path":"app://m"}],"agent_type":"  "}"#,
            &expect![[r#"
                spawn None Look:
                [image]
                [local_image:/a.png]
                [skill:$s](/s/SKILL.md)
                [mention:$m](app://m)
                {"type":"collab_agent_spawn_begin","call_id":"c","sender_thread_id":"s","prompt":"Look:\n[image]\n[local_image:/a.png]\n[skill:$s](/s/SKILL.md)\n[mention:$m](app://m)"}
                {"type":"collab_agent_spawn_end","call_id":"c","sender_thread_id":"s","new_thread_id":"00000000-0000-7000-8000-00000000000a","prompt":"Look:\n[image]\n[local_image:/a.png]\n[skill:$s](/s/SKILL.md)\n[mention:$m](app://m)","status":"running"}
                => {"agent_id":"00000000-0000-7000-8000-00000000000a"}
            "#]],
        );
    }

    #[test]
    fn an_agent_that_cannot_be_started_is_told_apart() {
        for (error, expected) in [
            (
                AgentError::LimitReached(6),
                expect![[r#"
                    spawn None Go.
                    {"type":"collab_agent_spawn_begin","call_id":"c","sender_thread_id":"s","prompt":"Go."}
                    {"type":"collab_agent_spawn_end","call_id":"c","sender_thread_id":"s","new_thread_id":null,"prompt":"Go.","status":"not_found"}
                    {"type":"tool_call_failed","call_id":"c","name":"spawn_agent","why":"the model got the reason"}
                    => collab spawn failed: agent thread limit reached (max 6)
                "#]],
            ),
            (
                AgentError::UnknownRole("x".to_owned()),
                expect![[r#"
                    spawn None Go.
                    {"type":"collab_agent_spawn_begin","call_id":"c","sender_thread_id":"s","prompt":"Go."}
                    {"type":"tool_call_failed","call_id":"c","name":"spawn_agent","why":"the model got the reason"}
                    => unknown agent_type 'x'
                "#]],
            ),
            (
                AgentError::RoleUnusable,
                expect![[r#"
                    spawn None Go.
                    {"type":"collab_agent_spawn_begin","call_id":"c","sender_thread_id":"s","prompt":"Go."}
                    {"type":"tool_call_failed","call_id":"c","name":"spawn_agent","why":"the model got the reason"}
                    => agent type is currently not available
                "#]],
            ),
            (
                AgentError::Unavailable,
                expect![[r#"
                    spawn None Go.
                    {"type":"collab_agent_spawn_begin","call_id":"c","sender_thread_id":"s","prompt":"Go."}
                    {"type":"collab_agent_spawn_end","call_id":"c","sender_thread_id":"s","new_thread_id":null,"prompt":"Go.","status":"not_found"}
                    {"type":"tool_call_failed","call_id":"c","name":"spawn_agent","why":"the model got the reason"}
                    => collab manager unavailable
                "#]],
            ),
        ] {
            check_call(Paper::failing(error), "spawn_agent", r#"{"message":"Go."}"#, &expected);
        }
        let reached = Paper { depth: Depth::Reached, ..Paper::with(AgentStatus::Running) };
        check_call(
            reached,
            "spawn_agent",
            r#"{"message":"Go."}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"spawn_agent","why":"the model got the reason"}
                => Agent depth limit reached. Solve the task yourself.
            "#]],
        );
    }

    #[test]
    fn an_agent_is_told_something() {
        let arguments = format!(r#"{{"id":"{OPEN}","message":"And then?","interrupt":true}}"#);
        check_call(
            Paper::with(AgentStatus::Running),
            "send_input",
            &arguments,
            &expect![[r#"
            interrupt
            send And then?
            {"type":"collab_agent_interaction_begin","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","prompt":"And then?"}
            {"type":"collab_agent_interaction_end","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","prompt":"And then?","status":"running"}
            => {"submission_id":"told"}
        "#]],
        );
        let arguments = format!(r#"{{"id":"{FIRST}","message":"Hello?"}}"#);
        check_call(
            Paper::with(AgentStatus::Running),
            "send_input",
            &arguments,
            &expect![[r#"
                send Hello?
                {"type":"collab_agent_interaction_begin","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-000000000001","prompt":"Hello?"}
                {"type":"collab_agent_interaction_end","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-000000000001","prompt":"Hello?","status":"not_found"}
                {"type":"tool_call_failed","call_id":"c","name":"send_input","why":"the model got the reason"}
                => agent with id 00000000-0000-7000-8000-000000000001 not found
            "#]],
        );
        let arguments = format!(r#"{{"id":"{FIRST}","message":"Hello?","interrupt":true}}"#);
        check_call(
            Paper::with(AgentStatus::Running),
            "send_input",
            &arguments,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"send_input","why":"the model got the reason"}
                => agent with id 00000000-0000-7000-8000-000000000001 not found
            "#]],
        );
        let closed = AgentError::Closed(SessionId::new(OPEN));
        let arguments = format!(r#"{{"id":"{OPEN}","message":"Hello?"}}"#);
        check_call(
            Paper::failing(closed),
            "send_input",
            &arguments,
            &expect![[r#"
                send Hello?
                {"type":"collab_agent_interaction_begin","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","prompt":"Hello?"}
                {"type":"collab_agent_interaction_end","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","prompt":"Hello?","status":"running"}
                {"type":"tool_call_failed","call_id":"c","name":"send_input","why":"the model got the reason"}
                => agent with id 00000000-0000-7000-8000-00000000000a is closed
            "#]],
        );
    }

    #[test]
    fn an_agent_is_closed_and_opened_again() {
        let arguments = format!(r#"{{"id":"{OPEN}"}}"#);
        let done = AgentStatus::Completed(Some("Twelve.".to_owned()));
        check_call(
            Paper::with(done),
            "close_agent",
            &arguments,
            &expect![[r#"
            close
            {"type":"collab_close_begin","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a"}
            {"type":"collab_close_end","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","status":{"completed":"Twelve."}}
            => {"status":{"completed":"Twelve."}}
        "#]],
        );
        check_call(
            Paper::with(AgentStatus::PendingInit),
            "resume_agent",
            &arguments,
            &expect![[r#"
            resume
            {"type":"collab_resume_begin","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a"}
            {"type":"collab_resume_end","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","status":"pending_init"}
            => {"status":"pending_init"}
        "#]],
        );
        let limit = AgentError::LimitReached(1);
        check_call(
            Paper::failing(limit),
            "resume_agent",
            &arguments,
            &expect![[r#"
                resume
                {"type":"collab_resume_begin","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a"}
                {"type":"collab_resume_end","call_id":"c","sender_thread_id":"s","receiver_thread_id":"00000000-0000-7000-8000-00000000000a","status":"running"}
                {"type":"tool_call_failed","call_id":"c","name":"resume_agent","why":"the model got the reason"}
                => collab tool failed: agent thread limit reached (max 1)
            "#]],
        );
    }

    #[test]
    fn those_that_have_finished_are_not_waited_for() {
        let arguments = format!(r#"{{"ids":["{OPEN}","{FIRST}"]}}"#);
        check_call(
            Paper::with(AgentStatus::Running),
            "wait",
            &arguments,
            &expect![[r#"
            {"type":"collab_waiting_begin","sender_thread_id":"s","receiver_thread_ids":["00000000-0000-7000-8000-00000000000a","00000000-0000-7000-8000-000000000001"],"call_id":"c"}
            {"type":"collab_waiting_end","sender_thread_id":"s","call_id":"c","statuses":{"00000000-0000-7000-8000-000000000001":"not_found"}}
            => {"status":{"00000000-0000-7000-8000-000000000001":"not_found"},"timed_out":false}
        "#]],
        );
        check_call(
            Paper::with(AgentStatus::Errored("no".to_owned())),
            "wait",
            &arguments,
            &expect![[r#"
            {"type":"collab_waiting_begin","sender_thread_id":"s","receiver_thread_ids":["00000000-0000-7000-8000-00000000000a","00000000-0000-7000-8000-000000000001"],"call_id":"c"}
            {"type":"collab_waiting_end","sender_thread_id":"s","call_id":"c","statuses":{"00000000-0000-7000-8000-000000000001":"not_found","00000000-0000-7000-8000-00000000000a":{"errored":"no"}}}
            => {"status":{"00000000-0000-7000-8000-000000000001":"not_found","00000000-0000-7000-8000-00000000000a":{"errored":"no"}},"timed_out":false}
        "#]],
        );
    }

    #[test]
    fn wrong_arguments_are_answered_in_words() {
        check_refused(
            &[
                ("spawn_agent", "{}"),
                ("spawn_agent", r#"{"message":"a","items":[]}"#),
                ("spawn_agent", r#"{"items":[]}"#),
                ("spawn_agent", r#"{"message":" "}"#),
                ("spawn_agent", r#"{"items":[{"type":"bogus"}]}"#),
                ("spawn_agent", r#"{"items":[{"type":"text"}]}"#),
                ("send_input", r#"{"id":"x","message":"a","items":[]}"#),
                ("send_input", r#"{"id":"00000000-0000-7000-8000-000000000001"}"#),
                ("close_agent", "{}"),
                ("close_agent", r#"{"id":"00000000-0000-7000-8000-00000000000g"}"#),
                ("close_agent", r#"{"id":"00000000000070008000000000000001"}"#),
                ("close_agent", r#"{"id":"{00000000-0000-7000-8000-000000000001"}"#),
                ("resume_agent", r#"{"id":""}"#),
                ("resume_agent", r#"{"id":"00000000-0000-7000-8000-000000000001"}"#),
                ("wait", "{}"),
                ("wait", r#"{"ids":[],"timeout_ms":0}"#),
                ("wait", r#"{"ids":["a"],"timeout_ms":0}"#),
                ("wait", r#"{"ids":["00000000-0000-7000-8000-000000000001"],"timeout_ms":0}"#),
            ],
            &expect![[r#"
                spawn_agent {}
                    => Provide one of: message or items
                spawn_agent {"message":"a","items":[]}
                    => Provide either message or items, but not both
                spawn_agent {"items":[]}
                    => Items can't be empty
                spawn_agent {"message":" "}
                    => Empty message can't be sent to an agent
                spawn_agent {"items":[{"type":"bogus"}]}
                    => failed to parse function arguments: unknown variant `bogus`, expected one of `text`, `image`, `local_image`, `skill`, `mention` at line 1 column 25
                spawn_agent {"items":[{"type":"text"}]}
                    => failed to parse function arguments: missing field `text` at line 1 column 26
                send_input {"id":"x","message":"a","items":[]}
                    => invalid agent id x: Error(ParseChar { character: 'x', index: 1 })
                send_input {"id":"00000000-0000-7000-8000-000000000001"}
                    => Provide one of: message or items
                close_agent {}
                    => failed to parse function arguments: missing field `id` at line 1 column 2
                close_agent {"id":"00000000-0000-7000-8000-00000000000g"}
                    => invalid agent id 00000000-0000-7000-8000-00000000000g: Error(ParseChar { character: 'g', index: 36 })
                close_agent {"id":"00000000000070008000000000000001"}
                    => agent with id 00000000-0000-7000-8000-000000000001 not found
                close_agent {"id":"{00000000-0000-7000-8000-000000000001"}
                    => invalid agent id {00000000-0000-7000-8000-000000000001: Error(ParseChar { character: '{', index: 1 })
                resume_agent {"id":""}
                    => invalid agent id : Error(ParseSimpleLength { len: 0 })
                resume_agent {"id":"00000000-0000-7000-8000-000000000001"}
                    => agent with id 00000000-0000-7000-8000-000000000001 not found
                wait {}
                    => failed to parse function arguments: missing field `ids` at line 1 column 2
                wait {"ids":[],"timeout_ms":0}
                    => ids must be non-empty
                wait {"ids":["a"],"timeout_ms":0}
                    => invalid agent id a: Error(ParseSimpleLength { len: 1 })
                wait {"ids":["00000000-0000-7000-8000-000000000001"],"timeout_ms":0}
                    => timeout_ms must be greater than zero
            "#]],
        );
    }

    #[test]
    fn a_session_that_cannot_have_agents_says_so() {
        let shown = Bench::new().show(&function("close_agent", &format!(r#"{{"id":"{OPEN}"}}"#)));
        assert_eq!(shown.lines().last(), Some("=> collab manager unavailable"));
    }
}
