//! Checks of every request of a play: the shown, sent, recorded and rebuilt bytes are the same, rows cover them, and
//! rows of a sent request are those of the process that sent it.
//!
//! Records are read here as a stranger would, from their lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::digest::Digest;
use pellucid_protocol::context_event;
use pellucid_store::requests::entry;
use pellucid_testkit::fits_schema;
use serde_json::Value;

use super::costs;
use super::filled;
use super::rows;
use super::stage::Shown;
use super::stage::Stage;
use super::times;

/// What was checked of a play.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Requests that the server got.
    pub requests: usize,
    /// Those of them that were shown and promised before.
    pub promised: usize,
    /// Those of them whose rows the sending process reported.
    pub told: usize,
    /// Sessions whose requests were made again.
    pub remade: usize,
}

/// A request as a record has it.
#[derive(Debug, Clone)]
struct Recorded {
    digest: String,
    bytes: u64,
    /// Whether the model was asked for an answer, not for a summary or vectors.
    is_answer: bool,
}

/// Checks everything; what is wrong is noted on the stage.
pub fn check(stage: &Stage) -> Counts {
    let bodies: Vec<Vec<u8>> = stage.server.requests().into_iter().map(|request| request.body).collect();
    let mut counts = Counts { requests: bodies.len(), ..Counts::default() };
    for shown in &stage.shown {
        counts.promised += usize::from(check_shown(stage, shown, &bodies));
    }
    times::check(stage);
    check_forms(stage);
    let sessions = sessions(stage);
    let mut recorded: Vec<String> = sessions.values().flatten().map(|request| request.digest.clone()).collect();
    let mut sent: Vec<String> = bodies.iter().map(|body| Digest::of([&**body]).to_string()).collect();
    recorded.sort();
    sent.sort();
    if recorded != sent {
        let n_unrecorded = sent.iter().filter(|it| !recorded.contains(it)).count();
        let n_unsent = recorded.iter().filter(|it| !sent.contains(it)).count();
        stage.fault(format!(
            "record: {} requests were sent, {} are recorded; {n_unrecorded} of the sent are not recorded as sent, \
             {n_unsent} of the recorded were not sent",
            sent.len(),
            recorded.len()
        ));
    }
    for (session, recorded) in &sessions {
        counts.told += check_session(stage, session, recorded, &bodies);
        if !recorded.is_empty() {
            filled::check(stage, session, recorded.len());
        }
    }
    let sending: Vec<&str> = sessions.iter().filter(|(_, sent)| !sent.is_empty()).map(|(id, _)| id.as_str()).collect();
    counts.remade = costs::check(stage, &sending);
    for session in sending {
        let is_answer: Vec<bool> = sessions[session].iter().map(|request| request.is_answer).collect();
        costs::check_alarms(stage, session, &is_answer);
    }
    counts
}

/// Holds every line of the records and every event about the context against the published schemas.
fn check_forms(stage: &Stage) {
    let check = |schema: &str, what: &str, value: &Value| {
        let schema: Value = serde_json::from_str(schema).unwrap();
        if let Err(fault) = fits_schema(&schema, value) {
            stage.fault(format!("schema: {what}: {fault}"));
        }
    };
    for path in files_below(&stage.world.files.path("home/requests")) {
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            check(entry::SCHEMA, "a line of a record", &serde_json::from_str(line).unwrap());
        }
    }
    let is_of_context = |event: &&Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        kind.starts_with("context.") || kind.starts_with("prompt_injection.")
    };
    for event in stage.told.iter().flat_map(|told| &told.events).filter(is_of_context) {
        check(context_event::SCHEMA, "an event", event);
    }
}

/// Holds what was shown before a turn against what was sent.
fn check_shown(stage: &Stage, shown: &Shown, bodies: &[Vec<u8>]) -> bool {
    let n = shown.request + 1;
    if let Err(gap) = rows::cover(&shown.report, shown.body.len()) {
        stage.fault(format!("shown before request {n}: {gap}"));
    }
    if let Err(lost) = rows::invert(&shown.report, &shown.body, |path| stage.texts(path)) {
        stage.fault(format!("files: shown before request {n}: {lost}"));
    }
    if !shown.is_promised {
        return false;
    }
    let is_sent = bodies.get(shown.request) == Some(&shown.body);
    if !is_sent {
        let len = bodies.get(shown.request).map_or(0, Vec::len);
        stage.fault(format!(
            "promise: before request {n} `prompt` showed {} bytes, the server got {len} others",
            shown.body.len()
        ));
    }
    is_sent && shown.is_due
}

/// Checks the requests of one session. Gives of how many the sender reported the rows.
fn check_session(stage: &Stage, session: &str, recorded: &[Recorded], bodies: &[Vec<u8>]) -> usize {
    let ran = stage.world.run(&["replay", "--json", session]);
    let replay: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let outcomes = replay["requests"].as_array().cloned().unwrap_or_default();
    // A copy also has the requests of the session that it was made from, before its own.
    let n_inherited = outcomes.len().checked_sub(recorded.len());
    let is_inherited = |n: usize| Some(n) <= n_inherited;
    let not_equal: Vec<String> = (1..)
        .zip(&outcomes)
        .filter(|(n, it)| it["verdict"] != if is_inherited(*n) { "equal_in_parent" } else { "equal" })
        .map(|(n, it)| format!("#{n} {} {}: {}", it["purpose"], it["verdict"], it["why"].as_str().unwrap_or("")))
        .collect();
    if ran.status != 0 || !not_equal.is_empty() {
        stage.fault(format!("replay: status {}, {}{}", ran.status, not_equal.join("; "), ran.stderr.trim_end()));
    }
    let Some(n_inherited) = n_inherited else {
        stage.fault(format!("replay: {} of {} recorded requests", outcomes.len(), recorded.len()));
        return 0;
    };
    let told = rows::told(stage, session);
    let mut told = told.iter().peekable();
    let mut n_told = 0;
    for n in 1..=outcomes.len() {
        let name = format!("{session}#{n}");
        let own = n.checked_sub(n_inherited + 1).map(|at| &recorded[at]);
        let Some((body, report)) = past(stage, &name) else { continue };
        let digest = Digest::of([&*body]).to_string();
        let is_sent = bodies.contains(&body);
        if !is_sent || own.is_some_and(|own| own.digest != digest) {
            stage.fault(format!("past: `prompt {name}` gives {} bytes that were not sent", body.len()));
        }
        if let Err(gap) = rows::cover(&report, body.len()) {
            stage.fault(format!("past: {name}: {gap}"));
        }
        if let Err(lost) = rows::invert(&report, &body, |path| stage.texts(path)) {
            stage.fault(format!("files: {name}: {lost}"));
        }
        let lost = rows::from_the_session_file(&report);
        if lost > 0 {
            stage.fault(format!("origins: {name} has {lost} rows from `session`"));
        }
        let Some(own) = own else { continue };
        let of_this = told.next_if(|told| told.bytes == own.bytes);
        match of_this {
            Some(of_this) => {
                n_told += usize::from(!of_this.rows.is_empty());
                if let Err(difference) = rows::same(&of_this.rows, &rows::list(&report)) {
                    stage.fault(format!("rows: {name}: {difference}"));
                }
            }
            None if own.is_answer && rows::is_told_of(stage, session) => {
                stage.fault(format!("rows: the process that sent {name} reported no rows"));
            }
            None => {}
        }
        for shown in stage.shown.iter().filter(|shown| shown.is_promised && shown.body == body) {
            if let Err(difference) = rows::same(&rows::list(&shown.report), &rows::list(&report)) {
                stage.fault(format!("rows: {name} and what was shown before: {difference}"));
            }
        }
    }
    if told.next().is_some() {
        stage.fault(format!("rows: {session}: a request was reported that was not sent"));
    }
    n_told
}

/// The body and the report of a request that was sent, by its name.
pub fn past(stage: &Stage, name: &str) -> Option<(Vec<u8>, Value)> {
    let body = stage.world.run(&["prompt", "--format", "body", name]);
    let report = stage.world.run(&["context", "--json", name]);
    if (body.status, report.status) != (0, 0) {
        let said = body.stderr.lines().chain(report.stderr.lines()).next().unwrap_or_default().to_owned();
        stage.fault(format!(
            "past: `prompt` and `context {name}` end with {} and {}: {said}",
            body.status, report.status
        ));
        return None;
    }
    Some((body.stdout, serde_json::from_slice(&report.stdout).ok()?))
}

/// The recorded requests, by session. A session without requests is included.
fn sessions(stage: &Stage) -> BTreeMap<String, Vec<Recorded>> {
    let files = files_below(&stage.world.files.path("home/sessions"));
    let mut sessions: BTreeMap<String, Vec<Recorded>> = files.iter().map(|it| (id_of(it), Vec::new())).collect();
    for path in files_below(&stage.world.files.path("home/requests")) {
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let requests = lines.filter(|line| line["kind"] == "request").map(|line| Recorded {
            digest: line["body"].as_str().unwrap_or_default().to_owned(),
            bytes: line["bytes"].as_u64().unwrap_or_default(),
            is_answer: line["purpose"] == "answer",
        });
        sessions.entry(id_of(&path)).or_default().extend(requests);
    }
    sessions
}

/// The id at the end of a file's name.
pub fn id_of(path: &Path) -> String {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    name[name.len().saturating_sub(36)..].to_owned()
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
