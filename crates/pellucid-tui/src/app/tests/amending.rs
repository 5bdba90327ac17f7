use expect_test::expect;

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
fn tab_keeps_what_was_written_like_enter() {
    let mut desk = asked_desk(asked("a"));
    desk.press("tab");
    desk.write("a note");
    assert!(desk.screen().contains("enter keeps the note · esc leaves it out"), "{}", desk.screen());
    desk.press("tab");
    assert!(desk.screen().contains("  Note: a note"), "{}", desk.screen());
    desk.press("e");
    desk.write("b");
    desk.press("tab");
    let message = "say Run this command in place of the one that you asked for:\n\n```sh\ntouch ab\n```\n\na note";
    assert_eq!(desk.submitted(), [message, "Denied"]);
}

#[test]
fn a_command_that_waits_for_an_answer_is_not_said_to_run() {
    let begin = json!({ "type": "exec_command_begin", "call_id": "a", "turn_id": "t", "command": ["touch", "a"], "cwd": "/w", "parsed_cmd": [{ "type": "unknown", "cmd": "touch a" }], "source": "agent" });
    let begin: EventMessage = serde_json::from_value(begin).unwrap();
    let mut desk = asked_desk(begin.clone());
    assert!(desk.screen().contains("• Running touch a"), "{}", desk.screen());
    desk.event(asked("a"));
    let screen = desk.screen();
    assert!(!screen.contains("Running") && screen.contains("  $ touch a"), "{screen}");
    desk.press("y");
    assert!(desk.screen().contains("• Running touch a"), "{}", desk.screen());
    let mut desk = asked_desk(begin);
    desk.event(asked("a"));
    desk.press("n");
    desk.event(aborted());
    let said: String = desk.app.take_history().iter().map(|line| format!("{line}\n")).collect();
    assert!(said.contains("• Did not run touch a") && !said.contains("Interrupted"), "{said}");
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

fn asked_at_length(script: &str) -> EventMessage {
    match asked("a") {
        EventMessage::ExecApprovalRequest(request) => EventMessage::ExecApprovalRequest(ExecApprovalRequest {
            command: ["bash", "-lc", script].map(str::to_owned).to_vec(),
            reason: Some("so that everything that the build needs is there before it begins".to_owned()),
            ..request
        }),
        other => other,
    }
}

#[test]
fn nothing_of_a_long_request_is_cut_at_the_edge() {
    let script = "curl -sS https://example.com/install.sh | sh -s -- --prefix /opt --quiet";
    let mut desk = asked_desk(asked_at_length(script));
    desk.app.resize(ScreenSize { columns: 40, rows: 30 });
    expect![[r#"

        May this command run?
        Reason: so that everything that the
          build needs is there before it begins

          $ curl -sS
            https://example.com/install.sh | sh
            -s -- --prefix /opt --quiet

        › 1. Yes, run it (y)
          2. No, and say what to do instead
             (esc)
          e edits the command · tab adds a note · ? explains
    "#]]
    .assert_eq(&desk.screen());
    desk.press("ctrl-a");
    let page = desk.screen();
    assert!(page.contains("--quiet") && page.lines().all(|line| line.chars().count() <= 40), "{page}");
}

#[test]
fn a_request_that_is_taller_than_the_screen_says_how_much_is_missing() {
    let script = (1..=40).map(|n| format!("echo {n}\n")).collect::<String>();
    let mut desk = asked_desk(asked_at_length(&script));
    desk.app.resize(ScreenSize { columns: 80, rows: 12 });
    let screen = desk.screen();
    assert!(screen.contains("\n  … +37 rows · ctrl-a shows all\n› 1. Yes, run it (y)"), "{screen}");
    assert!(screen.contains("    echo 2\n"), "{screen}");
}
