//! What a person is told of instruction files: their hash, and characters that only the model sees.

use expect_test::expect;
use serde_json::Value;

use crate::World;

fn world() -> World {
    let world = World::new("//- work/answer.toml\n[[reply]]\nsay = \"Done.\"\n");
    world.files.write("home/AGENTS.md", "Be brief.\n");
    world.files.write("work/AGENTS.md", "Use tabs.\nNever \u{202E}ever\u{202C} push.\u{200B}\n");
    world
}

#[test]
fn the_report_lists_them_with_their_hash() {
    let world = world();
    let ran = world.run(&["context", "hi"]);
    let root = world.files.root().display().to_string();
    let from = ran.out().find("instruction files looked for").unwrap();
    expect![[r#"
        instruction files looked for
          ROOT/home/AGENTS.md: read, sha256 96fb1c7f068c5ce63e2b45fc4aea602d48d5302be6ca033f3e1f0c7148558a49
          ROOT/work/AGENTS.md: read, sha256 961a3ccf81667866f2ae13fba1d63ba1c62b98957cf84735a84ef26873d9783b
          ROOT/home/AGENTS.override.md: not there
          ROOT/work/AGENTS.override.md: not there

        seen by the model and not by you
          ROOT/work/AGENTS.md:2:7: bidirectional character U+202E
          ROOT/work/AGENTS.md:2:12: bidirectional character U+202C
          ROOT/work/AGENTS.md:2:19: invisible character U+200B
    "#]]
    .assert_eq(&ran.out()[from..].replace(&root, "ROOT"));
}

#[test]
fn the_report_for_programs_places_every_hidden_character() {
    let ran = world().run(&["context", "--json", "hi"]);
    let report: Value = serde_json::from_str(ran.out()).unwrap();
    let file = &report["instruction_files"][1];
    expect![[r#"
        36 36 [
          {
            "line": 2,
            "column": 7,
            "kind": "bidirectional",
            "code_points": [
              "U+202E"
            ]
          },
          {
            "line": 2,
            "column": 12,
            "kind": "bidirectional",
            "code_points": [
              "U+202C"
            ]
          },
          {
            "line": 2,
            "column": 19,
            "kind": "invisible",
            "code_points": [
              "U+200B"
            ]
          }
        ]"#]]
    .assert_eq(&format!("{} {} {:#}", file["bytes"], file["read_bytes"], file["hidden"]));
    let sandbox = &report["sandbox"];
    assert_eq!(sandbox["mode"], "read-only");
    assert!(sandbox["why"].is_string() && sandbox["gaps"].is_array(), "{sandbox}");
}

#[test]
fn a_turn_warns_of_them() {
    let world = world();
    let ran = world.run(&["exec", "--script", "answer.toml", "hi"]);
    let warnings: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    expect!["warning: ROOT/work/AGENTS.md:2:7: bidirectional character U+202E, and elsewhere (see `pellucid context`)"]
        .assert_eq(&warnings.join("\n"));
    assert_eq!(ran.status, 0);
}
