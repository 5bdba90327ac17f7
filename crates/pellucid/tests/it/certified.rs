//! Sessions by earlier releases, kept as capsules in `tests/certified/RELEASE`: this release replays and certifies all of them as
//! the release that wrote them did.
//!
//! The folder is another one each time. `openclaw` names it in its instructions and `risuai` in the items before the
//! conversation, so their requests diverge there; all others extend.
//!
//! A difference is a breaking change: it belongs into `CHANGELOG.md`, and then `UPDATE_EXPECT=1` writes what this release says.
//! `PELLUCID_CERTIFIED=RELEASE` plays the sessions again and keeps them for a new release.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const ID: &str = "019a0000-0000-7000-8000-000000000001";
const PACKS: [&str; 5] = ["codex", "openclaw", "ads", "agentcore", "risuai"];
const WIRES: [&str; 3] = ["responses", "chat", "messages"];

/// The fields of a certificate that do not depend on the folder in which it is made.
const FIELDS: [&str; 5] = ["session", "record", "last", "seal", "anchor"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certified")
}

fn config(pack: &str, wire: &str, url: &str) -> String {
    format!(
        "pack = \"{pack}\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{url}\"\n\
         wire_api = \"{wire}\"\n"
    )
}

fn world() -> World {
    World::new("//- work/AGENTS.md\nUse \"tabs\", caf\u{e9}.\n//- work/notes.txt\none\ntwo\n")
}

/// Plays a session of two turns with a call, and keeps it.
fn play(release: &Path, pack: &str, wire: &str) {
    let say = |text: &str| json!({ "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    let plan = json!({ "plan": [{ "step": "look", "status": "completed" }] }).to_string();
    let call = json!({ "type": "function_call", "call_id": "c1", "name": "update_plan", "arguments": plan });
    let reply = |items: Vec<Value>| match wire {
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        _ => MockReply::items(items),
    };
    let replies = [vec![say("I plan."), call], vec![say("Done.")], vec![say("Done \"again\".")]];
    let server = MockServer::start(replies.map(reply));
    let world = world();
    world.files.write("home/config.toml", config(pack, wire, &server.base_url()));
    let file = release.join(format!("{pack}-{wire}.html"));
    let file = file.to_str().unwrap();
    for args in [
        &["exec", "--session-id", ID, "Plan it."][..],
        &["exec", "resume", ID, "Once more."],
        &["sessions", "capsule", ID, "--redact", "none", "-o", file],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{pack} {wire} {args:?}: {}", ran.stderr);
    }
}

/// What this release says of a kept session.
fn certified(capsule: &Path, pack: &str, wire: &str) -> Value {
    let world = world();
    let opened = world.files.path("opened");
    let opened = opened.to_str().unwrap();
    let ran = world.run(&["capsule", "open", capsule.to_str().unwrap(), "--to", opened]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // No request is sent.
    world.files.write("opened/config.toml", config(pack, wire, "http://127.0.0.1:9/v1"));
    let home = [("PELLUCID_HOME", opened), ("CODEX_HOME", opened)];
    let replayed = world.run_in(&["replay", "--json", ID], &home);
    let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
    let ran = world.run_in(&["sessions", "certify", ID], &home);
    let certificate: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let requests = replayed["requests"].as_array().unwrap();
    let verdicts: Vec<&Value> = requests.iter().map(|request| &request["verdict"]).collect();
    let mut said = json!({
        "replay": verdicts,
        "verdict": certificate["verdict"],
        "cause": certificate["next"]["first_difference"]["cause"],
    });
    for field in FIELDS {
        said[field] = certificate[field].clone();
    }
    said
}

#[test]
fn every_kept_session_is_certified_as_it_was() {
    if let Ok(release) = std::env::var("PELLUCID_CERTIFIED") {
        let release = corpus().join(release);
        fs::create_dir_all(&release).unwrap();
        PACKS.iter().for_each(|pack| WIRES.iter().for_each(|wire| play(&release, pack, wire)));
    }
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some_and(|it| it == "1");
    let mut releases: Vec<PathBuf> = fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    releases.sort();
    assert!(!releases.is_empty());
    for release in releases {
        let mut said = serde_json::Map::new();
        for pack in PACKS {
            for wire in WIRES {
                let name = format!("{pack}-{wire}");
                let capsule = release.join(format!("{name}.html"));
                said.insert(name, certified(&capsule, pack, wire));
            }
        }
        let (said, expected) = (Value::Object(said), release.join("expected.json"));
        if is_update {
            fs::write(&expected, serde_json::to_string_pretty(&said).unwrap() + "\n").unwrap();
        }
        let expected: Value = serde_json::from_str(&fs::read_to_string(&expected).unwrap()).unwrap();
        for (name, now) in said.as_object().unwrap() {
            assert_eq!(*now, expected[name], "{name}: this release says something else of a session of {release:?}");
            let all_equal = now["replay"].as_array().unwrap().iter().all(|verdict| verdict == "equal");
            assert!(all_equal && now["verdict"] != "not_provable", "{name}: {now}");
        }
    }
}
