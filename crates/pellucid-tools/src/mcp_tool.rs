//! Tools that MCP servers run: the call goes to its server, and what comes back is shown.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use pellucid_engine::mcp;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpToolCallBegin;
use pellucid_protocol::mcp::McpToolCallEnd;
use pellucid_protocol::mcp::McpToolResult;
use serde_json::Map;
use serde_json::Value;

use crate::CallContext;
use crate::Failed;
use crate::desk::Desk;

/// A server at work.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, McpFailure>> + Send + 'a>>;

/// All servers at work: what each of them lists, by name.
pub type ListingAll<'a> = Pin<Box<dyn Future<Output = Vec<(String, Vec<Value>)>> + Send + 'a>>;

/// The servers of a session, as calls need them.
pub trait ToolServers: Debug + Send + Sync {
    /// Calls a tool of a server.
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: Option<Map<String, Value>>,
    ) -> Asking<'a, McpToolResult>;

    /// A part of what a server lists.
    fn list<'a>(&'a self, what: Listed, server: &'a str, cursor: Option<String>) -> Asking<'a, McpPage>;

    /// All that the servers list, by server; those that fail are left out.
    fn list_all(&self, what: Listed) -> ListingAll<'_>;

    /// The contents of a resource, as the server gives them.
    fn read<'a>(&'a self, server: &'a str, uri: &'a str) -> Asking<'a, Map<String, Value>>;
}

/// The kinds of entries that servers list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// The resources of a server.
    Resources,
    /// Templates for the addresses of resources.
    Templates,
}

/// The server and tool that a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpRoute {
    /// The name that the model calls.
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The name of the tool on the server.
    pub tool: String,
}

/// Calls a tool of a server.
pub(crate) async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let route = job.situation.tools.mcp_tools.iter().find(|route| route.name == call.name);
    let (Some(route), Some(servers)) = (route, job.toolbox.servers()) else {
        return Err(Failed::Answered(format!("unsupported call: {}", call.name)));
    };
    let Payload::Function { arguments } = &call.payload else {
        return Err(Failed::Fatal(format!("tool {} invoked with incompatible payload", call.name)));
    };
    let arguments = match mcp::arguments(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => {
            job.notes.failed();
            return Ok(answer);
        }
    };
    let McpRoute { server, tool, .. } = route;
    let invocation = McpInvocation { server: server.clone(), tool: tool.clone(), arguments: arguments.clone() };
    let shown_call = ShownCall::begin(&job.desk, call, invocation).await;
    let answer = match object(arguments) {
        Ok(arguments) => servers.call(server, tool, arguments).await,
        Err(failure) => Err(failure),
    };
    let answer =
        answer.map_err(|failure| mcp::call_failure(&failure.of(format!("tool call failed for `{server}/{tool}`"))));
    let answer = answer.map(|result| if job.situation.sees_images { result } else { mcp::without_images(result) });
    let output = match &answer {
        Ok(result) => {
            if result.is_error == Some(true) {
                job.notes.failed();
            }
            mcp::output(result)
        }
        Err(message) => {
            job.notes.failed();
            mcp::failure_output(message)
        }
    };
    shown_call.end(&job.desk, answer).await;
    Ok(output)
}

/// Arguments as servers take them.
fn object(arguments: Option<Value>) -> Result<Option<Map<String, Value>>, McpFailure> {
    match arguments {
        None => Ok(None),
        Some(Value::Object(arguments)) => Ok(Some(arguments)),
        Some(other) => Err(McpFailure::new(format!("MCP tool arguments must be a JSON object, got {other}"))),
    }
}

/// A call whose begin event was emitted and whose end event will be.
#[derive(Debug)]
pub(crate) struct ShownCall {
    begin: McpToolCallBegin,
    began: Instant,
}

impl ShownCall {
    pub(crate) async fn begin(desk: &Desk, call: &ToolCall, invocation: McpInvocation) -> Self {
        let begin = McpToolCallBegin { call_id: call.call_id.clone(), invocation };
        desk.tell(EventMessage::McpToolCallBegin(begin.clone())).await;
        Self { begin, began: Instant::now() }
    }

    pub(crate) async fn end(self, desk: &Desk, result: Result<McpToolResult, String>) {
        let McpToolCallBegin { call_id, invocation } = self.begin;
        let end = McpToolCallEnd { call_id, invocation, duration: self.began.elapsed(), result };
        desk.tell(EventMessage::McpToolCallEnd(Box::new(end))).await;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::bench::Bench;
    use crate::bench::function;

    /// Servers that answer by rote.
    #[derive(Debug)]
    pub(crate) struct Rote;

    impl ToolServers for Rote {
        fn call<'a>(
            &'a self,
            _: &'a str,
            tool: &'a str,
            arguments: Option<Map<String, Value>>,
        ) -> Asking<'a, McpToolResult> {
            let answer = match tool {
                "picture" => Ok(json!([{"type":"image","data":"QQ==","mimeType":"image/png"}])),
                "broken" => Err(McpFailure::new("tools/call failed: Mcp error: -32000: server trouble")),
                _ => Ok(json!([{"type":"text","text":format!("{arguments:?}")}])),
            };
            let content = answer.map(|content| content.as_array().cloned().unwrap_or_default());
            Box::pin(async move { content.map(|content| McpToolResult { content, ..McpToolResult::default() }) })
        }

        fn list<'a>(&'a self, what: Listed, server: &'a str, cursor: Option<String>) -> Asking<'a, McpPage> {
            Box::pin(async move {
                if server != "library" {
                    return Err(McpFailure::new(format!("unknown MCP server '{server}'")));
                }
                let entry = match what {
                    Listed::Resources => json!({"uri":"book://1","name":"One"}),
                    Listed::Templates => json!({"uriTemplate":"book://{id}","name":"Any"}),
                };
                Ok(McpPage { entries: vec![entry], next_cursor: cursor.map(|cursor| cursor + "+") })
            })
        }

        fn list_all(&self, what: Listed) -> ListingAll<'_> {
            Box::pin(async move {
                let page = self.list(what, "library", None).await.unwrap();
                vec![("library".to_owned(), page.entries)]
            })
        }

        fn read<'a>(&'a self, server: &'a str, uri: &'a str) -> Asking<'a, Map<String, Value>> {
            Box::pin(async move {
                self.list(Listed::Resources, server, None).await?;
                Ok(Map::from_iter([("contents".to_owned(), json!([{"uri":uri,"text":"Once."}]))]))
            })
        }
    }

    #[track_caller]
    fn check_called(tool: &str, arguments: &str, expected: &Expect) {
        let mut bench = Bench::new();
        bench.situation.sees_images = false;
        let route = |tool: &str| McpRoute {
            name: format!("mcp__depot__{tool}"),
            server: "depot".to_owned(),
            tool: tool.to_owned(),
        };
        bench.situation.tools.mcp_tools = ["echo", "picture", "broken"].map(route).into();
        bench.servers = Some(std::sync::Arc::new(Rote));
        let shown = bench.show(&function(&format!("mcp__depot__{tool}"), arguments));
        // How long it took differs.
        let lines = shown.lines().map(|line| match (line.find(",\"duration\""), line.find(",\"result\"")) {
            (Some(from), Some(to)) => format!("{}{}\n", &line[..from], &line[to..]),
            _ => format!("{line}\n"),
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn the_server_answers() {
        check_called(
            "echo",
            r#"{"a":1}"#,
            &expect![[r#"
                {"type":"mcp_tool_call_begin","call_id":"c","invocation":{"server":"depot","tool":"echo","arguments":{"a":1}}}
                {"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"depot","tool":"echo","arguments":{"a":1}},"result":{"Ok":{"content":[{"type":"text","text":"Some({\"a\": Number(1)})"}]}}}
                => [{"type":"text","text":"Some({\"a\": Number(1)})"}]
            "#]],
        );
        check_called(
            "picture",
            "",
            &expect![[r#"
                {"type":"mcp_tool_call_begin","call_id":"c","invocation":{"server":"depot","tool":"picture","arguments":null}}
                {"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"depot","tool":"picture","arguments":null},"result":{"Ok":{"content":[{"type":"text","text":"<image content omitted because you do not support image input>"}]}}}
                => [{"type":"text","text":"<image content omitted because you do not support image input>"}]
            "#]],
        );
    }

    #[test]
    fn failures_are_answers_too() {
        check_called(
            "broken",
            "{}",
            &expect![[r#"
                {"type":"mcp_tool_call_begin","call_id":"c","invocation":{"server":"depot","tool":"broken","arguments":{}}}
                {"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"depot","tool":"broken","arguments":{}},"result":{"Err":"tool call error: tool call failed for `depot/broken`\n\nCaused by:\n    tools/call failed: Mcp error: -32000: server trouble"}}
                => err: "tool call error: tool call failed for `depot/broken`\n\nCaused by:\n    tools/call failed: Mcp error: -32000: server trouble"
            "#]],
        );
        check_called(
            "echo",
            "[1]",
            &expect![[r#"
                {"type":"mcp_tool_call_begin","call_id":"c","invocation":{"server":"depot","tool":"echo","arguments":[1]}}
                {"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"depot","tool":"echo","arguments":[1]},"result":{"Err":"tool call error: tool call failed for `depot/echo`\n\nCaused by:\n    MCP tool arguments must be a JSON object, got [1]"}}
                => err: "tool call error: tool call failed for `depot/echo`\n\nCaused by:\n    MCP tool arguments must be a JSON object, got [1]"
            "#]],
        );
        check_called(
            "echo",
            "{oops",
            &expect![[r#"
                => err: key must be a string at line 1 column 2
            "#]],
        );
    }

    #[test]
    fn a_tool_that_is_not_offered_is_unknown() {
        check_called(
            "nothing",
            "{}",
            &expect![[r#"
                => Err(Unknown)
            "#]],
        );
    }
}
