//! Compaction: a long history becomes the first context, what people said, and a summary.
//!
//! The model is asked for the summary with a copy of the history. When even that is too long for
//! it, the oldest item goes, with its partner, and the question is asked again. What is kept, in
//! which order, is worked out here; asking is the driver's.
//!
//! A layout or a setting may have the last turns stay as they are, keep standing instructions from
//! the summary (`region`), and want an account of the person's requests (`requests`). Where no model
//! gives a summary, one can be made by rule (`local`).
//!
//! Some providers summarise by themselves (`by_provider`). A layout may remove the oldest turns instead, with a
//! running summary in their place (`by_window`).
//!
//! Not here: when it happens (`turn`).

mod by_provider;
mod by_window;
mod error;
mod local;
mod region;
pub mod requests;

use std::collections::VecDeque;
use std::sync::Arc;

pub use by_window::DroppedTurns;
pub use by_window::Fit;
pub use error::CompactionError;
pub use local::local_summary;
pub use region::Region;
pub use region::is_standing;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use crate::assemble::Context;
use crate::boundary;
use crate::cut::middle::truncate_middle;
use crate::encode::Span;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::report::Report;
use crate::request::Frame;
use crate::request::Request;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::tokens::tokens_of_bytes;
use crate::transcript::Draft;
use crate::transcript::DraftPart;
use crate::transcript::ItemIds;
use crate::transcript::Transcript;
use crate::turn::SummarisedBy;

const PROMPT: &str = "compact/prompt.md";
const SUMMARY_PREFIX: &str = "compact/summary_prefix.md";
const REQUESTS: &str = "compact/requests.md";
const REQUEST_LIST: &str = "{{ requests }}";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (PROMPT, Shape::VERBATIM),
    (SUMMARY_PREFIX, Shape::VERBATIM),
    (REQUESTS, Shape::with(&[TemplatePlace::must(REQUEST_LIST)])),
    (local::LOCAL_SUMMARY, local::SHAPE),
];

/// How much of what people said is kept, in tokens.
pub const USER_TOKENS_MAX: usize = 20_000;

/// Outputs were cut when they were recorded; the copy cuts nothing.
const UNCUT: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };

/// The text in place of a missing summary.
const NO_SUMMARY: &str = "(no summary available)";

/// A compaction under way.
#[derive(Debug)]
pub struct Compaction {
    /// The copy that the model summarises, with the origins of its bytes.
    items: VecDeque<Copied>,
    ids: ItemIds,
    prompt: Draft,
    /// The note on a model switch that must come after the summary.
    set_aside: Option<Copied>,
    /// How many items were too many.
    n_dropped: usize,
    /// The places of the items in the history, if not all of them are summarised.
    shown: Option<Vec<usize>>,
    /// The items after the summarised part, which are kept unchanged.
    tail: Vec<Copied>,
    /// How many items of the history come before that; absent if nothing stays.
    n_head: Option<usize>,
    /// The texts of skills that were used in the summarised part and are kept, each skill once.
    skills: Vec<Copied>,
    /// The user's requests, if the summary has to account for them.
    requests: Option<Vec<requests::UserRequest>>,
    /// The plan of the window strategy, if the layout uses that strategy.
    by_window: Option<by_window::ByWindow>,
}

/// An item of the history, with the origins of its bytes.
#[derive(Debug, Clone)]
struct Copied {
    item: Item,
    spans: Arc<[Span]>,
}

fn copies(transcript: &Transcript) -> impl Iterator<Item = Copied> {
    transcript.items_with_origins().map(|(item, spans)| Copied { item, spans })
}

/// The result of dropping the oldest item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// An item was dropped, so less is summarised now.
    Some,
    /// No item is left that could be dropped.
    Nothing,
}

impl Compaction {
    /// Begins with a copy of the history. `prompt` is the user's own wording, if there is one.
    pub fn new(transcript: &Transcript, pack: &Pack, prompt: Option<Fragment>) -> Self {
        Self::asking(transcript, prompt.map_or_else(|| pack.template(PROMPT).text(), |prompt| vec![prompt]))
    }

    /// Begins with a copy of the history, and asks in these words.
    pub fn asking(transcript: &Transcript, prompt: Vec<Fragment>) -> Self {
        let mut items: VecDeque<Copied> = copies(transcript).collect();
        let set_aside = take_model_switch(&mut items);
        let prompt = Draft::text("compact_prompt", "user", prompt);
        Self::with(items, transcript.ids(), prompt, set_aside)
    }

    /// The items of the request for a summary of the whole history in these words. The bytes of the history are shared and
    /// not copied. Absent if a note on a model switch has to be left out, which takes a copy.
    pub fn shared_with_prompt(transcript: &Transcript, prompt: Vec<Fragment>) -> Option<Transcript> {
        let messages: Vec<Item> = transcript.messages().collect();
        if model_switch(messages.iter()).is_some() {
            return None;
        }
        let mut items = transcript.clone();
        items.record_draft(&Draft::text("compact_prompt", "user", prompt));
        Some(items)
    }

    /// Begins with some items of the history, by their places, and asks in these words.
    pub fn asking_of(transcript: &Transcript, prompt: Vec<Fragment>, shown: &[usize]) -> Self {
        let all: Vec<Copied> = copies(transcript).collect();
        let items = shown.iter().filter_map(|n| all.get(*n).cloned()).collect();
        let set_aside = model_switch(all.iter().map(|it| &it.item)).and_then(|at| all.get(at).cloned());
        let prompt = Draft::text("compact_prompt", "user", prompt);
        Self { shown: Some(shown.to_vec()), ..Self::with(items, transcript.ids(), prompt, set_aside) }
    }

    /// Begins with a part of the history.
    pub fn of_region(transcript: &Transcript, pack: &Pack, prompt: Option<Fragment>, region: &Region<'_>) -> Self {
        let prompt = prompt.map_or_else(|| pack.template(PROMPT).text(), |prompt| vec![prompt]);
        let copies: Vec<Copied> = copies(transcript).collect();
        let all: Vec<Item> = copies.iter().map(|it| it.item.clone()).collect();
        let n_head = region.n_head(&all, &format!("{}\n", summary_prefix(pack)));
        let switch = model_switch(all.iter());
        let is_shown = |n: &usize| Some(*n) != switch && region.shows(&all[*n]);
        let shown: Vec<usize> = (0..n_head).filter(is_shown).collect();
        let mut this = Self::asking_of(transcript, prompt, &shown);
        let stays = |(n, it): &(usize, Copied)| {
            Some(*n) != switch && !region.is_pinned(&it.item) && !matches!(it.item, Item::GhostSnapshot { .. })
        };
        this.tail = copies.into_iter().enumerate().skip(n_head).filter(stays).map(|(_, it)| it).collect();
        this.n_head = (region.keep_turns > 0).then_some(n_head);
        this
    }

    /// The same, with the texts of used skills behind the summary. Of a skill that was used several times, the last text
    /// stays.
    #[must_use]
    pub fn keeping_skills(mut self, transcript: &Transcript) -> Self {
        let n_head = self.n_head.unwrap_or(usize::MAX);
        let is_in_tail = |path: &str| self.tail.iter().any(|it| skill_path(&it.item) == Some(path));
        let mut kept: Vec<Copied> = Vec::new();
        for copied in copies(transcript).take(n_head) {
            let Some(path) = skill_path(&copied.item) else { continue };
            kept.retain(|it| skill_path(&it.item) != Some(path));
            if !is_in_tail(path) {
                kept.push(copied);
            }
        }
        self.skills = kept;
        self
    }

    /// The same, with a summary that has to account for what the person asked for.
    #[must_use]
    pub fn accounting(mut self, transcript: &Transcript, pack: &Pack) -> Self {
        let mut all: Vec<Item> = transcript.items().collect();
        all.truncate(self.n_head.unwrap_or(all.len()));
        let asked = requests::requests(&all, &format!("{}\n", summary_prefix(pack)));
        if !asked.is_empty() {
            let list = vec![Fragment::fact("history", requests::block(&asked))];
            let words = pack.template(REQUESTS).render(&[(REQUEST_LIST, list)]);
            if let Some(DraftPart::Text(prompt)) = self.prompt.parts.first_mut() {
                prompt.extend(words);
            }
        }
        self.requests = Some(asked);
        self
    }

    fn with(items: VecDeque<Copied>, ids: ItemIds, prompt: Draft, set_aside: Option<Copied>) -> Self {
        Self {
            items,
            ids,
            prompt,
            set_aside,
            n_dropped: 0,
            shown: None,
            tail: Vec::new(),
            n_head: None,
            skills: Vec::new(),
            requests: None,
            by_window: None,
        }
    }

    /// The places of the items in the history, if not all of them are summarised.
    pub fn shown(&self) -> Option<&[usize]> {
        self.shown.as_deref()
    }

    /// Whether items of the history are kept unchanged: the last turns, or texts of skills.
    pub fn keeps_items(&self) -> bool {
        self.n_head.is_some() || !self.skills.is_empty()
    }

    /// Why the summary among these items is refused, if it is.
    pub fn refusal(&self, reply: &[Item]) -> Option<CompactionError> {
        if !local::has_answer(reply) {
            return Some(CompactionError::Empty);
        }
        let missing = requests::missing(&last_answer(reply)?, self.requests.as_deref()?);
        (!missing.is_empty()).then_some(CompactionError::Refused { missing })
    }

    /// The request for the summary.
    pub fn request(&self, frame: &Frame) -> Request {
        frame.request(&mut self.items_with_prompt())
    }

    /// The items of that request.
    pub fn items_with_prompt(&self) -> Transcript {
        let mut copy = Transcript::new(self.ids, UNCUT);
        // The question of the window strategy has the history in it.
        for copied in self.items.iter().filter(|_| self.by_window.is_none()) {
            copy.record_with(&copied.item, &copied.spans, &Origin::Model);
        }
        copy.record_draft(&self.prompt);
        copy
    }

    /// The request for the summary from the model, or to the provider's endpoint, with what it is made of.
    pub fn reported(&self, by: SummarisedBy, frame: &Frame) -> (Request, Report) {
        let mut copy = match by {
            SummarisedBy::Model => self.items_with_prompt(),
            SummarisedBy::Provider => self.items(),
        };
        let request = frame.request(&mut copy);
        let omissions = frame.omissions().iter().chain(copy.omissions()).cloned().collect();
        let report = Report::new(frame, copy.rendered(), omissions, Vec::new());
        (request, report)
    }

    /// Makes the copy shorter by its oldest item and what belongs to it.
    pub fn drop_oldest(&mut self) -> Dropped {
        let Some(oldest) = self.items.pop_front() else {
            return Dropped::Nothing;
        };
        if let Some(partner) = self.items.iter().position(|it| are_partners(&oldest.item, &it.item)) {
            self.items.remove(partner);
        }
        self.n_dropped += 1;
        Dropped::Some
    }

    /// Makes the copy half as long, from its oldest item on.
    pub fn drop_half(&mut self) -> Dropped {
        let left = self.items.len() / 2;
        let mut dropped = Dropped::Nothing;
        while self.items.len() > left && self.drop_oldest() == Dropped::Some {
            dropped = Dropped::Some;
        }
        dropped
    }

    /// The words that ask for the summary.
    pub fn prompt(&self) -> Item {
        self.prompt.item()
    }

    /// The origins of the bytes of the prompt for the summary.
    pub fn prompt_spans(&self) -> Vec<Span> {
        self.prompt.encode().spans
    }

    /// How many items had to go before the question fitted.
    pub fn n_dropped(&self) -> usize {
        self.n_dropped
    }

    /// Puts the new history in place of the old one, and gives the summary's whole text.
    pub fn rebuild(self, transcript: &mut Transcript, pack: &Pack, context: Context) -> String {
        let items: Vec<Item> = transcript.items().collect();
        let prefix = pack.template(SUMMARY_PREFIX).text();
        let prefix_text = concat(&prefix);
        let head = &items[..self.n_head.unwrap_or(items.len()).min(items.len())];
        let said = kept_messages(head, &format!("{prefix_text}\n"));
        let mut summary = last_answer(&items).unwrap_or_default();
        if let Some(asked) = &self.requests {
            summary = requests::accounted(&summary, asked);
        }
        let text = format!("{prefix_text}\n{summary}");
        transcript.clear();
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        for text in said {
            transcript.record_draft(&Draft::text("user", "user", vec![Fragment { origin: Origin::User, text }]));
        }
        let mut fragments = prefix;
        fragments.push(Fragment::layout("\n"));
        fragments.push(Fragment { origin: Origin::Model, text: summary });
        if text.is_empty() {
            fragments = vec![Fragment::layout(NO_SUMMARY)];
        }
        transcript.record_draft(&Draft::text("summary", "user", fragments));
        // Kept items were cut when they were recorded, and are not cut again.
        let truncation = transcript.truncation();
        transcript.set_truncation(UNCUT);
        for copied in self.skills.iter().chain(&self.tail).chain(&self.set_aside) {
            transcript.record_with(&copied.item, &copied.spans, &Origin::Model);
        }
        transcript.set_truncation(truncation);
        for item in items.iter().filter(|item| matches!(item, Item::GhostSnapshot { .. })) {
            transcript.record(item, &Origin::Layout);
        }
        text
    }
}

/// The path of the skill whose text a message is.
fn skill_path(item: &Item) -> Option<&str> {
    let Item::Message { role, content, .. } = item else { return None };
    let [ContentPart::InputText { text }] = &content[..] else { return None };
    let head = text.strip_prefix("<skill>\n<name>").filter(|_| role == "user")?;
    let (_, path) = head.split_once("</name>\n<path>")?;
    Some(path.split_once("</path>\n")?.0)
}

/// The prefix of summaries; messages that begin with it were not written by the user.
pub fn summary_prefix(pack: &Pack) -> String {
    concat(&pack.template(SUMMARY_PREFIX).text())
}

/// The history after a recorded summary: the current context, the user's messages before it, and the summary.
pub fn restored(items: &[Item], summary_prefix: &str, context: &[Item], summary: &str) -> Vec<Item> {
    let said = kept_messages(items, &format!("{summary_prefix}\n"));
    let summary = if summary.is_empty() { NO_SUMMARY } else { summary };
    let said = said.into_iter().map(|text| Item::text("user", text));
    let snapshots = items.iter().filter(|item| matches!(item, Item::GhostSnapshot { .. }));
    context.iter().cloned().chain(said).chain([Item::text("user", summary)]).chain(snapshots.cloned()).collect()
}

/// How many tokens of what people said before a summary could be kept with it, once that many
/// were said after another summary. Nothing before that one matters any more.
pub fn kept_tokens(item: &Item, summary_prefix: &str) -> usize {
    let said = boundary::said_by_person(item).filter(|text| !text.starts_with(&format!("{summary_prefix}\n")));
    said.map_or(0, |text| tokens_of_bytes(text.len()))
}

/// Takes the last note on a model switch away, if no message of a person follows it.
fn take_model_switch(items: &mut VecDeque<Copied>) -> Option<Copied> {
    let at = model_switch(items.iter().map(|it| &it.item))?;
    items.remove(at)
}

/// The index of the last note on a model switch, if no message of the user follows it.
fn model_switch<'i>(items: impl Iterator<Item = &'i Item>) -> Option<usize> {
    let items: Vec<&Item> = items.collect();
    let last_turn = items.iter().rposition(|item| boundary::begins_user_turn(item)).map_or(0, |at| at + 1);
    let is_switch = |item: &Item| match item {
        Item::Message { role, content, .. } => {
            role == "developer"
                && matches!(content.first(), Some(ContentPart::InputText { text }) if text.starts_with("<model_switch>"))
        }
        _ => false,
    };
    let at = items[last_turn..].iter().rposition(|item| is_switch(item))?;
    Some(last_turn + at)
}

fn are_partners(a: &Item, b: &Item) -> bool {
    let id = |item: &Item| match item {
        Item::FunctionCall { call_id, .. } => Some((false, true, call_id.clone())),
        Item::LocalShellCall { call_id: Some(call_id), .. } => Some((false, true, call_id.clone())),
        Item::FunctionCallOutput { call_id, .. } => Some((false, false, call_id.clone())),
        Item::CustomToolCall { call_id, .. } => Some((true, true, call_id.clone())),
        Item::CustomToolCallOutput { call_id, .. } => Some((true, false, call_id.clone())),
        _ => None,
    };
    match (id(a), id(b)) {
        (Some((custom_a, call_a, id_a)), Some((custom_b, call_b, id_b))) => {
            custom_a == custom_b && call_a != call_b && id_a == id_b
        }
        _ => false,
    }
}

/// The user's messages, the newest as far as they fit, in their original order.
fn kept_messages(items: &[Item], summary_start: &str) -> Vec<String> {
    let said = items.iter().filter_map(boundary::said_by_person).filter(|text| !text.starts_with(summary_start));
    let said: Vec<String> = said.collect();
    let mut left = USER_TOKENS_MAX;
    let mut kept = Vec::new();
    for text in said.into_iter().rev() {
        if left == 0 {
            break;
        }
        let cost = tokens_of_bytes(text.len());
        if cost <= left {
            left -= cost;
            kept.push(text);
        } else {
            let limit = i64::try_from(left).unwrap_or(i64::MAX);
            kept.push(truncate_middle(&text, TruncationPolicy { mode: TruncationMode::Tokens, limit }));
            break;
        }
    }
    kept.reverse();
    kept
}

/// The last text of the last answer anywhere.
fn last_answer(items: &[Item]) -> Option<String> {
    items.iter().rev().find_map(|item| match item {
        Item::Message { role, content, .. } if role == "assistant" => {
            let texts = content.iter().rev().find_map(|part| match part {
                ContentPart::OutputText { text } => Some(text.clone()),
                ContentPart::InputText { .. } | ContentPart::InputImage { .. } => None,
            });
            Some(texts.unwrap_or_default())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;
