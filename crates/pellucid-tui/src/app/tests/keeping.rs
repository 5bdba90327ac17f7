use super::*;
use crate::composer::kept::KeptDraft;
use crate::host::HostCall;

impl Desk {
    /// What the client has kept since the last call, as text.
    fn kept(&mut self) -> Vec<String> {
        let now = self.now();
        self.app.watch_draft(now);
        let later = now + Duration::from_millis(500);
        self.effects.extend(self.app.tick(later));
        let kept = self.effects.iter().filter_map(|effect| match effect {
            Effect::Ask(HostCall::KeepDraft(clip)) => Some(clip.expanded()),
            _ => None,
        });
        let kept = kept.collect();
        self.effects.clear();
        kept
    }
}

#[test]
fn a_draft_is_kept_soon_and_forgotten_when_it_is_sent() {
    let mut desk = Desk::new();
    assert_eq!(desk.kept(), [""; 0]);
    desk.write("one");
    desk.press("ctrl-j");
    desk.write("two");
    let now = desk.now();
    desk.app.watch_draft(now);
    let due = now + Duration::from_millis(500);
    assert_eq!(desk.app.next_tick(now).map(|at| at <= due), Some(true));
    assert_eq!(desk.kept(), ["one\ntwo"]);
    assert_eq!(desk.kept(), [""; 0], "an unchanged draft is not kept again");
    desk.press("enter");
    assert_eq!(desk.kept(), [""]);
}

#[test]
fn a_key_brings_back_what_ctrl_c_cleared_and_the_end_keeps_it() {
    let mut desk = Desk::new();
    desk.write("a long thought");
    desk.press("ctrl-c");
    assert_eq!(desk.draft(), "");
    assert!(desk.screen().contains("ctrl-_ to bring your text back"), "{}", desk.screen());
    assert_eq!(desk.kept(), ["a long thought"]);
    desk.write("/status");
    desk.press("enter");
    desk.press("ctrl-_");
    assert_eq!(desk.draft(), "a long thought", "also after a command");
    desk.press("ctrl-c");
    desk.press("ctrl-c");
    assert_eq!(desk.submitted(), ["quit"]);
    assert_eq!(desk.app.keep_draft(), None, "it is kept as it is");
    assert_eq!(desk.app.unsent().text, "a long thought");
}

#[test]
fn messages_that_wait_are_kept_with_the_draft() {
    let mut desk = Desk::new();
    desk.event(started());
    for text in ["one", "two"] {
        desk.write(text);
        desk.press("tab");
    }
    desk.write("draft");
    assert_eq!(desk.kept(), ["one\ntwo\ndraft"]);
    desk.event(complete());
    assert_eq!(desk.kept(), ["two\ndraft"]);
}

#[test]
fn a_draft_of_an_earlier_client_is_offered_and_comes_back_with_a_key() {
    let kept = KeptDraft { clip: Clip::plain("one\ntwo\nthree"), at: 880, is_cut: false };
    let settings = AppSettings { kept: Some(kept), began: 1000, ..settings() };
    let mut desk = Desk { app: App::new(settings), seconds: 0, effects: Vec::new() };
    desk.app.begin_with(OpenedSession { history: Vec::new(), notes: Vec::new(), name: None });
    let said: Vec<String> = desk.app.take_history().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["• a draft of 3 lines from 2 minutes ago was not sent: ctrl-_ brings it back"]);
    assert_eq!(desk.kept(), [""; 0], "the file stays");
    assert_eq!(desk.draft(), "");
    desk.press("ctrl-_");
    assert_eq!(desk.draft(), "one\ntwo\nthree");
    desk.press("ctrl-c");
    desk.press("up");
    assert_eq!(desk.draft(), "one\ntwo\nthree");
    desk.event(configured());
    desk.press("enter");
    assert_eq!(desk.kept(), [""]);
}
