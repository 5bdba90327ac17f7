//! Rows of reports: whether they cover a body, where they come from, and whether two lists are the same.

use pellucid_engine::digest::Digest;
use serde_json::Value;

use super::stage::Stage;

/// What a process reported of a request that it sent.
#[derive(Debug)]
pub struct Told {
    pub bytes: u64,
    pub rows: Vec<Value>,
}

/// The rows of a report.
pub fn list(report: &Value) -> Vec<Value> {
    report["rows"].as_array().cloned().unwrap_or_default()
}

/// Whether rows cover a body of so many bytes from its first byte to its last.
pub fn cover(report: &Value, n_bytes: usize) -> Result<(), String> {
    let mut end = 0;
    for row in list(report) {
        if row["start"].as_u64() != Some(end) {
            return Err(format!("a row starts at {} where the one before ends at {end}", row["start"]));
        }
        end += row["bytes"].as_u64().unwrap_or_default();
    }
    if (end, report["bytes"].as_u64()) == (n_bytes as u64, Some(n_bytes as u64)) {
        return Ok(());
    }
    Err(format!("rows cover {end} bytes and the report says {}, of a body with {n_bytes}", report["bytes"]))
}

/// How many rows have no origin but the file of the session.
pub fn from_the_session_file(report: &Value) -> usize {
    let is_place = |row: &&Value| row["origin"].as_str().is_some_and(|origin| origin.starts_with("the session file"));
    list(report).iter().filter(|row| row["source"] == "session" || is_place(row)).count()
}

fn sha256_of(bytes: &[u8]) -> String {
    Digest::of([bytes]).to_string()
}

/// Whether every row of a file gives back the bytes of that file which it names, once its escapes are undone. A file
/// may have changed since, so all its texts so far count; the row names the hash of the one that was read.
pub fn invert(report: &Value, body: &[u8], texts: impl Fn(&str) -> Vec<Vec<u8>>) -> Result<(), String> {
    for (n, row) in list(report).iter().enumerate() {
        if row["source"] == "file" {
            let sha256 = row["file_sha256"].as_str().unwrap_or("none");
            let path = row["origin"].as_str().unwrap_or_default();
            if !texts(path).iter().any(|text| sha256_of(text) == sha256) {
                return Err(format!("row {n} ({}): {path} never had the sha256 {sha256}", row["part"]));
            }
        }
        let (Some(range), Some(path)) = (row["file_range"].as_array(), row["origin"].as_str()) else { continue };
        let number = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or_default();
        let (start, end) = (number(&row["start"]), number(&row["start"]) + number(&row["bytes"]));
        let escaped = body.get(start..end).unwrap_or_default();
        let raw: Option<String> = serde_json::from_slice(&[b"\"", escaped, b"\""].concat()).ok();
        let raw = raw.map(String::into_bytes);
        let (from, to) = (number(&range[0]), number(&range[1]));
        let is_of = |text: &Vec<u8>| raw.as_deref() == text.get(from..to) && row["file_sha256"] == sha256_of(text);
        if !texts(path).iter().any(is_of) {
            let shown = raw.map_or_else(|| "no text".to_owned(), |raw| String::from_utf8_lossy(&raw).into_owned());
            let shown: String = shown.chars().take(40).collect();
            return Err(format!("row {n} ({}): bytes {from}..{to} of {path} are not {shown:?}", row["part"]));
        }
    }
    Ok(())
}

/// What of a row must be the same in every report of it.
const FIELDS: [&str; 9] = ["part", "source", "origin", "file_range", "file_sha256", "item", "role", "start", "bytes"];

/// Whether two lists have the same rows.
pub fn same(sender: &[Value], later: &[Value]) -> Result<(), String> {
    for (n, (one, other)) in sender.iter().zip(later).enumerate() {
        for field in FIELDS {
            if one[field] != other[field] {
                let part = &one["part"];
                return Err(format!(
                    "row {n} ({part}): {field} was {} ({}) and is {} ({}) later",
                    one[field], one["source"], other[field], other["source"]
                ));
            }
        }
    }
    if sender.len() == later.len() {
        return Ok(());
    }
    Err(format!("the sender had {} rows, later there are {}", sender.len(), later.len()))
}

/// Whether everything that a session sent was sent by processes whose events are kept. An agent may end after its session,
/// whose process then reports no more, so agents and reviewers are not asked for here.
pub fn is_told_of(stage: &Stage, session: &str) -> bool {
    stage.told.iter().any(|told| told.session == session) && stage.child.as_deref() != Some(session)
}

/// What the processes of a session reported of its requests, in order. Each reports only the rows that the request before
/// did not have. Reports of agents and reviewers name another session.
pub fn told(stage: &Stage, session: &str) -> Vec<Told> {
    let mut all = Vec::new();
    for process in stage.told.iter().filter(|told| told.session == session) {
        let mut rows: Vec<Value> = Vec::new();
        let is_own = |event: &&Value| event["type"] == "context.report" && event["thread_id"].is_null();
        for event in process.events.iter().filter(is_own) {
            let n_kept = event["rows_kept"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
            rows.truncate(n_kept);
            rows.extend(list(event));
            all.push(Told { bytes: event["bytes"].as_u64().unwrap_or_default(), rows: rows.clone() });
        }
    }
    all
}
