//! The commands' reports about instruction files: their hash, and characters that only the model sees.

use expect_test::expect;
use serde_json::Value;
use serde_json::json;

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
    let ran = world.run(&["context", "-v", "hi"]);
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

/// Lines of the request that `prompt` shows for the last session's next turn.
fn changes_told(world: &World) -> Vec<String> {
    let ran = world.run(&["prompt", "--last", "--script", "answer.toml", "next"]);
    let root = world.files.root().canonicalize().unwrap().display().to_string();
    let lines = ran.out().lines().filter(|line| line.contains(" before, ") || line.contains("present text"));
    lines.map(|line| line.replace(&root, "ROOT")).collect()
}

#[test]
fn a_session_that_goes_on_is_told_once_of_what_changed_meanwhile() {
    let world = world();
    world.files.write("work/AGENTS.md", "Use tabs.\n");
    world.files.write("home/config.toml", "[project_docs]\non_change = \"tell\"\n");
    assert_eq!(world.run(&["exec", "--script", "answer.toml", "hi"]).status, 0);
    assert_eq!(changes_told(&world), Vec::<String>::new());
    world.files.write("work/AGENTS.md", "Use spaces.\n");
    let told = changes_told(&world);
    expect!["[ROOT/work/AGENTS.md, SHA-256 2d812d6fdf8ecb4d6d131cf2d3f289294aa941e08ff5776bfab097cae4a099ac before, d9d69cfc9e52e68ebf95daffcc836dc547005ed753b097cb5d86aad654488a4f now: its present text is in the latest instructions above]"].assert_eq(&told.join("\n"));
    let ran = world.run(&["exec", "--script", "answer.toml", "resume", "--last", "on"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(changes_told(&world), told, "sent once, and it stays");
}

#[test]
fn a_file_that_changed_between_two_requests_is_named_once_with_both_hashes() {
    let world = world();
    world.files.write("work/AGENTS.md", "Use tabs.\n");
    assert_eq!(world.run(&["exec", "--script", "answer.toml", "hi"]).status, 0);
    let report = |args: &[&str]| -> Value {
        let ran = world.run(&[&["context", "--json", "--script", "answer.toml"], args].concat());
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
    };
    assert_eq!(report(&["--last", "next"])["changed_files"], json!([]));
    world.files.write("work/AGENTS.md", "Use spaces.\n");
    let path = world.files.root().canonicalize().unwrap().join("work/AGENTS.md").display().to_string();
    let [old, new] = [
        "2d812d6fdf8ecb4d6d131cf2d3f289294aa941e08ff5776bfab097cae4a099ac",
        "d9d69cfc9e52e68ebf95daffcc836dc547005ed753b097cb5d86aad654488a4f",
    ];
    let next = report(&["--last", "next"]);
    let changed = json!([{ "path": path, "kind": "instructions", "old_sha256": old, "new_sha256": new }]);
    assert_eq!(next["changed_files"], changed);
    let line = |path: &str| format!("{path} changed since the last request, sha256 {old} -> {new}\n");
    let text = world.run(&["context", "-v", "--script", "answer.toml", "--last", "next"]);
    assert!(text.out().contains(&format!("\nfiles that changed\n  {}", line(&path))), "{}", text.out());
    let ran = world.run(&["exec", "--script", "answer.toml", "resume", "--last", "on"]);
    assert_eq!((ran.status, ran.stderr.matches(&line("ROOT/work/AGENTS.md")).count()), (0, 1), "{}", ran.stderr);
    let session = ran.stderr.lines().find_map(|line| line.strip_prefix("session id: ")).unwrap().to_owned();
    assert_eq!(report(&[&session])["changed_files"], changed, "the record says it too");
    assert_eq!(report(&["--last", "next"])["changed_files"], json!([]));
    let replay = world.run(&["replay", &session]);
    assert_eq!(replay.status, 0, "{}{}", replay.out(), replay.stderr);
}

#[test]
fn imports_are_followed_if_asked_for_and_what_fails_is_told() {
    let world = world();
    world.files.write("work/AGENTS.md", "Use tabs. @docs/more.md @docs/none.md @../home/config.toml\n");
    world.files.write("work/docs/more.md", "Be brief.\n");
    let loaded = |world: &World| {
        let report: Value = serde_json::from_slice(&world.run(&["context", "--json", "hi"]).stdout).unwrap();
        let sources = report["sources"].as_array().unwrap().iter();
        let lines = sources.map(|it| format!("{} {}", it["status"].as_str().unwrap(), it["source"].as_str().unwrap()));
        let root = world.files.root().canonicalize().unwrap().display().to_string();
        lines.filter(|line| !line.contains("override")).collect::<Vec<_>>().join("\n").replace(&root, "ROOT")
    };
    expect![[r#"
        full ROOT/home/AGENTS.md
        full ROOT/work/AGENTS.md"#]]
    .assert_eq(&loaded(&world));
    world.files.write("home/config.toml", "project_docs.imports = 2\n");
    expect![[r#"
        full ROOT/home/AGENTS.md
        full ROOT/work/AGENTS.md
        full ROOT/work/docs/more.md
        missing ROOT/work/docs/none.md (imported in ROOT/work/AGENTS.md:1)
        omitted ROOT/home/config.toml (imported in ROOT/work/AGENTS.md:1)"#]]
    .assert_eq(&loaded(&world));
    let ran = world.run(&["exec", "--strict-context", "--script", "answer.toml", "hi"]);
    assert_ne!(ran.status, 0);
}

#[test]
fn the_report_compares_with_the_last_request_of_an_earlier_process() {
    let world = world();
    assert_eq!(world.run(&["exec", "--script", "answer.toml", "hi"]).status, 0);
    let continuity = |args: &[&str]| {
        let args: Vec<&str> = ["context", "--last", "--json", "--script", "answer.toml"]
            .iter()
            .chain(args)
            .copied()
            .chain(["next"])
            .collect();
        let report: Value = serde_json::from_slice(&world.run(&args).stdout).unwrap();
        report["continuity"].clone()
    };
    let same = continuity(&[]);
    assert_eq!((&same["broken"], &same["kept_bytes"]), (&Value::Null, &same["previous_bytes"]), "{same}");
    assert!(same["kept_bytes"].as_u64().unwrap() > 1000, "{same}");
    let other = continuity(&["-m", "gpt-5.1"]);
    assert_eq!(other["broken"]["cause"], "model", "{other}");
}

#[test]
fn a_file_that_only_the_history_has_is_not_called_lost() {
    let world = world();
    let ran = world.run(&["exec", "--script", "answer.toml", "hi"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let changed = ["-c", "resume_context=\"changed\"", "context", "-v", "--script", "answer.toml", "--last"];
    let told = |world: &World| {
        let ran = world.run(&changed);
        let line = ran.out().lines().find(|line| line.contains("work/AGENTS.md: ")).unwrap_or_default();
        line.split_once(": ").unwrap().1.split(", sha256").next().unwrap().to_owned()
    };
    assert_eq!(told(&world), "read", "its bytes are rows of the request, in an item of the first turn");
    world.files.write("work/AGENTS.md", "Use spaces.\n");
    assert_eq!(told(&world), "read", "the changed file is sent again");
}

#[test]
fn a_blank_file_is_listed_once() {
    let world = world();
    world.files.write("work/AGENTS.md", " \n");
    let ran = world.run(&["context", "-v", "hi"]);
    let looked_for = ran.out().split_once("instruction files looked for").unwrap().1;
    let lines: Vec<_> = looked_for.lines().filter(|line| line.contains("work/AGENTS.md")).collect();
    assert!(matches!(lines.as_slice(), [line] if line.ends_with(": blank")), "{lines:?}");
}
