//! A session file against the seals of its record.
//!
//! First the digest of every sealed piece is compared; that is all for an unchanged file. Only if one differs, the
//! lines of the file are aligned with those of the seals, to find the changed lines.
//!
//! Lines behind the last seal are not damage: another program may have added them, or a process ended before it could
//! seal them.

use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use super::align::Step;
use super::align::align;
use super::chain::Chain;
use super::chain::hex;
use super::damage::Damage;
use super::damage::DamageKind;
use super::entry::LogEntry;
use super::entry::Sealed;
use super::seal;
use super::seal::LineMark;
use crate::lines::Forwards;
use crate::redact;

/// The result of comparing a session file with its seals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealVerdict {
    /// Lines that were changed since they were written.
    pub damages: Vec<Damage>,
    /// Lines that no process of ours is known to have written.
    pub foreign: Vec<Foreign>,
    /// Whether lines have secrets blanked, so that they cannot be compared.
    pub is_blanked: bool,
}

/// Lines that no process of ours is known to have written: another program added them, or a process ended before it
/// could seal them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Foreign {
    /// The number of the first line, from one.
    pub line: u64,
    /// The number of foreign lines.
    pub n_lines: u64,
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the lines.
    pub at: u64,
    /// Whether a later process sealed them as it found them.
    pub is_sealed: bool,
    /// Whether a seal of ours precedes the lines.
    pub is_behind_seal: bool,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, n_lines, from, is_sealed, .. } = self;
        match n_lines {
            1 => write!(f, "line {line} (byte {from}) is foreign")?,
            n => write!(f, "lines {line} to {} (byte {from}) are foreign", line + n - 1)?,
        }
        let state = if *is_sealed { "sealed since, as found" } else { "not sealed yet" };
        write!(f, ": added by another program, or by a process that ended before it could seal its lines; {state}")
    }
}

/// Compares a session file with the seals of its record. Without seals the result is empty, and seals after a changed
/// line of the record do not count.
///
/// # Errors
/// When the file cannot be read.
pub fn verify(home: &Path, path: &Path, chain: &Chain) -> io::Result<SealVerdict> {
    let seals: Vec<&Sealed> = chain.links[..chain.n_sound]
        .iter()
        .filter_map(|link| match &link.entry {
            LogEntry::Sealed(sealed) => Some(sealed),
            _ => None,
        })
        .collect();
    if seals.is_empty() {
        return Ok(SealVerdict::default());
    }
    let mut verified = match as_it_was(path, &seals)? {
        Some(verified) => verified,
        None => {
            let file = path.strip_prefix(home).unwrap_or(path).to_string_lossy().into_owned();
            compared(path, &file, &seals)?
        }
    };
    if chain.broken.is_some() {
        verified.foreign.retain(|foreign| foreign.is_sealed);
    }
    Ok(verified)
}

/// The result for a file in which every piece has its digest; absent if a piece was changed.
fn as_it_was(path: &Path, seals: &[&Sealed]) -> io::Result<Option<SealVerdict>> {
    let mut lines = Forwards::new(pellucid_files::open(path)?, 0, u64::MAX)?;
    let mut verified = SealVerdict::default();
    let (mut n, mut at, mut is_behind_seal) = (0, 0, false);
    for seal in seals {
        if seal.from != at {
            return Ok(None);
        }
        let first = n + 1;
        let mut hasher = Sha256::new();
        while at < seal.at {
            let Some(line) = lines.next_line()? else {
                return Ok(None);
            };
            hasher.update(line.bytes);
            if line.is_whole {
                hasher.update(b"\n");
            }
            at = line.end;
            n += 1;
        }
        if at != seal.at || hex(&hasher.finalize()) != seal.sha256 {
            return Ok(None);
        }
        if seal.foreign {
            let (from, n_lines) = (seal.from, n + 1 - first);
            add_foreign(
                &mut verified.foreign,
                Foreign { line: first, n_lines, from, at, is_sealed: true, is_behind_seal },
            );
        }
        is_behind_seal |= !seal.foreign;
    }
    let (from, first) = (at, n + 1);
    while let Some(line) = lines.next_line()? {
        at = line.end;
        n += 1;
    }
    if n >= first {
        let tail = Foreign { line: first, n_lines: n + 1 - first, from, at, is_sealed: false, is_behind_seal };
        add_foreign(&mut verified.foreign, tail);
    }
    Ok(Some(verified))
}

/// Adds foreign lines; adjacent pieces are merged.
fn add_foreign(list: &mut Vec<Foreign>, foreign: Foreign) {
    if let Some(last) = list.last_mut()
        && last.at == foreign.from
        && (last.is_sealed, last.is_behind_seal) == (foreign.is_sealed, foreign.is_behind_seal)
    {
        last.n_lines += foreign.n_lines;
        last.at = foreign.at;
        return;
    }
    list.push(foreign);
}

/// A line of a seal.
struct Expected<'a> {
    seal: &'a Sealed,
    name: usize,
    is_behind_seal: bool,
}

/// A line of the file.
struct Found {
    start: u64,
    end: u64,
    kind: String,
    is_blanked: bool,
}

fn compared(path: &Path, file: &str, seals: &[&Sealed]) -> io::Result<SealVerdict> {
    let mut verified = SealVerdict::default();
    let (mut expected, mut before) = (Vec::new(), Vec::new());
    // Places among the expected lines before which there may be lines that no seal has.
    let mut unsealed = Vec::new();
    let (mut at, mut is_behind_seal) = (0, false);
    for seal in seals {
        if seal.from > at {
            unsealed.push(expected.len());
        }
        at = seal.at;
        // A seal that an export blanked says nothing any more.
        let lines = seal::lines(&seal.lines);
        verified.is_blanked |= lines.is_none();
        for (name, mark) in lines.unwrap_or_default() {
            expected.push(Expected { seal, name, is_behind_seal });
            before.push(mark);
        }
        is_behind_seal |= !seal.foreign;
    }
    unsealed.push(expected.len());
    let (found, now) = found(path)?;
    // The first line of every seal.
    let mut first: Vec<(&Sealed, usize)> = Vec::new();
    for step in align(&before, &now) {
        if let Step::Kept(b, n) = step
            && first.last().is_none_or(|(seal, _)| !std::ptr::eq(*seal, expected[b].seal))
        {
            first.push((expected[b].seal, n));
        }
        match step {
            Step::Kept(b, n) if expected[b].seal.foreign => {
                let is_behind_seal = expected[b].is_behind_seal;
                add_foreign(&mut verified.foreign, foreign(&found[n], n, true, is_behind_seal));
            }
            Step::Kept(..) => {}
            Step::Changed(_, n) if found[n].is_blanked => verified.is_blanked = true,
            Step::Changed(b, n) => {
                add(&mut verified.damages, damage(file, Some(&expected[b]), n, &found, DamageKind::Changed));
            }
            Step::Missing(b, n) => {
                add(&mut verified.damages, damage(file, Some(&expected[b]), n, &found, DamageKind::Missing));
            }
            Step::New(b, n, DamageKind::New) if unsealed.contains(&b) => {
                add_foreign(&mut verified.foreign, foreign(&found[n], n, false, b > 0));
            }
            Step::New(b, n, change) => {
                let around = expected.get(b).or(expected.last());
                let mut new = damage(file, around, n, &found, change);
                // The line now at that place was not part of a request.
                new.part = String::new();
                new.kind.clone_from(&found[n].kind);
                add(&mut verified.damages, new);
            }
        }
    }
    if verified.damages.is_empty() && !verified.is_blanked {
        for (seal, n) in first {
            verified.damages.extend(other_digest(path, file, seal, &found[n], n)?);
        }
    }
    Ok(verified)
}

/// Short digests can be equal where bytes differ; then the piece is named whole.
fn other_digest(path: &Path, file: &str, seal: &Sealed, first: &Found, n: usize) -> io::Result<Option<Damage>> {
    let mut lines =
        Forwards::new(pellucid_files::open(path)?, first.start, first.start + seal.at.saturating_sub(seal.from))?;
    let mut hasher = Sha256::new();
    let mut n_lines = 0;
    while let Some(line) = lines.next_line()? {
        hasher.update(line.bytes);
        if line.is_whole {
            hasher.update(b"\n");
        }
        n_lines += 1;
    }
    let is_same = hex(&hasher.finalize()) == seal.sha256;
    Ok((!is_same).then(|| Damage {
        file: file.to_owned(),
        line: Some(n as u64 + 1),
        n_lines,
        byte: first.start,
        kind: first.kind.clone(),
        part: String::new(),
        turn: seal.turn.clone(),
        change: DamageKind::Changed,
    }))
}

fn found(path: &Path) -> io::Result<(Vec<Found>, Vec<LineMark>)> {
    let (mut found, mut marks) = (Vec::new(), Vec::new());
    let mut lines = Forwards::new(pellucid_files::open(path)?, 0, u64::MAX)?;
    let mut bytes = Vec::new();
    while let Some(line) = lines.next_line()? {
        bytes.clear();
        bytes.extend_from_slice(line.bytes);
        if line.is_whole {
            bytes.push(b'\n');
        }
        marks.push(LineMark::of(&bytes));
        let is_blanked = redact::has_blank(line.bytes);
        found.push(Found { start: line.start, end: line.end, kind: seal::kind(line.bytes), is_blanked });
    }
    Ok((found, marks))
}

fn foreign(found: &Found, n: usize, is_sealed: bool, is_behind_seal: bool) -> Foreign {
    let line = n as u64 + 1;
    Foreign { line, n_lines: 1, from: found.start, at: found.end, is_sealed, is_behind_seal }
}

fn damage(file: &str, expected: Option<&Expected<'_>>, n: usize, found: &[Found], change: DamageKind) -> Damage {
    let name = expected.and_then(|it| it.seal.names.get(it.name)).cloned().unwrap_or_default();
    let byte = found.get(n).map_or_else(|| found.last().map_or(0, |last| last.end), |found| found.start);
    Damage {
        file: file.to_owned(),
        line: Some(n as u64 + 1),
        n_lines: 1,
        byte,
        kind: name.kind,
        part: name.part,
        turn: expected.and_then(|it| it.seal.turn.clone()),
        change,
    }
}

/// Lines that are missing or new one behind the other are one damage.
fn add(damages: &mut Vec<Damage>, damage: Damage) {
    if let Some(last) = damages.last_mut()
        && last.change == damage.change
        && match damage.change {
            DamageKind::Missing => last.byte == damage.byte,
            DamageKind::New => last.line.map(|line| line + last.n_lines) == damage.line,
            DamageKind::Changed | DamageKind::Moved => false,
        }
    {
        last.n_lines += 1;
        return;
    }
    damages.push(damage);
}

#[cfg(test)]
mod tests;
