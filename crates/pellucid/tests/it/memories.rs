//! Memories of past sessions: old sessions are read once, and an agent merges what is kept.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use std::time::SystemTime;

use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;

const HOUR: u64 = 3_600;
const READER: &str = "reader-model";
const MERGER: &str = "gpt-5.3-codex";

/// The ids of old sessions.
fn id(n: usize) -> String {
    format!("00000000-0000-7000-8000-00000000000{n}")
}

/// A world whose models are a mock, with memories of all projects switched on.
fn world(server: &MockServer, more: &str) -> World {
    world_of(server, more, "scope = \"all\"")
}

/// The same with other settings of memories.
fn world_of(server: &MockServer, more: &str, memories: &str) -> World {
    let world = World::new("");
    let config = format!(
        "model = \"gpt-5.1-codex\"\nmodel_provider = \"mock\"\n{more}\n[features]\nmemory_tool = true\n\
         [memories]\nphase_1_model = \"{READER}\"\nphase_2_model = \"{MERGER}\"\n{memories}\n\
         [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
    world
}

/// A session of a client that asked one question, and was written last so many hours ago.
fn old_session(world: &World, n: usize, source: &Value, hours: u64) {
    old_session_in(world, "/w", n, source, hours);
}

/// The same in a folder.
fn old_session_in(world: &World, cwd: &str, n: usize, source: &Value, hours: u64) {
    let id = id(n);
    let said = |role: &str, kind: &str, text: &str| json!({ "type": "response_item", "payload": { "type": "message", "role": role, "content": [{ "type": kind, "text": text }] } });
    let question = format!("question {n} of old");
    let lines = [
        json!({ "type": "session_meta", "payload": { "id": id, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.104.0", "source": source, "model_provider": "mock" } }),
        said("developer", "input_text", "rules of old"),
        said("user", "input_text", &question),
        json!({ "type": "event_msg", "payload": { "type": "user_message", "message": question, "images": [], "local_images": [], "text_elements": [] } }),
        said("assistant", "output_text", "answer of old"),
    ];
    let stamped = |mut line: Value| {
        line["timestamp"] = "2026-01-02T03:04:05.000Z".into();
        format!("{line}\n")
    };
    let name = format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl");
    world.files.write(&name, lines.map(stamped).concat());
    let file = File::options().append(true).open(world.files.path(&name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(hours * HOUR)).unwrap();
}

/// What the reading model says of a session.
fn extract(n: usize, raw: &str, summary: &str) -> MockReply {
    let answer = json!({ "raw_memory": raw, "rollout_summary": summary, "rollout_slug": format!("Task {n}!") });
    MockReply::say(&answer.to_string()).to_body_with(&format!("question {n} of old")).to_body_with(READER)
}

/// What the merging agent does: a patch, then an end.
fn merges(patch: &str) -> [MockReply; 2] {
    let call = json!({ "type": "custom_tool_call", "id": "ctc", "call_id": "c1", "name": "apply_patch", "input": patch, "status": "completed" });
    [MockReply::items([call]).to_body_with(MERGER), MockReply::say("merged").to_body_with(MERGER)]
}

const PATCH: &str = "*** Begin Patch\n*** Add File: MEMORY.md\n+handbook\n*** Add File: memory_summary.md\n+overview of the past\n*** End Patch";

fn run(world: &World) -> Value {
    let ran = world.run(&["memory", "run", "--json"]);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out(), ran.stderr))
}

/// What a replay says of the sessions that one started.
fn replayed_children(world: &World, id: &str) -> Vec<Value> {
    let ran = world.run(&["replay", "--json", id]);
    let replay: Value = serde_json::from_slice(&ran.stdout).unwrap();
    replay["children"].as_array().cloned().unwrap_or_default()
}

/// How many requests each model got.
#[track_caller]
fn check_asked(server: &MockServer, reader: usize, merger: usize) {
    let bodies: Vec<Value> = server.requests().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect();
    let n = |model: &str| bodies.iter().filter(|body| body["model"] == model).count();
    assert_eq!((n(READER), n(MERGER), bodies.len()), (reader, merger, reader + merger), "{bodies:#?}");
}

fn replayed(world: &World, id: &str) -> Ran {
    world.run(&["replay", id])
}

#[test]
fn old_sessions_are_read_once_and_merged() {
    let server =
        MockServer::start([extract(1, "- one, token=a1b2c3d4e5f6", "first"), extract(2, "- two", "second\n\n- done")]);
    server.add(merges(PATCH));
    let world = world(&server, "");
    old_session(&world, 1, &json!("cli"), 48);
    old_session(&world, 2, &json!("vscode"), 24);
    old_session(&world, 3, &json!("exec"), 24);
    old_session(&world, 4, &json!({ "subagent": "review" }), 24);
    old_session(&world, 5, &json!("cli"), 1);
    old_session(&world, 6, &json!("cli"), 24 * 365);

    let outcome = run(&world);
    assert_eq!(
        outcome["read"],
        json!([{ "session": id(2), "result": "kept" }, { "session": id(1), "result": "kept" }])
    );
    assert_eq!(outcome["merged"], json!({ "result": "done" }));
    check_asked(&server, 2, 2);

    let requests = server.requests();
    let body = |model: &str, n: usize| -> Value {
        let bodies = requests.iter().map(|it| serde_json::from_slice::<Value>(&it.body).unwrap());
        bodies.filter(|body| body["model"] == model).nth(n).unwrap()
    };
    let reading = body(READER, 0);
    assert_eq!(reading["tools"], json!([]));
    assert_eq!(
        reading["text"]["format"]["schema"]["required"],
        json!(["rollout_summary", "rollout_slug", "raw_memory"])
    );
    assert_eq!(reading["input"].as_array().unwrap().len(), 1);
    let shown = reading["input"][0]["content"][0]["text"].as_str().unwrap();
    assert!(shown.contains("answer of old") && !shown.contains("rules of old"), "{shown}");
    let merging = body(MERGER, 1);
    let permissions = merging["input"][0]["content"][0]["text"].as_str().unwrap();
    assert!(permissions.contains("workspace-write") && permissions.contains("never"), "{permissions}");
    let tools: Vec<&str> = merging["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(!tools.contains(&"spawn_agent") && !tools.contains(&"web_search"), "{tools:?}");
    let headers = |model: &str| {
        let of = requests.iter().find(|it| serde_json::from_slice::<Value>(&it.body).unwrap()["model"] == model);
        of.unwrap().header("x-openai-subagent").map(str::to_owned)
    };
    assert_eq!((headers(READER), headers(MERGER)), (None, Some("memory_consolidation".to_owned())));

    let file = |name: &str| fs::read_to_string(world.files.path("home/memories").join(name)).unwrap();
    assert!(file("raw_memories.md").contains("- one, token=[redacted:value]"), "{}", file("raw_memories.md"));
    assert!(file(&format!("rollout_summaries/{}-task_2.md", id(2))).ends_with("second\n\n- done\n"));
    assert_eq!(file("memory_summary.md"), "overview of the past\n");
    let prompt = world.run(&["prompt", "What now?"]);
    assert!(prompt.out().contains("overview of the past"), "{}", prompt.out());

    // A second run finds nothing to do.
    let again = run(&world);
    assert_eq!(again, json!({ "read": [], "merged": { "result": "up_to_date" } }));
    check_asked(&server, 2, 2);

    let worker = outcome["worker"].as_str().unwrap();
    let ran = replayed(&world, worker);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    assert!(ran.out().contains("4 requests: 4 equal, 0 different, 0 not provable"), "{}", ran.out());
    let fsck = world.run(&["sessions", "fsck"]);
    assert_eq!(fsck.status, 0, "{}{}", fsck.out(), fsck.stderr);
}

#[test]
fn a_session_that_changed_is_read_again() {
    let server = MockServer::start([extract(1, "- one", "first")]);
    server.add(merges(PATCH));
    let world = world(&server, "");
    old_session(&world, 1, &json!("cli"), 48);
    run(&world);
    old_session(&world, 1, &json!("cli"), 24);
    server.add([extract(1, "", "")]);
    let outcome = run(&world);
    assert_eq!(outcome["read"], json!([{ "session": id(1), "result": "nothing" }]));
    assert_eq!(outcome["merged"], json!({ "result": "empty" }));
    check_asked(&server, 2, 2);
    let left: Vec<_> =
        fs::read_dir(world.files.path("home/memories")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == "MEMORY.md" || name == "memory_summary.md"), "{left:?}");
}

#[test]
fn a_failure_rests_and_is_named() {
    let bad = MockReply::say("no JSON").to_body_with("question 1 of old");
    let server = MockServer::start([bad, extract(2, "- two", "second")]);
    server.add([MockReply::status(400, "{\"error\":{\"message\":\"no such model\"}}").to_body_with(MERGER)]);
    let world = world(&server, "");
    old_session(&world, 1, &json!("cli"), 48);
    old_session(&world, 2, &json!("cli"), 24);
    let ran = world.run(&["memory", "run"]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    let failed = "00000000-0000-7000-8000-000000000001  the answer has another form: expected ident at line 1 column 2";
    assert!(
        ran.out().contains(failed) && ran.out().contains("not merged: ") && ran.out().contains("no such model"),
        "{}",
        ran.out()
    );
    check_asked(&server, 2, 1);
    let again = world.run(&["memory", "run"]);
    assert_eq!(again.status, 0, "{}", again.out());
    assert!(
        again.out().contains("0 sessions read\nmerging failed before; it is tried again after "),
        "{}",
        again.out()
    );
    check_asked(&server, 2, 1);
    let status = world.run(&["memory", "status"]);
    assert!(status.out().contains("1 session kept") && status.out().contains("merging: failed: "), "{}", status.out());
}

#[test]
fn the_agent_writes_nowhere_else() {
    let server = MockServer::start([extract(1, "- one", "first")]);
    server.add(merges("*** Begin Patch\n*** Add File: ../config.toml.new\n+a = 1\n*** End Patch"));
    let world = world(&server, "");
    old_session(&world, 1, &json!("cli"), 48);
    assert_eq!(run(&world)["merged"], json!({ "result": "done" }));
    assert!(!world.files.path("home/config.toml.new").exists());
    let last = server.requests().pop().unwrap();
    let body: Value = serde_json::from_slice(&last.body).unwrap();
    let output = &body["input"].as_array().unwrap().last().unwrap()["output"];
    assert!(output.as_str().unwrap().contains("rejected"), "{output}");
}

#[cfg(unix)]
#[test]
fn a_summary_is_not_read_through_a_link() {
    let server = MockServer::start([]);
    let world = world(&server, "");
    world.files.write("work/secret.md", "what a link leads to");
    world.files.folder("home/memories");
    let link = world.files.path("home/memories/memory_summary.md");
    std::os::unix::fs::symlink(world.files.path("work/secret.md"), &link).unwrap();
    let ran = world.run(&["context", "--json", "What now?"]);
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let omitted = report["omissions"].as_array().unwrap().iter().find(|it| it["part"] == "memory").unwrap();
    assert!(omitted["what"].as_str().unwrap().ends_with("memory_summary.md"), "{omitted:#}");
    let prompt = world.run(&["prompt", "What now?"]);
    assert!(!prompt.out().contains("what a link leads to"), "{}", prompt.out());
    fs::remove_file(&link).unwrap();
    fs::write(&link, "what is kept").unwrap();
    assert!(world.run(&["prompt", "What now?"]).out().contains("what is kept"));
}

#[test]
fn bounds_of_the_configuration_hold() {
    let server = MockServer::start([extract(2, "- two", "second")]);
    server.add(merges(PATCH));
    let world = world(&server, "");
    for n in 1..=3 {
        old_session(&world, n, &json!("cli"), 100 - n as u64);
    }
    let args = [
        "memory",
        "run",
        "--json",
        "-c",
        "memories.min_rollout_idle_hours=48",
        "-c",
        "memories.max_rollouts_per_startup=0",
    ];
    let ran = world.run(&args);
    assert_eq!(serde_json::from_slice::<Value>(&ran.stdout).unwrap()["read"], json!([]), "{}", ran.stderr);
    for n in [1, 3] {
        old_session(&world, n, &json!("cli"), 24 * 10);
    }
    let args = [
        "memory",
        "run",
        "--json",
        "-c",
        "memories.max_rollout_age_days=5",
        "-c",
        "memories.max_rollouts_per_startup=1",
    ];
    let ran = world.run(&args);
    let outcome: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(outcome["read"], json!([{ "session": id(2), "result": "kept" }]), "{}", ran.stderr);
}

#[test]
fn processes_share_the_work() {
    let server = MockServer::start((1..=3).map(|n| extract(n, "- it", "done")));
    for _ in 0..3 {
        server.add(merges(PATCH));
    }
    let world = world(&server, "");
    for n in 1..=3 {
        old_session(&world, n, &json!("cli"), 24 + n as u64);
    }
    let start = |_| world.command(&["memory", "run", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut read: Vec<String> = Vec::new();
    for process in [0; 3].map(start) {
        let output = process.wait_with_output().unwrap();
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        read.extend(outcome["read"].as_array().unwrap().iter().map(|it| it["session"].as_str().unwrap().to_owned()));
    }
    read.sort();
    assert_eq!(read, [id(1), id(2), id(3)], "each session is read by one process");
    let reading = server
        .requests()
        .iter()
        .filter(|it| it.body.windows(READER.len()).any(|part| part == READER.as_bytes()))
        .count();
    assert_eq!(reading, 3);
}

#[test]
fn a_turn_does_not_wait_for_memories() {
    let server = MockServer::start([
        MockReply::say("the answer").to_body_without(READER),
        MockReply::silence().to_body_with(READER),
    ]);
    let world = world(&server, "suppress_unstable_features_warning = true");
    old_session(&world, 1, &json!("cli"), 48);
    let ran = world.run(&["exec", "What now?"]);
    assert_eq!((ran.status, ran.out()), (0, "the answer\n"), "{}", ran.stderr);
}

#[test]
fn a_session_writes_memories_in_its_background_and_names_who_asked() {
    let wait = json!({ "command": "until test -e ../home/memories/memory_summary.md; do sleep 0.05; done", "timeout_ms": 600_000 });
    let call = json!({ "type": "function_call", "id": "fc", "call_id": "w1", "name": "shell_command", "arguments": wait.to_string() });
    let own = |reply: MockReply| reply.to_body_with("What is new?");
    let server = MockServer::start([
        own(MockReply::items([call])),
        own(MockReply::say("the answer")),
        extract(1, "- one", "first"),
    ]);
    server.add(merges(PATCH));
    let world = world(&server, "suppress_unstable_features_warning = true");
    old_session(&world, 1, &json!("cli"), 48);
    let own_id = id(9);
    let yolo = "--dangerously-bypass-approvals-and-sandbox";
    let ran = world.run(&["exec", "--session-id", &own_id, yolo, "What is new?"]);
    assert_eq!((ran.status, ran.out()), (0, "the answer\n"), "{}", ran.stderr);
    let children = replayed_children(&world, &own_id);
    assert_eq!(children.len(), 1, "{children:#?}");
    assert_eq!(children[0]["purpose"], "memories");
    let verdicts: Vec<&Value> =
        children[0]["replay"]["requests"].as_array().unwrap().iter().map(|it| &it["verdict"]).collect();
    assert!(verdicts.len() >= 2 && verdicts.iter().all(|it| **it == "equal"), "{verdicts:?}");
}

#[test]
fn nothing_is_done_without_the_feature() {
    let server = MockServer::start([MockReply::say("the answer")]);
    let world = world(&server, "");
    old_session(&world, 1, &json!("cli"), 48);
    let ran = world.run(&["memory", "run", "-c", "features.memory_tool=false"]);
    expect![[r#"
        error: memories are off; switch them on with `pellucid features enable memory_tool`, or for this run with `-c features.memory_tool=true`
    "#]]
    .assert_eq(&ran.stderr);
    let ran = world.run(&["exec", "-c", "features.memory_tool=false", "What now?"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!world.files.path("home/pellucid_memories.sqlite").exists());
    assert_eq!(server.requests().len(), 1);
}

/// The report of the next request in a folder of the world.
fn report(world: &World, folder: &str, more: &[&str]) -> Value {
    let cd = world.files.path(folder).to_string_lossy().into_owned();
    let ran = world.run(&[&["context", "--json", "-C", &cd], more, &["What now?"]].concat());
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

#[test]
fn nothing_crosses_projects_without_a_setting() {
    let server = MockServer::start([extract(1, "- one", "first")]);
    server.add(merges(PATCH));
    let world = world_of(&server, "", "");
    world.files.git("other");
    world.files.folder("work/below");
    let path = |name: &str| world.files.path(name).to_string_lossy().into_owned();
    old_session_in(&world, &path("work/below"), 1, &json!("cli"), 48);
    old_session_in(&world, &path("other"), 2, &json!("cli"), 48);
    world.files.write("home/memories/memory_summary.md", "what all projects left");

    let outcome = run(&world);
    assert_eq!(outcome["read"], json!([{ "session": id(1), "result": "kept" }]));
    assert_eq!(outcome["merged"], json!({ "result": "done" }));

    let here = report(&world, "work/below", &[]);
    let sent = &here["memory"]["sent"][0];
    let state = (&here["memory"]["state"], &here["memory"]["scope"], &sent["part"], &sent["scope"]);
    assert_eq!(state, (&json!("writable"), &json!("project"), &json!("memory"), &json!("project")), "{here:#}");
    assert_eq!(sent["sessions"][0]["session"], id(1));
    assert_eq!(sent["sessions"].as_array().unwrap().len(), 1);
    assert!(sent["sessions"][0]["date"].as_str().unwrap().ends_with('Z'), "{sent}");
    let has_row = |report: &Value| report["rows"].as_array().unwrap().iter().any(|row| row["part"] == "memory");
    assert!(has_row(&here));
    let text = world.run(&["context", "-vv", "What now?"]);
    assert!(
        text.out().contains(&format!("memory is writable, scope project: made from session {}", id(1))),
        "{}",
        text.out()
    );

    // Another project has nothing of it, and nothing of the memories of all projects, which is reported.
    let there = report(&world, "other", &[]);
    assert_eq!((&there["memory"]["sent"], has_row(&there)), (&json!([]), false));
    let omitted = there["omissions"].as_array().unwrap().iter().find(|it| it["part"] == "memory").unwrap();
    assert!(omitted["what"].as_str().unwrap().contains("`memories.scope` is `project`"), "{omitted:#}");
    let body = world.run(&["prompt", "-C", &path("other"), "What now?"]);
    assert!(!body.out().contains("what all projects left") && !body.out().contains("overview of the past"));

    // A project cannot widen its scope; a person can.
    world.files.write("other/.codex/config.toml", "[memories]\nscope = \"all\"\n");
    let trusted = format!("projects.\"{}\".trust_level=\"trusted\"", path("other"));
    assert!(!has_row(&report(&world, "other", &["-c", &trusted])));
    let all = report(&world, "other", &["-c", "memories.scope=\"all\""]);
    assert_eq!((&all["memory"]["scope"], has_row(&all)), (&json!("all"), true));
    assert_eq!(all["memory"]["sent"][0]["sessions"], json!([]), "another program made it");
}

#[test]
fn a_session_says_whether_it_remembers() {
    let server = MockServer::start([]);
    let world = world(&server, "");
    let state = |more: &[&str]| report(&world, "work", more)["memory"]["state"].clone();
    assert_eq!(state(&[]), "writable");
    assert_eq!(state(&["-c", "memories.write=false"]), "read-only");
    assert_eq!(state(&["-c", "limits.max_requests=3"]), "read-only");
    assert_eq!(state(&["-c", "features.memory_tool=false"]), "off");
    let own = report(&world, "work", &["--pack", "risuai"]);
    assert_eq!((&own["memory"]["state"], &own["memory"]["scope"]), (&json!("writable"), &json!("session")));
}

#[test]
fn nothing_is_written_where_that_is_not_wanted() {
    let server = MockServer::start([MockReply::say("the answer")]);
    let world = world_of(&server, "suppress_unstable_features_warning = true", "scope = \"all\"\nwrite = false");
    old_session(&world, 1, &json!("cli"), 48);
    let ran = world.run(&["exec", "What now?"]);
    assert_eq!((ran.status, ran.out()), (0, "the answer\n"), "{}", ran.stderr);
    assert!(!world.files.path("home/pellucid_memories.sqlite").exists());
    assert_eq!(server.requests().len(), 1);
}

/// The names and texts of all files below a folder.
fn texts(folder: &Path) -> String {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let text = |path: &PathBuf| match path.is_dir() {
        true => texts(path),
        false => format!("{}\n{}\n", path.display(), fs::read_to_string(path).unwrap()),
    };
    entries.iter().map(text).collect()
}

#[test]
fn a_forgotten_session_leaves_nothing_and_does_not_come_back() {
    let server = MockServer::start([extract(1, "- secret plan", "first"), extract(2, "- two", "second")]);
    server.add(merges(PATCH));
    let world = world(&server, "");
    old_session(&world, 1, &json!("cli"), 48);
    old_session(&world, 2, &json!("cli"), 24);
    run(&world);
    let memories = world.files.path("home/memories");
    let before = texts(&memories);
    assert!(before.contains("secret plan") && before.contains("overview of the past"), "{before}");

    let dry = world.run(&["memory", "forget-session", "--dry-run", &id(1)]);
    assert_eq!(dry.status, 0, "{}", dry.stderr);
    let lines = world.shown(dry.out());
    for name in [
        "raw_memories.md",
        "MEMORY.md",
        "memory_summary.md",
        "rollout_summaries/00000000-0000-7000-8000-000000000001-task_1.md",
    ] {
        assert!(lines.contains(&format!("  ROOT/home/memories/{name}\n")), "{name}: {lines}");
    }
    assert!(lines.starts_with(&format!("{} would be forgotten", id(1))) && !lines.contains(&id(2)), "{lines}");
    assert_eq!(texts(&memories), before, "a dry run changes nothing");

    let done = world.run(&["memory", "forget-session", "--json", &id(1)]);
    let done: Value = serde_json::from_slice(&done.stdout).unwrap();
    crate::schemas::check_form(&world, &done);
    assert_eq!((&done["has_extract"], &done["merged_again"]), (&json!(true), &json!(["all"])), "{done:#}");
    let after = texts(&memories);
    assert!(!after.contains("secret plan") && !after.contains("overview") && !after.contains(&id(1)), "{after}");
    assert!(after.contains(&id(2)), "what came of others stays: {after}");
    assert!(!world.run(&["prompt", "What now?"]).out().contains("overview of the past"));

    // What is left is merged again, and the session is not read again although it changed.
    old_session(&world, 1, &json!("cli"), 20);
    server.add(merges(PATCH));
    let outcome = run(&world);
    assert_eq!((&outcome["read"], &outcome["merged"]["result"]), (&json!([]), &json!("done")));
    let after = texts(&memories);
    assert!(!after.contains("secret plan") && after.contains("- two") && after.contains("overview"), "{after}");
    let sent = report(&world, "work", &[])["memory"]["sent"][0]["sessions"].clone();
    assert_eq!(sent.as_array().unwrap().iter().map(|it| &it["session"]).collect::<Vec<_>>(), [&json!(id(2))]);

    // A session whose file is gone is known by its memories; one that never was is an error.
    let file = format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{}.jsonl", id(2));
    fs::remove_file(world.files.path(&file)).unwrap();
    let gone = world.run(&["memory", "forget-session", &id(2)]);
    assert_eq!(gone.status, 0, "{}", gone.stderr);
    let unknown = world.run(&["memory", "forget-session", &id(7)]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("no session has the id or name"), "{}", unknown.stderr);
}
