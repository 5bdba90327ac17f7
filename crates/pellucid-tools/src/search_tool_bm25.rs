//! `search_tool_bm25`: looks for tools of connected apps by words. What it finds is offered from the next request on.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::bm25;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;
use serde::Serialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::situation::AppTool;

pub(crate) const TOOL: Tool = Tool {
    name: "search_tool_bm25",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::SessionOnly),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    query: String,
    #[serde(default = "usual_limit")]
    limit: usize,
}

fn usual_limit() -> usize {
    8
}

#[derive(Serialize)]
struct Found<'a> {
    query: &'a str,
    total_tools: usize,
    active_selected_tools: Vec<String>,
    tools: Vec<FoundTool<'a>>,
}

#[derive(Serialize)]
struct FoundTool<'a> {
    #[serde(flatten)]
    tool: &'a AppTool,
    score: f64,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { query, limit } = arguments(call)?;
    let query = query.trim();
    if query.is_empty() {
        return Err(Failed::answered("query must not be empty"));
    }
    if limit == 0 {
        return Err(Failed::answered("limit must be greater than zero"));
    }
    let all = &job.situation.tools.app_tools;
    let texts: Vec<String> = all.iter().map(AppTool::text).collect();
    let hits = bm25::rank(&texts, query, limit);
    let tools: Vec<FoundTool<'_>> =
        hits.iter().filter_map(|hit| Some(FoundTool { tool: all.get(hit.index)?, score: hit.score.into() })).collect();
    let active = job.toolbox.add_found_apps(tools.iter().map(|found| found.tool.name.clone()));
    let found = Found { query, total_tools: all.len(), active_selected_tools: active, tools };
    let text = serde_json::to_string(&found).map_err(|error| Failed::Fatal(error.to_string()))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;
    use crate::situation::AppTool;

    #[track_caller]
    fn check_found(arguments: &str, expected: &Expect) {
        expected.assert_eq(&Bench::new().show(&function("search_tool_bm25", arguments)));
    }

    #[test]
    fn tools_of_apps_are_found_by_their_words() {
        let tool = |name: &str, description: &str| AppTool {
            name: format!("mcp__apps__{name}"),
            tool: name.to_owned(),
            server: "apps".to_owned(),
            title: None,
            description: Some(description.to_owned()),
            connector_name: Some("Calendar".to_owned()),
            input_keys: vec!["day".to_owned()],
        };
        let mut bench = Bench::new();
        bench.situation.tools.app_tools = vec![tool("list", "Lists events."), tool("create", "Creates an event.")];
        let shown = bench.show(&function("search_tool_bm25", r#"{"query":"create","limit":1}"#));
        let shown = shown.split_once(",\"score\"").unwrap().0;
        expect![[r#"=> {"query":"create","total_tools":2,"active_selected_tools":["mcp__apps__create"],"tools":[{"name":"mcp__apps__create","server":"apps","title":null,"description":"Creates an event.","connector_name":"Calendar","input_keys":["day"]"#]]
            .assert_eq(shown);
    }

    #[test]
    fn without_apps_nothing_is_found() {
        check_found(
            r#"{"query":" calendar "}"#,
            &expect![[r#"
                => {"query":"calendar","total_tools":0,"active_selected_tools":[],"tools":[]}
            "#]],
        );
    }

    #[test]
    fn a_question_must_ask_for_something() {
        check_found(
            r#"{"query":" "}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"search_tool_bm25","why":"the model got the reason"}
                => query must not be empty
            "#]],
        );
        check_found(
            r#"{"query":"x","limit":0}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"search_tool_bm25","why":"the model got the reason"}
                => limit must be greater than zero
            "#]],
        );
    }
}
