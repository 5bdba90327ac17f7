//! Sessions that belong together: the one that a copy was made of, and those that were started from another.

use std::collections::BTreeSet;
use std::path::Path;

use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::find;
use pellucid_store::lines::Forwards;
use pellucid_store::read;
use pellucid_store::read::ReadError;
use pellucid_store::read::RecordKind;
use pellucid_store::read::SessionFile;
use pellucid_store::read::split;
use pellucid_store::requests::anchors::Anchors;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::LogEntry;
use serde::Deserialize;
use serde::Serialize;

use super::Replay;
use super::ReplayError;
use super::ReplayStatus;
use super::ReplayedRequest;
use super::Verdict;
use super::replay_within;
use super::source::ReplaySource;

/// A session that was started from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildSession {
    /// The id of the session.
    pub session: String,
    /// What it is for: `review`, `agent` or `memories`.
    pub purpose: String,
    /// What came of replaying it; absent when its files cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<Replay>>,
}

impl ChildSession {
    pub(super) fn status(&self) -> ReplayStatus {
        self.replay.as_ref().map_or(ReplayStatus::NotProvable, |replay| replay.status())
    }
}

/// What a session is a copy of, if it is one, and where its own lines begin.
pub(super) fn copied_from(chain: &Chain) -> Option<(&entry::Parent, u64)> {
    chain.links.iter().find_map(|link| match &link.entry {
        LogEntry::Opened(opened) => Some((opened.parent.as_ref()?, opened.at)),
        _ => None,
    })
}

/// How the requests of a session are counted.
#[derive(Debug)]
pub(super) struct Numbering {
    /// What came before its own, if it is a copy and its parent is there.
    pub inherited: Option<Box<Inherited>>,
    /// Its own, in order.
    pub own: Vec<Place>,
}

/// What a copy has of its parent.
#[derive(Debug)]
pub(super) struct Inherited {
    /// Where the copy's own lines begin.
    pub at: u64,
    /// How many requests of the parent belong to it, from the first on.
    pub n: usize,
    pub parent: ReplaySource,
}

/// A request, and its place in the session file.
#[derive(Debug)]
pub(super) struct Place {
    pub at: u64,
    pub found: Found,
}

/// Where a request is found.
#[derive(Debug)]
pub(super) enum Found {
    /// In the record, on this line.
    Recorded { link: usize },
    /// In the session file alone.
    Unrecorded(Box<Verdict>),
}

impl Numbering {
    pub fn of(source: &ReplaySource, seen: &BTreeSet<String>) -> Result<Self, ReadError> {
        let ReplaySource { home, file, chain, survey, .. } = source;
        let seen: BTreeSet<String> = seen.iter().cloned().chain([file.meta.id.clone()]).collect();
        let inherited = inherited(home, chain, &seen)?;
        let mut own: Vec<Place> = Vec::new();
        for (link, it) in chain.links.iter().enumerate() {
            if let LogEntry::Request(request) = &it.entry {
                own.push(Place { at: request.at, found: Found::Recorded { link } });
            }
        }
        for (at, outcome) in super::unrecorded(file, chain, survey)? {
            own.push(Place { at, found: Found::Unrecorded(Box::new(outcome.verdict)) });
        }
        own.sort_by_key(|place| place.at);
        if let Some(inherited) = &inherited {
            own.retain(|place| place.at > inherited.at);
        }
        Ok(Self { inherited, own })
    }

    /// How many requests came before its own.
    pub fn n_inherited(&self) -> usize {
        self.inherited.as_ref().map_or(0, |inherited| inherited.n)
    }

    /// How many requests there are.
    pub fn n(&self) -> usize {
        self.n_inherited() + self.own.len()
    }
}

fn inherited(home: &Path, chain: &Chain, seen: &BTreeSet<String>) -> Result<Option<Box<Inherited>>, ReadError> {
    let Some((parent, at)) = copied_from(chain) else {
        return Ok(None);
    };
    let Some(source) = open(home, &parent.session, seen) else {
        return Ok(None);
    };
    let numbering = Numbering::of(&source, seen)?;
    let n_sent = numbering.own.iter().filter(|place| place.at <= parent.upto).count();
    Ok(Some(Box::new(Inherited { at, n: numbering.n_inherited() + n_sent, parent: source })))
}

impl Inherited {
    /// What came of the parent's requests.
    pub fn outcomes(&self, home: &Path, seen: &mut BTreeSet<String>) -> Result<Vec<ReplayedRequest>, ReplayError> {
        let id = &self.parent.file.meta.id;
        let replay = replay_within(&self.parent, &Anchors::read(home, Some(id)), seen)?;
        let numbered = |(n, outcome): (usize, ReplayedRequest)| ReplayedRequest {
            verdict: match outcome.verdict {
                Verdict::Equal | Verdict::EqualInParent { .. } => {
                    Verdict::EqualInParent { parent: id.clone(), number: n + 1 }
                }
                other => other,
            },
            ..outcome
        };
        Ok(replay.requests.into_iter().take(self.n).enumerate().map(numbered).collect())
    }
}

/// The sessions that were started from one: reviewers, which its record names, and agents, which its calls name.
pub(super) fn children(
    home: &Path,
    file: &SessionFile,
    chain: &Chain,
    seen: &mut BTreeSet<String>,
) -> Vec<ChildSession> {
    let reviewers = chain.links.iter().filter_map(|link| match &link.entry {
        LogEntry::Child(child) => Some((child.session.clone(), child.purpose.clone())),
        _ => None,
    });
    let agents = agents(file, copied_from(chain).map_or(0, |(_, at)| at));
    let agents = agents.into_iter().map(|session| (session, "agent".to_owned()));
    let mut children = Vec::new();
    for (session, purpose) in reviewers.chain(agents) {
        let replay = open(home, &session, seen).and_then(|source| {
            let anchors = Anchors::read(home, Some(&session));
            replay_within(&source, &anchors, seen).ok().map(Box::new)
        });
        children.push(ChildSession { session, purpose, replay });
    }
    children
}

/// The agents that a session started behind a place of its file, by the outputs of its calls.
fn agents(file: &SessionFile, from: u64) -> Vec<String> {
    #[derive(Deserialize)]
    struct Started {
        agent_id: String,
    }
    let opened = pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, from, u64::MAX));
    let Ok(mut lines) = opened else {
        return Vec::new();
    };
    let mut calls: BTreeSet<String> = BTreeSet::new();
    let mut agents = Vec::new();
    while let Ok(Some(line)) = lines.next_line() {
        let Some((RecordKind::ResponseItem, payload)) = split(line.bytes) else {
            continue;
        };
        if !payload.starts_with(b"{\"type\":\"function_call") {
            continue;
        }
        match serde_json::from_slice::<Item>(payload) {
            Ok(Item::FunctionCall { name, call_id, .. }) if name == "spawn_agent" => {
                calls.insert(call_id);
            }
            Ok(Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) }) if calls.contains(&call_id) => {
                agents.extend(serde_json::from_str::<Started>(&text).ok().map(|started| started.agent_id));
            }
            _ => {}
        }
    }
    agents
}

/// Opens a session that belongs to another; absent if it is gone, or being replayed already.
pub(super) fn open(home: &Path, id: &str, seen: &BTreeSet<String>) -> Option<ReplaySource> {
    if seen.contains(id) {
        return None;
    }
    let file = read::open(&find::anywhere(home, id)?).ok()?;
    ReplaySource::open(home, &file).ok()
}
