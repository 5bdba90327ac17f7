//! Accounts of items: what was used, what was cut and how, and what could not be used.

use std::collections::BTreeMap;
use std::time::Duration;

use expect_test::expect;
use pellucid_protocol::settings::PromptMode;
use serde_json::json;

use super::World;
use super::shown;
use crate::injection::FileCost;
use crate::injection::Injected;
use crate::injection::InjectionRead;
use crate::injection::InjectionTotals;
use crate::injection::ReadCost;

#[test]
fn every_account_is_given_whole() {
    let world = World::with(&json!({ "prompt_injections": [
        { "target": "preamble_message", "role": "user", "content": "é", "order": 2 }, 7,
    ] }));
    let collected = world.collect(&json!([{ "type": "provided" }]), PromptMode::Full);
    let lines: Vec<String> = collected.injected.iter().map(|it| serde_json::to_string(it).unwrap()).collect();
    expect![[r#"
        {"source_type":"provided","source_index":0,"item_id":"prompt_injections[0]","target":"preamble_message","role":"user","order":2,"prompt_mode":"full","origin":[{"path":"prompt_injections[0]","bytes":2}],"bytes_before":2,"bytes_after":2,"chars_after":1,"tokens_estimate":1,"truncated":false,"outcome":"injected"}
        {"source_type":"provided","source_index":0,"item_id":"prompt_injections[1]","order":0,"prompt_mode":"full","origin":[],"bytes_before":0,"bytes_after":0,"chars_after":0,"tokens_estimate":0,"truncated":false,"outcome":"error","reason":"it is not a map"}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn nothing_that_a_source_lacks_is_left_out_in_silence() {
    let world = World::with(&json!({ "prompt_injections": "no list", "mine": { "no": "list" } }));
    let collected = world.collect(
        &json!([
            { "type": "file_sett" },
            7,
            { "enabled": true },
            { "type": "provided" },
            { "type": "provided", "context_key": "mine" },
            { "type": "provided", "context_key": "gone" },
            { "type": "text_store", "entries": [{ "key": "style", "target": "system_section" }] },
            { "type": "file_set", "files": [{ "path": "a.md", "prompt_modes": ["minimal"] }, { "title": "no path" }] },
            { "type": "file_set", "version": 2, "preset": "nobody" },
        ]),
        PromptMode::Full,
    );
    expect![[r##"
        system_section  0: "# Project Context\n"
        [file_sett 0] -: error 0→0 (no source has this type; known: file_set, repo_docs, provided, text_store, text_store_entries)
        [? 1] -: error 0→0 (a source is a map)
        [? 2] -: error 0→0 (a source needs `type`; known: file_set, repo_docs, provided, text_store, text_store_entries)
        [provided 3] prompt_injections: error 0→0 (the attribute is no list)
        [provided 4] mine: error 0→0 (the attribute is no list)
        [provided 5] gone: missing 0→0 (it is not there)
        [text_store 6] style: error 0→0 (there is no store of texts)
        [file_set 7] a.md: skipped_mode 0→0 (it is for other modes)
        [file_set 7] entry: error 0→0 (a file of the list needs `path`)
        [file_set 7] Project Context: injected 18→18
        [file_set 8] -: error 0→0 (no built-in pack `nobody` has files to begin with; known: openclaw)
    "##]].assert_eq(&shown(&collected));
}

#[test]
fn an_account_says_how_an_item_was_cut() {
    let long = "0123456789".repeat(10);
    let mut world = World::with(&json!({ "prompt_injections": [
        { "target": "system_section", "content": long, "max_bytes": 25 },
    ] }))
    .file("/w/a.md", &long)
    .document("AGENTS.md", &long);
    world.store = Some(BTreeMap::from([("style".to_owned(), long.clone())]));
    let file = FileCost { bytes_read: 100, mtime: Some(7) };
    world.read.measured = ReadCost {
        duration: Some(Duration::from_micros(1_500)),
        files: BTreeMap::from([("/w/a.md".to_owned(), file)]),
    };
    let collected = world.collect(
        &json!([
            { "type": "provided" },
            { "type": "text_store", "entries": [{ "key": "style", "target": "system_section", "max_bytes": 25 }] },
            { "type": "file_set", "files": [{ "path": "a.md", "max_bytes": 25 }] },
            { "type": "file_set", "files": [{ "path": "a.md" }], "total_max_bytes": 50 },
            { "type": "file_set", "version": 2, "files": [{ "path": "a.md" }, { "path": "a.md" }], "max": 45 },
            { "type": "repo_docs", "max_total_bytes": 50 },
            { "type": "repo_docs", "version": 2, "max_total_bytes": 50 },
            { "type": "repo_docs", "version": 2, "max_total_bytes": 50, "truncation": "head_marker_tail" },
        ]),
        PromptMode::Full,
    );
    let line = |it: &Injected| {
        let it = serde_json::to_value(it).unwrap();
        let origin = &it["origin"][0];
        let about = ["bytes_read", "mtime"].map(|key| origin[key].to_string()).join(" ");
        let hash = origin["sha256"].as_str().map_or(0, str::len);
        format!("{} {} {about} {hash} {}\n", it["source_index"], it["truncation"], it["duration_ms"])
    };
    expect![[r#"
        0 {"strategy":"head_marker_tail","kept_head":10,"kept_tail":10,"marker_bytes":5,"budget":25} null null 0 1.5
        1 {"strategy":"head_marker_tail","kept_head":10,"kept_tail":10,"marker_bytes":5,"budget":25} null null 0 1.5
        2 {"strategy":"files","kept_head":10,"kept_tail":10,"marker_bytes":5,"budget":25} 100 7 64 1.5
        3 {"strategy":"head_marker_tail","kept_head":22,"kept_tail":23,"marker_bytes":5,"budget":50} 100 7 64 1.5
        4 {"strategy":"files","kept_head":40,"kept_tail":40,"marker_bytes":10,"budget":45} 100 7 64 1.5
        5 {"strategy":"head_marker_tail","kept_head":22,"kept_tail":23,"marker_bytes":5,"budget":50} null null 64 1.5
        6 {"strategy":"head","kept_head":50,"kept_tail":0,"marker_bytes":0,"budget":50} null null 64 1.5
        7 {"strategy":"head_marker_tail","kept_head":22,"kept_tail":23,"marker_bytes":5,"budget":50} null null 64 1.5
    "#]]
    .assert_eq(&collected.injected.iter().map(line).collect::<String>());
    // However long reading took, the same files make the same facts.
    let slower = InjectionRead { measured: ReadCost::default(), ..world.read.clone() };
    assert_eq!(slower, world.read);
}

#[test]
fn accounts_are_added_up_by_target_and_source() {
    let world = World::with(&json!({ "prompt_injections": [
        { "target": "system_section", "content": "four" },
        { "target": "preamble_message", "role": "user", "content": "éé" },
        { "target": "system_section", "content": " " },
        7,
    ] }));
    let collected = world.collect(&json!([{ "type": "provided" }, { "type": "repo_docs" }]), PromptMode::Full);
    expect![[r#"
        {
          "targets": {
            "preamble_message": {
              "injected": 1,
              "left_out": 0,
              "bytes": 4,
              "tokens_estimate": 1
            },
            "system_section": {
              "injected": 1,
              "left_out": 0,
              "bytes": 4,
              "tokens_estimate": 1
            }
          },
          "sources": {
            "0 provided": {
              "injected": 2,
              "left_out": 2,
              "bytes": 8,
              "tokens_estimate": 2
            },
            "1 repo_docs": {
              "injected": 0,
              "left_out": 1,
              "bytes": 0,
              "tokens_estimate": 0
            }
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&InjectionTotals::of(&collected.injected)).unwrap());
}
