//! Reading a requests file, and verifying its chain.
//!
//! Every line has the hash of the line before. A line that was changed, taken out or put in shows
//! where the next one does not fit. That lines are missing at the end shows only to those who know
//! the hash of a later line: the *anchor*, which [`Chain::anchor`] gives.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::usage::UsageSplit;
use sha2::Digest;
use sha2::Sha256;

use crate::lines::Forwards;
use crate::redact;
use crate::requests::entry::Entry;
use crate::requests::entry::FORMAT;
use crate::requests::entry::Link;
use crate::requests::entry::Request;

/// The hash of bytes, as text.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A requests file, read back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    /// Its lines.
    pub links: Vec<Link>,
    /// The hashes of these lines.
    pub hashes: Vec<String>,
    /// The numbers of lines that are torn, from one.
    pub torn: Vec<usize>,
    /// The first line that does not fit, if any.
    pub broken: Option<Broken>,
    /// Whether secrets are blanked in it, so that it does not hold what it held.
    pub is_redacted: bool,
    /// Whether that is so in the last line.
    ends_blank: bool,
}

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// A line does not follow the one before.
    #[error("line {line} does not follow the line before: that one was changed, or lines are missing between them")]
    Hash {
        /// Its number, from one.
        line: usize,
    },
    /// A line has another number than it should.
    #[error("line {line} says that it is record {n} where {expected} is due")]
    Number {
        /// Its number, from one.
        line: usize,
        /// The record's number.
        n: u64,
        /// The one that is due.
        expected: u64,
    },
    /// The format is newer than this program.
    #[error("line {line} has the format {format}; this program reads up to {FORMAT}")]
    Format {
        /// Its number, from one.
        line: usize,
        /// The format.
        format: u32,
    },
}

impl Chain {
    /// Reads a file. Nothing is there when there is no file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut chain = Self::default();
        let file = match pellucid_files::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(chain),
            Err(error) => return Err(error),
        };
        let mut lines = Forwards::new(file, 0, u64::MAX)?;
        let mut n = 0;
        while let Some(line) = lines.next_line()? {
            n += 1;
            if line.is_blank() {
                continue;
            }
            match serde_json::from_slice::<Link>(line.bytes) {
                Ok(link) => chain.add(link, line.bytes, n),
                Err(_) => chain.torn.push(n),
            }
        }
        Ok(chain)
    }

    /// What its requests cost together, by what is charged for.
    pub fn usage(&self) -> UsageSplit {
        let mut usage = UsageSplit::default();
        for link in &self.links {
            if let Entry::Reply(reply) = &link.entry
                && let Some(split) = reply.split()
            {
                usage.add(&split);
            }
        }
        usage
    }

    /// What came of the provider's cache for every request, in order: as its reply says, or unknown if none came.
    pub fn verdicts(&self) -> Vec<(&Request, CacheVerdict)> {
        let replies = self.links.iter().filter_map(|link| match &link.entry {
            Entry::Reply(reply) => Some((reply.request, reply.cache.as_ref()?)),
            _ => None,
        });
        let replies: BTreeMap<u64, &CacheVerdict> = replies.collect();
        let requests = self.links.iter().filter_map(|link| match &link.entry {
            Entry::Request(request) => Some((link.n, request.as_ref())),
            _ => None,
        });
        requests
            .map(|(n, request)| (request, replies.get(&n).map_or_else(CacheVerdict::unknown, |it| (*it).clone())))
            .collect()
    }

    /// The requests that differ from the one before.
    pub fn cache_breaks(&self) -> impl Iterator<Item = (&Request, &CacheBreak)> {
        self.links.iter().filter_map(|link| match &link.entry {
            Entry::Request(request) => Some((request.as_ref(), request.cache_break.as_ref()?)),
            _ => None,
        })
    }

    fn add(&mut self, link: Link, bytes: &[u8], line: usize) {
        // The hash of a line that was blanked is not known any more.
        let follows_blank = self.ends_blank;
        if self.broken.is_none() {
            let expected = self.links.len() as u64;
            self.broken = match &link.entry {
                Entry::Opened(opened) if opened.format > FORMAT => Some(Broken::Format { line, format: opened.format }),
                _ if !follows_blank && link.previous.as_ref() != self.hashes.last() => Some(Broken::Hash { line }),
                _ if link.n != expected => Some(Broken::Number { line, n: link.n, expected }),
                _ => None,
            };
        }
        self.ends_blank = redact::has_blank(bytes);
        self.is_redacted |= self.ends_blank;
        self.hashes.push(sha256(bytes));
        self.links.push(link);
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

    use pellucid_testkit::Workspace;

    use super::*;
    use crate::requests::entry::Reply;
    use crate::requests::log::RequestLog;

    const SESSION: &str = "rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";
    const FILE: &str = "requests/2026/01/02/requests-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

    fn write(home: &Workspace, n_lines: u64) {
        let mut log = RequestLog::new(home.root(), Path::new(SESSION));
        for request in 0..n_lines {
            let n = log.write(Entry::Reply(Box::new(Reply { request, ..Reply::default() })));
            assert!(n.is_some(), "{:?}", log.failure());
        }
    }

    fn broken(home: &Workspace) -> Option<String> {
        Chain::read(&home.path(FILE)).unwrap().broken.map(|broken| broken.to_string())
    }

    #[test]
    fn a_chain_goes_on_after_a_torn_line() {
        let home = Workspace::empty();
        write(&home, 2);
        let text = home.read(FILE);
        home.write(FILE, format!("{text}{{\"n\":2,\"timest"));
        write(&home, 2);
        let chain = Chain::read(&home.path(FILE)).unwrap();
        assert_eq!((chain.links.len(), &chain.torn[..], chain.broken.clone()), (4, &[3][..], None));
        assert!(chain.has(chain.anchor().unwrap()));
        assert!(!chain.has("0"));
    }

    #[test]
    fn a_change_anywhere_breaks_the_chain() {
        let home = Workspace::empty();
        write(&home, 4);
        let text = home.read(FILE);
        let lines: Vec<&str> = text.lines().collect();
        let changed = text.replacen("\"request\":1", "\"request\":7", 1);
        let without = [lines[0], lines[2], lines[3]].join("\n");
        let torn = text.replacen(lines[1], "{\"n\":1,", 1);
        let first = lines[1..].join("\n");
        for text in [changed, without, torn] {
            home.write(FILE, text);
            assert!(broken(&home).is_some_and(|broken| broken.contains("does not follow the line before")));
        }
        home.write(FILE, first);
        assert!(broken(&home).is_some());
        let cut = format!("{}\n", lines[..3].join("\n"));
        home.write(FILE, cut);
        let chain = Chain::read(&home.path(FILE)).unwrap();
        assert_eq!(chain.broken, None, "a missing end does not show by itself");
        assert!(!chain.has(&sha256(lines[3].as_bytes())), "but an anchor shows it");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_once() {
        let home = Workspace::new("//- requests\nin the way\n");
        let mut log = RequestLog::new(home.root(), Path::new(SESSION));
        assert_eq!(log.write(Entry::Reply(Box::default())), None);
        assert!(log.failure().is_some_and(|failure| failure.contains("requests-2026-01-02")));
        assert!(!log.is_open());
        assert!(fs::metadata(home.path("requests")).unwrap().is_file());
    }
}
