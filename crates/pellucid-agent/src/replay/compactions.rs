//! The summaries that took the place of a session's history, each with the items before and after it.

use pellucid_protocol::item::Item;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::parts::PartStore;

use super::ReplayError;
use super::Run;
use super::source::ReplaySource;
use super::survey::SummaryWhat;

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
pub fn compaction_lines(source: &ReplaySource) -> Vec<CompactionLine> {
    let begins = source.chain.links.iter().find_map(|link| match &link.entry {
        LogEntry::Opened(opened) => Some(opened.at),
        _ => None,
    });
    let Some(begins) = begins else {
        return Vec::new();
    };
    let mut found: Vec<CompactionLine> = Vec::new();
    // The places of those that an undo would take back.
    let mut standing: Vec<usize> = Vec::new();
    for line in source.survey.summaries(begins) {
        match line.what {
            SummaryWhat::Undo => {
                if let Some(at) = standing.pop() {
                    found[at].is_undone = true;
                }
            }
            SummaryWhat::Redo => standing.clear(),
            SummaryWhat::Summary => {
                standing.push(found.len());
                found.push(CompactionLine { start: line.start, end: line.end, is_undone: false });
            }
        }
    }
    found
}

/// The history before and after a compaction, or why it is not known. The history before is the one at the offset `from`:
/// where the summary was asked for, or where its line is.
///
/// # Errors
/// When the files cannot be read.
pub fn compacted(
    source: &ReplaySource,
    line: &CompactionLine,
    from: u64,
) -> Result<Result<CompactedHistory, String>, ReplayError> {
    let ReplaySource { home, file, chain, .. } = source;
    let parts = PartStore::new(home);
    let mut run = Run::new(file, &parts, chain);
    let from = from.min(line.start);
    // Each process begins with the history that it has opened, so what earlier ones did is not needed.
    let is_opening = |link: &ChainLink| matches!(&link.entry, LogEntry::Opened(opened) if opened.at <= from);
    let opened = chain.links.iter().rposition(is_opening).unwrap_or(0);
    for link in &chain.links[opened..] {
        let at = match &link.entry {
            LogEntry::Opened(opened) => opened.at,
            LogEntry::Noted(noted) => noted.at,
            LogEntry::Shown(shown) => shown.at,
            LogEntry::Placed(placed) => placed.at,
            _ => continue,
        };
        if at > from {
            break;
        }
        run.follow(&link.entry)?;
    }
    let unknown = |why: &str| Ok(Err(why.to_owned()));
    let Some(history) = &mut run.history else {
        return unknown("the record does not say how the session was opened");
    };
    history.advance(from, &run.rebuilt, &run.origins)?;
    let before: Vec<Item> = history.transcript.items().collect();
    history.advance(line.end, &run.rebuilt, &run.origins)?;
    match history.unknown() {
        Some(why) => unknown(why),
        None => Ok(Ok(CompactedHistory { before, after: history.transcript.items().collect() })),
    }
}
