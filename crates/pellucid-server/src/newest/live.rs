//! What a loaded session knows for clients of today: its status, when its turn and items began, its terminals.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use bytes::Bytes;
use pellucid_engine::command_line::joined;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::mcp::McpStartupStatus;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use super::members;
use super::notice::McpServerStartupState;
use super::notice::NewestNotification;
use super::notice::ThreadActiveFlag;
use super::notice::ThreadStatus;
use crate::rpc;
use crate::types::item::ThreadItem;
use crate::types::notification::ServerNotification;

/// How many items that have begun are remembered. Items of interrupted turns never end.
const ITEMS_MAX: usize = 4096;

/// A message for clients of today.
#[derive(Debug, Clone)]
pub(crate) struct NewestMessage {
    /// The JSON-RPC method.
    pub method: &'static str,
    pub message: Bytes,
}

/// A command whose terminal is open.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadBackgroundTerminal {
    /// The item of the command.
    pub item_id: String,
    /// The number of the terminal.
    pub process_id: String,
    /// The command, quoted for a shell.
    pub command: String,
    /// The working directory of the command.
    pub cwd: String,
    /// The system's id of the process; not known.
    pub os_pid: Option<u32>,
    /// The share of a processor that the process uses; not measured.
    pub cpu_percent: Option<f32>,
    /// The memory that the process uses; not measured.
    pub rss_kb: Option<u64>,
}

/// The state of a session that only clients of today receive.
#[derive(Debug, Default)]
pub(crate) struct Live {
    thread_id: String,
    turn: Option<RunningTurn>,
    /// When the items began that have not ended, in milliseconds of Unix time.
    items: BTreeMap<String, i64>,
    /// The calls of commands that the user runs.
    user_commands: BTreeSet<String>,
    terminals: BTreeMap<String, ThreadBackgroundTerminal>,
    /// What the open questions wait for, by the id of the request.
    questions: BTreeMap<i64, Option<ThreadActiveFlag>>,
}

/// A turn that clients know of.
#[derive(Debug)]
struct RunningTurn {
    id: String,
    began: i64,
    /// The last message of the model, with its times.
    last: Option<Value>,
}

impl Live {
    /// The state of a thread that has just been loaded.
    pub(crate) fn new(thread_id: &str) -> Self {
        Self { thread_id: thread_id.to_owned(), ..Self::default() }
    }

    /// What the thread does.
    pub(crate) fn status(&self) -> ThreadStatus {
        if self.turn.is_none() {
            return ThreadStatus::Idle;
        }
        let flags: BTreeSet<_> = self.questions.values().flatten().copied().collect();
        ThreadStatus::Active { active_flags: flags.into_iter().collect() }
    }

    /// The commands whose terminals are open, by number.
    pub(crate) fn terminals(&self) -> Vec<ThreadBackgroundTerminal> {
        let mut terminals: Vec<_> = self.terminals.values().cloned().collect();
        terminals.sort_by_key(|terminal| terminal.process_id.parse::<u32>().unwrap_or(u32::MAX));
        terminals
    }

    /// The turn that clients know of and that is not over.
    pub(crate) fn turn_id(&self) -> Option<String> {
        self.turn.as_ref().map(|turn| turn.id.clone())
    }

    /// Whether clients know of this turn.
    pub(crate) fn knows(&self, turn_id: &str) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.id == turn_id)
    }

    /// Notes a question to clients. Returns what clients of today receive before it.
    pub(crate) fn asked(&mut self, number: i64, flag: Option<ThreadActiveFlag>) -> Option<NewestNotification> {
        self.with_status(|live| live.questions.insert(number, flag)).1
    }

    /// Notes that a question needs no answer any more. Returns what clients of today receive.
    pub(crate) fn resolved(&mut self, number: i64) -> Vec<NewestNotification> {
        let (known, status) = self.with_status(|live| live.questions.remove(&number));
        if known.is_none() {
            return Vec::new();
        }
        let request_id = rpc::RequestId::Integer(number);
        let resolved = NewestNotification::ServerRequestResolved { thread_id: self.thread_id.clone(), request_id };
        std::iter::once(resolved).chain(status).collect()
    }

    /// Changes the state. If the status is another one then, its notification is returned too.
    fn with_status<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> (T, Option<NewestNotification>) {
        let before = self.status();
        let changed = change(self);
        let status = self.status();
        let thread_id = self.thread_id.clone();
        let notification = (status != before).then_some(NewestNotification::ThreadStatusChanged { thread_id, status });
        (changed, notification)
    }

    /// Notes an event. Returns what clients of today receive because of it, beside the notifications of 0.104.0.
    pub(crate) fn event(&mut self, event: &EventMessage) -> Option<NewestNotification> {
        match event {
            EventMessage::ExecCommandBegin(begin) => self.command_began(begin),
            EventMessage::ExecCommandEnd(end) => {
                self.terminals.remove(&end.begin.call_id);
            }
            EventMessage::Warning { message } => {
                let (thread_id, message) = (Some(self.thread_id.clone()), message.clone());
                return Some(NewestNotification::Warning { thread_id, message });
            }
            EventMessage::McpStartupUpdate { server, status } => {
                let (status, error) = match status {
                    McpStartupStatus::Starting => (McpServerStartupState::Starting, None),
                    McpStartupStatus::Ready => (McpServerStartupState::Ready, None),
                    McpStartupStatus::Failed { error } => (McpServerStartupState::Failed, Some(error.clone())),
                    McpStartupStatus::Cancelled => (McpServerStartupState::Cancelled, None),
                };
                let (thread_id, name) = (Some(self.thread_id.clone()), server.clone());
                let failure_reason = None;
                return Some(NewestNotification::McpServerStartupStatusUpdated {
                    thread_id,
                    name,
                    status,
                    error,
                    failure_reason,
                });
            }
            _ => {}
        }
        None
    }

    fn command_began(&mut self, begin: &ExecCommandBegin) {
        match (begin.source, &begin.process_id) {
            (ExecSource::UserShell, _) => {
                self.user_commands.insert(begin.call_id.clone());
            }
            (ExecSource::UnifiedExecStartup, Some(process_id)) => {
                let terminal = ThreadBackgroundTerminal {
                    item_id: begin.call_id.clone(),
                    process_id: process_id.clone(),
                    command: joined(&begin.command),
                    cwd: begin.cwd.to_string_lossy().into_owned(),
                    os_pid: None,
                    cpu_percent: None,
                    rss_kb: None,
                };
                self.terminals.insert(begin.call_id.clone(), terminal);
            }
            _ => {}
        }
    }

    /// Notes a notification of 0.104.0. Returns what clients of today receive for it, if any of them is there.
    pub(crate) fn notified(
        &mut self,
        notification: &ServerNotification,
        now: i64,
        is_wanted: bool,
    ) -> Vec<NewestMessage> {
        let mut value = Value::Null;
        if is_wanted {
            // Notifications are plain data with text keys, which can always be written.
            value = serde_json::to_value(notification).unwrap_or_default();
        }
        let params = &mut value["params"];
        let mut before = None;
        let mut after = None;
        match notification {
            ServerNotification::TurnStarted(started) => {
                if self.knows(&started.turn.id) {
                    return Vec::new();
                }
                let turn = RunningTurn { id: started.turn.id.clone(), began: now, last: None };
                before = self.with_status(|live| live.turn = Some(turn)).1;
                members::set(&mut params["turn"], "startedAt", json!(now / 1000));
                members::turn(&mut params["turn"]);
            }
            ServerNotification::TurnCompleted(completed) => {
                let turn = self.turn.take_if(|turn| turn.id == completed.turn.id);
                after = turn.is_some().then(|| NewestNotification::ThreadStatusChanged {
                    thread_id: self.thread_id.clone(),
                    status: self.status(),
                });
                self.turn_over(&mut params["turn"], turn, now);
            }
            ServerNotification::ItemStarted(started) => {
                self.item_started(&started.item, params, now);
            }
            ServerNotification::ItemCompleted(completed) => {
                self.item_completed(&completed.item, params, now);
            }
            ServerNotification::ThreadTokenUsageUpdated(_) => members::token_usage(&mut params["tokenUsage"]),
            _ => {}
        }
        if !is_wanted {
            return Vec::new();
        }
        let own = NewestMessage { method: notification.method(), message: stamped(value, now) };
        let encoded = |notification: NewestNotification| encoded(&notification, now);
        before.map(encoded).into_iter().chain([own]).chain(after.map(encoded)).collect()
    }

    fn turn_over(&mut self, value: &mut Value, turn: Option<RunningTurn>, now: i64) {
        let open: BTreeSet<&String> = self.terminals.keys().collect();
        // A map that is emptied keeps its memory, a new one has none.
        self.items = std::mem::take(&mut self.items).into_iter().filter(|(id, _)| open.contains(id)).collect();
        self.user_commands.clear();
        let began = turn.as_ref().map(|turn| turn.began);
        let last = turn.and_then(|turn| turn.last);
        members::set(value, "items", json!(last.into_iter().collect::<Vec<_>>()));
        members::set(value, "itemsView", json!("summary"));
        members::set(value, "startedAt", json!(began.map(|began| began / 1000)));
        members::set(value, "completedAt", json!(now / 1000));
        members::set(value, "durationMs", json!(began.map(|began| now - began)));
        members::turn(value);
    }

    fn item_started(&mut self, item: &ThreadItem, params: &mut Value, now: i64) {
        if self.items.len() < ITEMS_MAX {
            self.items.insert(item.id().to_owned(), now);
        }
        self.source_of(item, &mut params["item"]);
        members::set(&mut params["item"], "startedAtMs", json!(now));
        members::item(&mut params["item"]);
        members::set(params, "startedAtMs", json!(now));
    }

    fn item_completed(&mut self, item: &ThreadItem, params: &mut Value, now: i64) {
        let began = self.items.remove(item.id()).unwrap_or(now);
        self.source_of(item, &mut params["item"]);
        let timed = |value: &mut Value| {
            members::set(value, "startedAtMs", json!(began));
            members::set(value, "completedAtMs", json!(now));
            members::item(value);
        };
        timed(&mut params["item"]);
        members::set(params, "completedAtMs", json!(now));
        if let (ThreadItem::AgentMessage { .. }, Some(turn)) = (item, &mut self.turn) {
            // A client may join before the turn ends, so the message is kept even if no client needs it now.
            let mut last = serde_json::to_value(item).unwrap_or_default();
            timed(&mut last);
            turn.last = Some(last);
        }
    }

    /// Says that the user runs a command; all others are the model's.
    fn source_of(&self, item: &ThreadItem, value: &mut Value) {
        if matches!(item, ThreadItem::CommandExecution { id, .. } if self.user_commands.contains(id)) {
            members::set(value, "source", json!("userShell"));
        }
    }
}

/// A notification for clients of today, encoded.
pub(crate) fn encoded(notification: &NewestNotification, now: i64) -> NewestMessage {
    let value = serde_json::to_value(notification).unwrap_or_default();
    NewestMessage { method: notification.method(), message: stamped(value, now) }
}

/// A notification with the time at which it is sent.
pub(crate) fn stamped(mut value: Value, now: i64) -> Bytes {
    members::set(&mut value, "emittedAtMs", json!(now));
    rpc::encode(&value)
}

#[cfg(test)]
mod tests;
