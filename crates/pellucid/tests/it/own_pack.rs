//! What `docs/packs/pellucid.md` says of the pack `pellucid`, claim by claim, over every API format. The figures of that page are
//! in `other_packs`, deferred tools in `deferred`.

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

fn said(wire: &str, text: &str) -> MockReply {
    let content = json!([{ "type": "output_text", "text": text }]);
    let item = json!({ "type": "message", "id": "m", "role": "assistant", "content": content });
    match wire {
        "chat" => MockReply::chat([item]),
        "messages" => MockReply::messages([item]),
        _ => MockReply::items([item]),
    }
}

fn world(server: &MockServer, wire: &str, top: &str, fixture: &str) -> World {
    let world = World::new(fixture);
    let url = server.base_url();
    world.files.write(
        "home/config.toml",
        format!(
            "model = \"gpt-5.1\"\nmodel_provider = \"mock\"\npack = \"pellucid\"\n{top}\n[model_providers.mock]\nname = \"Mock\"\n\
             base_url = \"{url}\"\nwire_api = \"{wire}\"\n"
        ),
    );
    world
}

fn bodies(server: &MockServer) -> Vec<String> {
    server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect()
}

#[track_caller]
fn exec(world: &World, args: &[&str]) {
    let ran = world.run(&[&["exec"], args].concat());
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
}

const RULES: &str = "//- work/AGENTS.md\nKeep the lamp lit.\n//- work/sub/x\n";

#[test]
fn what_a_project_shares_comes_before_settings() {
    for wire in WIRES {
        let server = MockServer::start([said(wire, "Yes."), said(wire, "Yes.")]);
        let world = world(&server, wire, "", RULES);
        exec(&world, &["--sandbox", "read-only", "Hi."]);
        exec(&world, &["--sandbox", "workspace-write", "Hi."]);
        let messages = |body: &String| {
            let body: Value = serde_json::from_str(body).unwrap();
            [&body["input"], &body["messages"]].into_iter().find(|it| it.is_array()).unwrap().to_string()
        };
        let bodies: Vec<String> = bodies(&server).iter().map(messages).collect();
        let n_same = bodies[0].bytes().zip(bodies[1].bytes()).take_while(|(one, two)| one == two).count();
        let shared = &bodies[0][..n_same];
        assert!(shared.contains("Keep the lamp lit.") && shared.contains("<permissions"), "{wire}: {shared}");
        assert!(!shared.contains("<environment_context>"), "{wire}: {shared}");
    }
}

#[test]
fn the_file_next_to_the_work_is_whole_and_what_is_cut_says_so() {
    for wire in WIRES {
        let root = "The root has a rule in every line.\n".repeat(60);
        let fixture = format!("//- work/AGENTS.md\n{root}//- work/sub/AGENTS.md\nThe leaf has one rule.\n");
        let server = MockServer::start([said(wire, "Yes.")]);
        let world = world(&server, wire, "project_doc_max_bytes = 400", &fixture);
        exec(&world, &["-C", "sub", "Hi."]);
        let body = &bodies(&server)[0];
        assert!(body.contains("The leaf has one rule.\\n"), "{wire}: {body}");
        let n_lines = body.matches("The root has a rule in every line.").count();
        assert!((1..12).contains(&n_lines), "{wire}: {n_lines} lines");
        // The model learns that lines are missing, and so does the report.
        assert!(body.contains("cut"), "{wire}: {body}");
        let report = world.run(&["context", "-v", "-C", "sub", "Hi."]);
        let left_out = report.out().lines().filter(|line| line.contains("AGENTS.md") && line.contains("cut")).count();
        assert!(left_out >= 1, "{wire}: {}", report.out());
        // Whatever the budget, the leaf is whole or the report names it.
        for budget in ["1", "10", "25", "60"] {
            let key = format!("project_doc_max_bytes={budget}");
            let shown = world.run(&["context", "--json", "-c", &key, "-C", "sub", "Hi."]);
            let report: Value = serde_json::from_slice(&shown.stdout).unwrap();
            let is_named = report["omissions"].to_string().contains("sub/AGENTS.md");
            let body = world.run(&["prompt", "--format", "body", "-c", &key, "-C", "sub", "Hi."]);
            let is_whole = body.out().contains("The leaf has one rule.\\n");
            assert!(is_whole || is_named, "{wire} {budget}: {report}");
        }
    }
}

#[test]
fn rules_that_join_or_change_are_sent() {
    for wire in WIRES {
        let fixture = "//- work/AGENTS.md\nSee @more.md for more.\n//- work/more.md\nMore rules.\n";
        let server = MockServer::start([said(wire, "Yes."), said(wire, "Yes.")]);
        let world = world(&server, wire, "", fixture);
        exec(&world, &["Hi."]);
        world.files.write("work/AGENTS.md", "See @more.md for more.\nAnd keep quiet.\n");
        exec(&world, &["resume", "--last", "And?"]);
        let bodies = bodies(&server);
        assert!(bodies[0].contains("More rules."), "{wire}: {}", bodies[0]);
        assert!(
            !bodies[0].contains("And keep quiet.") && bodies[1].contains("And keep quiet."),
            "{wire}: {}",
            bodies[1]
        );
    }
}

#[test]
fn instruction_files_are_said_again_after_thirty_turns() {
    let wire = "chat";
    let server = MockServer::start((0..32).map(|_| said(wire, "Yes.")));
    let world = world(&server, wire, "resume_context = \"changed\"", RULES);
    exec(&world, &["Hi."]);
    for _ in 1..32 {
        exec(&world, &["resume", "--last", "And?"]);
    }
    let counts: Vec<usize> = bodies(&server).iter().map(|body| body.matches("Keep the lamp lit.").count()).collect();
    let first = counts.iter().position(|count| *count == 2);
    assert_eq!(first, Some(30), "{counts:?}");
    assert_eq!(counts[31], 2, "{counts:?}");
}

#[test]
fn instructions_follow_a_summary_that_accounts_for_every_request() {
    for wire in WIRES {
        let marks = "<requests>\n<request n=\"1\" state=\"completed\">did it</request>\n</requests>";
        let replies = [
            said(wire, "First answer."),
            said(wire, "Second answer."),
            said(wire, "SUMMARY without marks."),
            said(wire, &format!("SUMMARY. {marks}")),
            said(wire, "Done."),
        ];
        let server = MockServer::start(replies);
        let world = world(&server, wire, "resume_context = \"changed\"", RULES);
        exec(&world, &["Light it."]);
        exec(&world, &["resume", "--last", "Put it out."]);
        let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
        let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
        let compacted = world.run(&["compact", &id]);
        assert_eq!(compacted.status, 0, "{wire}: {}", compacted.stderr);
        exec(&world, &["resume", &id, "And now?"]);
        let last = bodies(&server).pop().unwrap();
        assert_eq!(last.matches("Keep the lamp lit.").count(), 1, "{wire}: {last}");
        assert!(last.contains("SUMMARY.") && !last.contains("without marks"), "{wire}: {last}");
        assert!(
            last.contains("Second answer.") && !last.contains("First answer."),
            "the last turn stays, {wire}: {last}"
        );
    }
}

#[test]
fn the_pack_is_beside_the_others_with_its_figures() {
    let server = MockServer::start([]);
    let world = world(&server, "responses", "", RULES);
    let shown = world.run(&["context", "packs", "Hi."]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    let head = shown.out().lines().find(|line| line.contains("CODEX") && line.contains("PELLUCID"));
    assert!(head.is_some(), "{}", shown.out());
    let json: Value = serde_json::from_slice(&world.run(&["context", "packs", "--json", "Hi."]).stdout).unwrap();
    assert!(json.to_string().contains("\"pellucid\""), "{json}");
}
