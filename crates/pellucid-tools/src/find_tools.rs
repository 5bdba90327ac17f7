//! `find_tools`: what deferred tools of MCP servers do and take, by name or by words.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::deferred;
use pellucid_engine::deferred::DeferredTool;
use pellucid_engine::tokens::BYTES_PER_TOKEN;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: deferred::FIND,
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::SessionOnly),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    query: String,
    #[serde(default = "usual_limit")]
    limit: usize,
}

fn usual_limit() -> usize {
    5
}

#[derive(Serialize)]
struct Found<'a> {
    tools: Vec<FoundTool<'a>>,
    /// Names that mean no tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<UnknownName<'a>>,
    /// Tools that were found and are not described, because the answer would be too long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_shown: Vec<&'a str>,
}

#[derive(Serialize)]
struct FoundTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct UnknownName<'a> {
    name: &'a str,
    near: Vec<&'a str>,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { names, query, limit } = arguments(call)?;
    let query = query.trim();
    if names.is_empty() && query.is_empty() {
        return Err(Failed::answered("give `names` of tools, or a `query`"));
    }
    let all = &job.situation.tools.deferred;
    let (mut wanted, mut unknown): (Vec<DeferredTool<'_>>, _) = (Vec::new(), Vec::new());
    for name in &names {
        match all.named(name) {
            Ok(tool) => wanted.push(tool),
            Err(near) => unknown.push(UnknownName { name, near }),
        }
    }
    wanted.extend(all.search(query, limit));
    let bytes_max = bytes_max(job.situation.truncation);
    let mut found = Found { tools: Vec::new(), unknown, not_shown: Vec::new() };
    let mut bytes = 0;
    for DeferredTool { name, tool } in wanted {
        if found.tools.iter().any(|it| it.name == name) || found.not_shown.contains(&name) {
            continue;
        }
        let tool = FoundTool { name, description: &tool.description, input_schema: &tool.input_schema };
        bytes += written(&tool)?.len();
        // One tool is shown whatever its size; what is too long for an output is cut like any other.
        if bytes > bytes_max && !found.tools.is_empty() {
            found.not_shown.push(name);
        } else {
            found.tools.push(tool);
        }
    }
    Ok(written(&found)?.into())
}

fn written(value: &impl Serialize) -> Result<String, Failed> {
    serde_json::to_string(value).map_err(|error| Failed::Fatal(error.to_string()))
}

/// How many bytes of an output the model sees; a tenth of them is for what surrounds the tools.
fn bytes_max(policy: TruncationPolicy) -> usize {
    let limit = usize::try_from(policy.limit).unwrap_or_default();
    let bytes = match policy.mode {
        TruncationMode::Bytes => limit,
        TruncationMode::Tokens => limit.saturating_mul(BYTES_PER_TOKEN),
    };
    bytes - bytes / 10
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use crate::bench::Bench;
    use crate::bench::deferred;
    use crate::bench::function;

    #[track_caller]
    fn check_found(arguments: &str, expected: &Expect) {
        let mut bench = Bench::new();
        bench.situation.tools.deferred = deferred();
        expected.assert_eq(&bench.show(&function("find_tools", arguments)));
    }

    #[test]
    fn tools_are_found_by_name_and_by_words() {
        check_found(
            r#"{"names":["depot/echo"]}"#,
            &expect![[r#"
                => {"tools":[{"name":"depot/echo","description":"Does echo.","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}
            "#]],
        );
        check_found(
            r#"{"query":"count things","names":["mcp__depot__count","yard/open"]}"#,
            &expect![[r#"
                => {"tools":[{"name":"depot/count","description":"Does count.","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},{"name":"yard/open","description":"Does open.","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}
            "#]],
        );
    }

    #[test]
    fn a_name_that_means_nothing_has_near_ones() {
        check_found(
            r#"{"names":["depot/ecko","open"]}"#,
            &expect![[r#"
                => {"tools":[{"name":"yard/open","description":"Does open.","input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}],"unknown":[{"name":"depot/ecko","near":["depot/echo"]}]}
            "#]],
        );
        check_found(
            r#"{"query":"weather"}"#,
            &expect![[r#"
            => {"tools":[]}
        "#]],
        );
        check_found(
            "{}",
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"find_tools","why":"the model got the reason"}
                => give `names` of tools, or a `query`
            "#]],
        );
    }

    #[test]
    fn what_is_too_long_for_an_output_is_named() {
        let mut bench = Bench::new();
        bench.situation.tools.deferred = deferred();
        bench.situation.truncation.limit = 400;
        let shown = bench.show(&function("find_tools", r#"{"query":"echo count open","limit":9}"#));
        let shown: serde_json::Value = serde_json::from_str(shown.trim_start_matches("=> ")).unwrap();
        assert_eq!(shown["tools"].as_array().unwrap().len(), 2, "{shown}");
        assert_eq!(shown["not_shown"], json!(["yard/open"]));
    }
}
