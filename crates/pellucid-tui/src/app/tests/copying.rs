use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::TurnItem;

use super::*;

fn answer(markdown: &str) -> EventMessage {
    let content = vec![AgentContent::Text { text: markdown.to_owned() }];
    let event = json!({
        "type": "item_completed", "thread_id": "s", "turn_id": "t",
        "item": { "type": "AgentMessage", "id": "i", "content": [{ "type": "Text", "text": markdown }] },
    });
    let event: EventMessage = serde_json::from_value(event).unwrap();
    assert!(
        matches!(&event, EventMessage::ItemCompleted { item: TurnItem::AgentMessage { content: it, .. }, .. } if *it == content)
    );
    event
}

fn ran(command: &str, output: &str) -> EventMessage {
    serde_json::from_value(json!({
        "type": "exec_command_end", "turn_id": "t", "call_id": "c", "command": ["bash", "-lc", command], "cwd": "/w",
        "source": "agent", "parsed_cmd": [{ "type": "unknown", "cmd": command }], "stdout": output, "stderr": "",
        "aggregated_output": output, "exit_code": 0, "formatted_output": output,
        "duration": { "secs": 0, "nanos": 0 }, "status": "completed",
    }))
    .unwrap()
}

impl Desk {
    /// What a command put into the clipboard, or what it said instead.
    fn copied(&mut self, line: &str) -> Result<String, String> {
        self.effects.clear();
        self.app.take_history();
        self.write(line);
        self.press("enter");
        let written = self.effects.iter().find_map(|effect| match effect {
            Effect::Write(bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
            _ => None,
        });
        let Some(written) = written else {
            return Err(self.app.take_history().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        };
        let payload = written.strip_prefix("\x1b]52;c;").unwrap().strip_suffix('\x07').unwrap();
        Ok(String::from_utf8(BASE64_STANDARD.decode(payload).unwrap()).unwrap())
    }
}

#[test]
fn what_was_said_is_copied_byte_for_byte() {
    let mut desk = Desk::new();
    let markdown = "A *long* line that is wider than the terminal is, and would be wrapped on the screen, but not here.\n\n```rust\nfn  main() {\n\t1\n}\n```\n\n- é\n\n```\nlast\n```";
    desk.event(started());
    desk.event(answer("An earlier answer"));
    desk.event(ran("printf 'a\tb'\necho", "a\tb\n\nend  \n"));
    desk.event(answer(markdown));
    desk.event(complete());
    assert_eq!(desk.copied("/copy"), Ok(markdown.to_owned()));
    assert_eq!(desk.copied("/copy 1"), Ok("fn  main() {\n\t1\n}\n".to_owned()));
    assert_eq!(desk.copied("/copy 2"), Ok("last\n".to_owned()));
    assert_eq!(desk.copied("/copy command"), Ok("printf 'a\tb'\necho".to_owned()));
    assert_eq!(desk.copied("/copy output"), Ok("a\tb\n\nend  \n".to_owned()));
    let why = desk.copied("/copy 3").unwrap_err();
    assert!(why.contains("there is no 3 to copy; /copy takes 1, 2, command, output"), "{why}");
}

#[test]
fn a_list_shows_what_can_be_copied() {
    let mut desk = Desk::new();
    assert!(desk.copied("/copy").unwrap_err().contains("there is no answer to copy yet"));
    desk.event(started());
    desk.event(answer("```\none\n```"));
    desk.event(complete());
    assert!(desk.copied("/copy list").is_err());
    let shown = desk.screen();
    assert!(shown.contains("1. the last answer") && shown.contains("2. block 1 of the last answer"), "{shown}");
    desk.press("2");
    let written = desk.effects.iter().find(|effect| matches!(effect, Effect::Write(_)));
    assert_eq!(written, Some(&Effect::Write(b"\x1b]52;c;b25lCg==\x07".to_vec())));
}

#[test]
fn a_text_that_is_too_long_for_terminals_is_not_sent() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(answer(&"x".repeat(74_995)));
    desk.event(complete());
    let why = desk.copied("/copy").unwrap_err();
    assert!(why.contains("the last answer has 74995 bytes"), "{why}");
}
