//! `context packs`: the same facts under every pack.

use std::collections::BTreeSet;

use pellucid_engine::pack::Pack;
use serde_json::Value;

use crate::World;

fn world() -> World {
    let world = World::new("//- work/AGENTS.md\nUse \"tabs\".\n//- home/AGENTS.md\nBe brief.\n");
    world.files.write("home/skills/lint/SKILL.md", "---\nname: lint\ndescription: Checks the style.\n---\nRun it.\n");
    world
}

fn json(world: &World, args: &[&str]) -> Value {
    let ran = world.run(args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn sum(table: &Value, column: usize, what: &str) -> u64 {
    table["rows"].as_array().unwrap().iter().map(|row| row["cells"][column][what].as_u64().unwrap()).sum()
}

/// The facts of a kind that a report has by its rows.
fn origins(report: &Value, source: &str) -> BTreeSet<String> {
    let rows = report["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["source"] == source && !row["part"].as_str().unwrap().starts_with("tools/"));
    rows.map(|row| row["origin"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_fact_is_a_row_and_columns_add_up_for_every_pack_and_format() {
    for (wire, message) in [("responses", Some("hello")), ("chat", Some("a \"quoted\"\nmessage")), ("messages", None)] {
        let world = world();
        let config = format!(
            "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"http://127.0.0.1:9\"\nwire_api = \"{wire}\"\n"
        );
        world.files.write("home/config.toml", config);
        let said: Vec<&str> = message.into_iter().collect();
        let table = json(&world, &[&["context", "packs", "--json"], said.as_slice()].concat());
        assert_eq!(table["schema"], "pellucid.packs/1");
        let names: Vec<&str> =
            table["packs"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, Pack::builtin_names());
        for (n, pack) in names.iter().enumerate() {
            let report = json(&world, &[&["context", "--json", "--pack", pack], said.as_slice()].concat());
            assert_eq!(table["packs"][n]["bytes"], report["bytes"], "{pack} on {wire}");
            assert_eq!(sum(&table, n, "bytes"), report["bytes"].as_u64().unwrap(), "{pack} on {wire}");
            assert_eq!(sum(&table, n, "tokens"), report["tokens"].as_u64().unwrap(), "{pack} on {wire}");
            for source in ["file", "skill", "fact", "provided"] {
                for origin in origins(&report, source) {
                    let rows = table["rows"].as_array().unwrap().iter();
                    let mut cells =
                        rows.filter(|row| row["name"] == origin || row["kind"] == "memory").map(|row| &row["cells"][n]);
                    assert!(cells.any(|cell| cell["bytes"].as_u64() > Some(0)), "{pack} on {wire}: {source} {origin}");
                }
            }
        }
        for row in table["rows"].as_array().unwrap() {
            let cells = row["cells"].as_array().unwrap();
            assert!(cells.iter().any(|cell| cell["bytes"].as_u64() > Some(0)), "{row}");
            assert!(cells.iter().all(|cell| (cell["bytes"] == 0) == cell["why"].is_string()), "{row}");
        }
    }
}

#[test]
fn only_differences_are_rows_whose_cells_differ() {
    let world = world();
    let all = json(&world, &["context", "packs", "--json", "hello"]);
    let differing = json(&world, &["context", "packs", "--json", "--only-differences", "hello"]);
    let sizes = |row: &Value| -> BTreeSet<String> {
        row["cells"].as_array().unwrap().iter().map(|cell| cell["bytes"].to_string()).collect()
    };
    let (all, differing) = (all["rows"].as_array().unwrap(), differing["rows"].as_array().unwrap());
    assert!(!differing.is_empty() && differing.len() < all.len(), "{} of {}", differing.len(), all.len());
    for row in all.iter().filter(|row| sizes(row).len() > 1) {
        let is_row = |it: &&Value| it["kind"] == row["kind"] && it["name"] == row["name"];
        assert!(differing.iter().any(|it| is_row(&it)), "{row}");
    }
    let message = |rows: &[Value]| rows.iter().any(|row| row["kind"] == "message");
    assert!(message(all), "every pack sends the message");
}

#[test]
fn another_pack_is_a_column_and_an_unknown_one_is_refused() {
    let world = world();
    assert_eq!(world.run(&["pack", "new", "mine", "--from", "codex"]).status, 0);
    let table = json(&world, &["context", "packs", "--json", "--with-pack", "mine", "hello"]);
    assert_eq!(table["packs"].as_array().unwrap().len(), Pack::builtin_names().len() + 1);
    let refused = world.run(&["context", "packs", "--with-pack", "none", "hello"]);
    assert!(refused.status == 2 && refused.stderr.contains("pack none"), "{}", refused.stderr);
    let text = world.run(&["context", "packs", "hello"]);
    assert!(text.out().contains("file AGENTS.md"), "{}", text.out());
    assert!(text.out().contains("not sent: "), "{}", text.out());
}
