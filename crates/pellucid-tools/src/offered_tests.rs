//! A tool that was not offered is never run: every tool of the registry, those of servers and those of clients.

use std::sync::Arc;

use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpToolResult;
use serde_json::Map;
use serde_json::Value;

use crate::NoOutcome;
use crate::TOOLS;
use crate::Takes;
use crate::When;
use crate::bench::Bench;
use crate::bench::custom;
use crate::bench::function;
use crate::mcp_tool::Asking;
use crate::mcp_tool::Listed;
use crate::mcp_tool::ListingAll;
use crate::mcp_tool::McpRoute;
use crate::mcp_tool::ToolServers;
use crate::situation::Offered;

/// A server that runs whatever it is asked for.
#[derive(Debug)]
struct Willing;

impl ToolServers for Willing {
    fn call<'a>(&'a self, _: &'a str, _: &'a str, _: Option<Map<String, Value>>) -> Asking<'a, McpToolResult> {
        Box::pin(std::future::ready(Err(McpFailure::new("it was asked"))))
    }

    fn list<'a>(&'a self, _: Listed, _: &'a str, _: Option<String>) -> Asking<'a, McpPage> {
        Box::pin(std::future::ready(Err(McpFailure::new("it was asked"))))
    }

    fn list_all(&self, _: Listed) -> ListingAll<'_> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn read<'a>(&'a self, _: &'a str, _: &'a str) -> Asking<'a, Map<String, Value>> {
        Box::pin(std::future::ready(Err(McpFailure::new("it was asked"))))
    }
}

fn offer(name: &str) -> Offered {
    Offered { name: name.to_owned(), is_parallel: false, takes_text: false }
}

/// Calls in every form, with arguments that no tool does anything with.
fn calls(name: &str) -> [ToolCall; 2] {
    [function(name, "["), custom(name, "")]
}

#[test]
fn a_tool_of_the_registry_runs_when_it_is_offered_and_never_otherwise() {
    for tool in TOOLS {
        let mut bench = Bench::new();
        let others = TOOLS.iter().filter(|other| other.name != tool.name && !crate::runs_commands(other.name));
        bench.situation.tools.offered = others.map(|other| offer(other.name)).collect();
        bench.situation.tools.shell_is_on = false;
        for call in calls(tool.name) {
            assert_eq!(bench.run(&call).outcome, Err(NoOutcome::Unknown), "{} is closed", tool.name);
        }
        match tool.when {
            When::Offered => bench.situation.tools.offered.push(offer(tool.name)),
            When::ShellIsOn => bench.situation.tools.shell_is_on = true,
        }
        let taken = calls(tool.name).into_iter().filter(|call| match call.payload {
            Payload::Function { .. } => tool.takes.contains(&Takes::Function),
            Payload::Custom { .. } => tool.takes.contains(&Takes::Custom),
            Payload::LocalShell(_) => false,
        });
        for call in taken {
            assert_ne!(bench.run(&call).outcome, Err(NoOutcome::Unknown), "{} is open", tool.name);
        }
    }
}

#[test]
fn a_tool_of_a_server_runs_when_it_is_offered_and_never_otherwise() {
    let route = |tool: &str| McpRoute {
        name: format!("mcp__s__{tool}"),
        server: "s".to_owned(),
        tool: tool.to_owned(),
        app: None,
    };
    for (offered, is_run) in [(vec![route("a")], true), (vec![route("b")], false), (Vec::new(), false)] {
        let mut bench = Bench::new();
        bench.servers = Some(Arc::new(Willing));
        bench.situation.tools.mcp_tools = offered;
        let text = bench.run(&function("mcp__s__a", "{}")).text();
        assert_eq!(text.contains("it was asked"), is_run, "{text}");
        assert_eq!(text.contains("Unknown"), !is_run, "{text}");
    }
}

#[test]
fn a_tool_of_a_client_is_asked_for_when_it_is_offered_and_never_otherwise() {
    for (offered, is_run) in [(vec!["a".to_owned()], true), (vec!["b".to_owned()], false), (Vec::new(), false)] {
        let mut bench = Bench::new();
        bench.situation.tools.dynamic_tools = offered;
        let text = bench.run(&function("a", "{}")).text();
        assert_eq!(text.contains("dynamic_tool_call_request"), is_run, "{text}");
        assert_eq!(text.contains("Unknown"), !is_run, "{text}");
    }
}

#[test]
fn every_tool_says_what_it_changes() {
    let mut bench = Bench::new();
    bench.situation.tools.dynamic_tools = vec!["of_a_client".to_owned()];
    let names = TOOLS.iter().map(|tool| tool.name).chain(["of_a_client", "unknown"]);
    let mutating: Vec<&str> = names.clone().filter(|name| crate::is_mutating(&bench.situation, name)).collect();
    let commands: Vec<&str> = names.filter(|name| crate::runs_commands(name)).collect();
    assert_eq!(commands, ["shell", "container.exec", "local_shell", "shell_command", "exec_command"]);
    assert_eq!(mutating, [&commands[..], &["write_stdin", "apply_patch", "js_repl", "of_a_client"]].concat());
}
