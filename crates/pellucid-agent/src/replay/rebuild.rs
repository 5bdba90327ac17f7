//! One request of a session, rebuilt from its files to be shown.

use std::collections::BTreeSet;
use std::path::Path;

use pellucid_engine::digest::Digest;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::provider::WireApi;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::parts::PartStore;

use super::Difference;
use super::Reached;
use super::ReplayError;
use super::Run;
use super::Verdict;
use super::check;
use super::family::Found;
use super::recall;
use super::shared::SharedRequest;
use super::source::ReplaySource;

/// Which request is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedRequest {
    /// The request of this number, from one, as a replay counts.
    Number(usize),
    /// The last request of the session.
    Last,
}

/// A request that was sent, rebuilt.
#[derive(Debug, Clone)]
pub struct RebuiltRequest {
    /// Its number, from one, as a replay counts.
    pub number: usize,
    /// How many requests the session has.
    pub of: usize,
    /// What the record says of it.
    pub entry: entry::RequestEntry,
    /// What the record says of the reply; absent if none came.
    pub reply: Option<entry::ReplyEntry>,
    /// Its body, whose SHA-256 is the one in the record.
    pub body: Vec<u8>,
    /// What it is made of.
    pub report: Report,
    /// The API format of the body.
    pub wire: WireApi,
    /// Where the chain of records is broken, if it is.
    pub broken: Option<String>,
}

impl RebuiltRequest {
    /// The model that the request asks: its body says so, or its address, where the API format has it there.
    pub fn model(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let addressed = || self.entry.watched.as_ref()?.model.clone();
        body["model"].as_str().map(str::to_owned).or_else(addressed).unwrap_or_default()
    }
}

/// Why a request cannot be rebuilt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// The session's files cannot be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The session has no such request.
    #[error("{}", no_such(*.number, *.of))]
    NoSuchRequest {
        /// The number, from one; absent for the last.
        number: Option<usize>,
        /// How many requests it has.
        of: usize,
    },
    /// The files do not tell.
    #[error("request {number} is not provable: {why}")]
    NotProvable {
        /// Its number, from one.
        number: usize,
        /// The reason, for a person.
        why: String,
    },
    /// It comes out differently.
    #[error("request {number} comes out differently at byte {}, in {}: {}", .difference.byte, .difference.part, .difference.what)]
    Differs {
        /// Its number, from one.
        number: usize,
        /// The first difference between the request and its record.
        difference: Difference,
    },
}

fn no_such(number: Option<usize>, of: usize) -> String {
    match (number, of) {
        (_, 0) => "the session has sent no request".to_owned(),
        (Some(number), 1) => format!("there is no request {number}: the session has one, number 1"),
        (Some(number), _) => format!("there is no request {number}: the session has {of}, from 1 on"),
        (None, _) => "the session has no last request".to_owned(),
    }
}

impl From<ReadError> for RebuildError {
    fn from(error: ReadError) -> Self {
        Self::Replay(error.into())
    }
}

/// Rebuilds a request of a session from its files alone.
///
/// # Errors
/// When there is no such request, or its bytes cannot be proved to be those that were sent.
pub fn rebuild(home: &Path, file: &SessionFile, wanted: WantedRequest) -> Result<RebuiltRequest, RebuildError> {
    ReplaySource::open(home, file)?.rebuild(wanted, &mut None).map(Into::into)
}

/// Rebuilds a request by itself.
pub(super) fn rebuild_within(
    source: &ReplaySource,
    wanted: WantedRequest,
    seen: &mut BTreeSet<String>,
) -> Result<SharedRequest, RebuildError> {
    let ReplaySource { home, file, chain, .. } = source;
    let numbering = source.numbering(seen)?;
    let (n_inherited, of) = (numbering.n_inherited(), numbering.n());
    let number = match wanted {
        WantedRequest::Number(number) => number,
        WantedRequest::Last => of,
    };
    if let Some(inherited) = numbering.inherited.filter(|_| (1..=n_inherited).contains(&number)) {
        seen.insert(file.meta.id.clone());
        let in_parent = rebuild_within(&inherited.parent, WantedRequest::Number(number), seen)?;
        return Ok(SharedRequest { of, ..in_parent });
    }
    let own = number.checked_sub(n_inherited + 1);
    let place = own.and_then(|n| numbering.own.into_iter().nth(n));
    let found = place.map(|place| place.found).ok_or(RebuildError::NoSuchRequest {
        number: match wanted {
            WantedRequest::Number(number) => Some(number),
            WantedRequest::Last => None,
        },
        of,
    })?;
    let (made, reply) = match found {
        Found::Recorded { link } => (made(home, file, chain, link)?, reply_to(chain, link)),
        Found::Unrecorded(verdict) => (Err(*verdict), None),
    };
    match made {
        Ok(Body { entry, request, report, frame }) => {
            let broken = chain.broken.as_ref().map(ToString::to_string);
            let (wire, model) = (frame.view().wire, frame.model());
            Ok(SharedRequest { number, of, entry, reply, request, report, wire, model, broken })
        }
        Err(Verdict::NotProvable { why } | Verdict::Altered { what: why } | Verdict::Foreign { why }) => {
            Err(RebuildError::NotProvable { number, why })
        }
        Err(Verdict::Differs(difference)) => Err(RebuildError::Differs { number, difference }),
        Err(Verdict::Equal | Verdict::EqualInParent { .. } | Verdict::EqualInLength | Verdict::Unaltered) => {
            Err(RebuildError::NotProvable { number, why: "its digest fits, its bytes do not".to_owned() })
        }
    }
}

/// The reply to the request of a line.
pub(super) fn reply_to(chain: &Chain, link: usize) -> Option<entry::ReplyEntry> {
    let n = chain.links[link].n;
    chain.links[link..].iter().find_map(|it| match &it.entry {
        LogEntry::Reply(reply) if reply.request == n => Some(reply.as_ref().clone()),
        _ => None,
    })
}

/// A request that came out as it was sent.
struct Body {
    entry: entry::RequestEntry,
    request: Request,
    report: Report,
    frame: Frame,
}

/// What comes of rebuilding: the request, or why there is none.
type Made = Result<Body, Verdict>;

/// Rebuilds the request of a line of the record.
fn made(home: &Path, file: &SessionFile, chain: &Chain, link: usize) -> Result<Made, ReadError> {
    let LogEntry::Request(wanted) = &chain.links[link].entry else {
        return Ok(Err(Verdict::NotProvable { why: "the line is not a request".to_owned() }));
    };
    // A request that is sent again is the one before, whatever was recorded since.
    let is_meant = |it: &usize| match &chain.links[*it].entry {
        LogEntry::Request(request) => request.purpose != Purpose::AnswerAgain && request.body == wanted.body,
        _ => false,
    };
    let first = if wanted.purpose == Purpose::AnswerAgain { (0..link).rev().find(is_meant) } else { Some(link) };
    let Some(first) = first else {
        return Ok(Err(Verdict::NotProvable { why: "the record does not have what was sent again".to_owned() }));
    };
    let parts = PartStore::new(home);
    let mut run = Run::new(file, &parts, chain);
    // Each process begins with the history that it has opened, so what earlier ones did is not needed.
    let is_opening = |it: &usize| matches!(chain.links[*it].entry, LogEntry::Opened(_));
    let opened = (0..first).rev().find(is_opening).unwrap_or(0);
    for it in &chain.links[opened..first] {
        match &it.entry {
            LogEntry::Request(request) => drop(run.reach(request)?),
            entry => run.follow(entry)?,
        }
    }
    let LogEntry::Request(recorded) = &chain.links[first].entry else {
        return Ok(Err(Verdict::NotProvable { why: "the line is not a request".to_owned() }));
    };
    let Reached { frame, history, parts, .. } = match run.reach(recorded)? {
        Ok(reached) => reached,
        Err(verdict) => return Ok(Err(verdict)),
    };
    let mut summary = match recorded.purpose {
        Purpose::Answer | Purpose::AnswerAgain => None,
        Purpose::Summary { .. } | Purpose::ProviderSummary | Purpose::MemorySummary { .. } | Purpose::Vectors => {
            match check::own_items(recorded, history, parts) {
                Ok(items) => Some(items),
                Err(why) => return Ok(Err(Verdict::NotProvable { why })),
            }
        }
    };
    let items: &mut Transcript = summary.as_mut().unwrap_or(&mut history.transcript);
    let request = frame.request(items);
    let is_as_sent = if chain.is_filled {
        request.len() as u64 == recorded.bytes && items.rendered().len() as u64 == recorded.items
    } else {
        Digest::of_body(&request).to_string() == recorded.body
    };
    if is_as_sent {
        let omissions = frame.omissions().iter().chain(items.omissions()).cloned().collect();
        let mut report = Report::new(frame, items.rendered(), omissions, Vec::new());
        if let (Some(before), Some(now)) = recall::files(chain.links[..=first].iter().map(|it| &it.entry), parts) {
            report.changed_files = before.changed(&now);
        }
        let (entry, frame) = (wanted.as_ref().clone(), frame.clone());
        return Ok(Ok(Body { entry, request, report, frame }));
    }
    // A replay says where it differs.
    let (mut run, mut verdict) = (Run::new(file, run.parts, chain), Verdict::Equal);
    for it in &chain.links[..=first] {
        match &it.entry {
            LogEntry::Request(request) => verdict = run.verdict(request)?.0,
            entry => run.follow(entry)?,
        }
    }
    Ok(Err(verdict))
}
