//! `pellucid schema`, and every JSON output against its schema.

use std::fs;
use std::path::Path;

use pellucid_testkit::fits_schema;
use serde_json::Value;

use crate::World;

/// Checks a value against the schema that it names.
#[track_caller]
pub fn check_form(world: &World, value: &Value) {
    let form = value["schema"].as_str().unwrap();
    let ran = world.run(&["schema", form]);
    assert_eq!(ran.status, 0, "{form}: {}", ran.stderr);
    let schema: Value = serde_json::from_slice(&ran.stdout).unwrap();
    fits_schema(&schema, value).unwrap_or_else(|fault| panic!("{form}{fault}"));
}

#[test]
fn outputs_fit_their_schemas() {
    let world = World::new(
        "//- work/script.toml\n[[reply]]\nsay = \"one\"\nusage = { input = 100, cached = 10, output = 10 }\n[[reply]]\nsay = \"two\"\n",
    );
    assert_eq!(world.run(&["exec", "--script", "script.toml", "first"]).status, 0);
    let other = ["exec", "--script", "script.toml", "-m", "gpt-5.1", "resume", "--last", "second"];
    assert_eq!(world.run(&other).status, 0);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap();
    let (one, two) = (format!("{id}#1"), format!("{id}#2"));
    assert_eq!(world.run(&["context", "lock"]).status, 0);
    let commands: [&[&str]; 16] = [
        &["cache", id, "--json"],
        &["context", "diff", &one, &two, "--json"],
        &["context", "diff", "now", "now", "--json"],
        &["context", "diff", id, id, "--json"],
        &["sessions", "grep", "first", "--json"],
        &["sessions", "certify", id],
        &["sessions", "certify", "-m", "gpt-5.1", id],
        &["sessions", "archive", "--older-than", "1", "--dry-run", "--json"],
        &["context", "check", "--json"],
        &["context", "why", "--text", "first", id, "--json"],
        &["context", "packs", "--json"],
        &["context", "seen", id, "--json"],
        &["context", "bisect", "--sessions", id, id, "--json"],
        &["cost", id, "--json"],
        &["cost", id, "--as", "order=stable-first", "--json"],
        &["models", "list", "--json"],
    ];
    for command in commands {
        let ran = world.run(command);
        let value: Value =
            serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{command:?}: {}", ran.stderr));
        check_form(&world, &value);
    }
}

#[test]
fn every_form_in_the_sources_has_a_schema_and_all_are_listed() {
    let world = World::new("");
    let listed = world.run(&["schema"]);
    assert_eq!(listed.status, 0);
    let mut n = 0;
    for crate_name in ["pellucid-answers", "pellucid"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate_name).join("src");
        for form in forms(&root) {
            assert_eq!(world.run(&["schema", &form]).status, 0, "{form}");
            let name = form.trim_start_matches("pellucid.").trim_end_matches("/1");
            assert!(listed.out().lines().any(|line| line.split_whitespace().next() == Some(name)), "{form}");
            n += 1;
        }
    }
    assert!(n >= 5, "{n}");
    for name in ["record", "context-events"] {
        assert!(listed.out().lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        assert_eq!(world.run(&["schema", name]).status, 0, "{name}");
    }
    let unknown = world.run(&["schema", "dif"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("there is no schema `dif`; near ones: diff"), "{}", unknown.stderr);
}

/// Every text of the form `"pellucid.NAME/1"` in the sources of a folder.
fn forms(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(forms(&path));
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            let texts =
                text.split('"').filter(|it| it.starts_with("pellucid.") && it.ends_with("/1") && !it.contains('{'));
            found.extend(texts.map(str::to_owned));
        }
    }
    found
}
