//! Calls that are about other agents: as items for programs, and as lines for people.

use std::collections::BTreeMap;

use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use serde::Serialize;

/// Longer texts are cut to this many characters for people.
const SHOWN_CHARS: usize = 160;

/// A call that began or ended.
#[derive(Debug)]
pub struct CollabCall {
    /// The id of the tool call.
    pub call_id: String,
    /// The progress of the call.
    pub phase: CollabPhase,
    /// The item as the JSON stream shows it.
    pub item: CollabItem,
    /// Whether one agent is meant, or several.
    meant: Meant,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollabPhase {
    Began,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    NewOne,
    One,
    Several,
}

/// A call as programs see it.
#[derive(Debug, Serialize)]
pub struct CollabItem {
    pub tool: &'static str,
    pub sender_thread_id: SessionId,
    pub receiver_thread_ids: Vec<SessionId>,
    pub prompt: Option<String>,
    pub agents_states: BTreeMap<SessionId, AgentState>,
    pub status: &'static str,
}

/// An agent as programs see it.
#[derive(Debug, Serialize)]
pub struct AgentState {
    pub status: &'static str,
    pub message: Option<String>,
}

impl CollabCall {
    /// The call that an event is about. That an agent is opened again is not shown.
    pub fn of(event: &EventMessage) -> Option<Self> {
        Some(match event {
            EventMessage::CollabAgentSpawnBegin { call_id, sender_thread_id, prompt } => {
                began("spawn_agent", Meant::NewOne, call_id, sender_thread_id, &[]).prompted(prompt)
            }
            EventMessage::CollabAgentSpawnEnd { call_id, sender_thread_id, new_thread_id, prompt, status } => {
                let states = new_thread_id.iter().map(|id| (id, status));
                let mut call = ended("spawn_agent", Meant::NewOne, call_id, sender_thread_id, states).prompted(prompt);
                if new_thread_id.is_none() {
                    call.item.status = "failed";
                }
                call
            }
            EventMessage::CollabAgentInteractionBegin { call_id, sender_thread_id, receiver_thread_id, prompt } => {
                let receivers = std::slice::from_ref(receiver_thread_id);
                began("send_input", Meant::One, call_id, sender_thread_id, receivers).prompted(prompt)
            }
            EventMessage::CollabAgentInteractionEnd {
                call_id,
                sender_thread_id,
                receiver_thread_id,
                prompt,
                status,
            } => {
                let states = [(receiver_thread_id, status)];
                ended("send_input", Meant::One, call_id, sender_thread_id, states).prompted(prompt)
            }
            EventMessage::CollabWaitingBegin { sender_thread_id, receiver_thread_ids, call_id } => {
                began("wait", Meant::Several, call_id, sender_thread_id, receiver_thread_ids)
            }
            EventMessage::CollabWaitingEnd { sender_thread_id, call_id, statuses } => {
                ended("wait", Meant::Several, call_id, sender_thread_id, statuses)
            }
            EventMessage::CollabCloseBegin { call_id, sender_thread_id, receiver_thread_id } => {
                let receivers = std::slice::from_ref(receiver_thread_id);
                began("close_agent", Meant::One, call_id, sender_thread_id, receivers)
            }
            EventMessage::CollabCloseEnd { call_id, sender_thread_id, receiver_thread_id, status } => {
                ended("close_agent", Meant::One, call_id, sender_thread_id, [(receiver_thread_id, status)])
            }
            _ => return None,
        })
    }

    fn prompted(mut self, prompt: &str) -> Self {
        self.item.prompt = Some(prompt.to_owned());
        self
    }

    /// Whether the call failed.
    pub fn is_failure(&self) -> bool {
        self.item.status == "failed"
    }

    /// The lines that people see: the first is a title.
    pub fn lines(&self) -> Vec<String> {
        let CollabItem { tool, prompt, receiver_thread_ids, agents_states, .. } = &self.item;
        let call = match prompt {
            Some(prompt) => format!("{tool}({}, prompt=\"{}\")", self.call_id, short(prompt)),
            None => format!("{tool}({})", self.call_id),
        };
        let receivers = receiver_thread_ids.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", ");
        let state = || agents_states.values().next().map_or_else(|| "failed".to_owned(), AgentState::in_words);
        match (self.phase, self.meant) {
            (CollabPhase::Began, Meant::NewOne) => vec![format!("collab {call}")],
            (CollabPhase::Began, Meant::One) => vec![format!("collab {call}"), format!("  receiver: {receivers}")],
            (CollabPhase::Began, Meant::Several) => vec![format!("collab {call}"), format!("  receivers: {receivers}")],
            (CollabPhase::Ended, Meant::Several) if agents_states.is_empty() => vec![format!("{call} timed out:")],
            (CollabPhase::Ended, Meant::Several) => {
                let title = format!("{call} {} agents complete:", agents_states.len());
                let agents = agents_states.iter().map(|(id, state)| format!("  {id} {}", state.in_words()));
                [title].into_iter().chain(agents).collect()
            }
            (CollabPhase::Ended, meant) => {
                let name = if meant == Meant::NewOne { "agent" } else { "receiver" };
                let agent = (!receivers.is_empty()).then(|| format!("  {name}: {receivers}"));
                [format!("{call} {}:", state())].into_iter().chain(agent).collect()
            }
        }
    }
}

impl AgentState {
    fn of(status: &AgentStatus) -> Self {
        let (status, message) = match status {
            AgentStatus::PendingInit => ("pending_init", None),
            AgentStatus::Running => ("running", None),
            AgentStatus::Completed(message) => ("completed", message.clone()),
            AgentStatus::Errored(message) => ("errored", Some(message.clone())),
            AgentStatus::Shutdown => ("shutdown", None),
            AgentStatus::NotFound => ("not_found", None),
        };
        Self { status, message }
    }

    fn in_words(&self) -> String {
        let words = self.status.replace('_', " ");
        match &self.message {
            Some(message) => format!("{words}: \"{}\"", short(message)),
            None => words,
        }
    }
}

fn began(tool: &'static str, meant: Meant, call_id: &str, sender: &SessionId, receivers: &[SessionId]) -> CollabCall {
    let item = CollabItem {
        tool,
        sender_thread_id: sender.clone(),
        receiver_thread_ids: receivers.to_vec(),
        prompt: None,
        agents_states: BTreeMap::new(),
        status: "in_progress",
    };
    CollabCall { call_id: call_id.to_owned(), phase: CollabPhase::Began, item, meant }
}

fn ended<'a>(
    tool: &'static str,
    meant: Meant,
    call_id: &str,
    sender: &SessionId,
    agents: impl IntoIterator<Item = (&'a SessionId, &'a AgentStatus)>,
) -> CollabCall {
    let agents: BTreeMap<_, _> = agents.into_iter().collect();
    let is_failure = agents.values().any(|status| status.is_failure());
    let item = CollabItem {
        tool,
        sender_thread_id: sender.clone(),
        receiver_thread_ids: agents.keys().map(|id| (*id).clone()).collect(),
        prompt: None,
        agents_states: agents.into_iter().map(|(id, status)| (id.clone(), AgentState::of(status))).collect(),
        status: if is_failure { "failed" } else { "completed" },
    };
    CollabCall { call_id: call_id.to_owned(), phase: CollabPhase::Ended, item, meant }
}

/// The beginning of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    /// Events as values, and for each the item and the lines.
    #[track_caller]
    fn check_shown(events: &[serde_json::Value], expected: &Expect) {
        let mut shown = String::new();
        for event in events {
            let event: EventMessage = serde_json::from_value(event.clone()).unwrap();
            match CollabCall::of(&event) {
                Some(call) => {
                    shown += &format!("{}\n", serde_json::to_string(&call.item).unwrap());
                    call.lines().iter().for_each(|line| shown += &format!("    {line}\n"));
                }
                None => shown += "nothing\n",
            }
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn an_agent_is_started_told_and_closed() {
        let spawn = |status, id| {
            json!({ "type": "collab_agent_spawn_end", "call_id": "c", "sender_thread_id": "s", "new_thread_id": id,
                    "prompt": "Count.", "status": status })
        };
        check_shown(
            &[
                json!({ "type": "collab_agent_spawn_begin", "call_id": "c", "sender_thread_id": "s", "prompt": "Count." }),
                spawn(json!("pending_init"), Some("a")),
                spawn(json!("not_found"), None),
                json!({ "type": "collab_agent_interaction_begin", "call_id": "d", "sender_thread_id": "s",
                        "receiver_thread_id": "a", "prompt": "x".repeat(200) }),
                json!({ "type": "collab_agent_interaction_end", "call_id": "d", "sender_thread_id": "s",
                        "receiver_thread_id": "a", "prompt": "More.", "status": "running" }),
                json!({ "type": "collab_close_begin", "call_id": "e", "sender_thread_id": "s", "receiver_thread_id": "a" }),
                json!({ "type": "collab_close_end", "call_id": "e", "sender_thread_id": "s", "receiver_thread_id": "a",
                        "status": { "errored": "no" } }),
                json!({ "type": "collab_resume_begin", "call_id": "f", "sender_thread_id": "s", "receiver_thread_id": "a" }),
            ],
            &expect![[r#"
                {"tool":"spawn_agent","sender_thread_id":"s","receiver_thread_ids":[],"prompt":"Count.","agents_states":{},"status":"in_progress"}
                    collab spawn_agent(c, prompt="Count.")
                {"tool":"spawn_agent","sender_thread_id":"s","receiver_thread_ids":["a"],"prompt":"Count.","agents_states":{"a":{"status":"pending_init","message":null}},"status":"completed"}
                    spawn_agent(c, prompt="Count.") pending init:
                      agent: a
                {"tool":"spawn_agent","sender_thread_id":"s","receiver_thread_ids":[],"prompt":"Count.","agents_states":{},"status":"failed"}
                    spawn_agent(c, prompt="Count.") failed:
                {"tool":"send_input","sender_thread_id":"s","receiver_thread_ids":["a"],"prompt":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","agents_states":{},"status":"in_progress"}
                    collab send_input(d, prompt="xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…")
                      receiver: a
                {"tool":"send_input","sender_thread_id":"s","receiver_thread_ids":["a"],"prompt":"More.","agents_states":{"a":{"status":"running","message":null}},"status":"completed"}
                    send_input(d, prompt="More.") running:
                      receiver: a
                {"tool":"close_agent","sender_thread_id":"s","receiver_thread_ids":["a"],"prompt":null,"agents_states":{},"status":"in_progress"}
                    collab close_agent(e)
                      receiver: a
                {"tool":"close_agent","sender_thread_id":"s","receiver_thread_ids":["a"],"prompt":null,"agents_states":{"a":{"status":"errored","message":"no"}},"status":"failed"}
                    close_agent(e) errored: "no":
                      receiver: a
                nothing
            "#]],
        );
    }

    #[test]
    fn agents_are_waited_for() {
        let end = |statuses| json!({ "type": "collab_waiting_end", "sender_thread_id": "s", "call_id": "w", "statuses": statuses });
        check_shown(
            &[
                json!({ "type": "collab_waiting_begin", "sender_thread_id": "s", "receiver_thread_ids": ["b", "a"], "call_id": "w" }),
                end(json!({ "a": { "completed": "Twelve." }, "b": { "completed": null }, "c": "shutdown" })),
                end(json!({ "a": "not_found" })),
                end(json!({})),
            ],
            &expect![[r#"
                {"tool":"wait","sender_thread_id":"s","receiver_thread_ids":["b","a"],"prompt":null,"agents_states":{},"status":"in_progress"}
                    collab wait(w)
                      receivers: b, a
                {"tool":"wait","sender_thread_id":"s","receiver_thread_ids":["a","b","c"],"prompt":null,"agents_states":{"a":{"status":"completed","message":"Twelve."},"b":{"status":"completed","message":null},"c":{"status":"shutdown","message":null}},"status":"completed"}
                    wait(w) 3 agents complete:
                      a completed: "Twelve."
                      b completed
                      c shutdown
                {"tool":"wait","sender_thread_id":"s","receiver_thread_ids":["a"],"prompt":null,"agents_states":{"a":{"status":"not_found","message":null}},"status":"failed"}
                    wait(w) 1 agents complete:
                      a not found
                {"tool":"wait","sender_thread_id":"s","receiver_thread_ids":[],"prompt":null,"agents_states":{},"status":"completed"}
                    wait(w) timed out:
            "#]],
        );
    }
}
