//! `context bisect`: planted changes are found, within the bound, and nothing is checked out.

use std::fmt::Write;

use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;

/// With the value `all` every planted case is searched; otherwise a sample.
const WHICH: &str = "PELLUCID_BISECT";

const ONE: &str = "019a0000-0000-7000-8000-000000000001";
const TWO: &str = "019b0000-0000-7000-8000-000000000002";

fn is_whole() -> bool {
    std::env::var(WHICH).is_ok_and(|which| which == "all")
}

/// A history for `git fast-import`: much faster than a process for each commit, and the same every time.
#[derive(Default)]
struct History(String);

impl History {
    /// Adds a commit to a branch; `ways` says from and with which marks.
    fn commit(&mut self, branch: &str, mark: usize, title: &str, ways: &str, files: &[(&str, &str)]) {
        let who = format!("A <a@example.test> {} +0100", 1_767_600_000 + mark * 60);
        let stream = &mut self.0;
        write!(stream, "commit refs/heads/{branch}\nmark :{mark}\nauthor {who}\ncommitter {who}\n").unwrap();
        write!(stream, "data {}\n{title}\n{ways}", title.len()).unwrap();
        for (path, text) in files {
            match *text {
                "" => writeln!(stream, "D {path}").unwrap(),
                text => write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).unwrap(),
            }
        }
    }

    fn world(&self) -> World {
        let world = World::new("");
        let command = world.command_of("git", &["fast-import", "--quiet"]);
        let ran = world.finish(command, Some(self.0.as_bytes()));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        world
    }
}

fn bisect(world: &World, words: &[&str]) -> Ran {
    world.run(&[&["context", "bisect"], words].concat())
}

#[track_caller]
fn answer(world: &World, status: i32, words: &[&str]) -> Value {
    let ran = bisect(world, &[words, &["--json"]].concat());
    assert_eq!(ran.status, status, "{words:?}: {}{}", ran.out(), ran.stderr);
    let value: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&value["schema"], &value["found"]), (&json!("pellucid.bisect/1"), &json!(status == 0)));
    value
}

/// How a rule is lost.
#[derive(Debug, Clone, Copy)]
enum Loss {
    Dropped,
    Cut,
    Shadowed,
    Reordered,
}

const PUSH: &str = "Never push to main.";
const TEST: &str = "Test every change.";

/// A history in which commit `culprit` of `n` loses a rule, and every commit changes something else.
fn planted(loss: Loss, n: usize, culprit: usize) -> World {
    let mut history = History::default();
    for number in 0..=n {
        let is_lost = number >= culprit;
        let rules = match loss {
            Loss::Dropped if is_lost => format!("{TEST}\n"),
            Loss::Reordered if is_lost => format!("{TEST}\n{PUSH}\n"),
            Loss::Cut if is_lost => format!("{}\n{PUSH}\n{TEST}\n", "filler ".repeat(5_000)),
            _ => format!("{PUSH}\n{TEST}\n"),
        };
        let rules = format!("# Rules\n\nVersion {number}.\n\n{rules}");
        let other = format!("{number}\n");
        let mut files = vec![("AGENTS.md", rules.as_str()), ("src/other.txt", other.as_str())];
        if matches!(loss, Loss::Shadowed) && number == culprit {
            files.push(("AGENTS.override.md", "Only this.\n"));
        }
        history.commit("main", number + 1, &format!("commit {number}"), "", &files);
    }
    history.world()
}

#[track_caller]
fn check_planted(case: usize) {
    let loss = [Loss::Dropped, Loss::Cut, Loss::Shadowed, Loss::Reordered][case % 4];
    let n = 1 + (case * 7) % 41;
    let culprit = 1 + (case * 11) % n;
    let world = planted(loss, n, culprit);
    let (first, reversed) = (format!("main~{n}"), format!("{TEST}\n{PUSH}"));
    let question: &[&str] = match (loss, case / 4 % 2) {
        (Loss::Cut, 0) => &["--finding", "truncated"],
        (Loss::Shadowed, 0) => &["--finding", "shadowed"],
        (Loss::Reordered, 0) => &["--contains", &reversed],
        (Loss::Reordered, _) => &["--run", "grep -q 'main.\\\\nTest'"],
        _ => &["--lacks", PUSH],
    };
    let found = answer(&world, 0, &[&["--good", &first, "--bad", "main"], question].concat());
    let planted = format!("case {case}: {loss:?} by commit {culprit} of {n}");
    assert_eq!(found["commit"]["title"], format!("commit {culprit}"), "{planted}");
    assert_eq!(found["commits"], n, "{planted}");
    let bound = n.next_power_of_two().trailing_zeros() + 2;
    assert!(found["assemblies"].as_u64().unwrap() <= u64::from(bound), "{planted}: {}", found["assemblies"]);
    assert_eq!(found["diff"]["schema"], "pellucid.diff/1");
    assert!(!found["diff"]["changes"].as_array().unwrap().is_empty(), "{planted}");
    assert!(!world.files.path("work/AGENTS.md").exists(), "{planted}: something was checked out");
}

#[test]
fn every_planted_commit_is_found_within_the_bound() {
    let cases: Vec<usize> = if is_whole() { (0..40).collect() } else { vec![0, 1, 6, 7, 9, 15, 26, 35] };
    cases.into_iter().for_each(check_planted);
}

#[test]
fn the_answer_names_the_commit_and_shows_its_diff() {
    let world = planted(Loss::Dropped, 6, 4);
    let ran = bisect(&world, &["--good", "main~6", "--bad", "main", "--lacks", PUSH]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let id = world.finish(world.command_of("git", &["rev-parse", "main~2"]), None);
    let expected = format!(
        "first bad commit {}\nauthor's date    2026-01-05T09:05:00+01:00\ntitle            commit 4\nfound with 4 \
         assemblies among 6 commits\n\nA  now@",
        id.out().trim()
    );
    assert!(ran.out().starts_with(&expected), "{}", ran.out());
    assert!(ran.out().contains("    - Never push to main.\n"), "{}", ran.out());
    assert!(ran.out().contains("~ user_instructions   file AGENTS.md"), "{}", ran.out());
    let left = std::fs::read_dir(world.files.path("home/tmp")).into_iter().flatten().count();
    assert_eq!(left, 0, "something was left behind");
}

#[test]
fn parts_and_tokens_can_be_asked_about() {
    let world = planted(Loss::Cut, 5, 3);
    let ends = ["--good", "main~3", "--bad", "main"];
    let found = answer(&world, 0, &[&ends[..], &["--tokens-over", "9000"]].concat());
    assert_eq!(found["commit"]["title"], "commit 3");
    // Every commit changes the file, so the first one is found.
    for part in ["user_instructions", "AGENTS.md"] {
        let found = answer(&world, 0, &[&ends[..], &["--part", part]].concat());
        assert_eq!(found["commit"]["title"], "commit 3", "{part}");
    }
    answer(&world, 1, &[&ends[..], &["--part", "permissions"]].concat());
    let ran = bisect(&world, &[&ends[..], &["--part", "nothing"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("neither end has a part or file `nothing`\nhint: the parts are "), "{}", ran.stderr);
}

#[test]
fn a_merge_is_one_commit() {
    let mut history = History::default();
    let rules = format!("{PUSH}\n{TEST}\n");
    history.commit("main", 1, "first", "", &[("AGENTS.md", &rules)]);
    history.commit("side", 2, "side one", "from :1\n", &[("AGENTS.md", &format!("{TEST}\n"))]);
    history.commit("side", 3, "side two", "", &[("b", "2")]);
    history.commit("main", 4, "main one", "from :1\n", &[("c", "3")]);
    history.commit("main", 5, "merge side", "merge :3\n", &[("AGENTS.md", &format!("{TEST}\n")), ("b", "2")]);
    history.commit("main", 6, "main two", "", &[("c", "4")]);
    let world = history.world();
    let found = answer(&world, 0, &["--good", "main~3", "--bad", "main", "--lacks", PUSH]);
    assert_eq!((&found["commit"]["title"], &found["commits"]), (&json!("merge side"), &json!(3)));
    assert_eq!(found["commit"]["parents"].as_array().unwrap().len(), 2);
    let found = answer(&world, 0, &["--good", "main~3", "--bad", "side", "--lacks", PUSH]);
    assert_eq!(found["commit"]["title"], "side one");
    for (good, bad) in [("side", "main"), ("main", "main~3")] {
        let ran = bisect(&world, &["--good", good, "--bad", bad, "--lacks", PUSH]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        let expected = format!("error: the first parents of `{bad}` do not lead to `{good}`\nhint: `git log");
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    }
}

#[test]
fn ends_and_skipped_commits_have_their_statuses() {
    let world = planted(Loss::Dropped, 4, 2);
    let ends = ["--good", "main~4", "--bad", "main"];
    let with = |words: &[&'static str]| [&ends[..], words].concat();
    for (words, good, bad) in [
        (with(&["--lacks", "nothing has this"]), "bad", "bad"),
        (with(&["--contains", "nothing has this"]), "good", "good"),
        (with(&["--contains", PUSH]), "bad", "good"),
        (with(&["--run", "exit 3"]), "bad", "bad"),
    ] {
        let found = answer(&world, 1, &words);
        assert_eq!((&found["good"], &found["bad"]), (&json!(good), &json!(bad)), "{words:?}");
    }
    answer(&world, 1, &["--good", "main", "--bad", "HEAD", "--lacks", PUSH]);
    answer(&world, 3, &with(&["--run", "exit 125"]));
    // Versions 1 to 3 are skipped, so any commit from the second to the last may be the first bad one.
    let skips = "body=$(cat); case $body in *'Version 0.'*) exit 0;; *'Version 4.'*) exit 1;; esac; exit 125";
    let found = answer(&world, 3, &with(&["--run", skips]));
    assert_eq!(found["skipped"].as_array().unwrap().len(), 3);
    assert_eq!(found["candidates"].as_array().unwrap().len(), 4);
    let ran = bisect(&world, &with(&["--run", "no-such-program"]));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.out().contains("the command wrote: ") && ran.out().contains("no-such-program"), "{}", ran.out());
    for words in [
        &["--good", "main~4", "--bad", "main"][..],
        &["--good", "main~4", "--lacks", PUSH],
        &["--lacks", PUSH],
        &["--good", "main~4", "--bad", "main", "--lacks", PUSH, "--contains", PUSH],
        &["--good", "nowhere", "--bad", "main", "--lacks", PUSH],
        &["--sessions", "nothing", "at-all"],
        &["--parts", "nothing#1", "--run", "true"],
    ] {
        let ran = bisect(&world, words);
        assert_eq!(ran.status, 2, "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn a_skipped_commit_in_the_middle_does_not_hinder() {
    let world = planted(Loss::Dropped, 8, 7);
    let skips = "body=$(cat); case $body in *'Version 4.'*) exit 125;; *'Never push'*) exit 0;; esac; exit 1";
    let found = answer(&world, 0, &["--good", "main~8", "--bad", "main", "--run", skips]);
    assert_eq!(found["commit"]["title"], "commit 7");
    assert_eq!(found["skipped"].as_array().unwrap().len(), 1);
}

#[test]
fn a_command_cannot_write() {
    let world = planted(Loss::Dropped, 1, 1);
    let write = "touch written && exit 0; grep -q 'Never push'";
    answer(&world, 0, &["--good", "main~1", "--bad", "main", "--run", write]);
    assert!(!world.files.path("work/written").exists());
}

/// Runs a turn with a script.
#[track_caller]
fn turn(world: &World, replies: &str, words: &[&str]) {
    world.files.write("turn.toml", replies);
    let script = world.files.path("turn.toml");
    let ran = world.run(&[&["exec", "--script", script.to_str().unwrap()], words].concat());
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
}

#[test]
fn the_first_request_at_which_sessions_diverge_is_found() {
    let world = World::new("//- work/AGENTS.md\nBe kind.\n");
    let hi = "[[reply]]\nsay = \"Hi.\"\n";
    turn(&world, hi, &["--session-id", ONE, "hello"]);
    turn(&world, hi, &["--session-id", TWO, "hello"]);
    let same = answer(&world, 1, &["--sessions", ONE, TWO]);
    assert_eq!((&same["request"], &same["requests"]), (&Value::Null, &json!([1, 1])));
    turn(&world, hi, &["resume", ONE, "and on"]);
    let longer = answer(&world, 0, &["--sessions", ONE, TWO]);
    assert_eq!((&longer["request"], &longer["only"]), (&json!(2), &json!("first")));
    turn(&world, hi, &["resume", TWO, "and off"]);
    let found = answer(&world, 0, &["--sessions", ONE, TWO]);
    assert_eq!((&found["request"], &found["row"]["op"]), (&json!(2), &json!("~")));
    assert_eq!((&found["row"]["a"]["text"], &found["row"]["b"]["text"]), (&json!("and on"), &json!("and off")));
    let ran = bisect(&world, &["--sessions", ONE, TWO]);
    assert!(ran.out().starts_with("the sessions diverge at request 2\nfirst row: ~ user item "), "{}", ran.out());
    assert!(ran.out().ends_with("    - and on\n    + and off\n"), "{}", ran.out());
}

/// A session whose second request has sections, files, tools and an older turn; each text is in one part alone.
fn session_with_parts() -> World {
    let sections: String = (1..=8).map(|n| format!("## Section {n}\n\nRule number {n} holds.\n\n")).collect();
    let fixture = format!("//- work/AGENTS.md\n{sections}//- work/sub/AGENTS.md\nThe folder's rule holds.\n");
    let world = World::new(&fixture);
    let hi = "[[reply]]\nsay = \"Hi.\"\n";
    turn(&world, hi, &["-C", "sub", "--session-id", ONE, "the first question"]);
    turn(&world, hi, &["-C", "sub", "resume", ONE, "the second question"]);
    world
}

/// Texts, and the end of the name of the part that has them.
const TEXTS: [(&str, &str); 11] = [
    ("Rule number 1 holds.", "AGENTS.md § Section 1"),
    ("Rule number 2 holds.", "AGENTS.md § Section 2"),
    ("Rule number 3 holds.", "AGENTS.md § Section 3"),
    ("Rule number 4 holds.", "AGENTS.md § Section 4"),
    ("Rule number 5 holds.", "AGENTS.md § Section 5"),
    ("Rule number 6 holds.", "AGENTS.md § Section 6"),
    ("Rule number 8 holds.", "AGENTS.md § Section 8"),
    ("The folder's rule holds.", "sub/AGENTS.md"),
    ("Shows you an image", "view_image"),
    ("This is a freeform tool", "apply_patch"),
    ("the first question", "1 the first question"),
];

#[track_caller]
fn check_parts(world: &World, case: usize) {
    let mut needed: Vec<usize> = [case, case * 3 + 4, case * 5 + 8][..1 + case % 3].iter().map(|n| n % 11).collect();
    needed.sort_unstable();
    needed.dedup();
    let texts: Vec<&str> = needed.iter().map(|n| TEXTS[*n].0).collect();
    let script = format!("[[reply]]\nsay = \"Fine.\"\n[[reply]]\ncontains = {texts:?}\nsay = \"Trouble.\"\n");
    let script = world.files.write("parts.toml", script);
    let request = format!("{ONE}#2");
    let words = ["--parts", &request, "--script", script.to_str().unwrap(), "--run", "! grep -q Trouble"];
    let found = answer(world, 0, &words);
    let names: Vec<&str> =
        found["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), needed.len(), "case {case}: {names:?} for {texts:?}");
    for n in &needed {
        assert!(names.iter().any(|name| name.ends_with(TEXTS[*n].1)), "case {case}: {names:?} for {texts:?}");
    }
    assert_eq!((&found["outcome"], &found["minimal"]), (&json!("bad"), &json!(true)));
    if case < 2 {
        assert_eq!(answer(world, 0, &words), found, "the same script gives the same result");
    }
}

#[test]
fn exactly_the_planted_parts_are_found() {
    let world = session_with_parts();
    let cases = if is_whole() { 0..20 } else { 0..3 };
    cases.for_each(|case| check_parts(&world, case));
}

#[test]
fn an_outcome_that_depends_on_no_part_is_reported() {
    let world = session_with_parts();
    let request = format!("{ONE}#2");
    let script = world.files.write("parts.toml", "[[reply]]\nsay = \"Fine.\"\n");
    let script = script.to_str().unwrap();
    let always = answer(&world, 1, &["--parts", &request, "--script", script, "--run", "true"]);
    assert_eq!((&always["requests"], &always["outcome"]), (&json!(2), &json!("good")));
    answer(&world, 3, &["--parts", &request, "--script", script, "--run", "exit 125"]);
    let ran = bisect(&world, &["--parts", &request, "--run", "true"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let said = "it needs a limit: add --max-requests N or --max-cost AMOUNT\nhint: ";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let args = ["context", "bisect", "--parts", &request, "--run", "true", "--max-cost", "0"];
    let ran = world.run_in(&args, &[("CODEX_API_KEY", "key")]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("--max-cost"), "nothing is sent under a limit of 0: {}", ran.stderr);
}

#[test]
fn the_examples_of_the_help_run_as_they_are_printed() {
    let mut history = History::default();
    for number in 0..=6 {
        let rules = if number < 4 { "Be kind.\nNever push.\n" } else { "Be kind.\n" };
        let other = format!("{number}");
        history.commit("main", number + 1, "change", "", &[("AGENTS.md", rules), ("other", &other)]);
    }
    let world = history.world();
    world.files.write("work/AGENTS.md", "Be kind.\nNever push.\n");
    assert_eq!(world.run(&["context", "lock"]).status, 0);
    world.files.write("work/AGENTS.md", "Say when you are done.\n");
    world
        .files
        .write("work/answers.toml", "[[reply]]\nsay = \"no\"\n[[reply]]\ncontains = \"Say when\"\nsay = \"done\"\n");
    let hi = "[[reply]]\nsay = \"Hi.\"\n";
    turn(&world, hi, &["--session-id", ONE, "hello"]);
    turn(&world, hi, &["--session-id", TWO, "good day"]);
    let help = world.run(&["context", "bisect", "--help"]);
    let examples: Vec<&str> =
        help.out().lines().map(str::trim).filter(|line| line.starts_with("pellucid context bisect ")).collect();
    assert_eq!(examples.len(), 5, "{}", help.out());
    let program = crate::program();
    for example in examples {
        let line = example.replacen("pellucid", program, 1);
        let ran = world.finish(world.command_of("/bin/sh", &["-c", &line]), None);
        assert_eq!(ran.status, 0, "{example}: {}{}", ran.out(), ran.stderr);
    }
}

/// A history of 12 commits that all change the rules, with one that adds a file and one that removes it.
fn locked() -> World {
    let mut history = History::default();
    for number in 0..=12 {
        let text = if number >= 5 { format!("Be brief.\n{}", "More. ".repeat(40)) } else { "Be brief.\n".to_owned() };
        let other = format!("{number}\n");
        let mut files = vec![("AGENTS.md", text.as_str()), ("src/other.txt", other.as_str())];
        match number {
            3 => files.push(("sub/AGENTS.md", "In sub.\n")),
            9 => files.push(("sub/AGENTS.md", "")),
            _ => {}
        }
        history.commit("main", number + 1, &format!("commit {number}"), "", &files);
    }
    history.world()
}

#[test]
fn findings_against_the_lock_are_searched_for() {
    let world = locked();
    let ends = ["--good", "main~12", "--bad", "main"];
    let ran = bisect(&world, &[&ends[..], &["--finding", "drift"]].concat());
    assert_eq!(ran.status, 3, "{}{}", ran.out(), ran.stderr);
    assert!(ran.stderr.contains("hint: `pellucid context lock` writes it"), "{}", ran.stderr);
    // The lock is that of the first commit, in the folder that has a file of its own later.
    world.files.write("work/AGENTS.md", "Be brief.\n");
    world.files.folder("work/sub");
    let made = world.run(&["context", "lock", "-C", "sub"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let check = |ends: [&str; 4], kind: &str, commit: &str| {
        let found = answer(&world, 0, &[&ends[..], &["--finding", kind]].concat());
        assert_eq!(found["commit"]["title"], commit, "{kind}");
        assert!(found["assemblies"].as_u64().unwrap() <= 6, "{kind}: {}", found["assemblies"]);
        assert!(!found["diff"]["changes"].as_array().unwrap().is_empty(), "{kind}");
    };
    check(ends, "drift", "commit 5");
    check(["--good", "main~12", "--bad", "main~4"], "added", "commit 3");
    let same = answer(&world, 1, &[&ends[..], &["--finding", "removed"]].concat());
    assert_eq!((&same["good"], &same["bad"]), (&json!("good"), &json!("good")));
    // With a lock that has the file, the commit that removes it is found, and a budget is what its policy says.
    world.files.write("work/sub/AGENTS.md", "In sub.\n");
    assert_eq!(world.run(&["context", "lock", "-C", "sub"]).status, 0);
    check(["--good", "main~9", "--bad", "main"], "removed", "commit 9");
    let lock = world.files.read("work/context.lock");
    world.files.write("work/context.lock", lock.replace("tokens_max = 8000", "tokens_max = 60"));
    check(ends, "over_budget", "commit 5");
    let wrong = bisect(&world, &[&ends[..], &["--finding", "settings"]].concat());
    assert_eq!(wrong.status, 2, "{}", wrong.stderr);
}
