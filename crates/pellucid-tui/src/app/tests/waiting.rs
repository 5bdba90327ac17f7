use super::*;

/// A desk with a running turn and so many waiting messages.
fn desk_with_waiting(texts: &[&str]) -> Desk {
    let mut desk = Desk::new();
    desk.event(started());
    for text in texts {
        desk.write(text);
        desk.press("tab");
    }
    desk.effects.clear();
    desk
}

fn waiting(desk: &Desk) -> Vec<&str> {
    desk.app.queue.iter().map(|message| message.text.as_str()).collect()
}

#[test]
fn waiting_messages_are_moved_deleted_and_edited_in_place_and_none_goes_out_meanwhile() {
    let mut desk = desk_with_waiting(&["one", "two", "three", "four"]);
    desk.write("my draft");
    desk.press("alt-q");
    for _ in 0..3 {
        desk.press("shift-up");
    }
    assert_eq!(waiting(&desk), ["four", "one", "two", "three"]);
    // The turn ends while the list is open: nothing is sent.
    desk.event(complete());
    desk.press("down");
    desk.press("d");
    assert_eq!(waiting(&desk), ["four", "two", "three"]);
    desk.press("down");
    desk.press("enter");
    assert_eq!(desk.draft(), "three");
    desk.write(" and a half");
    desk.press("enter");
    assert_eq!((waiting(&desk), desk.draft()), (vec!["four", "two", "three and a half"], "my draft"));
    assert_eq!(desk.submitted(), [""; 0], "no message went out meanwhile");
    let shown = desk.screen();
    assert!(shown.contains("  ↳ four\n  ↳ two\n› ↳ three and a half\n"), "{shown}");
    desk.press("esc");
    assert_eq!(desk.submitted(), ["settings", "say four"]);
    desk.event(started());
    desk.event(complete());
    assert_eq!(desk.submitted(), ["say two"]);
}

#[test]
fn an_edit_can_be_left_and_a_message_sent_now() {
    let mut desk = desk_with_waiting(&["one", "two"]);
    desk.press("alt-q");
    desk.press("enter");
    desk.write(" changed");
    desk.press("esc");
    assert_eq!((waiting(&desk), desk.draft()), (vec!["one", "two"], ""));
    desk.press("s");
    assert_eq!(desk.submitted(), ["settings", "say two"], "it is given to the running turn");
    desk.press("d");
    assert!(desk.app.waiting.is_none() && desk.app.queue.is_empty());
    desk.press("up");
    assert_eq!(desk.draft(), "one", "what was deleted can be recalled");
}

#[test]
fn an_interrupted_turn_brings_an_edited_message_back_with_the_others() {
    let mut desk = desk_with_waiting(&["one", "two"]);
    desk.write("draft");
    desk.press("alt-q");
    desk.press("enter");
    desk.write("!");
    desk.event(aborted());
    assert_eq!(desk.draft(), "one\ntwo!\ndraft");
    assert!(desk.app.waiting.is_none());
}

#[test]
fn an_edited_message_is_no_command_and_not_empty() {
    let mut desk = desk_with_waiting(&["one"]);
    desk.press("alt-q");
    desk.press("enter");
    desk.press("ctrl-u");
    desk.press("enter");
    desk.write("/status");
    desk.press("esc");
    desk.press("enter");
    assert_eq!((waiting(&desk), desk.draft()), (vec!["one"], "/status"));
    assert_eq!(desk.submitted(), [""; 0]);
}

#[test]
fn a_message_that_is_brought_back_leaves_the_draft() {
    let mut desk = desk_with_waiting(&["one", "two"]);
    desk.write("draft");
    desk.press("alt-up");
    assert_eq!((waiting(&desk), desk.draft()), (vec!["one"], "two\ndraft"));
}
