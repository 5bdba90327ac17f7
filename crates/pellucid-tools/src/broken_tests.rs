//! Tools that panic: the model gets an answer, clients an event, and the log the call's id.

use std::sync::Arc;

use expect_test::expect;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_testkit::logged;
use serde_json::Map;
use serde_json::Value;

use crate::bench::Bench;
use crate::bench::function;
use crate::mcp_tool::Asking;
use crate::mcp_tool::Listed;
use crate::mcp_tool::ListingAll;
use crate::mcp_tool::McpRoute;
use crate::mcp_tool::ToolServers;

/// Servers that panic with the words `classified words`, at once or after waiting.
#[derive(Debug)]
struct Panicking;

impl ToolServers for Panicking {
    fn call<'a>(&'a self, _: &'a str, tool: &'a str, _: Option<Map<String, Value>>) -> Asking<'a, McpToolResult> {
        assert_ne!(tool, "at_once", "classified words");
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("classified words")
        })
    }

    fn list<'a>(&'a self, _: Listed, _: &'a str, _: Option<String>) -> Asking<'a, McpPage> {
        panic!("classified words")
    }

    fn list_all(&self, _: Listed) -> ListingAll<'_> {
        panic!("classified words")
    }

    fn read<'a>(&'a self, _: &'a str, _: &'a str) -> Asking<'a, Map<String, Value>> {
        panic!("classified words")
    }
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    let route = |tool: &str| McpRoute {
        name: format!("mcp__s__{tool}"),
        server: "s".to_owned(),
        tool: tool.to_owned(),
        app: None,
    };
    bench.situation.tools.mcp_tools = ["at_once", "later"].map(route).into();
    bench.servers = Some(Arc::new(Panicking));
    bench
}

#[test]
fn a_tool_that_panics_answers_that_it_failed() {
    for (name, arguments) in [
        ("mcp__s__at_once", "{}"),
        ("mcp__s__later", "{}"),
        ("list_mcp_resources", r#"{"server":"s"}"#),
        ("read_mcp_resource", r#"{"server":"s","uri":"u"}"#),
    ] {
        let (shown, log) = logged(|| bench().show(&function(name, arguments)));
        let (said, answer) = shown.split_once("=> ").unwrap();
        expect![[r#"
            the tool failed: an error inside Pellucid ended this call before it was done
        "#]]
        .assert_eq(answer);
        let failed = format!(
            r#"{{"type":"tool_call_failed","call_id":"c","name":"{name}","why":"the tool failed inside Pellucid"}}"#
        );
        assert_eq!(said.lines().last(), Some(failed.as_str()));
        let expected = [
            "ERROR a task panicked task=\"tool call\"".to_owned(),
            format!("ERROR the tool failed inside Pellucid call_id=\"c\" tool=\"{name}\""),
        ];
        assert_eq!(log, expected, "{name}");
    }
}

#[test]
fn work_that_panics_on_another_thread_is_a_failed_tool_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let done = runtime.block_on(crate::blocking::<()>(|| panic!("expected")));
    assert_eq!(done, Err(crate::Failed::Broken));
}
