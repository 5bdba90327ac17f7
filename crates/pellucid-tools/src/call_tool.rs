//! `call_tool`: calls a deferred tool of an MCP server. The arguments are compared with the tool's schema before the server
//! is asked; then the call is one of that tool, as if it had been offered directly.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::deferred;
use pellucid_engine::deferred::DeferredTools;
use pellucid_engine::deferred::arguments::problems;
use pellucid_engine::mcp;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use crate::Asks;
use crate::CallContext;
use crate::Caller;
use crate::Effect;
use crate::Failed;
use crate::NoOutcome;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::noted;

pub(crate) const TOOL: Tool = Tool {
    name: deferred::CALL,
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Server),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    name: String,
    #[serde(default)]
    arguments: Value,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { name, arguments } = arguments(call)?;
    let all = &job.situation.tools.deferred;
    let found = all.named(&name).map_err(|near| Failed::Answered(unknown(&name, &near)))?;
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        // Some models write the object as a text.
        Value::String(text) => match mcp::arguments(&text) {
            Ok(arguments) => arguments.unwrap_or_else(|| Value::Object(Map::new())),
            Err(_) => Value::String(text),
        },
        other => other,
    };
    let problems = problems(&found.tool.input_schema, &arguments);
    if !problems.is_empty() {
        let (schema, problems) = (&found.tool.input_schema, problems.join("; "));
        let name = found.name;
        return Err(Failed::Answered(format!(
            "`{name}` was not called: {problems}. The schema of its arguments: {schema}"
        )));
    }
    let payload = Payload::Function { arguments: arguments.to_string() };
    let inner = ToolCall { call_id: call.call_id.clone(), name: found.tool.name.clone(), payload };
    // The id says nothing of the tool, so that a session without its content can keep the id.
    let notes = job.notes.inner(&format!("{}/1", call.call_id), &inner.name);
    let job_inside = CallContext { notes: notes.clone(), ..job.clone() };
    // The call of the server's tool begins another call, whose type would have no end otherwise.
    let output = Box::pin(noted(&inner, &job_inside, Caller::Tool)).await.map_err(|no_outcome| match no_outcome {
        NoOutcome::Unknown => Failed::Answered(format!("unsupported call: {}", found.name)),
        NoOutcome::Fatal(text) => Failed::Fatal(text),
    })?;
    if notes.has_failed() {
        job.notes.failed();
    }
    Ok(output)
}

/// The answer for a name that means no tool, or several.
fn unknown(name: &str, near: &[&str]) -> String {
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let near = if near.is_empty() { String::new() } else { format!(" Near names: {}.", near.join(", ")) };
    format!(
        "no tool of an MCP server is called `{name}`.{near} `{}` finds tools and has their schemas.",
        deferred::FIND
    )
}

/// The answer for a deferred tool that is called as if it had been offered directly.
pub(crate) fn called_directly(tools: &DeferredTools, name: &str) -> Option<String> {
    let found = tools.iter().find(|it| it.tool.name == name)?;
    Some(format!("`{name}` is called with `{}`, as `{}`", deferred::CALL, found.name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::Expect;
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::deferred;
    use crate::bench::function;
    use crate::mcp_tool::McpRoute;
    use crate::mcp_tool::tests::Rote;

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench.situation.tools.deferred = deferred();
        let routes = bench.situation.tools.deferred.iter().map(|it| McpRoute::to(it.tool));
        bench.situation.tools.mcp_tools = routes.collect();
        bench.servers = Some(Arc::new(Rote));
        bench
    }

    #[track_caller]
    fn check_called(tool: &str, arguments: &str, expected: &Expect) {
        let shown = bench().show(&function(tool, arguments));
        // How long it took differs.
        let lines = shown.lines().map(|line| match (line.find(",\"duration\""), line.find(",\"result\"")) {
            (Some(from), Some(to)) => format!("{}{}\n", &line[..from], &line[to..]),
            _ => format!("{line}\n"),
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn the_call_is_one_of_the_tool() {
        let expected = &expect![[r#"
            {"type":"mcp_tool_call_begin","call_id":"c","invocation":{"server":"depot","tool":"echo","arguments":{"text":"a"}}}
            {"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"depot","tool":"echo","arguments":{"text":"a"}},"result":{"Ok":{"content":[{"type":"text","text":"Some({\"text\": String(\"a\")})"}]}}}
            => [{"type":"text","text":"Some({\"text\": String(\"a\")})"}]
        "#]];
        check_called("call_tool", r#"{"name":"depot/echo","arguments":{"text":"a"}}"#, expected);
        check_called("call_tool", r#"{"name":"mcp__depot__echo","arguments":"{\"text\":\"a\"}"}"#, expected);
        check_called("call_tool", r#"{"name":" echo ","arguments":{"text":"a"}}"#, expected);
    }

    #[test]
    fn bad_arguments_never_reach_the_server() {
        check_called(
            "call_tool",
            r#"{"name":"depot/echo","arguments":{"text":7}}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"call_tool","why":"the model got the reason"}
                => `depot/echo` was not called: `arguments.text` should be string, not number. The schema of its arguments: {"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}
            "#]],
        );
        check_called(
            "call_tool",
            r#"{"name":"depot/echo"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"call_tool","why":"the model got the reason"}
                => `depot/echo` was not called: `arguments.text` (string) is missing. The schema of its arguments: {"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}
            "#]],
        );
        check_called(
            "call_tool",
            r#"{"name":"depot/echo","arguments":"text"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"call_tool","why":"the model got the reason"}
                => `depot/echo` was not called: `arguments` should be object, not string. The schema of its arguments: {"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}
            "#]],
        );
    }

    #[test]
    fn a_name_that_means_no_tool_has_near_ones() {
        check_called(
            "call_tool",
            r#"{"name":"depot/counts","arguments":{}}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"call_tool","why":"the model got the reason"}
                => no tool of an MCP server is called `depot/counts`. Near names: `depot/count`. `find_tools` finds tools and has their schemas.
            "#]],
        );
        check_called(
            "mcp__depot__echo",
            r#"{"text":"a"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"mcp__depot__echo","why":"the model got the reason"}
                => `mcp__depot__echo` is called with `call_tool`, as `depot/echo`
            "#]],
        );
    }

    #[test]
    fn the_record_has_the_tool_inside_the_call() {
        let noted = bench().run(&function("call_tool", r#"{"name":"depot/echo","arguments":{"text":"a"}}"#)).noted;
        assert_eq!(noted.tool, "call_tool");
        let inner: Vec<String> = noted.inner.iter().map(|inner| inner.take().tool).collect();
        assert_eq!(inner, ["mcp__depot__echo"]);
    }
}
