//! `exec` and `demo`: what goes where.

use expect_test::expect;

use crate::World;
use crate::steady::after_settings;

const SCRIPT: &str = "
//- work/script.toml
[[reply]]
think = \"Hm.\"
say = \"On it.\"
call = [{ name = \"update_plan\", args = { plan = [{ step = \"a\", status = \"pending\" }] } }, { name = \"dance\", args = {} }]
usage = { input = 1200, cached = 200, output = 40 }

[[reply]]
say = \"Done.\"
usage = { input = 1500, cached = 1200, output = 10 }
";

/// Standard error without what differs from run to run.
fn stable(stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("session id:"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_answer_goes_to_standard_output_and_the_rest_to_standard_error() {
    let world = World::new(SCRIPT);
    let ran = world.run(&["exec", "--script", "script.toml", "-o", "last.txt", "go"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"));
    assert_eq!(world.files.read("work/last.txt"), "Done.");
    expect![[r#"
        Pellucid v0.1.0
        --------
        workdir: ROOT/work
        model: gpt-5.2-codex
        provider: scripted
        approval: never
        sandbox: read-only
        reasoning effort: medium
        reasoning summaries: auto
        --------
        user
        go
        thinking
        Hm.
        pellucid
        On it.
        Plan update
          • a
        error: a call of `dance` failed; there is no such tool
        pellucid
        Done.
        tokens used
        1,350"#]]
    .assert_eq(&stable(&ran.stderr));
}

#[test]
fn json_lines_are_all_that_standard_output_has() {
    let world = World::new(SCRIPT);
    let session = "019a0000-0000-7000-8000-000000000001";
    let ran = world.run(&["exec", "--json", "--script", "script.toml", "--session-id", session, "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    expect![[r#"
        {"type":"thread.started","thread_id":"019a0000-0000-7000-8000-000000000001"}
        {"type":"turn.started"}
        {"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"Hm."}}
        {"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"On it."}}
        {"type":"item.started","item":{"id":"item_2","type":"todo_list","items":[{"text":"a","completed":false}]}}
        {"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"Done."}}
        {"type":"item.completed","item":{"id":"item_2","type":"todo_list","items":[{"text":"a","completed":false}]}}
        {"type":"turn.completed","usage":{"input_tokens":2700,"cached_input_tokens":1400,"output_tokens":50}}
    "#]]
    .assert_eq(ran.out());
}

#[test]
fn a_failed_turn_has_status_one_and_an_empty_last_message() {
    let world = World::new(
        "
//- work/script.toml
[[reply]]
error = { failed = \"invalid_prompt\", message = \"no such thing\" }
",
    );
    let ran = world.run(&["exec", "--script", "script.toml", "-o", "last.txt", "go"]);
    assert_eq!((ran.status, ran.out()), (1, ""));
    expect![[r#"
        go
        error: no such thing
        warning: there is no last message, so last.txt is empty
    "#]]
    .assert_eq(after_settings(&ran.stderr));
    assert_eq!(world.files.read("work/last.txt"), "");
}

#[test]
fn the_last_message_does_not_go_where_a_command_made_its_file_lead() {
    let world = World::new(
        "
//- secret
mine
//- work/script.toml
[[reply]]
call = [{ name = \"shell_command\", args = { command = \"ln -s ../secret last.txt\" } }]

[[reply]]
say = \"Done.\"
",
    );
    let ran = world.run(&["exec", "--script", "script.toml", "-s", "danger-full-access", "-o", "last.txt", "go"]);
    assert_eq!((ran.status, ran.out()), (1, "Done.\n"), "{}", ran.stderr);
    let last = ran.stderr.lines().last();
    assert_eq!(last, Some("error: the last message cannot be written to last.txt: it is a link"));
    assert!(world.files.path("work/last.txt").is_symlink());
    assert_eq!(world.files.read("secret"), "mine\n");
}

#[test]
fn the_prompt_may_come_from_standard_input() {
    let world = World::new(SCRIPT);
    let run = |args: &[&str], stdin: &[u8]| {
        let args: Vec<&str> = ["exec", "--script", "script.toml"].iter().chain(args).copied().collect();
        world.run_with(&args, Some(stdin))
    };
    assert!(run(&[], b"piped\n").stderr.starts_with("Reading prompt from stdin...\n"));
    assert!(run(&["-"], b"\xFF\xFEh\0i\0").stderr.contains("user\nhi\n"));
    for (bytes, why) in [
        (
            &b" \n"[..],
            expect![[r#"
        error: No prompt provided via stdin.
    "#]],
        ),
        (
            b"a\xFF",
            expect![[r#"
        error: Failed to read prompt from stdin: it is not valid UTF-8 from byte 1 on; convert it to UTF-8
    "#]],
        ),
    ] {
        let ran = run(&["-"], bytes);
        assert_eq!(ran.status, 1);
        why.assert_eq(&ran.stderr);
    }
}

#[test]
fn context_events_are_there_on_request_only() {
    let world = World::new(SCRIPT);
    world.files.write("work/AGENTS.md", "x".repeat(40_000));
    let types = |args: &[&str]| {
        let args: Vec<&str> = ["exec", "--json", "--script", "script.toml", "go"].iter().chain(args).copied().collect();
        let ran = world.run(&args);
        let lines = ran.out().lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let types = lines.map(|line| line["type"].as_str().unwrap().to_owned());
        // A call begins while its reply ends, so the order of the two events is not fixed.
        types.filter(|it| it != "item.started").collect::<Vec<_>>().join(" ")
    };
    assert!(!types(&[]).contains("context."));
    let expected = "context.schema thread.started turn.started context.omission context.report item.completed \
                    item.completed context.usage context.report item.completed context.usage item.completed \
                    turn.completed";
    assert_eq!(types(&["--context-events"]), expected);
    assert_eq!(types(&["-c", "exec.context_events=true"]), expected);
}

#[test]
fn typed_exit_codes_tell_failures_apart() {
    for (error, code) in [
        ("{ failed = \"insufficient_quota\", message = \"\" }", 11),
        ("{ failed = \"context_length_exceeded\", message = \"\" }", 12),
        ("{ failed = \"server_is_overloaded\", message = \"\" }", 16),
        ("{ failed = \"invalid_prompt\", message = \"\" }", 1),
    ] {
        let world = World::new(&format!("//- work/script.toml\n[[reply]]\nerror = {error}\n"));
        let run = |args: &[&str]| {
            let args: Vec<&str> = ["exec", "--script", "script.toml", "go"].iter().chain(args).copied().collect();
            world.run(&args).status
        };
        assert_eq!((run(&[]), run(&["--typed-exit-codes"])), (1, code), "{error}");
    }
}

#[test]
fn lost_instructions_are_told_and_can_stop_the_run() {
    for (kibibytes, is_lost) in [(31, false), (32, false), (33, true)] {
        let world = World::new(SCRIPT);
        world.files.write("work/AGENTS.md", "x".repeat(kibibytes * 1024));
        let plain = world.run(&["exec", "--script", "script.toml", "go"]);
        assert_eq!(plain.status, 0);
        let warning = "warning: ROOT/work/AGENTS.md: cut after 32768 of 33792 bytes, the budget is spent";
        assert_eq!(plain.stderr.contains(warning), is_lost, "{}", plain.stderr);
        let strict = world.run(&["exec", "--strict-context", "--script", "script.toml", "go"]);
        assert_eq!(strict.status, i32::from(is_lost), "{}", strict.stderr);
    }
}

#[test]
fn the_demo_needs_nothing_and_shows_where_things_come_from() {
    let world = World::new("//- work/x\n");
    let ran = world.run(&["demo"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for text in ["request: ", "├─ ", "yours", "project/api/AGENTS.md", "not seen by the model", "blank"] {
        assert!(ran.out().contains(text), "{text}\n{}", ran.out());
    }
    let report = world.run(&["demo", "--json"]);
    let answer_end = report.out().find('{').unwrap();
    serde_json::from_str::<serde_json::Value>(&report.out()[answer_end..]).expect("the report is JSON");
}

/// The agent and its session answer alike, as either may be asked first.
pub const AGENTS: &str = "
//- work/script.toml
[[reply]]
call = [{ name = \"spawn_agent\", args = { message = \"Count.\" } }]

[[reply]]
say = \"Done.\"

[[reply]]
say = \"Done.\"
";

#[test]
fn agents_are_shown_to_programs_and_to_people() {
    let session = "019a0000-0000-7000-8000-000000000001";
    let args = ["exec", "--script", "script.toml", "--enable", "multi_agent", "--session-id", session];
    let ran = World::new(AGENTS).run(&[&args[..], &["--json", "go"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let calls: Vec<&str> = ran.out().lines().filter(|line| line.contains("collab_tool_call")).collect();
    let ended: serde_json::Value = serde_json::from_str(calls[1]).unwrap();
    let agent = ended["item"]["receiver_thread_ids"][0].as_str().unwrap().to_owned();
    let shown = calls.join("\n").replace(session, "SESSION").replace(&agent, "AGENT");
    expect![[r#"
        {"type":"item.started","item":{"id":"item_0","type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"SESSION","receiver_thread_ids":[],"prompt":"Count.","agents_states":{},"status":"in_progress"}}
        {"type":"item.completed","item":{"id":"item_0","type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"SESSION","receiver_thread_ids":["AGENT"],"prompt":"Count.","agents_states":{"AGENT":{"status":"pending_init","message":null}},"status":"completed"}}"#]].assert_eq(&shown);

    let ran = World::new(AGENTS).run(&[&args[..], &["go"]].concat());
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"));
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("spawn_agent(")).collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert!(lines[0].starts_with("collab spawn_agent("), "{}", lines[0]);
    assert!(lines[1].ends_with(", prompt=\"Count.\") pending init:"), "{}", lines[1]);
}
