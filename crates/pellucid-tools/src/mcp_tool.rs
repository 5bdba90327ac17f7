//! Tools that MCP servers run: the call goes to its server, and what comes back is shown.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use pellucid_engine::approval::app;
use pellucid_engine::approval::app::AppCall;
use pellucid_engine::approval::app::Risk;
use pellucid_engine::approval::grants::GrantKey;
use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::mcp;
use pellucid_engine::mcp::ServerTool;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::call_record::ApprovalSubject;
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
    /// The connected app that the tool belongs to.
    pub app: Option<RouteApp>,
}

/// What a person hears of a connected app's tool before it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteApp {
    /// The id of the app.
    pub id: String,
    /// The name of the app, or its id.
    pub name: String,
    /// The name of the tool for people.
    pub title: Option<String>,
    /// What a call may do; absent if a person is not asked.
    pub risk: Option<Risk>,
}

impl McpRoute {
    /// The way to a tool of a server.
    pub fn to(tool: &ServerTool) -> Self {
        let app = tool.app.as_ref().map(|app| RouteApp {
            id: app.id.clone(),
            name: app.name.clone().unwrap_or_else(|| app.id.clone()),
            title: tool.title.clone().filter(|title| !title.trim().is_empty()),
            risk: tool.risk,
        });
        Self { name: tool.name.clone(), server: tool.server.clone(), tool: tool.tool.clone(), app }
    }
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
    let refusal = refusal(call, route, job).await;
    let shown_call = ShownCall::begin(&job.desk, call, invocation).await;
    let answer = match (refusal, object(arguments)) {
        (Some(refusal), _) => Err(refusal.to_owned()),
        (None, Ok(arguments)) => servers.call(server, tool, arguments).await.map_err(|failure| failed(route, failure)),
        (None, Err(failure)) => Err(failed(route, failure)),
    };
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

/// The text about a call that failed.
fn failed(route: &McpRoute, failure: McpFailure) -> String {
    mcp::call_failure(&failure.of(format!("tool call failed for `{}/{}`", route.server, route.tool)))
}

/// Why a person does not let a connected app's tool be called; absent if the call is made.
async fn refusal(call: &ToolCall, route: &McpRoute, job: &CallContext) -> Option<&'static str> {
    let RouteApp { id, name, title, risk } = route.app.as_ref()?;
    let (risk, policy) = ((*risk)?, job.situation.approval_policy);
    if !app::may_ask(policy, &job.situation.sandbox_policy) {
        return None;
    }
    job.notes.decided(CallGrounds::App { risk, policy });
    let turn_id = &job.situation.turn_id;
    let tool = title.as_deref().unwrap_or(&route.tool);
    let asked = app::question(&AppCall { call_id: &call.call_id, turn_id, app: name, tool, risk });
    let grant = GrantKey::AppTool { server: route.server.clone(), app: id.clone(), tool: route.tool.clone() };
    let question = ClientQuestion {
        key: AskKey::Question(turn_id.clone()),
        event: Box::new(EventMessage::RequestUserInput(asked)),
        grants: vec![grant],
    };
    match job.desk.ask_for_approval(question, &job.notes, ApprovalSubject::AppTool).await {
        AskOutcome::Granted => None,
        AskOutcome::Answered(ClientAnswer::Answers(answers)) => {
            app::Choice::of(&answers).unwrap_or(app::Choice::Cancel).refusal()
        }
        AskOutcome::Answered(_) | AskOutcome::Unanswered => app::Choice::Cancel.refusal(),
    }
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
    use std::collections::BTreeMap;

    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::question::UserAnswer;
    use pellucid_protocol::question::UserAnswers;
    use pellucid_protocol::settings::ApprovalPolicy;
    use pellucid_protocol::settings::SandboxPolicy;
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
            app: None,
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

    /// Calls a connected app's tool. Gives the question, if there is one, and the output.
    #[track_caller]
    fn check_asked(policy: ApprovalPolicy, sandbox: SandboxPolicy, choice: Option<&str>, expected: &Expect) {
        let mut bench = Bench::new();
        (bench.situation.approval_policy, bench.situation.sandbox_policy) = (policy, sandbox);
        let app =
            RouteApp { id: "cal".to_owned(), name: "Calendar".to_owned(), title: None, risk: Some(Risk::Reaches) };
        let (name, server) = ("mcp__codex_apps__echo".to_owned(), "codex_apps".to_owned());
        bench.situation.tools.mcp_tools = vec![McpRoute { name, server, tool: "echo".to_owned(), app: Some(app) }];
        bench.servers = Some(std::sync::Arc::new(Rote));
        let answer = choice.map(|choice| {
            let answer = UserAnswer { answers: vec![choice.to_owned()] };
            let answers = BTreeMap::from([("mcp_tool_call_approval_c".to_owned(), answer)]);
            ClientAnswer::Answers(UserAnswers { answers })
        });
        let shown = bench.run_answered(&function("mcp__codex_apps__echo", "{}"), answer).text();
        let lines = shown.lines().filter(|line| !line.starts_with("{\"type\":\"mcp_tool_call"));
        let lines = lines.map(|line| line.split(",\"questions\"").next().unwrap_or(line));
        expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_person_decides_about_a_call_of_an_app() {
        let asked =
            |choice, expected| check_asked(ApprovalPolicy::OnRequest, SandboxPolicy::ReadOnly, choice, expected);
        asked(
            Some("Approve Once"),
            &expect![[r#"
            {"type":"request_user_input","call_id":"c","turn_id":"t"
            => [{"type":"text","text":"Some({})"}]"#]],
        );
        asked(
            Some("Approve this Session"),
            &expect![[r#"
            {"type":"request_user_input","call_id":"c","turn_id":"t"
            => [{"type":"text","text":"Some({})"}]"#]],
        );
        asked(
            Some("Deny"),
            &expect![[r#"
            {"type":"request_user_input","call_id":"c","turn_id":"t"
            => err: "user rejected MCP tool call""#]],
        );
        asked(
            Some("Cancel"),
            &expect![[r#"
            {"type":"request_user_input","call_id":"c","turn_id":"t"
            => err: "user cancelled MCP tool call""#]],
        );
        asked(
            None,
            &expect![[r#"
            {"type":"request_user_input","call_id":"c","turn_id":"t"
            => err: "user cancelled MCP tool call""#]],
        );
        check_asked(
            ApprovalPolicy::Never,
            SandboxPolicy::DangerFullAccess,
            None,
            &expect![[r#"=> [{"type":"text","text":"Some({})"}]"#]],
        );
        check_asked(
            ApprovalPolicy::Never,
            SandboxPolicy::ReadOnly,
            None,
            &expect![[r#"
            {"type":"request_user_input","call_id":"c","turn_id":"t"
            => err: "user cancelled MCP tool call""#]],
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
