//! Earlier requests in the client: stepping through them, and continuing on a copy from there.

use super::App;
use super::Effect;
use super::pages::OpenPage;
use crate::composer::drawing::Drawn;
use crate::host::HostCall;
use crate::host::OpenWish;
use crate::key::Key;
use crate::keymap::table::Action;
use crate::look::report::LookCall;
use crate::look::report::SentView;
use crate::look::time::TimeOutcome;
use crate::look::time::TimePage;

impl App {
    /// Asks for the last request that was sent.
    pub(super) fn ask_time(effects: &mut Vec<Effect>) {
        effects.push(Effect::Ask(HostCall::Look(LookCall::Sent(None))));
    }

    /// Shows an earlier request, or why it cannot be shown.
    pub(super) fn time_arrived(&mut self, view: Result<Box<SentView>, String>) {
        match (view, &mut self.page) {
            (Ok(view), Some(OpenPage::Time(page))) => page.show(view),
            (Ok(view), _) => self.page = Some(OpenPage::Time(Box::new(TimePage::new(view)))),
            (Err(why), _) => self.say_error(&why),
        }
    }

    /// Takes a key on the page with an earlier request.
    pub(super) fn time_key(&mut self, key: Key) -> Vec<Effect> {
        let Some(OpenPage::Time(page)) = &mut self.page else { return Vec::new() };
        let look = |call| vec![Effect::Ask(HostCall::Look(call))];
        match page.press(key, &self.settings.keymap) {
            TimeOutcome::Open => Vec::new(),
            TimeOutcome::Left => {
                self.page = None;
                // Questions about rows are about the next request again.
                self.session.look.history_changed(self.now);
                Vec::new()
            }
            TimeOutcome::Step(number) => look(LookCall::Sent(Some(number))),
            TimeOutcome::Bytes(number) => look(LookCall::SentBytes(number)),
            TimeOutcome::Why(byte) => look(LookCall::Why(byte)),
            TimeOutcome::Cache => look(LookCall::Cache),
            TimeOutcome::Fork(_) if self.session.is_working() => {
                self.page = None;
                self.say_error("a session is not forked while its turn is running");
                Vec::new()
            }
            TimeOutcome::Fork(request) => {
                self.page = None;
                vec![Effect::Ask(HostCall::Open(OpenWish::ForkAt { request }))]
            }
        }
    }

    /// Draws the page with an earlier request.
    pub(super) fn time_view(&mut self, rows: u16) -> Drawn {
        let keys = self.look_keys(&[
            (Action::TimeOlder, "older"),
            (Action::TimeNewer, "newer"),
            (Action::TimeFork, "forks here"),
            (Action::LookOpen, "opens"),
            (Action::LookWhy, "why"),
            (Action::LookPreview, "bytes"),
            (Action::LookLeave, "leaves"),
        ]);
        let (size, palette) = ((usize::from(self.size.columns), usize::from(rows)), self.palette);
        let Some(OpenPage::Time(page)) = &mut self.page else { return Drawn::default() };
        Drawn { lines: page.draw(size, &keys, &palette), cursor: None }
    }
}
