//! A disk that fails at any step: the turn ends well, the client learns of it at once, and all that the client saw before
//! is in the session file.

use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::replay;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_store::read;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::DiskFault;
use pellucid_testkit::FaultyDisk;
use pellucid_testkit::Workspace;
use serde_json::Value;

use crate::answers::say;
use crate::run_for_events;
use crate::setup;

/// The events that a client remembers a session by.
const REMEMBERED: [&str; 3] = ["user_message", "agent_message", "task_complete"];

const NOT_SAVED: &str = "the session is not saved: ";

fn world() -> Workspace {
    Workspace::new("//- script.toml\n[[reply]]\nsay = \"Done.\"\n//- home/config.toml\n//- work/AGENTS.md\nUse tabs.\n")
}

fn open(files: &Workspace, disk: std::sync::Arc<FaultyDisk>) -> (Session, PathBuf) {
    let setup = setup(files, |_| Model::scripted(Script::load(&files.path("script.toml")).unwrap()));
    let name = format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{}.jsonl", setup.session_id);
    let path = files.path(name);
    (Session::open(setup, Recorder::new(disk, path.clone()), Beginning::Nothing).unwrap(), path)
}

fn remembered(event: &Value) -> bool {
    event["type"].as_str().is_some_and(|kind| REMEMBERED.contains(&kind))
}

/// The remembered events of a session file. Only its last line may be incomplete, and only if that is allowed.
#[track_caller]
fn stored(text: &str, may_be_torn: bool, label: &str) -> Vec<Value> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    assert!(may_be_torn || whole == text, "{label}: a half line is left\n{text}");
    let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "event_msg").map(|mut line| line["payload"].take()).filter(remembered).collect()
}

/// Runs a turn on a disk that fails, and checks what the client and the next process see. Returns whether a step failed.
#[track_caller]
fn check_fault(fault: DiskFault, n_good: usize) -> bool {
    let label = format!("{fault:?} after {n_good} steps");
    let files = world();
    let disk = FaultyDisk::new(n_good, fault);
    let (session, path) = open(&files, disk.clone());
    let (session, events) = run_for_events(session, vec![say("one")]);
    drop(session);
    let events: Vec<Value> = events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let seen: Vec<&Value> = events.iter().filter(|event| remembered(event)).collect();
    let texts: Vec<&Value> = seen.iter().filter_map(|event| event.get("message")).collect();
    assert_eq!((seen.len(), texts), (3, vec![&"one".into(), &"Done.".into()]), "{label}: {events:#?}");

    let warnings = |what: &str| {
        let is_warning = |event: &&Value| {
            event["type"] == "warning" && event["message"].as_str().is_some_and(|text| text.starts_with(what))
        };
        events.iter().filter(is_warning).count()
    };
    let n_unsaved = warnings(NOT_SAVED);
    let n_unrecorded = warnings("the record of requests is not saved: ");
    assert!(n_unsaved <= 1 && n_unrecorded <= 1, "{label}: each failure is reported once\n{events:#?}");
    assert!(n_unsaved > 0 || warnings("") == n_unrecorded, "{label}: {events:#?}");
    let until_warning: Vec<&Value> = events
        .iter()
        .take_while(|event| !event["message"].as_str().is_some_and(|text| text.starts_with(NOT_SAVED)))
        .filter(|event| remembered(event))
        .collect();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let stored = stored(&text, fault == DiskFault::Gone, &label);
    assert_eq!(stored.iter().collect::<Vec<_>>(), until_warning, "{label}: what was seen is stored\n{text}");

    // What a full disk leaves is what a disk that is gone leaves, without the half line.
    if fault != DiskFault::Full
        && let Ok(file) = read::open(&path)
    {
        check_next_process(&files, &path, &file, &label);
    }
    disk.has_failed()
}

/// Another process continues the session on a good disk, and every request that is recorded is as it was sent.
#[track_caller]
fn check_next_process(files: &Workspace, path: &Path, file: &read::SessionFile, label: &str) {
    let mut next = setup(files, |_| Model::scripted(Script::load(&files.path("script.toml")).unwrap()));
    next.session_id = SessionId::new(file.meta.id.as_str());
    let recorder = Recorder::resume(RealDisk::shared(), path.to_owned()).unwrap();
    let session = Session::open(next, recorder, Beginning::Resumed(file)).unwrap();
    let (mut session, events) = run_for_events(session, vec![say("two")]);
    let ends = events.iter().filter(|event| matches!(event, EventMessage::TaskComplete { .. })).count();
    assert_eq!((ends, session.take_failures()), (1, Vec::new()), "{label}");
    drop(session);
    let replay = replay::replay(&files.path("home"), &read::open(path).unwrap(), None).unwrap();
    let (n_equal, n_different, _) = replay.counts();
    assert!(n_equal >= 1 && n_different == 0, "{label}: {replay:#?}");
}

/// Lets each change of the disk fail once.
#[track_caller]
fn check_every_step(fault: DiskFault) {
    let n_steps = (0..).find(|n_good| !check_fault(fault, *n_good)).unwrap();
    assert!(n_steps > 20, "only {n_steps} steps change the disk");
}

#[test]
fn an_error_of_the_disk_loses_nothing_that_a_client_saw() {
    check_every_step(DiskFault::Once);
}

#[test]
fn a_full_disk_loses_nothing_that_a_client_saw() {
    check_every_step(DiskFault::Full);
}

#[test]
fn a_disk_that_is_gone_loses_nothing_that_a_client_saw() {
    check_every_step(DiskFault::Gone);
}
