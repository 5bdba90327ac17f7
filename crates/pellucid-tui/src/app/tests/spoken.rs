use super::*;
use crate::app::properties::events;

impl Desk {
    fn say_line(&mut self, line: &str) -> String {
        let now = self.now();
        self.effects.extend(self.app.line(line, now));
        self.app.spoken()
    }
}

fn spoken_desk() -> Desk {
    let mut desk = Desk::new();
    desk.app.settings.manner.is_spoken = true;
    desk
}

#[test]
fn a_turn_with_an_approval_is_lines_and_typed_lines() {
    let mut desk = spoken_desk();
    assert_eq!(desk.app.spoken(), concat!("Pellucid ", env!("CARGO_PKG_VERSION"), ": model m, folder /w.\n> "));
    assert_eq!(desk.app.spoken(), "", "nothing is written twice");
    assert_eq!(desk.say_line("hello\n"), "You: hello\n> ");
    assert_eq!(desk.submitted(), ["settings", "say hello"]);
    desk.event(started());
    assert_eq!(desk.app.spoken(), "\nWorking.\n> ");
    desk.event(asked("a"));
    let question = "Question:\nMay this command run?\n$ touch a\n1. Yes, run it (y)\n2. No, and say what to do instead (esc)\ne edits the command · tab adds a note · ? explains\nType the number or the letter of an answer, or esc.\n> ";
    assert_eq!(desk.app.spoken(), format!("\n{question}"));
    let why = "Error: this is no answer; the text is your draft now, and an empty line sends it\n";
    assert_eq!(desk.say_line("try it\n"), format!("{why}{question}"));
    assert_eq!((desk.submitted(), desk.draft()), (Vec::new(), "try it"));
    assert_eq!(desk.say_line("1\n"), "You approved running touch a this time\n> ");
    assert_eq!(desk.submitted(), ["Approved"]);
    assert_eq!(desk.say_line("\n"), "You: try it\n> ", "an empty line sends the draft");
    desk.event(complete());
    assert_eq!(desk.app.spoken(), "\nReady.\n> ");
    assert_eq!(desk.say_line("one \\\n"), "> ");
    assert_eq!(desk.say_line("two\n"), "You: one\ntwo\n> ");
}

#[test]
fn pages_and_menus_are_lines_too() {
    let mut desk = spoken_desk();
    desk.app.spoken();
    let keys = desk.say_line("/keymap\n");
    assert!(keys.starts_with("Keys\n") && keys.contains("composer.send") && !keys.contains('─'), "{keys}");
    assert!(desk.app.page.is_none());
    let menu = desk.say_line("/permissions\n");
    assert!(menu.contains("Question:\nWhat may run without a question?\n1. Default"), "{menu}");
    desk.say_line("2\n");
    assert!(desk.app.spoken().is_empty());
    desk.say_line("esc\n");
    assert!(desk.app.menu.is_none());
    desk.say_line("/rename\n");
    desk.say_line("a name\n");
    assert!(desk.effects.contains(&Effect::Ask(HostCall::Rename("a name".to_owned()))), "{:?}", desk.effects);
}

#[test]
fn every_event_is_printable_text_and_line_ends() {
    for text in ["plain", "a\u{1b}[31mb\u{7}\u{9b}2J\r\ttab\u{202e}\u{0}x\nsecond line"] {
        let mut desk = spoken_desk();
        let mut written = desk.app.spoken();
        for event in events(text) {
            let event: EventMessage =
                serde_json::from_value(event.clone()).unwrap_or_else(|why| panic!("{why}: {event}"));
            desk.event(event);
            written += &desk.app.spoken();
            written += &desk.say_line("1\n");
        }
        let strange: Vec<char> = written.chars().filter(|it| it.is_control() && *it != '\n').collect();
        assert_eq!(strange, [], "{text:?}");
        assert!(
            written.contains("Answer: ") && written.contains("Command: ") && written.contains("Plan: "),
            "{written}"
        );
        for mark in ["• ", "└", "✔", "✗", "■", "⚠", "□", "╭"] {
            assert!(!written.contains(mark), "{mark}: {written}");
        }
    }
}

#[test]
fn lines_of_a_diff_and_steps_have_words_for_their_marks() {
    let mut desk = spoken_desk();
    desk.app.spoken();
    let update = json!({ "type": "plan_update", "explanation": null, "plan": [
        { "step": "look", "status": "completed" }, { "step": "write", "status": "in_progress" }, { "step": "rest", "status": "pending" },
    ] });
    desk.event(serde_json::from_value(update).unwrap());
    assert_eq!(desk.app.spoken(), "\nPlan:\nDone: look\nIn progress: write\nTo do: rest\n> ");
    let patch = json!({
        "type": "patch_apply_end", "call_id": "p", "turn_id": "t", "stdout": "", "stderr": "", "success": true, "status": "completed",
        "changes": { "/w/a.txt": { "type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n same\n-old\n+new\n", "move_path": null } },
    });
    desk.event(serde_json::from_value(patch).unwrap());
    assert_eq!(desk.app.spoken(), "\nEdited a.txt (+1 -1)\nLine 1: same\nLine 2 removed: old\nLine 2 added: new\n> ");
}
