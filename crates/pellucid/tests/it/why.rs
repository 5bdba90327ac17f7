//! `context why`: why something is in a request, or is not.

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::shown::world;

const ID: &str = "019a0000-0000-7000-8000-000000000001";

/// A project with two instruction files of which the second does not fit, and files that are not sent.
fn project() -> World {
    let world = World::new(
        "//- work/sub/AGENTS.md\nnear rule\n//- work/other/AGENTS.md\nother rule\n//- work/NOTES.md\na note\n",
    );
    let long: String = (1..=100).map(|n| format!("rule {n:03} \"quoted\"\n")).collect();
    world.files.write("work/AGENTS.md", long);
    world.files.write("home/config.toml", "project_doc_max_bytes = 1000\n");
    world
}

/// Asks, checks the status, and gives the answer.
#[track_caller]
fn ask(world: &World, args: &[&str], status: i32) -> Value {
    let ran = world.run(&[&["context", "why", "--json"], args].concat());
    assert_eq!(ran.status, status, "{args:?}: {} {}", String::from_utf8_lossy(&ran.stdout), ran.stderr);
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(answer["schema"], "pellucid.why/1");
    assert_eq!(answer["there"], status == 0, "{answer}");
    answer
}

/// Checks the bytes of the body that an answer names.
#[track_caller]
fn check_there(world: &World, args: &[&str], reference: &str, expected: &[&str]) -> Value {
    let answer = ask(world, &[args, &[reference]].concat(), 0);
    let body = world.run(&["prompt", "--format", "body", reference]).stdout;
    let text = |place: &Value| {
        let (start, bytes) = (place["start"].as_u64().unwrap() as usize, place["bytes"].as_u64().unwrap() as usize);
        String::from_utf8(body[start..start + bytes].to_vec()).unwrap()
    };
    let found: Vec<String> = answer["places"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(found, expected, "{args:?}");
    answer
}

/// Checks why something is missing, and the settings with which it would be there.
#[track_caller]
fn check_missing(world: &World, args: &[&str], expected: &Expect) {
    let answer = ask(world, args, 1);
    let mut text =
        format!("{}: {}\n", answer["reason"]["kind"].as_str().unwrap(), answer["reason"]["why"].as_str().unwrap());
    for tried in answer["settings"].as_array().unwrap() {
        text += &format!("with {}\n", tried["setting"].as_str().unwrap());
    }
    expected.assert_eq(&text.replace(&world.files.root().display().to_string(), "ROOT"));
}

/// Text for people has paths as a person in the folder writes them; JSON has the whole paths.
#[test]
fn paths_are_relative_in_text_and_whole_in_json() {
    let world = project();
    let root = world.files.root().display().to_string();
    let asked: [(&[&str], &str); 4] = [
        (&["AGENTS.md:12"], "from file AGENTS.md:12\n"),
        (&["-C", "sub", "AGENTS.md:1"], "others used it: AGENTS.md (1000 bytes)"),
        (&["-C", "sub", "--text", "near rule"], "sub/AGENTS.md:1 has it."),
        (&["other/AGENTS.md"], "the working directory, .\n"),
    ];
    for (args, expected) in asked {
        let ran = world.run(&[&["context", "why"], args].concat());
        assert!(ran.out().contains(expected) && !ran.out().contains(&root), "{args:?}: {}", ran.out());
        let json = world.run(&[&["context", "why", "--json"], args].concat());
        assert_eq!(json.status, ran.status);
        assert!(json.out().contains(&root) || args == ["AGENTS.md:12"], "{args:?}: {}", json.out());
    }
}

#[test]
fn what_the_request_has_is_found_to_the_byte() {
    let world = project();
    let answer = check_there(&world, &["AGENTS.md:12"], "now", &[r#"rule 012 \"quoted\""#]);
    let place = &answer["places"][0];
    assert_eq!(
        (&place["part"], &place["role"], &place["lines"]),
        (&json!("user_instructions"), &json!("user"), &json!([12, 12]))
    );
    assert_eq!(answer["status"], "truncated: the request has 1000 bytes of it and lacks the rest");
    check_there(&world, &["AGENTS.md:2-3"], "now", &[r#"rule 002 \"quoted\"\nrule 003 \"quoted\""#]);
    check_there(&world, &["--text", "\"quoted\"\nrule 004"], "now", &[r#"\"quoted\"\nrule 004"#]);
    let tool = check_there(&world, &["--tool", "update_plan"], "now", &[&tool(&world)]);
    assert_eq!(tool["places"][0]["part"], "tools/update_plan");
    let byte = ask(&world, &["--byte", "0"], 0);
    assert_eq!((&byte["places"][0]["start"], &byte["places"][0]["source"]), (&json!(0), &json!("wire")));
    ask(&world, &["--byte", "100000000"], 3);
    let behind = world.run(&["context", "why", "--byte", "100000000"]);
    assert!(behind.out().starts_with("the request has no byte 100,000,000: it has "), "{}", behind.out());
}

/// The bytes of a tool, by the report.
fn tool(world: &World) -> String {
    let report: Value = serde_json::from_slice(&world.run(&["context", "--json", "now"]).stdout).unwrap();
    let body = world.run(&["prompt", "--format", "body", "now"]).stdout;
    let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["part"] == "tools/update_plan");
    let text = rows.map(|row| {
        let (start, bytes) = (row["start"].as_u64().unwrap() as usize, row["bytes"].as_u64().unwrap() as usize);
        String::from_utf8(body[start..start + bytes].to_vec()).unwrap()
    });
    text.collect()
}

#[test]
fn what_is_missing_has_one_reason_and_the_settings_that_help() {
    let world = project();
    check_missing(
        &world,
        &["AGENTS.md:90"],
        &expect![[r#"
            cut: cut: the budget was spent at its byte 1000 of 1800
            with project_doc_max_bytes=1800
        "#]],
    );
    check_missing(
        &world,
        &["-C", "sub", "AGENTS.md:1"],
        &expect![[r#"
            over_budget: left out: the budget was spent before it, so none of its 10 bytes is sent; others used it: ROOT/work/AGENTS.md (1000 bytes)
            with project_docs.allocation="nearest-first"
            with project_doc_max_bytes=1810
        "#]],
    );
    check_missing(
        &world,
        &["-C", "sub", "--text", "near rule"],
        &expect![[r#"
            over_budget: ROOT/work/sub/AGENTS.md:1 has it. left out: the budget was spent before it, so none of its 10 bytes is sent; others used it: ROOT/work/AGENTS.md (1000 bytes)
            with project_docs.allocation="nearest-first"
            with project_doc_max_bytes=1810
        "#]],
    );
    check_missing(
        &world,
        &["NOTES.md:1"],
        &expect![[r#"
            not_looked_for: not looked for: a file of the name NOTES.md is not an instruction file
        "#]],
    );
    check_missing(
        &world,
        &["other/AGENTS.md"],
        &expect![[r#"
            not_looked_for: not looked for: its folder is not between the root of the project and the working directory, ROOT/work
        "#]],
    );
    check_missing(
        &world,
        &["AGENTS.override.md"],
        &expect![[r#"
            missing: missing: the file was looked for, and there is none
        "#]],
    );
    check_missing(
        &world,
        &["--tool", "js_repl"],
        &expect![[r#"
            gate: it is sent only with the feature `js_repl`, which is off
            with features.js_repl=true
        "#]],
    );
}

#[test]
fn a_setting_that_helps_has_its_cost() {
    let world = project();
    let answer = ask(&world, &["-C", "sub", "AGENTS.md:1"], 1);
    let nearest = &answer["settings"][0];
    assert!(nearest["loses"][0]["bytes"].as_u64().is_some_and(|bytes| bytes >= 10), "{nearest}");
    let with = ["-C", "sub", "-c", "project_docs.allocation=nearest-first", "AGENTS.md:1"];
    ask(&world, &with, 0);
    let bytes = |args: &[&str]| -> i64 {
        let ran = world.run(&[&["context", "--json", "-C", "sub"], args].concat());
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()["bytes"].as_i64().unwrap()
    };
    let grown = bytes(&["-c", "project_docs.allocation=nearest-first", "now"]) - bytes(&["now"]);
    assert_eq!(nearest["bytes"], grown);
}

/// Of a skill the request has the name and the description, whatever line they are in.
#[test]
fn the_head_of_a_skill_is_in_the_request_and_its_text_is_not() {
    let world = project();
    let head = "---\nname: rhyme\ndescription: \"Answer in rhyme\"\n---\n\nMake it rhyme.\n";
    world.files.write("work/.agents/skills/rhyme/SKILL.md", head);
    let file = ".agents/skills/rhyme/SKILL.md";
    check_there(&world, &[&format!("{file}:2")], "now", &["rhyme"]);
    check_there(&world, &[&format!("{file}:2-3")], "now", &["rhyme", "Answer in rhyme"]);
    check_missing(
        &world,
        &[&format!("{file}:6")],
        &expect![[r#"
            skill: of a skill the request has only the name and the description; the model reads the rest when it uses the skill
        "#]],
    );
}

#[test]
fn lines_behind_the_end_of_a_file_are_named_as_such() {
    let world = project();
    let ran = world.run(&["context", "why", "AGENTS.md:1000"]);
    let expected =
        "AGENTS.md:1000 is in no request and in no file that was looked for\n  the file is shorter: it has 100 lines\n";
    assert_eq!((ran.status, ran.out()), (3, expected));
}

#[test]
fn what_nothing_has_ends_with_status_3_and_wrong_words_with_2() {
    let world = project();
    for args in [&["--text", "no such words"][..], &["nothing.md:1"], &["AGENTS.md:1000"], &["--tool", "no_tool"]] {
        ask(&world, args, 3);
    }
    for args in [
        &[][..],
        &["AGENTS.md:0"],
        &["AGENTS.md:3-2"],
        &["--text", "a", "--byte", "1"],
        &["--text", "a", "b", "now"],
        &["--last", "--text", "a", "now"],
    ] {
        assert_eq!(world.run(&[&["context", "why"], args].concat()).status, 2, "{args:?}");
    }
}

#[test]
fn a_session_says_which_requests_had_it() {
    let call = json!({
        "type": "function_call", "call_id": "call_7", "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"say \\\"hi\\\"\",\"status\":\"completed\"}]}",
    });
    let server =
        MockServer::start([MockReply::items([call]), MockReply::say("One."), MockReply::say("The last words.")]);
    let world = world(&server, "responses", "");
    assert_eq!(world.run(&["exec", "--session-id", ID, "first words"]).status, 0);
    assert_eq!(world.run(&["exec", "resume", ID, "second words"]).status, 0);
    let first = check_there(&world, &["--text", "first words"], ID, &["first words"]);
    let history = &first["history"];
    assert_eq!((&history["first"], &history["last"]), (&json!(1), &json!(3)), "{history}");
    check_there(&world, &["AGENTS.md:1"], &format!("{ID}#1"), &[r#"Use \"tabs\"."#]);
    check_there(&world, &["--text", "say \"hi\""], ID, &[r#"say \\\"hi\\\""#]);
    let call = ask(&world, &["--call", "call_7", ID], 0);
    assert_eq!((call["copies"].as_u64(), &call["history"]["first"]), (Some(2), &json!(2)), "{call}");
    let later = ask(&world, &["--text", "second words", &format!("{ID}#1")], 1);
    assert_eq!(later["reason"]["why"], "later: the first request to have it is 3");
    let unsent = ask(&world, &["--text", "The last words.", ID], 1);
    assert_eq!(unsent["reason"]["kind"], "not_sent", "{unsent}");
    check_there(&world, &["--text", "The last words."], &format!("{ID}#next"), &["The last words."]);
    ask(&world, &["--text", "words of no one", ID], 3);
    let text = world.run(&["context", "why", "--text", "first words", ID]);
    assert!(text.out().contains(&format!("  first sent in {ID}#1, last in {ID}#3, one copy\n")), "{}", text.out());
}

#[test]
fn a_summary_that_lacks_a_text_is_the_reason() {
    let server = MockServer::start([
        MockReply::say("Weather report."),
        MockReply::say("A summary with the word keepsake."),
        MockReply::say("Three."),
    ]);
    let world = world(&server, "responses", "");
    assert_eq!(world.run(&["exec", "--session-id", ID, "first words"]).status, 0);
    let ran = world.run(&["compact", ID]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(world.run(&["exec", "resume", ID, "second words"]).status, 0);
    let gone = ask(&world, &["--text", "Weather report.", ID], 1);
    assert_eq!((&gone["history"]["last"], &gone["reason"]["kind"]), (&json!(2), &json!("summarised")), "{gone}");
    let kept = ask(&world, &["--text", "keepsake", ID], 0);
    assert_eq!(kept["places"][0]["part"], "summary", "{kept}");
}

#[test]
fn a_saved_report_answers_what_needs_no_text() {
    let world = project();
    let saved = world.run(&["context", "--json", "now"]).stdout;
    world.files.write("work/saved.json", &saved);
    ask(&world, &["--part", "environment", "file:saved.json"], 0);
    assert_eq!(world.run(&["context", "why", "--text", "a", "file:saved.json"]).status, 3);
    let cut = ask(&world, &["AGENTS.override.md", "file:saved.json"], 1);
    assert_eq!(cut["reason"]["why"], "not there");
}

/// The words of a printed example, behind the name of the program.
fn words(example: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, piece) in example.split('"').enumerate() {
        match n % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    words.remove(0);
    words
}

#[test]
fn the_examples_of_the_help_run_as_they_are_printed() {
    let world = project();
    for command in ["why", "packs"] {
        let help = world.run(&["context", command, "--help"]);
        let examples: Vec<&str> =
            help.out().lines().map(str::trim).filter(|line| line.starts_with("pellucid context ")).collect();
        assert!(examples.len() >= 2, "{}", help.out());
        for example in examples {
            let words = words(example);
            let ran = world.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(ran.status, 0, "{example}: {}{}", ran.out(), ran.stderr);
        }
    }
}
