//! `sessions certify`, `sessions capsule` and `capsule open`.

use std::fs;

use serde_json::Value;

use crate::Ran;
use crate::World;

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
    let world = World::new(FIXTURE);
    let ran = world.run(&["exec", "--script", "script.toml", "begin"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(world.run(&["exec", "--script", "more.toml", "resume", "--last", "go on"]).status, 0);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
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
    assert_eq!((same.status, same.out()), (0, "the certificate is the same: extends\n"), "{}", same.stderr);
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
    assert!(made.stderr.contains("secrets redacted"), "{}", made.stderr);
    let html = fs::read_to_string(world.files.path("work/c.html")).unwrap();
    assert!(!html.contains(SECRET) && html.contains("[redacted:token]"));
    assert_eq!(html.matches("<script").count(), 1, "only the block with the data");
    assert!(html.contains("&lt;script&gt;alert(1)"));
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
    assert!(!fs::read_to_string(world.files.path("work/c.html")).unwrap().contains("the deploy token"));
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
