//! A lock of a request: its parts, sources and tools without facts of the machine.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

use pellucid_engine::digest::Digest;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::hidden::Hidden;
use pellucid_engine::report::Report;
use pellucid_engine::report::SourceRow;
use pellucid_engine::report::SourceStatus;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::provider::WireApi;

use super::ContextLock;
use super::LockChoices;
use super::LockPlaces;
use super::LockedPack;
use super::LockedPart;
use super::LockedSource;
use super::LockedTool;
use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// How an omission of the tools of a server begins.
const SERVER: &str = "the MCP server ";

/// What comes between an import and the place of it.
const IMPORTED: &str = " (imported in ";

/// How parts of tools begin.
const TOOLS: &str = "tools/";

/// What a lock is made of.
#[derive(Debug, Clone)]
pub struct LockInputs<'a> {
    /// The first request of a new session, with its bytes.
    pub request: &'a Inspected,
    /// The report of that request.
    pub report: &'a Report,
    /// The pack that made the request.
    pub pack: LockedPack,
    /// Whether the program has all files of the pack.
    pub is_builtin_pack: bool,
    /// The choices that the request was made with.
    pub choices: LockChoices,
    /// The program and its version.
    pub made_with: &'a str,
    /// The folders of this machine.
    pub places: &'a LockPlaces,
}

/// A lock of a request, and what a lock file does not say about its sources.
#[derive(Debug, Clone)]
pub struct MadeLock {
    /// The lock as it would be written.
    pub lock: ContextLock,
    pub(super) states: BTreeMap<String, SourceState>,
    /// Tools that neither the pack nor the program has.
    pub(super) outside_tools: BTreeSet<String>,
    pub(super) is_builtin_pack: bool,
}

/// A source that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadSource {
    /// The path from the project's root, or the name.
    pub source: String,
    /// Why it could not be read.
    pub why: String,
}

/// A source, with what a lock file does not say.
#[derive(Debug, Clone)]
pub(super) struct SourceState {
    pub(super) locked: LockedSource,
    pub(super) parts: BTreeSet<String>,
    pub(super) hidden: Vec<Hidden>,
    /// Why the source is not in the request as a whole.
    pub(super) why: String,
    /// The source that takes the place of this one.
    pub(super) by: Option<String>,
    /// How many bytes of the source are in the request.
    pub(super) sent_bytes: u64,
    /// The line of the first byte that is left out.
    pub(super) cut_line: Option<usize>,
    pub(super) is_file: bool,
    pub(super) is_unread: bool,
    /// Whether text that was written for the model is lost.
    pub(super) is_lost: bool,
    /// Whether the model, the API format or the mode decides about the source.
    pub(super) follows_settings: bool,
    /// The file and line of the configuration that has the source.
    pub(super) written_at: Option<(String, usize)>,
    /// Whether nothing of the source fits.
    pub(super) is_over_budget: bool,
}

impl SourceState {
    fn new(path: &str, status: SourceStatus) -> Self {
        let status = status.as_str().to_owned();
        Self {
            locked: LockedSource { path: path.to_owned(), status, bytes: 0, sha256: None },
            parts: BTreeSet::new(),
            hidden: Vec::new(),
            why: String::new(),
            by: None,
            sent_bytes: 0,
            cut_line: None,
            is_file: false,
            is_unread: false,
            is_lost: false,
            follows_settings: false,
            written_at: None,
            is_over_budget: false,
        }
    }
}

impl MadeLock {
    /// Makes the lock of a request.
    pub fn of(inputs: &LockInputs<'_>) -> Self {
        let LockInputs { request, report, pack, is_builtin_pack, choices, made_with, places } = inputs;
        let mut states = listed(report, places, choices);
        let mut texts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut parts: Vec<(String, usize, Vec<u8>)> = Vec::new();
        let mut tools: Vec<(String, Vec<u8>)> = Vec::new();
        let mut outside_tools = BTreeSet::new();
        let mut body: Vec<u8> = Vec::new();
        for row in &request.rows {
            let bytes = places.bytes(row);
            body.extend_from_slice(&bytes);
            let whence = row.content.as_ref().map(|content| &content.whence);
            if let Some(tool) = row.part.strip_prefix(TOOLS) {
                match tools.iter_mut().find(|(name, _)| name == tool) {
                    Some((_, definition)) => definition.extend_from_slice(&bytes),
                    None => tools.push((tool.to_owned(), bytes.to_vec())),
                }
                if matches!(whence, Some(Origin::Provided { .. })) {
                    outside_tools.insert(tool.to_owned());
                }
                continue;
            }
            let place = parts.iter().position(|(name, ..)| **name == *row.part).unwrap_or_else(|| {
                parts.push((row.part.to_string(), 0, Vec::new()));
                parts.len() - 1
            });
            let (_, n_bytes, own) = &mut parts[place];
            *n_bytes += bytes.len();
            match whence {
                Some(Origin::File { .. } | Origin::Skill { .. } | Origin::Provided { .. }) => {
                    note(row, &bytes, places, &mut states, &mut texts);
                }
                // Notation and separators follow from the sources; the digest of the body has them.
                Some(Origin::Wire | Origin::Layout) => {}
                _ => own.extend_from_slice(&bytes),
            }
        }
        for (path, text) in &texts {
            if let Some(state) = states.get_mut(path) {
                state.locked.sha256 = Some(sha256(text));
                (state.locked.bytes, state.sent_bytes) = (text.len() as u64, text.len() as u64);
            }
        }
        for (path, state) in states.iter_mut().filter(|(_, state)| state.locked.status == "truncated") {
            state.cut_line = cut_line(request, places, path);
        }
        let part = |(name, bytes, own): (String, usize, Vec<u8>)| LockedPart {
            name,
            bytes,
            tokens: tokens_of_bytes(bytes),
            sha256: sha256(&own),
        };
        let tool = |(name, definition): (String, Vec<u8>)| LockedTool {
            name,
            bytes: definition.len(),
            sha256: sha256(&definition),
        };
        let lock = ContextLock {
            made_with: (*made_with).to_owned(),
            pack: pack.clone(),
            wire: request.wire.map_or("", wire_name).to_owned(),
            model: request.model.clone(),
            digest: sha256(&body),
            choices: choices.clone(),
            parts: parts.into_iter().map(part).collect(),
            sources: states.values().map(|state| state.locked.clone()).collect(),
            tools: tools.into_iter().map(tool).collect(),
        };
        Self { lock, states, outside_tools, is_builtin_pack: *is_builtin_pack }
    }

    /// The sources that could not be read.
    pub fn unread(&self) -> Vec<UnreadSource> {
        let unread = self.states.iter().filter(|(_, state)| state.is_unread);
        unread.map(|(path, state)| UnreadSource { source: path.clone(), why: state.why.clone() }).collect()
    }
}

fn sha256(bytes: &[u8]) -> String {
    Digest::of([bytes]).to_string()
}

/// The name of an API format, as the configuration has it.
fn wire_name(wire: WireApi) -> &'static str {
    match wire {
        WireApi::Responses => "responses",
        WireApi::Chat => "chat",
        WireApi::Messages => "messages",
    }
}

/// The sources that the report lists, by their names in the lock.
fn listed(report: &Report, places: &LockPlaces, choices: &LockChoices) -> BTreeMap<String, SourceState> {
    let mut states = BTreeMap::new();
    for source in report.sources() {
        let candidate = report.candidates.iter().find(|it| it.path == source.source);
        let omissions: Vec<&Omission> = report.omissions.iter().filter(|it| it.what == source.source).collect();
        // A file that nothing names and that is not there is no source.
        if omissions.is_empty() && candidate.is_some_and(|it| it.fate == Fate::Absent) {
            continue;
        }
        // An import that did not work is called `FILE (imported in FILE:LINE)`.
        let path = source.source.split_once(IMPORTED).map_or(&*source.source, |(path, _)| path);
        let Some(mut name) = places.name(path) else { continue };
        if let Some(server) = name.strip_prefix(SERVER) {
            name = format!("mcp_servers.{server}");
        }
        if states.contains_key(&name) && path != source.source {
            name = places.shown(&source.source);
        }
        if states.contains_key(&name) {
            continue;
        }
        let mut state = state(&name, &source, report);
        state.why = places.shown(&source.why);
        for omission in omissions {
            let (is_tool, is_server) = (&*omission.slot == "tools", omission.what.starts_with(SERVER));
            let should_be_read = !is_tool || (is_server && choices.has_mcp_tools);
            state.is_unread |= matches!(omission.why, Why::Unusable { .. }) && should_be_read;
            state.is_lost |= omission.why.is_loss() && !is_tool;
            state.follows_settings |= is_tool && !is_server;
            state.is_over_budget |= matches!(omission.why, Why::OverBudget { .. });
            if let Why::Shadowed { by } | Why::Replaced { by } = &omission.why {
                state.by = Some(by.clone());
            }
        }
        match candidate.map(|it| &it.fate) {
            Some(Fate::Shadowed { by }) => state.by = Some(by.clone()),
            Some(Fate::Unreadable { .. } | Fate::NotAFile) => state.is_unread = true,
            Some(Fate::Outside { .. } | Fate::NotAccepted { .. }) => state.is_lost = true,
            _ => {}
        }
        // The shadowing file is named from the root, or beside the file that it shadows.
        state.by = state.by.take().and_then(|by| match Path::new(&by).is_absolute() {
            true => places.name(&by),
            false => {
                let beside = Path::new(&source.source).with_file_name(&by);
                places.name(&beside.to_string_lossy())
            }
        });
        states.insert(name, state);
    }
    states
}

fn state(name: &str, source: &SourceRow, report: &Report) -> SourceState {
    let mut state = SourceState::new(name, source.status);
    state.sent_bytes = source.bytes;
    state.is_file = Path::new(&source.source).is_absolute();
    if let Some(file) = report.files.iter().find(|file| file.path == source.source) {
        state.locked.bytes = file.size;
        state.locked.sha256 = Some(file.hash.to_string());
        state.hidden.clone_from(&file.hidden);
    }
    state
}

/// Notes a row of a source.
fn note(
    row: &InspectedRow,
    bytes: &[u8],
    places: &LockPlaces,
    states: &mut BTreeMap<String, SourceState>,
    texts: &mut BTreeMap<String, Vec<u8>>,
) {
    let (name, written_at) = match &*row.source {
        "provided" => places.value(&row.origin),
        _ => (places.name(&row.origin), None),
    };
    let Some(name) = name else { return };
    let is_new = !states.contains_key(&name);
    let state = states.entry(name.clone()).or_insert_with(|| SourceState::new(&name, SourceStatus::Full));
    state.parts.insert(row.part.to_string());
    state.written_at = state.written_at.take().or(written_at);
    state.is_file |= Path::new(&*row.origin).is_absolute();
    match row.content.as_ref().map(|content| &content.whence) {
        Some(Origin::File { path, size, .. }) if is_new && path.sha256().is_some() => {
            state.locked.bytes = *size;
            state.sent_bytes = *size;
            state.locked.sha256 = path.sha256().map(ToString::to_string);
        }
        // A file that the report lists has its hash there; other texts are hashed as they are sent.
        Some(Origin::File { path, .. }) if path.sha256().is_some() => {}
        _ if state.locked.sha256.is_none() => texts.entry(name).or_default().extend_from_slice(bytes),
        _ => {}
    }
}

/// The line of a file with the first byte that is not in the request, from 1.
fn cut_line(request: &Inspected, places: &LockPlaces, path: &str) -> Option<usize> {
    let of_file = |row: &&InspectedRow| &*row.source == "file" && places.name(&row.origin).as_deref() == Some(path);
    let mut rows: Vec<&InspectedRow> = request.rows.iter().filter(of_file).collect();
    rows.sort_by_key(|row| row.file_range.as_ref().map(|range| range.start));
    let (mut end, mut line) = (0, 1);
    for row in rows {
        let (range, content) = (row.file_range.as_ref()?, row.content.as_ref()?);
        if range.start > end {
            break;
        }
        if range.end > end {
            end = range.end;
            line += content.text.matches('\n').count();
        }
    }
    Some(line)
}
