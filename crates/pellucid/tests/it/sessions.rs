//! Session files: when they appear, what they survive, how a session continues.

use expect_test::expect;
use std::fs;
use std::path::PathBuf;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

fn world(n_replies: usize) -> World {
    let replies: String = (1..=n_replies)
        .map(|n| format!("[[reply]]\nsay = \"answer {n}\"\nusage = {{ input = 100, output = 10 }}\n"))
        .collect();
    World::new(&format!("//- work/script.toml\n{replies}"))
}

/// The only session file.
fn session_file(world: &World) -> PathBuf {
    let mut folder = world.files.path("home/sessions");
    loop {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        folder = entries.remove(0);
        if folder.is_file() {
            return folder;
        }
    }
}

fn kinds(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| format!("{} {}", line["type"].as_str().unwrap(), line["payload"]["type"].as_str().unwrap_or("-")))
        .collect()
}

#[test]
fn what_requests_cost_and_where_they_part_is_told_later() {
    let world = world(1);
    assert_eq!(world.run(&["exec", "--script", "script.toml", "one"]).status, 0);
    let ran = world.run(&["exec", "--script", "script.toml", "-m", "gpt-5.1", "resume", "--last", "two"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let file = session_file(&world);
    let name = file.file_stem().unwrap().to_str().unwrap();
    let id = &name[name.len() - 36..];
    let shown = world.run(&["sessions", "show", id]);
    let spent = "spent     0 tokens read from the cache, 200 sent without it, 20 answered\n";
    assert!(shown.out().contains(spent), "{}", shown.out());
    let shown: Value = serde_json::from_slice(&world.run(&["sessions", "show", "--json", id]).stdout).unwrap();
    assert_eq!(shown["usage"], serde_json::json!({ "cached_read": 0, "uncached": 200, "output": 20 }));
    assert_eq!(shown["cache_breaks"][0]["cause"], "model", "{shown}");
    let replayed = world.run(&["replay", id]);
    assert!(
        replayed.out().contains("      differs from the request before: changed model (model); about "),
        "{}",
        replayed.out()
    );
    let report = world.run(&["context", "--last", "--json", "--script", "script.toml", "next"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["usage"], shown["usage"]);
    assert!(report["window"]["tokens"].as_u64() < report["tokens"].as_u64(), "{}", report["window"]);
}

#[test]
fn a_file_holds_the_whole_turn_in_order() {
    let world = world(1);
    let ran = world.run(&["exec", "--script", "script.toml", "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let text = fs::read_to_string(session_file(&world)).unwrap();
    assert_eq!(
        kinds(&text),
        [
            "session_meta -",
            "response_item message",
            "response_item message",
            "event_msg task_started",
            "response_item message",
            "event_msg user_message",
            "turn_context -",
            "event_msg token_count",
            "event_msg agent_message",
            "response_item message",
            "event_msg token_count",
            "event_msg task_complete",
        ]
    );
}

#[test]
fn nothing_is_kept_when_nobody_wants_it_or_nothing_was_said() {
    let world = world(1);
    world.run(&["exec", "--ephemeral", "--script", "script.toml", "go"]);
    world.run(&["prompt", "hello"]);
    world.run_with(&["exec", "--script", "script.toml", "-"], Some(b" "));
    assert!(!world.files.path("home/sessions").exists());
}

#[test]
fn a_session_goes_on_where_it_ended_even_after_a_torn_line() {
    let world = world(2);
    world.run(&["exec", "--script", "script.toml", "first"]);
    let file = session_file(&world);
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{before}{{\"timestamp\":\"t\",\"type\":\"respon")).unwrap();
    let ran = world.run(&["exec", "--json", "--script", "script.toml", "resume", "--last", "second"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("lines that cannot be read are set aside: 13"), "{}", ran.stderr);
    assert!(
        ran.out().ends_with("\"usage\":{\"input_tokens\":200,\"cached_input_tokens\":0,\"output_tokens\":20}}\n"),
        "{}",
        ran.out()
    );
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with(&before), "what was there stays");
    let (torn, new) = after[before.len()..].split_once('\n').unwrap();
    assert_eq!(torn, "{\"timestamp\":\"t\",\"type\":\"respon");
    assert_eq!(
        kinds(new)[..4],
        ["response_item message", "response_item message", "event_msg task_started", "response_item message"]
    );
}

#[test]
fn an_unknown_session_begins_a_new_one() {
    let world = world(1);
    let ran = world.run(&["exec", "--script", "script.toml", "resume", "00000000-0000-7000-8000-000000000000", "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "answer 1\n"), "{}", ran.stderr);
    session_file(&world);
}

#[test]
fn a_folder_that_cannot_be_written_does_not_stop_the_turn() {
    let world = world(1);
    world.files.write("home/sessions", "in the way");
    let ran = world.run(&["exec", "--script", "script.toml", "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "answer 1\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the session is not saved"), "{}", ran.stderr);
}

#[test]
fn the_next_request_of_a_stored_session_can_be_looked_at() {
    let world = world(1);
    world.run(&["exec", "--script", "script.toml", "first"]);
    let file = session_file(&world);
    let before = fs::read(&file).unwrap();
    let ran = world.run(&["context", "--script", "script.toml", "--last", "--json", "second"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let from_session = report["rows"].as_array().unwrap().iter().filter(|row| row["source"] == "session").count();
    assert_eq!(from_session, 0, "the record keeps the origins of the first turn");
    assert_eq!(fs::read(&file).unwrap(), before, "looking changes nothing");
    let none = world.run(&["prompt", "--session", "00000000-0000-7000-8000-000000000000"]);
    assert_eq!(
        (none.status, none.stderr.as_str()),
        (
            2,
            "error: no session has the id or name `00000000-0000-7000-8000-000000000000`\nhint: `pellucid sessions list --all` shows those that are stored\n"
        )
    );
}

/// A session with a call and two turns, whose file is the only one.
fn long_session() -> World {
    let script = "
        [[reply]]
        call = [{ name = \"update_plan\", args = { plan = [{ step = \"write notes_on_x\", status = \"pending\" }] } }]
        [[reply]]
        say = \"I looked at src/one.rs.\"
        [[reply]]
        say = \"A summary: all is well.\"
    ";
    let world = World::new("//- work/AGENTS.md\nBe kind.\n//- work/summary.md\nAll is well in src/one.rs.\n");
    world.files.write("work/script.toml", script);
    let ran = world.run(&["exec", "--script", "script.toml", "Mend it. Never touch src/two.rs."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    world
}

/// The next request of the only session.
fn next_request(world: &World) -> Vec<u8> {
    let ran = world.run(&[
        "prompt",
        "--provider",
        "scripted",
        "--script",
        "script.toml",
        "--last",
        "--format",
        "body",
        "next",
    ]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn a_compaction_can_be_tried_done_and_undone() {
    let world = long_session();
    let file = session_file(&world);
    let (before, written) = (next_request(&world), fs::read_to_string(&file).unwrap());
    let compact = |args: &[&str]| {
        let ran = world.run(&[&["compact", "--script", "script.toml", "--last"], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.out().to_owned()
    };
    let tried = compact(&["--dry-run", "--summary", "summary.md", "--json"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), written, "nothing was written");
    let tried: Value = serde_json::from_str(&tried).unwrap();
    assert!(tried["summary"].as_str().unwrap().ends_with("\nAll is well in src/one.rs."));
    assert_eq!(tried["lost"]["open_tasks"], serde_json::json!(["write notes_on_x"]));
    assert_eq!(tried["lost"]["paths"], serde_json::json!([]), "what the person said is kept");
    let kinds: Vec<&str> =
        tried["replaced"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["function_call", "function_call_output", "message"]);

    let done = compact(&["--summary", "summary.md"]);
    assert!(done.contains("Open tasks missing from the summary:\n  write notes_on_x\n"), "{done}");
    let compacted = next_request(&world);
    assert!(!String::from_utf8_lossy(&compacted).contains("update_plan\",\"arguments"));
    compact(&["--undo"]);
    assert!(next_request(&world) == before, "the earlier request is back");
    let again = world.run(&["compact", "--script", "script.toml", "--last", "--undo"]);
    assert_eq!(again.status, 1);
    expect![[r#"
        error: the session has no compaction that could be undone
    "#]]
    .assert_eq(&again.stderr);
}

/// Every paid request for a summary is recorded and proved, on every wire, though the session file does not change.
#[test]
fn summaries_that_are_only_tried_are_recorded_and_replayed() {
    for wire in ["responses", "chat", "messages"] {
        let say = |text: &str| {
            let items = [json!({
                "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": text }],
            })];
            match wire {
                "chat" => MockReply::chat(items),
                "messages" => MockReply::messages(items),
                _ => MockReply::items(items),
            }
        };
        let server = MockServer::start([say("One."), say("All is well."), say("Half."), say("Whole."), say("Two.")]);
        let world = crate::shown::world(&server, wire, "");
        let run = |args: &[&str], editor: &str| {
            let ran = world.run_in(args, &[("EDITOR", editor)]);
            assert_eq!(ran.status, 0, "{wire}: {args:?}: {}", ran.stderr);
            ran
        };
        run(&["exec", "--session-id", SESSION, "hello"], "");
        let path = session_file(&world);
        let written = fs::read(&path).unwrap();
        let tried = run(&["compact", SESSION, "--dry-run"], "");
        assert!(tried.out().contains("All is well."), "{wire}: {}", tried.out());
        run(&["compact", SESSION, "--dry-run", "--edit"], "true");
        assert!(fs::read(&path).unwrap() == written, "{wire}: the session file stays as it is");
        let next = run(&["prompt", "--format", "body", &format!("{SESSION}#next"), "and on"], "").stdout;
        run(&["compact", SESSION, "--edit"], "true");
        run(&["exec", "resume", SESSION, "and on"], "");
        let sent = server.requests();
        assert_eq!(sent.len(), 5, "{wire}");
        assert!(sent[4].body != next, "{wire}: the summary counts once it is stored");
        for (n, request) in sent.iter().enumerate() {
            let name = format!("{SESSION}#{}", n + 1);
            assert!(run(&["prompt", "--format", "body", &name], "").stdout == request.body, "{wire}: {name}");
        }
        let proved = run(&["replay", SESSION, "--json"], "");
        let proved: Value = serde_json::from_str(proved.out()).unwrap();
        assert_eq!(proved["requests"].as_array().map(Vec::len), Some(5), "{wire}: {proved}");
        run(&["sessions", "fsck", SESSION], "");
    }
}

#[test]
fn a_model_is_asked_for_the_summary_if_nobody_gives_one() {
    let world = long_session();
    let before = next_request(&world);
    world.files.write("work/script.toml", "[[reply]]\nsay = \"A summary: all is well.\"\n");
    let ran = world.run(&["compact", "--script", "script.toml", "--last"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.out().contains("A summary: all is well."), "{}", ran.out());
    assert!(next_request(&world) != before);
    let ran = world.run(&["compact", "--script", "script.toml", "--last", "--undo"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(next_request(&world) == before, "the earlier request is back");
}

/// An editor that appends to the summary, or does what else its script says.
fn editor(world: &World, script: &str) -> String {
    let path = world.files.write("work/editor.sh", script);
    format!("/bin/sh {}", path.display())
}

#[test]
fn a_summary_can_be_edited_before_it_is_stored() {
    let world = long_session();
    let before = next_request(&world);
    let file = session_file(&world);
    let written = fs::read(&file).unwrap();
    world.files.write("work/summary-script.toml", "[[reply]]\nsay = \"A summary: all is well.\"\n");
    let compact = |script: &str| {
        let editor = editor(&world, script);
        world.run_in(
            &["compact", "--script", "summary-script.toml", "--last", "--edit"],
            &[("EDITOR", "false"), ("VISUAL", &editor)],
        )
    };
    for (script, expected) in [
        (
            "exit 3",
            expect![[r#"
        error: the editor `/bin/sh ROOT/work/editor.sh` ended with status 3; nothing was changed
    "#]],
        ),
        (
            "printf ' \\n' > \"$1\"",
            expect![[r#"
        error: the edited summary is blank; nothing was changed
    "#]],
        ),
    ] {
        let ran = compact(script);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        expected.assert_eq(&ran.stderr);
        assert!(fs::read(&file).unwrap() == written, "{script}");
    }
    let ran = compact("printf 'And mine.\\n' >> \"$1\"");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.out().contains("A summary: all is well.\nAnd mine.\n"), "{}", ran.out());
    let compacted = next_request(&world);
    assert!(String::from_utf8_lossy(&compacted).contains("A summary: all is well.\\nAnd mine."));
    let left: Vec<_> = fs::read_dir(world.files.path("home")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("summary-")), "{left:?}");
    let ran = world.run(&["compact", "--script", "script.toml", "--last", "--undo"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(next_request(&world) == before, "the earlier request is back");
    let ran = world.run(&["compact", "--script", "summary-script.toml", "--last", "--edit"]);
    expect![[r#"
        error: --edit: set VISUAL or EDITOR to your editor
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn an_undo_restores_the_request_whatever_the_compaction_was() {
    for config in [
        "",
        "[compaction]\nkeep_turns = 1",
        "[compaction]\nrequests = \"marked\"",
        "[compaction]\ninput = \"conversation\"\nkeep_turns = 2",
        "resume_context = \"changed\"",
        "pack = \"agentcore\"",
    ] {
        let long = "x".repeat(60_000);
        let world = World::new("//- work/AGENTS.md\nBe kind.\n//- work/summary.md\nAll is well in src/one.rs.\n");
        world.files.write("home/config.toml", config);
        world.files.write("work/long.txt", &long);
        world.files.write(
            "work/script.toml",
            "[[reply]]\ncall = [{ name = \"shell\", args = { command = [\"cat\", \"long.txt\"] } }]\n[[reply]]\nsay = \"One.\"\n",
        );
        let ran = world.run(&["exec", "--script", "script.toml", "first"]);
        assert_eq!(ran.status, 0, "{config}: {}", ran.stderr);
        world.files.write("work/script.toml", "[[reply]]\nsay = \"Two.\"\n");
        let ran = world.run(&["exec", "--script", "script.toml", "resume", "--last", "second"]);
        assert_eq!(ran.status, 0, "{config}: {}", ran.stderr);
        let compact = |args: &[&str]| {
            let ran = world.run(&[&["compact", "--script", "script.toml", "--last"], args].concat());
            assert_eq!(ran.status, 0, "{config}: {}", ran.stderr);
        };
        let before = next_request(&world);
        compact(&["--summary", "summary.md"]);
        let once = next_request(&world);
        assert!(once != before, "{config}");
        compact(&["--summary", "script.toml"]);
        compact(&["--undo"]);
        assert!(next_request(&world) == once, "{config}: the first compaction is back");
        compact(&["--undo"]);
        assert!(next_request(&world) == before, "{config}: the earlier request is back");
    }
}

#[test]
fn origins_stay_known_behind_a_compaction_without_a_request() {
    for pack in ["codex", "openclaw", "agentcore", "risuai", "ads"] {
        let world = World::new("//- work/AGENTS.md\nBe kind.\n//- work/summary.md\nAll is well.\n");
        world.files.write("home/config.toml", format!("pack = \"{pack}\"\n"));
        world.files.write("work/script.toml", "[[reply]]\nsay = \"One.\"\n");
        let run = |args: &[&str]| {
            let ran = world.run(args);
            assert_eq!(ran.status, 0, "{pack}: {}", ran.stderr);
            ran
        };
        run(&["exec", "--script", "script.toml", "first"]);
        for step in [&["--summary", "summary.md"][..], &["--undo"]] {
            run(&[&["compact", "--script", "script.toml", "--last"], step].concat());
            let report = run(&["context", "--script", "script.toml", "--last", "--json", "second"]);
            let report: Value = serde_json::from_slice(&report.stdout).unwrap();
            let lost: Vec<&Value> =
                report["rows"].as_array().unwrap().iter().filter(|row| row["source"] == "session").collect();
            assert!(lost.is_empty(), "{pack}, {step:?}: {lost:?}");
        }
    }
}

/// How often each part of the first context is in a request.
fn context_counts(body: &[u8]) -> Vec<usize> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let texts: Vec<String> =
        body["input"].as_array().unwrap().iter().map(|item| item["content"][0]["text"].to_string()).collect();
    let starts = ["\"<permissions instructions>", "\"# AGENTS.md instructions", "\"<environment_context>"];
    starts.iter().map(|start| texts.iter().filter(|text| text.starts_with(start)).count()).collect()
}

#[test]
fn instructions_stand_once_after_a_summary_if_a_session_says_only_what_changed() {
    let world = long_session();
    let run = |args: &[&str]| {
        let ran = world.run(&[&["compact", "--script", "script.toml", "--last"], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    assert_eq!(context_counts(&next_request(&world)), [2, 2, 2], "as in the Codex CLI");
    run(&["--summary", "summary.md"]);
    assert_eq!(context_counts(&next_request(&world)), [2, 2, 2]);
    world.files.write("home/config.toml", "resume_context = \"changed\"\n");
    assert_eq!(context_counts(&next_request(&world)), [1, 1, 1]);
    world.files.write("work/AGENTS.md", "Be very kind.");
    assert_eq!(context_counts(&next_request(&world)), [1, 1, 1], "a summary is restored with the context of now");
    run(&["--undo"]);
    assert_eq!(context_counts(&next_request(&world)), [1, 2, 1], "what changed is said at the end");
}

#[test]
fn the_whole_output_of_a_call_is_kept_beside_the_session() {
    let calls = r#"[[reply]]
call = { name = "shell_command", id = "by_shell", args = { command = "seq 1 30000" } }

[[reply]]
call = { name = "exec_command", id = "by_terminal", args = { cmd = "seq 1 30000; echo end >&2", max_output_tokens = 50 } }

[[reply]]
call = { name = "shell_command", id = "short", args = { command = "echo short" } }

[[reply]]
say = "done"
"#;
    let world = World::new(&format!("//- work/s.toml\n{calls}"));
    const ID: &str = "11111111-1111-4111-8111-111111111111";
    let ran = world.run(&["exec", "--script", "s.toml", "--session-id", ID, "count"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let whole: String = (1..=30_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(world.run(&["sessions", "output", ID, "by_shell"]).out(), whole);
    // What a command writes to its two outputs arrives in any order.
    let both = world.run(&["sessions", "output", ID, "by_terminal"]).out().replacen("end\n", "", 1);
    assert!(both == whole, "both outputs are whole");
    expect![[r#"
        CALL         BYTES   KEPT
        by_shell     168894  whole
        by_terminal  168898  whole
    "#]]
    .assert_eq(world.run(&["sessions", "output", ID]).out());
    // The report says how much of each the model sees, whichever limits cut it.
    let report = world.run(&["context", "--script", "s.toml", "--json", "--session", ID, "on"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let cut = report["cut_outputs"].as_array().unwrap();
    let calls: Vec<(&str, u64, bool)> = cut
        .iter()
        .map(|it| (it["call"].as_str().unwrap(), it["bytes"].as_u64().unwrap(), it["is_whole"].as_bool().unwrap()))
        .collect();
    assert_eq!(calls, [("by_terminal", 168_898, true), ("by_shell", 168_894, true)]);
    assert!(cut[0]["sent"].as_u64().unwrap() < 1_000 && cut[1]["sent"].as_u64().unwrap() < 100_000, "{cut:?}");
    let text = world.run(&["context", "--script", "s.toml", "-v", "--session", ID, "on"]);
    assert!(text.out().contains("the model sees 2 outputs only in part; of by_terminal, "), "{}", text.out());
    let none = world.run(&["sessions", "output", ID, "short"]);
    assert_eq!(none.status, 2);
    expect![[r#"
        error: no output of a call `short` is kept; `pellucid sessions output 11111111-1111-4111-8111-111111111111` lists those that are
    "#]].assert_eq(&none.stderr);
    // A session without a file leaves nothing behind.
    let ran = world.run(&["exec", "--script", "s.toml", "--ephemeral", "count"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(fs::read_dir(world.files.path("home/outputs")).unwrap().count(), 1);
}
