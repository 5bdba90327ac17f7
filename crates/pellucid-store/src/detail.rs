//! How much of what happens a session file keeps.
//!
//! The conversation is always kept, which is enough to resume a session and to show it. Events of tools are kept
//! beside it on demand, without output that is already part of the conversation.

use std::borrow::Cow;

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::exec::ExecCommandEnd;

use crate::record::event_name;

/// How much a session file keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// The conversation without events of tools.
    #[default]
    Limited,
    /// The conversation and the events of tools.
    Extended,
}

/// Longer output of a command is cut to this many bytes.
const OUTPUT_BYTES_MAX: usize = 10_000;

/// Events of either kind that another program may have written in a form that we cannot read.
const SAID: [&str; 3] = ["entered_review_mode", "exited_review_mode", "undo_completed"];
const DONE: [&str; 11] = [
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "error",
    "exec_command_end",
    "mcp_tool_call_end",
    "patch_apply_end",
    "view_image_tool_call",
    "web_search_end",
];

/// The event in the form of the file, or `None` if it is not kept.
pub(crate) fn kept(event: &EventMessage, detail: Detail) -> Option<Cow<'_, EventMessage>> {
    match event {
        EventMessage::ExecCommandEnd(end) if detail == Detail::Extended => {
            Some(Cow::Owned(EventMessage::ExecCommandEnd(Box::new(short(end)))))
        }
        _ => is_kept(event, detail).then_some(Cow::Borrowed(event)),
    }
}

/// Whether an event of this payload is worth keeping in a copy of its session.
pub(crate) fn is_kept_payload(payload: &[u8], detail: Detail) -> bool {
    match serde_json::from_slice::<EventMessage>(payload) {
        Ok(event) => is_kept(&event, detail),
        Err(_) => event_name(payload)
            .is_some_and(|name| SAID.contains(&name) || (detail == Detail::Extended && DONE.contains(&name))),
    }
}

fn is_kept(event: &EventMessage, detail: Detail) -> bool {
    match event {
        EventMessage::UserMessage { .. }
        | EventMessage::AgentMessage { .. }
        | EventMessage::AgentReasoning { .. }
        | EventMessage::AgentReasoningRawContent { .. }
        | EventMessage::TokenCount { .. }
        | EventMessage::ContextCompacted
        | EventMessage::EnteredReviewMode { .. }
        | EventMessage::ExitedReviewMode { .. }
        | EventMessage::ThreadRolledBack { .. }
        | EventMessage::UndoCompleted { .. }
        | EventMessage::TurnAborted { .. }
        | EventMessage::TaskStarted { .. }
        | EventMessage::TaskComplete { .. }
        | EventMessage::ItemCompleted { item: TurnItem::Plan { .. }, .. } => true,
        EventMessage::Error { .. }
        | EventMessage::WebSearchEnd { .. }
        | EventMessage::ExecCommandEnd(_)
        | EventMessage::PatchApplyEnd(_)
        | EventMessage::CollabAgentSpawnEnd { .. }
        | EventMessage::CollabAgentInteractionEnd { .. }
        | EventMessage::CollabWaitingEnd { .. }
        | EventMessage::CollabCloseEnd { .. }
        | EventMessage::CollabResumeEnd { .. }
        | EventMessage::McpToolCallEnd(_)
        | EventMessage::ViewImageToolCall { .. } => detail == Detail::Extended,
        _ => false,
    }
}

/// The end of a command with what is worth keeping of its output.
fn short(end: &ExecCommandEnd) -> ExecCommandEnd {
    ExecCommandEnd {
        begin: end.begin.clone(),
        stdout: String::new(),
        stderr: String::new(),
        aggregated_output: without_middle(&end.aggregated_output),
        formatted_output: String::new(),
        exit_code: end.exit_code,
        duration: end.duration,
        status: end.status,
    }
}

/// Keeps both ends of a text that is too long, and says how much is gone.
fn without_middle(text: &str) -> String {
    if text.len() <= OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    let half = OUTPUT_BYTES_MAX / 2;
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    format!("{}…{} chars truncated…{}", &text[..head], text[head..tail].chars().count(), &text[tail..])
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    /// Checks what is kept of these events in either case.
    #[track_caller]
    fn check_kept(events: &[serde_json::Value], expected: &Expect) {
        let mut lines = String::new();
        for event in events {
            let event: EventMessage = serde_json::from_value(event.clone()).unwrap();
            for detail in [Detail::Limited, Detail::Extended] {
                let kept = kept(&event, detail);
                assert_eq!(kept.is_some(), is_kept_payload(&serde_json::to_vec(&event).unwrap(), detail));
                let kept = kept.map_or_else(|| "-".to_owned(), |event| serde_json::to_string(&event).unwrap());
                lines += &format!("{detail:?} {kept}\n");
            }
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn what_tools_did_is_kept_only_in_detail() {
        let end = json!({"type": "exec_command_end", "call_id": "c", "turn_id": "t", "command": ["a"], "cwd": "/w",
            "parsed_cmd": [], "source": "agent", "stdout": "out", "stderr": "err", "aggregated_output": "outerr",
            "exit_code": 0, "duration": {"secs": 0, "nanos": 0}, "formatted_output": "outerr", "status": "completed"});
        check_kept(
            &[
                json!({"type": "agent_message", "message": "x"}),
                json!({"type": "error", "message": "x"}),
                json!({"type": "warning", "message": "x"}),
                end,
            ],
            &expect![[r#"
                Limited {"type":"agent_message","message":"x"}
                Extended {"type":"agent_message","message":"x"}
                Limited -
                Extended {"type":"error","message":"x"}
                Limited -
                Extended -
                Limited -
                Extended {"type":"exec_command_end","call_id":"c","turn_id":"t","command":["a"],"cwd":"/w","parsed_cmd":[],"source":"agent","stdout":"","stderr":"","aggregated_output":"outerr","exit_code":0,"duration":{"secs":0,"nanos":0},"formatted_output":"","status":"completed"}
            "#]],
        );
    }

    #[test]
    fn long_output_loses_its_middle_between_characters() {
        let text = format!("a{}", "é".repeat(6000));
        let cut = without_middle(&text);
        assert!(cut.contains("é…1001 chars truncated…é"), "{cut}");
        assert_eq!(without_middle(&text[..9999]), text[..9999]);
    }

    #[test]
    fn what_another_program_did_is_kept_in_detail_even_if_it_cannot_be_read() {
        let payload = br#"{"type":"mcp_tool_call_end","call_id":"c"}"#;
        assert!(!is_kept_payload(payload, Detail::Limited));
        assert!(is_kept_payload(payload, Detail::Extended));
        assert!(!is_kept_payload(br#"{"type":"dance"}"#, Detail::Extended));
    }
}
