//! The draft is kept outside of the client while it is written, so that no end of the program loses it.
//!
//! Not every key writes: a change waits for [`KEEP_AFTER`], and everything that ends the client or gives the terminal away
//! keeps the draft at once. What counts is text that was not sent: messages that wait for a turn, and the draft or, if the
//! composer is empty, the text that Ctrl-C cleared.

use std::time::Duration;

use super::App;
use super::Effect;
use super::messages::joined;
use crate::cells::notice::NoticeKind;
use crate::composer::draft::Clip;
use crate::host::HostCall;
use crate::keymap::table::Action;
use crate::picker::age;

/// How long a changed draft may be newer than the one that is kept.
const KEEP_AFTER: Duration = Duration::from_millis(500);

/// What was kept of the draft.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    kept: Clip,
    /// When a change has to be kept.
    due: Option<Duration>,
}

impl App {
    /// Sees whether the draft has changed since it was kept.
    pub fn watch_draft(&mut self, now: Duration) {
        if self.keeping.due.is_none() && !self.is_kept() {
            self.keeping.due = Some(now + KEEP_AFTER);
        }
    }

    /// When a changed draft is kept.
    pub(super) fn keep_tick(&self) -> Option<Duration> {
        self.keeping.due
    }

    /// Keeps the draft if the moment of [`App::keep_tick`] has come.
    pub(super) fn keep_due(&mut self, now: Duration) -> Option<Effect> {
        if self.keeping.due.is_none_or(|due| now < due) {
            return None;
        }
        self.keep_draft().map(Effect::Ask)
    }

    /// What has to be kept now; absent if the draft is kept as it is.
    pub fn keep_draft(&mut self) -> Option<HostCall> {
        self.keeping.due = None;
        if self.is_kept() {
            return None;
        }
        self.keeping.kept = self.unsent();
        Some(HostCall::KeepDraft(self.keeping.kept.clone()))
    }

    fn is_kept(&self) -> bool {
        if self.queue.is_empty() {
            return self.composer.is_unsent(&self.keeping.kept);
        }
        self.unsent() == self.keeping.kept
    }

    /// Everything that was written and not sent.
    pub(super) fn unsent(&self) -> Clip {
        let waiting = self.queue.iter().map(|message| message.written.clone());
        let stashed = self.waiting.as_ref().and_then(|list| list.stashed().cloned());
        joined(waiting.chain([self.composer.unsent()]).chain(stashed).filter(|clip| !clip.text.is_empty()).collect())
    }

    /// Offers the draft that an earlier client left in this folder.
    pub(super) fn offer_draft(&mut self) {
        let Some(kept) = self.settings.kept.take() else { return };
        let n_lines = kept.clip.text.lines().count();
        let size = if n_lines == 1 { "1 line".to_owned() } else { format!("{n_lines} lines") };
        let cut = if kept.is_cut { ", of which only the beginning was kept," } else { "" };
        let age = age(kept.at, self.settings.began);
        let key = self.key_hint(": ", Action::Undo, "brings it back");
        self.say(NoticeKind::Info, &format!("a draft of {size} from {age}{cut} was not sent{key}"), None);
        self.keeping.kept = kept.clip.clone();
        self.composer.offer(kept.clip);
    }
}
