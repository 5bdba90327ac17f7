//! What is shown is what is sent, and every byte of it has an origin.

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use proptest::prelude::*;
use serde_json::Value;

use crate::World;

const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

const FIXTURE: &str = "
//- home/AGENTS.md
Answer briefly.
//- work/AGENTS.md
Use \"tabs\".
//- work/schema.json
{\"type\": \"object\", \"properties\": {\"b\": {\"type\": \"string\"}, \"a\": {\"type\": \"string\"}}}
";

fn configure(world: &World, server: &MockServer) {
    let config = format!(
        "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
}

#[track_caller]
fn check_same_bytes(args: &[&str]) {
    let server = MockServer::start([MockReply::say("Done.")]);
    let world = World::new(FIXTURE);
    configure(&world, &server);
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
    assert_eq!(requests[0].header("session_id"), Some(SESSION));
}

#[test]
fn prompt_shows_the_bytes_that_exec_sends() {
    check_same_bytes(&[]);
    check_same_bytes(&["-m", "gpt-5.1", "-s", "workspace-write", "-c", "developer_instructions=Be kind"]);
    check_same_bytes(&["--output-schema", "schema.json", "--enable", "child_agents_md"]);
}

#[test]
fn every_follow_up_extends_the_request_before() {
    let plan = serde_json::json!({
        "type": "function_call", "id": "fc", "call_id": "c1", "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
    });
    let server = MockServer::start([
        MockReply::items([plan.clone()]),
        MockReply::items([plan]).header("x-codex-turn-state", "s1"),
        MockReply::say("Done."),
    ]);
    let world = World::new(FIXTURE);
    configure(&world, &server);
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
    ) {
        let world = World::new("//- work/x\n");
        for (path, text) in [("home/AGENTS.md", home), ("work/AGENTS.md", root), ("work/AGENTS.override.md", over)] {
            if let Some(text) = text {
                world.files.write(path, text);
            }
        }
        world.files.write("home/config.toml", format!("project_doc_max_bytes = {budget}\n"));
        check_account(&world, &input);
    }
}

#[test]
fn the_report_names_every_file_and_what_was_cut() {
    let world = World::new(FIXTURE);
    world.files.write("home/config.toml", "project_doc_max_bytes = 5\n");
    let ran = world.run(&["context"]);
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
    let json = world.run(&["prompt", "--format", "json", "hello"]);
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["model"], "gpt-5.2-codex");
}

#[test]
fn the_same_facts_give_the_same_bytes_in_any_surroundings() {
    let world = World::new(FIXTURE);
    let body = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pellucid"));
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
