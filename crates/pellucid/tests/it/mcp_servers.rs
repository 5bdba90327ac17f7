//! MCP servers in turns of the program: the messages when they fail, questions that are answered beforehand, lists that
//! change, and other servers for a running thread.

use expect_test::expect;
use pellucid_testkit::HostileMcp;
use pellucid_testkit::HostileMcpServer;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::context_events::Client;

/// A world whose model is a mock, with further keys.
fn world(server: &MockServer, keys: &str) -> World {
    let world = World::new("");
    configure(&world, server, keys);
    world
}

fn configure(world: &World, server: &MockServer, keys: &str) {
    let provider = format!("[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n", server.base_url());
    world.files.write("home/config.toml", format!("model_provider = \"mock\"\n{provider}{keys}"));
}

/// The names of the tools of MCP servers in each request.
fn offered(server: &MockServer) -> Vec<Vec<String>> {
    let names = |body: &[u8]| {
        let request: Value = serde_json::from_slice(body).unwrap();
        let names = request["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        names.filter(|name| name.starts_with("mcp__")).map(str::to_owned).collect()
    };
    server.requests().iter().map(|request| names(&request.body)).collect()
}

fn call(name: &str) -> MockReply {
    MockReply::items([json!({"type": "function_call", "name": name, "arguments": "{}", "call_id": "c"})])
}

#[test]
fn a_server_that_fails_is_printed_once_before_the_answer() {
    let server = MockServer::start(vec![MockReply::say("Done.")]);
    let dead = McpScript::new(&[]);
    dead.is_dead();
    let keys = format!("[mcp_servers.dead]\n{}[mcp_servers.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n", dead.config());
    let ran = world(&server, &keys).run(&["exec", "Hello."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut said: Vec<&str> =
        ran.stderr.lines().filter(|line| line.starts_with("mcp: ") && line.contains(" failed: ")).collect();
    said.sort_unstable();
    expect![[r#"
        mcp: dead failed: MCP client for `dead` failed to start: MCP startup failed: the handshake failed: the server ended, or closed the connection, before it answered
        mcp: gone failed: MCP client for `gone` failed to start: MCP startup failed: the handshake failed: the server cannot be reached: Connection refused (os error 111)"#]]
    .assert_eq(&said.join("\n"));
    let (failed, answered) = (ran.stderr.rfind(" failed: ").unwrap(), ran.stderr.find("Done.").unwrap());
    assert!(failed < answered, "{}", ran.stderr);
    assert!(!ran.stderr.contains("ERROR") && !ran.stderr.contains('{'), "{}", ran.stderr);
}

#[test]
fn programs_learn_how_the_start_of_each_server_ended() {
    let server = MockServer::start(["One.", "Two."].map(MockReply::say));
    let (depot, dead) = (McpScript::new(&[]), McpScript::new(&[]));
    dead.is_dead();
    let keys = format!("[mcp_servers.dead]\n{}[mcp_servers.depot]\n{}", dead.config(), depot.config());
    let world = world(&server, &keys);
    let accounts = |args: &[&str]| -> Vec<(String, String, bool)> {
        let ran = world.run(args);
        let lines = ran.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let accounts = lines.filter(|line| line["type"] == "context.mcp_server");
        let account = |it: Value| {
            assert!(it["seconds"].as_f64().unwrap() >= 0.0, "{it}");
            let word = |member: &str| it[member].as_str().unwrap_or_default().to_owned();
            (word("name"), word("state"), word("error").contains("failed to start"))
        };
        let mut accounts: Vec<_> = accounts.map(account).collect();
        accounts.sort();
        accounts
    };
    let row = |name: &str, state: &str, has_failed| (name.to_owned(), state.to_owned(), has_failed);
    let expected = [row("dead", "failed", true), row("depot", "ready", false)];
    assert_eq!(accounts(&["exec", "--json", "--context-events", "Go."]), expected);
    assert_eq!(accounts(&["exec", "--json", "Go."]), []);
}

#[test]
fn forms_are_answered_beforehand() {
    let form = json!({"message": "Which?", "requestedSchema": {"type": "object", "required": ["branch"], "properties": {
        "branch": {"type": "string", "default": "main"}, "count": {"type": "integer", "default": 3},
    }}});
    let rows = [
        (vec![], json!({"action": "decline"})),
        (
            vec!["--elicitation", "accept-defaults"],
            json!({"action": "accept", "content": {"branch": "main", "count": 3}}),
        ),
        (vec!["--elicitation", "answers.json"], json!({"action": "accept", "content": {"branch": "next", "count": 3}})),
        (vec!["--elicitation", "others.json"], json!({"action": "decline"})),
    ];
    for (options, expected) in rows {
        let script = McpScript::new(&["echo"]);
        script.answers("tools/call_echo", &json!({"content": [{"type": "text", "text": "t"}]}));
        script.asks_before("echo", &form);
        let server = MockServer::start(vec![call("mcp__depot__echo"), MockReply::say("Done.")]);
        let world = world(&server, &format!("[mcp_servers.depot]\n{}", script.config()));
        world.files.write("work/answers.json", r#"{"depot": {"branch": "next"}}"#);
        world.files.write("work/others.json", r#"{"wiki": {}}"#);
        let ran = world.run(&[&["exec"], options.as_slice(), &["Go."]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(script.answers_to_questions(), [expected], "{options:?}");
    }
    let world = World::new("//- work/answers.json\n[1]\n");
    let ran = world.run(&["exec", "--elicitation", "answers.json", "Go."]);
    expect![[r#"
        error: could not read answers.json: invalid type: sequence, expected a map at line 1 column 0
        hint: `--elicitation` takes `accept-defaults`, or a file such as {"SERVER": {"FIELD": "value"}}
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn a_server_says_what_it_has() {
    let script = McpScript::new(&["echo", "store"]);
    script.answers(
        "prompts/list",
        &json!({"prompts": [{"name": "greet", "description": "Greets.", "arguments": [
            {"name": "who", "required": true}, {"name": "how"},
        ]}]}),
    );
    script.answers(
        "resources/list",
        &json!({"resources": [{"uri": "book://1", "name": "One", "mimeType": "text/plain"}]}),
    );
    let world = World::new("");
    world.files.write("home/config.toml", format!("[mcp_servers.depot]\n{}", script.config()));
    let run = |args: &[&str]| {
        let ran = world.run(&[&["mcp"], args].concat());
        format!("{} {}{}", ran.status, ran.out(), ran.stderr)
    };
    expect![[r#"
        0 Name   Tokens  Description
        echo   15      Does echo.
        store  16      Does store.

        2 tools, about 31 tokens with their schemas
    "#]]
    .assert_eq(&run(&["tools", "depot"]));
    expect![[r#"
        0 Name   Arguments  Description
        greet  who [how]  Greets.
    "#]]
    .assert_eq(&run(&["prompts", "depot"]));
    expect![[r#"
        0 URI       Name  Type
        book://1  One   text/plain
    "#]]
    .assert_eq(&run(&["resources", "depot"]));
    let listed: Value = serde_json::from_str(world.run(&["mcp", "tools", "depot", "--json"]).out()).unwrap();
    assert_eq!((&listed["tools"][1]["name"], &listed["left_out"]), (&json!("store"), &json!([])));
    expect![[r#"
        1 error: No MCP server named 'nope' found.
        hint: `pellucid mcp list` shows those that are configured
    "#]]
    .assert_eq(&run(&["tools", "nope"]));
}

#[test]
fn the_revision_of_a_server_is_remembered() {
    let script = McpScript::new(&["echo"]);
    let world = World::new("");
    world.files.write("home/config.toml", format!("[mcp_servers.depot]\nprotocol = \"auto\"\n{}", script.config()));
    let asked = || script.asked().iter().map(|it| it["method"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let revision = || world.run(&["mcp", "get", "depot"]).out().lines().filter(|it| it.contains("revision")).count();
    assert_eq!(revision(), 0);
    assert_eq!(world.run(&["mcp", "tools", "depot"]).status, 0);
    assert_eq!(asked()[..2], ["server/discover", "initialize"]);
    assert_eq!(revision(), 1);
    let before = asked().len();
    assert_eq!(world.run(&["mcp", "tools", "depot"]).status, 0);
    assert_eq!(asked()[before], "initialize");
    let doctor: Value = serde_json::from_str(world.run(&["doctor", "--json"]).out()).unwrap();
    assert_eq!(doctor["mcp"]["revisions"]["depot"], "2025-06-18");
}

#[test]
fn a_pack_may_write_schemas_whole() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"minLength": 2}}, "$schema": "s"});
    let script = McpScript::new(&[]);
    script.answers("tools/list", &json!({"tools": [{"name": "echo", "inputSchema": schema}]}));
    let server = MockServer::start(vec![MockReply::say("Done.")]);
    let world = world(&server, &format!("[mcp_servers.depot]\n{}", script.config()));
    let layout = "name = \"whole\"\nfrom = \"codex\"\n[given_tools]\nschemas = \"whole\"\n";
    world.files.write("home/packs/whole/pack.toml", layout);
    let ran = world.run(&["exec", "--pack", "whole", "Go."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let request: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    let tool = request["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "mcp__depot__echo").unwrap();
    expect![[
        r##"{"$defs":{"a":{"minLength":2}},"$schema":"s","properties":{"a":{"$ref":"#/$defs/a"}},"type":"object"}"##
    ]]
    .assert_eq(&tool["parameters"].to_string());
}

#[test]
fn a_changed_list_reaches_a_later_turn_of_a_thread_that_follows_its_servers() {
    let hostile = HostileMcpServer::new(HostileMcp::LIST_CHANGES);
    let turns = 200;
    let mut replies = vec![call("mcp__depot__ping")];
    replies.extend((0..turns).map(|_| MockReply::say("Done.")));
    let server = MockServer::start(replies);
    let argv = hostile.argv();
    let keys = format!("[mcp_servers.depot]\ncommand = {:?}\nargs = {:?}\n", argv[0], &argv[1..]);
    let world = world(&server, &keys);
    let layout = "name = \"following\"\nfrom = \"codex\"\n[given_tools]\nfollow = true\n";
    world.files.write("home/packs/following/pack.toml", layout);
    let mut client = Client::of(&world, &["--pack", "following"]);
    client.introduce(&json!({}));
    let (thread, _) = client.turn("thread/start", &json!({}), "Call it.");
    assert_eq!(offered(&server), [["mcp__depot__ping"], ["mcp__depot__ping"]]);
    // The list is read again beside the turns.
    for _ in 1..turns {
        client.turn("thread/resume", &json!({ "threadId": thread }), "And now?");
        if offered(&server).last().unwrap().len() == 2 {
            break;
        }
    }
    assert_eq!(offered(&server).last().unwrap(), &["mcp__depot__ping", "mcp__depot__pong"]);
}

#[test]
fn the_model_learns_once_that_a_resource_has_changed() {
    let hostile = HostileMcpServer::new(HostileMcp::RESOURCE_CHANGES);
    let turns = 200;
    let server = MockServer::start((0..turns).map(|_| MockReply::say("Done.")).collect::<Vec<_>>());
    let argv = hostile.argv();
    let keys = format!("[mcp_servers.depot]\ncommand = {:?}\nargs = {:?}\n", argv[0], &argv[1..]);
    let world = world(&server, &keys);
    let layout = "name = \"following\"\nfrom = \"codex\"\n[given_tools]\nfollow = true\n";
    world.files.write("home/packs/following/pack.toml", layout);
    let mut client = Client::of(&world, &["--pack", "following"]);
    client.introduce(&json!({}));
    let (thread, _) = client.turn("thread/start", &json!({}), "See @depot:note://a");
    let told = |server: &MockServer| {
        let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
        last.matches("The resource note://a of the MCP server depot has changed since it was read.").count()
    };
    // The server reports the change beside the turns.
    let mut n_turns = 1;
    while told(&server) == 0 && n_turns < turns - 1 {
        client.turn("thread/resume", &json!({ "threadId": thread }), "And now?");
        n_turns += 1;
    }
    client.turn("thread/resume", &json!({ "threadId": thread }), "And now?");
    assert_eq!(told(&server), 1);
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(!last.contains("note://b"), "only what was read");
}

#[test]
fn a_running_thread_gets_the_servers_of_a_changed_configuration() {
    let (depot, wiki) = (McpScript::new(&["store"]), McpScript::new(&["find"]));
    let server = MockServer::start(["One.", "Two.", "Three."].map(MockReply::say));
    let world = world(&server, &format!("[mcp_servers.depot]\n{}", depot.config()));
    let mut client = Client::of(&world, &[]);
    client.introduce(&json!({}));
    let (thread, _) = client.turn("thread/start", &json!({}), "One.");
    configure(&world, &server, &format!("[mcp_servers.wiki]\n{}", wiki.config()));
    client.turn("thread/resume", &json!({ "threadId": thread }), "Two.");
    assert_eq!(client.ask("config/mcpServer/reload", &Value::Null)["result"], json!({}));
    client.turn("thread/resume", &json!({ "threadId": thread }), "Three.");
    assert_eq!(offered(&server), [["mcp__depot__store"], ["mcp__depot__store"], ["mcp__wiki__find"]]);
}

/// A server with the prompt `fix` and the resource `note://a`.
fn depot() -> McpScript {
    let script = McpScript::new(&[]);
    script.gives(
        &json!({"name": "fix", "arguments": [{"name": "file", "required": true}]}),
        "Fix what is broken.",
        "a note",
    );
    script
}

/// The texts of the last message of the user in each request.
fn said(server: &MockServer) -> Vec<Vec<String>> {
    let texts = |body: &[u8]| {
        let request: Value = serde_json::from_slice(body).unwrap();
        let last = request["input"].as_array().unwrap().iter().rfind(|item| item["role"] == "user").unwrap().clone();
        last["content"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
    };
    server.requests().iter().map(|request| texts(&request.body)).collect()
}

/// The arguments of the prompts that a server was asked for.
fn prompts_asked(script: &McpScript) -> Vec<Value> {
    let asked = script.asked().into_iter().filter(|line| line["method"] == "prompts/get");
    asked.map(|line| line["params"]["arguments"].clone()).collect()
}

const FIXED: [&str; 1] = ["Fix what is broken."];

const NOTED: [&str; 2] = ["See @depot:note://a.", "note://a\n```\na note\n```"];

#[test]
fn a_prompt_and_a_resource_of_a_server_reach_the_model() {
    let script = depot();
    let server = MockServer::start(["One.", "Two.", "Three.", "Four."].map(MockReply::say));
    let world = world(&server, &format!("[mcp_servers.depot]\n{}", script.config()));
    let ran = world.run(&["exec", "/mcp:depot:fix 'a b.rs'"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(world.run(&["exec", "resume", "--last", "See @depot:note://a."]).status, 0);
    let mut client = Client::of(&world, &[]);
    client.introduce(&json!({}));
    let (thread, _) = client.turn("thread/start", &json!({}), "/mcp:depot:fix file=c.rs");
    client.turn("thread/resume", &json!({ "threadId": thread }), "See @depot:note://a.");
    assert_eq!(said(&server), [&FIXED[..], &NOTED, &FIXED, &NOTED]);
    assert_eq!(prompts_asked(&script), [json!({"file": "a b.rs"}), json!({"file": "c.rs"})]);
    drop(client);
    for (n, named) in [(1, "the MCP prompt depot:fix"), (2, "the MCP resource depot:note://a")] {
        let shown = world.run(&["context", &format!("{thread}#{n}"), "--json"]);
        let report: Value = serde_json::from_str(shown.out()).unwrap();
        let rows = report["rows"].as_array().unwrap().iter().filter_map(|row| row["origin"].as_str());
        let given: Vec<_> = rows.filter_map(|origin| origin.split_once(", sha256 ")).collect();
        assert_eq!(given.last().map(|(what, digest)| (*what, digest.len())), Some((named, 64)), "{report}");
    }
}

#[test]
fn what_a_server_does_not_give_ends_the_turn_before_the_model_is_asked() {
    let script = depot();
    let server = MockServer::start([]);
    let world = world(&server, &format!("[mcp_servers.depot]\n{}", script.config()));
    script.refuses("resources/read", -32002, "no such note");
    let rows = [
        ("/mcp:depot:fix", "the prompt `fix` of the MCP server `depot` needs `file`; the arguments are file=…"),
        ("/mcp:depot:gone a", "the prompt `gone` of the MCP server `depot` does not exist: the server has `fix`"),
        ("/mcp:wiki:fix", "the prompt `fix` of the MCP server `wiki` cannot be had: the session has no such server"),
        (
            "See @depot:note://b.",
            "the resource `note://b` of the MCP server `depot` cannot be had: resources/read failed for `depot` (note://b): \
             resources/read failed: Mcp error: -32002: no such note",
        ),
    ];
    for (message, expected) in rows {
        let ran = world.run(&["exec", message]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    script.answers(
        "prompts/get",
        &json!({"messages": [{"role": "user", "content": {"type": "text", "text": "a".repeat(2 << 20)}}]}),
    );
    let ran = world.run(&["exec", "/mcp:depot:fix a"]);
    let expected =
        "the prompt `fix` of the MCP server `depot` has 2097152 bytes of text, and at most 1048576 can be sent";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_look_at_the_next_request_says_what_a_server_would_give() {
    let script = depot();
    let server = MockServer::start([]);
    let world = world(&server, &format!("[mcp_servers.depot]\n{}", script.config()));
    let typed = world.run(&["prompt", "/mcp:depot:fix a.rs"]);
    assert!(typed.out().contains("/mcp:depot:fix a.rs"), "{}", typed.out());
    let reason = "the prompt `fix` of the MCP server `depot` is asked for when the message is sent; --mcp connect asks for it now";
    assert!(typed.stderr.contains(reason), "{}", typed.stderr);
    assert_eq!(script.asked(), Vec::<Value>::new());
    let asked = world.run(&["prompt", "--mcp", "connect", "/mcp:depot:fix a.rs"]);
    assert!(asked.out().contains(FIXED[0]) && !asked.out().contains("/mcp:"), "{}", asked.out());
    assert!(!asked.stderr.contains(reason), "{}", asked.stderr);
}

#[test]
fn a_known_server_holds_up_no_request_but_a_strict_one() {
    let script = McpScript::new(&["echo"]);
    let server = MockServer::start(["One.", "Two.", "Three."].map(MockReply::say));
    let world = world(&server, &format!("[mcp_servers.depot]\nstart = \"background\"\n{}", script.config()));
    assert_eq!(world.run(&["exec", "Go."]).status, 0);
    script.is_dead();
    assert_eq!(world.run(&["exec", "Go."]).status, 0);
    assert_eq!(offered(&server), [["mcp__depot__echo"], ["mcp__depot__echo"]]);
    let strict = world.run(&["exec", "--strict-context", "Go."]);
    assert_eq!((strict.status, server.requests().len()), (1, 2), "{}", strict.stderr);
    assert!(strict.stderr.contains("the MCP server depot"), "{}", strict.stderr);
}
