//! What is known of a session: its requests in one pass through its record, kept until its files change.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_agent::calls::Calls;
use pellucid_agent::replay;
use pellucid_agent::replay::WalkedBytes;
use pellucid_answers::figures::GatheredFigures;
use pellucid_answers::figures::ReachedRequest;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::timeline::TimelineCells;
use pellucid_protocol::cache::CacheWord;
use pellucid_protocol::provider::WireApi;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::token_counts::token_counts;
use serde::Serialize;

use crate::error::ApiError;

/// How many sessions are kept.
const N_VIEWS_MAX: usize = 8;

/// How long the providers of other programs' sessions keep what they have read.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// A session file and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFiles {
    /// The id of the session.
    pub id: String,
    /// The session file.
    pub path: PathBuf,
    /// The record; absent for a session file with an unusual name.
    pub record: Option<PathBuf>,
}

impl SessionFiles {
    /// The files of a session.
    pub fn new(home: &Path, id: &str, path: PathBuf) -> Self {
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let record = name::requests_path(home, file_name);
        Self { id: id.to_owned(), path, record }
    }

    /// The sizes and times of the files.
    pub fn stamp(&self) -> Stamp {
        let of = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        };
        Stamp { session: of(&self.path), record: self.record.as_deref().and_then(of) }
    }
}

/// The sizes and times of a session's files, which change when something is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    session: Option<(u64, SystemTime)>,
    record: Option<(u64, SystemTime)>,
}

/// A request of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewedRequest {
    /// The number of the request, from 1.
    pub number: usize,
    /// Why the bytes are not known, if they are not.
    pub why: Option<String>,
    /// The place of the request's figures; absent for a request that the record does not have.
    pub figures: Option<usize>,
    /// The SHA-256 of the body, as recorded.
    pub sha256: Option<String>,
    /// How many items the request has.
    pub items: u64,
    /// The API format of the body, where its bytes are known.
    pub wire: Option<WireApi>,
    /// The pack of the process that sent it, where the record has it.
    pub pack: Option<String>,
    /// When the first event of the reply came.
    pub first_event_at: Option<String>,
    /// When the reply was complete, or failed.
    pub done_at: Option<String>,
    /// The HTTP status of every attempt.
    pub attempts: Vec<Option<u16>>,
}

/// Something that happened before a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// The number of the request.
    pub n: usize,
    /// What happened, in a word.
    pub kind: &'static str,
    /// What happened, for people.
    pub text: String,
}

/// What is known of a session.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// The files that the view is of.
    pub files: SessionFiles,
    /// Every request, in order.
    pub requests: Vec<ViewedRequest>,
    /// The figures of the requests that the record has.
    pub figures: Vec<RequestFigures>,
    /// What the requests are made of.
    pub cells: TimelineCells,
    /// What happened between requests.
    pub marks: Vec<Mark>,
    /// Whether there is no record, so that the figures come from token counts of the session file.
    pub is_estimated: bool,
    /// Whether there is a record.
    pub has_record: bool,
    /// How many calls of tools the record has.
    pub n_calls: usize,
    /// How often a summary took the place of the history.
    pub n_compactions: usize,
    /// The hash of the last line of the record.
    pub anchor: Option<String>,
    /// How many bytes of the session file the last seal covers.
    pub sealed_at: Option<u64>,
    /// Whether secrets are blanked in the record.
    pub is_redacted: bool,
    /// Whether texts are replaced by filler.
    pub is_filled: bool,
    /// Lines of the record that are torn.
    pub torn: Vec<usize>,
    /// Where the chain of the record is broken, if it is.
    pub broken: Option<String>,
    /// The sessions that this one started for a review and the like, by the record.
    pub started: Vec<String>,
}

impl SessionView {
    /// Goes through the record of a session.
    fn of(home: &Path, files: SessionFiles) -> Result<Self, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the session", error);
        let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
        let chain = match &files.record {
            Some(record) => Chain::read(record).map_err(|error| failed(&error))?,
            None => Chain::default(),
        };
        let mut gathered = GatheredFigures::default();
        let mut cells = TimelineCells::default();
        let mut requests: Vec<ViewedRequest> = Vec::new();
        let mut n_figures = 0;
        let walked = replay::walk(home, &file, &mut |walked| {
            let (model, why) = match walked.bytes {
                WalkedBytes::Proved(mut proved) => {
                    cells.add(&proved.report());
                    (Some((proved.model(), proved.wire())), None)
                }
                WalkedBytes::Again(number) => {
                    cells.add_again(number);
                    let before = number.checked_sub(1).and_then(|at| requests.get(at));
                    (None, before.and_then(|it| it.why.clone()))
                }
                WalkedBytes::Unknown(why) => {
                    cells.add_unknown();
                    (None, Some(why))
                }
            };
            gathered.add(ReachedRequest {
                number: walked.number,
                entry: walked.entry,
                reply: walked.reply,
                terms: walked.terms,
                known: model.as_ref().map(|(model, wire)| (model.as_deref(), *wire)),
            });
            let figures = walked.entry.map(|_| n_figures);
            n_figures += usize::from(walked.entry.is_some());
            requests.push(ViewedRequest {
                number: walked.number,
                why,
                figures,
                sha256: walked.entry.map(|entry| entry.body.clone()),
                items: walked.entry.map_or(0, |entry| entry.items),
                wire: model.map(|(_, wire)| wire).or_else(|| requests.last().and_then(|it| it.wire)),
                pack: walked.terms.map(|terms| terms.pack.clone()),
                first_event_at: walked.reply.and_then(|reply| reply.first_event_at.clone()),
                done_at: walked.reply.and_then(|reply| reply.done_at.clone()),
                attempts: walked.reply.map(|reply| reply.attempts.clone()).unwrap_or_default(),
            });
            ControlFlow::Continue(())
        });
        walked.map_err(|error| failed(&error))?;
        let mut figures = gathered.finish();
        let is_estimated = figures.is_empty();
        if is_estimated {
            let counts = token_counts(&files.path).map_err(|error| failed(&error))?;
            figures = RequestFigures::estimated(&counts, KEPT_FOR);
            cells = TimelineCells::default();
            requests = figures.iter().enumerate().map(|(at, it)| ViewedRequest::estimated(it.number, at)).collect();
            requests.iter().for_each(|_| cells.add_unknown());
        }
        let numbers = replay::numbers(home, &file, &chain).map_err(|error| failed(&error))?;
        let marks = marks(&chain, &numbers, &requests, &figures);
        let n_compactions = replay::compaction_lines(&file, &chain).map_err(|error| failed(&error))?.len();
        let sealed = chain.links.iter().rev().find_map(|link| match &link.entry {
            LogEntry::Sealed(sealed) => Some(sealed.at),
            _ => None,
        });
        let started = chain.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Child(child) => Some(child.session.clone()),
            _ => None,
        });
        Ok(Self {
            requests,
            figures,
            cells,
            marks,
            is_estimated,
            has_record: !chain.links.is_empty(),
            n_calls: Calls::of(&chain).calls.len(),
            n_compactions,
            anchor: chain.anchor().map(str::to_owned),
            sealed_at: sealed,
            is_redacted: chain.is_redacted,
            is_filled: chain.is_filled,
            broken: chain.broken.as_ref().map(ToString::to_string),
            started: started.collect(),
            torn: chain.torn,
            files,
        })
    }

    /// The figures of a request.
    pub fn figures_of(&self, request: &ViewedRequest) -> Option<&RequestFigures> {
        self.figures.get(request.figures?)
    }
}

impl ViewedRequest {
    /// A request that only the token counts of a session file tell of.
    fn estimated(number: usize, figures: usize) -> Self {
        Self {
            number,
            why: Some("the session has no record of what it sent".to_owned()),
            figures: Some(figures),
            sha256: None,
            items: 0,
            wire: None,
            pack: None,
            first_event_at: None,
            done_at: None,
            attempts: Vec::new(),
        }
    }
}

/// What happened between the requests of a session, in order.
fn marks(
    chain: &Chain,
    numbers: &BTreeMap<u64, usize>,
    requests: &[ViewedRequest],
    figures: &[RequestFigures],
) -> Vec<Mark> {
    let n_last = requests.last().map_or(0, |it| it.number);
    // The first request behind a line of the record.
    let behind = |line: u64| numbers.range(line..).next().map_or(n_last + 1, |(_, number)| *number);
    let mut marks = Vec::new();
    for link in &chain.links {
        let n = behind(link.n);
        let (kind, text) = match &link.entry {
            LogEntry::Opened(opened) if opened.how == How::Forked => {
                let parent = opened.parent.as_ref().map_or_else(String::new, |it| format!(" from {}", it.session));
                ("forked", format!("forked{parent}"))
            }
            LogEntry::Opened(opened) if opened.how == How::Resumed => {
                ("opened", format!("continued by Pellucid {}", opened.version))
            }
            LogEntry::Rebuilt(_) => ("compaction", "a summary replaced the history".to_owned()),
            LogEntry::Child(child) => ("child", format!("{} {} was started", child.purpose, child.session)),
            _ => continue,
        };
        marks.push(Mark { n, kind, text });
    }
    let mut before: Option<&RequestFigures> = None;
    for it in figures {
        if let Some(before) = before.filter(|before| before.model != it.model && !before.model.is_empty()) {
            let text = format!("the model changed from {} to {}", before.model, it.model);
            marks.push(Mark { n: it.number, kind: "model", text });
        }
        if it.verdict.verdict == CacheWord::Expired {
            let seconds = it.verdict.idle_ms.unwrap_or(0) / 1000;
            let text = format!("{} without a request", pellucid_answers::cache::span(seconds));
            marks.push(Mark { n: it.number, kind: "idle", text });
        }
        before = Some(it);
    }
    marks.sort_by_key(|mark| mark.n);
    marks
}

/// The sessions that were looked at last.
#[derive(Debug, Default)]
pub struct Views {
    /// The one that was used last is at the end.
    kept: Mutex<Vec<(Stamp, Arc<SessionView>)>>,
    /// One session is read at a time.
    reading: Mutex<()>,
}

impl Views {
    /// The view of a session, read again if its files have changed.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn get(&self, home: &Path, files: SessionFiles) -> Result<Arc<SessionView>, ApiError> {
        let stamp = files.stamp();
        if let Some(view) = self.known(&files, &stamp) {
            return Ok(view);
        }
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = self.known(&files, &stamp) {
            return Ok(view);
        }
        let view = Arc::new(SessionView::of(home, files)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, it)| it.files.id != view.files.id);
        if kept.len() >= N_VIEWS_MAX {
            kept.remove(0);
        }
        kept.push((stamp, view.clone()));
        Ok(view)
    }

    /// The view of a session, if it is known and its files are as they were.
    pub fn known(&self, files: &SessionFiles, stamp: &Stamp) -> Option<Arc<SessionView>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(it, view)| it == stamp && view.files == *files)?;
        let found = kept.remove(at);
        kept.push(found.clone());
        Some(found.1)
    }
}
