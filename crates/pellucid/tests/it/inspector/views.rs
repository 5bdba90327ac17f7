//! What single views ask for: compactions with their losses, calls with their files and outputs, copies of sessions.

use pellucid_inspect::schemas;
use pellucid_testkit::fits_schema;
use serde_json::Value;
use serde_json::json;

use super::FIXTURE;
use super::client::Inspector;
use super::world;
use crate::World;

/// A turn with an output that is cut for the model and kept beside the session.
pub const LONG_OUTPUT: &str = r#"
[[reply]]
call = [{ name = "exec_command", args = { cmd = "seq 1 60000" } }]
[[reply]]
say = "much"
"#;

const PLAN: &str = r#"
[[reply]]
call = [{ name = "update_plan", args = { plan = [{ step = "look", status = "completed" }, { step = "write notes_on_x", status = "pending" }] } }]
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: AGENTS.md\n@@\n-Use \"tabs\".\n+Use \"<b>tabs</b>\".\n*** End Patch" }]
[[reply]]
say = "I looked at src/lost.rs."
"#;

/// A session that is scripted, with its id.
fn scripted(script: &str, said: &str) -> (World, String) {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", script);
    let ran = world.run(&["exec", "--full-auto", "--skip-git-repo-check", "--script", "script.toml", said]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

#[test]
fn the_list_has_the_price_of_a_session_that_was_not_opened() {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", "[[reply]]\nsay = \"ok\"\nusage = { input = 1000, output = 10 }\n");
    let args = ["exec", "--skip-git-repo-check", "-m", "gpt-5.2-codex", "--script", "script.toml", "go"];
    assert_eq!(world.run(&args).status, 0);
    let inspector = Inspector::open(&world, &[]);
    let listed = inspector.api("sessions").json();
    let [session] = listed["sessions"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert!(session["cost"]["amount"].is_string(), "{session}");
    assert_eq!(session["record"], true);
    let id = session["id"].as_str().unwrap();
    assert_eq!(inspector.api(&format!("sessions/{id}")).json()["cost"], session["cost"]);
}

#[test]
fn a_compaction_says_what_left_what_stayed_and_what_is_lost() {
    let (world, id) = scripted(PLAN, "Never touch <b>Cargo.lock</b>. Look around.");
    let inspector = Inspector::open(&world, &[]);
    world.files.write("work/summary.toml", "[[reply]]\nsay = \"We looked.\"\n");
    let ran = world.run(&["compact", "--json", "--script", "summary.toml", &id]);
    let done: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let shown = inspector.api(&format!("sessions/{id}/compactions/1")).json();
    for key in ["replaced", "kept", "summary", "lost", "items_after"] {
        assert_eq!(shown[key], done[key], "{key}");
    }
    assert_eq!(shown["lost"]["open_tasks"], json!(["write notes_on_x"]));
    assert_eq!(shown["lost"]["paths"], json!(["src/lost.rs"]));
    assert_eq!((&shown["why"], &shown["undone"], &shown["before"]), (&Value::Null, &json!(false), &json!(3)));
    let n = |key: &str| shown[key].as_u64().unwrap();
    assert_eq!(n("n_replaced") + n("n_kept"), n("items_before"));
    let ran = world.run(&["compact", "--undo", &id]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let list = inspector.api(&format!("sessions/{id}/compactions")).json();
    assert_eq!(list["compactions"][0]["undone"], true);
    assert_eq!(list["compactions"].as_array().unwrap().len(), 1, "an undo is no compaction");
    assert_eq!(inspector.api(&format!("sessions/{id}")).json()["counts"]["compactions"], 1);
    assert_eq!(inspector.api(&format!("sessions/{id}/compactions/2")).refusal(), (404, "not_found".to_owned()));
}

#[test]
fn a_call_has_its_request_its_files_and_its_whole_output() {
    let (world, id) = scripted(PLAN, "Look around.");
    let inspector = Inspector::open(&world, &[]);
    let plan = inspector.api(&format!("sessions/{id}/calls/call_1_1")).json();
    assert_eq!((&plan["request"], &plan["files"], &plan["kept"]), (&json!(1), &json!([]), &Value::Null));
    let patch = inspector.api(&format!("sessions/{id}/calls/call_2_1")).json();
    assert_eq!(patch["request"], 2);
    let hunk = json!({ "below": null, "text": "-Use \"tabs\".\n+Use \"<b>tabs</b>\".\n" });
    let file = json!({ "path": "AGENTS.md", "how": "changed", "moved_to": null, "hunks": [hunk] });
    assert_eq!(patch["files"], json!([file]));
    let none = inspector.api(&format!("sessions/{id}/calls/call_2_1/output"));
    assert_eq!(none.refusal(), (404, "not_found".to_owned()));

    let (world, id) = scripted(LONG_OUTPUT, "Write much.");
    let inspector = Inspector::open(&world, &[]);
    let call = inspector.api(&format!("sessions/{id}/calls/call_1_1")).json();
    let whole: String = (1..=60000).map(|n| format!("{n}\n")).collect();
    let kept = &call["kept"];
    assert_eq!((&kept["bytes"], &kept["is_whole"]), (&json!(whole.len()), &json!(true)));
    let output = call["output"].as_str().unwrap();
    let ranges: Vec<(usize, usize)> = serde_json::from_value(kept["seen"].clone()).unwrap();
    let [(0, head), (tail, end)] = ranges[..] else { panic!("{ranges:?}") };
    assert_eq!(end, whole.len());
    assert!(output.contains(&whole[..head]) && output.ends_with(&whole[tail..]));
    assert!(!output.contains(&whole[..=head]), "the model saw nothing more of the beginning");
    let (mut text, mut from) = (String::new(), Some(0));
    while let Some(at) = from {
        let piece = inspector.api(&format!("sessions/{id}/calls/call_1_1/output?from={at}")).json();
        text += piece["text"].as_str().unwrap();
        from = piece["next"].as_u64();
    }
    assert!(text == whole, "the pieces are the whole output");
}

#[test]
fn a_session_is_copied_up_to_a_request_only_where_that_is_allowed() {
    let (world, id) = world("responses");
    let body = json!({ "session": id, "request": 2 }).to_string();
    let closed = Inspector::open(&world, &[]);
    assert_eq!(closed.send("POST", "/api/v1/fork", &[], &body).refusal(), (403, "forbidden".to_owned()));
    assert_eq!(closed.api("hello").json()["allow_fork"], false);
    let open = Inspector::open(&world, &["--allow-fork"]);
    assert_eq!(open.api("hello").json()["allow_fork"], true);
    let evil = [("Origin", "http://evil.example")];
    assert_eq!(open.send("POST", "/api/v1/fork", &evil, &body).refusal(), (403, "forbidden".to_owned()));
    let answer = open.send("POST", "/api/v1/fork", &[], &body).json();
    if let Err(why) = fits_schema(&schemas::all()["answers"]["fork"], &answer) {
        panic!("{why}");
    }
    let copy = answer["session"].as_str().unwrap();
    let printed = world.run(&["fork", &format!("{id}#1")]);
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    // Both requests belong to the first turn, so both copies end with it.
    for copy in [copy, printed.out().trim()] {
        let session = open.api(&format!("sessions/{copy}")).json();
        assert_eq!(session["session"]["parent"], json!({ "id": id, "how": "forked" }));
        assert_eq!(session["counts"]["requests"], 2);
    }
    let gone = json!({ "session": id, "request": 99 }).to_string();
    assert_eq!(open.send("POST", "/api/v1/fork", &[], &gone).refusal(), (422, "unknown".to_owned()));
    for wrong in ["{}", "", "[1]", &json!({ "session": id, "request": 1, "to": "/tmp" }).to_string()] {
        assert_eq!(open.send("POST", "/api/v1/fork", &[], wrong).refusal(), (400, "bad_request".to_owned()), "{wrong}");
    }
    for wrong in [&["fork", &format!("{id}#x")][..], &["fork", &format!("{id}#1"), "--at", "1"]] {
        assert_eq!(world.run(wrong).status, 2, "{wrong:?}");
    }
}
