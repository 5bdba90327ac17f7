//! A transcript that another process continues.
//!
//! A process that resumes a session reads its items from the session file. Code that follows a session through several
//! processes has these items already: it needs only to show them as the next process does.

use pellucid_protocol::provider::WireApi;

use super::Left;
use super::Transcript;
use super::rendering::Rendering;
use super::rendering::View;

/// How many bytes of items are shown again in one go, so that no more than these are held twice.
const AGAIN_BYTES: usize = 1024 * 1024;

impl Transcript {
    /// Begins again with the items that are recorded: what was shown before is forgotten, and all items are shown in this view.
    pub fn begin_again(&mut self, view: View) {
        self.shown_before = None;
        self.left = Left::All;
        // Texts with a place between items are those of the process before.
        let placed = self.placed.take().unwrap_or_default();
        if self.rendering.view == view && placed.is_empty() {
            return;
        }
        let mut old = std::mem::replace(&mut self.rendering, Rendering::new(view)).into_chunks();
        // From the last item on, so that chunks are let go as soon as no item is in them.
        for entry in self.entries.iter_mut().rev() {
            if let Some(start) = entry.own(&old) {
                old.let_go_from(start);
            }
        }
        // Other formats join items, so all of them are written in one go.
        let most = if view.wire == WireApi::Responses { AGAIN_BYTES } else { usize::MAX };
        let mut end = 0;
        while end < self.entries.len() {
            let mut n_bytes = 0;
            while let Some(entry) = self.entries.get(end).filter(|_| n_bytes < most) {
                n_bytes += entry.recorded(&old).len();
                end += 1;
            }
            self.rendering.catch_up(&mut self.entries[..end], &mut [], &self.calls, &self.outputs);
        }
    }
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::item::Item;
    use pellucid_protocol::settings::TruncationMode;
    use pellucid_protocol::settings::TruncationPolicy;

    use super::*;
    use crate::fragment::Origin;
    use crate::transcript::ExecOutputs;
    use crate::transcript::ItemIds;

    fn transcript(n: usize) -> Transcript {
        let uncut = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };
        let mut transcript = Transcript::new(ItemIds::Hidden, uncut);
        for n in 0..n {
            transcript.record(&Item::text("user", format!("{n} {}", "x".repeat(AGAIN_BYTES / 3))), &Origin::User);
            transcript.record(&Item::text("assistant", format!("answer {n}")), &Origin::Model);
        }
        transcript
    }

    #[test]
    fn items_that_are_shown_in_another_view_are_those_of_a_new_transcript() {
        let views = [
            View::default(),
            View { exec_outputs: ExecOutputs::AsText, ..View::default() },
            View { wire: WireApi::Chat, ..View::default() },
            View { wire: WireApi::Messages, ..View::default() },
        ];
        for before in views {
            for view in views {
                let (mut again, mut new) = (transcript(7), transcript(7));
                again.view(before);
                again.begin_again(view);
                assert_eq!(again.view(view).concat(), new.view(view).concat(), "{before:?} {view:?}");
                assert_eq!(again.rendered(), new.rendered());
                assert_eq!(again.take_divergence(), None);
                // The next items follow.
                again.record(&Item::text("user", "more"), &Origin::User);
                new.record(&Item::text("user", "more"), &Origin::User);
                assert_eq!(again.view(view).concat(), new.view(view).concat());
            }
        }
    }
}
