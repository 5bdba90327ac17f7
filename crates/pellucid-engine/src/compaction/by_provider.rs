//! Compaction by the provider's own endpoint.
//!
//! The provider gets the history and gives back items that take its place. What it says in our
//! name is left out; the first context goes before the last message of the person.

use pellucid_protocol::item::Item;

use super::Compaction;
use super::UNCUT;
use super::are_partners;
use crate::assemble::Context;
use crate::boundary;
use crate::encode::Encoder;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::request::Frame;
use crate::request::Request;
use crate::tokens::tokens_of_bytes;
use crate::transcript::Draft;
use crate::transcript::Transcript;
use crate::transcript::View;

impl Compaction {
    /// Shortens the copy from its end, as far as outputs and notes of ours go, until it fits.
    pub fn fit_window(&mut self, instructions: &[Fragment], window: Option<i64>) {
        let Some(window) = window.and_then(|window| usize::try_from(window).ok()) else {
            return;
        };
        let base: usize = instructions.iter().map(|fragment| fragment.text.len()).sum();
        while tokens_of_bytes(base) + self.items().tokens() > window && self.drop_newest() {}
    }

    /// Shortens the copy in the same way to so many items.
    pub fn shorten(&mut self, n_items: usize) {
        while self.items.len() > n_items && self.drop_newest() {}
    }

    /// Makes the copy shorter by its newest item and what belongs to it, if that one may go.
    fn drop_newest(&mut self) -> bool {
        match self.items.back().map(|last| &last.item) {
            Some(Item::FunctionCallOutput { .. } | Item::CustomToolCallOutput { .. }) => {}
            Some(Item::Message { role, .. }) if role == "developer" => {}
            _ => return false,
        }
        let Some(last) = self.items.pop_back() else {
            return false;
        };
        if let Some(partner) = self.items.iter().position(|it| are_partners(&last.item, &it.item)) {
            self.items.remove(partner);
        }
        true
    }

    /// How many items are summarised.
    pub fn n_items(&self) -> usize {
        self.items.len()
    }

    /// The request to the provider's endpoint, in this frame.
    pub fn request_without_prompt(&self, frame: &Frame) -> Request {
        frame.request(&mut self.items())
    }

    /// The bytes around the items in the request to the provider's endpoint.
    pub fn frame_for_provider(facts: &Facts, instructions: &[Fragment]) -> Frame {
        let mut head = Encoder::new(&"model".into());
        head.wire("{\"model\":");
        head.value(&facts.settings.model.slug, &Origin::fact("model"));
        head.wire(",\"input\":[");
        let mut tail = Encoder::new(&"base".into());
        tail.wire("],\"instructions\":");
        tail.string(instructions);
        tail.wire("}");
        Frame::recorded(View::default(), head.finish(), tail.finish())
    }

    /// Puts what the provider gave in place of the history.
    pub fn rebuild_from(self, transcript: &mut Transcript, output: Vec<Item>, context: Context) {
        let snapshots: Vec<Item> =
            transcript.items().filter(|item| matches!(item, Item::GhostSnapshot { .. })).collect();
        let output: Vec<Item> = output.into_iter().filter(is_kept).collect();
        let place = output.iter().rposition(boundary::begins_user_turn).unwrap_or(output.len());
        transcript.clear();
        let record = |transcript: &mut Transcript, items: &[Item]| {
            for item in items {
                transcript.record(item, &Origin::Model);
            }
        };
        record(transcript, &output[..place]);
        for message in context.messages {
            transcript.record_draft(&Draft::from(message));
        }
        record(transcript, &output[place..]);
        for copied in self.skills.iter().chain(&self.set_aside) {
            transcript.record_with(&copied.item, &copied.spans, &Origin::Model);
        }
        record(transcript, &snapshots);
    }

    /// The items that are summarised.
    pub fn items(&self) -> Transcript {
        let mut copy = Transcript::new(self.ids, UNCUT);
        for copied in &self.items {
            copy.record_with(&copied.item, &copied.spans, &Origin::Model);
        }
        copy
    }
}

/// Whether an item of the provider's stays: not what it says in our name.
fn is_kept(item: &Item) -> bool {
    match item {
        Item::Message { role, .. } if role == "developer" => false,
        Item::Message { role, .. } if role == "user" => boundary::begins_user_turn(item),
        _ => true,
    }
}
