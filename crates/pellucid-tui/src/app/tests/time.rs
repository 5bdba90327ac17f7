//! Earlier requests, one after the other.

use super::*;
use crate::host::HostAnswer;
use crate::keymap::table::ACTIONS;
use crate::keymap::table::Action;
use crate::keymap::table::Place;
use crate::look::report::CacheOutlook;
use crate::look::report::LookAnswer;
use crate::look::report::LookCall;
use crate::look::report::LookGroup;
use crate::look::report::LookReport;
use crate::look::report::LookRow;
use crate::look::report::LookSize;
use crate::look::report::SentView;

fn view(number: usize) -> Box<SentView> {
    let size = LookSize { bytes: 400, tokens: 100, ..LookSize::default() };
    let row = LookRow {
        part: "0 message (user)".to_owned(),
        origin: "user".to_owned(),
        size: size.clone(),
        status: "full".to_owned(),
        start: 7,
        ..LookRow::default()
    };
    let group = LookGroup { name: "conversation".to_owned(), size: size.clone(), rows: vec![row] };
    let report = LookReport {
        model: "gpt-x".to_owned(),
        facts: vec!["answer in turn 2".to_owned(), "› fix it".to_owned()],
        size,
        groups: vec![group],
        outlook: CacheOutlook::Sent,
        ..LookReport::default()
    };
    Box::new(SentView { number, of: 5, report })
}

impl Desk {
    /// What was asked since the last call: questions about requests, and another session.
    fn wanted(&mut self) -> Vec<String> {
        let short = |effect: Effect| match effect {
            Effect::Ask(HostCall::Look(LookCall::Report { .. })) => None,
            Effect::Ask(HostCall::Look(call)) => Some(format!("{call:?}")),
            Effect::Ask(HostCall::Open(wish)) => Some(format!("{wish:?}")),
            _ => None,
        };
        std::mem::take(&mut self.effects).into_iter().filter_map(short).collect()
    }

    fn sent(&mut self, view: Result<Box<SentView>, String>) {
        let now = self.now();
        self.effects.extend(self.app.answered(HostAnswer::Looked(Box::new(LookAnswer::Sent(view))), now));
    }

    /// A client that shows this request.
    fn at(number: usize) -> Self {
        let mut desk = Self::new();
        desk.write("/time");
        desk.press("enter");
        assert_eq!(desk.wanted(), ["Sent(None)"]);
        desk.sent(Ok(view(number)));
        desk
    }
}

#[test]
fn every_key_of_the_page_steps_or_forks() {
    for row in ACTIONS.iter().filter(|row| row.place == Place::Time) {
        let expected = match row.action {
            Action::TimeOlder => "Sent(Some(2))",
            Action::TimeNewer => "Sent(Some(4))",
            Action::TimeFirst => "Sent(Some(1))",
            Action::TimeLast => "Sent(Some(5))",
            _ => "ForkAt { request: 3 }",
        };
        for key in row.keys {
            let mut desk = Desk::at(3);
            desk.press(key);
            assert_eq!(desk.wanted(), [expected], "{key}");
        }
    }
    let mut first = Desk::at(1);
    first.press("left");
    first.press("[");
    assert_eq!(first.wanted(), Vec::<String>::new());
    let mut last = Desk::at(5);
    last.press("right");
    last.press("]");
    assert_eq!(last.wanted(), Vec::<String>::new());
}

#[test]
fn a_request_is_shown_with_its_turn_and_its_rows() {
    let mut desk = Desk::at(3);
    let screen = desk.screen();
    for words in ["── request 3 of 5 ── gpt-x ─", " answer in turn 2", " › fix it", "400 bytes, about 100 tokens"]
    {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert!(!screen.contains("price unknown") && !screen.lines().any(|line| line.ends_with(" new")), "{screen}");
    desk.press("down");
    desk.press("w");
    desk.press("p");
    desk.press("c");
    assert_eq!(desk.wanted(), ["Why(7)", "SentBytes(3)", "Cache"]);
    desk.sent(Ok(view(2)));
    assert!(desk.screen().contains("request 2 of 5"));
    desk.press("q");
    assert!(desk.app.page.is_none());
}

#[test]
fn a_running_session_is_not_forked() {
    let mut desk = Desk::at(3);
    desk.event(started());
    desk.press("f");
    assert_eq!((desk.wanted(), desk.app.page.is_none()), (Vec::new(), true));
    desk.sent(Err("no request was sent yet".to_owned()));
    assert!(desk.app.page.is_none());
}

#[test]
fn a_request_that_cannot_be_rebuilt_has_no_sizes() {
    let mut desk = Desk::at(3);
    let facts = vec!["request 2 comes out differently at byte 9".to_owned()];
    let report = LookReport { facts, outlook: CacheOutlook::Sent, ..LookReport::default() };
    desk.sent(Ok(Box::new(SentView { number: 2, of: 5, report })));
    let screen = desk.screen();
    assert!(screen.contains("\n request 2 comes out differently at byte 9\n"), "{screen}");
    assert!(!screen.contains("tokens") && !screen.contains('▓'), "{screen}");
    desk.press("left");
    assert_eq!(desk.wanted().last().map(String::as_str), Some("Sent(Some(1))"), "the person can step on");
}
