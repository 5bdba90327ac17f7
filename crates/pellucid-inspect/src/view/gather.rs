//! The pass through the record of a session.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pellucid_agent::calls::Calls;
use pellucid_agent::replay;
use pellucid_agent::replay::ProvedRequest;
use pellucid_agent::replay::ReplaySource;
use pellucid_agent::replay::WalkedBytes;
use pellucid_agent::replay::WalkedRequest;
use pellucid_answers::figures::GatheredFigures;
use pellucid_answers::figures::ReachedRequest;
use pellucid_answers::figures::RequestFigures;
use pellucid_answers::items::ItemFacts;
use pellucid_answers::items::SessionItems;
use pellucid_answers::shared::SharedItems;
use pellucid_answers::timeline::GatheredCells;
use pellucid_answers::timeline::TimelineCells;
use pellucid_protocol::cache::CacheWord;
use pellucid_protocol::provider::WireApi;
use pellucid_store::read;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::token_counts::token_counts;

use super::Mark;
use super::RecordState;
use super::SessionFiles;
use super::SessionView;
use super::Stamp;
use super::ViewedRequest;
use super::end_digest;
use crate::error::ApiError;
use crate::index::IndexedItems;

/// How long the providers of other programs' sessions keep what they have read.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// How many of the last requests are looked at again when a session has grown: their replies may have come since.
const N_AGAIN: usize = 8;

/// What is gathered request by request.
#[derive(Default)]
struct Gathered {
    requests: Vec<ViewedRequest>,
    figures: GatheredFigures,
    n_figures: usize,
    cells: GatheredCells,
    items: SessionItems,
    shared: SharedItems,
    /// The sessions that have requests of this one.
    sessions: BTreeSet<String>,
}

/// What a request asks, and how.
struct AskedModel {
    model: Option<String>,
    wire: WireApi,
    format: &'static str,
}

impl Gathered {
    /// Begins with what is known of all requests but the last.
    fn continuing(before: SessionView) -> Option<Self> {
        let n = before.requests.len().checked_sub(N_AGAIN)?;
        let n_figures = before.requests[..n].iter().filter(|it| it.figures.is_some()).count();
        let (mut requests, mut figures, mut cells) = (before.requests, before.figures, before.cells);
        requests.truncate(n);
        figures.truncate(n_figures);
        cells.truncate(n);
        let mut items = SessionItems::continuing(match before.items {
            IndexedItems::Kept(items) => items,
            stored @ IndexedItems::Stored(_) => stored.page(0..usize::MAX).ok()?,
        });
        items.forget_from(n + 1);
        let wire = requests.last().and_then(|it| it.wire);
        Some(Self {
            figures: GatheredFigures::continuing(figures, wire),
            n_figures,
            cells: GatheredCells::continuing(cells),
            items,
            requests,
            ..Self::default()
        })
    }

    fn add(&mut self, own: &str, walked: WalkedRequest<'_>) {
        let WalkedRequest { number, session, line, entry, reply, terms, bytes } = walked;
        let (known, why) = match bytes {
            WalkedBytes::Proved(proved) => (Some(self.proved(number, &proved)), None),
            WalkedBytes::Again(before) => {
                self.cells.add_again(before);
                let before = before.checked_sub(1).and_then(|at| self.requests.get(at));
                (None, before.and_then(|it| it.why.clone()))
            }
            WalkedBytes::Unknown(why) => {
                self.cells.add_unknown();
                (None, Some(why))
            }
        };
        let known_of = known.as_ref().map(|it| (it.model.as_deref(), it.wire));
        self.figures.add(ReachedRequest { number, entry, reply, terms, known: known_of });
        let figures = entry.map(|_| self.n_figures);
        self.n_figures += usize::from(entry.is_some());
        if session != own && !self.sessions.contains(session) {
            self.sessions.insert(session.to_owned());
        }
        self.requests.push(ViewedRequest {
            number,
            line: line.filter(|_| session == own),
            why,
            figures,
            sha256: entry.map(|entry| entry.body.clone()),
            items: entry.map_or(0, |entry| entry.items),
            wire: known.as_ref().map(|it| it.wire).or_else(|| self.requests.last().and_then(|it| it.wire)),
            format: known.map(|it| it.format.into()).or_else(|| self.requests.last().and_then(|it| it.format.clone())),
            pack: terms.map(|terms| terms.pack.clone()),
            first_event_at: reply.and_then(|reply| reply.first_event_at.clone()),
            done_at: reply.and_then(|reply| reply.done_at.clone()),
            attempts: reply.map(|reply| reply.attempts.clone()).unwrap_or_default(),
        });
    }

    /// Adds what the bytes of a request say. Gives its model and its API format.
    fn proved(&mut self, number: usize, proved: &ProvedRequest<'_>) -> AskedModel {
        let items = proved.items();
        let n_kept = self.shared.next(items);
        self.cells.add(proved.frame(), items, n_kept);
        let new = items[n_kept..].iter().zip(proved.item_bytes(n_kept));
        let facts =
            new.map(|(item, bytes)| Arc::new(ItemFacts::of(item.kind, item.role.as_ref(), &item.spans, &bytes)));
        self.items.add(number, n_kept, &facts.collect::<Vec<_>>());
        AskedModel { model: proved.model(), wire: proved.wire(), format: proved.format() }
    }
}

impl SessionView {
    /// Goes through the record of a session, from where an earlier view ends if there is one.
    pub(super) fn gather(
        home: &Path,
        files: SessionFiles,
        stamp: &Stamp,
        before: Option<Self>,
    ) -> Result<Self, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the session", error);
        let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
        let before = before.filter(Self::can_be_continued);
        let survey = before.as_ref().map(|it| it.survey.clone()).unwrap_or_default();
        let source = ReplaySource::open_surveyed(home, &file, survey).map_err(|error| failed(&error))?;
        let before = before.filter(|before| before.is_of(&source));
        let n_saved = before.as_ref().map_or(0, |it| it.n_saved);
        let parents = before.as_ref().map(|it| it.parents.clone());
        let mut gathered = before.and_then(Gathered::continuing).unwrap_or_default();
        let first = gathered.requests.len() + 1;
        let walked = replay::walk_from(&source, first, &mut |walked| {
            gathered.add(&files.id, walked);
            ControlFlow::Continue(())
        });
        walked.map_err(|error| failed(&error))?;
        let Gathered { mut requests, figures, cells, items, sessions, .. } = gathered;
        let (mut figures, mut cells) = (figures.finish(), cells.finish());
        let is_estimated = figures.is_empty();
        if is_estimated {
            let counts = token_counts(&files.path).map_err(|error| failed(&error))?;
            figures = RequestFigures::estimated(&counts, KEPT_FOR);
            requests = figures.iter().enumerate().map(|(at, it)| ViewedRequest::estimated(it.number, at)).collect();
            cells = TimelineCells::unknown(requests.len());
        }
        let chain = source.chain();
        let named = parent(chain).into_iter().chain(sessions);
        let named: BTreeSet<String> = named.chain(parents.into_iter().flatten().map(|(id, _)| id)).collect();
        let stamped = |id: String| {
            let stamp = SessionFiles::find(home, &id).map(|files| files.stamp());
            (id, stamp)
        };
        let sealed = chain.links.iter().rev().find_map(|link| match &link.entry {
            LogEntry::Sealed(sealed) => Some(sealed.at),
            _ => None,
        });
        let started = chain.links.iter().filter_map(|link| match &link.entry {
            LogEntry::Child(child) => Some(child.session.clone()),
            _ => None,
        });
        Ok(Self {
            marks: marks(chain, &requests, &figures),
            figures,
            cells,
            is_estimated,
            has_record: !chain.links.is_empty(),
            n_calls: Calls::of(chain).calls.len(),
            n_compactions: replay::compaction_lines(&source).len(),
            state: RecordState {
                anchor: chain.anchor().map(str::to_owned),
                sealed_at: sealed,
                is_redacted: chain.is_redacted,
                is_filled: chain.is_filled,
                broken: chain.broken.as_ref().map(ToString::to_string),
                torn: chain.torn.clone(),
            },
            started: started.collect(),
            n_lines: chain.links.len(),
            survey: source.survey().clone(),
            end: stamp.session.as_ref().and_then(|it| end_digest(&files.path, it.bytes)),
            parents: named.into_iter().map(stamped).collect(),
            items: IndexedItems::Kept(items.finish()),
            n_saved,
            requests,
            files,
        })
    }

    /// Whether a session that has grown can be followed from where this view ends.
    fn can_be_continued(&self) -> bool {
        let RecordState { is_redacted, is_filled, broken, torn, .. } = &self.state;
        let is_whole = !is_redacted && !is_filled && broken.is_none() && torn.is_empty();
        is_whole && !self.is_estimated && self.requests.iter().all(|it| it.figures.is_some())
    }

    /// Whether the record begins with the lines that this view is of.
    fn is_of(&self, source: &ReplaySource) -> bool {
        let last = self.n_lines.checked_sub(1).and_then(|at| source.chain().hashes.get(at));
        last.is_some() && last == self.state.anchor.as_ref()
    }
}

/// The session that this record is of a copy of.
fn parent(chain: &Chain) -> Option<String> {
    chain.links.iter().find_map(|link| match &link.entry {
        LogEntry::Opened(opened) => opened.parent.as_ref().map(|parent| parent.session.clone()),
        _ => None,
    })
}

impl ViewedRequest {
    /// A request that only the token counts of a session file tell of.
    fn estimated(number: usize, figures: usize) -> Self {
        Self {
            number,
            line: None,
            why: Some("the session has no record of what it sent".to_owned()),
            figures: Some(figures),
            sha256: None,
            items: 0,
            wire: None,
            format: None,
            pack: None,
            first_event_at: None,
            done_at: None,
            attempts: Vec::new(),
        }
    }
}

/// What happened between the requests of a session, in order.
fn marks(chain: &Chain, requests: &[ViewedRequest], figures: &[RequestFigures]) -> Vec<Mark> {
    let numbers: BTreeMap<u64, usize> = requests.iter().filter_map(|it| Some((it.line?, it.number))).collect();
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
        marks.push(Mark { n, kind: kind.into(), text });
    }
    let mut before: Option<&RequestFigures> = None;
    for it in figures {
        if let Some(before) = before.filter(|before| before.model != it.model && !before.model.is_empty()) {
            let text = format!("the model changed from {} to {}", before.model, it.model);
            marks.push(Mark { n: it.number, kind: "model".into(), text });
        }
        if it.verdict.verdict == CacheWord::Expired {
            let seconds = it.verdict.idle_ms.unwrap_or(0) / 1000;
            let text = format!("{} without a request", pellucid_answers::cache::span(seconds));
            marks.push(Mark { n: it.number, kind: "idle".into(), text });
        }
        before = Some(it);
    }
    marks.sort_by_key(|mark| mark.n);
    marks
}
