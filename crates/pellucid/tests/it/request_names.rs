//! Names for requests: `prompt REF` and `context REF`.

use pellucid_engine::digest::Digest;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;
use crate::shown::world;

const ID: &str = "019a0000-0000-7000-8000-000000000001";
const OTHER: &str = "019a0000-0000-7000-8000-000000000002";

/// A session with three requests, named `fix-login`, and another with one.
fn sessions() -> (World, MockServer) {
    let plan = json!({
        "type": "function_call", "call_id": "c", "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
    });
    let server = MockServer::start([
        MockReply::items([plan]),
        MockReply::say("One."),
        MockReply::say("Two."),
        MockReply::say("Other."),
    ]);
    let world = world(&server, "responses", "");
    for args in [
        &["exec", "--session-id", ID, "hello"][..],
        &["exec", "resume", ID, "and on"],
        &["sessions", "rename", ID, "fix-login"],
        &["exec", "--session-id", OTHER, "something else"],
    ] {
        run(&world, args);
    }
    (world, server)
}

#[track_caller]
fn run(world: &World, args: &[&str]) -> Ran {
    let ran = world.run(args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    ran
}

fn body(world: &World, words: &[&str]) -> Vec<u8> {
    run(world, &[&["prompt", "--format", "body"], words].concat()).stdout
}

fn report(world: &World, words: &[&str]) -> Value {
    serde_json::from_slice(&run(world, &[&["context", "--json"], words].concat()).stdout).unwrap()
}

#[test]
fn every_request_that_was_sent_has_a_name() {
    let (world, server) = sessions();
    let sent = server.requests();
    let record = world.files.path("home/requests");
    let record = all_text(&record);
    for (n, request) in sent[..3].iter().enumerate() {
        for session in [ID, "fix-login", "019a0000-0000-7000-8000-000000000001"] {
            let name = format!("{session}#{}", n + 1);
            assert!(body(&world, &[&name]) == request.body, "{name}");
        }
        let digest = Digest::of([&*request.body]).to_string();
        assert!(record.contains(&digest), "request {n}");
        let report = report(&world, &[&format!("{ID}#{}", n + 1)]);
        assert_eq!(report["request"]["sha256"], digest);
        assert_eq!(report["request"]["name"], format!("{ID}#{}", n + 1));
        assert_eq!((&report["certain"], &report["bytes"]), (&json!(true), &json!(request.body.len())));
    }
    // Without a number it is the last one.
    for session in [ID, "fix-login"] {
        assert!(body(&world, &[session]) == sent[2].body, "{session}");
    }
    assert!(body(&world, &[OTHER]) == sent[3].body);
    let text = run(&world, &["context", "-v", "fix-login#2"]);
    let first = format!("{ID}#2 of 3, as it was sent (answer); SHA-256 {}", Digest::of([&*sent[1].body]));
    assert_eq!(text.out().lines().next(), Some(first.as_str()));
}

/// All text below a folder.
fn all_text(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &all_text(&path);
        } else {
            text += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    text
}

#[test]
fn a_request_to_come_has_a_name() {
    let (world, server) = sessions();
    let next = body(&world, &["fix-login#next", "more"]);
    assert!(next == body(&world, &["--session", ID, "more"]));
    server.add([MockReply::say("Three.")]);
    run(&world, &["exec", "resume", ID, "more"]);
    assert!(server.requests().last().unwrap().body == next);
    let now = body(&world, &["now", "--with", "--session-id", OTHER, "-m", "gpt-5.1", "hello"]);
    assert!(now == body(&world, &["--session-id", OTHER, "-m", "gpt-5.1", "hello"]));
    assert_eq!(report(&world, &["now", "hello"])["request"], json!({ "name": "now", "purpose": "answer" }));
    let name = format!("{ID}#next");
    assert_eq!(report(&world, &["fix-login#next", "hello"])["request"], json!({ "name": name, "purpose": "answer" }));
}

#[test]
fn a_message_stays_a_message() {
    let (world, _server) = sessions();
    let says = |words: &[&str]| {
        let request: Value = serde_json::from_slice(&body(&world, words)).unwrap();
        let last = request["input"].as_array().unwrap().last().unwrap();
        last["content"][0]["text"].as_str().unwrap().to_owned()
    };
    for message in ["hi", "hello", "fix issue #3", "why now", "2024", "dead", "a b#next"] {
        assert_eq!(says(&[message]), message);
    }
    for message in ["now", "lock", "fix-login", "fix-login#2", "file:x", ID, "-m"] {
        assert_eq!(says(&["--", message]), message);
        assert_eq!(says(&["now", "--", message]), message);
    }
    for word in ["now", "lock", "fix-login"] {
        assert_eq!(says(&["--session", ID, word]), word);
        assert_eq!(says(&["--last", word]), word);
    }
}

#[test]
fn a_saved_report_has_a_name() {
    let (world, _server) = sessions();
    let saved = run(&world, &["context", "--json", "--session-id", OTHER, "hello"]).stdout;
    world.files.write("work/saved.json", &saved);
    let again = run(&world, &["context", "--json", "file:saved.json"]).stdout;
    assert_eq!(report(&world, &["file:saved.json"])["rows"], serde_json::from_slice::<Value>(&saved).unwrap()["rows"]);
    assert_eq!(again, saved);
    let table = run(&world, &["context", "file:saved.json"]);
    assert!(table.out().contains("user_instructions"), "{}", table.out());
    check_refused(
        &world,
        &["prompt", "lock"],
        3,
        "error: a lock has the parts of a request and not its bytes; `pellucid context diff lock now` compares them\n",
    );
    check_refused(
        &world,
        &["prompt", "file:saved.json"],
        3,
        "error: a saved report has the parts of a request and not its bytes; `context` shows them\n",
    );
}

#[track_caller]
fn check_refused(world: &World, args: &[&str], status: i32, said: &str) {
    let ran = world.run(args);
    assert_eq!((ran.status, ran.out(), ran.stderr.as_str()), (status, "", said), "{args:?}");
}

#[test]
fn a_name_that_fits_nothing_lists_near_ones() {
    let (world, _server) = sessions();
    world.files.write("work/other.json", "{}");
    for command in ["prompt", "context"] {
        for (words, said) in [
            (
                &["fix-logn#2"][..],
                "no session has the id or name `fix-logn`\nhint: near ones: fix-login; `pellucid sessions list --all` shows those that are stored",
            ),
            (&["fix-login#9"], &format!("{ID}: there is no request 9: the session has 3, from 1 on")),
            (&["fix-login#0"], "`fix-login#0`: after `#` comes the number of a request, from 1, or `next`"),
            (
                &["019a0000"],
                &format!(
                    "several sessions have an id that begins with `019a0000`: {OTHER}, {ID}\nhint: give more of the id"
                ),
            ),
            (
                &["019a0000-0000-7000-8000-00000000000f"],
                &format!(
                    "no session has the id or name `019a0000-0000-7000-8000-00000000000f`\nhint: near ones: {OTHER}, {ID}; `pellucid sessions list --all` shows those that are stored"
                ),
            ),
            (&["now@"], "`now@`: the git revision is missing"),
            (&["file:missing.json"], "the report missing.json cannot be read: No such file or directory (os error 2)"),
            (&["file:other.json"], "other.json is not a report of `context --json`: it has no `rows`"),
            (&["fix-login", "more"], "`fix-login` is not a request to come, so it takes no message"),
            (&["fix-login", "--with"], "--with follows `now` or `now@REV`"),
        ] {
            check_refused(&world, &[&[command], words].concat(), 2, &format!("error: {said}\n"));
        }
    }
}

/// Runs git as a person would.
#[track_caller]
fn git(world: &World, words: &[&str]) {
    let mut command = world.command_of("git", &[&["-c", "user.name=A", "-c", "user.email=a@b"], words].concat());
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = world.finish(command, None);
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
}

/// What is in the work tree, with when it was written.
fn work_tree(world: &World) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![world.files.path("work")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            } else if metadata.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path.to_string_lossy().into_owned(), bytes, metadata.modified().unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// What a pack's request says of the project at a revision is what it said when the files were those of the revision.
fn check_revision(pack: &str, message: &str) {
    let server = MockServer::start([]);
    let world = world(&server, "responses", "");
    let skill = |text: &str| format!("---\nname: sing\ndescription: {text}\n---\n{text} aloud.\n");
    world.files.write("work/.agents/skills/sing/SKILL.md", skill("Sings"));
    world.files.write("work/SOUL.md", "An old soul.\n");
    world.files.write("work/deep/er/AGENTS.md", "Deeper rules.\n");
    // Filters and hooks of the repository would leave a trace.
    world.files.write("work/.gitattributes", "*.md filter=trace\n");
    let hook = format!("#!/bin/sh\ntouch {}\n", world.files.path("trace").display());
    for name in ["post-checkout", "reference-transaction", "post-index-change"] {
        let path = world.files.write(format!("work/.git/hooks/{name}"), &hook);
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let shown = |name: &str| {
        let options = ["--with", "--pack", pack, "-C", "deep/er", "--session-id", ID, "--", message];
        body(&world, &[&[name], &options[..]].concat())
    };
    let before = shown("now");
    for words in [&["add", "-A"][..], &["-c", "core.hooksPath=/dev/null", "commit", "-qm", "first"]] {
        git(&world, words);
    }
    for (file, text) in [
        ("work/AGENTS.md", "Use spaces.\n".to_owned()),
        ("work/.agents/skills/sing/SKILL.md", skill("Hums")),
        ("work/SOUL.md", "A new soul.\n".to_owned()),
        ("work/AGENTS.override.md", "All is different.\n".to_owned()),
    ] {
        world.files.write(file, text);
    }
    std::fs::remove_file(world.files.path("work/deep/er/AGENTS.md")).unwrap();
    let _gone = std::fs::remove_file(world.files.path("trace"));
    let filter = format!(
        "\n[filter \"trace\"]\n\tsmudge = touch {0}\n\tclean = touch {0}\n",
        world.files.path("trace").display()
    );
    let config = world.files.read("work/.git/config") + &filter;
    world.files.write("work/.git/config", config);
    let tree = work_tree(&world);
    assert!(shown("now") != before, "{pack}: the files on disk are others");
    assert!(shown("now@HEAD") == before, "{pack}: the revision gives another request");
    let report = report(&world, &["now@main", "--with", "--pack", pack, "--session-id", ID, message]);
    assert_eq!(report["request"]["name"], "now@main");
    assert_eq!(report["reasons"][0]["kind"], "revision");
    assert!(!world.files.path("trace").exists(), "{pack}: a program of the repository ran");
    assert!(work_tree(&world) == tree, "{pack}: something was written");
    let left = std::fs::read_dir(world.files.path("home/tmp")).into_iter().flatten().count();
    assert_eq!(left, 0, "{pack}: something was left behind");
}

#[test]
fn a_revision_of_the_project_is_read_as_objects() {
    check_revision("codex", "Please use $sing.");
    check_revision("openclaw", "hello");
}

#[test]
fn a_revision_that_is_not_there_is_named() {
    let server = MockServer::start([]);
    let world = world(&server, "responses", "");
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-qm", "first"]);
    let ran = world.run(&["prompt", "now@nosuch", "hello"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: now@nosuch: "), "{}", ran.stderr);
}
