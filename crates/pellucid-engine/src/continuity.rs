//! Whether a request extends the one before it, as the model reads them.
//!
//! Providers bill text that a model has read before at a lower price, as long as everything is the same from the
//! first part that the model reads. That part is not at the first byte: tools may follow the conversation in the body
//! and be read before it. So two requests are compared part by part in the order of reading, and every part that was
//! added, removed, changed or moved is named. How far the bytes agree is a second figure.
//!
//! Not here: what parts there are (`reading`), and what the provider then says (`cache_verdict`).

mod changes;

use std::sync::Arc;

use pellucid_protocol::cache::CacheChange;
use pellucid_protocol::cache::CacheChangeKind;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::provider::ReadSection;
use serde_json::Value;
use serde_json::json;

use self::changes::Difference;
use crate::digest::agreeing;
use crate::fragment::Origin;
use crate::reading::ReadPart;
use crate::reading::Reading;
use crate::request::Frame;
use crate::request::Request;
use crate::tokens::tokens_of_bytes;
use crate::tool_list::MCP_SERVERS;
use crate::transcript::Divergence;
use crate::transcript::Rendered;

/// How a request continues the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuity {
    /// How many bytes are those of the request before, in the order of reading.
    pub kept_bytes: usize,
    /// How many bytes of that request the model read.
    pub previous_bytes: usize,
    /// How many bytes from the start of the body are those of the request before, in the order of the body.
    pub extends_bytes: usize,
    /// The byte of the body at which the first item begins that the request before does not have.
    pub items_end: usize,
    /// Whether turns were taken back, and everything that they left is kept.
    pub is_shortened: bool,
    /// The first difference; absent if the request extends the one before.
    pub broken: Option<Break>,
    /// Every part that was added, removed, changed or moved, whether the model reads it or not.
    pub changes: Vec<CacheChange>,
}

impl Continuity {
    /// Where the request differs from the one before, as events and the record have it; absent if it extends that one.
    pub fn cache_break(&self) -> Option<CacheBreak> {
        let broken = self.broken.as_ref()?;
        Some(CacheBreak {
            first_byte: broken.first_byte,
            part: broken.part.to_string(),
            tokens_rebilled: broken.tokens_rebilled,
            span: (broken.first_byte, broken.first_byte + broken.part_bytes),
            source: broken.source.clone(),
            cause: broken.cause.as_str().to_owned(),
            changes: self.changes.clone(),
        })
    }

    /// The comparison as reports have it in JSON.
    pub fn to_json(&self) -> Value {
        let broken = self.broken.as_ref().map(|broken| {
            json!({
                "first_byte": broken.first_byte,
                "part": broken.part,
                "source": broken.source,
                "tokens_rebilled": broken.tokens_rebilled,
                "cause": broken.cause.as_str(),
            })
        });
        json!({
            "kept_bytes": self.kept_bytes,
            "previous_bytes": self.previous_bytes,
            "extends_bytes": self.extends_bytes,
            "shortened": self.is_shortened,
            "broken": broken,
            "changes": self.changes,
        })
    }
}

/// The first difference between a request and the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The byte of the body that the difference begins at.
    pub first_byte: usize,
    /// How many bytes the part has in this body; none if it was removed.
    pub part_bytes: usize,
    /// The first part that differs, by its own name.
    pub part: Arc<str>,
    /// The origin of that part; empty if it is not known.
    pub source: String,
    /// The tokens that are paid for again, estimated.
    pub tokens_rebilled: usize,
    /// The cause of the difference.
    pub cause: Cause,
}

/// Why a request differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A summary took the place of the history.
    Compaction,
    /// Turns were removed, and the rest of the history changed with them.
    RollBack,
    /// Another choice of memories was recalled.
    Memory,
    /// A text with a place within the conversation moved or changed.
    PlacedText,
    /// Another model is asked.
    Model,
    /// The instructions are others.
    Instructions,
    /// The tools are others.
    Tools,
    /// The schema of the answer is another.
    Schema,
    /// Settings changed that the model reads.
    Settings,
    /// Items come out differently.
    Items,
}

impl Cause {
    /// The word for the cause in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::RollBack => "roll_back",
            Self::Memory => "memory",
            Self::PlacedText => "placed_text",
            Self::Model => "model",
            Self::Instructions => "instructions",
            Self::Tools => "tools",
            Self::Schema => "schema",
            Self::Settings => "settings",
            Self::Items => "items",
        }
    }

    /// Whether the difference follows from something that a person or the program did on purpose: a summary, turns taken
    /// back, another model, other settings or tools.
    pub fn is_expected(self) -> bool {
        match self {
            Self::Compaction | Self::RollBack | Self::Model | Self::Tools | Self::Settings => true,
            Self::Memory | Self::PlacedText | Self::Instructions | Self::Schema | Self::Items => false,
        }
    }

    /// The section of the request that the first difference is in; absent for another model, which reads the whole request.
    pub fn section(self) -> Option<ReadSection> {
        match self {
            Self::Model => None,
            Self::Tools => Some(ReadSection::Tools),
            Self::Instructions => Some(ReadSection::Instructions),
            Self::Schema => Some(ReadSection::Schema),
            Self::Settings => Some(ReadSection::Settings),
            Self::Compaction | Self::RollBack | Self::Memory | Self::PlacedText | Self::Items => {
                Some(ReadSection::Items)
            }
        }
    }

    fn of(section: ReadSection) -> Self {
        match section {
            ReadSection::Schema => Self::Schema,
            ReadSection::Tools => Self::Tools,
            ReadSection::Instructions => Self::Instructions,
            ReadSection::Items => Self::Items,
            ReadSection::Settings => Self::Settings,
        }
    }
}

/// The request that follows.
#[derive(Debug, Clone, Copy)]
pub struct NextRequest<'a> {
    /// The bytes around the items.
    pub frame: &'a Frame,
    /// The request as bytes.
    pub request: &'a Request,
    /// The items between head and tail of the frame.
    pub items: &'a [Rendered],
    /// The order in which the model reads.
    pub order: &'a [ReadSection],
    /// How many bytes of its items a roll-back left, if there was one.
    pub left: Option<usize>,
    /// The change of the history since the request before, if there was one.
    pub cause: Option<Cause>,
    /// The slot whose text within the conversation moved or changed since the request before, if there is one.
    pub moved: Option<&'a str>,
}

/// A request of another process, as its record describes it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The bytes around the items.
    pub frame: Frame,
    /// Digests of its beginnings up to items: how many items, their end, and the digest, in order.
    pub marks: Vec<(usize, usize, String)>,
}

impl Recorded {
    /// Compares the next request with this one; absent if the record has no request that can be read.
    pub fn continued_by(&self, next: &NextRequest<'_>) -> Option<Continuity> {
        let head = self.frame.head_bytes();
        let (n_before, before) = self.marks.last().map_or((0, head.len()), |(n_items, end, _)| (*n_items, *end));
        // The digests are of this request's head with its items; the next request may have another head.
        let mut segments = vec![head.clone()];
        segments.extend(next.request.segments.iter().skip(1).cloned());
        let marks = self.marks.iter().map(|(_, end, mark)| (*end, mark.as_str()));
        let same = agreeing(&Request { segments }, marks).saturating_sub(head.len());
        let items = Items { before: before.saturating_sub(head.len()), n_before, same };
        continuity(&self.frame, next, items)
    }
}

/// A sent request, as far as a comparison with the next one needs it.
#[derive(Debug, Clone)]
pub struct SentRequest {
    frame: Frame,
    items_len: usize,
    n_items: usize,
}

impl SentRequest {
    /// Stores a request for the comparison.
    pub fn new(frame: &Frame, items_len: usize, n_items: usize) -> Self {
        Self { frame: frame.clone(), items_len, n_items }
    }

    /// The same request around another frame of equal bytes.
    #[must_use]
    pub fn with_frame(self, frame: &Frame) -> Self {
        Self { frame: frame.clone(), ..self }
    }

    /// The number of bytes of the items.
    pub(crate) fn items_len(&self) -> usize {
        self.items_len
    }

    /// The number of items of the request.
    pub(crate) fn n_items(&self) -> usize {
        self.n_items
    }

    /// Whether nothing changed but what follows the items.
    pub(crate) fn is_begun_by(&self, frame: &Frame, continuity: &Continuity) -> bool {
        self.frame.is_same(frame) && continuity.extends_bytes == frame.head_bytes().len() + self.items_len
    }

    /// Compares the next request with this one; absent if one of them cannot be read.
    pub fn continued_by(&self, next: &NextRequest<'_>, divergence: Option<Divergence>) -> Option<Continuity> {
        let same = divergence.map_or(self.items_len, |divergence| divergence.kept);
        let items = Items { before: self.items_len, n_before: self.n_items, same };
        continuity(&self.frame, next, items)
    }
}

/// How the items of two requests begin.
#[derive(Debug, Clone, Copy)]
struct Items {
    /// How many bytes those of the request before have.
    before: usize,
    n_before: usize,
    /// How many bytes are the same.
    same: usize,
}

/// The first difference between two requests in the order of reading.
struct Found {
    kept_bytes: usize,
    cause: Cause,
    difference: Difference,
}

fn continuity(before: &Frame, next: &NextRequest<'_>, items: Items) -> Option<Continuity> {
    let frame = next.frame;
    let (old, new) = (before.reading()?, frame.reading()?);
    let head_len = frame.head_bytes().len();
    let extends_bytes = if before.head_bytes() == frame.head_bytes() {
        head_len + items.same
    } else {
        common(before.head_bytes(), frame.head_bytes())
    };
    let len = |part: &ReadPart| part.text.len();
    let section_len = |section: &ReadSection| match section {
        ReadSection::Items => items.before,
        section => old.parts(*section).map(len).sum(),
    };
    let previous_bytes: usize = next.order.iter().map(section_len).sum();
    let differs = items.same < items.before;
    let (n_kept, kept) = if differs { whole_items(next.items, items.same) } else { (items.n_before, items.before) };
    let is_left = next.left.is_some_and(|left| items.same >= left);
    let item = differs.then_some((n_kept, kept));
    let comparison = Comparison { before, old, new, next, item, items_kept: kept };
    let found = if before.is_same(frame) && (!differs || is_left) {
        None
    } else {
        comparison.first(if is_left { None } else { comparison.item })
    };
    let is_shortened = found.is_none() && differs;
    let kept_bytes = match &found {
        Some(found) => found.kept_bytes,
        None => previous_bytes - if next.order.contains(&ReadSection::Items) { items.before - kept } else { 0 },
    };
    let changes = if before.is_same(frame) && !differs { Vec::new() } else { comparison.changes(items.n_before) };
    let broken = found.map(|found| comparison.broken(found, previous_bytes));
    let items_end = head_len + kept;
    Some(Continuity { kept_bytes, previous_bytes, extends_bytes, items_end, is_shortened, broken, changes })
}

/// Two requests side by side.
struct Comparison<'a> {
    before: &'a Frame,
    old: &'a Reading,
    new: &'a Reading,
    next: &'a NextRequest<'a>,
    /// The first item that differs, and its first byte, from the first byte of the items.
    item: Option<(usize, usize)>,
    /// How many bytes of the items are kept, in whole items.
    items_kept: usize,
}

impl Comparison<'_> {
    /// The first difference that the model reads.
    fn first(&self, item: Option<(usize, usize)>) -> Option<Found> {
        if let (Some(old), Some(new)) = (&self.old.model, &self.new.model)
            && !old.is(new)
        {
            let difference = Difference::of_model(old, new);
            return Some(Found { kept_bytes: 0, cause: Cause::Model, difference });
        }
        let mut kept_bytes = 0;
        for section in self.next.order {
            if *section == ReadSection::Items {
                if let Some((n, at)) = item {
                    let otherwise = self.next.moved.map_or(Cause::Items, |_| Cause::PlacedText);
                    let cause = self.next.cause.unwrap_or(otherwise);
                    let difference = Difference::of_item(n, at);
                    return Some(Found { kept_bytes: kept_bytes + at, cause, difference });
                }
                kept_bytes += self.items_kept;
                continue;
            }
            let (old, new) = (self.parts(self.old, *section), self.parts(self.new, *section));
            let n_same = old.iter().zip(&new).take_while(|(old, new)| old.is(new)).count();
            kept_bytes += old[..n_same].iter().map(|part| part.text.len()).sum::<usize>();
            if n_same < old.len().max(new.len()) {
                let difference = Difference::of_parts(&old, &new, n_same, |change| self.is_servers(change));
                return Some(Found { kept_bytes, cause: Cause::of(*section), difference });
            }
        }
        None
    }

    fn parts<'b>(&self, reading: &'b Reading, section: ReadSection) -> Vec<&'b ReadPart> {
        reading.parts(section).collect()
    }

    fn broken(&self, found: Found, previous_bytes: usize) -> Break {
        let NextRequest { frame, request, items, .. } = self.next;
        let tail_len = frame.tail_len();
        let tokens_rebilled = tokens_of_bytes(previous_bytes - found.kept_bytes);
        let cause = found.cause;
        let (first_byte, part_bytes, part, source) = match found.difference {
            Difference::Item { n, at } => {
                let row = items.get(n);
                let lead = row.map_or(0, |row| row.lead);
                let moved = self.next.moved.filter(|_| cause == Cause::PlacedText);
                let main = row.and_then(main_span).filter(|_| moved.is_none());
                let part = main.map_or_else(|| moved.unwrap_or(frame.list()).into(), |span| span.part.clone());
                let source = main.map_or_else(String::new, |span| source(&span.origin));
                (frame.head_bytes().len() + at + lead, row.map_or(0, |row| row.len() - lead), part, source)
            }
            Difference::Part { kind, name, old, new, place, n_bytes } => {
                let first_byte = place.map_or(0, |place| place.in_body(request.len(), tail_len));
                let source = self.source(kind, old.as_ref(), new.as_ref());
                (first_byte, n_bytes, name, source)
            }
        };
        Break { first_byte, part_bytes, part, source, tokens_rebilled, cause }
    }

    /// Whether what came or went is a tool of an MCP server.
    fn is_servers(&self, (_, old, new): &changes::Change<'_>) -> bool {
        let (frame, part) = match (old, new) {
            (_, Some(new)) => (self.next.frame, *new),
            (Some(old), None) => (self.before, *old),
            (None, None) => return false,
        };
        let mut origins = frame.origins(part.place, part.text.len());
        origins.any(|(origin, _)| matches!(origin, Origin::Provided { place } if place.starts_with(MCP_SERVERS)))
    }

    /// Every part that changed.
    fn changes(&self, n_before: usize) -> Vec<CacheChange> {
        let mut changes = Vec::new();
        if let (Some(old), Some(new)) = (&self.old.model, &self.new.model)
            && !old.is(new)
        {
            let source = self.source(CacheChangeKind::Changed, Some(old), Some(new));
            changes.push(CacheChange {
                how: CacheChangeKind::Changed,
                part: "model".to_owned(),
                source,
                is_read: true,
            });
        }
        let unread = ReadSection::ALL.iter().filter(|section| !self.next.order.contains(section));
        for section in self.next.order.iter().chain(unread) {
            let is_read = self.next.order.contains(section);
            if *section == ReadSection::Items {
                changes.extend(self.item_change(n_before, is_read));
                continue;
            }
            let (old, new) = (self.parts(self.old, *section), self.parts(self.new, *section));
            for (how, old, new) in changes::between(&old, &new) {
                let part = new.or(old).map_or_else(String::new, |part| part.name.to_string());
                changes.push(CacheChange { how, part, source: self.source(how, old, new), is_read });
            }
        }
        changes
    }

    /// The change of the first item that differs.
    fn item_change(&self, n_before: usize, is_read: bool) -> Option<CacheChange> {
        let (n, _) = self.item.filter(|(n, _)| *n < n_before)?;
        let row = self.next.items.get(n).filter(|_| self.next.left.is_none());
        let how = if row.is_some() { CacheChangeKind::Changed } else { CacheChangeKind::Removed };
        let source = row.and_then(main_span).map_or_else(String::new, |span| source(&span.origin));
        Some(CacheChange { how, part: format!("{}/{n}", self.next.frame.list()), source, is_read })
    }

    /// The origin of a part: its current one, or the former one if the part is gone.
    fn source(&self, how: CacheChangeKind, old: Option<&ReadPart>, new: Option<&ReadPart>) -> String {
        match (how, old, new) {
            (CacheChangeKind::Changed, Some(old), Some(new)) => {
                let byte = new.place.after(common(&old.text, &new.text).min(new.text.len().saturating_sub(1)));
                let origin = self.next.frame.origin_at(byte).filter(|origin| is_known(origin));
                origin.map_or_else(|| source_in(self.next.frame, new), source)
            }
            (_, _, Some(new)) => source_in(self.next.frame, new),
            (_, Some(old), None) => source_in(self.before, old),
            (_, None, None) => String::new(),
        }
    }
}

/// How many items end within so many bytes, and where the last of them does.
fn whole_items(items: &[Rendered], n_bytes: usize) -> (usize, usize) {
    let mut end = 0;
    for (n, item) in items.iter().enumerate() {
        if end + item.len() > n_bytes {
            return (n, end);
        }
        end += item.len();
    }
    (items.len(), end)
}

/// How many bytes both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The origin of most of a part.
fn source_in(frame: &Frame, part: &ReadPart) -> String {
    let known = frame.origins(part.place, part.text.len()).filter(|(origin, _)| is_known(origin));
    known.max_by_key(|(_, n_bytes)| *n_bytes).map_or_else(String::new, |(origin, _)| source(origin))
}

/// The run of bytes that says most of an item.
fn main_span(item: &Rendered) -> Option<&crate::encode::Span> {
    item.spans.iter().filter(|span| is_known(&span.origin)).max_by_key(|span| span.len).or(item.spans.first())
}

/// Whether an origin says more than that something was put around a text, or written down.
fn is_known(origin: &Origin) -> bool {
    !matches!(origin, Origin::Wire | Origin::Layout | Origin::Recorded { .. } | Origin::Unknown)
}

fn source(origin: &Origin) -> String {
    format!("{} {}", origin.kind(), origin.detail()).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
