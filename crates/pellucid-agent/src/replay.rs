//! Replay: every request of a session is rebuilt from its files and held against its digest.
//!
//! No network and no configuration: the session file gives the items, the record of what was sent
//! gives what surrounds them. What was sent by another program, or cannot be rebuilt for another
//! reason, is called not provable; that is neither a proof nor a difference.
//!
//! - `history`: the items of a session as they were at a place of its file
//! - `check`: one request against its record
//! - `compactions`: histories before and after a summary
//! - `damage`: whether the files themselves are as they were written
//! - `family`: the session that a copy was made of, and sessions that were started from another
//! - `rebuild`: one request, rebuilt to be shown
//! - `recall`: the origins that a record keeps
//! - `walk`: every request, rebuilt in one pass
//! - `said`: the conversation alone, without what a pack made
//! - `shared`: requests that extend each other, rebuilt together
//! - `source`: the files of a session, read once for any number of questions
//! - `survey`: what a session file says between its items
//! - `last`: the last request, for saying how the next one continues it

mod check;
mod compactions;
mod continued;
mod damage;
mod family;
mod history;
mod last;
mod models;
mod rebuild;
mod recall;
mod said;
mod shared;
mod skim;
mod source;
mod survey;
mod walk;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::encode::Encoder;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins;
use pellucid_engine::origins::Origins;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_protocol::event::CacheBreak;
use pellucid_store::name;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::anchors::Anchors;
use pellucid_store::requests::chain::Broken;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::damage::Damage;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::Stretch;
use pellucid_store::requests::parts::PartError;
use pellucid_store::requests::parts::PartStore;
use pellucid_store::requests::verify::Foreign;
use serde::Serialize;

use self::check::Checker;
pub use self::compactions::CompactedHistory;
pub use self::compactions::CompactionLine;
pub use self::compactions::compacted;
pub use self::compactions::compaction_lines;
use self::continued::Continued;
pub use self::family::ChildSession;
use self::family::Numbering;
use self::history::History;
pub(crate) use self::last::Before;
pub(crate) use self::last::LastRequest;
pub(crate) use self::last::Reader;
pub use self::models::models;
pub use self::rebuild::RebuildError;
pub use self::rebuild::RebuiltRequest;
pub use self::rebuild::WantedRequest;
pub use self::rebuild::rebuild;
pub use self::recall::Recalled;
pub use self::said::SaidAnswer;
pub use self::said::SaidError;
pub use self::said::SaidSession;
pub use self::said::SaidTurn;
pub use self::shared::SharedRequest;
pub use self::shared::SharedRequests;
pub use self::skim::JsonMatch;
pub use self::skim::SearchedLines;
pub use self::source::ReplaySource;
pub use self::survey::FileSurvey;
pub use self::walk::ProvedRequest;
pub use self::walk::WalkedBytes;
pub use self::walk::WalkedRequest;
pub use self::walk::numbers;
pub use self::walk::walk;
pub use self::walk::walk_from;
pub use self::walk::walk_searched;

/// Why an exported session proves less.
const BLANKED: &str = "secrets were blanked when the session was exported";

/// Why a request to some servers proves less.
const SERVER_IDS: &str = "the ids that the server gave to items were sent, and no file has them";

/// What is said of a session in which secrets are blanked.
pub const REDACTED: &str = "secrets are blanked in the session or its record, so they prove less than they did";

/// What is said of a session whose content is replaced.
pub const FILLED: &str = "the content is replaced by filler of the same length, so only lengths are compared";

/// What came of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// The id of the replayed session.
    pub session: String,
    /// Every request, in order.
    pub requests: Vec<ReplayedRequest>,
    /// The sessions that were started from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildSession>,
    /// What is not as it was written: lines of the session file and of the record, and long texts.
    pub damages: Vec<Damage>,
    /// Lines of the session file that no process of ours is known to have written.
    pub foreign: Vec<Foreign>,
    /// Where the chain of records is broken, if it is.
    pub broken: Option<String>,
    /// Lines of the record that are torn.
    pub torn: Vec<usize>,
    /// Whether secrets are blanked in the record.
    pub is_redacted: bool,
    /// Whether texts are replaced by filler of the same length.
    pub is_filled: bool,
    /// The hash of the last record. Kept elsewhere, it shows later that none is missing.
    pub anchor: Option<String>,
    /// What limits this proof: the state of the file that keeps the last hashes.
    pub notes: Vec<String>,
}

/// What came of a replay, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayStatus {
    /// Everything is as it was.
    Proved,
    /// Nothing is known to be different, but not everything can be proved.
    NotProvable,
    /// Something is not as it was.
    Refuted,
}

/// What came of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedRequest {
    /// The turn that sent it.
    pub turn: String,
    /// What it asked for.
    pub purpose: &'static str,
    /// How many bytes it had; absent where nothing says.
    pub bytes: Option<u64>,
    /// How many items it had.
    pub items: u64,
    /// Whether it could be rebuilt.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Where it parted from the request before, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_break: Option<CacheBreak>,
}

/// Whether a request could be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The rebuilt bytes are those that were sent.
    Equal,
    /// A parent session sent the request before this session was forked from it, and the bytes are equal there.
    EqualInParent {
        /// The id of the parent session.
        parent: String,
        /// The request's number there.
        number: usize,
    },
    /// Another program made the request, so it cannot be rebuilt; the bytes that were recorded when it was sent are unaltered.
    Unaltered,
    /// The content is replaced by filler, and the rebuilt bytes are as many as were sent, in as many items of the same
    /// lengths.
    EqualInLength,
    /// The rebuilt bytes differ from those that were sent.
    Differs(Difference),
    /// It cannot be rebuilt, because a file is not as it was written.
    Altered {
        /// What is not as it was.
        what: String,
    },
    /// The files do not say enough to decide.
    NotProvable {
        /// Why the files do not decide it.
        why: String,
    },
    /// Another program sent the request, in a session that Pellucid had begun.
    Foreign {
        /// What is known of it.
        why: String,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::EqualInParent { parent, number } => write!(f, "equal (parent {parent}#{number})"),
            Self::Unaltered => {
                f.write_str("unaltered since it was sent; another program made it, so it cannot be rebuilt")
            }
            Self::EqualInLength => f.write_str("not provable: its content is replaced; equal in length"),
            Self::NotProvable { why } => write!(f, "not provable: {why}"),
            Self::Foreign { why } => write!(f, "foreign: {why}"),
            Self::Altered { what } => write!(f, "altered: {what}"),
            Self::Differs(difference) => {
                let item = difference.item.map_or_else(String::new, |item| format!(" item {item}"));
                let Difference { part, byte, what, .. } = difference;
                write!(f, "differs at byte {byte}, in {part}{item}: {what}")
            }
        }
    }
}

/// Where a rebuilt request is not what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The slot or part.
    pub part: String,
    /// The item, from zero, where it is one.
    pub item: Option<u64>,
    /// The first byte of the request that can differ.
    pub byte: u64,
    /// What differs, for people.
    pub what: String,
}

impl Replay {
    /// How many requests have this verdict: equal, different, not provable. Those of another program are none of these.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |is_meant: fn(&Verdict) -> bool| self.requests.iter().filter(|it| is_meant(&it.verdict)).count();
        (
            count(|it| matches!(it, Verdict::Equal | Verdict::EqualInParent { .. } | Verdict::Unaltered)),
            count(|it| matches!(it, Verdict::Differs(_) | Verdict::Altered { .. })),
            count(|it| matches!(it, Verdict::NotProvable { .. } | Verdict::EqualInLength)),
        )
    }

    /// What came of it, in a word, the sessions that were started from it included. `replay` and `sessions fsck` both
    /// end with it.
    pub fn status(&self) -> ReplayStatus {
        let (_, n_different, n_unproved) = self.counts();
        let own = if n_different > 0 || !self.damages.is_empty() {
            ReplayStatus::Refuted
        } else if self.is_redacted || self.is_filled || n_unproved > 0 {
            ReplayStatus::NotProvable
        } else {
            ReplayStatus::Proved
        };
        self.children.iter().map(ChildSession::status).fold(own, ReplayStatus::max)
    }
}

/// Why a session cannot be replayed at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Its file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The record of what it sent cannot be read.
    #[error("the record of what was sent cannot be read: {0}")]
    Chain(#[source] io::Error),
    /// The record was written by a later version of this program.
    #[error("{0}")]
    Format(Broken),
    /// A line with this hash is not in the record.
    #[error("no record has the hash {0}: the end of the record is missing, or was made again")]
    Anchor(String),
}

/// Replays a session. With an anchor, the record must have a line of that hash.
///
/// # Errors
/// When the files cannot be read, or the record lacks the anchor.
pub fn replay(home: &Path, file: &SessionFile, anchor: Option<&str>) -> Result<Replay, ReplayError> {
    replay_with(home, file, anchor, &Anchors::read(home, Some(&file.meta.id)))
}

/// The same with the last hashes of all sessions, which are read before anything else: what is written meanwhile is
/// then newer than they are.
///
/// # Errors
/// When the files cannot be read, or the record lacks the anchor.
pub fn replay_with(
    home: &Path,
    file: &SessionFile,
    anchor: Option<&str>,
    anchors: &Anchors,
) -> Result<Replay, ReplayError> {
    let chain = chain(home, file, anchors)?;
    if let Some(anchor) = anchor.filter(|anchor| !chain.has(anchor)) {
        return Err(ReplayError::Anchor(anchor.to_owned()));
    }
    let survey = FileSurvey::read(file)?;
    replay_within(&ReplaySource::new(home, file, chain, survey), anchors, &mut BTreeSet::new())
}

/// How many requests a session has, as a replay counts them; of a copy of the beginning of its file, if that is cut at
/// `upto` bytes.
///
/// # Errors
/// When the files cannot be read.
pub fn n_requests(home: &Path, file: &SessionFile, upto: Option<u64>) -> Result<u64, ReplayError> {
    let source = ReplaySource::open(home, file)?;
    let numbering = source.own_numbering()?;
    let n_own = numbering.own.iter().filter(|place| upto.is_none_or(|upto| place.at <= upto)).count();
    Ok((numbering.n_inherited() + n_own) as u64)
}

/// Replays a session and those that belong to it, but for the ones that are being replayed already.
fn replay_within(source: &ReplaySource, anchors: &Anchors, seen: &mut BTreeSet<String>) -> Result<Replay, ReplayError> {
    let ReplaySource { home, file, chain, survey, .. } = source;
    let parts = PartStore::new(home);
    let files = damage::look(home, file, record_path(home, file).as_deref(), chain, &parts)?;
    let mut own = Run::new(file, &parts, chain).all(chain)?;
    files.settle(&mut own, unrecorded(file, chain, survey)?);
    own.sort_by_key(|(at, _)| *at);
    let inherited = Numbering::of(source, seen)?.inherited;
    seen.insert(file.meta.id.clone());
    let mut requests = match &inherited {
        Some(inherited) => inherited.outcomes(home, seen)?,
        None => Vec::new(),
    };
    let begins = inherited.map_or(0, |inherited| inherited.at);
    requests.extend(own.into_iter().filter(|(at, _)| *at > begins || begins == 0).map(|(_, outcome)| outcome));
    Ok(Replay {
        session: file.meta.id.clone(),
        requests,
        children: family::children(home, file, chain, seen),
        damages: files.damages,
        foreign: files.foreign,
        is_redacted: chain.is_redacted || files.is_blanked,
        is_filled: chain.is_filled,
        anchor: chain.anchor().map(str::to_owned),
        notes: damage::notes(chain, anchors, &file.meta.id),
        broken: chain.broken.as_ref().map(ToString::to_string),
        torn: chain.torn.clone(),
    })
}

/// Where the record of what a session sent is.
fn record_path(home: &Path, file: &SessionFile) -> Option<PathBuf> {
    let name = file.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name::requests_path(home, name)
}

/// The record of what a session sent.
fn chain(home: &Path, file: &SessionFile, anchors: &Anchors) -> Result<Chain, ReplayError> {
    let chain = match record_path(home, file) {
        Some(path) => Chain::read_anchored(&path, anchors.of(&file.meta.id)).map_err(ReplayError::Chain)?,
        None => Chain::default(),
    };
    match chain.broken {
        Some(broken @ Broken::Format { .. }) => Err(ReplayError::Format(broken)),
        _ => Ok(chain),
    }
}

/// Requests that the session file speaks of and the record does not, with their places.
fn unrecorded(
    file: &SessionFile,
    chain: &Chain,
    survey: &FileSurvey,
) -> Result<Vec<(u64, ReplayedRequest)>, ReadError> {
    let requests = || {
        chain.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Request(request) => Some(request),
            _ => None,
        })
    };
    // Places move where secrets are blanked or lines were changed; turns stay.
    let unsent = chain.links.iter().filter_map(|link| match &link.entry {
        LogEntry::NotSent(not_sent) => Some(not_sent.turn.as_str()),
        _ => None,
    });
    let turns = requests().map(|request| request.turn.as_str()).chain(unsent).collect();
    history::unrecorded(file, &requests().map(|request| request.at).collect(), &turns, survey)
}

/// What a request is rebuilt from.
struct Reached<'r, 'a> {
    frame: &'r Frame,
    history: &'r mut History<'a>,
    checker: &'r mut Checker,
    parts: &'r PartStore,
}

/// A replay under way.
struct Run<'a> {
    file: &'a SessionFile,
    parts: &'a PartStore,
    origins: Origins,
    /// Histories that summaries made, by the offset behind the line that says so.
    rebuilt: BTreeMap<u64, &'a [Stretch]>,
    frames: BTreeMap<&'a str, Result<Frame, FrameError>>,
    /// How the first request of a process shows items, by the address of the line that says how the process began.
    views: BTreeMap<usize, View>,
    history: Option<History<'a>>,
    checker: Checker,
    is_filled: bool,
    /// The process that is followed, if its history is that of the process before.
    continued: Option<Continued<'a>>,
}

impl<'a> Run<'a> {
    fn new(file: &'a SessionFile, parts: &'a PartStore, chain: &'a Chain) -> Self {
        let mut rebuilt = BTreeMap::new();
        let mut frames = BTreeMap::new();
        for link in &chain.links {
            match &link.entry {
                LogEntry::Rebuilt(it) => {
                    rebuilt.insert(it.at, it.items.as_slice());
                }
                LogEntry::Frame(it) => {
                    frames.insert(it.digest.as_str(), frame(it, parts));
                }
                _ => {}
            }
        }
        let mut views = BTreeMap::new();
        let mut opened = None;
        for link in &chain.links {
            match &link.entry {
                LogEntry::Opened(it) => opened = Some(address(it)),
                LogEntry::Request(it) => {
                    let frame = frames.get(it.frame.as_str()).and_then(|frame| frame.as_ref().ok());
                    views.extend(opened.take().zip(frame.map(Frame::view)));
                }
                _ => {}
            }
        }
        let origins = recall::origins(chain.links.iter().map(|link| &link.entry), parts);
        Self {
            file,
            parts,
            origins,
            rebuilt,
            frames,
            views,
            history: None,
            checker: Checker::default(),
            is_filled: chain.is_filled,
            continued: None,
        }
    }

    /// Every request of the record, with its place in the session file.
    fn all(mut self, chain: &'a Chain) -> Result<Vec<(u64, ReplayedRequest)>, ReadError> {
        let mut outcomes = Vec::new();
        for link in &chain.links {
            if let LogEntry::Request(request) = &link.entry {
                let (verdict, _) = self.verdict(request)?;
                outcomes.push((request.at, outcome(request, verdict)));
            } else {
                self.follow_on(&link.entry)?;
            }
        }
        Ok(outcomes)
    }

    /// Does what the session did when it wrote this line, which is no request.
    fn follow(&mut self, entry: &LogEntry) -> Result<(), ReadError> {
        match entry {
            LogEntry::Opened(opened) => {
                self.checker = Checker::default();
                self.continued = None;
                self.open_history(opened)?;
            }
            LogEntry::Noted(noted) => {
                if let Some(history) = &mut self.history {
                    history.advance(noted.at, &self.rebuilt, &self.origins)?;
                    history.note(&noted.item, noted.at, &self.origins);
                }
            }
            LogEntry::Shown(shown) => {
                if let Some(history) = &mut self.history {
                    history.advance(shown.at, &self.rebuilt, &self.origins)?;
                    history.show(&shown.items, shown.at, &self.origins);
                }
            }
            LogEntry::Placed(placed) => {
                if let Some(history) = &mut self.history {
                    history.advance(placed.at, &self.rebuilt, &self.origins)?;
                    history.place(placed);
                }
            }
            LogEntry::Request(_)
            | LogEntry::Frame(_)
            | LogEntry::Rebuilt(_)
            | LogEntry::Reply(_)
            | LogEntry::SaidAgain(_)
            | LogEntry::Origins(_)
            | LogEntry::Child(_)
            | LogEntry::NotSent(_)
            | LogEntry::Call(_)
            | LogEntry::Sealed(_) => {}
        }
        Ok(())
    }

    /// The frame and the history of a request, or why it cannot be rebuilt.
    fn reach(&mut self, request: &entry::RequestEntry) -> Result<Result<Reached<'_, 'a>, Verdict>, ReadError> {
        let not_provable = |why: &str| Ok(Err(Verdict::NotProvable { why: why.to_owned() }));
        let Some(history) = &mut self.history else {
            return not_provable("the record does not say how the session was opened");
        };
        history.advance(request.at, &self.rebuilt, &self.origins)?;
        if let Some(why) = history.unknown() {
            return not_provable(why);
        }
        let frame = match self.frames.get(request.frame.as_str()) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Ok(Err(error.verdict(request))),
            None => return not_provable("the record has no frame for it"),
        };
        Ok(Ok(Reached { frame, history, checker: &mut self.checker, parts: self.parts }))
    }

    /// Whether a request is as it was, and if it is, its items unless they are those of the history.
    fn verdict(&mut self, request: &entry::RequestEntry) -> Result<(Verdict, Option<Transcript>), ReadError> {
        let found = self.compared(request)?;
        let (verdict, items) =
            if found.0 != Verdict::Equal && self.read_after_all()? { self.compared(request)? } else { found };
        let verdict = match (verdict, &self.history) {
            (verdict, _) if self.is_filled => verdict,
            (Verdict::Equal, Some(history)) if history.is_watched() => Verdict::Unaltered,
            (Verdict::Differs(_), Some(history)) if history.is_redacted() => {
                Verdict::NotProvable { why: BLANKED.to_owned() }
            }
            (Verdict::Differs(_), Some(history)) if history.has_server_ids() => {
                Verdict::NotProvable { why: SERVER_IDS.to_owned() }
            }
            (verdict, _) => verdict,
        };
        Ok((verdict, items))
    }

    /// Compares a request with what comes of the history.
    fn compared(&mut self, request: &entry::RequestEntry) -> Result<(Verdict, Option<Transcript>), ReadError> {
        let is_filled = self.is_filled;
        let Reached { frame, history, checker, parts } = match self.reach(request)? {
            Ok(reached) => reached,
            Err(verdict) => return Ok((verdict, None)),
        };
        if is_filled {
            return Ok((checker.check_lengths(request, frame, history, parts), None));
        }
        Ok(checker.check(request, frame, history, parts))
    }
}

/// What distinguishes lines that may say the same.
fn address(opened: &entry::OpenedEntry) -> usize {
    std::ptr::from_ref(opened).addr()
}

fn outcome(request: &entry::RequestEntry, verdict: Verdict) -> ReplayedRequest {
    let purpose = match request.purpose {
        Purpose::Answer => "answer",
        Purpose::AnswerAgain => "answer again",
        Purpose::Summary { .. } => "summary",
        Purpose::ProviderSummary => "summary by the provider",
        Purpose::MemorySummary { .. } => "summary for the memory",
        Purpose::Vectors => "vectors for the memory",
    };
    ReplayedRequest {
        turn: request.turn.clone(),
        purpose,
        bytes: Some(request.bytes),
        items: request.items,
        verdict,
        cache_break: request.cache_break.clone(),
    }
}

/// A part of a frame that is not what it was.
struct FrameError {
    part: String,
    /// The part's first byte: from the start of the request, or from its end for a part behind the items.
    byte: FrameByte,
    error: PartError,
}

enum FrameByte {
    FromStart(u64),
    FromEnd(u64),
}

impl FrameError {
    fn verdict(&self, request: &entry::RequestEntry) -> Verdict {
        let what = self.error.to_string();
        if !matches!(self.error, PartError::Changed { .. }) {
            return Verdict::NotProvable { why: what };
        }
        let byte = match self.byte {
            FrameByte::FromStart(byte) => byte,
            FrameByte::FromEnd(byte) => request.bytes.saturating_sub(byte),
        };
        Verdict::Differs(Difference { part: self.part.clone(), item: None, byte, what })
    }
}

/// A frame as it was written down.
fn frame(frame: &entry::FrameEntry, parts: &PartStore) -> Result<Frame, FrameError> {
    let origin = Origin::Recorded { path: "the record of what was sent".into() };
    let mut kept = frame.origins.as_ref().and_then(|piece| origins::read(&parts.text(piece).ok()?)).unwrap_or_default();
    let mut encoded = |pieces: &[StoredPiece], place: &dyn Fn(u64) -> FrameByte| {
        let mut encoder = Encoder::new(&"".into());
        let mut at = 0;
        for piece in pieces {
            encoder.set_part(&piece.part.as_str().into());
            let text = parts.text(piece);
            let text = text.map_err(|error| FrameError { part: piece.part.clone(), byte: place(at), error })?;
            encoder.raw(text.as_bytes(), &origin);
            at += piece.text.len();
        }
        let mut encoded = encoder.finish();
        let spans = if kept.is_empty() { Vec::new() } else { kept.remove(0) };
        if spans.iter().map(|span| span.len).sum::<usize>() == encoded.bytes.len() {
            encoded.spans = spans;
        }
        Ok(encoded)
    };
    let view = serde_json::from_value(frame.view.clone()).unwrap_or_default();
    let tail_len: u64 = frame.tail.iter().map(|piece| piece.text.len()).sum();
    let head = encoded(&frame.head, &FrameByte::FromStart)?;
    let tail = encoded(&frame.tail, &|at| FrameByte::FromEnd(tail_len - at))?;
    Ok(Frame::recorded(view, head, tail))
}
