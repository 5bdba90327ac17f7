//! Decides what happened where a line of a record does not fit, from the numbers and hashes of its neighbours.
//!
//! A line that cannot be read is harmless only where a crash can have left it: it is the beginning of the line that was
//! due, and behind it either the file ends or a process opened the session again.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;

use super::Broken;
use super::Chain;
use crate::requests::anchors::Anchor;
use crate::requests::damage::DamageKind;
use crate::requests::entry::FORMAT;
use crate::requests::entry::LogEntry;

/// A line of the file.
#[derive(Debug)]
pub(super) struct Raw {
    /// The number of the line, from one.
    pub number: usize,
    /// The offset of its first byte.
    pub start: u64,
    /// The offset behind it.
    pub end: u64,
    /// The index of the line among the links, if it can be parsed.
    pub link: Option<usize>,
    /// The number of the record that it is the beginning of, if it cannot be read because it was torn.
    pub torn_at: Option<Torn>,
    /// Whether the line has redacted values.
    pub is_blanked: bool,
}

/// How much of its number a torn line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// The line has its whole number.
    Number(u64),
    /// The line ends before its number.
    Before,
}

/// How much of an incomplete line was written; `None` if it is not the beginning of a line.
pub(super) fn torn_at(bytes: &[u8]) -> Option<Torn> {
    const HEAD: &[u8] = b"{\"n\":";
    if !bytes.is_empty() && HEAD.starts_with(bytes) {
        return Some(Torn::Before);
    }
    let is_cut = serde_json::from_slice::<IgnoredAny>(bytes).is_err_and(|error| error.is_eof());
    let rest = bytes.strip_prefix(HEAD).filter(|_| is_cut)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == rest.len() {
        return Some(Torn::Before);
    }
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok().map(Torn::Number)
}

/// The first line that was changed since it was written, and the lines that a crash left incomplete.
pub(super) fn find(chain: &Chain, raws: &[Raw], anchors: &[Anchor]) -> (Option<Broken>, Vec<usize>) {
    let mut finder = Finder { chain, raws, hashes: anchors.iter().map(|it| it.sha256.as_str()).collect() };
    let mut torn = Vec::new();
    let broken = finder.first(&mut torn).or_else(|| finder.end(anchors, &mut torn));
    (broken, torn)
}

struct Finder<'a> {
    chain: &'a Chain,
    raws: &'a [Raw],
    /// The hashes that are known from elsewhere.
    hashes: BTreeSet<&'a str>,
}

impl Finder<'_> {
    fn n(&self, link: usize) -> u64 {
        self.chain.links[link].n
    }

    fn hash(&self, link: Option<usize>) -> Option<&str> {
        link.map(|link| self.chain.hashes[link].as_str())
    }

    fn previous(&self, link: usize) -> Option<&str> {
        self.chain.links[link].previous.as_deref()
    }

    /// Whether a line follows another.
    fn follows(&self, link: usize, before: Option<usize>) -> bool {
        self.previous(link) == self.hash(before)
    }

    fn is_known(&self, link: usize) -> bool {
        self.hashes.contains(self.chain.hashes[link].as_str())
    }

    fn first(&mut self, torn: &mut Vec<usize>) -> Option<Broken> {
        let mut before: Option<&Raw> = None;
        let mut unreadable: Vec<&Raw> = Vec::new();
        for (at, raw) in self.raws.iter().enumerate() {
            let due = before.and_then(|it| it.link).map_or(0, |link| self.n(link).saturating_add(1));
            let Some(link) = raw.link else {
                if self.is_torn(at, due) {
                    torn.push(raw.number);
                } else {
                    unreadable.push(raw);
                }
                continue;
            };
            if let LogEntry::Opened(opened) = &self.chain.links[link].entry
                && opened.format > FORMAT
            {
                let is_as_it_was = self.next(at).is_none_or(|next| self.follows(next, Some(link)));
                let format = Broken::Format { line: raw.number, format: opened.format };
                return Some(if is_as_it_was { format } else { self.broken(raw, 1, DamageKind::Changed) });
            }
            // The hash of a line that was blanked is not known any more.
            let fits = before.is_some_and(|it| it.is_blanked) || self.follows(link, before.and_then(|it| it.link));
            let is_due = self.n(link) == due;
            if let Some(first) = unreadable.first() {
                let change = if fits && is_due { DamageKind::New } else { DamageKind::Changed };
                return Some(self.broken(first, unreadable.len() as u64, change));
            }
            if !fits || !is_due {
                return Some(self.diagnose(before, at, due, fits));
            }
            before = Some(raw);
        }
        None
    }

    /// The next line that can be read.
    fn next(&self, at: usize) -> Option<usize> {
        self.raws[at + 1..].iter().find_map(|raw| raw.link)
    }

    /// Whether a crash can have left this line.
    fn is_torn(&self, at: usize, due: u64) -> bool {
        let is_beginning = match self.raws[at].torn_at {
            Some(Torn::Number(n)) => n == due,
            Some(Torn::Before) => true,
            None => false,
        };
        let behind = self.next(at).map(|link| &self.chain.links[link].entry);
        is_beginning && behind.is_none_or(|entry| matches!(entry, LogEntry::Opened(_)))
    }

    /// Decides what happened at a line that does not follow the one before, or has another number than is due.
    fn diagnose(&self, before: Option<&Raw>, at: usize, due: u64, fits: bool) -> Broken {
        let raw = &self.raws[at];
        let mut behind = self.raws[at + 1..].iter().filter_map(|raw| raw.link);
        let (next, next_but_one) = (behind.next(), behind.next());
        let (Some(link), before_link) = (raw.link, before.and_then(|it| it.link)) else {
            return self.broken(raw, 1, DamageKind::Changed);
        };
        let n = self.n(link);
        if fits {
            // Only its number is not right.
            return self.broken(raw, 1, DamageKind::Changed);
        }
        if let Some(next) = next {
            // Of a copy that was put before its line, the line itself is still there.
            let is_copy = next_but_one.is_some_and(|it| self.follows(it, Some(next)));
            let is_exchanged =
                self.n(next) == due && n.checked_sub(1) == Some(due) && self.follows(link, Some(next)) && !is_copy;
            if is_exchanged {
                return self.broken(raw, 1, DamageKind::Moved);
            }
            if self.n(next) == due && self.follows(next, before_link) {
                return self.broken(raw, 1, DamageKind::New);
            }
        } else if before_link.is_some_and(|it| self.is_known(it)) && !self.is_known(link) && n != due {
            return self.broken(raw, 1, DamageKind::New);
        }
        let is_as_it_was =
            next.map_or(self.is_known(link) || self.hashes.is_empty(), |next| self.follows(next, Some(link)));
        match before {
            _ if !is_as_it_was => self.broken(raw, 1, DamageKind::Changed),
            _ if n > due => missing(raw.number, raw.start, due, n - due),
            Some(before) if n == due => self.broken(before, 1, DamageKind::Changed),
            _ => self.broken(raw, 1, DamageKind::Changed),
        }
    }

    /// Checks the end of the chain, where no line follows that would show a change, against hashes that were kept
    /// elsewhere.
    fn end(&self, anchors: &[Anchor], torn: &mut Vec<usize>) -> Option<Broken> {
        let last = self.chain.links.last().map(|link| link.n);
        let due = last.map_or(0, |n| n.saturating_add(1));
        let anchors = if self.chain.is_redacted { &[] } else { anchors };
        let n_missing = anchors.iter().map(|it| it.n.saturating_add(1)).max().unwrap_or(0).saturating_sub(due);
        let behind = self.raws.iter().rev().take_while(|raw| raw.link.is_none());
        if let Some(first) = behind.last() {
            let is_torn = torn.contains(&first.number);
            if n_missing > 0 || !is_torn {
                torn.retain(|number| *number < first.number);
                let is_new = n_missing == 0 && !anchors.is_empty();
                return Some(self.broken(first, 1, if is_new { DamageKind::New } else { DamageKind::Changed }));
            }
        }
        if n_missing > 0 {
            let end = self.raws.last().map_or(0, |raw| raw.end);
            return Some(missing(self.raws.len() + 1, end, due, n_missing));
        }
        let is_other = |anchor: &&Anchor| {
            let link = usize::try_from(anchor.n).unwrap_or(usize::MAX);
            self.hash(Some(link).filter(|link| *link < self.chain.links.len())) != Some(&anchor.sha256)
        };
        let other = anchors.iter().find(is_other)?;
        let link = usize::try_from(other.n).ok()?;
        let raw = self.raws.iter().find(|raw| raw.link == Some(link))?;
        Some(self.broken(raw, 1, DamageKind::Changed))
    }

    fn broken(&self, raw: &Raw, n_lines: u64, change: DamageKind) -> Broken {
        let entry = raw.link.map(|link| &self.chain.links[link].entry);
        let kind = entry.map_or("unreadable", LogEntry::kind).to_owned();
        let turn = entry.and_then(LogEntry::turn).map(str::to_owned);
        Broken::Lines { line: raw.number, n_lines, byte: raw.start, kind, turn, change }
    }
}

/// Records are gone. What they were is not known, but their numbers are.
fn missing(line: usize, byte: u64, first: u64, n_lines: u64) -> Broken {
    let kind = format!("record {first}");
    Broken::Lines { line, n_lines, byte, kind, turn: None, change: DamageKind::Missing }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pellucid_files::RealDisk;
    use pellucid_testkit::Workspace;

    use super::*;
    use crate::requests::chain::sha256;
    use crate::requests::entry::ReplyEntry;
    use crate::requests::log::RequestLog;

    const SESSION: &str = "rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";
    const FILE: &str = "requests/2026/01/02/requests-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

    /// A record of so many lines, and the hashes that are known of it.
    fn written(n_lines: u64) -> (Workspace, Vec<String>, Vec<Anchor>) {
        let home = Workspace::empty();
        let mut log = RequestLog::new(RealDisk::shared(), home.root(), Path::new(SESSION));
        for request in 0..n_lines {
            log.write(LogEntry::Reply(Box::new(ReplyEntry { request, ..ReplyEntry::default() })));
        }
        let lines: Vec<String> = home.read(FILE).lines().map(str::to_owned).collect();
        let anchor = |n: usize| Anchor { session: "s".into(), n: n as u64, sha256: sha256(lines[n].as_bytes()) };
        let anchors = vec![anchor(lines.len() / 2), anchor(lines.len() - 1)];
        (home, lines, anchors)
    }

    #[track_caller]
    fn check(home: &Workspace, lines: &[&str], anchors: &[Anchor], expected: Option<(usize, DamageKind)>) {
        home.write(FILE, lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        let chain = Chain::read_anchored(&home.path(FILE), anchors).unwrap();
        let found = chain.broken.as_ref().map(|broken| match broken {
            Broken::Lines { line, change, .. } => (*line, *change),
            Broken::Format { .. } => panic!("{broken}"),
        });
        assert_eq!(found, expected, "{:?}\n{}", chain.broken, lines.join("\n"));
    }

    #[test]
    fn whatever_is_done_to_a_line_is_named() {
        let (home, lines, anchors) = written(7);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        check(&home, &lines, &anchors, None);
        for at in 0..lines.len() {
            for from in ["\"request\":", "\"timestamp\":\"2", "\"previous\":\"", "\"kind\":\"r", "{\"n\":"] {
                let Some(place) = lines[at].find(from) else { continue };
                let place = place + from.len();
                let mut changed = lines[at].as_bytes().to_vec();
                changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
                let changed = String::from_utf8(changed).unwrap();
                let mut copy = lines.clone();
                copy[at] = &changed;
                check(&home, &copy, &anchors, Some((at + 1, DamageKind::Changed)));
            }
            let mut copy = lines.clone();
            copy.remove(at);
            check(&home, &copy, &anchors, Some((at + 1, DamageKind::Missing)));
            if at + 1 < lines.len() {
                let mut copy = lines.clone();
                copy.swap(at, at + 1);
                check(&home, &copy, &anchors, Some((at + 1, DamageKind::Moved)));
            }
            check(&home, &lines[..at], &anchors, Some((at + 1, DamageKind::Missing)));
        }
        for at in 0..=lines.len() {
            for new in ["", "{}", "garbage", "{\"n\":1,\"timestamp\":\"x", lines[2]] {
                let mut copy = lines.clone();
                copy.insert(at, new);
                // A copy of a line beside that line is the same, whichever is called new. A torn line at the end is what
                // a crash leaves.
                let home_line = if new == lines[2] && at == 2 { 4 } else { at + 1 };
                check(&home, &copy, &anchors, Some((home_line, DamageKind::New)));
            }
        }
    }

    #[test]
    fn without_known_hashes_all_but_the_end_is_found() {
        let (home, lines, _) = written(5);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        check(&home, &lines[..4], &[], None);
        for at in 0..4 {
            let changed = lines[at].replacen("\"request\":", "\"request\":1", 1);
            let mut copy = lines.clone();
            copy[at] = &changed;
            check(&home, &copy, &[], Some((at + 1, DamageKind::Changed)));
        }
    }

    #[test]
    fn a_record_that_was_cut_and_continued_is_found() {
        let (home, lines, mut anchors) = written(6);
        home.write(FILE, format!("{}\n", lines[..3].join("\n")));
        let mut log = RequestLog::new(RealDisk::shared(), home.root(), Path::new(SESSION));
        for request in 10..20 {
            log.write(LogEntry::Reply(Box::new(ReplyEntry { request, ..ReplyEntry::default() })));
        }
        let text = home.read(FILE);
        let now: Vec<&str> = text.lines().collect();
        anchors.push(Anchor { session: "s".into(), n: 12, sha256: sha256(now[12].as_bytes()) });
        check(&home, &now, &anchors, Some((4, DamageKind::Changed)));
    }
}
