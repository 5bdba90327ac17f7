//! Requests that extend each other, rebuilt together.
//!
//! The items of such requests are the same bytes, of which each request has a beginning. So a request is rebuilt with its
//! neighbours, and each of them costs only what is around its items.

use std::collections::BTreeSet;

use bytes::Bytes;
use pellucid_engine::digest::Items;
use pellucid_engine::digest::Ledger;
use pellucid_engine::fragment::Omission;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::provider::WireApi;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::parts::PartStore;

use super::Reached;
use super::ReplayError;
use super::Run;
use super::family::Found;
use super::rebuild;
use super::rebuild::RebuildError;
use super::rebuild::RebuiltRequest;
use super::rebuild::WantedRequest;
use super::recall;
use super::source::ReplaySource;

/// How many bytes of items are rebuilt behind the request that is wanted, for its neighbours.
const BYTES_BEHIND: usize = 1 << 20;

/// Requests that extend each other.
#[derive(Debug)]
pub struct SharedRequests {
    /// The bytes of the items of the longest request.
    bytes: Vec<Bytes>,
    rows: Vec<Rendered>,
    omissions: Vec<Omission>,
    requests: Vec<Beginning>,
}

/// A request, as a beginning of the items.
#[derive(Debug, Clone)]
struct Beginning {
    number: usize,
    /// Its line of the record.
    link: usize,
    frame: Frame,
    n_rows: usize,
    n_bytes: usize,
    n_omissions: usize,
    /// What closes the list of items.
    closing: &'static str,
    /// How many bytes of that belong to the last item.
    trail: usize,
}

/// A request whose bytes are those that were sent. The bytes are shared with its neighbours.
#[derive(Debug, Clone)]
pub struct SharedRequest {
    /// The number of the request, from one, as a replay counts.
    pub number: usize,
    /// How many requests the session has.
    pub of: usize,
    /// What the record says of the request.
    pub entry: entry::RequestEntry,
    /// What the record says of the reply; absent if none came.
    pub reply: Option<entry::ReplyEntry>,
    /// The bytes, whose SHA-256 is the one in the record.
    pub request: Request,
    /// What the request is made of.
    pub report: Report,
    /// The API format of the body.
    pub wire: WireApi,
    /// The model that the body asks.
    pub model: Option<String>,
    /// Where the chain of records is broken, if it is.
    pub broken: Option<String>,
}

impl From<SharedRequest> for RebuiltRequest {
    fn from(shared: SharedRequest) -> Self {
        let SharedRequest { number, of, entry, reply, request, report, wire, broken, .. } = shared;
        Self { number, of, entry, reply, body: request.body(), report, wire, broken }
    }
}

impl SharedRequests {
    /// Whether the request of a number is one of these.
    pub fn has(&self, number: usize) -> bool {
        self.requests.iter().any(|it| it.number == number)
    }

    /// A request, if it is one of these. `source` must be the files that they were rebuilt from.
    pub fn get(&self, source: &ReplaySource, number: usize, of: usize) -> Option<SharedRequest> {
        let found = self.requests.iter().find(|it| it.number == number)?;
        let chain = &source.chain;
        let LogEntry::Request(entry) = &chain.links.get(found.link)?.entry else {
            return None;
        };
        let mut rows = self.rows[..found.n_rows].to_vec();
        if let Some(last) = rows.last_mut() {
            last.trail = found.trail;
        }
        let omissions = found.frame.omissions().iter().chain(&self.omissions[..found.n_omissions]).cloned().collect();
        let mut report = Report::new(&found.frame, &rows, omissions, Vec::new());
        let parts = PartStore::new(&source.home);
        let before = chain.links[..=found.link].iter().map(|it| &it.entry);
        if let (Some(before), Some(now)) = recall::files(before, &parts) {
            report.changed_files = before.changed(&now);
        }
        let items = beginning(&self.bytes, found.n_bytes);
        Some(SharedRequest {
            number,
            of,
            entry: entry.as_ref().clone(),
            reply: rebuild::reply_to(chain, found.link),
            request: found.frame.around(items, found.closing),
            report,
            wire: found.frame.view().wire,
            model: found.frame.model(),
            broken: chain.broken.as_ref().map(ToString::to_string),
        })
    }

    /// Rebuilds a request that asks for an answer, with those before it that it extends and some of those that extend it;
    /// absent if it is another request, or is not as it was sent.
    fn around(source: &ReplaySource, numbers: &Numbers, link: usize) -> Result<Option<Self>, ReplayError> {
        let chain = &source.chain;
        let is_answer = |it: &ChainLink| matches!(&it.entry, LogEntry::Request(it) if it.purpose == Purpose::Answer);
        if chain.is_filled || !is_answer(&chain.links[link]) {
            return Ok(None);
        }
        let parts = PartStore::new(&source.home);
        let mut run = Run::new(&source.file, &parts, chain);
        let is_opening = |it: &ChainLink| matches!(it.entry, LogEntry::Opened(_));
        let opened = chain.links[..link].iter().rposition(is_opening).unwrap_or(0);
        let mut made = Made::default();
        for (at, it) in chain.links.iter().enumerate().skip(opened) {
            let entry = match &it.entry {
                LogEntry::Request(entry) if entry.purpose == Purpose::Answer => entry,
                LogEntry::Request(_) => continue,
                LogEntry::Opened(_) if at > link => break,
                entry => {
                    run.follow(entry)?;
                    continue;
                }
            };
            let Ok(Reached { frame, history, .. }) = run.reach(entry)? else {
                if at >= link { break } else { continue }
            };
            if made.is_over(&history.transcript, frame) {
                if at > link {
                    break;
                }
                made = Made::default();
            }
            let is_as_sent = made.add((numbers.of(at), at), entry, frame, &mut history.transcript);
            if at == link && !is_as_sent {
                return Ok(None);
            }
            if at >= link && history.transcript.shown_len() > made.n_wanted(link) + BYTES_BEHIND {
                break;
            }
        }
        made.bytes = run.history.map(|history| history.transcript.last_shown()).unwrap_or_default();
        Ok(made.requests.iter().any(|it| it.link == link).then(|| made.finish()))
    }
}

/// Requests that extend each other, as far as they were reached.
#[derive(Default)]
struct Made {
    ledger: Ledger,
    bytes: Vec<Bytes>,
    rows: Vec<Rendered>,
    omissions: Vec<Omission>,
    requests: Vec<Beginning>,
    is_begun: bool,
}

impl Made {
    /// Whether the next request has other items than a continuation of these.
    fn is_over(&self, transcript: &Transcript, frame: &Frame) -> bool {
        self.is_begun && (transcript.begins_again() || transcript.shown_view() != frame.view())
    }

    /// Adds the next request with its number and its line, if it is as it was sent. Gives whether it is.
    fn add(
        &mut self,
        (number, link): (usize, usize),
        entry: &entry::RequestEntry,
        frame: &Frame,
        transcript: &mut Transcript,
    ) -> bool {
        let request = frame.request(transcript);
        // The first request of these begins again, whatever was shown before.
        let _ = transcript.take_divergence();
        self.is_begun = true;
        let rendered = transcript.rendered();
        let account = self.ledger.account(frame, &request, rendered, Items::Extended);
        self.rows.extend(rendered[self.rows.len()..].iter().cloned());
        let trail = self.rows.last_mut().map_or(0, |last| std::mem::take(&mut last.trail));
        self.omissions.extend(transcript.omissions()[self.omissions.len()..].iter().cloned());
        let is_as_sent = account.body.to_string() == entry.body;
        if is_as_sent {
            self.requests.push(Beginning {
                number,
                link,
                frame: frame.clone(),
                n_rows: rendered.len(),
                n_bytes: transcript.shown_len(),
                n_omissions: transcript.omissions().len(),
                closing: transcript.closing(),
                trail,
            });
        }
        is_as_sent
    }

    /// How many bytes the items of the request of a line have.
    fn n_wanted(&self, link: usize) -> usize {
        self.requests.iter().find(|it| it.link == link).map_or(0, |it| it.n_bytes)
    }

    fn finish(self) -> SharedRequests {
        let Self { bytes, rows, omissions, requests, .. } = self;
        SharedRequests { bytes, rows, omissions, requests }
    }
}

/// The first bytes of segments.
fn beginning(segments: &[Bytes], n_bytes: usize) -> Vec<Bytes> {
    let mut left = n_bytes;
    let mut found = Vec::with_capacity(segments.len());
    for segment in segments {
        let n = segment.len().min(left);
        if n > 0 {
            found.push(segment.slice(..n));
        }
        left -= n;
    }
    found
}

/// The numbers of a session's requests, by their lines of the record.
struct Numbers {
    n_inherited: usize,
    /// For each own request its line; absent for one that the record does not have.
    links: Vec<Option<usize>>,
}

impl Numbers {
    fn of(&self, link: usize) -> usize {
        self.links.iter().position(|it| *it == Some(link)).map_or(0, |at| self.n_inherited + at + 1)
    }
}

impl ReplaySource {
    /// Rebuilds a request. With `kept`, a request that was rebuilt with one of its neighbours is taken from there, and what is
    /// rebuilt for this one is kept for others.
    ///
    /// # Errors
    /// When there is no such request, or its bytes cannot be proved to be those that were sent.
    pub fn rebuild(
        &self,
        wanted: WantedRequest,
        kept: &mut Option<SharedRequests>,
    ) -> Result<SharedRequest, RebuildError> {
        let numbering = self.own_numbering()?;
        let (n_inherited, of) = (numbering.n_inherited(), numbering.n());
        let number = match wanted {
            WantedRequest::Number(number) => number,
            WantedRequest::Last => of,
        };
        if let Some(found) = kept.as_ref().and_then(|kept| kept.get(self, number, of)) {
            return Ok(found);
        }
        let links = numbering.own.iter().map(|place| match place.found {
            Found::Recorded { link } => Some(link),
            Found::Unrecorded(_) => None,
        });
        let numbers = Numbers { n_inherited, links: links.collect() };
        let link = number.checked_sub(n_inherited + 1).and_then(|at| *numbers.links.get(at)?);
        if let Some(link) = link {
            // What was kept is let go first, so that no two are held.
            *kept = None;
            *kept = SharedRequests::around(self, &numbers, link)?;
            if let Some(found) = kept.as_ref().and_then(|kept| kept.get(self, number, of)) {
                return Ok(found);
            }
        }
        rebuild::rebuild_within(self, wanted, &mut BTreeSet::new())
    }
}
