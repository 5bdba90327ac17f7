//! A recording plays back to the same events and leads to the same requests.

use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

const KEY: &str = "sk-recorded-key";

fn plan() -> Value {
    json!({
        "type": "function_call", "id": "fc", "call_id": "c1", "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
    })
}

/// A message that arrives in pieces, after a thought.
fn slow(text: &str) -> MockReply {
    let (first, rest) = text.split_at(3);
    let message = |content| json!({ "type": "message", "id": "m", "role": "assistant", "content": content });
    MockReply::events([
        json!({ "type": "response.created", "response": {} }),
        json!({ "type": "response.output_item.done", "item": {
            "type": "reasoning", "id": "rs", "summary": [{ "type": "summary_text", "text": "Hm." }],
            "encrypted_content": "sealed",
        } }),
        json!({ "type": "response.output_item.added", "item": message(json!([])) }),
        json!({ "type": "response.output_text.delta", "delta": first }),
        json!({ "type": "response.output_text.delta", "delta": rest }),
        json!({ "type": "response.output_item.done", "item": message(json!([{ "type": "output_text", "text": text }])) }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": {
            "input_tokens": 50, "input_tokens_details": { "cached_tokens": 40 }, "output_tokens": 7,
            "output_tokens_details": { "reasoning_tokens": 2 }, "total_tokens": 57,
        } } }),
    ])
}

fn configure(world: &World, server: &MockServer, settings: &str) {
    let config = format!(
        "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n\
         experimental_bearer_token = \"{KEY}\"\n{settings}",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
}

/// The events of a run.
fn events(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Records a turn against a server, plays it back, and compares the events.
#[track_caller]
fn check_playback(file: &str, replies: Vec<MockReply>) {
    let server = MockServer::start(replies);
    let world = World::new("//- work/AGENTS.md\nUse \"tabs\".\n");
    configure(&world, &server, "request_max_retries = 0\nstream_max_retries = 2\n");
    // Neither run keeps the session, so that both can have its id.
    let with = |flag| world.run(&["exec", "--json", "--ephemeral", "--session-id", SESSION, flag, file, "go"]);
    let live = with("--record");
    let played = with("--script");
    assert_eq!(events(played.out()), events(live.out()), "{}", world.files.read(format!("work/{file}")));
    assert_eq!(played.status, live.status);
}

#[test]
fn a_turn_with_tools_and_thoughts_plays_back() {
    for file in ["r.toml", "r.jsonl"] {
        check_playback(file, vec![MockReply::items([plan()]), slow("Done and done.")]);
    }
}

#[test]
fn broken_and_refused_replies_play_back() {
    check_playback(
        "r.toml",
        vec![MockReply::items([plan()]), slow("Done.").cut_after(300), MockReply::status(500, "later"), slow("Done.")],
    );
    check_playback("r.jsonl", vec![MockReply::status(400, "no")]);
    let busy = json!({ "type": "response.failed", "response": { "error": { "code": "rate_limit_exceeded", "message": "try again in 1ms" } } });
    check_playback("r.jsonl", vec![MockReply::events([busy.clone()]), MockReply::events([busy]), slow("Done.")]);
    check_playback("r.toml", vec![MockReply::hang_up(), MockReply::hang_up(), MockReply::hang_up()]);
}

#[test]
fn a_recording_holds_neither_key_nor_headers() {
    let reply =
        slow(&format!("The key is {KEY}.")).header("x-request-id", "req-77").header("x-codex-turn-state", "ts-77");
    let world = World::new("//- work/x\n");
    let server = MockServer::start([reply]);
    configure(&world, &server, "");
    let ran = world.run(&["exec", "--record", "r.toml", "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let text = world.files.read("work/r.toml");
    for hidden in [KEY, "req-77", "ts-77", "127.0.0.1", "Bearer"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
    assert!(text.contains("The key is [secret]."), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_the_turn() {
    let world = World::new("//- work/x\n");
    let ran = world.run(&["exec", "--record", "no/such/r.toml", "go"]);
    assert_eq!((ran.status, ran.out()), (1, ""));
    expect![[r#"
        error: --record: could not create no/such/r.toml: No such file or directory (os error 2)
    "#]]
    .assert_eq(&ran.stderr);
}
