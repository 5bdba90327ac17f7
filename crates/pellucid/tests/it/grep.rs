//! `sessions grep` and `sessions delete`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::World;

const SCRIPT: &str = r#"//- work/AGENTS.md
Be brief about the marmot.
//- work/script.toml
[[reply]]
say = "a marmot was seen"
call = [{ name = "shell_command", args = { command = "printf 'a \"marmot\" line\nanother line\n'" } }]
[[reply]]
say = "the last marmot"
usage = { input = 100, output = 10 }
//- work/more.toml
[[reply]]
say = "nothing more"
"#;

/// A world with one session of three requests.
fn world() -> (World, String) {
    let world = World::new(SCRIPT);
    assert_eq!(world.run(&["exec", "--script", "script.toml", "find the marmot"]).status, 0);
    assert_eq!(world.run(&["exec", "--script", "more.toml", "resume", "--last", "and again"]).status, 0);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn a_text_that_requests_share_is_one_hit_with_their_numbers() {
    let (world, id) = world();
    let ran = world.run(&["sessions", "grep", "marmot"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let shown = ran.out().replace(&id[..8], "S");
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            "S#1-3 user_instructions: Be brief about the marmot.",
            "S#1-3 user: find the marmot",
            "S#2-3 model: a marmot was seen",
            r#"S#2-3 model: {"command":"printf 'a \"marmot\" line\nanother line\n'"}"#,
            r#"S#2-3 tool: a "marmot" line"#,
            "S#3 model: the last marmot",
        ]
    );
}

#[test]
fn over_processes_and_summaries_a_text_is_found_in_the_requests_that_have_it() {
    let world = World::new("//- work/AGENTS.md\nBe brief.\n");
    let script = |name: &str, say: &str| drop(world.files.write(format!("work/{name}"), say));
    let run = |args: &[&str]| {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
        ran.out().to_owned()
    };
    let id = "019a9000-8888-7000-8000-000000000008";
    for turn in 1..=6 {
        script("turn.toml", &format!("[[reply]]\nsay = \"answered{turn}\"\n"));
        let said = format!("asked{turn}");
        let how: &[&str] = if turn == 1 { &["--session-id", id] } else { &["resume", id] };
        run(&[&["exec", "--skip-git-repo-check", "--script", "turn.toml"], how, &[&said]].concat());
        if turn % 2 == 0 {
            script("summary.toml", &format!("[[reply]]\nsay = \"summary{turn}\"\n"));
            run(&["compact", "--script", "summary.toml", id]);
        }
    }
    let n: usize = 9;
    let bodies: Vec<String> =
        (1..=n).map(|number| run(&["prompt", "--format", "body", &format!("{id}#{number}")])).collect();
    let words = (1..=6).flat_map(|turn| ["asked", "answered", "summary"].map(|word| format!("{word}{turn}")));
    for word in words.chain(["Be brief".to_owned(), "nowhere".to_owned()]) {
        let ran = world.run(&["sessions", "grep", "--json", "-F", "--session", id, &word]);
        let found: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let hits = found["hits"].as_array().unwrap().iter().filter(|hit| hit["part"] != "answer");
        let ranges = hits.flat_map(|hit| hit["requests"].as_array().unwrap().clone());
        let has = |range: &Value, number: usize| {
            range[0].as_u64().unwrap() <= number as u64 && number as u64 <= range[1].as_u64().unwrap()
        };
        let ranges: Vec<Value> = ranges.collect();
        let in_hits: Vec<usize> = (1..=n).filter(|number| ranges.iter().any(|range| has(range, *number))).collect();
        let in_bodies: Vec<usize> = (1..=n).filter(|number| bodies[number - 1].contains(&word)).collect();
        assert_eq!(in_hits, in_bodies, "{word}");
    }
}

#[test]
fn an_answer_that_no_request_contains_is_found() {
    let world = World::new(SCRIPT);
    assert_eq!(world.run(&["exec", "--script", "script.toml", "go"]).status, 0);
    let ran = world.run(&["sessions", "grep", "last .armot$"]);
    assert!(ran.out().ends_with("#2 answer: the last marmot\n"), "{}", ran.out());
    assert_eq!(ran.out().lines().count(), 1);
}

#[test]
fn what_is_searched_can_be_narrowed() {
    let (world, id) = world();
    let n = |args: &[&str]| {
        let ran = world.run(&[&["sessions", "grep"], args].concat());
        assert!(ran.stderr.is_empty(), "{}", ran.stderr);
        assert_eq!(ran.status, i32::from(ran.out().is_empty()));
        ran.out().lines().count()
    };
    assert_eq!(n(&["marmot", "--role", "user"]), 2);
    assert_eq!(n(&["marmot", "--source", "*/AGENTS.md"]), 1);
    assert_eq!(n(&["marmot", "--source", "AGENTS.md"]), 1);
    assert_eq!(n(&["marmot", "--source", "GENTS.md"]), 0);
    assert_eq!(n(&["marmot", "--source", "file"]), 1);
    assert_eq!(n(&["marmot", "--part", "user*"]), 2);
    assert_eq!(n(&["marmot", "--tool", "shell_command"]), 2);
    assert_eq!(n(&["marmot", "--tool", "other"]), 0);
    assert_eq!(n(&["marmot", "--since", "2d", "--session", &id[..13]]), 6);
    assert_eq!(n(&["marmot", "--since", "9000-01-01"]), 0);
    assert_eq!(n(&["MARMOT"]), 0);
    assert_eq!(n(&["MARMOT", "-i"]), 6);
    assert_eq!(n(&["a \"marmot\"", "-F"]), 1);
    assert_eq!(n(&["marmo[t]|zyzzyva"]), 6);
    assert_eq!(n(&["[t]|nothing", "-F"]), 0);
    for wrong in [
        ["(", "--fixed=x"],
        ["x", "--since=yesterday-ish"],
        ["x", "--session=zzzz"],
        ["x", "--part=[a"],
        ["x", "--role=nobody"],
    ] {
        assert_eq!(world.run(&[&["sessions", "grep"][..], &wrong].concat()).status, 2, "{wrong:?}");
    }
    let wrong = world.run(&["sessions", "grep", "("]);
    let expected = "error: `(` is not a regular expression: unclosed group\nhint: -F takes the pattern as a text\n";
    assert_eq!((wrong.status, wrong.stderr.as_str()), (2, expected));
}

#[test]
fn sessions_of_other_programs_are_searched_too() {
    let (world, id) = world();
    fs::remove_dir_all(world.files.path("home/requests")).unwrap();
    let ran = world.run(&["sessions", "grep", "marmot", "--json"]);
    let found: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let hits = found["hits"].as_array().unwrap();
    assert!(hits.iter().any(|hit| hit["line"] == "find the marmot" && hit["part"] == "item"), "{found}");
    assert!(
        hits.iter().all(|hit| hit["session"] == id.as_str() && hit["requests"] == serde_json::json!([])),
        "{found}"
    );
}

#[test]
fn a_file_with_nothing_but_items_is_searched() {
    let world = World::new("");
    let id = "019a0000-0000-7000-8000-000000000007";
    let meta = format!(
        r#"{{"timestamp":"t","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-01-02T03:04:05Z","cwd":"/p","originator":"o","cli_version":"1"}}}}"#
    );
    let item = r#"{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"a\nthe marm\u00f6t"}}"#;
    let path = format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl");
    world.files.write(path, format!("{meta}\n{item}\n"));
    let ran = world.run(&["sessions", "grep", "marm\u{f6}t"]);
    assert_eq!(ran.out(), format!("{} item: the marm\u{f6}t\n", &id[..8]), "{}", ran.stderr);
}

#[test]
fn a_session_is_deleted_only_when_a_person_says_so() {
    let (world, id) = world();
    let home = world.files.path("home");
    let before = files(&home);
    let refused = world.run(&["sessions", "delete", &id]);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("there is no terminal to ask on, so nothing was deleted"), "{}", refused.stderr);
    let listed = world.run(&["sessions", "delete", "--dry-run", &id]);
    assert_eq!(listed.status, 0, "{}", listed.stderr);
    for path in &before {
        let is_listed =
            listed.out().contains(path.strip_prefix(home.to_str().unwrap()).unwrap().trim_start_matches('/'));
        let is_of_session = path.contains(&id) || path.contains("/parts/");
        assert_eq!(is_listed, is_of_session, "{path}\n{}", listed.out());
    }
    assert_eq!(files(&home), before);
    let deleted = world.run(&["sessions", "delete", "--yes", &id]);
    assert_eq!((deleted.status, deleted.out()), (0, format!("{id} is deleted\n").as_str()), "{}", deleted.stderr);
    let left = files(&home);
    assert!(left.iter().all(|path| !path.contains(&id) && !path.contains("/parts/")), "{left:?}");
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed["sessions"], serde_json::json!([]));
    assert_eq!(world.run(&["sessions", "fsck"]).status, 0);
    assert_eq!(world.run(&["sessions", "delete", "--yes", &id]).status, 2);
}

#[test]
fn an_archived_session_is_deleted_and_others_keep_their_texts() {
    let (world, id) = world();
    assert_eq!(world.run(&["exec", "--script", "script.toml", "another"]).status, 0);
    assert_eq!(world.run(&["sessions", "archive", &id]).status, 0);
    let deleted = world.run(&["sessions", "delete", "--yes", &id]);
    assert_eq!(deleted.status, 0, "{}", deleted.stderr);
    let replayed = world.run(&["replay", "--last"]);
    assert_eq!(replayed.status, 0, "{}", replayed.out());
}
