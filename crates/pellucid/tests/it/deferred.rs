//! Tools of MCP servers that requests offer by name: asked for, called, refused and counted, over every API format.

use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

fn reply(wire: &str, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        _ => MockReply::items(items),
    }
}

fn said(wire: &str) -> MockReply {
    let content = json!([{ "type": "output_text", "text": "Done." }]);
    reply(wire, [json!({ "type": "message", "id": "m", "role": "assistant", "content": content })])
}

fn call(wire: &str, id: &str, name: &str, arguments: &Value) -> MockReply {
    let arguments = arguments.to_string();
    reply(wire, [json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments })])
}

/// A world with one server of tools, whose provider speaks this API format.
fn world(server: &MockServer, wire: &str, top: &str, tools: &McpScript, keys: &str) -> World {
    let world = World::new("//- work/x\n");
    let (url, depot) = (server.base_url(), tools.config());
    world.files.write(
        "home/config.toml",
        format!(
            "model = \"gpt-5.1\"\nmodel_provider = \"mock\"\n{top}\n[mcp_servers.depot]\n{depot}startup_timeout_sec = 600\n{keys}\n\
             [model_providers.mock]\nname = \"Mock\"\nbase_url = \"{url}\"\nwire_api = \"{wire}\"\n"
        ),
    );
    world
}

fn bodies(server: &MockServer) -> Vec<String> {
    server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect()
}

/// A tool that wants a text.
fn picky() -> McpScript {
    let tools = McpScript::new(&["echo"]);
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let tool = |name: &str| json!({ "name": name, "description": format!("Does {name}."), "inputSchema": schema });
    tools.answers("tools/list", &json!({ "tools": [tool("echo"), tool("count")] }));
    tools.answers("tools/call_echo", &json!({ "content": [{ "type": "text", "text": "pong" }] }));
    tools
}

#[test]
fn a_tool_is_found_and_called_and_mistakes_are_answered() {
    for wire in WIRES {
        let tools = picky();
        let server = MockServer::start([
            call(wire, "c1", "call_tool", &json!({ "name": "depot/ecko", "arguments": {} })),
            call(wire, "c2", "call_tool", &json!({ "name": "depot/echo", "arguments": { "text": 7 } })),
            call(wire, "c3", "find_tools", &json!({ "names": ["depot/echo"] })),
            call(wire, "c4", "call_tool", &json!({ "name": "depot/echo", "arguments": { "text": "ping" } })),
            said(wire),
        ]);
        let world = world(&server, wire, "mcp_tools = \"deferred\"", &tools, "");
        let ran = world.run(&["exec", "--json", "Call it."]);
        assert_eq!(ran.status, 0, "{wire}: {}", ran.stderr);
        let bodies = bodies(&server);
        let answers = [
            "no tool of an MCP server is called `depot/ecko`. Near names: `depot/echo`.",
            "`depot/echo` was not called: `arguments.text` should be string, not number. The schema of its arguments:",
            "\\\"input_schema\\\"",
            "pong",
        ];
        for (n, answer) in answers.into_iter().enumerate() {
            assert!(!bodies[n].contains(answer) && bodies[n + 1].contains(answer), "{wire} {n}: {}", bodies[n + 1]);
        }
        // The server was called once, as if the tool had been offered directly.
        let asked = tools.asked();
        let called: Vec<&Value> = asked.iter().filter(|it| it["method"] == "tools/call").collect();
        assert_eq!(called.len(), 1, "{wire}");
        assert_eq!(called[0]["params"]["arguments"], json!({ "text": "ping" }), "{wire}");
        let items = ran.out().lines().filter(|line| line.contains("item.completed") && line.contains("mcp_tool_call"));
        let items: Vec<Value> = items.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(items.len(), 1, "{wire}: {}", ran.out());
        assert_eq!(
            (&items[0]["item"]["server"], &items[0]["item"]["tool"]),
            (&json!("depot"), &json!("echo")),
            "{wire}"
        );
        // Each request extends the one before: the tools stay as they are.
        let tools_of = |body: &str| serde_json::from_str::<Value>(body).unwrap()["tools"].clone();
        assert!(bodies.iter().all(|body| tools_of(body) == tools_of(&bodies[0])), "{wire}");
        let replayed = world.run(&["replay", "--last"]);
        assert_eq!(replayed.status, 0, "{wire}: {} {}", replayed.out(), replayed.stderr);
    }
}

#[test]
fn a_server_that_dies_fails_the_call_and_a_server_that_did_not_start_is_named() {
    for wire in WIRES {
        let tools = picky();
        let schema = json!({ "type": "object", "properties": {} });
        tools.asks_before("echo", &json!({ "message": "Sure?", "requestedSchema": schema }));
        tools.leaves_after_asking();
        let arguments = json!({ "name": "depot/echo", "arguments": { "text": "ping" } });
        let server = MockServer::start([call(wire, "c1", "call_tool", &arguments), said(wire)]);
        let world = world(&server, wire, "mcp_tools = \"deferred\"", &tools, "");
        let ran = world.run(&["exec", "Call it."]);
        assert_eq!(ran.status, 0, "{wire}: {}", ran.stderr);
        assert!(bodies(&server)[1].contains("tool call failed for `depot/echo`"), "{wire}: {}", bodies(&server)[1]);
        tools.is_dead();
        let shown = world.run(&["context", "-v", "--mcp", "connect", "Hi."]);
        assert!(shown.out().contains("the MCP server depot"), "{wire}: {}", shown.out());
        assert!(!shown.out().contains("find_tools"), "{wire}: {}", shown.out());
    }
}

#[test]
fn of_three_hundred_tools_each_is_listed_or_left_out_with_a_reason() {
    for wire in WIRES {
        let names: Vec<String> = (0..300).map(|n| format!("look_up_the_table_number_{n}")).collect();
        let tools = McpScript::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let query = json!({ "query": "table 299", "limit": 1 });
        let server = MockServer::start([call(wire, "c1", "find_tools", &query), said(wire)]);
        let world = world(&server, wire, "pack = \"pellucid\"", &tools, "");
        let ran = world.run(&["exec", "Find it."]);
        assert_eq!(ran.status, 0, "{wire}: {}", ran.stderr);
        let bodies = bodies(&server);
        assert!(bodies[1].contains("depot/look_up_the_table_number_299"), "{wire}");
        let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
        let first = format!("{}#1", listed["sessions"][0]["id"].as_str().unwrap());
        let report = world.run(&["context", "--json", &first]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap_or_else(|_| panic!("{}", report.stderr));
        let tokens = report["mcp_servers"][0]["list_tokens"].as_u64().unwrap();
        assert!((1500..=2100).contains(&tokens), "{wire}: {tokens}");
        let shown = world.run(&["context", "--json", "Hi."]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let left_out: Vec<&str> =
            shown["omissions"].as_array().unwrap().iter().filter_map(|it| it["what"].as_str()).collect();
        for name in &names {
            let is_listed = bodies[0].contains(&format!("- {name}\\n"));
            let is_left_out = left_out.contains(&format!("mcp__depot__{name}").as_str());
            assert!(is_listed != is_left_out, "{wire} {name}: {is_listed} {is_left_out}");
        }
    }
}

#[test]
fn a_few_tools_stay_direct_in_the_pack_that_defers() {
    let server = MockServer::start([said("responses")]);
    let tools = picky();
    let world = world(&server, "responses", "pack = \"pellucid\"", &tools, "");
    assert_eq!(world.run(&["exec", "Hi."]).status, 0);
    let body = &bodies(&server)[0];
    assert!(body.contains("mcp__depot__echo") && !body.contains("find_tools"), "{body}");
    // Every tool has its tokens in the report.
    let report: Value = serde_json::from_slice(&world.run(&["context", "--json", "Hi."]).stdout).unwrap();
    let depot = &report["mcp_servers"][0];
    assert_eq!((&depot["server"], &depot["tools"][1]["name"]), (&json!("depot"), &json!("mcp__depot__echo")));
    let sum: u64 = depot["tools"].as_array().unwrap().iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(depot["tokens"], sum);
    let table = world.run(&["context", "-vv", "Hi."]);
    assert!(table.out().contains("tools of MCP servers, in tokens"), "{}", table.out());
}

#[test]
fn a_server_may_have_another_offer_than_the_rest() {
    for (top, keys, is_deferred) in [
        ("", "", false),
        ("", "offer = \"deferred\"", true),
        ("mcp_tools = \"deferred\"", "", true),
        ("mcp_tools = \"deferred\"", "offer = \"direct\"", false),
        ("pack = \"pellucid\"\nmcp_tools = \"deferred\"", "", true),
    ] {
        let server = MockServer::start([said("responses")]);
        let tools = picky();
        let world = world(&server, "responses", top, &tools, keys);
        assert_eq!(world.run(&["exec", "Hi."]).status, 0);
        let body = &bodies(&server)[0];
        assert_eq!(body.contains("find_tools"), is_deferred, "{top} {keys}: {body}");
        assert_eq!(body.contains("mcp__depot__echo"), !is_deferred, "{top} {keys}: {body}");
    }
}

#[test]
fn a_pack_without_the_two_tools_cannot_defer() {
    let server = MockServer::start([]);
    let tools = picky();
    let world = world(&server, "responses", "pack = \"mine\"\nmcp_tools = \"deferred\"", &tools, "");
    world
        .files
        .write("home/packs/mine/pack.toml", "name = \"mine\"\nfrom = \"codex\"\n[[tool]]\nfile = \"view_image\"\n");
    let ran = world.run(&["exec", "Hi."]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the pack `mine` does not list find_tools and call_tool"), "{}", ran.stderr);
    let refused =
        "name = \"mine\"\nfrom = \"codex\"\n[given_tools]\nmcp = \"deferred\"\n[[tool]]\nfile = \"view_image\"\n";
    world.files.write("home/packs/mine/pack.toml", refused);
    let checked = world.run(&["pack", "check", "mine"]);
    let said = format!("{}{}", checked.out(), checked.stderr);
    assert!(checked.status != 0 && said.contains("needs the tools `find_tools` and `call_tool`"), "{said}");
}
