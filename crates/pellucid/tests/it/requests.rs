//! The shown request is the one that is sent, and every byte of it has an origin.

use pellucid_engine::digest::Digest;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

const FIXTURE: &str = "
//- home/AGENTS.md
Answer briefly.
//- work/AGENTS.md
Use \"tabs\".
//- work/schema.json
{\"type\": \"object\", \"properties\": {\"b\": {\"type\": \"string\"}, \"a\": {\"type\": \"string\"}}}
";

fn configure(world: &World, server: &MockServer, wire: &str) {
    let config = format!(
        "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\n",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
}

/// A reply on this wire.
fn reply(wire: &str, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        "responses" => MockReply::items(items),
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        other => panic!("unknown wire {other}"),
    }
}

fn answer(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    json!({ "type": "message", "id": "msg", "role": "assistant", "content": content })
}

#[track_caller]
fn check_same_bytes(args: &[&str]) {
    for wire in WIRES {
        check_same_bytes_on(wire, args);
    }
}

#[track_caller]
fn check_same_bytes_on(wire: &str, args: &[&str]) {
    let server = MockServer::start([reply(wire, [answer("Done.")])]);
    let world = World::new(FIXTURE);
    configure(&world, &server, wire);
    let with = |command: &[&str]| {
        let args: Vec<&str> =
            command.iter().chain(args).copied().chain(["--session-id", SESSION, "Say \"hé\"."]).collect();
        world.run(&args)
    };
    let shown = with(&["prompt", "--format", "body"]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    let ran = with(&["exec"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].body == shown.stdout, "the server received other bytes than `prompt` shows");
    let full = with(&["prompt", "--full"]);
    let line = format!("── {wire}: {} bytes, SHA-256 {}, ", shown.stdout.len(), Digest::of([&*requests[0].body]));
    assert!(full.out().contains(&line), "{line} is not in {}", full.out());
    for other in WIRES {
        assert!(full.out().contains(&format!("\n── {other}: ")), "{other}");
    }
    let (path, session) = match wire {
        "chat" => ("/v1/chat/completions", Some(SESSION)),
        "messages" => ("/v1/messages", None),
        _ => ("/v1/responses", Some(SESSION)),
    };
    assert_eq!((requests[0].path.as_str(), requests[0].header("session_id")), (path, session));
    let has_metadata = requests[0].header("x-codex-turn-metadata").is_some();
    assert_eq!(has_metadata, wire == "responses", "strangers do not learn of the repository");
}

#[test]
fn prompt_shows_the_bytes_that_exec_sends() {
    check_same_bytes(&[]);
    check_same_bytes(&["-m", "gpt-5.1", "-s", "workspace-write", "-c", "developer_instructions=Be kind"]);
    check_same_bytes(&["--output-schema", "schema.json", "--enable", "child_agents_md"]);
}

/// A conversation with calls, in one API format: the follow-ups, and where the list of items ends in them.
fn conversation(wire: &str, end: &str) -> Vec<String> {
    let plan = |id: &str| {
        json!({
            "type": "function_call", "call_id": id, "name": "update_plan",
            "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
        })
    };
    let thought = json!({
        "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm." }],
        "content": [{ "type": "reasoning_text", "text": "Hm." }], "encrypted_content": "SIG",
    });
    let server = MockServer::start([
        reply(wire, [thought, answer("I plan."), plan("c1"), plan("c2")]),
        reply(wire, [plan("c3")]),
        reply(wire, [answer("Done.")]),
    ]);
    let world = World::new(FIXTURE);
    configure(&world, &server, wire);
    let ran = world.run(&["exec", "go"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    let bodies = server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap());
    bodies.map(|body| body[..body.rfind(end).unwrap()].to_owned()).collect()
}

#[test]
fn follow_ups_extend_the_request_before_on_the_other_wires() {
    for (wire, end, expected) in [
        (
            "chat",
            "],\"stream\":true",
            r#",{"role":"assistant","reasoning":"Hm.","content":"I plan."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"update_plan","arguments":"{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}"}},{"id":"c2","type":"function","function":{"name":"update_plan","arguments":"{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}"}}]},{"role":"tool","tool_call_id":"c1","content":"Plan updated"},{"role":"tool","tool_call_id":"c2","content":"Plan updated"}"#,
        ),
        (
            "messages",
            ",\"cache_control\"",
            r#"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"SIG"},{"type":"text","text":"I plan."},{"type":"tool_use","id":"c1","name":"update_plan","input":{"plan":[{"step":"a","status":"completed"}]}},{"type":"tool_use","id":"c2","name":"update_plan","input":{"plan":[{"step":"a","status":"completed"}]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"Plan updated"},{"type":"tool_result","tool_use_id":"c2","content":"Plan updated""#,
        ),
    ] {
        let lists = conversation(wire, end);
        assert_eq!(lists.len(), 3);
        assert_eq!(lists[1].strip_prefix(lists[0].as_str()), Some(expected));
        assert!(lists[2].starts_with(&lists[1]), "{wire}");
    }
}

#[test]
fn the_home_folders_env_file_comes_before_the_process() {
    let server = MockServer::start([MockReply::say("Done.")]);
    let world = World::new("//- home/.env\nHOME=/elsewhere\nMY_KEY=from-file\nCODEX_API_KEY=not-taken\n//- work/x\n");
    configure(&world, &server, "responses");
    let config = world.files.read("home/config.toml");
    world.files.write("home/config.toml", format!("{config}env_key = \"MY_KEY\"\n"));
    let ran = world.run(&["exec", "hi"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer from-file"));
}

#[test]
fn every_follow_up_extends_the_request_before() {
    let plan = json!({
        "type": "function_call", "id": "fc", "call_id": "c1", "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
    });
    let server = MockServer::start([
        MockReply::items([plan.clone()]),
        MockReply::items([plan]).header("x-codex-turn-state", "s1"),
        MockReply::say("Done."),
    ]);
    let world = World::new(FIXTURE);
    configure(&world, &server, "responses");
    let ran = world.run(&["exec", "go"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    let requests = server.requests();
    let input = |n: usize| {
        let body = std::str::from_utf8(&requests[n].body).unwrap();
        body[..body.find("],\"tools\"").unwrap()].to_owned()
    };
    assert!(input(1).starts_with(&input(0)) && input(2).starts_with(&input(1)));
    assert!(input(1).ends_with(r#"{"type":"function_call_output","call_id":"c1","output":"Plan updated"}"#));
    let state = |n: usize| requests[n].header("x-codex-turn-state");
    assert_eq!((state(0), state(1), state(2)), (None, None, Some("s1")));
    assert!(requests.iter().all(|request| request.connection == requests[0].connection), "one connection serves all");
}

/// Checks that the rows of `context --json` cover the body of `prompt` from end to end.
fn check_account(world: &World, input: &str) {
    let body = world.run(&["prompt", "--format", "body", "--session-id", SESSION, "--", input]);
    let report = world.run(&["context", "--json", "--session-id", SESSION, "--", input]);
    assert_eq!((body.status, report.status), (0, 0), "{}{}", body.stderr, report.stderr);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let mut end = 0;
    for row in report["rows"].as_array().unwrap() {
        assert_eq!(row["start"].as_u64(), Some(end), "{row}");
        assert!(!row["source"].as_str().unwrap().is_empty());
        end += row["bytes"].as_u64().unwrap();
    }
    assert_eq!(end, body.stdout.len() as u64);
    assert_eq!(report["bytes"].as_u64(), Some(end));
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ -~\n\"\\\\é日]{0,60}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_report_covers_the_request_in_any_workspace(
        home in proptest::option::of(any_text()),
        root in proptest::option::of(any_text()),
        over in proptest::option::of(any_text()),
        budget in 0_usize..100,
        input in "[a-z\"é ]{1,20}",
        wire in 0..WIRES.len(),
    ) {
        let world = World::new("//- work/x\n");
        for (path, text) in [("home/AGENTS.md", home), ("work/AGENTS.md", root), ("work/AGENTS.override.md", over)] {
            if let Some(text) = text {
                world.files.write(path, text);
            }
        }
        let wire = WIRES[wire];
        let provider = format!("model_provider = \"m\"\n[model_providers.m]\nname = \"M\"\nwire_api = \"{wire}\"\n");
        world.files.write("home/config.toml", format!("project_doc_max_bytes = {budget}\n{provider}"));
        check_account(&world, &input);
    }
}

#[test]
fn the_report_names_every_file_and_what_was_cut() {
    let world = World::new(FIXTURE);
    world.files.write("home/config.toml", "project_doc_max_bytes = 5\n");
    let ran = world.run(&["context", "-vv"]);
    let text = world.shown(ran.out());
    for line in [
        "file ROOT/home/AGENTS.md",
        "file ROOT/work/AGENTS.md (cut at byte 5 of 12)",
        "  ROOT/work/AGENTS.md (user_instructions): cut after 5 of 12 bytes, the budget is spent",
        "  ROOT/work/AGENTS.override.md: not there",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn prompt_has_a_readable_form_and_an_indented_one() {
    let world = World::new(FIXTURE);
    let text = world.run(&["prompt", "hello"]);
    assert!(text.out().contains("── user ──\nhello\n"), "{}", text.out());
    assert!(text.out().contains("── tools ──\nexec_command  "));
    for wire in ["chat", "messages"] {
        let provider = format!("model_providers.m={{name=\"M\",wire_api=\"{wire}\"}}");
        let text = world.run(&["-c", "model_provider=m", "-c", &provider, "prompt", "hello"]);
        assert!(text.out().contains("hello\n\n── tools ──\nexec_command  "), "{}{}", text.out(), text.stderr);
    }
    let json = world.run(&["prompt", "--format", "json", "hello"]);
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["model"], "gpt-5.2-codex");
}

#[test]
fn the_same_facts_give_the_same_bytes_in_any_surroundings() {
    let world = World::new(FIXTURE);
    let body = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(crate::program());
        command.args(["prompt", "--format", "body", "--session-id", SESSION, "hello"]);
        command.current_dir(world.files.path("work")).env_clear().envs(variables.iter().copied());
        command.env("PATH", "/usr/bin:/bin").env("PELLUCID_HOME", world.files.path("home"));
        command.output().unwrap().stdout
    };
    let plain = body(&[]);
    assert!(!plain.is_empty());
    for variables in [
        [("TZ", "Asia/Tokyo"), ("LANG", "de_DE.UTF-8")],
        [("LC_ALL", "tr_TR.UTF-8"), ("COLUMNS", "20")],
        [("TERM", "dumb"), ("SOURCE_DATE_EPOCH", "0")],
    ] {
        assert!(body(&variables) == plain, "{variables:?} changes the request");
    }
}
