//! Which processes of a session sent requests that can have a text.
//!
//! A search knows the lines of the session file that may have its text. A request has such a line only if the process that
//! sent it read or wrote the line, and no summary took its place before. So a walk passes over all other processes.

use std::collections::BTreeSet;
use std::ops::Range;

use pellucid_store::read::ReadError;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::OpenedEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::Stretch;
use pellucid_store::requests::parts::PartStore;

use super::Run;

impl std::fmt::Debug for SearchedLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchedLines").field("starts", &self.starts).finish_non_exhaustive()
    }
}

/// How often a walk passes over processes. Behind them a history is read from the start of the session file, so more often
/// would take longer than to follow all processes.
const N_PASSED_MAX: usize = 2;

/// Whether JSON may have the text that is searched for.
pub type JsonMatch<'m> = dyn Fn(&[u8]) -> bool + 'm;

/// What a search knows before requests are rebuilt.
#[derive(Clone, Copy)]
pub struct SearchedLines<'m> {
    /// Whether JSON may have the text.
    pub is_match: &'m JsonMatch<'m>,
    /// The offsets at which lines of the session file begin that may have the text, in order.
    pub starts: &'m [u64],
}

/// A process that wrote the record.
struct Process {
    /// The lines of the session file from its beginning to that of the next process.
    lines: Range<u64>,
    /// How many bytes of the session file came before its last request.
    last_request: u64,
    /// Whether the record has a text of its requests that may match.
    has_text: bool,
}

/// Decides for one process after the other whether a walk follows it.
pub(super) struct Skim<'m> {
    searched: SearchedLines<'m>,
    processes: std::vec::IntoIter<Process>,
    /// Whether the history may have a match where the process begins that comes next, if the process before was passed.
    is_alive: bool,
    is_passed: bool,
    n_passed: usize,
}

impl<'m> Skim<'m> {
    /// Absent if every process has to be followed.
    pub fn new(chain: &Chain, parts: &PartStore, searched: SearchedLines<'m>) -> Option<Self> {
        // A process may show a part of its history; the next one begins with all of it.
        let is_simple = |entry: &LogEntry| match entry {
            LogEntry::Shown(_) | LogEntry::Placed(_) => false,
            LogEntry::Opened(opened) => opened.watched.is_none(),
            _ => true,
        };
        if chain.is_filled || !chain.links.iter().all(|link| is_simple(&link.entry)) {
            return None;
        }
        let texts = RecordTexts { parts, is_match: searched.is_match };
        let processes = texts.processes(chain);
        let mut skim =
            Self { searched, processes: processes.into_iter(), is_alive: false, is_passed: true, n_passed: 0 };
        let first = skim.processes.as_slice().first().map_or(0, |process| process.lines.start);
        skim.is_alive = skim.has_line(&(0..first));
        Some(skim)
    }

    /// Whether the process that begins here is passed over. `run` is at the end of the process before.
    pub fn passes(&mut self, opened: &OpenedEntry, run: &mut Run<'_>) -> Result<bool, ReadError> {
        let Some(process) = self.processes.next() else {
            return Ok(false);
        };
        let is_alive = match &mut run.history {
            _ if self.is_passed => self.is_alive,
            Some(history) => {
                history.advance(opened.at, &run.rebuilt, &run.origins)?;
                history.unknown().is_some() || history.transcript.has_item(self.searched.is_match)
            }
            None => true,
        };
        let is_sent = is_alive || process.has_text || self.has_line(&(process.lines.start..process.last_request));
        let passes = !is_sent && (self.is_passed || self.n_passed < N_PASSED_MAX);
        self.n_passed += usize::from(passes && !self.is_passed);
        (self.is_passed, self.is_alive) = (passes, self.has_line(&process.lines));
        if passes {
            run.history = None;
        }
        Ok(passes)
    }

    fn has_line(&self, lines: &Range<u64>) -> bool {
        let first = self.searched.starts.partition_point(|start| *start < lines.start);
        self.searched.starts.get(first).is_some_and(|start| *start < lines.end)
    }
}

/// The texts of a record that requests have.
struct RecordTexts<'r> {
    parts: &'r PartStore,
    is_match: &'r JsonMatch<'r>,
}

impl RecordTexts<'_> {
    fn processes(&self, chain: &Chain) -> Vec<Process> {
        let mut processes: Vec<Process> = Vec::new();
        let mut frames: BTreeSet<&str> = BTreeSet::new();
        for link in &chain.links {
            let has_text = match &link.entry {
                LogEntry::Opened(opened) => {
                    if let Some(before) = processes.last_mut() {
                        before.lines.end = opened.at;
                    }
                    processes.push(Process { lines: opened.at..u64::MAX, last_request: 0, has_text: false });
                    let context = opened.summaries.iter().flat_map(|it| it.context.iter().chain([&it.prefix]));
                    self.has_any(context)
                }
                LogEntry::Frame(frame) => {
                    // A text may begin in one piece and end in the next.
                    let is_match = self.has_joined(&frame.head) || self.has_joined(&frame.tail);
                    frames.extend(is_match.then_some(frame.digest.as_str()));
                    false
                }
                LogEntry::Noted(noted) => self.has_any([&noted.item]),
                LogEntry::Rebuilt(rebuilt) => self.has_any(rebuilt.items.iter().filter_map(|stretch| match stretch {
                    Stretch::Item(piece) => Some(piece),
                    Stretch::Before { .. } => None,
                })),
                LogEntry::Request(request) => {
                    if let Some(process) = processes.last_mut() {
                        process.last_request = process.last_request.max(request.at);
                    }
                    let asks = match &request.purpose {
                        Purpose::Summary { prompt, .. } => self.has_any([prompt]),
                        Purpose::MemorySummary { items, .. } => self.has_any(items),
                        _ => false,
                    };
                    asks || frames.contains(request.frame.as_str())
                }
                _ => false,
            };
            if let Some(process) = processes.last_mut() {
                process.has_text |= has_text;
            }
        }
        processes
    }

    fn has_any<'p>(&self, pieces: impl IntoIterator<Item = &'p StoredPiece>) -> bool {
        pieces.into_iter().any(|piece| self.has_joined(std::slice::from_ref(piece)))
    }

    /// A text that cannot be read may have anything.
    fn has_joined(&self, pieces: &[StoredPiece]) -> bool {
        let texts: Result<String, _> = pieces.iter().map(|piece| self.parts.text(piece)).collect();
        texts.map_or(true, |text| (self.is_match)(text.as_bytes()))
    }
}
