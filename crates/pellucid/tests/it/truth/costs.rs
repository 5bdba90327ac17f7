//! What the requests of a play cost: the simulated cache gives what the server charged, request by request, and the requests
//! that are made again are those that were sent.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cell::Pack;
use super::stage::Stage;
use crate::Ran;

/// A setting under which the server's cache forgets nothing, however slow this machine is.
const FORGETS_NOTHING: &str = "ttl=24h";

/// Checks the sessions that sent requests. Gives how many could be made again.
pub fn check(stage: &Stage, sessions: &[&str]) -> usize {
    let ran = cost(stage, sessions, "model=gpt-5.1");
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let (recorded, simulated) = (figures(&json["groups"]), figures(&json["simulated"][1]["requests"]));
    if ran.status != 0 || recorded.is_empty() || recorded != simulated {
        let said = ran.stderr.trim_end();
        stage.fault(format!("cost: the server charged {recorded:?}, the simulation gives {simulated:?} {said}"));
    }
    sessions.iter().filter(|session| is_remade(stage, session, &recorded)).count()
}

/// What sessions cost, and cost under a setting.
fn cost(stage: &Stage, sessions: &[&str], setting: &str) -> Ran {
    let options = ["--json", "--by", "request", "--as", FORGETS_NOTHING, "--as", setting];
    stage.world.run(&[&["cost"], sessions, &options].concat())
}

/// Makes the requests of a session again in the API format that they have already: they must come out as they were sent.
/// Gives whether that could be done.
fn is_remade(stage: &Stage, session: &str, recorded: &BTreeMap<String, Figures>) -> bool {
    let ran = cost(stage, &[session], &format!("wire={}", stage.cell.wire.name()));
    if ran.status == 3 {
        let reasons = reasons(stage.cell.situation.name, stage.cell.pack);
        if !reasons.iter().any(|reason| ran.stderr.contains(reason)) {
            stage.fault(format!("cost: {session} cannot be made again: {}", ran.stderr.trim_end()));
        }
        return false;
    }
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let remade = figures(&json["simulated"][2]["requests"]);
    // Other sessions' requests are not in this cache, and the times are those of this machine.
    let counts = |figures: &Figures| (figures[..3].iter().sum::<i64>(), figures[3]);
    let remade: BTreeMap<&str, _> = remade.iter().map(|(name, row)| (name.as_str(), counts(row))).collect();
    let own = recorded.iter().filter(|(name, _)| name.starts_with(session));
    let own: BTreeMap<&str, _> = own.map(|(name, row)| (name.as_str(), counts(row))).collect();
    if ran.status != 0 || remade != own {
        stage.fault(format!("cost: {own:?} were sent, {remade:?} are made again: {}", ran.stderr));
    }
    true
}

/// Why requests of sessions in a situation cannot be made again, where that is right.
fn reasons(situation: &str, pack: Pack) -> &'static [&'static str] {
    const OTHER_FILES: &str = "comes out differently with the files and the configuration of today, first in ";
    const COPY: &str = "the session is a copy of another, which has a part of the conversation";
    const MEMORY: &str = "the memory of the session asked a model with request #";
    match (situation, pack) {
        // An instruction file or a file of memories changes in the middle, or a file is given on the command line.
        ("resume" | "memory chosen again" | "injected items", Pack::Risuai) => &[OTHER_FILES, MEMORY],
        ("resume" | "memory chosen again" | "injected items", _) => &[OTHER_FILES],
        // The file of rules that this pack says again changes after the first turn.
        ("re-injection", Pack::Ads) => &[OTHER_FILES],
        // The server lists other tools in the second turn.
        ("deferred tools", _) => &[OTHER_FILES],
        ("fork", _) => &[COPY],
        // Sessions that another session began have other tools and instructions.
        ("review" | "child agent", _) => &[OTHER_FILES],
        // What such a pack shows is not what the next process finds in the file.
        (_, Pack::Risuai) => &[MEMORY, OTHER_FILES],
        _ => &[],
    }
}

/// Checks that `cache` reports a break where the server, which charges by what it has read, could not read all of the
/// request before, and nowhere else. `is_answer` says of each request of the session whether it asks for an answer.
pub fn check_alarms(stage: &Stage, session: &str, is_answer: &[bool]) {
    let ran = stage.world.run(&["cache", session, "--json"]);
    let cache: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let cost: Value = serde_json::from_slice(&cost(stage, &[session], "ttl=1h").stdout).unwrap_or_default();
    let charged = figures(&cost["groups"]);
    let rows = cache["requests"].as_array().cloned().unwrap_or_default();
    // A copy also has the requests of the session that it was made from, before its own.
    let Some(n_inherited) = rows.len().checked_sub(is_answer.len()).filter(|_| ran.status == 0) else {
        stage.fault(format!("cache: {session}: {} rows for {} requests: {}", rows.len(), is_answer.len(), ran.stderr));
        return;
    };
    let mut before = None;
    for (row, _) in rows[n_inherited..].iter().zip(is_answer).filter(|(_, is_answer)| **is_answer) {
        let name = format!("{session}#{}", row["number"]);
        let Some(figures) = charged.get(&name) else { continue };
        if let Some(before) = before {
            // The server may have read more for another session, whatever is other in this one.
            let is_alarm = !row["break"].is_null();
            if (figures[0] < before && !is_alarm) || (figures[0] == before && is_alarm) {
                let verdict = &row["verdict"];
                stage.fault(format!("cache: {name} read {} of {before} tokens, and is called {verdict}", figures[0]));
            }
        }
        before = Some(figures[..3].iter().sum::<i64>());
    }
}

/// Tokens read, written, uncached and answered.
type Figures = [i64; 4];

/// The figures of requests by their names.
fn figures(rows: &Value) -> BTreeMap<String, Figures> {
    let measures = ["read", "written", "uncached", "answered"];
    let name = |row: &Value| match &row["name"] {
        Value::String(name) => name.clone(),
        _ => format!("{}#{}", row["session"].as_str().unwrap_or_default(), row["number"]),
    };
    let row = |row: &Value| (name(row), measures.map(|measure| row[measure].as_i64().unwrap_or(0)));
    rows.as_array().map(|rows| rows.iter().map(row).collect()).unwrap_or_default()
}
