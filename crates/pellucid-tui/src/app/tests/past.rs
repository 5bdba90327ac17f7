//! Summaries on trial, what compactions lost, and going back with files.

use pellucid_protocol::change::FileChange;

use super::*;
use crate::host::HostAnswer;
use crate::past::PastAnswer;
use crate::past::PastCall;
use crate::past::Redone;
use crate::past::SummaryView;
use crate::past::WayBack;
use crate::past::WentBack;

impl Desk {
    fn answer_past(&mut self, answer: PastAnswer) {
        let now = self.now();
        self.effects.extend(self.app.answered(HostAnswer::Past(Box::new(answer)), now));
    }

    fn command(&mut self, line: &str) {
        self.write(line);
        self.press("enter");
    }

    /// What was asked about the past since the last call.
    fn asked_past(&mut self) -> Vec<PastCall> {
        let call = |effect: Effect| match effect {
            Effect::Ask(HostCall::Past(call)) => Some(call),
            _ => None,
        };
        std::mem::take(&mut self.effects).into_iter().filter_map(call).collect()
    }

    /// A conversation of these messages.
    fn said(messages: &[&str]) -> Self {
        let mut desk = Self::new();
        let said = |text: &&str| {
            StoredRecord::Event(serde_json::from_value(json!({ "type": "user_message", "message": text })).unwrap())
        };
        let history = messages.iter().map(said).collect();
        desk.app.begin_with(OpenedSession { history, notes: Vec::new(), name: None });
        desk
    }

    fn notes(&mut self) -> Vec<String> {
        self.app
            .take_history()
            .iter()
            .map(|line| line.to_string().trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect()
    }
}

fn view(summary: &str) -> Box<SummaryView> {
    Box::new(SummaryView { tokens: (9_000, 900), summary: Some(summary.to_owned()), ..SummaryView::default() })
}

#[test]
fn a_summary_on_trial_is_stored_only_when_it_is_accepted() {
    let mut desk = Desk::new();
    desk.command("/compact-preview");
    assert_eq!(desk.asked_past(), [PastCall::TrySummary]);
    assert!(desk.screen().contains("The model is writing a summary"), "{}", desk.screen());
    desk.answer_past(PastAnswer::Summary(Ok(view("We talked."))));
    assert!(desk.screen().contains("9,000 tokens before, 900 after"), "{}", desk.screen());
    desk.press("q");
    assert_eq!((desk.asked_past(), desk.submitted()), (Vec::new(), Vec::<String>::new()));
    desk.command("/compact-preview");
    desk.answer_past(PastAnswer::Summary(Ok(view("We talked."))));
    let _ = desk.asked_past();
    desk.press("enter");
    let stored = PastCall::StoreSummary { summary: "We talked.".to_owned(), is_edited: false };
    assert_eq!(desk.asked_past(), [stored]);
    assert!(desk.app.page.is_none());
    desk.answer_past(PastAnswer::Reshaped(Ok("9,000 tokens before, 900 after".to_owned())));
    assert_eq!(desk.notes().last().map(String::as_str), Some("• 9,000 tokens before, 900 after"));
}

#[test]
fn an_edited_summary_is_judged_again_before_it_is_stored() {
    let mut desk = Desk::new();
    desk.command("/compact-preview");
    desk.answer_past(PastAnswer::Summary(Ok(view("We talked."))));
    let _ = desk.asked_past();
    desk.press("ctrl-g");
    assert_eq!(std::mem::take(&mut desk.effects), [Effect::Edit("We talked.".to_owned())]);
    desk.effects = desk.app.edited(Ok("We talked of ports.\n".to_owned()));
    assert_eq!(desk.asked_past(), [PastCall::JudgeSummary("We talked of ports.".to_owned())]);
    desk.answer_past(PastAnswer::Summary(Ok(view("We talked of ports."))));
    desk.press("enter");
    let stored = PastCall::StoreSummary { summary: "We talked of ports.".to_owned(), is_edited: true };
    assert_eq!(desk.asked_past(), [stored]);
    desk.command("/compact-preview");
    desk.answer_past(PastAnswer::Summary(Ok(view("We talked."))));
    let _ = desk.asked_past();
    desk.effects = desk.app.edited(Ok(" \n".to_owned()));
    assert_eq!(desk.asked_past(), Vec::new());
    assert!(desk.app.composer.draft().is_empty());
}

#[test]
fn a_summary_that_fails_or_is_interrupted_changes_nothing() {
    let mut desk = Desk::new();
    desk.command("/compact-preview");
    let _ = desk.asked_past();
    desk.press("esc");
    assert_eq!(desk.submitted(), ["interrupt"]);
    desk.answer_past(PastAnswer::Summary(Err("the summary was interrupted".to_owned())));
    assert!(desk.app.page.is_none());
    let notes = desk.notes();
    assert_eq!(notes.last().map(String::as_str), Some("■ the summary was interrupted; the history is unchanged"));
}

#[test]
fn what_the_last_compaction_lost_is_one_command_away_and_so_is_undoing_it() {
    let mut desk = Desk::new();
    desk.command("/lost");
    assert_eq!(desk.asked_past(), [PastCall::LastCompaction]);
    desk.answer_past(PastAnswer::LastCompaction(Ok(view("We talked."))));
    assert!(desk.screen().contains("What the last compaction lost"), "{}", desk.screen());
    desk.press("q");
    desk.command("/uncompact");
    assert_eq!(desk.asked_past(), [PastCall::UndoCompaction]);
    desk.answer_past(PastAnswer::Reshaped(Err("the session has no compaction that could be undone".to_owned())));
    let notes = desk.notes();
    assert_eq!(notes.last().map(String::as_str), Some("■ the session has no compaction that could be undone"));
}

fn way() -> Box<WayBack> {
    let change = FileChange::Add { content: "old\n".to_owned() };
    Box::new(WayBack { turn: 2, changes: [("/w/a.txt".into(), change)].into_iter().collect(), ..WayBack::default() })
}

/// Goes back to the second of three messages, looks at files, and presses a key.
#[track_caller]
fn check_back(key: &str, asked: &[PastCall], submitted: &[&str], draft: &str) {
    let mut desk = Desk::said(&["one", "two", "three"]);
    for key in ["esc", "esc", "esc", "f"] {
        desk.press(key);
    }
    assert_eq!(desk.asked_past(), [PastCall::WayBack { n_messages: 2 }]);
    desk.answer_past(PastAnswer::WayBack(Ok(way())));
    assert!(desk.screen().contains("1 file would change back"), "{}", desk.screen());
    desk.press(key);
    let effects = desk.effects.clone();
    assert_eq!(desk.asked_past(), asked);
    desk.effects = effects;
    assert_eq!(desk.submitted(), submitted);
    assert!(desk.app.page.is_none());
    if let Some(PastCall::GoBack { message, .. }) = asked.first() {
        let words = "1 file is restored".to_owned();
        desk.answer_past(PastAnswer::WentBack(Ok(WentBack { words, message: message.clone() })));
    }
    assert_eq!(desk.draft(), draft);
}

#[test]
fn going_back_takes_the_conversation_the_files_or_both() {
    check_back("c", &[], &["ThreadRollback { num_turns: 2 }"], "two");
    check_back("f", &[PastCall::GoBack { n_messages: 2, message: None }], &[], "");
    check_back("b", &[PastCall::GoBack { n_messages: 2, message: Some("two".to_owned()) }], &[], "two");
    check_back("q", &[], &[], "");
}

#[test]
fn turns_that_are_back_can_be_gone_back_to_again() {
    let mut desk = Desk::said(&["one"]);
    desk.command("/redo");
    assert_eq!(desk.asked_past(), [PastCall::Redo]);
    let said = |text: &str| {
        StoredRecord::Event(serde_json::from_value(json!({ "type": "user_message", "message": text })).unwrap())
    };
    let history = Some(vec![said("one"), said("two")]);
    desk.notes();
    desk.answer_past(PastAnswer::Redone(Ok(Box::new(Redone { words: "1 message is back".to_owned(), history }))));
    assert_eq!(desk.notes(), ["• 1 message is back"], "what was said is in the scrollback already");
    for key in ["esc", "esc", "enter"] {
        desk.press(key);
    }
    assert_eq!((desk.submitted(), desk.draft()), (vec!["ThreadRollback { num_turns: 1 }".to_owned()], "two"));
}
