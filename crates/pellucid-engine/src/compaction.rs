//! Compaction: a long history becomes the first context, what people said, and a summary.
//!
//! The model is asked for the summary with a copy of the history. When even that is too long for
//! it, the oldest item goes, with its partner, and the question is asked again. What is kept, in
//! which order, is worked out here; asking is the driver's.
//!
//! Some providers summarise by themselves (`by_provider`). A layout may have the oldest turns go instead, with a
//! running summary in their place (`by_window`).
//!
//! Not here: when it happens (`turn`).

mod by_provider;
mod by_window;

use std::collections::VecDeque;

pub use by_window::Fit;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use crate::assemble::Context;
use crate::boundary;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::request::Frame;
use crate::request::Request;
use crate::template::Shape;
use crate::transcript::Draft;
use crate::transcript::ItemIds;
use crate::transcript::Transcript;
use crate::truncate::tokens_of_bytes;
use crate::truncate::truncate_middle;

const PROMPT: &str = "compact/prompt.md";
const SUMMARY_PREFIX: &str = "compact/summary_prefix.md";

/// How the model is asked for a summary of dropped turns, for layouts that drop them.
pub const WINDOW_SUMMARY: &str = "compact/window_summary.md";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[(PROMPT, Shape::VERBATIM), (SUMMARY_PREFIX, Shape::VERBATIM)];

/// How much of what people said is kept, in tokens.
pub const USER_TOKENS_MAX: usize = 20_000;

/// Outputs were cut when they were recorded; the copy cuts nothing.
const UNCUT: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };

/// What is said when there is no summary.
const NO_SUMMARY: &str = "(no summary available)";

/// A compaction under way.
#[derive(Debug)]
pub struct Compaction {
    /// The copy that the model summarises.
    items: VecDeque<Item>,
    ids: ItemIds,
    prompt: Draft,
    /// The note on a model switch that must come after the summary.
    set_aside: Option<Item>,
    /// How many items were too many.
    n_dropped: usize,
    /// What the window strategy does, if that is the layout's.
    by_window: Option<by_window::ByWindow>,
}

/// What came of dropping the oldest item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// There is less to summarise now.
    Some,
    /// There is nothing left that could go.
    Nothing,
}

impl Compaction {
    /// Begins with a copy of the history. `prompt` is the user's own wording, if there is one.
    pub fn new(transcript: &Transcript, pack: &Pack, prompt: Option<Fragment>) -> Self {
        Self::asking(transcript, prompt.map_or_else(|| pack.template(PROMPT).text(), |prompt| vec![prompt]))
    }

    /// Begins with a copy of the history, and asks in these words.
    pub fn asking(transcript: &Transcript, prompt: Vec<Fragment>) -> Self {
        let mut items: VecDeque<Item> = transcript.items().collect();
        let set_aside = take_model_switch(&mut items);
        let prompt = Draft::text("compact_prompt", "user", prompt);
        Self { items, ids: transcript.ids(), prompt, set_aside, n_dropped: 0, by_window: None }
    }

    /// The request for the summary.
    pub fn request(&self, frame: &Frame) -> Request {
        let mut copy = Transcript::new(self.ids, UNCUT);
        // The question of the window strategy has the history in it.
        for item in self.items.iter().filter(|_| self.by_window.is_none()) {
            copy.record(item, &Origin::Model);
        }
        copy.record_draft(&self.prompt);
        frame.request(&mut copy)
    }

    /// Makes the copy shorter by its oldest item and what belongs to it.
    pub fn drop_oldest(&mut self) -> Dropped {
        let Some(oldest) = self.items.pop_front() else {
            return Dropped::Nothing;
        };
        if let Some(partner) = self.items.iter().position(|item| are_partners(&oldest, item)) {
            self.items.remove(partner);
        }
        self.n_dropped += 1;
        Dropped::Some
    }

    /// The words that ask for the summary.
    pub fn prompt(&self) -> Item {
        self.prompt.item()
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
        let said = kept_messages(&items, &format!("{prefix_text}\n"));
        let summary = last_answer(&items).unwrap_or_default();
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
        let snapshots = items.iter().filter(|item| matches!(item, Item::GhostSnapshot { .. }));
        for item in self.set_aside.iter().chain(snapshots) {
            transcript.record(item, &Origin::Model);
        }
        text
    }
}

/// What summaries begin with; messages that begin so are not a person's.
pub fn summary_prefix(pack: &Pack) -> String {
    concat(&pack.template(SUMMARY_PREFIX).text())
}

/// The history that a recorded summary stands for: the context as it is now, what people said
/// before, and the summary.
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
fn take_model_switch(items: &mut VecDeque<Item>) -> Option<Item> {
    let last_turn = items.iter().rposition(boundary::begins_user_turn).map_or(0, |at| at + 1);
    let is_switch = |item: &Item| match item {
        Item::Message { role, content, .. } => {
            role == "developer"
                && matches!(content.first(), Some(ContentPart::InputText { text }) if text.starts_with("<model_switch>"))
        }
        _ => false,
    };
    let at = items.iter().skip(last_turn).rposition(is_switch)?;
    items.remove(last_turn + at)
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

/// What people said, the newest first as far as it fits, in the order in which they said it.
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
