//! Skills from end to end: a text that is loaded on use, and what is left of it after a summary.

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;
use crate::schemas::check_form;

const SKILL: &str = "---\nname: tidy\ndescription: About tidy.\n---\nBody of tidy.\n";

fn reply(wire: &str, text: &str) -> MockReply {
    let item = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    match wire {
        "chat" => MockReply::chat([item]),
        "messages" => MockReply::messages([item]),
        _ => MockReply::items([item]),
    }
}

/// How often each request has the text of the skill.
fn n_bodies(server: &MockServer) -> Vec<usize> {
    let n = |body: Vec<u8>| String::from_utf8(body).unwrap().matches("Body of tidy.").count();
    server.requests().into_iter().map(|request| n(request.body)).collect()
}

#[test]
fn a_used_skill_stays_behind_a_summary_on_every_wire() {
    for wire in ["responses", "chat", "messages"] {
        for (keep, expected) in [("true", [0, 1, 1, 1]), ("false", [0, 1, 0, 0])] {
            let server = MockServer::start(["one", "two", "three", "four"].map(|text| reply(wire, text)));
            let world = World::new("");
            world.files.write("work/.agents/skills/tidy/SKILL.md", SKILL);
            world.files.write("work/notes.md", "the story so far");
            world.files.write(
                "home/config.toml",
                format!(
                    "model = \"gpt-5.1-codex\"\nmodel_provider = \"mock\"\ncompaction.keep_skills = {keep}\n\
                     [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\n",
                    server.base_url()
                ),
            );
            let done = |args: &[&str]| {
                let ran = world.run(args);
                assert_eq!(ran.status, 0, "{wire} {args:?}: {}{}", ran.out(), ran.stderr);
                ran
            };
            done(&["exec", "hello"]);
            done(&["exec", "resume", "--last", "use $tidy"]);
            done(&["compact", "--last", "--summary", "notes.md"]);
            done(&["exec", "resume", "--last", "go on"]);
            done(&["exec", "resume", "--last", "and on"]);
            assert_eq!(n_bodies(&server), expected, "{wire}, keep_skills = {keep}");
            done(&["replay", "--last"]);
            // The bytes of the kept text are still known to come from the file.
            let report = done(&["context", "--json", "--last", "next"]);
            let report: Value = serde_json::from_slice(&report.stdout).unwrap();
            let rows = report["rows"].as_array().unwrap().iter();
            let is_body = |row: &&Value| {
                row["part"] == "skill" && row["origin"].as_str().is_some_and(|it| it.ends_with("tidy/SKILL.md"))
            };
            let n_rows = rows.filter(is_body).count();
            assert_eq!(n_rows > 0, keep == "true", "{wire}: {report:#}");
        }
    }
}

#[test]
fn skills_are_checked_against_the_format() {
    let world = World::new("");
    world.files.write("work/.agents/skills/tidy/SKILL.md", SKILL);
    let good = world.run(&["skills", "check"]);
    assert_eq!((good.status, good.out()), (0, "1 skill checked: nothing is wrong\n"), "{}", good.stderr);
    world.files.write("work/.agents/skills/other/SKILL.md", SKILL);
    world.files.write("work/.agents/skills/broken/SKILL.md", "no head");
    let bad = world.run(&["skills", "check"]);
    assert_eq!(bad.status, 1);
    let text = world.shown(bad.out());
    assert!(
        text.contains("other/SKILL.md: the folder is called `other`, and must be called like the skill, `tidy`"),
        "{text}"
    );
    assert!(text.contains("broken/SKILL.md: the file does not begin with a head"), "{text}");
    assert!(text.ends_with("3 skills checked: 2 with faults\n"), "{text}");
    let one = world.run(&["skills", "check", "--json", ".agents/skills/tidy"]);
    let value: Value = serde_json::from_slice(&one.stdout).unwrap();
    check_form(&world, &value);
    assert_eq!((one.status, &value["skills"][0]["faults"]), (0, &json!([])));
    let none = world.run(&["skills", "check", "nowhere"]);
    assert_eq!(none.status, 1);
    assert!(none.stderr.contains("nowhere/SKILL.md cannot be read"), "{}", none.stderr);
}
