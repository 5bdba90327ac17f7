//! Undo, with git as the agent runs it: confined, by this very program.
//!
//! The program is the helper that confines git too (`take_over`), so it cannot be one of the test harness.

#![allow(clippy::print_stdout, reason = "a program that reports")]
#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

#[path = "../common/sessions.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod sessions;

use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_store::read;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::json;

use self::sessions::configure;
use self::sessions::open;
use self::sessions::run;
use self::sessions::run_for_events;
use self::sessions::setup;

fn main() -> std::process::ExitCode {
    if let Some(code) = pellucid_exec::sandbox::take_over() {
        return code;
    }
    if let Err(error) = Sandbox::new(WantedBackend::Strongest).backend() {
        println!("skipped, git is not run where nothing can confine it: {error}");
        return std::process::ExitCode::SUCCESS;
    }
    undo_goes_on_where_a_session_is_resumed();
    undo_brings_the_work_tree_back();
    undo_changes_nothing_for_a_session_of_a_capsule();
    an_untrusted_project_has_no_undo_and_that_is_said_once();
    println!("undo: ok");
    std::process::ExitCode::SUCCESS
}

fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

fn change(script: &str) -> MockReply {
    let arguments = json!({"command": ["/bin/sh", "-c", script]}).to_string();
    MockReply::items([json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1"})])
}

/// A work tree with one file, which says `before`.
fn repository() -> Workspace {
    let files = Workspace::empty();
    let work = files.folder("work");
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(&work).args(["-c", "user.name=t", "-c", "user.email=t@example.test"]).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(command.output().unwrap().status.success(), "git {words:?}");
    };
    files.write("work/kept", "before");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    files
}

/// A session that is resumed goes back as far as it could before, also past a summary, and not twice.
fn undo_goes_on_where_a_session_is_resumed() {
    let files = repository();
    let change = |text: &str| change(&format!("echo {text} > kept"));
    let said = MockReply::say("Done.");
    let server = MockServer::start(vec![change("one"), said.clone(), change("two"), said.clone(), said]);
    configure(&files, "features.undo = true", &server);
    let make = || setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let path = files.path("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-a.jsonl");
    let resumed = || {
        let file = read::open(&path).unwrap();
        Session::open(make(), Recorder::resume(RealDisk::shared(), path.clone()).unwrap(), Beginning::Resumed(&file))
            .unwrap()
    };
    let session = Session::open(make(), Recorder::new(RealDisk::shared(), path.clone()), Beginning::Nothing).unwrap();
    drop(run(session, vec![full_access(), say("one"), full_access(), say("two")]));
    assert_eq!(files.read("work/kept"), "two\n");
    let (session, _) = run(resumed(), vec![Operation::Undo]);
    drop(session);
    assert_eq!(files.read("work/kept"), "one\n");
    drop(run(resumed(), vec![Operation::Compact]));
    drop(run(resumed(), vec![Operation::Undo]));
    assert_eq!(files.read("work/kept"), "before");
    files.write("work/kept", "mine");
    drop(run(resumed(), vec![Operation::Undo]));
    assert_eq!(files.read("work/kept"), "mine");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(r#""type":"undo_completed","success":true"#).count(), 2, "{text}");
    assert_eq!(text.matches(r#""type":"undo_completed","success":false"#).count(), 1, "{text}");
}

/// A session that came in a capsule may name any commit of this repository, and files that were not there before.
fn undo_changes_nothing_for_a_session_of_a_capsule() {
    let files = repository();
    let server = MockServer::start(vec![change("echo after > kept; echo new > late"), MockReply::say("Done.")]);
    configure(&files, "features.undo = true", &server);
    let session = open(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    pellucid_store::opened::mark(&files.path("home"), "a").unwrap();
    let (_, events) = run_for_events(session, vec![full_access(), say("change"), Operation::Undo]);
    let said = events.iter().find_map(|event| match event {
        EventMessage::UndoCompleted { success, message } => Some((*success, message.clone().unwrap_or_default())),
        _ => None,
    });
    assert_eq!(said, Some((false, pellucid_store::opened::FOREIGN_PATHS.to_owned())));
    assert_eq!(files.read("work/kept"), "after\n");
    assert!(files.path("work/late").exists());
}

fn undo_brings_the_work_tree_back() {
    let files = repository();
    let replies = vec![change("echo after > kept; echo new > late"), MockReply::say("Done.")];
    let server = MockServer::start(replies);
    configure(&files, "features.undo = true", &server);
    let session = open(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let operations = vec![full_access(), say("change"), Operation::Undo, Operation::Undo];
    let (_, events) = run_for_events(session, operations);
    let said = events.iter().filter_map(|event| match event {
        EventMessage::UndoCompleted { success, message } => {
            let message = message.as_deref().unwrap_or_default();
            let first = message.rsplit_once(' ').map_or(message, |(first, _)| first);
            Some(format!("{success} {first}"))
        }
        _ => None,
    });
    let said: Vec<_> = said.collect();
    assert_eq!(said, ["true Undo restored snapshot", "false No ghost snapshot available to"]);
    assert!(events.iter().any(|event| matches!(event, EventMessage::ExecCommandEnd(_))));
    assert_eq!(files.read("work/kept"), "before");
    assert!(!files.path("work/late").exists());
}

fn an_untrusted_project_has_no_undo_and_that_is_said_once() {
    let files = repository();
    let server = MockServer::start(vec![MockReply::say("One."), MockReply::say("Two.")]);
    let work = files.path("work").canonicalize().unwrap();
    let trust =
        format!("features.undo = true\n[projects.{:?}]\ntrust_level = \"untrusted\"", work.display().to_string());
    configure(&files, &trust, &server);
    let session = open(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let (_, events) = run_for_events(session, vec![say("one"), say("two")]);
    let told = |event: &&EventMessage| matches!(event, EventMessage::Warning { message } if message.contains("marked as untrusted, so git is not run"));
    assert_eq!(events.iter().filter(told).count(), 1);
}

fn full_access() -> Operation {
    let sandbox_policy = Some(SandboxPolicy::DangerFullAccess);
    Operation::OverrideTurnContext(SettingsChange { sandbox_policy, ..SettingsChange::default() })
}
