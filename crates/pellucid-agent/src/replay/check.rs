//! One request against its record.

use std::sync::Arc;

use pellucid_engine::compaction::Compaction;
use pellucid_engine::digest::Digest;
use pellucid_engine::digest::Items;
use pellucid_engine::digest::Ledger;
use pellucid_engine::digest::RequestDigest;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_store::requests::entry::Purpose;
use pellucid_store::requests::entry::RequestEntry;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::parts::PartStore;

use super::Difference;
use super::Verdict;
use super::history;
use super::history::History;
use super::history::UNCUT;

/// Checks requests that extend each other.
#[derive(Default)]
pub(super) struct Checker {
    ledger: Ledger,
    /// The digest of the last request that asked for an answer.
    last: Option<Digest>,
    /// The number of its bytes, if they are as many as were sent.
    last_bytes: Option<u64>,
}

impl Checker {
    /// Forgets the last request, which another process sent.
    pub fn forget_last(&mut self) {
        (self.last, self.last_bytes) = (None, None);
    }

    /// Forgets the items of earlier requests.
    pub fn forget_items(&mut self) {
        self.ledger = Ledger::default();
    }

    /// Compares a request with its record. The items of a request that does not ask for an answer are given too, if the
    /// request is as it was.
    pub fn check(
        &mut self,
        recorded: &RequestEntry,
        frame: &Frame,
        history: &mut History<'_>,
        parts: &PartStore,
    ) -> (Verdict, Option<Transcript>) {
        let (body, items) = match &recorded.purpose {
            Purpose::Answer => return (self.check_answer(recorded, frame, history), None),
            Purpose::AnswerAgain => (self.last, None),
            Purpose::Summary { .. } | Purpose::ProviderSummary | Purpose::MemorySummary { .. } | Purpose::Vectors => {
                match own_items(recorded, history, parts) {
                    Ok(mut items) => (Some(Digest::of_body(&frame.request(&mut items))), Some(items)),
                    Err(why) => return (Verdict::NotProvable { why }, None),
                }
            }
        };
        if body.is_some_and(|body| body.to_string() == recorded.body) {
            return (Verdict::Equal, items);
        }
        let (part, byte) = (frame.list().to_owned(), frame.head_bytes().len() as u64);
        let what = "the items come out differently".to_owned();
        (Verdict::Differs(Difference { part, item: None, byte, what }), None)
    }

    /// Compares lengths alone, for a record whose content is replaced by filler: those of the request, and those up to the
    /// end of every item that the record has a mark of.
    pub fn check_lengths(
        &mut self,
        recorded: &RequestEntry,
        frame: &Frame,
        history: &mut History<'_>,
        parts: &PartStore,
    ) -> Verdict {
        let (list, head) = (frame.list().to_owned(), frame.head_bytes().len() as u64);
        let differs = |byte: u64, item: Option<u64>, what: String| {
            Verdict::Differs(Difference { part: list.clone(), item, byte, what })
        };
        let (n_bytes, n_items, marks) = match &recorded.purpose {
            Purpose::AnswerAgain => {
                let n_bytes = self.last_bytes.unwrap_or_default();
                (n_bytes, recorded.items, Vec::new())
            }
            Purpose::Answer => {
                let transcript = &mut history.transcript;
                let request = frame.request(transcript);
                let items = if transcript.take_divergence().is_some() { Items::Changed } else { Items::Extended };
                let account = self.ledger.account(frame, &request, transcript.rendered(), items);
                self.last_bytes = Some(account.bytes as u64);
                let marks = account.marks.iter().map(|mark| (mark.n_items as u64, mark.end as u64)).collect();
                (account.bytes as u64, account.n_items as u64, marks)
            }
            Purpose::Summary { .. } | Purpose::ProviderSummary | Purpose::MemorySummary { .. } | Purpose::Vectors => {
                match own_items(recorded, history, parts) {
                    Ok(mut items) => (frame.request(&mut items).body().len() as u64, recorded.items, Vec::new()),
                    Err(why) => return Verdict::NotProvable { why },
                }
            }
        };
        for (known, made) in recorded.marks.iter().zip(&marks) {
            if (known.0, known.1) != *made {
                return differs(
                    known.1.min(made.1),
                    Some(known.0.saturating_sub(1)),
                    "an item has another length".to_owned(),
                );
            }
        }
        if n_items != recorded.items {
            return differs(head, None, format!("{} items were sent, {n_items} come out", recorded.items));
        }
        if n_bytes != recorded.bytes {
            return differs(head, None, format!("{} bytes were sent, {n_bytes} come out", recorded.bytes));
        }
        Verdict::EqualInLength
    }

    fn check_answer(&mut self, recorded: &RequestEntry, frame: &Frame, history: &mut History<'_>) -> Verdict {
        let transcript = &mut history.transcript;
        let request = frame.request(transcript);
        let items = if transcript.take_divergence().is_some() { Items::Changed } else { Items::Extended };
        let account = self.ledger.account(frame, &request, transcript.rendered(), items);
        self.last = Some(account.body);
        if account.body.to_string() == recorded.body {
            return Verdict::Equal;
        }
        Verdict::Differs(difference(recorded, &account, frame, history))
    }
}

/// The items of a request that does not ask for an answer.
pub(super) fn own_items(
    recorded: &RequestEntry,
    history: &History<'_>,
    parts: &PartStore,
) -> Result<Transcript, String> {
    let lists = |piece: &StoredPiece| parts.text(piece).ok().and_then(|text| origins::read(&text)).unwrap_or_default();
    let (prompt, dropped, shown, kept) = match &recorded.purpose {
        Purpose::Summary { prompt, dropped, shown, origins } => (prompt, dropped, shown, origins),
        Purpose::MemorySummary { items, origins } => {
            let mut transcript = Transcript::new(history.transcript.ids(), UNCUT);
            let spans = lists(origins).into_iter().map(Arc::from).chain(std::iter::repeat_with(Arc::default));
            for (piece, spans) in items.iter().zip(spans) {
                transcript.record_with(&history::item(piece, parts)?, &spans, &history.origin);
            }
            return Ok(transcript);
        }
        Purpose::Vectors => return Ok(Transcript::new(history.transcript.ids(), UNCUT)),
        Purpose::Answer | Purpose::AnswerAgain | Purpose::ProviderSummary => {
            let mut compaction = Compaction::asking(&history.transcript, Vec::new());
            compaction.shorten(usize::try_from(recorded.items).unwrap_or(usize::MAX));
            return Ok(compaction.items());
        }
    };
    let spans = kept.as_ref().map(lists).and_then(|lists| lists.into_iter().next()).unwrap_or_default();
    let prompt = fragments(&prompt_text(prompt, parts)?, &spans);
    if shown.is_none()
        && *dropped == 0
        && let Some(items) = Compaction::shared_with_prompt(&history.transcript, prompt.clone())
    {
        return Ok(items);
    }
    let mut compaction = match shown {
        None => Compaction::asking(&history.transcript, prompt),
        Some(shown) => {
            let shown: Vec<usize> = shown.iter().filter_map(|n| usize::try_from(*n).ok()).collect();
            Compaction::asking_of(&history.transcript, prompt, &shown)
        }
    };
    for _ in 0..*dropped {
        compaction.drop_oldest();
    }
    Ok(compaction.items_with_prompt())
}

/// A text with the origins of its bytes, as far as they fit.
fn fragments(text: &str, spans: &[Span]) -> Vec<Fragment> {
    let (mut rest, mut fragments) = (text, Vec::new());
    for span in spans.iter().filter(|span| span.origin != Origin::Wire) {
        let Some((own, behind)) = rest.split_at_checked(span.raw_len) else {
            break;
        };
        fragments.push(Fragment { origin: span.origin.clone(), text: own.to_owned() });
        rest = behind;
    }
    if !rest.is_empty() {
        fragments = vec![Fragment::layout(text)];
    }
    fragments
}

/// The first place where marks differ says where the requests part.
fn difference(recorded: &RequestEntry, rebuilt: &RequestDigest, frame: &Frame, history: &History<'_>) -> Difference {
    let first = rebuilt.marks.first();
    let mut item = first.map_or(0, |mark| mark.n_items.saturating_sub(1));
    let mut differs = false;
    for (known, mark) in recorded.marks.iter().zip(&rebuilt.marks) {
        let is_same = *known == (mark.n_items as u64, mark.end as u64, mark.beginning.short());
        if !is_same {
            differs = true;
            break;
        }
        item = mark.n_items;
    }
    let rows = history.transcript.rendered();
    // Where this item begins, so that the byte and the item name the same place.
    let byte = (frame.head_bytes().len() + rows.iter().take(item).map(Rendered::len).sum::<usize>()) as u64;
    let part = rows.get(item).and_then(|row| {
        let part = row.spans.iter().max_by_key(|span| span.len).map(|span| span.part.to_string())?;
        Some(row.role.as_ref().map_or_else(|| row.kind.to_owned(), |role| format!("{part} ({role} {})", row.kind)))
    });
    let (n_recorded, n_rebuilt) = (recorded.items, rebuilt.n_items as u64);
    let what = if n_recorded != n_rebuilt {
        format!("{n_recorded} items were sent, {n_rebuilt} come out")
    } else if recorded.bytes != rebuilt.bytes as u64 {
        format!("{} bytes were sent, {} come out", recorded.bytes, rebuilt.bytes)
    } else if differs {
        "as many bytes, but others".to_owned()
    } else {
        "an item that an earlier request has, too".to_owned()
    };
    let part = part.unwrap_or_else(|| frame.list().to_owned());
    Difference { part, item: Some(item as u64), byte, what }
}

fn prompt_text(prompt: &StoredPiece, parts: &PartStore) -> Result<String, String> {
    match history::item(prompt, parts)? {
        Item::Message { content, .. } => match content.into_iter().next() {
            Some(ContentPart::InputText { text }) => Ok(text),
            _ => Ok(String::new()),
        },
        _ => Err("the item that asked for the summary is not a message".to_owned()),
    }
}
