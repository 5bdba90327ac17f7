//! A record that grows, as server-sent events.
//!
//! The file is followed and not the process that writes it, so a page beside a session of another process works the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use pellucid_agent::replay;
use pellucid_agent::replay::ReplaySource;
use pellucid_store::lines::Forwards;
use pellucid_store::read;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_tasks::Task;
use serde_json::Value;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::timeout;

use crate::view::SessionFiles;

/// How often the length of the file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(80);

/// A comment is sent at least this often, so that a connection that is gone shows.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// A client that takes nothing for this long is left.
const TAKE_WITHIN: Duration = Duration::from_secs(30);

/// How many pieces wait for a client.
pub const N_WAITING_MAX: usize = 64;

/// The place in a record up to which it was read.
#[derive(Debug, Clone)]
struct Follower {
    home: PathBuf,
    files: SessionFiles,
    /// The offset behind the last whole line.
    at: u64,
    /// Lines up to this number are not sent.
    seen: Option<u64>,
    /// The numbers of requests, by their lines.
    numbers: BTreeMap<u64, usize>,
    n_requests: usize,
}

/// Sends what happens to a session until the client is gone, or the record is.
pub async fn follow(home: PathBuf, files: SessionFiles, last: Option<u64>, to: mpsc::Sender<Bytes>) {
    let begun = Task::blocking("inspector: begin to follow", move || Follower::begin(home, files, last)).await;
    let Ok(mut follower) = begun else {
        return;
    };
    let mut said = Instant::now();
    let mut is_first = true;
    loop {
        let looked = Task::blocking("inspector: follow a record", move || {
            let found = follower.look();
            (follower, found)
        });
        let Ok((back, found)) = looked.await else {
            return;
        };
        follower = back;
        let is_gone = found.is_none();
        let mut text: String = found.unwrap_or_else(|| vec![GONE.to_owned()]).concat();
        if text.is_empty() && (is_first || said.elapsed() >= COMMENT_EVERY) {
            text = ": following\n\n".to_owned();
        }
        is_first = false;
        if !text.is_empty() {
            said = Instant::now();
            if !matches!(timeout(TAKE_WITHIN, to.send(text.into())).await, Ok(Ok(()))) {
                return;
            }
        }
        if is_gone {
            return;
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            () = to.closed() => return,
        }
    }
}

/// The event of a record that was removed or replaced.
const GONE: &str = "event: gone\ndata: {\"kind\":\"gone\"}\n\n";

impl Follower {
    /// Begins behind what is there, or behind the line that the client has seen.
    fn begin(home: PathBuf, files: SessionFiles, last: Option<u64>) -> Self {
        let mut follower = Self { home, files, at: 0, seen: last, numbers: BTreeMap::new(), n_requests: 0 };
        follower.count();
        if last.is_none() {
            follower.at = follower.length().unwrap_or(0);
        }
        follower
    }

    /// Counts the requests that the record has now.
    fn count(&mut self) {
        let Ok(file) = read::open_damaged(&self.files.path) else {
            return;
        };
        let Ok(source) = ReplaySource::open(&self.home, &file) else {
            return;
        };
        self.numbers = replay::numbers(&source).unwrap_or_default();
        self.n_requests = self.numbers.values().copied().max().unwrap_or(0);
    }

    fn length(&self) -> Option<u64> {
        self.files.record.as_deref().and_then(|record| fs::metadata(record).ok()).map(|metadata| metadata.len())
    }

    /// The events of the lines that were added; absent if the record is gone.
    fn look(&mut self) -> Option<Vec<String>> {
        let Some(length) = self.length() else {
            // A session has no record before its first request.
            return if self.at == 0 && self.files.path.exists() { Some(Vec::new()) } else { None };
        };
        if length < self.at {
            return None;
        }
        if length == self.at {
            return Some(Vec::new());
        }
        self.files.record.clone().and_then(|record| self.read(&record, length).ok())
    }

    fn read(&mut self, record: &Path, length: u64) -> std::io::Result<Vec<String>> {
        let mut lines = Forwards::new(pellucid_files::open(record)?, self.at, length)?;
        let mut events = Vec::new();
        while let Some(line) = lines.next_line()? {
            if !line.is_whole {
                break;
            }
            self.at = line.end;
            let Ok(link) = serde_json::from_slice::<ChainLink>(line.bytes) else {
                continue;
            };
            let event = self.event(&link);
            if self.seen.is_none_or(|seen| link.n > seen) {
                events.extend(event);
            }
        }
        Ok(events)
    }

    fn event(&mut self, link: &ChainLink) -> Option<String> {
        let mut data = json!({ "n": link.n, "kind": null, "at": link.timestamp });
        let kind = match &link.entry {
            LogEntry::Opened(_) => "opened",
            LogEntry::Request(request) => {
                let number = *self.numbers.entry(link.n).or_insert(self.n_requests + 1);
                self.n_requests = self.n_requests.max(number);
                data["turn"] = request.turn.as_str().into();
                data["number"] = number.into();
                "request"
            }
            LogEntry::Reply(reply) => {
                data["number"] = self.numbers.get(&reply.request).copied().map_or(Value::Null, Value::from);
                "reply"
            }
            LogEntry::Call(call) => {
                data["turn"] = call.turn.as_str().into();
                data["call"] = call.call.as_str().into();
                data["tool"] = call.tool.as_str().into();
                "call"
            }
            LogEntry::Rebuilt(_) => "compaction",
            LogEntry::Sealed(_) => "sealed",
            _ => return None,
        };
        data["kind"] = kind.into();
        Some(format!("event: {kind}\nid: {}\ndata: {data}\n\n", link.n))
    }
}
