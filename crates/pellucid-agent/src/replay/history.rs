//! The items of a session as they were at a place of its file.
//!
//! A history begins as the session was opened, empty or restored, and then follows the file line by
//! line, as the session itself did.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use pellucid_engine::compaction;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins;
use pellucid_engine::origins::Origins;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::KeptPlace;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_engine::watched::WatchedPlace;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_store::lines::Forwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::ReadError;
use pellucid_store::read::RecordKind;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::read::split;
use pellucid_store::record::Compacted;
use pellucid_store::record::Record;
use pellucid_store::redact;
use pellucid_store::requests::entry::How;
use pellucid_store::requests::entry::OpenedEntry;
use pellucid_store::requests::entry::PlacedEntry;
use pellucid_store::requests::entry::PlacedText;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::Stretch;
use pellucid_store::requests::entry::SummaryContext;
use pellucid_store::requests::parts::PartError;
use pellucid_store::requests::parts::PartStore;

use super::ReplayedRequest;
use super::Verdict;
use super::survey::FileSurvey;
use crate::restore;
use crate::restore::RestoreOptions;

/// The policy for histories that are rebuilt: outputs keep their whole length.
pub(super) const UNCUT: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
/// After how many bytes of items the transcript settles, while many are read.
const SETTLE_BYTES: usize = 1024 * 1024;

/// The reason given for missing lines.
const SHORTER: &str = "the session file is shorter than it was";

/// The reason given for stretches that fit no history.
const STRANGE: &str = "the record speaks of items that the history does not have";

/// The items of a session at a place of its file.
pub(super) struct History<'a> {
    pub transcript: Transcript,
    /// The origin of items whose own was not kept.
    pub origin: Origin,
    /// The part of items with that origin.
    part: Arc<str>,
    file: &'a SessionFile,
    parts: &'a PartStore,
    lines: Forwards,
    at: u64,
    /// Why the items are not known, if they are not.
    unknown: Option<String>,
    /// Where the session was opened.
    opened_at: u64,
    /// Whether secrets are blanked before that. The whole file up to there is read for it, and only what does not fit
    /// its record asks.
    is_redacted_before: OnceCell<bool>,
    /// Whether secrets are blanked in what was read since.
    is_redacted_since: bool,
    /// Whether another program sent the requests, whose items only the record has.
    is_watched: bool,
    /// The last summary that a process of this history wrote, if it carries no history.
    summary: Option<WrittenSummary>,
    /// The offset behind the last summary and the texts around it, if the history was restored with them.
    restored_with: Option<(u64, SummaryContext)>,
    /// How items are shown while many are read, so that they are not held twice.
    settles: Option<View>,
}

/// A summary that carries no history. A process that resumes the session puts its own texts around it.
struct WrittenSummary {
    /// What people said before it, and snapshots.
    messages: Vec<Item>,
    text: String,
    start: u64,
    end: u64,
}

/// What the payload of an event that changes the history begins with.
const ROLLED_BACK: &[u8] = b"{\"type\":\"thread_rolled_back\"";

/// What the payload of an event begins with, as this program and the Codex CLI write it.
const EVENT: &[u8] = b"{\"type\":\"";

impl<'a> History<'a> {
    /// The history that a session was opened with. `view` is how its first request shows items, if that is known: then a long
    /// history is not held twice.
    pub fn open(
        file: &'a SessionFile,
        opened: &OpenedEntry,
        parts: &'a PartStore,
        origins: &Origins,
        view: Option<View>,
    ) -> Result<Self, ReadError> {
        let ids = serde_json::from_value(opened.ids.clone()).unwrap_or_default();
        let mut unknown = None;
        let len = std::fs::metadata(&file.path).map_err(|error| ReadError::io(&file.path, error))?.len();
        let transcript = match opened.how {
            _ if len < opened.at => {
                unknown = Some(SHORTER.to_owned());
                Transcript::new(ids, opened.truncation)
            }
            How::New => Transcript::new(ids, opened.truncation),
            How::Resumed | How::Forked => match restored(file, opened, (ids, view), parts, origins)? {
                Ok(transcript) => transcript,
                Err(error) => {
                    unknown = Some(error.to_string());
                    Transcript::new(ids, opened.truncation)
                }
            },
        };
        let lines = forwards(file, opened.at)?;
        let origin = Origin::Recorded { path: file.path.to_string_lossy().as_ref().into() };
        let is_watched = opened.watched.is_some();
        Ok(Self {
            transcript,
            part: origin.kind().into(),
            origin,
            file,
            parts,
            lines,
            at: opened.at,
            unknown,
            opened_at: opened.at,
            is_redacted_before: OnceCell::new(),
            is_redacted_since: false,
            is_watched,
            summary: None,
            restored_with: None,
            settles: None,
        })
    }

    /// Whether a process that begins with this line would record the same items in the same way.
    pub fn can_be_of(&self, opened: &OpenedEntry) -> bool {
        let ids: ItemIds = serde_json::from_value(opened.ids.clone()).unwrap_or_default();
        let is_watched = self.is_watched || opened.watched.is_some();
        !is_watched && self.transcript.ids() == ids && self.transcript.truncation() == opened.truncation
    }

    /// Notes that the history was restored with these texts around the summary that ends at an offset.
    pub fn note_restored(&mut self, end: Option<u64>, context: Option<&SummaryContext>) {
        self.restored_with = end.zip(context.cloned());
    }

    /// Puts the texts of a process around the summary that ends at an offset, as a process does that resumes the session, and
    /// follows the lines behind it again. Gives whether that could be done.
    pub fn restore_again(
        &mut self,
        (end, context): (u64, &SummaryContext),
        opened: &OpenedEntry,
        view: View,
        (rebuilt, origins): (&BTreeMap<u64, &[Stretch]>, &Origins),
    ) -> Result<bool, ReadError> {
        if self.restored_with.as_ref().is_some_and(|with| with.0 == end && with.1 == *context) {
            return Ok(true);
        }
        let Some(summary) = self.summary.as_ref().filter(|summary| summary.end == end) else {
            return Ok(false);
        };
        let Ok((prefix, context_items)) = summary_texts(context, self.parts) else {
            return Ok(false);
        };
        let items = compaction::restored(&summary.messages, &prefix, &context_items, &summary.text);
        // The items of the process before are let go first, so that no two histories are held.
        self.transcript = Transcript::new(self.transcript.ids(), opened.truncation);
        let kept = Kept { origins, at: summary.start, otherwise: &self.origin };
        items.iter().for_each(|item| kept.record(&mut self.transcript, item));
        (self.lines, self.at) = (forwards(self.file, end)?, end);
        self.settles = Some(view);
        self.advance(opened.at, rebuilt, origins)?;
        self.settles = None;
        self.restored_with = Some((end, context.clone()));
        Ok(true)
    }

    /// Why the items are not known, if they are not.
    pub fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }

    /// Whether another program sent the requests.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Whether secrets are blanked in what was read.
    pub fn is_redacted(&self) -> bool {
        let before = || self.opened_at > 0 && has_blanks(self.file, self.opened_at).unwrap_or(false);
        self.is_redacted_since || *self.is_redacted_before.get_or_init(before)
    }

    /// Whether requests had ids that no file has.
    pub fn has_server_ids(&self) -> bool {
        self.transcript.ids() == ItemIds::Sent
    }

    /// Follows the file up to this offset.
    pub fn advance(
        &mut self,
        upto: u64,
        rebuilt: &BTreeMap<u64, &[Stretch]>,
        origins: &Origins,
    ) -> Result<(), ReadError> {
        let mut unsettled = 0;
        while self.at < upto {
            let failed = |source: io::Error| ReadError::io(&self.file.path, source);
            let Some(line) = self.lines.next_line().map_err(failed)? else {
                self.unknown = Some(self.why_moved(SHORTER));
                return Ok(());
            };
            self.at = line.end;
            self.is_redacted_since |= redact::has_blank(line.bytes);
            if self.is_watched {
                continue;
            }
            match split(line.bytes) {
                // Most items are in the file as requests have them.
                Some((RecordKind::ResponseItem, payload))
                    if self.transcript.record_ready_again(payload, &self.part, origins, line.start, &self.origin) =>
                {
                    unsettled += payload.len();
                    if let Some(view) = self.settles.filter(|_| unsettled >= SETTLE_BYTES)
                        && self.transcript.settle(view)
                    {
                        unsettled = 0;
                    }
                }
                Some((RecordKind::EventMsg, event)) if event.starts_with(EVENT) && !event.starts_with(ROLLED_BACK) => {}
                _ => {
                    if let LineReading::Record(record) = read_line(line.bytes) {
                        let rebuilt = rebuilt.get(&line.end).copied();
                        let kept = Kept { origins, at: line.start, otherwise: &self.origin };
                        if let Record::Compacted(compacted) = &record {
                            let messages = || self.transcript.messages_and_snapshots().collect();
                            self.restored_with = None;
                            self.summary = compacted.replacement_history.is_none().then(|| WrittenSummary {
                                messages: messages(),
                                text: compacted.message.clone(),
                                start: line.start,
                                end: line.end,
                            });
                        }
                        follow(&mut self.transcript, record, rebuilt, self.parts, kept, &mut self.unknown);
                    }
                }
            }
        }
        if self.at > upto {
            self.unknown = Some(self.why_moved("the session file has other lines than it had"));
        }
        Ok(())
    }

    /// Why lines are not where they were. Blanks are shorter or longer than what they stand for.
    fn why_moved(&self, otherwise: &str) -> String {
        if self.is_redacted() { super::BLANKED.to_owned() } else { otherwise.to_owned() }
    }

    /// Adds an item that the file does not have.
    pub fn note(&mut self, piece: &StoredPiece, at: u64, origins: &Origins) {
        match item(piece, self.parts) {
            Ok(item) => self.transcript.record_again(&item, origins, at, &self.origin),
            Err(why) => self.unknown = Some(why),
        }
    }

    /// Shows texts between items from here on.
    pub fn place(&mut self, placed: &PlacedEntry) {
        match places(placed, self.parts) {
            Ok(places) => self.transcript.place_again(places),
            Err(why) => self.unknown = Some(why),
        }
    }

    /// Shows other items from here on.
    pub fn show(&mut self, stretches: &[Stretch], at: u64, origins: &Origins) {
        let kept = Kept { origins, at, otherwise: &self.origin };
        let shown = if self.is_watched {
            put_watched(&mut self.transcript, stretches, self.parts, kept)
        } else {
            put(&mut self.transcript, stretches, self.parts, kept)
        };
        if let Err(why) = shown {
            self.unknown = Some(why);
        }
    }
}

/// Where the origins of an item at a place of the file are found.
#[derive(Clone, Copy)]
struct Kept<'k> {
    origins: &'k Origins,
    at: u64,
    otherwise: &'k Origin,
}

impl Kept<'_> {
    fn record(self, transcript: &mut Transcript, item: &Item) {
        transcript.record_again(item, self.origins, self.at, self.otherwise);
    }
}

/// Does what a session did when it wrote this line.
fn follow(
    transcript: &mut Transcript,
    record: Record,
    rebuilt: Option<&[Stretch]>,
    parts: &PartStore,
    kept: Kept<'_>,
    unknown: &mut Option<String>,
) {
    match record {
        Record::ResponseItem(item) => kept.record(transcript, &item),
        Record::TurnContext(turn) => {
            if let Some(policy) = turn.truncation_policy {
                transcript.set_truncation(policy);
            }
        }
        Record::Compacted(Compacted { replacement_history: Some(items), .. }) => replace(transcript, &items, kept),
        Record::Compacted(Compacted { replacement_history: None, .. }) => {
            let missing = || Err("what a summary made of the history is not in the files".to_owned());
            if let Err(why) = rebuilt.map_or_else(missing, |stretches| put(transcript, stretches, parts, kept)) {
                *unknown = Some(why);
            }
        }
        Record::EventMsg(EventMessage::ThreadRolledBack { num_turns }) => {
            transcript.roll_back(num_turns);
        }
        Record::SessionMeta(_) | Record::EventMsg(_) => {}
    }
}

fn replace(transcript: &mut Transcript, items: &[Item], kept: Kept<'_>) {
    transcript.clear();
    for item in items {
        kept.record(transcript, item);
    }
}

/// Puts what the record says in place of the history. Nothing is cut, because it was cut when it was recorded.
fn put(transcript: &mut Transcript, stretches: &[Stretch], parts: &PartStore, kept: Kept<'_>) -> Result<(), String> {
    let mut items: Vec<Item> = Vec::new();
    for stretch in stretches {
        match stretch {
            Stretch::Item(piece) => items.push(item(piece, parts)?),
            // Only what stays is parsed: most of a history leaves it with a summary.
            Stretch::Before { from, n } => {
                let range = usize::try_from(*from).ok().zip(usize::try_from(from.saturating_add(*n)).ok());
                let (from, to) = range.filter(|(_, to)| *to <= transcript.n_items()).ok_or(STRANGE)?;
                for n in from..to {
                    items.push(transcript.item(n).ok_or(STRANGE)?);
                }
            }
        }
    }
    let truncation = transcript.truncation();
    transcript.set_truncation(UNCUT);
    replace(transcript, &items, kept);
    transcript.set_truncation(truncation);
    Ok(())
}

/// Puts the items of a request that another program sent in place of those of the request before.
fn put_watched(
    transcript: &mut Transcript,
    stretches: &[Stretch],
    parts: &PartStore,
    kept: Kept<'_>,
) -> Result<(), String> {
    let n_before = transcript.n_items();
    let mut places = Vec::new();
    for stretch in stretches {
        match stretch {
            Stretch::Item(piece) => {
                let text = parts.text(piece).map_err(|error| error.to_string())?;
                places.push(WatchedPlace::New(Transcript::watched_item(&text, kept.origins, kept.at)));
            }
            Stretch::Before { from, n } => {
                let range = usize::try_from(*from).ok().zip(usize::try_from(from.saturating_add(*n)).ok());
                let (from, to) = range.filter(|(_, to)| *to <= n_before).ok_or(STRANGE)?;
                places.extend((from..to).map(WatchedPlace::Before));
            }
        }
    }
    transcript.show_watched(places);
    Ok(())
}

/// The texts between items that were kept.
pub(super) fn places(placed: &PlacedEntry, parts: &PartStore) -> Result<Vec<KeptPlace>, String> {
    let lists = parts.text(&placed.origins).ok().and_then(|text| origins::read(&text)).unwrap_or_default();
    let mut lists = lists.into_iter();
    let place = |text: &PlacedText| {
        let spans = lists.next().map(Into::into).unwrap_or_default();
        let before = usize::try_from(text.before).unwrap_or(usize::MAX);
        Ok(KeptPlace { before, item: item(&text.item, parts)?, spans })
    };
    placed.texts.iter().map(place).collect()
}

/// An item that was kept.
pub(super) fn item(piece: &StoredPiece, parts: &PartStore) -> Result<Item, String> {
    let text = parts.text(piece).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("an item of the record cannot be read: {error}"))
}

fn restored(
    file: &SessionFile,
    opened: &OpenedEntry,
    (ids, view): (ItemIds, Option<View>),
    parts: &PartStore,
    origins: &Origins,
) -> Result<Result<Transcript, PartError>, ReadError> {
    let texts = opened.summaries.as_ref().map(|summaries| summary_texts(summaries, parts)).transpose();
    let (prefix, context) = match texts {
        Ok(texts) => texts.unwrap_or_default(),
        Err(error) => return Ok(Err(error)),
    };
    let rules = RestoreOptions {
        ids,
        truncation: opened.truncation,
        view,
        summary_prefix: &prefix,
        context: &context,
        context_messages: &[],
        origins,
    };
    Ok(Ok(restore::restore(file, opened.at, &rules)?.transcript))
}

/// The text before summaries, and the items of the context.
fn summary_texts(summaries: &SummaryContext, parts: &PartStore) -> Result<(String, Vec<Item>), PartError> {
    let mut context = Vec::new();
    for piece in &summaries.context {
        context.extend(serde_json::from_str::<Item>(&parts.text(piece)?).ok());
    }
    Ok((parts.text(&summaries.prefix)?, context))
}

pub(super) fn forwards(file: &SessionFile, start: u64) -> Result<Forwards, ReadError> {
    let lines = pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, start, u64::MAX));
    lines.map_err(|error| ReadError::io(&file.path, error))
}

/// Whether secrets are blanked in the first bytes of a file.
fn has_blanks(file: &SessionFile, upto: u64) -> Result<bool, ReadError> {
    let failed = |source| ReadError::io(&file.path, source);
    let mut lines = pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, 0, upto)).map_err(failed)?;
    while let Some(line) = lines.next_line().map_err(failed)? {
        if redact::has_blank(line.bytes) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Requests that a session file speaks of and the record does not, neither by their places nor by their turns. Their
/// items can be rebuilt; what surrounded them is not known.
pub(super) fn unrecorded(
    file: &SessionFile,
    places: &BTreeSet<u64>,
    turns: &BTreeSet<&str>,
    survey: &FileSurvey,
) -> Result<Vec<(u64, ReplayedRequest)>, ReadError> {
    if !survey.has_other(places, turns) {
        return Ok(Vec::new());
    }
    let failed = |source| ReadError::io(&file.path, source);
    let mut lines = forwards(file, 0)?;
    let mut transcript = Transcript::new(ItemIds::Hidden, UNCUT);
    let mut unknown = None;
    let mut outcomes = Vec::new();
    let (origins, otherwise) = (Origins::default(), Origin::Model);
    while let Some(line) = lines.next_line().map_err(failed)? {
        let LineReading::Record(record) = read_line(line.bytes) else {
            continue;
        };
        let turn = match &record {
            Record::TurnContext(turn) if !places.contains(&line.end) => Some(turn.turn_id.clone().unwrap_or_default()),
            _ => None,
        };
        let kept = Kept { origins: &origins, at: line.start, otherwise: &otherwise };
        follow(&mut transcript, record, None, &PartStore::new("".as_ref()), kept, &mut unknown);
        if let Some(turn) = turn.filter(|turn| !turns.contains(turn.as_str())) {
            transcript.view(View::default());
            let (items, bytes) = (transcript.rendered().len(), transcript.shown_len());
            let why = unknown.take().unwrap_or_else(|| {
                format!(
                    "no record of it; the file gives {items} items of {bytes} bytes, but neither tools nor settings"
                )
            });
            let verdict = Verdict::NotProvable { why };
            outcomes.push((
                line.end,
                ReplayedRequest {
                    turn,
                    purpose: "answer",
                    bytes: None,
                    items: items as u64,
                    verdict,
                    cache_break: None,
                },
            ));
        }
    }
    Ok(outcomes)
}
