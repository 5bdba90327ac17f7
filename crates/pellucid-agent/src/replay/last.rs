//! What a session did before this process, according to its record: the last request, which is enough to decide how
//! the next request continues it, and what all requests cost.

use std::path::Path;

use pellucid_engine::continuity::Recorded;
use pellucid_engine::transcript::KeptPlace;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::moment::Moment;
use pellucid_store::name;
use pellucid_store::read::SessionFile;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::PlacedEntry;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::RequestEntry;
use pellucid_store::requests::parts::PartStore;

use super::frame;
use super::history::places;

/// The last request that asked for an answer.
#[derive(Debug)]
pub(crate) struct LastRequest {
    /// Enough of it to say how the next one continues it.
    pub sent: Recorded,
    /// When it was sent.
    pub sent_at: Option<Moment>,
    /// How many tokens the provider counted in it.
    pub tokens: Option<i64>,
    /// The texts that it has between items.
    pub places: Vec<KeptPlace>,
}

/// What a session did before.
#[derive(Debug)]
pub(crate) struct Before {
    /// The last request that asked for an answer; absent if there is none, or the record does not show it.
    pub request: Option<LastRequest>,
    /// What all requests cost.
    pub usage: UsageSplit,
}

/// Why the record is read, which limits how much of it may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A user asked for it, so a long record is read too.
    Client,
    /// A session is resumed. Resuming must not take longer for longer sessions, so a long record is not read.
    InPassing,
}

/// How long a record may be that is read in passing. It is read in a few milliseconds.
const BYTES_IN_PASSING: u64 = 1 << 20;

impl Before {
    /// Reads the record of a session; absent if there is none.
    pub(crate) fn read(home: &Path, file: &SessionFile, reader: Reader) -> Option<Self> {
        let name = file.path.file_name()?.to_str()?;
        let path = name::requests_path(home, name)?;
        if reader == Reader::InPassing && std::fs::metadata(&path).ok()?.len() > BYTES_IN_PASSING {
            return None;
        }
        let chain = Chain::read(&path).ok()?;
        Some(Self { request: last_request(home, &chain), usage: chain.usage() })
    }
}

fn last_request(home: &Path, chain: &Chain) -> Option<LastRequest> {
    if chain.broken.is_some() || chain.is_redacted || chain.is_filled {
        return None;
    }
    let mut marks: Vec<(usize, usize, String)> = Vec::new();
    let mut last: Option<&RequestEntry> = None;
    let (mut placed, mut last_placed): (Option<&PlacedEntry>, _) = (None, None);
    let mut is_opened = false;
    let (mut n_last, mut sent_at, mut tokens) = (None, None, None);
    for link in &chain.links {
        match &link.entry {
            // A process that sends nothing changes nothing of what was sent before.
            LogEntry::Opened(_) => (is_opened, placed) = (true, None),
            LogEntry::Placed(entry) => placed = Some(entry),
            LogEntry::Request(request) if request.purpose == Purpose::Answer => {
                if std::mem::take(&mut is_opened) {
                    marks.clear();
                }
                let n_before = marks.last().map_or(0, |(n_items, ..)| *n_items);
                let count = |number: &u64| usize::try_from(*number).ok();
                let added = request.marks.iter().map(|(n, end, mark)| Some((count(n)?, count(end)?, mark.clone())));
                let added: Vec<_> = added.flatten().collect();
                // A request that does not extend the one before has marks from its first item on.
                if added.first().is_some_and(|(n_items, ..)| *n_items <= n_before) {
                    marks.clear();
                }
                marks.extend(added);
                last = Some(request);
                last_placed = placed;
                tokens = None;
                (n_last, sent_at) = (Some(link.n), moment(link, request));
            }
            LogEntry::Request(request) if request.purpose == Purpose::AnswerAgain => {
                (n_last, sent_at) = (Some(link.n), moment(link, request));
            }
            LogEntry::Reply(reply) if Some(reply.request) == n_last => {
                tokens = reply.usage.map(|usage| usage.input_tokens);
            }
            _ => {}
        }
    }
    let last = last?;
    let recorded = chain.links.iter().rev().find_map(|link| match &link.entry {
        LogEntry::Frame(frame) if frame.digest == last.frame => Some(frame),
        _ => None,
    })?;
    let parts = PartStore::new(home);
    let frame = frame(recorded, &parts).ok()?;
    let places = last_placed.and_then(|placed| places(placed, &parts).ok()).unwrap_or_default();
    Some(LastRequest { sent: Recorded { frame, marks }, sent_at, tokens, places })
}

/// When a request was sent. Older records tell only when its line was written.
fn moment(link: &ChainLink, request: &RequestEntry) -> Option<Moment> {
    Moment::parse(request.sent_at.as_ref().unwrap_or(&link.timestamp))
}
