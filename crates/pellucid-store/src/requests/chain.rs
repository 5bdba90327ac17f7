//! Reading a requests file, and verifying its chain.
//!
//! Every line has its number and the hash of the line before. A line that was changed, taken out, put in or moved shows
//! where the next one does not fit. That lines are missing at the end shows only to those who know the hash of a later
//! line: the *anchor*, which [`Chain::anchor`] gives, and which [`anchors`](super::anchors) keeps.
//!
//! - `breaks`: decides what happened where a line does not fit

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::usage::UsageSplit;
use sha2::Digest;
use sha2::Sha256;

use crate::lines::Forwards;
use crate::lines::Line;
use crate::redact;
use crate::requests::entry::ChainLink;
use crate::requests::entry::FORMAT;
use crate::requests::entry::LogEntry;
use crate::requests::entry::RequestEntry;
use crate::requests::entry::StoredPiece;

mod breaks;

use self::breaks::Raw;
use super::anchors::Anchor;
use super::damage::Damage;
use super::damage::DamageKind;

/// The hash of bytes, as text.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal, lower case.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|it| char::from(DIGITS[usize::from(it)])).collect()
}

/// A requests file, read back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    /// The lines of the record, in order.
    pub links: Vec<ChainLink>,
    /// The hashes of these lines.
    pub hashes: Vec<String>,
    /// The numbers of lines that are torn, from one.
    pub torn: Vec<usize>,
    /// The first line that does not fit, if any.
    pub broken: Option<Broken>,
    /// How many lines precede the first that does not fit.
    pub n_sound: usize,
    /// Whether secrets are blanked in it, so that it does not hold what it held.
    pub is_redacted: bool,
    /// Whether texts are replaced by filler of the same length, so that only lengths can be compared.
    pub is_filled: bool,
}

/// The first place at which the chain of hashes is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// Lines were changed, removed, added or moved.
    #[error("{}", self.damage("").to_string().trim_start_matches(": "))]
    Lines {
        /// The number of the first line, from one.
        line: usize,
        /// The number of lines.
        n_lines: u64,
        /// The offset at which the first begins, or began.
        byte: u64,
        /// The kind of the line.
        kind: String,
        /// The turn that it is of.
        turn: Option<String>,
        /// The change of the first such line.
        change: DamageKind,
    },
    /// The format is newer than this program.
    #[error("line {line} has the format {format}; this program reads up to {FORMAT}")]
    Format {
        /// The number of the line, from one.
        line: usize,
        /// The format that the line names.
        format: u32,
    },
}

impl Broken {
    /// The same as damage of a file.
    pub fn damage(&self, file: &str) -> Damage {
        let file = file.to_owned();
        match self {
            Self::Lines { line, n_lines, byte, kind, turn, change } => Damage {
                file,
                line: Some(*line as u64),
                n_lines: *n_lines,
                byte: *byte,
                kind: kind.clone(),
                part: String::new(),
                turn: turn.clone(),
                change: *change,
            },
            Self::Format { line, .. } => Damage {
                file,
                line: Some(*line as u64),
                n_lines: 1,
                byte: 0,
                kind: "opened".to_owned(),
                part: String::new(),
                turn: None,
                change: DamageKind::New,
            },
        }
    }
}

impl Chain {
    /// Reads a file. Without a file the chain is empty.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::read_anchored(path, &[])
    }

    /// The same, of a session of which these hashes are known.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_anchored(path: &Path, anchors: &[Anchor]) -> io::Result<Self> {
        let mut chain = Self::default();
        let mut raws = Vec::new();
        match pellucid_files::open(path) {
            Ok(file) => {
                let mut lines = Forwards::new(file, 0, u64::MAX)?;
                while let Some(line) = lines.next_line()? {
                    raws.push(chain.add(&line, raws.len() + 1));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // A list that grew by doubling holds more than it has, and a record is kept as long as its session is looked at.
        chain.links.shrink_to_fit();
        chain.hashes.shrink_to_fit();
        (chain.broken, chain.torn) = breaks::find(&chain, &raws, anchors);
        let is_sound = |raw: &&Raw| match chain.broken {
            Some(Broken::Lines { line, .. } | Broken::Format { line, .. }) => raw.number < line,
            None => true,
        };
        chain.n_sound = raws.iter().filter(is_sound).filter(|raw| raw.link.is_some()).count();
        Ok(chain)
    }

    /// The tokens of all requests together, by price class.
    pub fn usage(&self) -> UsageSplit {
        let mut usage = UsageSplit::default();
        for link in &self.links {
            if let LogEntry::Reply(reply) = &link.entry
                && let Some(split) = reply.split()
            {
                usage.add(&split);
            }
        }
        usage
    }

    /// The cache verdict of every request, in order: from its reply, or unknown if no reply came.
    pub fn verdicts(&self) -> Vec<(&RequestEntry, CacheVerdict)> {
        let replies = self.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Reply(reply) => Some((reply.request, reply.cache.as_ref()?)),
            _ => None,
        });
        let replies: BTreeMap<u64, &CacheVerdict> = replies.collect();
        let requests = self.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Request(request) => Some((link.n, request.as_ref())),
            _ => None,
        });
        requests
            .map(|(n, request)| (request, replies.get(&n).map_or_else(CacheVerdict::unknown, |it| (*it).clone())))
            .collect()
    }

    /// The requests that differ from the one before.
    pub fn cache_breaks(&self) -> impl Iterator<Item = (&RequestEntry, &CacheBreak)> {
        self.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Request(request) => Some((request.as_ref(), request.cache_break.as_ref()?)),
            _ => None,
        })
    }

    /// The texts that its lines refer to.
    pub fn pieces(&self) -> Vec<&StoredPiece> {
        self.links.iter().flat_map(|link| link.entry.pieces()).collect()
    }

    fn add(&mut self, line: &Line<'_>, number: usize) -> Raw {
        let mut raw = Raw { number, start: line.start, end: line.end, link: None, torn_at: None, is_blanked: false };
        match serde_json::from_slice::<ChainLink>(line.bytes) {
            Ok(link) => {
                raw.link = Some(self.links.len());
                raw.is_blanked = redact::has_blank(line.bytes);
                self.is_redacted |= raw.is_blanked;
                self.is_filled |= matches!(&link.entry, LogEntry::Opened(opened) if opened.blanked.is_some());
                self.hashes.push(sha256(line.bytes));
                self.links.push(link);
            }
            Err(_) => raw.torn_at = breaks::torn_at(line.bytes),
        }
        raw
    }

    /// The hash of the last line: who keeps it elsewhere can see later that nothing is missing.
    pub fn anchor(&self) -> Option<&str> {
        self.hashes.last().map(String::as_str)
    }

    /// Whether a line with this hash is in the chain.
    pub fn has(&self, anchor: &str) -> bool {
        self.hashes.iter().any(|hash| hash == anchor)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pellucid_files::RealDisk;
    use pellucid_protocol::settings::TruncationMode;
    use pellucid_protocol::settings::TruncationPolicy;
    use pellucid_testkit::Workspace;
    use serde_json::Value;

    use super::*;
    use crate::requests::entry::How;
    use crate::requests::entry::OpenedEntry;
    use crate::requests::entry::ReplyEntry;
    use crate::requests::log::RequestLog;

    const SESSION: &str = "rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";
    const FILE: &str = "requests/2026/01/02/requests-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

    fn write(home: &Workspace, n_lines: u64) {
        let mut log = RequestLog::new(RealDisk::shared(), home.root(), Path::new(SESSION));
        log.write(LogEntry::Opened(OpenedEntry {
            format: FORMAT,
            session: "s".to_owned(),
            version: "1".to_owned(),
            how: How::Resumed,
            at: 0,
            ids: Value::Null,
            truncation: TruncationPolicy { mode: TruncationMode::Bytes, limit: 1 },
            summaries: None,
            origins_from: None,
            parent: None,
            files: None,
            blanked: None,
            terms: None,
            watched: None,
        }));
        for request in 0..n_lines {
            let n = log.write(LogEntry::Reply(Box::new(ReplyEntry { request, ..ReplyEntry::default() })));
            assert!(n.is_some(), "{:?}", log.failure());
        }
    }

    #[test]
    fn a_chain_goes_on_after_a_torn_line() {
        let home = Workspace::empty();
        write(&home, 2);
        let text = home.read(FILE);
        home.write(FILE, format!("{text}{{\"n\":3,\"timest"));
        write(&home, 2);
        let chain = Chain::read(&home.path(FILE)).unwrap();
        assert_eq!((chain.links.len(), &chain.torn[..], chain.broken.clone()), (6, &[4][..], None));
        assert!(chain.has(chain.anchor().unwrap()));
        assert!(!chain.has("0"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_once() {
        let home = Workspace::new("//- requests\nin the way\n");
        let mut log = RequestLog::new(RealDisk::shared(), home.root(), Path::new(SESSION));
        assert_eq!(log.write(LogEntry::Reply(Box::default())), None);
        let failure = format!("{}: Not a directory (os error 20)", home.path(FILE).display());
        assert_eq!(log.failure(), Some(failure.as_str()));
        assert!(!log.is_open());
        assert!(fs::metadata(home.path("requests")).unwrap().is_file());
    }

    /// A chain of these entries, without a file.
    fn chain(entries: &[Value]) -> Chain {
        let home = Workspace::empty();
        let mut log = RequestLog::new(RealDisk::shared(), home.root(), Path::new(SESSION));
        for entry in entries {
            log.write(serde_json::from_value(entry.clone()).unwrap());
        }
        Chain::read(&home.path(FILE)).unwrap()
    }

    fn request(turn: &str, cache_break: &Value) -> Value {
        serde_json::json!({
            "kind": "request", "turn": turn, "purpose": "answer", "at": 0, "frame": "f", "bytes": 1, "items": 1,
            "body": "b", "cache_break": cache_break,
        })
    }

    fn reply(request: u64, input: i64, cache_write: &Value, cache: &Value) -> Value {
        serde_json::json!({
            "kind": "reply", "request": request, "cache_write": cache_write, "cache": cache,
            "usage": { "input_tokens": input, "cached_input_tokens": 1, "output_tokens": 2,
                "reasoning_output_tokens": 0, "total_tokens": input + 2 },
        })
    }

    #[test]
    fn what_requests_cost_is_added_up() {
        let none = Value::Null;
        assert_eq!(chain(&[]).usage(), UsageSplit::default());
        let chain = chain(&[
            reply(0, 10, &none, &none),
            reply(1, 20, &serde_json::json!(4), &none),
            serde_json::json!({ "kind": "reply", "request": 2, "usage": null }),
        ]);
        assert_eq!(chain.usage(), UsageSplit { cached_read: 2, cache_write: Some(4), uncached: 24, output: 4 });
    }

    #[test]
    fn every_request_has_a_verdict_and_one_without_a_reply_is_unknown() {
        let none = Value::Null;
        let verdict = |word: &str| serde_json::json!({ "verdict": word });
        let changed = serde_json::json!({
            "first_byte": 1, "part": "tools", "tokens_rebilled": 2, "span": [1, 2], "source": "s", "cause": "c",
        });
        let chain = chain(&[
            request("t1", &none),
            reply(0, 1, &none, &verdict("cold")),
            request("t2", &changed),
            request("t3", &none),
            reply(3, 1, &none, &verdict("extended")),
            reply(3, 1, &none, &verdict("missed")),
        ]);
        let shown: Vec<(String, String)> =
            chain.verdicts().into_iter().map(|(it, verdict)| (it.turn.clone(), verdict.verdict.to_string())).collect();
        let pair = |turn: &str, word: &str| (turn.to_owned(), word.to_owned());
        assert_eq!(shown, [pair("t1", "cold"), pair("t2", "unknown"), pair("t3", "missed")]);
        let breaks: Vec<(&str, &str)> =
            chain.cache_breaks().map(|(it, why)| (it.turn.as_str(), why.part.as_str())).collect();
        assert_eq!(breaks, [("t2", "tools")]);
    }

    #[test]
    fn the_texts_of_all_lines_are_given_in_order() {
        let noted = |text: &str| serde_json::json!({ "kind": "noted", "at": 0, "item": { "text": text } });
        let chain = chain(&[noted("one"), reply(0, 1, &Value::Null, &Value::Null), noted("two")]);
        let lens: Vec<u64> = chain.pieces().into_iter().map(|piece| piece.text.len()).collect();
        assert_eq!(lens, [3, 3]);
        let anchor = chain.anchor().unwrap();
        assert_eq!((anchor, chain.has(&chain.hashes[0]), chain.has("")), (chain.hashes[2].as_str(), true, false));
    }

    #[test]
    fn a_later_format_is_refused_by_its_number_and_not_taken_for_damage() {
        let opened = |format: u32| {
            serde_json::json!({
                "kind": "opened", "format": format, "session": "s", "version": "9", "how": "new", "at": 0, "ids": null,
                "truncation": { "mode": "bytes", "limit": 1 },
            })
        };
        let chain = chain(&[opened(FORMAT), opened(FORMAT + 1), reply(0, 1, &Value::Null, &Value::Null)]);
        let broken = chain.broken.clone().unwrap();
        assert_eq!(broken, Broken::Format { line: 2, format: FORMAT + 1 });
        assert_eq!(broken.to_string(), format!("line 2 has the format 3; this program reads up to {FORMAT}"));
        assert_eq!(
            (chain.n_sound, broken.damage("f").to_string()),
            (1, "f: line 2 (byte 0, opened) is new".to_owned())
        );
    }

    #[test]
    fn a_file_that_is_no_file_is_an_error_and_none_is_an_empty_chain() {
        let home = Workspace::empty();
        assert_eq!(Chain::read(&home.path(FILE)).unwrap(), Chain::default());
        assert_eq!(Chain::read(home.root()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        home.write("r", b"\xff\xfe\n\0\n");
        let chain = Chain::read(&home.path("r")).unwrap();
        let broken = chain.broken.unwrap();
        assert_eq!(broken.to_string(), "line 1 (byte 0, unreadable) was changed");
        assert_eq!((chain.links.len(), chain.n_sound), (0, 0));
    }
}
