//! The past of the session in the client: summaries on trial, what compactions lost, and going back with files.

use std::path::PathBuf;

use pellucid_protocol::operation::Operation;

use super::App;
use super::Effect;
use super::pages::OpenPage;
use crate::cells::stored::StoredEntry;
use crate::cells::transcript::Transcript;
use crate::host::HostCall;
use crate::host::StoredRecord;
use crate::key::Key;
use crate::keymap::table::Action;
use crate::pager::Pager;
use crate::past::PastAnswer;
use crate::past::PastCall;
use crate::past::Redone;
use crate::past::SummaryView;
use crate::past::WayBack;
use crate::past::back::BackOutcome;
use crate::past::back::BackPage;
use crate::past::summary;
use crate::past::summary::SummaryOutcome;
use crate::past::summary::SummaryPage;

/// A page about the past of the session.
#[derive(Debug)]
pub(super) enum PastPage {
    /// A summary on trial.
    Summary(SummaryPage),
    /// Going back to an earlier message.
    Back(BackPage),
}

impl PastPage {
    /// The text of the page.
    pub(super) fn pager(&mut self) -> &mut Pager {
        match self {
            Self::Summary(page) => &mut page.pager,
            Self::Back(page) => &mut page.pager,
        }
    }
}

fn ask(call: PastCall) -> Effect {
    Effect::Ask(HostCall::Past(call))
}

impl App {
    /// Asks for a summary that changes nothing, and opens the page for it.
    pub(super) fn try_summary(&mut self, effects: &mut Vec<Effect>) {
        let keys = self.look_keys(&[(Action::SummaryStore, "accepts"), (Action::SummaryEdit, "edits")]);
        let page = SummaryPage::waiting(keys, self.columns(), &self.palette);
        self.page = Some(OpenPage::Past(Box::new(PastPage::Summary(page))));
        effects.push(ask(PastCall::TrySummary));
    }

    /// Asks what going back to a message does to files.
    pub(super) fn ask_way_back(&self, at: usize, effects: &mut Vec<Effect>) {
        effects.push(ask(PastCall::WayBack { n_messages: self.messages_since(at) }));
    }

    /// How many messages of the person there are from this one on.
    fn messages_since(&self, at: usize) -> usize {
        self.transcript.messages().count().saturating_sub(at)
    }

    /// Takes a key on a page about the past.
    pub(super) fn past_key(&mut self, key: Key) -> Vec<Effect> {
        let mut effects = Vec::new();
        let keymap = &self.settings.keymap;
        let Some(OpenPage::Past(page)) = &mut self.page else { return effects };
        match &mut **page {
            PastPage::Summary(page) => match page.press(key, keymap) {
                SummaryOutcome::Open => {}
                SummaryOutcome::Left => {
                    self.page = None;
                    self.say_note("the summary was not taken over; the history is unchanged");
                }
                SummaryOutcome::Interrupted => effects.push(Effect::Submit(Operation::Interrupt)),
                SummaryOutcome::Edit(summary) => effects.push(Effect::Edit(summary)),
                SummaryOutcome::Store { summary, is_edited } => {
                    self.page = None;
                    effects.push(ask(PastCall::StoreSummary { summary, is_edited }));
                }
                SummaryOutcome::Compact => {
                    self.page = None;
                    effects.push(Effect::Submit(Operation::Compact));
                }
            },
            PastPage::Back(page) => {
                let (at, outcome) = (page.at, page.press(key, keymap));
                if !matches!(outcome, BackOutcome::Open | BackOutcome::Left) {
                    self.page = None;
                }
                let n_messages = self.messages_since(at);
                match outcome {
                    BackOutcome::Open => {}
                    BackOutcome::Left => self.page = None,
                    BackOutcome::Conversation => self.take_back(at, &mut effects),
                    BackOutcome::Files => effects.push(ask(PastCall::GoBack { n_messages, message: None })),
                    BackOutcome::Both => {
                        let message = self.transcript.messages().nth(at).map(|(_, cell)| cell.text().to_owned());
                        effects.push(ask(PastCall::GoBack { n_messages, message }));
                    }
                }
            }
        }
        effects
    }

    /// Whether the text that an editor left is a summary.
    pub(super) fn is_summary_edited(&self) -> bool {
        matches!(&self.page, Some(OpenPage::Past(page)) if matches!(**page, PastPage::Summary(_)))
    }

    /// Takes the summary that the person's editor left.
    pub(super) fn summary_edited(&mut self, edited: Result<String, String>) -> Vec<Effect> {
        match edited.map(|text| text.trim_end().to_owned()) {
            Ok(text) if text.trim().is_empty() => self.say_error("the edited summary is blank; the one before is kept"),
            Ok(text) => return vec![ask(PastCall::JudgeSummary(text))],
            Err(why) => self.say_error(&why),
        }
        Vec::new()
    }

    /// Takes an answer about the past.
    pub(super) fn past_answered(&mut self, answer: PastAnswer) -> Vec<Effect> {
        match answer {
            PastAnswer::Summary(view) => self.summary_made(view),
            PastAnswer::LastCompaction(Ok(view)) => {
                let lines = summary::lines(&view, self.columns(), &self.palette);
                self.open_above(OpenPage::Text(Pager::at_start("What the last compaction lost", lines)));
            }
            PastAnswer::Reshaped(Ok(words)) => {
                self.history_changed();
                self.say_note(&words);
            }
            PastAnswer::WentBack(Ok(went)) => {
                if let Some(message) = went.message {
                    self.put_back(&message);
                }
                self.history_changed();
                self.say_note(&went.words);
            }
            PastAnswer::WayBack(Ok(way)) => self.show_way_back(way),
            PastAnswer::Redone(Ok(redone)) => self.redone(*redone),
            PastAnswer::LastCompaction(Err(why))
            | PastAnswer::Reshaped(Err(why))
            | PastAnswer::WayBack(Err(why))
            | PastAnswer::WentBack(Err(why))
            | PastAnswer::Redone(Err(why)) => self.say_error(&why),
        }
        Vec::new()
    }

    /// A summary on trial is there, or why there is none. A page that was left meanwhile does not open again.
    fn summary_made(&mut self, view: Result<Box<SummaryView>, String>) {
        let (columns, palette) = (self.columns(), self.palette);
        let Some(OpenPage::Past(page)) = &mut self.page else { return };
        let PastPage::Summary(page) = &mut **page else { return };
        match view {
            Ok(view) => {
                if page.has_summary() {
                    page.edited();
                }
                page.show(view, columns, &palette);
            }
            Err(why) => {
                if !page.has_summary() {
                    self.page = None;
                }
                self.say_error(&format!("{why}; the history is unchanged"));
            }
        }
    }

    /// Shows what going back to the marked message does to files.
    fn show_way_back(&mut self, way: Box<WayBack>) {
        let keys = self.look_keys(&[
            (Action::BackConversation, "conversation"),
            (Action::BackFiles, "files"),
            (Action::BackBoth, "both"),
        ]);
        let (folder, canvas) = (self.folder(), self.canvas());
        let Some(OpenPage::Transcript { pager, .. }) = &self.page else { return };
        let Some(at) = pager.marked() else { return };
        let page = BackPage::new(at, way, &keys, folder.as_deref(), &canvas);
        self.page = Some(OpenPage::Past(Box::new(PastPage::Back(page))));
    }

    /// Going back was taken back.
    fn redone(&mut self, redone: Redone) {
        if let Some(history) = redone.history {
            self.transcript = Transcript::new(self.settings.transcript.clone());
            let entries: Vec<StoredEntry<'_>> = history.iter().map(StoredRecord::entry).collect();
            // The lines are in the scrollback already.
            drop(self.transcript.restore(&entries, &self.canvas()));
        }
        self.history_changed();
        self.say_note(&redone.words);
    }

    /// The history of the session is another one, so the next request is.
    fn history_changed(&mut self) {
        self.session.look.history_changed(self.now);
    }

    /// Draws an open page about the past again, because the size changed.
    pub(super) fn refresh_past(&mut self) {
        let (columns, palette, canvas, folder) = (self.columns(), self.palette, self.canvas(), self.folder());
        let Some(OpenPage::Past(page)) = &mut self.page else { return };
        match &mut **page {
            PastPage::Summary(page) => page.fill(columns, &palette),
            PastPage::Back(page) => page.fill(folder.as_deref(), &canvas),
        }
    }

    fn columns(&self) -> usize {
        usize::from(self.size.columns)
    }

    fn folder(&self) -> Option<PathBuf> {
        self.session.configured.as_ref().map(|it| it.cwd.clone())
    }
}
