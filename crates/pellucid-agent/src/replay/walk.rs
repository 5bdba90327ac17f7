//! Every request of a session, one after the other, rebuilt in one pass.
//!
//! `rebuild` follows the record from its beginning for one request. A walk costs, for each request, what is new in it and
//! what the visitor asks for.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::ops::Range;
use std::path::Path;

use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::provider::WireApi;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::anchors::Anchors;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry;
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
use super::family::Numbering;
use super::family::Place;

/// A request that a walk has reached.
#[derive(Debug)]
pub struct WalkedRequest<'w> {
    /// The number of the request, from one, as a replay counts.
    pub number: usize,
    /// The id of the session whose record has the request: the session itself, or the one it was forked from.
    pub session: &'w str,
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
    fn transcript(&mut self) -> &mut Transcript {
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

    /// The items of the body, in order, each with its bytes in the body.
    pub fn items(&mut self) -> Vec<(Range<usize>, Rendered)> {
        let mut start = self.frame.head_bytes().len();
        let items = self.items.transcript().rendered().iter().map(|item| {
            let from = start + item.lead;
            start += item.len();
            let range = from..start;
            start += item.trail;
            (range, item.clone())
        });
        items.collect()
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
    pub fn report(&mut self) -> Report {
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
    let chain = super::chain(home, file, &Anchors::read(home, Some(&file.meta.id)))?;
    walk_within(home, file, &chain, usize::MAX, &mut BTreeSet::new(), visit).map(|(n, _)| n)
}

/// The numbers of a session's own requests, by the numbers of their lines in the record.
///
/// # Errors
/// When a file cannot be read.
pub fn numbers(home: &Path, file: &SessionFile, chain: &Chain) -> Result<BTreeMap<u64, usize>, ReplayError> {
    let numbering = Numbering::of(home, file, chain, &BTreeSet::new())?;
    let n_inherited = numbering.n_inherited();
    let number = |(at, place): (usize, &Place)| match place.found {
        Found::Recorded { link } => Some((chain.links.get(link)?.n, n_inherited + at + 1)),
        Found::Unrecorded(_) => None,
    };
    Ok(numbering.own.iter().enumerate().filter_map(number).collect())
}

fn walk_within(
    home: &Path,
    file: &SessionFile,
    chain: &Chain,
    upto: usize,
    seen: &mut BTreeSet<String>,
    visit: &mut Visit<'_>,
) -> Result<(usize, ControlFlow<()>), ReplayError> {
    let numbering = Numbering::of(home, file, chain, seen)?;
    let (n_inherited, n) = (numbering.n_inherited(), numbering.n());
    if let Some(inherited) = &numbering.inherited {
        seen.insert(file.meta.id.clone());
        let n_wanted = n_inherited.min(upto);
        let (_, flow) = walk_within(home, &inherited.file, &inherited.chain, n_wanted, seen, visit)?;
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
    let mut unrecorded = unrecorded.into_iter().peekable();
    let replies = replies(chain);
    let parts = PartStore::new(home);
    let mut run = Run::new(file, &parts, chain);
    let mut bodies: BTreeMap<&str, usize> = BTreeMap::new();
    let mut terms = None;
    let mut files: FilesOf<'_> = (None, None);
    for (link, it) in chain.links.iter().enumerate() {
        if let LogEntry::Opened(opened) = &it.entry {
            terms = opened.terms.as_deref();
            files.1 = opened.files.as_ref().or(files.1);
        }
        let LogEntry::Request(entry) = &it.entry else {
            run.follow(&it.entry)?;
            continue;
        };
        files = (files.1, entry.files.as_ref().or(files.1));
        let Some(&number) = numbers.get(&link) else {
            drop(run.reach(entry)?);
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
        let again = (entry.purpose == Purpose::AnswerAgain).then(|| bodies.get(entry.body.as_str()).copied()).flatten();
        let bytes = match again {
            Some(number) => WalkedBytes::Again(number),
            None => reached(&mut run, entry, files)?,
        };
        bodies.insert(&entry.body, number);
        let reply = replies.get(&it.n).copied();
        let flow = visit(WalkedRequest { number, session: &file.meta.id, entry: Some(entry), reply, terms, bytes });
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
    WalkedRequest { number, session: &file.meta.id, entry: None, reply: None, terms: None, bytes }
}

/// The bytes of a request that the run comes to next.
fn reached<'r>(
    run: &'r mut Run<'_>,
    entry: &'r entry::RequestEntry,
    files: FilesOf<'r>,
) -> Result<WalkedBytes<'r>, ReplayError> {
    let verdict = run.verdict(entry)?;
    if !matches!(verdict, Verdict::Equal | Verdict::EqualInLength | Verdict::Unaltered) {
        return Ok(WalkedBytes::Unknown(verdict.to_string()));
    }
    let Reached { frame, history, parts, .. } = match run.reach(entry)? {
        Ok(reached) => reached,
        Err(verdict) => return Ok(WalkedBytes::Unknown(verdict.to_string())),
    };
    let mut items = match entry.purpose {
        Purpose::Answer | Purpose::AnswerAgain => WalkedItems::History(&mut history.transcript),
        Purpose::Summary { .. } | Purpose::ProviderSummary | Purpose::MemorySummary { .. } | Purpose::Vectors => {
            match check::own_items(entry, history, parts) {
                Ok(items) => WalkedItems::Own(Box::new(items)),
                Err(why) => return Ok(WalkedBytes::Unknown(why)),
            }
        }
    };
    let request = frame.request(items.transcript());
    let addressed = entry.watched.as_ref().and_then(|watched| watched.model.as_deref());
    Ok(WalkedBytes::Proved(ProvedRequest { frame, request, items, files, parts, addressed }))
}
