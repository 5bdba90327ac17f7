//! What users of standing texts see and set: phases of work, injections in the record, and equal requests from all clients.

use std::fs;

use expect_test::expect;
#[cfg(unix)]
use pellucid_testkit::LiveTerminal;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;
use crate::context_events::Client;

const ID: &str = "00000000-0000-7000-8000-000000000001";

/// A project with rules and the pack `ads`, whose sessions ask no person. The settings that differ between clients by
/// default (approvals, modes, agents) are the same.
fn world() -> World {
    let world = World::new(
        "//- work/script.toml\n[[reply]]\nsay = \"Reply 1.\"\nusage = { input = 1000, output = 10 }\n\
         //- work/.ads/rules.md\nUse tabs.\n",
    );
    let work = world.files.path("work");
    let config = format!(
        "pack = \"ads\"\napproval_policy = \"never\"\nsandbox_mode = \"read-only\"\n[features]\nmulti_agent = true\ncollaboration_modes = false\n[projects.{work:?}]\ntrust_level = \"trusted\"\n"
    );
    world.files.write("home/config.toml", config);
    world
}

fn exec(world: &World, more: &[&str]) -> Ran {
    let ran = world.run(&[&["exec", "--script", "script.toml"], more].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran
}

/// The phase that goes before a message, by the bytes of the next request.
fn phase_of_next(world: &World, more: &[&str]) -> Option<String> {
    let ran = world.run(&[&["prompt"], more, &["look"]].concat());
    let text = ran.out();
    let found = text.rfind("Phase: ").map(|at| &text[at + 7..]);
    found.map(|rest| rest[..rest.find('.').unwrap()].to_owned())
}

#[track_caller]
fn check_phase(world: &World, args: &[&str], status: i32, expected: &expect_test::Expect) {
    let ran = world.run(&[&["phase"], args].concat());
    assert_eq!(ran.status, status, "{}{}", ran.out(), ran.stderr);
    expected.assert_eq(&world.shown(&format!("{}{}", ran.out(), ran.stderr)));
}

#[test]
fn a_phase_is_set_for_the_workspace_and_for_a_session() {
    let world = world();
    exec(&world, &["--session-id", ID, "one"]);
    check_phase(
        &world,
        &["show"],
        0,
        &expect![[r#"
            phase      none
            phases     requirements, implementation, review
        "#]],
    );
    assert_eq!(phase_of_next(&world, &[]), None);
    check_phase(
        &world,
        &["next"],
        0,
        &expect![[r#"
            phase      requirements (set for the workspace)
            phases     requirements, implementation, review
            workspace  requirements  ROOT/work
        "#]],
    );
    check_phase(
        &world,
        &["set", "review", "--session", ID],
        0,
        &expect![[r#"
            phase      review (set for the session)
            phases     requirements, implementation, review
            session    review
            workspace  requirements  ROOT/work
        "#]],
    );
    assert_eq!(phase_of_next(&world, &[]).as_deref(), Some("requirements"));
    assert_eq!(phase_of_next(&world, &["--session", ID]).as_deref(), Some("review"));
    check_phase(&world, &["next", "--session", ID], 2, &expect!["error: `review` is the last phase\n"]);
    check_phase(
        &world,
        &["set", "rest"],
        2,
        &expect!["error: phase `rest`: the pack `ads` knows requirements, implementation, review\n"],
    );
    check_phase(
        &world,
        &["set", "review", "-c", "pack=codex"],
        2,
        &expect!["error: phase `review`: the pack `codex` has no prompts for phases\n"],
    );
    let ran = world.run(&["phase", "clear", "--session", ID, "--json"]);
    let shown: Value = serde_json::from_str(ran.out()).unwrap();
    assert_eq!(shown["phase"], json!({ "name": "requirements", "chosen_by": "workspace" }));
    assert_eq!((&shown["session"], &shown["workspace"]), (&Value::Null, &json!("requirements")));
    assert_eq!(world.run(&["phase", "clear"]).status, 0);
    assert_eq!(phase_of_next(&world, &["-c", "phase=review"]).as_deref(), Some("review"));
    let unknown = world.run(&["phase", "show", "--session", "nothing"]);
    assert_eq!(unknown.status, 2, "{}", unknown.stderr);
}

#[test]
fn the_report_names_the_phase_and_the_setting_that_chose_it() {
    let world = world();
    assert_eq!(world.run(&["phase", "set", "review"]).status, 0);
    let ran = world.run(&["context", "-vv", "look"]);
    assert!(ran.out().contains("\nphase\n  review (set for the workspace)\n"), "{}", ran.out());
    let ran = world.run(&["context", "--json", "look"]);
    let report: Value = serde_json::from_str(ran.out()).unwrap();
    assert_eq!(report["phase"], json!({ "name": "review", "chosen_by": "workspace" }));
    world.files.write("home/config.toml", "pack = \"codex\"\n");
    let ran = exec(&world, &["look"]);
    let warning = "warning: phase `review`: the pack `codex` has no prompts for phases";
    assert!(ran.stderr.lines().any(|line| line == warning), "{}", ran.stderr);
}

#[test]
fn a_copy_has_the_phase_of_its_session_and_a_deleted_session_leaves_none() {
    let world = world();
    exec(&world, &["--session-id", ID, "one"]);
    assert_eq!(world.run(&["phase", "set", "review", "--session", ID]).status, 0);
    let copy = world.run(&["fork", ID]).out().trim().to_owned();
    assert_eq!(phase_of_next(&world, &["--session", &copy]).as_deref(), Some("review"));
    let file = world.files.path(format!("home/session_state/{ID}.phase.json"));
    assert!(file.exists());
    assert_eq!(world.run(&["sessions", "delete", "--yes", ID]).status, 0);
    assert!(!file.exists());
}

/// The injections that a list of them has: request, file, beginning of the hash, bytes, reason, turn and channel.
fn shown(injections: &Value) -> Vec<String> {
    let row = |it: &Value| {
        let of = |name: &str| it[name].to_string().replace('"', "");
        let path = of("path").rsplit('/').next().unwrap().to_owned();
        let hash = of("hash").chars().take(7).collect::<String>();
        let members = ["bytes_after", "reason", "turn", "channel"].map(of);
        format!("{} {path} {hash} {}", of("request"), members.join(" "))
    };
    injections.as_array().unwrap().iter().map(row).collect()
}

fn recorded(world: &World, id: &str) -> Vec<String> {
    let ran = world.run(&["sessions", "show", id, "--injections", "--json"]);
    let listed: Value = serde_json::from_str(ran.out()).unwrap();
    shown(&listed["injections"])
}

#[test]
fn the_record_has_every_file_of_every_injection() {
    let world = world();
    exec(&world, &["--session-id", ID, "one"]);
    exec(&world, &["resume", ID, "two"]);
    fs::write(world.files.path("work/.ads/rules.md"), "Use spaces.\n").unwrap();
    exec(&world, &["-c", "phase=review", "resume", ID, "three"]);
    let expected = [
        "1 instructions.md 7ea13d9 758 initial 0 exec",
        "1 rules.md b1946ac 9 initial 0 exec",
        "3 instructions.md 7ea13d9 758 rules-updated 2 exec",
        "3 rules.md 0000000 11 rules-updated 2 exec",
        "3 review.md 0000000 0 phase-review 2 exec",
    ];
    let rows = recorded(&world, ID);
    let steady = |row: &str| {
        let words: Vec<&str> = row.split(' ').collect();
        [&words[..2], &words[4..]].concat().join(" ")
    };
    assert_eq!(
        rows.iter().map(|row| steady(row)).collect::<Vec<_>>(),
        expected.iter().map(|row| steady(row)).collect::<Vec<_>>()
    );
    let text = world.shown(world.run(&["sessions", "show", ID, "--injections"]).out());
    assert!(text.starts_with("turn 0, request 1, exec\n  instructions  "), "{text}");
    assert!(text.contains("\nturn 2, request 3, exec\n"), "{text}");
    assert!(text.contains("phase-review (by config)\n"), "{text}");
    // The chain of the record holds, and every request is rebuilt.
    for args in [&["replay", ID][..], &["sessions", "certify", ID], &["sessions", "fsck"]] {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {}{}", ran.out(), ran.stderr);
    }
    world.files.write("home/config.toml", "pack = \"codex\"\n");
    exec(&world, &["--session-id", "00000000-0000-7000-8000-000000000002", "one"]);
    let none = world.run(&["sessions", "show", "00000000-0000-7000-8000-000000000002", "--injections"]);
    assert_eq!(none.out(), "no injection is recorded\n");
}

/// The files before the input that `context --form injections` lists.
fn listed(world: &World, args: &[&str]) -> Vec<String> {
    let ran = world.run(&[&["context", "--form", "injections"], args].concat());
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    let values = ran.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let standing = values.filter(|it| it["source_type"] == "standing");
    standing.map(|it| format!("{} {}", it["item_id"], it["reason"]).replace('"', "")).collect()
}

#[test]
fn injections_are_listed_of_coming_and_sent_requests_with_any_layout() {
    let world = world();
    let initial = ["instructions initial", "rules initial"];
    assert_eq!(listed(&world, &["look"]), initial);
    exec(&world, &["--session-id", ID, "one"]);
    assert_eq!(listed(&world, &["--session", ID, "look"]), [""; 0]);
    assert_eq!(world.run(&["phase", "set", "review", "--session", ID]).status, 0);
    assert_eq!(listed(&world, &["--session", ID, "look"]), ["phase phase-review"]);
    assert_eq!(listed(&world, &[&format!("{ID}#1")]), initial);
    world.files.write("home/config.toml", "[reinject]\nrules = \".ads/rules.md\"\n");
    for pack in pellucid_engine::pack::Pack::builtin_names() {
        let rows = listed(&world, &["-c", &format!("pack={pack}"), "look"]);
        assert!(rows.iter().any(|row| row == "rules initial"), "{pack}: {rows:?}");
    }
}

/// A situation of standing texts: what is done between turns, and the size of the request that the server reports for each.
struct Case {
    name: &'static str,
    config: &'static str,
    usages: &'static [u64],
    before: fn(&World, usize),
    /// In which turns the texts are sent.
    injected: &'static [bool],
}

const CASES: &[Case] = &[
    Case { name: "initial", config: "", usages: &[1000, 1000], before: |_, _| {}, injected: &[true, false] },
    Case {
        name: "rules changed",
        config: "",
        usages: &[1000, 1000, 1000],
        before: |world, turn| {
            if turn == 1 {
                fs::write(world.files.path("work/.ads/rules.md"), "Use spaces, never tabs.\n").unwrap();
            }
        },
        injected: &[true, true, false],
    },
    Case {
        name: "turns",
        config: "turns = 2\ntrigger = \"turns\"\n",
        usages: &[1000, 1000, 1000, 1000],
        before: |_, _| {},
        injected: &[true, false, true, false],
    },
    Case {
        name: "occupancy",
        config: "",
        usages: &[1000, 90_000, 90_000, 90_000],
        before: |_, _| {},
        injected: &[true, false, true, false],
    },
    Case {
        name: "rules missing",
        config: "",
        usages: &[1000, 1000],
        before: |world, turn| {
            if turn == 0 {
                fs::remove_file(world.files.path("work/.ads/rules.md")).unwrap();
            }
        },
        injected: &[true, false],
    },
    Case {
        name: "phase",
        config: "",
        usages: &[1000, 1000, 1000],
        before: |world, turn| {
            let name = ["requirements", "review"].get(turn);
            let args: &[&str] = match name {
                Some(name) => &["phase", "set", name],
                None => &["phase", "clear"],
            };
            assert_eq!(world.run(args).status, 0);
        },
        injected: &[true, false, false],
    },
];

/// A client that runs the turns of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Exec,
    AppServer,
    #[cfg(unix)]
    Terminal,
}

impl Case {
    fn world(&self) -> World {
        let world = world();
        let config = world.files.read("home/config.toml");
        // Each turn of `exec` is a process that resumes the session, which would say the context again.
        let config = format!("resume_context = \"changed\"\n{config}[reinject]\n{}", self.config);
        world.files.write("home/config.toml", config);
        world
    }

    fn script(&self, turns: std::ops::Range<usize>) -> String {
        let reply = |turn: usize| {
            let usage = self.usages[turn];
            format!("[[reply]]\nsay = \"Reply {turn}.\"\nusage = {{ input = {usage}, output = 10 }}\n")
        };
        turns.map(reply).collect()
    }

    /// Runs the turns. Gives the id of the session.
    fn run(&self, world: &World, runner: Runner) -> String {
        let n = self.usages.len();
        world.files.write("work/script.toml", self.script(0..n));
        match runner {
            Runner::Exec => {
                for turn in 0..n {
                    (self.before)(world, turn);
                    // Each process begins its script again.
                    world.files.write("work/script.toml", self.script(turn..turn + 1));
                    let text = format!("turn {turn}");
                    let how = if turn == 0 { "--session-id" } else { "resume" };
                    exec(world, &[how, ID, &text]);
                }
                ID.to_owned()
            }
            Runner::AppServer => {
                let mut client = Client::start(world, "script.toml");
                client.introduce(&json!({}));
                let mut thread = None;
                for turn in 0..n {
                    (self.before)(world, turn);
                    let (method, params) = match &thread {
                        None => ("thread/start", json!({})),
                        Some(id) => ("thread/resume", json!({ "threadId": id })),
                    };
                    let (id, _) = client.turn(method, &params, &format!("turn {turn}"));
                    thread = Some(id);
                }
                thread.unwrap()
            }
            #[cfg(unix)]
            Runner::Terminal => {
                (self.before)(world, 0);
                let mut command = world.command(&["--script", "script.toml"]);
                command.env("TERM", "xterm");
                let mut terminal = LiveTerminal::start((100, 30), command);
                terminal.write(b"\x1b[1;1R\x1b[?62c");
                terminal.read_until("Ask anything");
                for turn in 0..n {
                    if turn > 0 {
                        (self.before)(world, turn);
                    }
                    // Tab sends as Enter does, and is never a part of a paste.
                    terminal.write(format!("turn {turn}\t").as_bytes());
                    terminal.read_until(&format!("Reply {turn}."));
                }
                terminal.write(b"\x04");
                assert_eq!(terminal.wait().1, 0, "{}", self.name);
                id_of_only_session(world)
            }
        }
    }
}

/// The id of the only session, by the name of its file.
#[cfg(unix)]
fn id_of_only_session(world: &World) -> String {
    let mut path = world.files.path("home/sessions");
    while path.is_dir() {
        path = fs::read_dir(&path).unwrap().next().unwrap().unwrap().path();
    }
    let name = path.file_stem().unwrap().to_str().unwrap();
    name[name.len() - ID.len()..].to_owned()
}

/// The bodies that a session sent, with neither its id nor the name of the folder.
fn bodies(world: &World, id: &str, n: usize) -> Vec<String> {
    let body = |number: usize| {
        let ran = world.run(&["prompt", "--format", "body", &format!("{id}#{number}")]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        world.shown(ran.out()).replace(id, "ID")
    };
    (1..=n).map(body).collect()
}

#[test]
fn standing_texts_make_equal_requests_with_every_client() {
    for case in CASES {
        let mut expected: Option<Vec<String>> = None;
        let runners: &[Runner] = &[
            Runner::Exec,
            Runner::AppServer,
            #[cfg(unix)]
            Runner::Terminal,
        ];
        for &runner in runners {
            let world = case.world();
            let id = case.run(&world, runner);
            let bodies = bodies(&world, &id, case.usages.len());
            let rows = recorded(&world, &id);
            let channel = match runner {
                Runner::Exec => "exec",
                Runner::AppServer => "test",
                #[cfg(unix)]
                Runner::Terminal => "terminal",
            };
            assert!(rows.iter().all(|row| row.ends_with(&format!(" {channel}"))), "{} {runner:?}: {rows:?}", case.name);
            let injected: Vec<bool> = (1..=bodies.len())
                .map(|n| rows.iter().any(|row| row.starts_with(&format!("{n} instructions.md "))))
                .collect();
            assert_eq!(injected, case.injected, "{} {runner:?}: {rows:?}", case.name);
            match &expected {
                None => expected = Some(bodies),
                Some(expected) => {
                    for (n, (body, expected)) in bodies.iter().zip(expected).enumerate() {
                        let at = body.bytes().zip(expected.bytes()).position(|(one, other)| one != other);
                        let rest = &body[at.unwrap_or_default().saturating_sub(100)..];
                        let what = format!("{} {runner:?}: request {}", case.name, n + 1);
                        assert!(body == expected, "{what} differs at {}", rest.get(..300).unwrap_or(rest));
                    }
                }
            }
        }
    }
}

#[test]
fn a_client_of_the_app_server_reads_and_sets_the_phase() {
    let world = world();
    let mut client = Client::start(&world, "script.toml");
    client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
    let (thread, _) = client.turn("thread/start", &json!({}), "one");
    let ask = |client: &mut Client, method: &str, mut params: Value| {
        params["threadId"] = json!(thread);
        let answer = client.ask(method, &params);
        if answer["error"].is_null() { answer["result"].clone() } else { answer["error"].clone() }
    };
    let known = json!(["requirements", "implementation", "review"]);
    let shown = ask(&mut client, "thread/phase/read", json!({}));
    assert_eq!((&shown["phases"], &shown["phase"], &shown["pack"]), (&known, &Value::Null, &json!("ads")));
    let shown = ask(&mut client, "thread/phase/set", json!({ "phase": "review" }));
    assert_eq!((&shown["phase"], &shown["chosenBy"]), (&json!("review"), &json!("thread")));
    let refused = ask(&mut client, "thread/phase/set", json!({ "phase": "rest" }));
    assert_eq!(refused["code"], -32600);
    assert_eq!(refused["message"], "phase `rest`: the pack `ads` knows requirements, implementation, review");
    let refused = ask(&mut client, "thread/phase/set", json!({}));
    assert!(refused["message"].as_str().unwrap().contains("missing field `phase`"), "{refused}");
    let refused = ask(&mut client, "thread/phase/next", json!({}));
    assert_eq!(refused["message"], "`review` is the last phase");
    let shown = ask(&mut client, "thread/phase/next", json!({ "scope": "workspace" }));
    assert_eq!((&shown["phase"], &shown["settings"]["workspace"]), (&json!("review"), &json!("requirements")));
    client.turn("thread/resume", &json!({ "threadId": thread }), "two");
    let is_phase = |it: &&Value| it["params"]["event"]["item_id"] == "phase";
    let event = client.notified.iter().find(is_phase).map(|it| it["params"]["event"].clone()).unwrap();
    assert_eq!(
        (&event["type"], &event["reason"], &event["chosen_by"], &event["channel"]),
        (&json!("prompt_injection.item"), &json!("phase-review"), &json!("session"), &json!("test"))
    );
    let shown = ask(&mut client, "thread/phase/set", json!({ "phase": null }));
    assert_eq!((&shown["phase"], &shown["chosenBy"]), (&json!("requirements"), &json!("workspace")));
    let mut plain = Client::start(&world, "script.toml");
    plain.introduce(&json!({}));
    let refused = plain.ask("thread/phase/read", &json!({ "threadId": thread }));
    assert_eq!(refused["error"]["message"], "thread/phase/read requires experimentalApi capability");
}

#[cfg(unix)]
#[test]
fn the_terminal_shows_and_sets_the_phase() {
    let world = world();
    let mut command = world.command(&["--script", "script.toml"]);
    command.env("TERM", "xterm");
    let mut terminal = LiveTerminal::start((100, 30), command);
    terminal.write(b"\x1b[1;1R\x1b[?62c");
    terminal.read_until("Ask anything");
    terminal.write(b"/phase rest\t");
    terminal.read_until("knows requirements, implementation, review");
    terminal.write(b"/phase review\t");
    terminal.read_until("review (set for the session)");
    terminal.write(b"one\t");
    terminal.read_until("Reply 1.");
    terminal.write(b"/phase clear\t");
    terminal.read_until("phase      none");
    terminal.write(b"\x04");
    assert_eq!(terminal.wait().1, 0);
    let ran = world.run(&["sessions", "show", "--last", "--injections"]);
    assert!(ran.out().contains("phase-review (by session)"), "{}", ran.out());
}
