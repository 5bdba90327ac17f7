//! Sessions of other agents (`--from`): every answer is made from the agent's file, and says so.

use std::fs;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_answers::schemas;
use pellucid_testkit::fits_schema;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::inspector::client::Inspector;

const CLAUDE: &str = "5f0c2f6e-1111-4222-8333-000000000001";
const CODEX: &str = "019a0000-0000-7000-8000-000000000001";
const MARK: &str =
    "reconstructed from the file of another agent: tokens are those that the file has, sizes are estimated\n";

const PRICES: &str = "
[[price]]
model = \"claude-test-*\"
from = 2020-01-01
currency = \"USD\"
input = 1
cached_read = 0.1
cache_write = 2
cache_write_1h = 4
output = 10
source = \"a test\"
";

/// A line in the form of Claude Code.
fn claude(world: &World, kind: &str, at: &str, mut message: Value) -> String {
    message["role"] = kind.into();
    let cwd = world.files.path("work");
    let line = json!({
        "type": kind, "sessionId": CLAUDE, "cwd": cwd, "version": "2.1.0", "isSidechain": false, "uuid": at, "promptId": "p1",
        "timestamp": format!("2026-03-04T05:{at}.000Z"), "message": message, "requestId": "r",
    });
    format!("{line}\n")
}

fn answer(id: &str, tokens: [i64; 5], block: &Value) -> Value {
    let [input, read, five, hour, output] = tokens;
    let usage = json!({
        "input_tokens": input, "cache_read_input_tokens": read, "cache_creation_input_tokens": five + hour, "output_tokens": output,
        "cache_creation": { "ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour },
    });
    json!({ "id": id, "model": "claude-test-1", "content": [block], "usage": usage })
}

fn world() -> World {
    let world = World::new("");
    world.files.write("home/prices.toml", PRICES);
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = json!({ "type": "tool_use", "id": "t1", "name": "Read", "input": { "path": "rules" } });
    let output = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "Be brief. ".repeat(100) }]);
    let first = [1_000, 0, 2_000, 3_000, 100];
    let lines = [
        claude(&world, "user", "06:01", json!({ "content": "read the rules" })),
        claude(&world, "assistant", "06:02", answer("m1", first, &text("I look."))),
        claude(&world, "assistant", "06:03", answer("m1", first, &call)),
        claude(&world, "user", "06:04", json!({ "content": output })),
        claude(&world, "assistant", "06:05", answer("m2", [500, 5_000, 0, 0, 50], &text("Be brief, they say."))),
        claude(&world, "user", "56:00", json!({ "content": "again" })),
        claude(&world, "assistant", "56:01", answer("m3", [9_000, 0, 0, 0, 10], &text("Still brief."))),
    ];
    world.files.write(format!("agents/claude/{CLAUDE}.jsonl"), lines.concat());
    let usage = json!({
        "input_tokens": 50, "cached_input_tokens": 20, "output_tokens": 3, "reasoning_output_tokens": 0, "total_tokens": 53,
    });
    let info = json!({ "total_token_usage": usage, "last_token_usage": usage, "model_context_window": 9 });
    let meta = json!({
        "id": CODEX, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": world.files.path("work"), "originator": "codex_exec",
        "cli_version": "0.104.0", "source": "exec", "model_provider": "openai", "base_instructions": { "text": "You are C." },
    });
    let line = |kind: &str, payload: Value| {
        let line = json!({ "timestamp": "2026-01-02T03:04:06.000Z", "type": kind, "payload": payload });
        format!("{line}\n")
    };
    let item =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "count to \"one\"" }] });
    let rollout = [
        line("session_meta", meta),
        line("response_item", item),
        line("event_msg", json!({ "type": "user_message", "message": "count", "images": [] })),
        line("event_msg", json!({ "type": "token_count", "info": info, "rate_limits": null })),
    ];
    let codex = format!("agents/codex/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX}.jsonl");
    world.files.write(&codex, rollout.concat());
    // The other session was used last.
    let earlier = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(world.files.path(&codex)).unwrap().set_modified(earlier).unwrap();
    world.files.write("agents/codex/history.jsonl", "{\"session_id\":\"x\",\"ts\":1,\"text\":\"hi\"}\n");
    world
}

#[track_caller]
fn ask(world: &World, args: &[&str]) -> String {
    let from = world.files.path("agents").display().to_string();
    let ran = world.run(&[args, &["--from", &from]].concat());
    assert_eq!((ran.status % 3, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.out().to_owned()
}

#[track_caller]
fn ask_json(world: &World, args: &[&str]) -> Value {
    let answer: Value = serde_json::from_str(&ask(world, &[args, &["--json"]].concat())).unwrap();
    assert_eq!(answer["reconstructed"], true, "{answer}");
    if let Some(name) = answer["schema"].as_str() {
        let schema = serde_json::from_str(schemas::find(name).unwrap().text).unwrap();
        assert_eq!(fits_schema(&schema, &answer), Ok(()), "{answer}");
    }
    answer
}

#[test]
fn sessions_of_other_agents_are_listed_and_shown() {
    let world = world();
    let list = ask(&world, &["sessions", "list"]);
    assert!(list.ends_with(MARK) && list.contains("5f0c2f6e") && list.contains("019a0000"), "{list}");
    let sessions = ask_json(&world, &["sessions", "list"]);
    let ids: Vec<&str> = sessions["sessions"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(ids.len() == 2 && ids.contains(&CLAUDE) && ids.contains(&CODEX), "{ids:?}");
    let shown = ask(&world, &["sessions", "show", "5f0c"]);
    for part in
        [MARK, "client    claude-code\n", "── user ──\nread the rules\n", "Be brief, they say.", "agents/claude/"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(ask_json(&world, &["sessions", "show", "019a"])["items"].as_array().unwrap().len(), 1);
    assert!(ask(&world, &["sessions", "grep", "Be brief"]).starts_with("5f0c2f6e item: "));
    assert_eq!(ask_json(&world, &["sessions", "grep", "count to", "--session", "019a"])["searched"], 1);
}

#[test]
fn costs_are_those_of_the_file_and_sizes_are_never_called_exact() {
    let world = world();
    let cost = ask_json(&world, &["cost", CLAUDE, "--by", "request"]);
    let costs: Vec<&str> =
        cost["groups"].as_array().unwrap().iter().map(|it| it["cost"]["amount"].as_str().unwrap()).collect();
    // 1000 × 1 + 2000 × 2 + 3000 × 4 + 100 × 10, in millionths.
    assert_eq!(costs, ["0.018", "0.0015", "0.0091"]);
    assert_eq!((&cost["factor"], &cost["total"]["written"]), (&Value::Null, &json!(5_000)));
    assert!(ask(&world, &["cost", CLAUDE]).ends_with(MARK));
    let cache = ask_json(&world, &["cache", "--last"]);
    let verdicts: Vec<&str> =
        cache["requests"].as_array().unwrap().iter().map(|it| it["verdict"]["verdict"].as_str().unwrap()).collect();
    assert_eq!((verdicts, &cache["estimated"]), (vec!["cold", "extended", "missed"], &json!(true)), "kept for an hour");
    let context = ask(&world, &["context", &format!("{CLAUDE}#2")]);
    let rows: Vec<Vec<&str>> = context.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[2][..2], ["user", "1"]);
    assert_eq!(rows[4][..2], ["tools/Read", "2"]);
    assert!(rows[2..6].iter().all(|row| row.last().unwrap().starts_with('~')), "{context}");
    assert!(
        context.contains("total, as the provider counted      -       -   5,500\n") && context.ends_with(MARK),
        "{context}"
    );
    assert_eq!(ask_json(&world, &["cache", CODEX])["prices"][0]["from"], Value::Null, "the price is unknown");
    let context = ask_json(&world, &["context", CODEX]);
    assert_eq!((&context["tokens_counted"], &context["rows"][0]["part"]), (&json!(50), &json!("base")));
    let from = world.files.path("agents").display().to_string();
    for (args, said) in [
        (&["cost", CLAUDE, "--by", "part"][..], "only the tokens of its requests are known"),
        (&["context", "5f0c#9"], "5f0c#9 is not known: the file has the tokens of 3 requests"),
        (&["context", "now"], "--from needs the name of a session that is there"),
        (&["cache", "nosuch"], "`pellucid sessions list --all --from DIR` shows those that are there"),
    ] {
        let ran = world.run(&[args, &["--from", &from]].concat());
        assert!(ran.status >= 2 && ran.stderr.contains(said), "{args:?}: {} {}", ran.status, ran.stderr);
    }
    let ran = world.run(&["cache", CLAUDE, "--from", "/nowhere"]);
    assert!(ran.status == 2 && ran.stderr.contains("--from /nowhere: "), "{}", ran.stderr);
    let ran = world.run(&["cache", CLAUDE, "--from", &world.files.path("home").display().to_string()]);
    assert!(
        ran.status == 2 && ran.stderr.contains("no session of Claude Code or the Codex CLI is there\nhint: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_page_shows_them_and_nothing_is_left_behind() {
    let world = world();
    let from = world.files.path("agents").display().to_string();
    let before: Vec<_> =
        fs::read_dir(world.files.path("agents/claude")).unwrap().map(|it| it.unwrap().path()).collect();
    {
        let inspector = Inspector::open(&world, &["--from", &from]);
        let sessions = inspector.api("sessions").json();
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2, "{sessions}");
        let session = inspector.api(&format!("sessions/{CLAUDE}")).json();
        assert_eq!((&session["reconstructed"], &session["estimated"]), (&json!(true), &json!(true)), "{session}");
        assert_eq!(session["cost"]["amount"], "0.0286", "the user's prices count");
        let timeline = inspector.api(&format!("sessions/{CLAUDE}/timeline")).json();
        assert_eq!(timeline["written"], json!([5_000, 0, 0]));
        let cost = inspector.api(&format!("cost?session={CODEX}")).json();
        assert_eq!(cost["total"]["read"], 20, "{cost}");
    }
    let after: Vec<_> = fs::read_dir(world.files.path("agents/claude")).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(before, after);
    ask(&world, &["cache", CLAUDE]);
    assert!(!world.files.path("home/sessions").exists(), "nothing is written to the home folder");
    let ran = world.run(&["inspect", "--from", &from, "--allow-fork"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}
