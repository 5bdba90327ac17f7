//! `context seen`: files and outputs that the model of a stored session was shown.

use std::fs;

use serde_json::Value;
use serde_json::json;

use crate::World;

/// A session in which the model has read a file.
fn world() -> World {
    let world = World::new(
        r#"//- work/a
1
2
3
//- work/AGENTS.md
Be brief.
//- work/script.toml
[[reply]]
call = [{ name = "shell_command", args = { command = "cat a", login = false }, id = "c1" }]
[[reply]]
say = "Seen."
"#,
    );
    let ran = world.run(&["exec", "-s", "danger-full-access", "--script", "script.toml", "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    world
}

/// The states of files, by the last part of their paths.
fn states(world: &World) -> Vec<Value> {
    let ran = world.run(&["context", "seen", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let name = |file: &Value| file["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let files = answer["files"].as_array().unwrap();
    files.iter().map(|file| json!([name(file), file["lines"], file["state"]])).collect()
}

#[test]
fn a_file_is_old_once_it_changed() {
    let world = world();
    assert_eq!(states(&world), [json!(["AGENTS.md", [1, 1], "current"]), json!(["a", [1, 3], "current"])]);
    fs::write(world.files.path("work/a"), "1\nzwei\n3\n").unwrap();
    assert_eq!(states(&world)[1], json!(["a", null, "old"]));
    fs::remove_file(world.files.path("work/a")).unwrap();
    assert_eq!(states(&world)[1], json!(["a", null, "gone"]));
}

#[test]
fn people_read_lines_and_a_missing_session_is_wrong_usage() {
    let world = world();
    let ran = world.run(&["context", "seen", "--last"]);
    let text = ran.out();
    assert!(text.contains("\n  a:1-3  current  (cat a)\n"), "{text}");
    assert!(text.contains("\nOutputs\n  all of it, "), "{text}");
    assert_eq!(world.run(&["context", "seen", "nothing-is-called-so"]).status, 2);
}
