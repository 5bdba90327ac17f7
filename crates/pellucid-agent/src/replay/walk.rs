//! Every request of a session, one after the other, rebuilt in one pass.
//!
//! `rebuild` follows the record from the last opening of the session for one request. A walk costs, for each request, what is new in it and
//! what the visitor asks for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::ops::RangeInclusive;
use std::path::Path;

use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::watched::WatchedFormat;
use pellucid_protocol::provider::WireApi;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::parts::PartStore;

use super::Reached;
use super::ReplayError;
use super::Run;
use super::Verdict;
use super::check;
use super::family::Found;
use super::family::Place;
use super::skim::SearchedLines;
use super::skim::Skim;
use super::source::ReplaySource;

/// A request that a walk has reached.
#[derive(Debug)]
pub struct WalkedRequest<'w> {
    /// The number of the request, from one, as a replay counts.
    pub number: usize,
    /// The id of the session whose record has the request: the session itself, or the one it was forked from.
    pub session: &'w str,
    /// The number of the request's line of that record; absent for a request that only the session file mentions.
    pub line: Option<u64>,
    /// The request's line of the record; absent for a request that only the session file mentions.
    pub entry: Option<&'w entry::RequestEntry>,
    /// The line of the record about the reply, if one came.
    pub reply: Option<&'w entry::ReplyEntry>,
    /// The settings of the process that sent the request; absent in records of earlier versions.
    pub terms: Option<&'w entry::RequestTerms>,
    /// The bytes of the request, or why they are not known.
    pub bytes: WalkedBytes<'w>,
}

/// What a walk knows of the bytes of a request.
#[derive(Debug)]
pub enum WalkedBytes<'w> {
    /// The bytes are those that were sent: their digest is the one in the record. Where the content is replaced by filler,
    /// they have the lengths of those that were sent.
    Proved(ProvedRequest<'w>),
    /// The request was sent again: it is the request of this number.
    Again(usize),
    /// The files do not tell the bytes, for this reason.
    Unknown(String),
}

/// A request whose bytes are proved.
#[derive(Debug)]
pub struct ProvedRequest<'w> {
    frame: &'w Frame,
    request: Request,
    items: WalkedItems<'w>,
    files: FilesOf<'w>,
    parts: &'w PartStore,
    /// The model that the request's address names, where its body does not.
    addressed: Option<&'w str>,
}

/// The pieces of the record with the files that the request before and this one were made from.
type FilesOf<'w> = (Option<&'w StoredPiece>, Option<&'w StoredPiece>);

/// The items of a request.
#[derive(Debug)]
enum WalkedItems<'w> {
    /// Those of the session's history.
    History(&'w mut Transcript),
    /// Those of a request that asks for a summary or for vectors.
    Own(Box<Transcript>),
}

impl WalkedItems<'_> {
    fn transcript(&self) -> &Transcript {
        match self {
            Self::History(items) => items,
            Self::Own(items) => items,
        }
    }

    fn transcript_mut(&mut self) -> &mut Transcript {
        match self {
            Self::History(items) => items,
            Self::Own(items) => items,
        }
    }
}

impl ProvedRequest<'_> {
    /// The body as it was sent.
    pub fn body(&self) -> Vec<u8> {
        self.request.body()
    }

    /// The model that the body asks.
    pub fn model(&self) -> Option<String> {
        self.frame.model().or_else(|| self.addressed.map(str::to_owned))
    }

    /// The API format of the body.
    pub fn wire(&self) -> WireApi {
        self.frame.view().wire
    }

    /// The format of the body, in a word: that of the program which sent it.
    pub fn format(&self) -> &'static str {
        let view = self.frame.view();
        view.watched.map_or(view.wire.as_str(), WatchedFormat::name)
    }

    /// The body in segments.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// What surrounds the items.
    pub fn frame(&self) -> &Frame {
        self.frame
    }

    /// The items of the body, in order.
    pub fn items(&self) -> &[Rendered] {
        self.items.transcript().rendered()
    }

    /// The bytes of the items from the one with this index on, in order, each without the notation before it.
    pub fn item_bytes(&self, from: usize) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let items = self.items();
        let before: usize = items[..from.min(items.len())].iter().map(|item| item.len() + item.trail).sum();
        let mut start = self.frame.head_bytes().len() + before;
        items[from.min(items.len())..].iter().map(move |item| {
            let first = start + item.lead;
            start += item.len();
            let range = first..start;
            start += item.trail;
            self.request.slice(range)
        })
    }

    /// The files of instructions and of the pack that are not what they were for the request before.
    pub fn changed_files(&self) -> Vec<ChangedFile> {
        let read = |piece: Option<&StoredPiece>| FileStates::read(&self.parts.text(piece?).ok()?);
        match (read(self.files.0), read(self.files.1)) {
            (Some(before), Some(now)) => before.changed(&now),
            _ => Vec::new(),
        }
    }

    /// What the body is made of. The report of a walk has no changed files and no comparison with the request before.
    pub fn report(&self) -> Report {
        let items = self.items.transcript();
        let omissions = self.frame.omissions().iter().chain(items.omissions()).cloned().collect();
        Report::new(self.frame, items.rendered(), omissions, Vec::new())
    }
}

/// What a visitor wants after a request.
pub type Visit<'v> = dyn FnMut(WalkedRequest<'_>) -> ControlFlow<()> + 'v;

/// Visits every request of a session, from the first on. Gives how many requests the session has.
///
/// # Errors
/// When the session's files cannot be read.
pub fn walk(home: &Path, file: &SessionFile, visit: &mut Visit<'_>) -> Result<usize, ReplayError> {
    walk_from(&ReplaySource::open(home, file)?, 1, visit)
}

/// Visits the requests of a session from one on. What an earlier process did is not followed for that. Gives how many
/// requests the session has.
///
/// # Errors
/// When the session's files cannot be read.
pub fn walk_from(source: &ReplaySource, first: usize, visit: &mut Visit<'_>) -> Result<usize, ReplayError> {
    walk_within(source, first..=usize::MAX, None, &mut BTreeSet::new(), visit).map(|(n, _)| n)
}

/// Visits the requests of a session that can have a text, and as many others as come with them.
///
/// # Errors
/// When the session's files cannot be read.
pub fn walk_searched(
    source: &ReplaySource,
    searched: SearchedLines<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), ReplayError> {
    walk_within(source, 1..=usize::MAX, Some(searched), &mut BTreeSet::new(), visit).map(drop)
}

/// The numbers of a session's own requests, by the numbers of their lines in the record.
///
/// # Errors
/// When a file cannot be read.
pub fn numbers(source: &ReplaySource) -> Result<BTreeMap<u64, usize>, ReplayError> {
    let numbering = source.own_numbering()?;
    let n_inherited = numbering.n_inherited();
    let number = |(at, place): (usize, &Place)| match place.found {
        Found::Recorded { link } => Some((source.chain.links.get(link)?.n, n_inherited + at + 1)),
        Found::Unrecorded(_) => None,
    };
    Ok(numbering.own.iter().enumerate().filter_map(number).collect())
}

fn walk_within(
    source: &ReplaySource,
    wanted: RangeInclusive<usize>,
    searched: Option<SearchedLines<'_>>,
    seen: &mut BTreeSet<String>,
    visit: &mut Visit<'_>,
) -> Result<(usize, ControlFlow<()>), ReplayError> {
    let ReplaySource { home, file, chain, .. } = source;
    let (first, upto) = (*wanted.start(), *wanted.end());
    let numbering = source.numbering(seen)?;
    let (n_inherited, n) = (numbering.n_inherited(), numbering.n());
    if let Some(inherited) = numbering.inherited.as_ref().filter(|_| first <= n_inherited) {
        seen.insert(file.meta.id.clone());
        let (_, flow) = walk_within(&inherited.parent, first..=n_inherited.min(upto), None, seen, visit)?;
        if flow.is_break() {
            return Ok((n, flow));
        }
    }
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut unrecorded = Vec::new();
    for (at, place) in numbering.own.into_iter().enumerate() {
        let number = n_inherited + at + 1;
        match place.found {
            Found::Recorded { link } => drop(numbers.insert(link, number)),
            Found::Unrecorded(verdict) => unrecorded.push((number, *verdict)),
        }
    }
    let mut unrecorded = unrecorded.into_iter().skip_while(|(number, _)| *number < first).peekable();
    // Each process begins with the history that it has opened, so what earlier ones did is not needed.
    let first_link = numbers.iter().find(|(_, number)| **number >= first).map_or(chain.links.len(), |(link, _)| *link);
    let is_opening = |link: &ChainLink| matches!(link.entry, LogEntry::Opened(_));
    let opened = chain.links[..first_link].iter().rposition(is_opening).unwrap_or(0);
    let replies = replies(chain);
    let parts = PartStore::new(home);
    let mut run = Run::new(file, &parts, chain);
    let mut skim = searched.and_then(|searched| Skim::new(chain, &parts, searched));
    let mut is_passed = false;
    let mut bodies: BTreeMap<&str, usize> = BTreeMap::new();
    let mut terms = None;
    let mut files: FilesOf<'_> = (None, None);
    for (link, it) in chain.links.iter().enumerate() {
        if let LogEntry::Opened(opened) = &it.entry {
            terms = opened.terms.as_deref();
            files.1 = opened.files.as_ref().or(files.1);
            is_passed = skim.as_mut().map(|skim| skim.passes(opened, &mut run)).transpose()?.unwrap_or(false);
        }
        let LogEntry::Request(entry) = &it.entry else {
            if link >= opened && !is_passed {
                run.follow_on(&it.entry)?;
            }
            continue;
        };
        files = (files.1, entry.files.as_ref().or(files.1));
        let number = numbers.get(&link).copied();
        let Some(number) = number.filter(|number| *number >= first) else {
            if link >= opened {
                drop(run.reach(entry)?);
            }
            bodies.extend(number.map(|number| (entry.body.as_str(), number)));
            continue;
        };
        while let Some((number, verdict)) = unrecorded.next_if(|(earlier, _)| *earlier < number) {
            let flow = visit(unknown(file, number, &verdict));
            if flow.is_break() || number >= upto {
                return Ok((n, flow));
            }
        }
        if number > upto {
            return Ok((n, ControlFlow::Continue(())));
        }
        if is_passed {
            bodies.insert(&entry.body, number);
            continue;
        }
        let again = (entry.purpose == Purpose::AnswerAgain).then(|| bodies.get(entry.body.as_str()).copied()).flatten();
        let bytes = match again {
            Some(number) => WalkedBytes::Again(number),
            None => reached(&mut run, entry, files)?,
        };
        bodies.insert(&entry.body, number);
        let reply = replies.get(&it.n).copied();
        let (session, line) = (file.meta.id.as_str(), Some(it.n));
        let flow = visit(WalkedRequest { number, session, line, entry: Some(entry), reply, terms, bytes });
        if flow.is_break() {
            return Ok((n, flow));
        }
    }
    for (number, verdict) in unrecorded.filter(|(number, _)| *number <= upto) {
        let flow = visit(unknown(file, number, &verdict));
        if flow.is_break() {
            return Ok((n, flow));
        }
    }
    Ok((n, ControlFlow::Continue(())))
}

/// The replies of a record, by the number of the request's line.
pub(super) fn replies(chain: &Chain) -> BTreeMap<u64, &entry::ReplyEntry> {
    let replies = chain.links.iter().filter_map(|link| match &link.entry {
        LogEntry::Reply(reply) => Some((reply.request, reply.as_ref())),
        _ => None,
    });
    replies.collect()
}

fn unknown<'w>(file: &'w SessionFile, number: usize, verdict: &Verdict) -> WalkedRequest<'w> {
    let bytes = WalkedBytes::Unknown(verdict.to_string());
    WalkedRequest { number, session: &file.meta.id, line: None, entry: None, reply: None, terms: None, bytes }
}

/// The bytes of a request that the run comes to next.
fn reached<'r>(
    run: &'r mut Run<'_>,
    entry: &'r entry::RequestEntry,
    files: FilesOf<'r>,
) -> Result<WalkedBytes<'r>, ReplayError> {
    let (verdict, own) = run.verdict(entry)?;
    if !matches!(verdict, Verdict::Equal | Verdict::EqualInLength | Verdict::Unaltered) {
        return Ok(WalkedBytes::Unknown(verdict.to_string()));
    }
    let Reached { frame, history, parts, .. } = match run.reach(entry)? {
        Ok(reached) => reached,
        Err(verdict) => return Ok(WalkedBytes::Unknown(verdict.to_string())),
    };
    let mut items = match (&entry.purpose, own) {
        (_, Some(items)) => WalkedItems::Own(Box::new(items)),
        (Purpose::Answer | Purpose::AnswerAgain, None) => WalkedItems::History(&mut history.transcript),
        (
            Purpose::Summary { .. } | Purpose::ProviderSummary | Purpose::MemorySummary { .. } | Purpose::Vectors,
            None,
        ) => match check::own_items(entry, history, parts) {
            Ok(items) => WalkedItems::Own(Box::new(items)),
            Err(why) => return Ok(WalkedBytes::Unknown(why)),
        },
    };
    let request = frame.request(items.transcript_mut());
    let addressed = entry.watched.as_ref().and_then(|watched| watched.model.as_deref());
    Ok(WalkedBytes::Proved(ProvedRequest { frame, request, items, files, parts, addressed }))
}
