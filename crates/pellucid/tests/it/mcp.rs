//! `mcp`, and turns in which servers run tools.

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

/// Checks what a run prints and how it ends; what is wrong is on standard error.
#[track_caller]
fn check_ran(world: &World, args: &[&str], expected: &Expect) {
    let ran = world.run(args);
    expected.assert_eq(&format!("{} {}{}", ran.status, ran.out(), ran.stderr));
}

#[test]
fn servers_are_added_listed_and_removed() {
    let world = World::new("//- home/config.toml\nmodel = \"m\" # mine\n");
    check_ran(
        &world,
        &["mcp", "list"],
        &expect![[r#"
        0 No MCP servers configured yet. Try `pellucid mcp add my-tool -- my-command`.
    "#]],
    );
    check_ran(
        &world,
        &["mcp", "add", "foo", "--env", "A=1", "--", "npx", "-y", "srv"],
        &expect![[r#"
        0 Added global MCP server 'foo'.
    "#]],
    );
    check_ran(
        &world,
        &["mcp", "add", "web", "--url", "http://127.0.0.1:9/x", "--bearer-token-env-var", "TOK"],
        &expect![[r#"
            0 Added global MCP server 'web'.
        "#]],
    );
    expect![[r#"
        model = "m" # mine

        [mcp_servers.foo]
        command = "npx"
        args = ["-y", "srv"]

        [mcp_servers.foo.env]
        A = "1"

        [mcp_servers.web]
        url = "http://127.0.0.1:9/x"
        bearer_token_env_var = "TOK"
    "#]]
    .assert_eq(&world.files.read("home/config.toml"));
    check_ran(
        &world,
        &["mcp", "list"],
        &expect![[r#"
            0 Name  Command  Args    Env      Cwd  Status   Auth
            foo   npx      -y srv  A=*****  -    enabled  Unsupported

            Name  Url                   Bearer Token Env Var  Status   Auth
            web   http://127.0.0.1:9/x  TOK                   enabled  Bearer token
        "#]],
    );
    check_ran(
        &world,
        &["mcp", "get", "foo"],
        &expect![[r#"
            0 foo
              enabled: true
              transport: stdio
              command: npx
              args: -y srv
              cwd: -
              env: A=*****
              remove: pellucid mcp remove foo
        "#]],
    );
    check_ran(
        &world,
        &["mcp", "remove", "foo"],
        &expect![[r#"
        0 Removed global MCP server 'foo'.
    "#]],
    );
    expect![[r#"
        model = "m" # mine

        [mcp_servers.web]
        url = "http://127.0.0.1:9/x"
        bearer_token_env_var = "TOK"
    "#]]
    .assert_eq(&world.files.read("home/config.toml"));
    check_ran(
        &world,
        &["mcp", "remove", "foo"],
        &expect![[r#"
        0 No MCP server named 'foo' found.
    "#]],
    );
}

#[test]
fn programs_read_lists_as_json() {
    let world = World::new(
        "//- home/config.toml\n[mcp_servers.a]\ncommand = \"x\"\nenabled = false\ntool_timeout_sec = 3\nenabled_tools = [\"t\"]\n",
    );
    let listed: Value = serde_json::from_str(world.run(&["mcp", "list", "--json"]).out()).unwrap();
    expect![[r#"[{"name":"a","enabled":false,"disabled_reason":null,"transport":{"type":"stdio","command":"x","args":[],"env":null,"env_vars":[],"cwd":null},"startup_timeout_sec":null,"tool_timeout_sec":3.0,"auth_status":"unsupported"}]"#]]
        .assert_eq(&listed.to_string());
    let got: Value = serde_json::from_str(world.run(&["mcp", "get", "a", "--json"]).out()).unwrap();
    expect![[r#"{"name":"a","enabled":false,"disabled_reason":null,"transport":{"type":"stdio","command":"x","args":[],"env":null,"env_vars":[],"cwd":null},"enabled_tools":["t"],"disabled_tools":null,"startup_timeout_sec":null,"tool_timeout_sec":3.0}"#]]
        .assert_eq(&got.to_string());
    check_ran(
        &world,
        &["mcp", "get", "a"],
        &expect![[r#"
        0 a (disabled)
    "#]],
    );
}

#[test]
fn what_cannot_be_done_says_why() {
    let world = World::new("//- home/config.toml\n[mcp_servers.a]\ncommand = \"x\"\n");
    check_ran(
        &world,
        &["mcp", "get", "nope"],
        &expect![[r#"
            1 error: No MCP server named 'nope' found.
            hint: `pellucid mcp list` shows those that are configured
        "#]],
    );
    check_ran(
        &world,
        &["mcp", "add", "b d", "--", "x"],
        &expect![[r#"
            1 error: invalid server name 'b d' (use letters, numbers, '-', '_')
        "#]],
    );
    check_ran(
        &world,
        &["mcp", "login", "a"],
        &expect![[r#"
            1 error: the MCP server 'a' is a program; only servers with a `url` have logins. Give it what it needs with `env` or `env_vars` in [mcp_servers.a].
        "#]],
    );
    assert_eq!(world.run(&["mcp", "add", "c"]).status, 2);
    assert_eq!(world.run(&["mcp", "add", "c", "--env", "A", "--", "x"]).status, 2);
}

fn world(server: &MockServer, mcp: &str) -> World {
    let world = World::new("");
    let provider = format!("[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n", server.base_url());
    world.files.write("home/config.toml", format!("model_provider = \"mock\"\n{provider}{mcp}"));
    world
}

#[test]
fn the_model_calls_a_tool_of_a_server() {
    let script = McpScript::new(&["echo", "hidden"]);
    script.answers("tools/call_echo", &json!({"content": [{"type": "text", "text": "pong"}]}));
    let call = json!({"type": "function_call", "name": "mcp__depot__echo", "arguments": "{\"a\":1}", "call_id": "c"});
    let server = MockServer::start(vec![MockReply::items([call]), MockReply::say("Done.")]);
    let dead = McpScript::new(&[]);
    dead.is_dead();
    let world = world(
        &server,
        &format!(
            "[mcp_servers.depot]\n{}disabled_tools = [\"hidden\"]\n[mcp_servers.dead]\n{}",
            script.config(),
            dead.config()
        ),
    );
    let ran = world.run(&["exec", "--json", "Call it."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let items: String =
        ran.out().lines().filter(|line| line.contains("mcp_tool_call")).map(|it| format!("{it}\n")).collect();
    expect![[r#"
        {"type":"item.started","item":{"id":"item_0","type":"mcp_tool_call","server":"depot","tool":"echo","arguments":{"a":1},"result":null,"error":null,"status":"in_progress"}}
        {"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","server":"depot","tool":"echo","arguments":{"a":1},"result":{"content":[{"type":"text","text":"pong"}],"structured_content":null},"error":null,"status":"completed"}}
    "#]]
    .assert_eq(&items);
    let requests: Vec<Value> =
        server.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    let tools = requests[0]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).filter(|it| it.contains("mcp")).collect();
    assert_eq!(names, ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "mcp__depot__echo"]);
    let output = requests[1]["input"].as_array().unwrap().last().unwrap()["output"].clone();
    assert_eq!(output, r#"[{"type":"text","text":"pong"}]"#);
}

#[test]
fn a_session_ends_without_a_server_that_it_needs() {
    let server = MockServer::start(vec![]);
    let world = world(&server, "[mcp_servers.vital]\ncommand = \"/no/such/program\"\nrequired = true\n");
    check_ran(
        &world,
        &["exec", "Hello."],
        &expect![[r#"
            1 error: required MCP servers failed to initialize: vital: MCP client for `vital` failed to start: MCP startup failed: the program `/no/such/program` cannot be started: No such file or directory (os error 2)
        "#]],
    );
    assert_eq!(server.requests(), []);
}
