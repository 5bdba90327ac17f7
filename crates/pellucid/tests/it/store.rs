//! Stored sessions: listed, looked at, named, archived, copied, exported, replayed, checked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use expect_test::expect;
use pellucid_files::Existing;
use pellucid_files::RealDisk;
use pellucid_store::sink::FileSink;
use serde_json::Value;

use crate::Ran;
use crate::World;
use crate::steady::without_bytes;

fn world() -> World {
    World::new("//- work/script.toml\n[[reply]]\nsay = \"answer\"\nusage = { input = 100, output = 10 }\n")
}

fn exec(world: &World, prompt: &str) -> String {
    let ran = world.run(&["exec", "--json", "--script", "script.toml", prompt]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let first: Value = serde_json::from_str(ran.out().lines().next().unwrap()).unwrap();
    first["thread_id"].as_str().unwrap().to_owned()
}

fn file(world: &World, id: &str) -> PathBuf {
    let ran = world.run(&["sessions", "show", "--json", id]);
    let shown: Value = serde_json::from_slice(&ran.stdout).unwrap();
    world.files.path("home").join(shown["summary"]["path"].as_str().unwrap())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out(), ran.stderr))
}

fn listed(world: &World, args: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["sessions", "list", "--json"].iter().chain(args).copied().collect();
    let page = json(&world.run(&args));
    let text = |session: &Value| session["first_message"].as_str().unwrap().to_owned();
    page["sessions"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn sessions_are_listed_page_by_page() {
    let world = world();
    assert_eq!(world.run(&["sessions", "list"]).out(), "no sessions\n");
    for text in ["one", "two", "three"] {
        exec(&world, text);
    }
    let mut all = listed(&world, &[]);
    all.sort();
    assert_eq!(all, ["one", "three", "two"]);
    let first = json(&world.run(&["sessions", "list", "--json", "--limit", "2", "--sort", "created"]));
    let next = first["next"].as_str().unwrap();
    assert_eq!(listed(&world, &["--limit", "2", "--sort", "created", "--cursor", next]).len(), 1);
    assert_eq!(listed(&world, &["--search", "TWO"]), ["two"]);
    assert_eq!(listed(&world, &["--source", "cli"]), Vec::<String>::new());
    assert_eq!(listed(&world, &["--cwd", "."]).len(), 3);
    assert_eq!(listed(&world, &["--cwd", ".."]).len(), 0);
    assert_eq!(listed(&world, &["--provider", "scripted"]).len(), 3);
    let table = world.run(&["sessions", "list", "--limit", "1"]);
    assert!(table.out().starts_with("SESSION ") && table.out().contains("more: pellucid sessions list --cursor '"));
    let bad = world.run(&["sessions", "list", "--cursor", "x"]);
    assert_eq!(
        (bad.status, bad.stderr.as_str()),
        (2, "error: --cursor x: invalid cursor; the line below a page has the one of the next page\n")
    );
}

#[test]
fn a_session_goes_on_by_its_name() {
    let world = world();
    let id = exec(&world, "first");
    let named = world.run(&["sessions", "rename", &id, "my work"]);
    assert_eq!(named.out(), format!("{id} is now called my work\n"));
    for args in [
        &["exec", "--json", "--script", "script.toml", "resume", "my work", "second"][..],
        &["resume", "--json", "--script", "script.toml", "my work", "third"],
        &["resume", "--json", "--script", "script.toml", "--last", "fourth"],
    ] {
        let ran = world.run(args);
        assert!(ran.out().contains(&id), "{}{}", ran.out(), ran.stderr);
    }
    let shown = world.run(&["sessions", "show", "my work"]);
    expect![[r#"
        session   ID
        name      my work
        began     TIME
        updated   TIME
        folder    ROOT/work
        model     gpt-5.2-codex
        provider  scripted
        client    exec
        tokens    440
        spent     0 tokens read from the cache, 400 sent without it, 40 answered
        cache     1 cold, 3 missed
        file      sessions/DATE/rollout-TIME-ID.jsonl

        ── user ──
        first

        ── agent ──
        answer

        request #1: 100 tokens sent, 0 of them cached, 10 answered; cache cold

        ── user ──
        second

        ── agent ──
        answer

        request #2: 100 tokens sent, 0 of them cached, 10 answered; cache missed

        ── user ──
        third

        ── agent ──
        answer

        request #3: 100 tokens sent, 0 of them cached, 10 answered; cache missed

        ── user ──
        fourth

        ── agent ──
        answer

        request #4: 100 tokens sent, 0 of them cached, 10 answered; cache missed
    "#]]
    .assert_eq(&world.steady(shown.out()));
    assert_eq!(world.run(&["replay", "my work"]).status, 0);
}

#[test]
fn resume_says_what_is_missing() {
    let world = world();
    let said = |args: &[&str]| {
        let ran = world.run(args);
        assert_eq!((ran.status, ran.out()), (2, ""), "{args:?}: {}", ran.stderr);
        ran.stderr
    };
    expect!["error: say which session: its id, the beginning of its id, its name, or --last\nhint: `pellucid sessions list --all` shows those that are stored\n"]
        .assert_eq(&said(&["resume"]));
    expect!["error: no session has the id or name `nobody`\nhint: there are no stored sessions\n"]
        .assert_eq(&said(&["resume", "nobody", "go"]));
    expect![
        "error: no session has worked in ROOT/work yet\nhint: `pellucid sessions list --all` shows those that are stored\n"
    ]
    .assert_eq(&said(&["resume", "--script", "script.toml", "--last", "go"]));
    expect!["error: no session has worked yet\nhint: `pellucid sessions list --all` shows those that are stored\n"]
        .assert_eq(&said(&["fork", "--last"]));
    let id = exec(&world, "hi");
    expect!["error: standard input and standard output are not both a terminal, which a conversation needs\nhint: `pellucid exec PROMPT` runs one turn without a terminal\n"]
        .assert_eq(&said(&["resume", &id]));
    // Reports are about the last session, whichever provider it used.
    for command in ["context", "prompt"] {
        assert_eq!(world.run(&[command, "--last"]).status, 0, "{command}");
    }
    let other = "error: no session in ROOT/work has used the provider `openai`; the last one there is ID, with \
                 `scripted`\nhint: name ID in place of --last\n";
    // What asks a provider does not give it the words of a session of another one unasked.
    for command in [&["resume", "--last", "go"][..], &["compact", "--last"]] {
        assert_eq!(said(command).replace(&id, "ID"), other);
    }
    expect!["error: --at 2: the session has 1 message from the user\n"].assert_eq(&said(&[
        "fork",
        "--script",
        "script.toml",
        &id,
        "--at",
        "2",
    ]));
    expect!["error: no session has the id or name `nobody`\nhint: `pellucid sessions list --all` shows those that are stored\n"]
        .assert_eq(&said(&["sessions", "archive", "nobody"]));
}

#[test]
fn a_session_is_archived_and_unarchived() {
    let world = world();
    let id = exec(&world, "hi");
    assert_eq!(world.run(&["sessions", "archive", &id]).status, 0);
    assert_eq!((listed(&world, &[]).len(), listed(&world, &["--archived"]).len()), (0, 1));
    assert_eq!(world.run(&["replay", &id]).status, 0, "the record is found wherever the session is");
    let resumed = world.run(&["resume", "--script", "script.toml", &id, "go"]);
    assert_eq!(
        resumed.stderr,
        format!(
            "error: the session {id} is archived\nhint: `pellucid sessions unarchive {id}` makes it available again\n"
        )
    );
    assert_eq!(world.run(&["sessions", "unarchive", &id]).status, 0);
    assert_eq!(listed(&world, &[]).len(), 1);
}

#[test]
fn sessions_that_were_not_used_for_days_are_archived_only_when_asked_for() {
    let world = world();
    let (old, new) = (exec(&world, "old"), exec(&world, "new"));
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 24 * 60 * 60);
    fs::File::options().append(true).open(file(&world, &old)).unwrap().set_modified(long_ago).unwrap();
    let archive = |words: &[&str]| {
        let ran = world.run(&[&["sessions", "archive", "--json", "--older-than"], words].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let sessions = json(&ran)["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|it| (it["id"].as_str().unwrap().to_owned(), it["is_archived"] == true)).collect::<Vec<_>>()
    };
    assert_eq!(archive(&["30", "--dry-run"]), [(old.clone(), false)]);
    assert_eq!(listed(&world, &[]).len(), 2);
    assert_eq!(archive(&["60"]), []);
    assert_eq!(archive(&["30"]), [(old.clone(), true)]);
    assert_eq!((listed(&world, &[]).len(), listed(&world, &["--archived"]).len()), (1, 1));
    assert!(file(&world, &new).exists());
    assert_eq!(world.run(&["sessions", "unarchive", &old]).status, 0);
    assert_eq!(world.run(&["sessions", "archive", "--dry-run", &new]).status, 2);
}

#[test]
fn a_copy_shares_the_beginning_and_leaves_its_parent_alone() {
    let world = world();
    let id = exec(&world, "first");
    world.run(&["resume", "--script", "script.toml", &id, "second"]);
    let parent = fs::read(file(&world, &id)).unwrap();
    let forked = world.run(&["fork", "--script", "script.toml", &id, "--at", "1"]);
    let copy = forked.out().trim().to_owned();
    assert_ne!(copy, id, "{}", forked.stderr);
    let lines: Vec<Value> = fs::read_to_string(file(&world, &copy))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["payload"]["id"], &lines[0]["payload"]["forked_from_id"]),
        (&copy.clone().into(), &id.clone().into())
    );
    assert_eq!(lines[1]["payload"]["id"], *id, "the parent's own line follows");
    let said: Vec<&Value> = lines.iter().filter(|line| line["payload"]["type"] == "user_message").collect();
    assert_eq!(said.len(), 1);
    let body = |session: &str| {
        world.run(&["prompt", "--script", "script.toml", "--format", "body", "--session", session, "on"]).stdout
    };
    let (of_parent, of_copy) = (body(&id), body(&copy));
    let shared = of_parent.iter().zip(&of_copy).take_while(|(a, b)| a == b).count();
    let answer = of_parent.windows(8).position(|window| window == b"\"answer\"").unwrap();
    assert!(shared > answer, "the copy begins as its parent does, up to the cut");
    let ran = world.run(&["resume", "--script", "script.toml", &copy, "third"]);
    assert_eq!(ran.out(), "answer\n", "{}", ran.stderr);
    let replay = world.run(&["replay", "--json", &copy]);
    let verdicts: Vec<Value> =
        json(&replay)["requests"].as_array().unwrap().iter().map(|it| it["verdict"].clone()).collect();
    assert_eq!(verdicts, ["equal_in_parent", "equal"], "what the parent sent is in the parent's record");
    let run_at_once = world.run(&["fork", "--script", "script.toml", "--last", "go"]);
    assert_eq!(run_at_once.out(), "answer\n", "{}", run_at_once.stderr);
    assert_eq!(fs::read(file(&world, &id)).unwrap(), parent);
}

#[test]
fn a_copy_names_its_parent_and_one_command_goes_back_to_it() {
    let world = world();
    let id = exec(&world, "first");
    let copy = world.run(&["fork", "--script", "script.toml", &id]).out().trim().to_owned();
    let expected = serde_json::json!({"id": id, "how": "forked"});
    assert_eq!(json(&world.run(&["sessions", "show", "--json", &copy]))["parent"], expected);
    assert_eq!(json(&world.run(&["sessions", "show", "--json", &id]))["parent"], Value::Null);
    let listed = json(&world.run(&["sessions", "list", "--json"]));
    let of_copy = listed["sessions"].as_array().unwrap().iter().find(|it| it["id"] == *copy).unwrap().clone();
    assert_eq!(of_copy["parent"], expected);
    let before = (fs::read(file(&world, &id)).unwrap(), fs::read(file(&world, &copy)).unwrap());
    let ran = world.run(&["resume", "--parent", "--script", "script.toml", &copy, "back"]);
    assert_eq!(ran.out(), "answer\n", "{}", ran.stderr);
    assert_ne!(fs::read(file(&world, &id)).unwrap(), before.0);
    assert_eq!(fs::read(file(&world, &copy)).unwrap(), before.1);
    assert_eq!(world.run(&["resume", "--parent", "--script", "script.toml", &id, "back"]).status, 1);
}

#[test]
fn the_id_of_a_stored_session_is_no_id_for_a_new_one() {
    let world = world();
    let id = exec(&world, "hi");
    let again =
        |more: &[&str]| world.run(&[&["exec", "--script", "script.toml", "--session-id", &id], more, &["hi"]].concat());
    let mut refusals = String::new();
    for step in ["archive", "unarchive"] {
        let ran = again(&[]);
        assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
        refusals.push_str(&world.steady(&ran.stderr));
        world.run(&["sessions", step, &id]);
    }
    expect![[r#"
        error: --session-id ID: ROOT/home/sessions/DATE/rollout-TIME-ID.jsonl is a session with this id; give another id, or continue that one with `pellucid exec resume ID`
        error: --session-id ID: ROOT/home/archived_sessions/rollout-TIME-ID.jsonl is a session with this id; give another id, or continue that one with `pellucid exec resume ID`
    "#]].assert_eq(&refusals);
    assert_eq!(again(&["--ephemeral"]).status, 0, "nothing is stored");
    assert_eq!(world.run(&["sessions", "fsck"]).status, 0);
}

#[test]
fn an_export_has_no_secrets_and_says_so() {
    let world = world();
    let id = exec(&world, "the key is sk-abcdefghij0123456789ABCD");
    let exported = world.run(&["sessions", "export", &id]);
    assert!(exported.out().contains("the key is [redacted:key]") && !exported.out().contains("sk-abc"));
    expect![[r#"
        note: 2 secrets redacted; only known patterns are detected, so review the export before you share it
    "#]]
    .assert_eq(&exported.stderr);
    let raw = world.run(&["sessions", "export", "--no-redact", &id]);
    assert_eq!(raw.stdout, fs::read(file(&world, &id)).unwrap());

    let to = world.files.path("out");
    world.run(&["sessions", "export", "--to", to.to_str().unwrap(), &id]);
    let mut n_files = 0;
    let mut pending = vec![to.clone()];
    while let Some(path) = pending.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o777, expected, "{}", path.display());
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            n_files += 1;
        }
    }
    assert!(n_files >= 2, "the session and its record");
    let home = [("PELLUCID_HOME", to.to_str().unwrap())];
    let replay = world.run_in(&["replay", &id], &home);
    assert_eq!(replay.status, 3, "{}", replay.out());
    expect![[r#"
        ? not provable; 1 request: 0 equal, 0 different, 1 not provable
           1  answer  3 items, N bytes  not provable: secrets were blanked when the session was exported
        secrets are blanked in the session or its record, so they prove less than they did
        anchor SHA256
        note: anchors.jsonl has no hash of this session: that the end of its files is missing would show only with --anchor
    "#]].assert_eq(&without_bytes(&world.steady(replay.out())));
    let shown = world.run_in(&["prompt", &format!("{id}#1")], &home);
    assert_eq!(shown.status, 3);
    expect![[r#"
        error: ID: request 1 is not provable: secrets were blanked when the session was exported
    "#]]
    .assert_eq(&shown.stderr.replace(&id, "ID"));
    assert_eq!(world.run_in(&["prompt", &format!("{id}#2")], &home).status, 2, "replay counts one request");
    assert_eq!(world.run_in(&["sessions", "fsck", &id], &home).status, 3);
    let ran = world.run_in(&["resume", "--script", "script.toml", &id, "on"], &home);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let replay = world.run_in(&["replay", &id], &home);
    assert_eq!(replay.status, 3, "blanks are no damage, when the session is resumed either: {}", replay.out());
    let whole = world.files.path("whole");
    world.run(&["sessions", "export", "--no-redact", "--to", whole.to_str().unwrap(), &id]);
    let home = [("PELLUCID_HOME", whole.to_str().unwrap())];
    assert_eq!(world.run_in(&["replay", &id], &home).status, 0);
    let path = file(&world, &id);
    assert_eq!(world.run(&["replay", path.to_str().unwrap()]).status, 0, "a path is as good as an id");
}

#[test]
fn damage_is_found_and_told() {
    let world = world();
    let id = exec(&world, "hi");
    assert_eq!(world.run(&["sessions", "fsck"]).out(), "1 session, 1 with a record of what was sent, 0 findings\n");
    let path = file(&world, &id);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"timestamp\":\"t\",\"type\":\"respon")).unwrap();
    let ran = world.run(&["sessions", "fsck", "--rebuild-index", &id]);
    assert_eq!(ran.status, 0, "a torn line is no loss");
    expect![[r#"
        note: sessions/DATE/rollout-TIME-ID.jsonl: lines that cannot be read are set aside: 13
        note: sessions/DATE/rollout-TIME-ID.jsonl: line 13 (byte N) is foreign: added by another program, or by a process that ended before it could seal its lines; not sealed yet
        1 session, 1 with a record of what was sent, 2 findings
    "#]].assert_eq(&without_bytes(&world.steady(ran.out())));
    let record = fs::read_dir(world.files.path("home/requests")).unwrap();
    let mut folder = record.map(|entry| entry.unwrap().path()).find(|path| !path.ends_with("parts")).unwrap();
    while folder.is_dir() {
        folder = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    }
    let text = fs::read_to_string(&folder).unwrap();
    fs::write(&folder, text.replacen("\"items\":3", "\"items\":4", 1)).unwrap();
    let ran = world.run(&["sessions", "fsck", "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    assert!(json(&ran)["problems"].as_array().unwrap().iter().any(|it| it["is_serious"] == true));
    let replay = world.run(&["replay", &id]);
    assert_eq!(replay.status, 1);
    expect![[r#"
        ✗ refuted; 1 request: 1 equal, 0 different, 0 not provable
           1  answer  4 items, N bytes  equal
        changed since it was written: requests/DATE/requests-TIME-ID.jsonl: line 4 (byte N, request, turn ID2) was changed
        anchor SHA256
    "#]].assert_eq(&without_bytes(&world.steady(replay.out())));
}

/// A fixed sample of what tests of the library do a thousand times.
#[test]
fn replay_and_fsck_name_the_same_line_and_end_with_the_same_status() {
    let world = world();
    let id = exec(&world, "hi");
    let path = file(&world, &id);
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let without = |n: usize| [lines[..n].concat(), lines[n + 1..].concat()].concat();
    let last = lines.iter().rposition(|line| line.contains("\"type\":\"agent_message\"")).unwrap();
    let event = lines[last].replace("answer", "unsaid");
    for (text, expected) in [
        (whole.replacen("\"cwd\"", "\"cwe\"", 1), "line 1 (byte 0, session_meta".to_owned()),
        (without(0), "line 1 (byte 0, session_meta".to_owned()),
        (without(last), format!("line {} (byte {}, event_msg agent_message", last + 1, lines[..last].concat().len())),
        (whole.replacen(lines[last], &event, 1), format!("line {} (byte", last + 1)),
        ([lines[..2].concat(), event.clone(), lines[2..].concat()].concat(), "line 3 (byte".to_owned()),
        (lines[..5].concat(), format!("lines 6 to {} (byte", lines.len())),
    ] {
        fs::write(&path, text).unwrap();
        for args in [["replay", &id].as_slice(), &["sessions", "fsck", &id], &["replay", path.to_str().unwrap()]] {
            let ran = world.run(args);
            assert_eq!(ran.status, 1, "{args:?}: {}{}", ran.out(), ran.stderr);
            assert!(ran.out().contains(&expected), "{args:?}, {expected}: {}", ran.out());
        }
    }
    fs::write(&path, format!("{whole}{event}")).unwrap();
    let mut foreign = String::new();
    for args in [["replay", &id].as_slice(), &["sessions", "fsck", &id]] {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{}", ran.out());
        foreign.push_str(&without_bytes(&world.steady(ran.out())));
    }
    expect![[r#"
        ✓ proved; 1 request: 1 equal, 0 different, 0 not provable
           1  answer  3 items, N bytes  equal
        line 13 (byte N) is foreign: added by another program, or by a process that ended before it could seal its lines; not sealed yet
        anchor SHA256
        note: sessions/DATE/rollout-TIME-ID.jsonl: line 13 (byte N) is foreign: added by another program, or by a process that ended before it could seal its lines; not sealed yet
        1 session, 1 with a record of what was sent, 1 finding
    "#]].assert_eq(&foreign);
    fs::write(&path, without(0)).unwrap();
    let ran = world.run(&["resume", "--script", "script.toml", &id, "on"]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    expect![[r#"
        error: the session file ROOT/home/sessions/DATE/rollout-TIME-ID.jsonl has lost its beginning: its first line is not `session_meta`; `pellucid sessions fsck` shows what else is damaged
    "#]].assert_eq(&world.steady(&ran.stderr));
    let listed = listed(&world, &[]);
    assert_eq!(listed.len(), 1, "a session without its first line is still listed");
    let mode = fs::metadata(world.files.path("home/anchors.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn two_processes_do_not_write_to_one_session() {
    let world = world();
    let id = exec(&world, "hi");
    let path = file(&world, &id);
    // A shared lock must not block a writer.
    let reader = fs::File::open(&path).unwrap();
    reader.lock().unwrap();
    let ran = world.run(&["resume", "--script", "script.toml", &id, "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let _writer = FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap();
    let ran = world.run(&["resume", "--script", "script.toml", &id, "go"]);
    assert_eq!(ran.status, 1);
    expect![[r#"
        error: the session file ROOT/home/sessions/DATE/rollout-TIME-ID.jsonl cannot be written: another process is writing to this session
    "#]].assert_eq(&world.steady(&ran.stderr));
}

/// A limit on the size of files simulates a full disk: a write fails in the middle.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_neither_the_turn_nor_the_file() {
    for blocks in 1..24 {
        let world = world();
        let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec {} exec --script script.toml hi", crate::program());
        let output = world.command_of("/bin/sh", &["-c", &line]).stderr(std::process::Stdio::piped()).output().unwrap();
        let (said, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!((output.status.code(), &*said), (Some(0), "answer\n"), "{blocks}: {warned}");
        let is_short = warned.contains("warning: the session is not saved: ");
        let sessions = world.files.path("home/sessions");
        let mut folder = sessions.clone();
        while folder.is_dir() {
            folder = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        }
        let text = fs::read_to_string(&folder).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{blocks}: no half line is left");
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{blocks}: {text}");
        assert_eq!(is_short, !text.contains("task_complete"), "{blocks}: {warned}");
        if is_short && text.contains("user_message") {
            let ran = world.run(&["exec", "--script", "script.toml", "resume", "--last", "on"]);
            assert_eq!((ran.status, ran.out()), (0, "answer\n"), "{blocks}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_session_is_meant_by_the_beginning_of_its_id_and_by_being_the_last() {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"Done.\"\n");
    let ids = ["019a0000-0000-7000-8000-000000000001", "019a1111-0000-7000-8000-000000000001"];
    for id in ids {
        let ran = world.run(&["exec", "--script", "script.toml", "--session-id", id, "hi"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let proved = |args: &[&str]| {
        let ran = world.run(&[&["replay"], args].concat());
        (ran.status, ran.out().to_owned(), ran.stderr)
    };
    let (status, out, _) = proved(&["019a1"]);
    assert_eq!(status, 0);
    expect![[r#"
        ✓ proved; 1 request: 1 equal, 0 different, 0 not provable
           1  answer  3 items, N bytes  equal
        anchor SHA256
    "#]]
    .assert_eq(&without_bytes(&world.steady(&out)));
    assert_eq!(proved(&["--last"]), proved(&[ids[1]]));
    let (status, _, said) = proved(&["019a"]);
    assert_eq!(status, 2);
    expect![[r#"
        error: several sessions have an id that begins with `019a`: 019a1111-0000-7000-8000-000000000001, 019a0000-0000-7000-8000-000000000001
        hint: give more of the id
    "#]].assert_eq(&said);
    let (status, _, said) = proved(&[]);
    assert_eq!(status, 2, "{said}");
    for args in [&["sessions", "show"][..], &["sessions", "fsck"], &["sessions", "export"], &["sessions", "output"]] {
        let ran = world.run(&[args, &["019a0000"]].concat());
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    }
    let elsewhere = world.files.folder("elsewhere");
    let mut command = world.command(&["replay", "--last"]);
    command.current_dir(elsewhere);
    let ran = world.finish(command, None);
    assert_eq!(
        ran.stderr,
        "error: no session has worked in ROOT/elsewhere yet\nhint: `pellucid sessions list --all` shows those that are stored\n"
    );
}

/// A process that is killed between making its session file and writing the first line loses nothing.
#[test]
fn an_empty_session_file_is_serious_only_if_something_was_sent() {
    let world = world();
    let empty = "019a0000-0000-7000-8000-000000000001";
    world.files.write(format!("home/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{empty}.jsonl"), "");
    let ran = world.run(&["sessions", "fsck", "--json"]);
    assert_eq!(ran.status, 0, "{}", ran.out());
    let problems = json(&ran)["problems"].clone();
    assert_eq!((problems.as_array().unwrap().len(), &problems[0]["is_serious"]), (1, &false.into()), "{problems}");
    assert!(problems[0]["what"].as_str().unwrap().starts_with("the session file is empty"), "{problems}");
    let id = exec(&world, "hello");
    fs::write(file(&world, &id), "").unwrap();
    let ran = world.run(&["sessions", "fsck", "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    let problems = json(&ran)["problems"].clone();
    let serious = problems.as_array().unwrap().iter().filter(|problem| problem["is_serious"] == true);
    assert_eq!(serious.count(), 1, "{problems}");
}
