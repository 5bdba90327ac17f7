use super::*;

fn asked_desk(event: EventMessage) -> Desk {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(event);
    desk
}

#[test]
fn an_edited_command_is_asked_for_instead() {
    let mut desk = asked_desk(asked("a"));
    assert!(desk.screen().contains("e edits the command · tab adds a note · ? explains"), "{}", desk.screen());
    desk.press("e");
    assert!(desk.screen().contains("› touch a"), "{}", desk.screen());
    desk.press("backspace");
    desk.write("b");
    desk.press("enter");
    let message = "say Run this command in place of the one that you asked for:\n\n```sh\ntouch b\n```";
    assert_eq!(desk.submitted(), [message, "Denied"], "the message comes first");
    assert!(!desk.app.asking.is_open());
}

#[test]
fn a_command_that_stays_as_it_is_is_still_asked_about() {
    let mut desk = asked_desk(asked("a"));
    for leave in ["enter", "esc", "ctrl-c"] {
        desk.press("e");
        desk.press(leave);
        assert!(desk.app.asking.amending.is_none() && desk.app.asking.is_open(), "{leave}");
    }
    assert_eq!(desk.submitted(), [""; 0]);
}

#[test]
fn a_note_goes_with_the_answer() {
    for (answer, decision) in [("y", "Approved"), ("n", "Denied"), ("ctrl-c", "Denied")] {
        let mut desk = asked_desk(asked("a"));
        desk.press("tab");
        desk.write("mind the tests");
        desk.press("enter");
        assert!(desk.screen().contains("  Note: mind the tests"), "{}", desk.screen());
        desk.press(answer);
        assert_eq!(desk.submitted(), ["say mind the tests", decision], "{answer}");
    }
}

#[test]
fn changes_of_a_patch_can_be_left_out() {
    let mut desk = asked_desk(asked_to_patch("@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n"));
    desk.press("e");
    desk.press("enter");
    assert!(desk.app.asking.amending.is_some(), "all changes are wanted");
    desk.press("space");
    assert!(desk.screen().contains("› [ ] "), "{}", desk.screen());
    desk.press("enter");
    let said = desk.submitted();
    assert!(said[0].contains("```diff\n") && said[0].contains("@@ -9 +9 @@\n-c\n+d\n```"), "{said:?}");
    assert!(!said[0].contains("@@ -1 +1 @@"), "{said:?}");
    assert!(said[1].contains("decision: Denied"), "{said:?}");
}

#[test]
fn what_was_written_outlives_the_turn() {
    let mut desk = asked_desk(asked("a"));
    desk.press("tab");
    desk.write("a note");
    desk.event(aborted());
    assert_eq!(desk.draft(), "a note");
    assert!(desk.app.asking.amending.is_none());
}

#[test]
fn typed_lines_change_an_answer_too() {
    let mut desk = asked_desk(asked("a"));
    desk.app.settings.manner.is_spoken = true;
    for line in ["tab", "slowly", "e", "touch b"] {
        let now = desk.now();
        desk.effects.extend(desk.app.line(line, now));
    }
    let message = "say Run this command in place of the one that you asked for:\n\n```sh\ntouch b\n```\n\nslowly";
    assert_eq!(desk.submitted(), [message, "Denied"]);
}
