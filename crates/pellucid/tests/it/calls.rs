//! `sessions calls`: what the record has of calls of tools, for people and for programs.

use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::steady::without_bytes;

/// A session with calls of several tools in two replies. Where commands may touch anything, no sandbox of this machine
/// matters.
fn world() -> World {
    World::new(
        r#"//- home/rules/default.rules
prefix_rule(pattern=["false"], decision="forbidden")
//- work/script.toml
[[reply]]
call = [
  { name = "update_plan", args = { plan = [{ step = "a", status = "pending" }] }, id = "c1" },
  { name = "shell_command", args = { command = "exit 3", login = false }, id = "c2" },
  { name = "shell_command", args = { command = "false $HIDDEN", login = false }, id = "c3" },
]
[[reply]]
call = [
  { name = "shell_command", args = { command = "exit 4", login = false }, id = "c4" },
  { name = "apply_patch", input = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch", id = "c5" },
  { name = "sing", args = {}, id = "c6" },
]
[[reply]]
say = "Done."
"#,
    )
}

fn played() -> (World, String) {
    let world = world();
    let ran = world.run(&["exec", "--json", "-s", "danger-full-access", "--script", "script.toml", "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let started: Value = serde_json::from_str(ran.out().lines().next().unwrap()).unwrap();
    (world, started["thread_id"].as_str().unwrap().to_owned())
}

#[test]
fn calls_are_listed_with_times_sandbox_and_grounds() {
    let (world, id) = played();
    let ran = world.run(&["sessions", "calls", "--json", &id]);
    let calls: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    let rows: Vec<_> =
        calls.iter().map(|it| json!([it["call"], it["tool"], it["outcome"], it["grounds"]["decision"]])).collect();
    assert_eq!(
        Value::from(rows),
        json!([
            ["c1", "update_plan", "done", "not_needed"],
            ["c2", "shell_command", "failed", "command"],
            ["c3", "shell_command", "refused", "command"],
            ["c4", "shell_command", "failed", "command"],
            ["c5", "apply_patch", "done", "patch"],
            ["c6", "sing", "failed", "undecided"],
        ])
    );
    assert_eq!(
        calls[1]["runs"],
        json!([{ "sandbox": { "mode": "danger-full-access", "network": true }, "exit_code": 3, "denied": false }])
    );
    let rule = &calls[2]["grounds"]["parts"][0]["rules"][0];
    assert!(rule["place"].as_str().unwrap().ends_with("default.rules:1"), "{rule}");
    for call in &calls {
        assert!(call["began_at"].as_str() <= call["ended_at"].as_str(), "{call}");
    }
    let list = world.run(&["sessions", "calls", &id]);
    assert_eq!(list.out().lines().count(), 13, "{}", list.out());
    assert!(list.out().contains("no approval needed: the tool changes nothing outside of the session\n"));
    let one = world.run(&["sessions", "calls", &id, "c3"]);
    assert!(
        one.out().contains("default.rules:1: prefix_rule(pattern=[\"false\"], decision=\"forbidden\")\n"),
        "{}",
        one.out()
    );
    let none = world.run(&["sessions", "calls", &id, "c9"]);
    assert_eq!(none.status, 2);
    expect![[r#"
        error: the record has no call `c9`; `pellucid sessions calls ID` lists those that it has
    "#]]
    .assert_eq(&none.stderr.replace(&id, "ID"));
}

#[test]
fn the_record_has_each_description_once_and_no_command() {
    let (world, id) = played();
    let record = std::fs::read_to_string(crate::one_change::session_file(&record_folder(&world))).unwrap();
    let lines: Vec<&str> = record.lines().filter(|line| line.contains("\"kind\":\"call\"")).collect();
    assert_eq!(lines.len(), 6, "{record}");
    for text in ["exit 3", "exit 4", "HIDDEN", "Begin Patch"] {
        assert!(!lines.iter().any(|line| line.contains(text)), "{text}: {lines:#?}");
    }
    let of = |n: usize| serde_json::from_str::<Value>(lines[n]).unwrap();
    assert_eq!(of(3)["grounds"], json!({ "id": of(1)["grounds"]["id"] }));
    assert_eq!(of(3)["runs"][0]["sandbox"], json!({ "id": of(1)["runs"][0]["sandbox"]["id"] }));
    assert!(lines[3].len() < 500, "{}", lines[3]);
    for args in [["replay", &id], ["sessions", "fsck"]] {
        let ran = world.run(&args);
        assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    }
    let damaged = record.replace("\"outcome\":\"refused\"", "\"outcome\":\"done\"");
    std::fs::write(crate::one_change::session_file(&record_folder(&world)), damaged).unwrap();
    assert_eq!(world.run(&["replay", &id]).status, 1);
    let ran = world.run(&["sessions", "calls", &id]);
    expect![[r#"
        warning: the record of this session is damaged, so calls may be missing or wrong: line 8 (byte N, call, turn ID) was changed; `pellucid sessions fsck ID2` checks the whole session
    "#]].assert_eq(&without_bytes(&world.steady(&ran.stderr)));
}

/// The folder of records, without that of long texts.
fn record_folder(world: &World) -> std::path::PathBuf {
    let folder = world.files.path("home/requests");
    let years = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    years.into_iter().find(|path| !path.ends_with("parts")).unwrap()
}
