//! The packs of `examples/packs`: layouts of other programs, written as a user would, without code.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;

use crate::World;

const FIXTURE: &str = "
//- home/AGENTS.md
Be brief.
//- work/AGENTS.md
# Rules
Test it.
";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/packs")
}

/// A world with the packs of the examples in its home folder.
fn world() -> (World, Vec<String>) {
    let world = World::new(FIXTURE);
    let mut names = Vec::new();
    for pack in fs::read_dir(examples()).unwrap() {
        let pack = pack.unwrap();
        let name = pack.file_name().into_string().unwrap();
        for file in fs::read_dir(pack.path()).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap();
            let place = format!("home/packs/{name}/{}", file.file_name().to_string_lossy());
            world.files.write(place, text);
        }
        names.push(name);
    }
    names.sort();
    (world, names)
}

#[test]
fn every_example_is_valid_shown_sent_recorded_and_rebuilt() {
    let (world, names) = world();
    assert_eq!(names, ["claude", "gemini"]);
    for (n, name) in names.into_iter().enumerate() {
        let checked = world.run(&["pack", "check", &name]);
        assert_eq!(checked.status, 0, "{}", checked.stderr);
        let server = MockServer::start([MockReply::say("Fine.")]);
        world.files.write(
            "home/config.toml",
            format!(
                "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n",
                server.base_url()
            ),
        );
        let id = &format!("01a1b2c3-0000-7000-8000-00000000000{n}");
        let args = ["--session-id", id.as_str(), "hi"];
        let shown = world.run(&[&["prompt", "--format", "body", "--pack", &name][..], &args].concat());
        let ran = world.run(&[&["exec", "--pack", &name][..], &args].concat());
        assert_eq!((ran.status, ran.out()), (0, "Fine.\n"), "{}", ran.stderr);
        let sent = server.requests().remove(0).body;
        assert_eq!(&shown.stdout[..], &sent[..], "{name}");
        let body: Value = serde_json::from_slice(&sent).unwrap();
        let text = body.to_string();
        assert!(text.contains("Be brief.") && text.contains("# Rules\\nTest it."), "{name}: {text}");
        let replayed = world.run(&["replay", id]);
        assert_eq!(replayed.status, 0, "{name}: {}{}", replayed.out(), replayed.stderr);
        let report = world.run(&["context", "--json", "--pack", &name, "hi"]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let sources = report["sources"].as_array().unwrap();
        for file in ["home/AGENTS.md", "work/AGENTS.md"] {
            let row = sources.iter().find(|row| row["source"].as_str().is_some_and(|it| it.ends_with(file)));
            assert_eq!(row.map(|row| &row["status"]), Some(&Value::from("full")), "{name}: {sources:?}");
        }
    }
}
