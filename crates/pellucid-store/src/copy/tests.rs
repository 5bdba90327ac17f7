//! A copy has the lines of its session, each as it was but for its time, without what is torn or not kept.

use std::fs;

use expect_test::Expect;
use expect_test::expect;
use pellucid_files::RealDisk;
use pellucid_testkit::Workspace;

use super::*;
use crate::detail::Detail;
use crate::tests::SESSION;

const TO: &str = "sessions/2026/01/03/rollout-2026-01-03T03-04-05-019a0000-0000-7000-8000-000000000002.jsonl";

fn line(kind: &str, payload: &str) -> String {
    format!("{{\"timestamp\":\"2000-01-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
}

/// Copies the first bytes of a file and gives the copy without its times.
fn copied(text: impl AsRef<[u8]>, upto: u64, detail: Detail) -> String {
    let home = Workspace::empty();
    let from = home.write(SESSION, text);
    let mut to = Recorder::new(RealDisk::shared(), home.path(TO)).keeping(detail);
    to.persist();
    copy(&from, upto, &mut to).unwrap();
    assert_eq!(to.failure(), None);
    let copied = home.read(TO);
    assert!(!copied.contains("2000-01-01"), "every line has a new time: {copied}");
    let without_time = |line: &str| {
        let (_, rest) = line.split_once("Z\",").unwrap();
        format!("{rest}\n")
    };
    copied.lines().map(without_time).collect()
}

#[track_caller]
fn check_copy(text: &str, expected: &Expect) {
    expected.assert_eq(&copied(text, u64::MAX, Detail::Limited));
}

#[test]
fn payloads_are_copied_to_the_byte() {
    // Odd spaces, escapes, unknown fields and numbers stay as another program wrote them.
    let payload =
        r#"{ "type":"message","role":"user", "content":[{"type":"input_text","text":"\u00e9 / \/"}],"later":1.50 }"#;
    check_copy(
        &[
            line("response_item", payload),
            line("compacted", r#"{"message":"s","replacement_history":null}"#),
            line("event_msg", r#"{"type":"agent_message","message":"x","more":{"b":1,"a":2}}"#),
        ]
        .concat(),
        &expect![[r#"
            "type":"response_item","payload":{ "type":"message","role":"user", "content":[{"type":"input_text","text":"\u00e9 / \/"}],"later":1.50 }}
            "type":"compacted","payload":{"message":"s","replacement_history":null}}
            "type":"event_msg","payload":{"type":"agent_message","message":"x","more":{"b":1,"a":2}}}
        "#]],
    );
}

#[test]
fn torn_foreign_and_blank_lines_are_left_out() {
    check_copy(
        &[
            "garbage\n\n   \n".to_owned(),
            line("hologram", "{}"),
            line("event_msg", r#"{"type":"dance"}"#),
            line("response_item", r#"{"type":"message","role":"user","content":[]}"#),
            "{\"timestamp\":\"2000-01-01T00:00:00.000Z\",\"type\":\"comp".to_owned(),
        ]
        .concat(),
        &expect![[r#"
            "type":"response_item","payload":{"type":"message","role":"user","content":[]}}
        "#]],
    );
    assert_eq!(copied(b"\xff\xfe\n\x00\n", u64::MAX, Detail::Limited), "");
}

#[test]
fn a_line_in_another_order_is_written_in_the_usual_one() {
    check_copy(
        concat!(
            r#"{"payload":{"message":"s"},"type":"compacted","timestamp":"2000-01-01T00:00:00.000Z"}"#,
            "\n",
            r#"{"payload":{"message":"x","type":"agent_message"},"type":"event_msg"}"#,
            "\n",
            r#"{"payload":{"message":"x","type":"warning"},"type":"event_msg"}"#,
            "\n",
            r#"{"payload":{"type":"exec_command_end"},"type":"event_msg"}"#,
            "\n",
        ),
        &expect![[r#"
            "type":"compacted","payload":{"message":"s"}}
            "type":"event_msg","payload":{"type":"agent_message","message":"x"}}
        "#]],
    );
}

#[test]
fn events_are_kept_as_the_new_session_keeps_them() {
    let text = [
        line("event_msg", r#"{"type":"user_message","message":"hi"}"#),
        line("event_msg", r#"{"type":"error","message":"x"}"#),
        line("event_msg", r#"{"type":"warning","message":"x"}"#),
        line("event_msg", r#"{"type":"mcp_tool_call_end","odd":1}"#),
        line("event_msg", r#"{"type":"undo_completed"}"#),
        line("event_msg", r#"{"type":"plan_update","plan":[]}"#),
    ]
    .concat();
    expect![[r#"
        "type":"event_msg","payload":{"type":"user_message","message":"hi"}}
        "type":"event_msg","payload":{"type":"undo_completed"}}
    "#]]
    .assert_eq(&copied(&text, u64::MAX, Detail::Limited));
    expect![[r#"
        "type":"event_msg","payload":{"type":"user_message","message":"hi"}}
        "type":"event_msg","payload":{"type":"error","message":"x"}}
        "type":"event_msg","payload":{"type":"mcp_tool_call_end","odd":1}}
        "type":"event_msg","payload":{"type":"undo_completed"}}
    "#]]
    .assert_eq(&copied(&text, u64::MAX, Detail::Extended));
}

#[test]
fn only_the_beginning_that_was_asked_for_is_copied() {
    let lines: Vec<String> = (0..4).map(|n| line("compacted", &format!("{{\"message\":\"{n}\"}}"))).collect();
    let text = lines.concat();
    let mut upto = 0;
    for n in 0..=lines.len() {
        assert_eq!(copied(&text, upto as u64, Detail::Limited).lines().count(), n);
        upto += lines.get(n).map_or(0, String::len);
    }
    // A line that is cut is torn.
    assert_eq!(copied(&text, lines[0].len() as u64 + 9, Detail::Limited).lines().count(), 1);
}

#[test]
fn what_is_copied_is_sealed_with_the_new_session() {
    let home = Workspace::empty();
    let from = home.write(SESSION, line("compacted", r#"{"message":"s"}"#));
    let mut to = Recorder::new(RealDisk::shared(), home.path(TO));
    to.persist();
    copy(&from, u64::MAX, &mut to).unwrap();
    let piece = to.take_unsealed().unwrap();
    let bytes = fs::read(home.path(TO)).unwrap();
    assert_eq!((piece.from, piece.at), (0, bytes.len() as u64));
    assert_eq!(piece.sha256, crate::requests::chain::sha256(&bytes));
}

#[test]
fn a_file_that_is_gone_cannot_be_copied() {
    let home = Workspace::empty();
    let mut to = Recorder::none();
    let error = copy(&home.path("nowhere"), 1, &mut to).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
