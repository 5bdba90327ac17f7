//! The summaries that took the place of a session's history, each with the items before and after it.

use std::path::Path;

use pellucid_protocol::item::Item;
use pellucid_store::read::LineReading;
use pellucid_store::read::ReadError;
use pellucid_store::read::RecordKind;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::read::split;
use pellucid_store::record::Record;
use pellucid_store::requests::anchors::Anchors;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::parts::PartStore;

use super::ReplayError;
use super::Run;
use super::history;
use crate::compact::is_redo;
use crate::compact::is_undo;

/// The line of a session file that puts a summary in place of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionLine {
    /// The offset of the line.
    pub start: u64,
    /// The offset behind the line.
    pub end: u64,
    /// Whether the compaction was undone later.
    pub is_undone: bool,
}

/// A history before and after a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactedHistory {
    /// The items before.
    pub before: Vec<Item>,
    /// The items after.
    pub after: Vec<Item>,
}

/// The compactions of a session, without those of the session that it was forked from.
///
/// # Errors
/// When the session file cannot be read.
pub fn compaction_lines(file: &SessionFile, chain: &Chain) -> Result<Vec<CompactionLine>, ReadError> {
    let begins = chain.links.iter().find_map(|link| match &link.entry {
        LogEntry::Opened(opened) => Some(opened.at),
        _ => None,
    });
    let Some(begins) = begins else {
        return Ok(Vec::new());
    };
    let mut lines = history::forwards(file, begins)?;
    let mut found: Vec<CompactionLine> = Vec::new();
    // The places of those that an undo would take back.
    let mut standing: Vec<usize> = Vec::new();
    while let Some(line) = lines.next_line().map_err(|error| ReadError::io(&file.path, error))? {
        if split(line.bytes).is_some_and(|(kind, _)| kind != RecordKind::Compacted) {
            continue;
        }
        let LineReading::Record(Record::Compacted(compacted)) = read_line(line.bytes) else {
            continue;
        };
        if is_undo(&compacted) {
            if let Some(at) = standing.pop() {
                found[at].is_undone = true;
            }
        } else if is_redo(&compacted) {
            standing.clear();
        } else {
            standing.push(found.len());
            found.push(CompactionLine { start: line.start, end: line.end, is_undone: false });
        }
    }
    Ok(found)
}

/// The history before and after a compaction, or why it is not known. The history before is the one at the offset `from`:
/// where the summary was asked for, or where its line is.
///
/// # Errors
/// When the files cannot be read.
pub fn compacted(
    home: &Path,
    file: &SessionFile,
    line: &CompactionLine,
    from: u64,
) -> Result<Result<CompactedHistory, String>, ReplayError> {
    let chain = super::chain(home, file, &Anchors::read(home, Some(&file.meta.id)))?;
    let parts = PartStore::new(home);
    let mut run = Run::new(file, &parts, &chain);
    for link in &chain.links {
        let at = match &link.entry {
            LogEntry::Opened(opened) => opened.at,
            LogEntry::Noted(noted) => noted.at,
            LogEntry::Shown(shown) => shown.at,
            _ => continue,
        };
        if at > from.min(line.start) {
            break;
        }
        run.follow(&link.entry)?;
    }
    let unknown = |why: &str| Ok(Err(why.to_owned()));
    let Some(history) = &mut run.history else {
        return unknown("the record does not say how the session was opened");
    };
    history.advance(from.min(line.start), &run.rebuilt, &run.origins)?;
    let before: Vec<Item> = history.transcript.items().collect();
    history.advance(line.end, &run.rebuilt, &run.origins)?;
    match history.unknown() {
        Some(why) => unknown(why),
        None => Ok(Ok(CompactedHistory { before, after: history.transcript.items().collect() })),
    }
}
