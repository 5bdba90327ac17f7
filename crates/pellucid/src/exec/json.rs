//! Events as JSON lines on standard output, in the form that clients of `exec --json` expect.
//!
//! Items are numbered in the order in which they appear. A plan is one item that is started,
//! updated and, at the end of the turn, completed.

use pellucid_engine::command_line::joined;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::context_event::ContextMessage;
use pellucid_protocol::context_event::SCHEMA_VERSION;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::StepStatus;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::item::WebSearchAction;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::usage::TokenUsage;
use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::Value;

use crate::exec::collab::CollabCall;
use crate::exec::collab::CollabItem;
use crate::exec::collab::CollabPhase;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;

/// Shows events to a program.
#[derive(Debug, Default)]
pub struct Json {
    n_items: usize,
    plan: Option<(String, PlanUpdate)>,
    searches: Vec<(String, String)>,
    /// Commands that run, by call, with the ids of their items.
    commands: Vec<(String, String, ExecCommandBegin)>,
    /// Calls about other agents, with the ids of their items.
    collab_calls: Vec<(String, String)>,
    /// Calls of servers' tools that run, with the ids of their items.
    server_calls: Vec<(String, String)>,
    usage: TokenUsage,
    error: Option<(String, pellucid_protocol::failure::Failure)>,
    /// Whether the stream also says what requests are made of.
    has_context: bool,
}

impl Json {
    pub fn new(has_context: bool) -> Self {
        Self { has_context, ..Self::default() }
    }

    pub fn event(&mut self, event: &EventMessage) -> Result<(), ProgramFailure> {
        let mut text = String::new();
        for line in self.lines(event) {
            text += &serde_json::to_string(&line).map_err(|error| ProgramFailure::new(error.to_string()))?;
            text.push('\n');
        }
        if text.is_empty() {
            return Ok(());
        }
        // A program that reads events needs all of them, so a closed pipe is a failure here.
        StandardStream::Out
            .write(&text, OutputFormat::Json)
            .map_err(|error| ProgramFailure::new(format!("events cannot be printed: {error}")))
    }

    /// The lines for an event.
    fn lines(&mut self, event: &EventMessage) -> Vec<Line> {
        if self.has_context
            && let Some(event) = ContextMessage::of(event)
        {
            return vec![Line::Context(event)];
        }
        match event {
            EventMessage::SessionConfigured(session) => {
                let schema = self.has_context.then_some(Line::ContextSchema { version: SCHEMA_VERSION });
                let started = Line::ThreadStarted { thread_id: session.session_id.to_string() };
                schema.into_iter().chain([started]).collect()
            }
            EventMessage::TaskStarted { .. } => {
                self.error = None;
                vec![Line::TurnStarted]
            }
            EventMessage::AgentMessage { message } => {
                vec![self.completed(Details::AgentMessage { text: message.clone() })]
            }
            EventMessage::AgentReasoning { text } => vec![self.completed(Details::Reasoning { text: text.clone() })],
            EventMessage::Warning { message } => vec![self.completed(Details::Error { message: message.clone() })],
            EventMessage::WebSearchBegin { call_id } => {
                let id = self.next_id();
                self.searches.push((call_id.clone(), id.clone()));
                let details = search(call_id, "", &WebSearchAction::Other);
                vec![Line::ItemStarted { item: Item { id, details } }]
            }
            EventMessage::WebSearchEnd { call_id, query, action } => {
                let known = self.searches.iter().position(|(known, _)| known == call_id);
                let id = match known {
                    Some(at) => self.searches.remove(at).1,
                    None => self.next_id(),
                };
                vec![Line::ItemCompleted { item: Item { id, details: search(call_id, query, action) } }]
            }
            EventMessage::PlanUpdate(plan) => vec![self.plan(plan)],
            EventMessage::ExecCommandBegin(begin) => {
                let id = self.next_id();
                self.commands.push((begin.call_id.clone(), id.clone(), begin.clone()));
                vec![Line::ItemStarted { item: Item { id, details: command(begin, Ran::Running) } }]
            }
            EventMessage::ExecCommandEnd(end) => {
                let known = self.commands.iter().position(|(call_id, ..)| *call_id == end.begin.call_id);
                // An end without a beginning belongs to a call that was refused.
                let Some(at) = known else { return Vec::new() };
                let (_, id, _) = self.commands.remove(at);
                vec![Line::ItemCompleted { item: Item { id, details: command(&end.begin, Ran::Ended(end)) } }]
            }
            EventMessage::PatchApplyEnd(end) => {
                let mut changes: Vec<_> = end
                    .changes
                    .iter()
                    .map(|(path, change)| PathChange {
                        path: path.to_string_lossy().into_owned(),
                        kind: match change {
                            FileChange::Add { .. } => "add",
                            FileChange::Delete { .. } => "delete",
                            FileChange::Update { .. } => "update",
                        },
                    })
                    .collect();
                // Paths compare by their parts, texts by their characters.
                changes.sort_by(|a, b| a.path.cmp(&b.path));
                let status = if end.success { "completed" } else { "failed" };
                vec![self.completed(Details::FileChange { changes, status })]
            }
            EventMessage::McpToolCallBegin(begin) => {
                let id = self.next_id();
                self.server_calls.push((begin.call_id.clone(), id.clone()));
                let details = Details::McpToolCall { invocation: begin.invocation.clone(), end: None };
                vec![Line::ItemStarted { item: Item { id, details } }]
            }
            EventMessage::McpToolCallEnd(end) => {
                let known = self.server_calls.iter().position(|(call_id, _)| *call_id == end.call_id);
                let id = match known {
                    Some(at) => self.server_calls.remove(at).1,
                    None => self.next_id(),
                };
                let (invocation, end) = (end.invocation.clone(), Some(end.result.clone()));
                vec![Line::ItemCompleted { item: Item { id, details: Details::McpToolCall { invocation, end } } }]
            }
            EventMessage::TokenCount { info: Some(info), .. } => {
                self.usage = info.total_token_usage;
                Vec::new()
            }
            EventMessage::Error { message, failure, .. } => {
                self.error = Some((message.clone(), failure.clone()));
                vec![Line::Error { message: message.clone() }]
            }
            EventMessage::StreamError { message, additional_details, .. } => {
                let message = match additional_details {
                    Some(details) => format!("{message} ({details})"),
                    None => message.clone(),
                };
                vec![Line::Error { message }]
            }
            EventMessage::TaskComplete { .. } => self.turn_over(),
            other => CollabCall::of(other).map(|call| self.collab(call)).into_iter().collect(),
        }
    }

    fn plan(&mut self, plan: &PlanUpdate) -> Line {
        match &mut self.plan {
            Some((id, known)) => {
                known.clone_from(plan);
                Line::ItemUpdated { item: Item { id: id.clone(), details: todo_list(plan) } }
            }
            None => {
                let id = self.next_id();
                self.plan = Some((id.clone(), plan.clone()));
                Line::ItemStarted { item: Item { id, details: todo_list(plan) } }
            }
        }
    }

    fn collab(&mut self, call: CollabCall) -> Line {
        let known = self.collab_calls.iter().position(|(known, _)| *known == call.call_id);
        let id = match known {
            Some(at) => self.collab_calls.remove(at).1,
            None => self.next_id(),
        };
        let item = Item { id: id.clone(), details: Details::Collab(call.item) };
        match call.phase {
            CollabPhase::Began => {
                self.collab_calls.push((call.call_id, id));
                Line::ItemStarted { item }
            }
            CollabPhase::Ended => Line::ItemCompleted { item },
        }
    }

    fn turn_over(&mut self) -> Vec<Line> {
        // Commands that still run are reported as left running.
        let left: Vec<Line> = std::mem::take(&mut self.commands)
            .into_iter()
            .map(|(_, id, begin)| Line::ItemCompleted { item: Item { id, details: command(&begin, Ran::Left) } })
            .collect();
        let plan = self.plan.take();
        let plan = plan.map(|(id, plan)| Line::ItemCompleted { item: Item { id, details: todo_list(&plan) } });
        let end = match self.error.take() {
            Some((message, failure)) => {
                let ours = self.has_context.then_some(failure);
                let code = ours.as_ref().map(|failure| failure.code);
                let explanation = ours.and_then(|failure| failure.plain);
                Line::TurnFailed { error: TurnError { message }, code, explanation }
            }
            None => Line::TurnCompleted {
                usage: Usage {
                    input_tokens: self.usage.input_tokens,
                    cached_input_tokens: self.usage.cached_input_tokens,
                    output_tokens: self.usage.output_tokens,
                },
            },
        };
        plan.into_iter().chain(left).chain([end]).collect()
    }

    fn completed(&mut self, details: Details) -> Line {
        Line::ItemCompleted { item: Item { id: self.next_id(), details } }
    }

    fn next_id(&mut self) -> String {
        let id = format!("item_{}", self.n_items);
        self.n_items += 1;
        id
    }
}

fn todo_list(plan: &PlanUpdate) -> Details {
    let todo = |step: &pellucid_protocol::event::PlanStep| Todo {
        text: step.step.clone(),
        completed: step.status == StepStatus::Completed,
    };
    Details::TodoList { items: plan.plan.iter().map(todo).collect() }
}

/// How far a command is.
#[derive(Clone, Copy)]
enum Ran<'a> {
    Running,
    Ended(&'a ExecCommandEnd),
    Left,
}

fn command(begin: &ExecCommandBegin, ran: Ran<'_>) -> Details {
    let (aggregated_output, exit_code, status) = match ran {
        Ran::Running => (String::new(), None, "in_progress"),
        Ran::Left => (String::new(), None, "completed"),
        Ran::Ended(end) => {
            let status = if end.exit_code == 0 { "completed" } else { "failed" };
            (end.aggregated_output.clone(), Some(end.exit_code), status)
        }
    };
    Details::Command { command: joined(&begin.command), aggregated_output, exit_code, status }
}

fn search(call_id: &str, query: &str, action: &WebSearchAction) -> Details {
    Details::WebSearch { call_id: call_id.to_owned(), query: query.to_owned(), action: action.clone() }
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Line {
    #[serde(rename = "thread.started")]
    ThreadStarted { thread_id: String },
    #[serde(rename = "turn.started")]
    TurnStarted,
    #[serde(rename = "turn.completed")]
    TurnCompleted { usage: Usage },
    #[serde(rename = "turn.failed")]
    TurnFailed {
        error: TurnError,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<FailureCode>,
        #[serde(skip_serializing_if = "Option::is_none")]
        explanation: Option<String>,
    },
    #[serde(rename = "item.started")]
    ItemStarted { item: Item },
    #[serde(rename = "item.updated")]
    ItemUpdated { item: Item },
    #[serde(rename = "item.completed")]
    ItemCompleted { item: Item },
    #[serde(rename = "error")]
    Error { message: String },
    #[serde(rename = "context.schema")]
    ContextSchema { version: u32 },
    #[serde(untagged)]
    Context(ContextMessage),
}

#[derive(Serialize)]
struct Usage {
    input_tokens: i64,
    cached_input_tokens: i64,
    output_tokens: i64,
}

#[derive(Serialize)]
struct TurnError {
    message: String,
}

struct Item {
    id: String,
    details: Details,
}

enum Details {
    AgentMessage {
        text: String,
    },
    Reasoning {
        text: String,
    },
    TodoList {
        items: Vec<Todo>,
    },
    Command {
        command: String,
        aggregated_output: String,
        exit_code: Option<i32>,
        status: &'static str,
    },
    FileChange {
        changes: Vec<PathChange>,
        status: &'static str,
    },
    WebSearch {
        call_id: String,
        query: String,
        action: WebSearchAction,
    },
    Collab(CollabItem),
    /// A call of an MCP tool; without a result the call still runs.
    McpToolCall {
        invocation: McpInvocation,
        end: Option<Result<McpToolResult, String>>,
    },
    Error {
        message: String,
    },
}

/// The answer of an MCP server's tool, as the JSON stream shows it.
#[derive(Serialize)]
struct ServerAnswer<'a> {
    content: &'a [Value],
    structured_content: &'a Option<Value>,
}

#[derive(Serialize)]
struct Todo {
    text: String,
    completed: bool,
}

#[derive(Serialize)]
struct PathChange {
    path: String,
    kind: &'static str,
}

/// By hand, because a search has two members named `id`: its own and the call's.
impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        match &self.details {
            Details::AgentMessage { text } => {
                map.serialize_entry("type", "agent_message")?;
                map.serialize_entry("text", text)?;
            }
            Details::Reasoning { text } => {
                map.serialize_entry("type", "reasoning")?;
                map.serialize_entry("text", text)?;
            }
            Details::TodoList { items } => {
                map.serialize_entry("type", "todo_list")?;
                map.serialize_entry("items", items)?;
            }
            Details::Command { command, aggregated_output, exit_code, status } => {
                map.serialize_entry("type", "command_execution")?;
                map.serialize_entry("command", command)?;
                map.serialize_entry("aggregated_output", aggregated_output)?;
                map.serialize_entry("exit_code", exit_code)?;
                map.serialize_entry("status", status)?;
            }
            Details::FileChange { changes, status } => {
                map.serialize_entry("type", "file_change")?;
                map.serialize_entry("changes", changes)?;
                map.serialize_entry("status", status)?;
            }
            Details::Collab(item) => {
                map.serialize_entry("type", "collab_tool_call")?;
                map.serialize_entry("tool", item.tool)?;
                map.serialize_entry("sender_thread_id", &item.sender_thread_id)?;
                map.serialize_entry("receiver_thread_ids", &item.receiver_thread_ids)?;
                map.serialize_entry("prompt", &item.prompt)?;
                map.serialize_entry("agents_states", &item.agents_states)?;
                map.serialize_entry("status", item.status)?;
            }
            Details::WebSearch { call_id, query, action } => {
                map.serialize_entry("type", "web_search")?;
                map.serialize_entry("id", call_id)?;
                map.serialize_entry("query", query)?;
                map.serialize_entry("action", action)?;
            }
            Details::McpToolCall { invocation, end } => {
                let result = end.as_ref().and_then(|end| end.as_ref().ok());
                let error = end.as_ref().and_then(|end| end.as_ref().err());
                let status = match (end, result) {
                    (None, _) => "in_progress",
                    (Some(_), Some(result)) if result.is_success() => "completed",
                    (Some(_), _) => "failed",
                };
                map.serialize_entry("type", "mcp_tool_call")?;
                map.serialize_entry("server", &invocation.server)?;
                map.serialize_entry("tool", &invocation.tool)?;
                map.serialize_entry("arguments", &invocation.arguments)?;
                let result = result.map(|result| ServerAnswer {
                    content: &result.content,
                    structured_content: &result.structured_content,
                });
                map.serialize_entry("result", &result)?;
                map.serialize_entry("error", &error.map(|message| TurnError { message: message.clone() }))?;
                map.serialize_entry("status", status)?;
            }
            Details::Error { message } => {
                map.serialize_entry("type", "error")?;
                map.serialize_entry("message", message)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_lines(events: &[Value], expected: &Expect) {
        let mut json = Json::default();
        let mut text = String::new();
        for event in events {
            let event: EventMessage = serde_json::from_value(event.clone()).unwrap();
            for line in json.lines(&event) {
                text += &serde_json::to_string(&line).unwrap();
                text.push('\n');
            }
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn a_plan_is_one_item_and_a_search_has_two_ids() {
        let plan = |status: &str| json!({ "type": "plan_update", "plan": [{ "step": "a", "status": status }] });
        check_lines(
            &[
                json!({ "type": "task_started", "turn_id": "t", "model_context_window": 1, "collaboration_mode_kind": "default" }),
                plan("pending"),
                json!({ "type": "web_search_begin", "call_id": "ws_1" }),
                json!({ "type": "web_search_end", "call_id": "ws_1", "query": "q", "action": { "type": "search", "query": "q" } }),
                plan("completed"),
                json!({ "type": "agent_message", "message": "done" }),
                json!({ "type": "task_complete", "turn_id": "t", "last_agent_message": "done" }),
            ],
            &expect![[r#"
                {"type":"turn.started"}
                {"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"a","completed":false}]}}
                {"type":"item.started","item":{"id":"item_1","type":"web_search","id":"ws_1","query":"","action":{"type":"other"}}}
                {"type":"item.completed","item":{"id":"item_1","type":"web_search","id":"ws_1","query":"q","action":{"type":"search","query":"q"}}}
                {"type":"item.updated","item":{"id":"item_0","type":"todo_list","items":[{"text":"a","completed":true}]}}
                {"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"done"}}
                {"type":"item.completed","item":{"id":"item_0","type":"todo_list","items":[{"text":"a","completed":true}]}}
                {"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0}}
            "#]],
        );
    }

    #[test]
    fn calls_of_servers_tools_are_items() {
        let invocation = json!({ "server": "depot", "tool": "echo", "arguments": { "a": 1 } });
        let end = |result: Value| json!({ "type": "mcp_tool_call_end", "call_id": "c", "invocation": invocation, "duration": { "secs": 1, "nanos": 0 }, "result": result });
        check_lines(
            &[
                json!({ "type": "mcp_tool_call_begin", "call_id": "c", "invocation": invocation }),
                end(json!({ "Ok": { "content": [{ "type": "text", "text": "x" }], "isError": true } })),
                end(json!({ "Err": "no" })),
            ],
            &expect![[r#"
                {"type":"item.started","item":{"id":"item_0","type":"mcp_tool_call","server":"depot","tool":"echo","arguments":{"a":1},"result":null,"error":null,"status":"in_progress"}}
                {"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","server":"depot","tool":"echo","arguments":{"a":1},"result":{"content":[{"type":"text","text":"x"}],"structured_content":null},"error":null,"status":"failed"}}
                {"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"depot","tool":"echo","arguments":{"a":1},"result":null,"error":{"message":"no"},"status":"failed"}}
            "#]],
        );
    }

    #[test]
    fn a_failed_turn_ends_with_its_error() {
        check_lines(
            &[
                json!({ "type": "stream_error", "message": "Reconnecting... 1/1", "additional_details": "cut" }),
                json!({ "type": "error", "message": "broken" }),
                json!({ "type": "task_complete", "turn_id": "t", "last_agent_message": null }),
            ],
            &expect![[r#"
                {"type":"error","message":"Reconnecting... 1/1 (cut)"}
                {"type":"error","message":"broken"}
                {"type":"turn.failed","error":{"message":"broken"}}
            "#]],
        );
    }
}
