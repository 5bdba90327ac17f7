//! A transcript whose items are dropped for a while, because a file has them.
//!
//! A server drops the items of sessions that idle, and reads them again. What is read has to be what was dropped: the same
//! bytes with the same origins, shown in the same way. [`Transcript::is_same`] checks that before anything is dropped.

use pellucid_protocol::settings::TruncationPolicy;

use super::Left;
use super::Transcript;
use super::entry::Entry;
use super::placed::Placed;
use super::rendering::View;
use crate::chunks::Chunks;

/// What a file does not have of a transcript: how its items were shown, and texts between them.
#[derive(Debug, Clone)]
pub struct Outline {
    truncation: TruncationPolicy,
    view: View,
    /// How many entries were rendered.
    n_shown: usize,
    n_looked_at: usize,
    placed: Option<Vec<Placed>>,
}

impl Transcript {
    /// What a file does not have of the transcript; absent while the next request compares with items that are gone.
    pub fn outline(&self) -> Option<Outline> {
        let is_settled = self.left == Left::All && self.shown_before.is_none();
        is_settled.then(|| Outline {
            truncation: self.truncation,
            view: self.rendering.view,
            n_shown: self.rendering.n_entries(),
            n_looked_at: self.n_looked_at,
            placed: self.placed.clone().map(|mut placed| {
                for text in &mut placed {
                    text.entry.own(self.rendering.chunks());
                }
                placed
            }),
        })
    }

    /// Shows items that were read from a file as they were shown before.
    pub fn show_again(&mut self, outline: Outline) {
        let Outline { truncation, view, n_shown, n_looked_at, placed } = outline;
        self.truncation = truncation;
        self.n_looked_at = n_looked_at.min(self.entries.len());
        self.left = Left::All;
        self.placed = placed;
        if self.rendering.view != view || self.rendering.n_entries() > n_shown || self.rendering.n_placed() > 0 {
            self.reset_rendering(view);
        }
        self.shown_before = None;
        let placed = self.placed.as_deref_mut().unwrap_or_default();
        let n_shown = n_shown.min(self.entries.len());
        self.rendering.catch_up(&mut self.entries[..n_shown], placed, &self.calls, &self.outputs);
    }

    /// Whether requests, reports and records that are made from here on are the same with both transcripts.
    pub fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (self.rendering.chunks(), other.rendering.chunks());
        let is_same_text = |(one, another): (&Placed, &Placed)| {
            one.before == another.before && is_same_entry((&one.entry, a), (&another.entry, b))
        };
        let n_placed = |transcript: &Self| transcript.placed.as_ref().map(Vec::len);
        self.ids == other.ids
            && self.truncation == other.truncation
            && self.left == other.left
            && self.shown_before.is_none()
            && other.shown_before.is_none()
            && self.n_looked_at == other.n_looked_at
            && self.sums == other.sums
            && self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(|(one, another)| is_same_entry((one, a), (another, b)))
            && n_placed(self) == n_placed(other)
            && self.placed.iter().flatten().zip(other.placed.iter().flatten()).all(is_same_text)
            && self.rendering.is_same(&other.rendering)
    }

    /// Drops all items. The transcript is of no use until another one takes its place.
    pub fn drop_items(&mut self) {
        *self = Self::new(self.ids, self.truncation);
    }
}

fn is_same_entry((a, of_a): (&Entry, &Chunks), (b, of_b): (&Entry, &Chunks)) -> bool {
    let flags = |it: &Entry| {
        let thoughts = (it.is_sealed_reasoning, it.is_signed_thought);
        (it.kind, it.is_exec_call, it.has_images, it.is_user_turn, it.is_model_made, thoughts, it.tokens)
    };
    flags(a) == flags(b)
        && (&a.role, &a.call_id, &a.tool, &a.lead) == (&b.role, &b.call_id, &b.tool, &b.lead)
        && a.spans == b.spans
        && a.recorded(of_a) == b.recorded(of_b)
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::item::Item;
    use pellucid_protocol::provider::WireApi;
    use pellucid_protocol::settings::TruncationMode;

    use super::*;
    use crate::fragment::Origin;
    use crate::transcript::ItemIds;

    fn transcript(texts: &[&str]) -> Transcript {
        let uncut = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
        let mut transcript = Transcript::new(ItemIds::Hidden, uncut);
        for (n, text) in texts.iter().enumerate() {
            let (role, origin) = if n % 2 == 0 { ("user", Origin::User) } else { ("assistant", Origin::Model) };
            transcript.record(&Item::text(role, *text), &origin);
        }
        transcript
    }

    #[track_caller]
    fn check_same(other: &mut Transcript, expected: bool) {
        let mut known = transcript(&["one", "two", "three"]);
        known.view(View::default());
        known.record(&Item::text("assistant", "four"), &Origin::Model);
        other.show_again(known.outline().unwrap());
        assert_eq!(known.is_same(other), expected);
        if expected {
            assert_eq!(known.view(View::default()).concat(), other.view(View::default()).concat());
            assert_eq!(known.rendered(), other.rendered());
            assert_eq!(other.take_divergence(), None);
        }
    }

    #[test]
    fn the_same_items_are_shown_as_before() {
        check_same(&mut transcript(&["one", "two", "three", "four"]), true);
        let mut shown = transcript(&["one", "two", "three", "four"]);
        shown.view(View { wire: WireApi::Chat, ..View::default() });
        check_same(&mut shown, true);
    }

    #[test]
    fn any_difference_is_one() {
        check_same(&mut transcript(&["one", "two", "three"]), false);
        check_same(&mut transcript(&["one", "two", "three", "fore"]), false);
        let mut other = transcript(&["one", "two", "three"]);
        other.record(&Item::text("assistant", "four"), &Origin::Tool { name: "shell".into() });
        check_same(&mut other, false);
    }

    #[test]
    fn a_history_that_was_taken_back_has_no_outline() {
        let mut taken_back = transcript(&["one", "two", "three", "four"]);
        taken_back.view(View::default());
        taken_back.roll_back(1);
        assert!(taken_back.outline().is_none());
    }
}
