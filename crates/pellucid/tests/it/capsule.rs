//! `sessions certify`, `sessions capsule` and `capsule open`.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::Ran;
use crate::World;
use crate::statuses::file;

const FIXTURE: &str = r#"//- work/AGENTS.md
Be brief.
//- work/script.toml
[[reply]]
say = "on it </script><script>alert(1)</script>"
call = [{ name = "shell_command", args = { command = "echo done" } }]
[[reply]]
say = "the deploy token is ghp_0123456789abcdefghijABCDEFGHIJ012345"
usage = { input = 100, output = 10 }
//- work/more.toml
[[reply]]
say = "more"
//- home/config.toml
model_reasoning_effort = "low"
"#;

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A world with one session of three requests.
fn world() -> (World, String) {
    world_of(FIXTURE)
}

fn world_of(fixture: &str) -> (World, String) {
    let world = World::new(fixture);
    let ran = world.run(&["exec", "--script", "script.toml", "begin"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(world.run(&["exec", "--script", "more.toml", "resume", "--last", "go on"]).status, 0);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

/// Every text of a capsule: the page without its script and style, which are the program's, and what its blocks unpack to.
pub fn texts_of(html: &str) -> Vec<String> {
    const BEGIN: &str = "<script type=\"application/octet-stream\" id=\"";
    let without = |html: &str, begin: &str, end: &str| {
        let (before, rest) = html.split_once(begin).unwrap();
        format!("{before}{}", rest.split_once(end).unwrap().1)
    };
    let mut page = without(&without(html, "<style>", "</style>"), "<script>", "</script>");
    let mut texts = Vec::new();
    while let Some((before, rest)) = page.split_once(BEGIN) {
        let (block, after) = rest.split_once("</script>").unwrap();
        let (_, packed) = block.split_once("\">").unwrap();
        let packed = BASE64_STANDARD.decode(packed.split_whitespace().collect::<String>()).unwrap();
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
        texts.push(text);
        page = format!("{before}{after}");
    }
    texts.push(page);
    texts
}

fn json(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out(), ran.stderr))
}

#[test]
fn a_session_that_is_resumed_as_it_was_extends() {
    let (world, id) = world();
    let ran = world.run(&["sessions", "certify", &id]);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    let certificate = json(&ran);
    assert_eq!(certificate["verdict"], "extends");
    assert_eq!(certificate["next"]["extends"], serde_json::json!({ "bytes": true, "reading": true }));
    assert_eq!(certificate["next"]["prefix_sha256"], certificate["last"]["prefix_sha256"]);
    assert_eq!(certificate["last"]["number"], 3);
    let replayed = json(&world.run(&["replay", &id, "--json"]));
    assert_eq!(certificate["anchor"], replayed["anchor"]);
    let body = world.run(&["prompt", "--format", "body", &format!("{id}#3")]);
    assert_eq!(certificate["last"]["bytes"], body.stdout.len());
    let text = ran.out().to_owned();
    for hidden in ["begin", world.files.root().to_str().unwrap()] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
    let zone = world.run_in(&["sessions", "certify", &id], &[("TZ", "Pacific/Auckland"), ("LANG", "de_DE.UTF-8")]);
    assert_eq!(zone.out(), text);
}

#[test]
fn another_model_diverges_and_an_old_certificate_shows_it() {
    let (world, id) = world();
    let before = world.run(&["sessions", "certify", &id]);
    world.files.write("work/before.json", before.out());
    let same = world.run(&["sessions", "certify", &id, "--check", "before.json"]);
    assert_eq!(
        (same.status, same.out()),
        (0, "the certificate is the same; the verdict about the next request is `extends`\n"),
        "{}",
        same.stderr
    );
    let ran = world.run(&["sessions", "certify", "-m", "gpt-5.1", &id]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    let certificate = json(&ran);
    assert_eq!(
        (&certificate["verdict"], &certificate["next"]["first_difference"]["cause"]),
        (&"diverges".into(), &"model".into())
    );
    let differs = world.run(&["sessions", "certify", "-m", "gpt-5.1", &id, "--check", "before.json"]);
    assert_eq!(differs.status, 1);
    assert!(differs.out().contains("/verdict: \"extends\", now \"diverges\"\n"), "{}", differs.out());
    world.files.write("work/other.json", "{}");
    assert_eq!(world.run(&["sessions", "certify", &id, "--check", "other.json"]).status, 2);
}

#[test]
fn without_a_record_or_with_a_changed_file_nothing_is_proved() {
    let (world, id) = world();
    let path = json(&world.run(&["sessions", "show", "--json", &id]))["summary"]["path"].as_str().unwrap().to_owned();
    let path = world.files.path("home").join(path);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("begin", "bezin", 1)).unwrap();
    let ran = world.run(&["sessions", "certify", &id]);
    assert_eq!((ran.status, &json(&ran)["verdict"]), (3, &"not_provable".into()), "{}", ran.out());
    fs::write(&path, text).unwrap();
    fs::remove_dir_all(world.files.path("home/requests")).unwrap();
    fs::remove_file(world.files.path("home/anchors.jsonl")).unwrap();
    let ran = world.run(&["sessions", "certify", &id]);
    assert_eq!((ran.status, &json(&ran)["verdict"]), (3, &"not_provable".into()), "{}", ran.out());
}

#[test]
fn a_capsule_opens_elsewhere_with_the_same_digests() {
    let (world, id) = world();
    let made = world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "none"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let opened = world.run(&["capsule", "open", "c.html", "--to", "opened"]);
    assert_eq!(opened.status, 0, "{}", opened.stderr);
    let there = world.files.path("work/opened");
    let there = [("PELLUCID_HOME", there.to_str().unwrap()), ("CODEX_HOME", there.to_str().unwrap())];
    let replayed = world.run_in(&["replay", &id, "--json"], &there);
    assert_eq!(replayed.status, 0, "{}", replayed.out());
    let mut here = json(&world.run(&["replay", &id, "--json"]));
    let mut other = json(&replayed);
    for replay in [&mut here, &mut other] {
        replay.as_object_mut().unwrap().remove("notes");
    }
    assert_eq!(here, other);
    for number in 1..=3 {
        let name = format!("{id}#{number}");
        let body = ["prompt", "--format", "body", &name];
        assert_eq!(world.run(&body).stdout, world.run_in(&body, &there).stdout, "{name}");
        let report = ["context", &name, "--json"];
        assert_eq!(json(&world.run(&report))["rows"], json(&world.run_in(&report, &there))["rows"], "{name}");
    }
    let again = world.run(&["capsule", "open", "c.html", "--to", "opened"]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("the folder is not empty"), "{}", again.stderr);
    let second = world.run(&["sessions", "capsule", &id, "-o", "d.html", "--redact", "none"]);
    assert_eq!(second.status, 0);
    assert_eq!(fs::read(world.files.path("work/c.html")).unwrap(), fs::read(world.files.path("work/d.html")).unwrap());
}

#[test]
fn secrets_are_in_no_file_of_a_capsule_unless_that_is_typed() {
    let (world, id) = world();
    let made = world.run(&["sessions", "capsule", &id, "-o", "c.html"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert!(made.stderr.contains("redacted; only known patterns are detected"), "{}", made.stderr);
    let html = fs::read_to_string(world.files.path("work/c.html")).unwrap();
    let texts = texts_of(&html);
    assert!(texts.iter().all(|text| !text.contains(SECRET)));
    assert!(texts.iter().any(|text| text.contains("[redacted:token]")));
    let page = texts.last().unwrap();
    assert!(!page.contains("<script") && !page.contains("alert(1)"), "{page}");
    assert_eq!(html.matches("<script>").count(), 1, "one script");
    assert_eq!(world.run(&["capsule", "open", "c.html", "--to", "opened"]).status, 0);
    let mut folders = vec![world.files.path("work/opened")];
    let mut n = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            n += 1;
            assert!(!fs::read_to_string(&path).unwrap().contains(SECRET), "{}", path.display());
        }
    }
    assert!(n > 2, "{n}");
    let there = world.files.path("work/opened");
    let there = [("PELLUCID_HOME", there.to_str().unwrap()), ("CODEX_HOME", there.to_str().unwrap())];
    let replayed = world.run_in(&["replay", &id, "--json"], &there);
    assert_eq!(replayed.status, 3, "{}", replayed.out());
    // What comes before the secret is proved as before.
    assert_eq!(json(&replayed)["requests"][0]["verdict"], "equal", "{}", replayed.out());
}

#[test]
fn a_capsule_up_to_a_request_has_nothing_after_it() {
    let (world, id) = world();
    let name = format!("{id}#2");
    let made = world.run(&["sessions", "capsule", &name, "-o", "c.html", "--redact", "none"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let texts = texts_of(&fs::read_to_string(world.files.path("work/c.html")).unwrap());
    assert!(texts.iter().all(|text| !text.contains("the deploy token")));
    assert_eq!(world.run(&["capsule", "open", "c.html", "--to", "opened"]).status, 0);
    let there = world.files.path("work/opened");
    let there = [("PELLUCID_HOME", there.to_str().unwrap()), ("CODEX_HOME", there.to_str().unwrap())];
    let body = ["prompt", "--format", "body", &name];
    assert_eq!(world.run(&body).stdout, world.run_in(&body, &there).stdout);
    let replayed = json(&world.run_in(&["replay", &id, "--json"], &there));
    assert_eq!(replayed["requests"].as_array().unwrap().len(), 2, "{replayed}");
    for wrong in ["#9", "#0", "#x"] {
        let ran = world.run(&["sessions", "capsule", &format!("{id}{wrong}"), "-o", "e.html"]);
        assert_eq!(ran.status, 2, "{wrong}: {}", ran.stderr);
    }
}

#[test]
fn what_is_no_capsule_is_refused() {
    let world = World::new("//- work/page.html\n<html></html>\n");
    let ran = world.run(&["capsule", "open", "page.html", "--to", "opened"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("page.html: it is not a capsule"), "{}", ran.stderr);
    assert!(!world.files.path("work/opened").exists());
}

/// The value of a kind with a number, from the blocks of a capsule.
fn kept(html: &str, directory: &Value, kind: &str, number: usize) -> Value {
    let starts = directory["starts"][kind].as_array().unwrap();
    let at = starts.iter().rposition(|start| start.as_u64().unwrap() as usize <= number).unwrap();
    let first = starts[at].as_u64().unwrap() as usize;
    block(html, &format!("{kind}{at}"))[number - first].clone()
}

fn block(html: &str, name: &str) -> Value {
    let (_, rest) = html.split_once(&format!("id=\"{name}\">")).unwrap();
    let packed = BASE64_STANDARD.decode(rest.split('<').next().unwrap()).unwrap();
    serde_json::from_reader(GzDecoder::new(packed.as_slice())).unwrap()
}

#[test]
fn the_page_of_a_capsule_has_the_answers_of_the_commands() {
    let (world, id) = world();
    assert_eq!(world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "none"]).status, 0);
    let html = fs::read_to_string(world.files.path("work/c.html")).unwrap();
    let directory = block(&html, "directory");
    let answer = |key: &str| {
        let number = directory["answers"][key].as_u64().unwrap_or_else(|| panic!("no {key} in {directory}"));
        kept(&html, &directory, "a", number as usize)
    };
    let commands: [(&str, &[&str]); 6] = [
        ("sessions/ID/proof", &["replay", "--json", "file:c.html"]),
        ("sessions/ID/breaks", &["cache", "--json", "file:c.html"]),
        ("cost by=part session=ID", &["cost", "--json", "--by", "part", "file:c.html"]),
        ("cost by=turn session=ID", &["cost", "--json", "--by", "turn", "file:c.html"]),
        ("cost as=ttl=1h by=part session=ID", &["cost", "--json", "--by", "part", "--as", "ttl=1h", "file:c.html"]),
        ("diff a=ID#1 b=ID#2", &["context", "diff", "--json", "file:c.html#1", "file:c.html#2"]),
    ];
    for (key, command) in commands {
        let printed = String::from_utf8(world.run(command).stdout).unwrap().replace("file:c.html", &id);
        assert_eq!(answer(&key.replace("ID", &id)), serde_json::from_str::<Value>(&printed).unwrap(), "{key}");
    }
    // The rows of a request and the bytes that follow from their texts.
    for n in 1..=3 {
        let printed = json(&world.run(&["context", "--json", &format!("file:c.html#{n}")]));
        let ranges = kept(&html, &directory, "q", n - 1)["rows"].clone();
        let numbers = ranges
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|range| range[0].as_u64().unwrap() as usize..range[1].as_u64().unwrap() as usize);
        let (mut rows, mut body) = (Vec::new(), String::new());
        for number in numbers {
            let row = kept(&html, &directory, "r", number);
            let text = kept(&html, &directory, "t", row[0].as_u64().unwrap() as usize);
            let escaped = text[0].to_string();
            body += match &text[2] {
                Value::String(sent) => sent,
                how if *how == 0 => text[0].as_str().unwrap(),
                _ => &escaped[1..escaped.len() - 1],
            };
            rows.push(row[1].clone());
        }
        assert_eq!(Value::Array(rows), printed["rows"], "rows of #{n}");
        assert_eq!(body.as_bytes(), world.run(&["prompt", "--format", "body", &format!("{id}#{n}")]).stdout, "#{n}");
    }
}

/// Every file below a folder, with its bytes.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_capsule_is_named_wherever_a_session_or_a_request_is() {
    let (world, id) = world();
    assert_eq!(world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "none"]).status, 0);
    world.files.folder("temporary");
    let temporary = world.files.path("temporary");
    let around = [("TMPDIR", temporary.to_str().unwrap())];
    // Commands with `REF` for the session; what they print must be the same for the stored session and for the capsule.
    let commands: [&[&str]; 14] = [
        &["prompt", "--format", "body", "REF#2"],
        &["context", "--json", "REF#2"],
        &["context", "--json", "REF"],
        &["context", "diff", "--json", "REF#1", "REF#2"],
        &["context", "diff", "REF", "REF"],
        &["context", "why", "AGENTS.md", "REF#1"],
        &["cache", "--json", "REF"],
        &["cost", "--json", "REF"],
        &["replay", "--json", "REF"],
        &["sessions", "show", "REF"],
        &["sessions", "calls", "REF"],
        &["sessions", "grep", "-F", "a", "--session", "REF"],
        &["sessions", "grep", "--json", "-F", "a", "--session", "REF", "--since", "1d"],
        &["sessions", "grep", "no such text", "--session", "REF"],
    ];
    for command in commands {
        let named = |name: &str| command.iter().map(|word| word.replace("REF", name)).collect::<Vec<_>>();
        let run = |name: &str| world.run_in(&named(name).iter().map(String::as_str).collect::<Vec<_>>(), &around);
        let before = snapshot(&world.files.path("home"));
        let (stored, capsule) = (run(&id), run("file:c.html"));
        assert_eq!(capsule.status, stored.status, "{command:?}: {}", capsule.stderr);
        let plain = |ran: &Ran| match serde_json::from_slice::<Value>(&ran.stdout) {
            Ok(mut value) => {
                // Only the user's home folder has the last hashes of sessions.
                value.as_object_mut().unwrap().remove("notes");
                // A session in a capsule has no next request.
                value.as_object_mut().unwrap().remove("next");
                value.to_string().replace("file:c.html", &id)
            }
            Err(_) => String::from_utf8_lossy(&ran.stdout).replace("file:c.html", &id),
        };
        assert_eq!(plain(&capsule), plain(&stored), "{command:?}");
        assert!(snapshot(&world.files.path("home")) == before, "{command:?} wrote into the home folder");
        assert!(fs::read_dir(&temporary).unwrap().next().is_none(), "{command:?} left files behind");
    }
    let mixed = world.run_in(&["context", "diff", "file:c.html#2", &format!("{id}#2")], &around);
    assert_eq!(mixed.status, 0, "{}{}", mixed.out(), mixed.stderr);
    fs::copy(world.files.path("work/c.html"), world.files.path("work/a b.html")).unwrap();
    let spaced = world.run_in(&["prompt", "--format", "body", "file:a b.html#2"], &around);
    assert_eq!(
        (spaced.status, &spaced.stdout),
        (0, &world.run(&["prompt", "--format", "body", &format!("{id}#2")]).stdout)
    );
    let next = world.run_in(&["prompt", "file:c.html#next"], &around);
    assert_eq!(next.status, 2);
    assert!(next.stderr.contains("hint: `pellucid capsule open c.html --to DIR`"), "{}", next.stderr);
    for (file, text) in [("missing.html", None), ("page.html", Some("<html></html>"))] {
        if let Some(text) = text {
            world.files.write(format!("work/{file}"), text);
        }
        for command in [&["context"][..], &["context", "why", "AGENTS.md"], &["cache"], &["cost"], &["replay"]] {
            let ran = world.run_in(&[command, &[&format!("file:{file}")]].concat(), &around);
            assert!(matches!(ran.status, 1 | 2) && ran.stderr.contains(file), "{command:?}: {}", ran.stderr);
        }
    }
    // The time of a session is when its last line was written, and not when a capsule was opened.
    let stored = file(&world, "home/sessions", &id);
    let text = fs::read_to_string(&stored).unwrap();
    assert_eq!(world.run(&["capsule", "open", "c.html", "--to", "opened-times"]).status, 0);
    let opened = file(&world, "work/opened-times/sessions", &id);
    let last: Value = serde_json::from_str(text.lines().next_back().unwrap()).unwrap();
    let modified: jiff::Timestamp = fs::metadata(&opened).unwrap().modified().unwrap().try_into().unwrap();
    assert_eq!(modified, last["timestamp"].as_str().unwrap().parse().unwrap());
    // A capsule is looked at and nothing else.
    for command in [&["sessions", "delete", "--force"][..], &["sessions", "archive"], &["exec", "resume"], &["undo"]] {
        assert_ne!(world.run(&[command, &["file:c.html"]].concat()).status, 0, "{command:?}");
    }
    let refusing = [&["sessions", "certify"][..], &["sessions", "export"], &["sessions", "fsck"], &["context", "seen"]];
    for command in refusing {
        let ran = world.run_in(&[command, &["file:c.html"]].concat(), &around);
        assert_eq!(ran.status, 2, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: `pellucid capsule open c.html --to DIR`"), "{command:?}: {}", ran.stderr);
    }
    assert!(fs::read_dir(&temporary).unwrap().next().is_none());
}

#[test]
fn an_opened_capsule_plays_the_conversation_again() {
    let (world, id) = world();
    assert_eq!(world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "none"]).status, 0);
    assert_eq!(world.run(&["capsule", "open", "c.html", "--to", "opened"]).status, 0);
    let there = world.files.path("work/opened");
    let there = [("PELLUCID_HOME", there.to_str().unwrap()), ("CODEX_HOME", there.to_str().unwrap())];
    let config = fs::read_to_string(world.files.path("work/opened/config.toml")).unwrap();
    assert_eq!(config, "model_reasoning_effort = \"low\"\n");
    let again = "019a0000-0000-7000-8000-00000000000a";
    let script = ["exec", "--script", "opened/script.jsonl", "--session-id", again, "begin"];
    let ran = world.run_in(&script, &there);
    assert_eq!((ran.status, ran.out()), (0, &*format!("the deploy token is {SECRET}\n")), "{}", ran.stderr);
    let diff = world.run_in(&["context", "diff", &format!("{id}#1"), &format!("{again}#1")], &there);
    assert_eq!(diff.status, 0, "{}", diff.out());
    // The output of the command has the time that it took, so only the answers are compared.
    let answers = |session: &str| {
        let body = world.run_in(&["prompt", "--format", "body", &format!("{session}#2")], &there);
        let body = json(&body);
        let is_of_model = |item: &&Value| item["role"] == "assistant" || item["type"] == "function_call";
        body["input"].as_array().unwrap().iter().filter(is_of_model).cloned().collect::<Vec<_>>()
    };
    assert_eq!((answers(&id).len(), answers(&id)), (2, answers(again)));
}

#[test]
fn a_capsule_has_the_users_pack_and_the_edits() {
    let world = World::new(FIXTURE);
    world.files.write(
        "work/script.toml",
        r#"[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Add File: new.txt\n+added\n*** End Patch" }]
[[reply]]
say = "done"
"#,
    );
    assert_eq!(world.run(&["pack", "new", "mine"]).status, 0);
    world.files.write("home/config.toml", "pack = \"mine\"\n");
    let ran = world.run(&["exec", "-s", "workspace-write", "--script", "script.toml", "begin"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(world.files.path("work/new.txt").exists(), "{}", ran.stderr);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    for redact in ["none", "secrets", "content"] {
        let (file, to) = (format!("{redact}.html"), format!("opened-{redact}"));
        assert_eq!(world.run(&["sessions", "capsule", &id, "-o", &file, "--redact", redact]).status, 0);
        assert_eq!(world.run(&["capsule", "open", &file, "--to", &to]).status, 0);
        let opened = world.files.path("work").join(&to);
        let has_content = redact != "content";
        assert_eq!(opened.join("packs/mine/pack.toml").exists(), has_content, "{redact}");
        assert_eq!(opened.join(format!("edits/{id}.jsonl")).exists(), has_content, "{redact}");
        let config = fs::read_to_string(opened.join("config.toml")).unwrap_or_default();
        assert_eq!(config.contains("pack = \"mine\""), has_content, "{redact}");
        if has_content {
            let there = [("PELLUCID_HOME", opened.to_str().unwrap()), ("CODEX_HOME", opened.to_str().unwrap())];
            let next = world.run_in(&["sessions", "certify", &id], &there);
            assert_eq!(next.status, 0, "{}{}", next.out(), next.stderr);
            assert_eq!(json(&next)["pack"]["name"], "mine");
        }
    }
}

#[test]
fn a_session_without_its_content_is_not_certified_and_its_changes_are_found() {
    let (world, id) = world();
    assert_eq!(world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "content"]).status, 0);
    assert_eq!(world.run(&["capsule", "open", "c.html", "--to", "opened"]).status, 0);
    let there = world.files.path("work/opened");
    let there = [("PELLUCID_HOME", there.to_str().unwrap()), ("CODEX_HOME", there.to_str().unwrap())];
    let certified = world.run_in(&["sessions", "certify", &id], &there);
    assert_eq!((certified.status, &json(&certified)["verdict"]), (3, &"not_provable".into()));
    let fsck = world.run_in(&["sessions", "fsck"], &there);
    assert!(fsck.out().contains("equal in length"), "{}", fsck.out());
    let table = world.run_in(&["replay", &id], &there);
    assert!(table.out().contains("3 requests: 0 equal, 0 different, 3 not provable"), "{}", table.out());
    assert!(table.out().contains("the content is replaced by filler of the same length"), "{}", table.out());
    for (path, bytes) in snapshot(&world.files.path("work/opened")) {
        if path.extension().is_some_and(|it| it == "jsonl") && !path.ends_with("script.jsonl") {
            let text = String::from_utf8(bytes).unwrap();
            fs::write(&path, text.replacen("message", "massage", 1)).unwrap();
            assert_eq!(world.run_in(&["replay", &id], &there).status, 1, "{}", path.display());
            fs::write(&path, text).unwrap();
        }
    }
}

#[cfg(unix)]
#[test]
fn what_a_stranger_prepared_is_opened_inside_of_the_folder_or_not_at_all() {
    use std::os::unix::fs::symlink;

    let (world, id) = world();
    assert_eq!(world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "none"]).status, 0);
    // The capsule itself is no regular file.
    world.files.folder("work/folder.html");
    let ran = world.run(&["capsule", "open", "folder.html", "--to", "opened"]);
    assert_eq!((ran.status, world.files.path("work/opened").exists()), (2, false), "{}", ran.stderr);
    // A link in the folder leads elsewhere; the folder is not empty then.
    world.files.folder("elsewhere");
    world.files.folder("work/linked");
    symlink(world.files.path("elsewhere"), world.files.path("work/linked/sessions")).unwrap();
    let ran = world.run(&["capsule", "open", "c.html", "--to", "linked"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(fs::read_dir(world.files.path("elsewhere")).unwrap().next().is_none());
    // Cut at any of some places, a capsule is damaged or none, and nothing is written.
    let html = fs::read(world.files.path("work/c.html")).unwrap();
    for part in 1..8 {
        world.files.write("work/cut.html", &html[..html.len() * part / 8]);
        let ran = world.run(&["capsule", "open", "cut.html", "--to", "opened"]);
        assert_eq!((ran.status, world.files.path("work/opened").exists()), (2, false), "{}", ran.stderr);
        assert!(ran.stderr.contains("cut.html: it"), "{}", ran.stderr);
    }
}

/// The words of a line of a shell, with quotes.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap_or_default();
    let pieces = line.split('"').enumerate().flat_map(|(n, piece)| {
        if n % 2 == 1 { vec![piece.to_owned()] } else { piece.split_whitespace().map(str::to_owned).collect() }
    });
    pieces.collect()
}

#[test]
fn the_examples_of_the_documentation_run() {
    let (world, id) = world_of(&FIXTURE.replace(SECRET, "not here"));
    let page = include_str!("../../../../docs/capsules.md");
    let mut n = 0;
    for block in page.split("```sh\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            let words: Vec<String> = words(&line.replace("ID_OR_NAME", &id));
            let (home, words) = match words[0].strip_prefix("PELLUCID_HOME=") {
                Some(home) => (world.files.path("work").join(home), &words[1..]),
                None => (world.files.path("home"), &words[..]),
            };
            assert_eq!(words[0], "pellucid", "{line}");
            let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            let ran = world.run_in(&args, &[("PELLUCID_HOME", home.to_str().unwrap())]);
            // A difference or something that is not provable is an answer.
            assert!(
                matches!(ran.status, 0 | 1 | 3) && !ran.stderr.contains("error"),
                "{line}: {}{}",
                ran.status,
                ran.stderr
            );
            n += 1;
        }
    }
    assert_eq!(n, 11);
}

/// A session whose last turn changed `work/a`, made `work/new` and whose last undo restored both.
const EDITED: &str = r#"//- work/a
one
//- work/script.toml
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Add File: new\n+x\n*** End Patch" }]
[[reply]]
say = "done"
//- home/config.toml
"#;

#[test]
fn an_opened_capsule_changes_no_file_of_this_computer() {
    let world = World::new(EDITED);
    let exec = ["exec", "--json", "-s", "danger-full-access", "--script", "script.toml", "go"];
    let ran = world.run(&exec);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let started: Value = serde_json::from_str(ran.out().lines().next().unwrap()).unwrap();
    let id = started["thread_id"].as_str().unwrap().to_owned();
    let files = || ["work/a", "work/new"].map(|path| fs::read_to_string(world.files.path(path)).ok());
    let opened = |name: &str| {
        assert_eq!(world.run(&["sessions", "capsule", &id, "-o", "c.html", "--redact", "none"]).status, 0);
        assert_eq!(world.run(&["capsule", "open", "c.html", "--to", name]).status, 0);
        world.files.path("work").join(name).to_str().unwrap().to_owned()
    };
    let run = |home: &str, args: &[&str]| world.run_in(args, &[("PELLUCID_HOME", home), ("CODEX_HOME", home)]);
    let refuses = |home: &str, args: &[&str]| {
        let before = files();
        let ran = run(home, args);
        assert_eq!(ran.status, 1, "{args:?}: {}{}", ran.out(), ran.stderr);
        assert!(ran.stderr.contains("was made by `pellucid capsule open`"), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("hint: `pellucid {} {id} --dry-run`", args[0])), "{}", ran.stderr);
        assert_eq!(files(), before, "{args:?}");
    };
    // The files are as the stranger's session left them, so an undo would fit.
    let there = opened("edited");
    assert_eq!(files(), [Some("two\n".to_owned()), Some("x\n".to_owned())]);
    for words in [&["undo", &id][..], &["undo", &id, "--both"], &["undo", &id, "--skip-changed"]] {
        refuses(&there, words);
    }
    let listed = run(&there, &["undo", &id, "--dry-run"]);
    assert_eq!(listed.status, 0, "{}", listed.stderr);
    assert!(listed.out().contains("restore") && listed.out().contains("work/new"), "{}", listed.out());
    // A copy of the session has the same patches.
    let copy = run(&there, &["fork", &id]);
    assert_eq!(copy.status, 0, "{}", copy.stderr);
    let before = files();
    assert_eq!(run(&there, &["undo", copy.out().trim()]).status, 1);
    assert_eq!(files(), before);
    // In the home folder where it ran, the same undo works, and so does a redo.
    assert_eq!(world.run(&["undo", &id]).status, 0);
    assert_eq!(files(), [Some("one\n".to_owned()), None]);
    let there = opened("undone");
    refuses(&there, &["redo", &id]);
    assert_eq!(run(&there, &["redo", &id, "--dry-run"]).status, 0);
    assert_eq!(run(&there, &["undo", &id, "--conversation"]).status, 0);
    assert_eq!(world.run(&["redo", &id]).status, 0);
    assert_eq!(files(), [Some("two\n".to_owned()), Some("x\n".to_owned())]);
}

/// The diff of a stranger's session stays in the repository, and out of what git runs.
#[test]
fn the_diff_of_a_capsule_is_applied_only_below_the_folder() {
    for path in ["../outside", "ROOT/outside", ".git/hooks/post-checkout", "sub/../../outside", "link/outside"] {
        let world = World::new("//- work/kept\nkept\n//- away/kept\n");
        std::os::unix::fs::symlink(world.files.path("away"), world.files.path("work/link")).unwrap();
        let root = world.files.root().to_str().unwrap().to_owned();
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch", path.replace("ROOT", &root));
        let cwd = world.files.path("work").to_str().unwrap().to_owned();
        let id = "019a0000-0000-7000-8000-000000000001";
        let line = |kind: &str, payload: Value| {
            serde_json::json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}).to_string()
        };
        let output = serde_json::json!({"output": "", "metadata": {"exit_code": 0}}).to_string();
        let lines = [
            line(
                "session_meta",
                serde_json::json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd, "originator": "o",
                    "cli_version": "v"}),
            ),
            line(
                "response_item",
                serde_json::json!({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": patch}),
            ),
            line(
                "response_item",
                serde_json::json!({"type": "custom_tool_call_output", "call_id": "c", "output": output}),
            ),
        ];
        let session = format!("home/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{id}.jsonl");
        world.files.write(&session, lines.join("\n") + "\n");
        let ran = world.run(&["apply", id]);
        assert_eq!(ran.status, 1, "{path}: {}{}", ran.out(), ran.stderr);
        for place in ["outside", "away/outside", "work/outside", "work/.git/hooks/post-checkout"] {
            assert!(!world.files.path(place).exists(), "{path}: {place}");
        }
    }
}
