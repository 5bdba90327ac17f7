//! A session in a capsule without its content: nothing of the content is left, and everything else is as it was.

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use pellucid_engine::pack::Pack;
use serde_json::Value;

use super::check;
use super::rows;
use super::stage::Stage;
use crate::capsule::texts_of;

/// How many bytes in a row are not to be found.
const RUN: usize = 8;

/// What of a row stays the same.
const FIELDS: [&str; 8] = ["item", "role", "source", "start", "bytes", "raw_bytes", "tokens", "status"];

/// The origins of content.
const CONTENT: [&str; 6] = ["user", "model", "tool", "file", "skill", "provided"];

/// Keys of items whose values are words of the format, ids and names of tools.
const OF_THE_FORMAT: [&str; 13] = [
    "type",
    "role",
    "status",
    "phase",
    "id",
    "agent_id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "name",
    "media_type",
    "detail",
    "cache_control",
];

/// Checks a session whose last requests are in its record.
pub fn check(stage: &Stage, session: &str, n_recorded: usize) {
    let root = stage.world.files.root();
    let (capsule, opened) = (root.join(format!("{session}.html")), root.join(format!("opened-{session}")));
    let (file, to) = (capsule.to_str().unwrap(), opened.to_str().unwrap());
    stage.run(&["sessions", "capsule", session, "-o", file, "--redact", "content"]);
    stage.run(&["capsule", "open", file, "--to", to]);
    let home = [("PELLUCID_HOME", to), ("CODEX_HOME", to)];
    let here: Value =
        serde_json::from_slice(&stage.world.run(&["replay", "--json", session]).stdout).unwrap_or_default();
    let ran = stage.world.run_in(&["replay", "--json", session], &home);
    let there: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
    let n_of = |replay: &Value| replay["requests"].as_array().map_or(0, Vec::len);
    if ran.status != 3 || there["damages"] != serde_json::json!([]) {
        stage.fault(format!("filled: replay ended with {}: {}{}", ran.status, ran.out(), ran.stderr));
    }
    let mut content = BTreeSet::new();
    for before_last in 0..n_recorded {
        let (Some(n), Some(m)) = (n_of(&here).checked_sub(before_last), n_of(&there).checked_sub(before_last)) else {
            stage.fault("filled: a request is missing".to_owned());
            continue;
        };
        let outcome = &there["requests"][m - 1];
        if outcome["verdict"] != "equal_in_length" {
            stage.fault(format!("filled: {session}#{m} is {outcome}"));
            continue;
        }
        let Some((body, report)) = check::past(stage, &format!("{session}#{n}")) else { continue };
        let report_there = stage.world.run_in(&["context", "--json", &format!("{session}#{m}")], &home);
        let report_there: Value = serde_json::from_slice(&report_there.stdout).unwrap_or_default();
        compare(stage, &format!("{session}#{n}"), &rows::list(&report), &rows::list(&report_there));
        collect(&body, &report, &mut content);
    }
    content.insert(root.to_str().unwrap().to_owned());
    if let Err(left) = search(&content, &capsule, &opened) {
        stage.fault(format!("filled: {session}: {left}"));
    }
}

fn compare(stage: &Stage, name: &str, here: &[Value], there: &[Value]) {
    if here.len() != there.len() {
        stage.fault(format!("filled: {name} has {} rows, {} without its content", here.len(), there.len()));
    }
    for (one, other) in here.iter().zip(there) {
        if let Some(field) = FIELDS.iter().find(|field| one[**field] != other[**field]) {
            stage.fault(format!("filled: {name}: `{field}` of a row: {one}, without its content {other}"));
            return;
        }
    }
}

/// The texts of a request that are content, as they were sent and without escapes.
fn collect(body: &[u8], report: &Value, content: &mut BTreeSet<String>) {
    let number = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or_default();
    for row in rows::list(report).iter().filter(|row| CONTENT.iter().any(|source| row["source"] == *source)) {
        let start = number(&row["start"]);
        let Some(sent) = body.get(start..start + number(&row["bytes"])) else { continue };
        let sent = String::from_utf8_lossy(sent).into_owned();
        match serde_json::from_str::<Value>(sent.trim_matches(',')) {
            Ok(value) => texts(&value, content),
            Err(_) => match serde_json::from_str::<Value>(&format!("\"{sent}\"")) {
                Ok(value) => texts(&value, content),
                Err(_) => content.extend([sent]),
            },
        }
    }
}

fn texts(value: &Value, content: &mut BTreeSet<String>) {
    match value {
        // The names in JSON are those of the program's tools.
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() || value.is_array() => texts(&value, content),
            // The ids of sessions stay.
            _ if uuid::Uuid::parse_str(text).is_ok() => {}
            _ => {
                let escaped = value.to_string();
                let data = |text: &str| text.split_once(";base64,").map_or(text, |(_, data)| data).to_owned();
                content.extend([data(text), data(&escaped[1..escaped.len() - 1])]);
            }
        },
        Value::Array(list) => list.iter().for_each(|value| texts(value, content)),
        Value::Object(table) => {
            let of_content = table.iter().filter(|(key, _)| !OF_THE_FORMAT.contains(&key.as_str()));
            of_content.for_each(|(_, value)| texts(value, content));
        }
        _ => {}
    }
}

/// Searches the page, its blocks and every unpacked file for every run of bytes of the content.
fn search(content: &BTreeSet<String>, capsule: &std::path::Path, opened: &std::path::Path) -> Result<(), String> {
    let mut files = texts_of(&fs::read_to_string(capsule).unwrap());
    files.extend(check::files_below(opened).iter().map(|path| fs::read_to_string(path).unwrap()));
    let runs: HashSet<&[u8]> = files.iter().flat_map(|text| text.as_bytes().windows(RUN)).collect();
    let ours: Vec<String> = Pack::builtin_names()
        .into_iter()
        .flat_map(|name| Pack::builtin_files(name).unwrap_or_default().into_values())
        .collect();
    // What the program says itself, and the notation of data in an address.
    let notation = ["AGENTS.md", "<environment_context>", "<image name="];
    let is_ours = |run: &[u8]| {
        let run = String::from_utf8_lossy(run);
        let plain = |run: &str| run.trim_end_matches('\\').replace("\\n", "\n").replace("\\\"", "\"");
        // A run may begin in the middle of an escape.
        let forms = [run.clone().into_owned(), plain(&run), plain(&format!("\\{run}"))];
        let is_in = |text: &str| forms.iter().any(|form| text.contains(form));
        ours.iter().any(|text| is_in(text)) || notation.iter().any(|text| is_in(text))
    };
    // Quotes, backslashes and line ends stay; a run of mostly these says nothing.
    let is_text = |run: &&[u8]| {
        run.iter().filter(|byte| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte)).count() + 1 >= RUN
    };
    for text in content {
        let hidden = BASE64_STANDARD_NO_PAD.encode(text);
        let hidden = &hidden.as_bytes()[..hidden.len() / 4 * 4];
        for run in text.as_bytes().windows(RUN).chain(hidden.windows(2 * RUN).map(|run| &run[..RUN])).filter(is_text) {
            if runs.contains(run) && !is_ours(run) {
                let run = String::from_utf8_lossy(run);
                let place =
                    files.iter().find_map(|file| Some(file.get(file.find(&*run)?..)?.chars().take(80).collect()));
                let place: String = place.unwrap_or_default();
                return Err(format!("{run:?} of {text:?} is left, in {place:?}"));
            }
        }
    }
    if content.len() < 2 { Err("no content was compared".to_owned()) } else { Ok(()) }
}
