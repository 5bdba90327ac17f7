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
        assert_eq!(cut, format!("a{}…1001 chars truncated…{}", "é".repeat(2499), "é".repeat(2500)));
        assert_eq!(without_middle(&text[..9999]), text[..9999]);
    }

    #[test]
    fn what_another_program_did_is_kept_in_detail_even_if_it_cannot_be_read() {
        let payload = br#"{"type":"mcp_tool_call_end","call_id":"c"}"#;
        assert!(!is_kept_payload(payload, Detail::Limited));
        assert!(is_kept_payload(payload, Detail::Extended));
        assert!(!is_kept_payload(br#"{"type":"dance"}"#, Detail::Extended));
    }

    /// An event of each kind that session files may keep, as short as it can be.
    fn keepable() -> Vec<serde_json::Value> {
        let (a, b) = ("019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002");
        let collab = |kind: &str| {
            json!({ "type": kind, "call_id": "c", "sender_thread_id": a, "receiver_thread_id": b, "prompt": "p",
                "status": "running" })
        };
        vec![
            json!({ "type": "user_message", "message": "x" }),
            json!({ "type": "agent_message", "message": "x" }),
            json!({ "type": "agent_reasoning", "text": "x" }),
            json!({ "type": "agent_reasoning_raw_content", "text": "x" }),
            json!({ "type": "token_count", "info": null, "rate_limits": null }),
            json!({ "type": "context_compacted" }),
            json!({ "type": "entered_review_mode", "target": { "type": "uncommittedChanges" } }),
            json!({ "type": "exited_review_mode", "review_output": null }),
            json!({ "type": "thread_rolled_back", "num_turns": 1 }),
            json!({ "type": "undo_completed", "success": true }),
            json!({ "type": "turn_aborted", "turn_id": "t", "reason": "interrupted" }),
            json!({ "type": "task_started", "turn_id": "t", "model_context_window": null }),
            json!({ "type": "task_complete", "turn_id": "t", "last_agent_message": null }),
            json!({ "type": "item_completed", "thread_id": a, "turn_id": "t",
                "item": { "type": "Plan", "id": "i", "text": "p" } }),
            json!({ "type": "error", "message": "x" }),
            json!({ "type": "web_search_end", "call_id": "c", "query": "q", "action": { "type": "other" } }),
            json!({ "type": "exec_command_end", "call_id": "c", "turn_id": "t", "command": [], "cwd": "/",
                "parsed_cmd": [], "source": "agent", "stdout": "", "stderr": "", "aggregated_output": "",
                "exit_code": 0, "duration": { "secs": 0, "nanos": 0 }, "formatted_output": "",
                "status": "completed" }),
            json!({ "type": "patch_apply_end", "call_id": "c", "turn_id": "t", "stdout": "", "stderr": "",
                "success": true, "changes": {}, "status": "completed" }),
            json!({ "type": "collab_agent_spawn_end", "call_id": "c", "sender_thread_id": a, "new_thread_id": b,
                "prompt": "p", "status": "running" }),
            collab("collab_agent_interaction_end"),
            json!({ "type": "collab_waiting_end", "sender_thread_id": a, "call_id": "c", "statuses": {} }),
            collab("collab_close_end"),
            collab("collab_resume_end"),
            json!({ "type": "mcp_tool_call_end", "call_id": "c",
                "invocation": { "server": "s", "tool": "t", "arguments": null },
                "duration": { "secs": 0, "nanos": 0 }, "result": { "Err": "x" } }),
            json!({ "type": "view_image_tool_call", "call_id": "c", "path": "/p" }),
        ]
    }

    /// Events that no session file keeps.
    fn passing() -> Vec<serde_json::Value> {
        let a = "019a0000-0000-7000-8000-000000000001";
        vec![
            json!({ "type": "warning", "message": "x" }),
            json!({ "type": "background_event", "message": "x" }),
            json!({ "type": "agent_message_delta", "delta": "x" }),
            json!({ "type": "turn_diff", "unified_diff": "x" }),
            json!({ "type": "plan_update", "plan": [] }),
            json!({ "type": "undo_started" }),
            json!({ "type": "web_search_begin", "call_id": "c" }),
            json!({ "type": "stream_error", "message": "x" }),
            json!({ "type": "shutdown_complete" }),
            json!({ "type": "item_completed", "thread_id": a, "turn_id": "t",
                "item": { "type": "ContextCompaction", "id": "i" } }),
            json!({ "type": "item_started", "thread_id": a, "turn_id": "t",
                "item": { "type": "Plan", "id": "i", "text": "p" } }),
        ]
    }

    #[test]
    fn every_event_is_kept_always_in_detail_or_never() {
        let names = |detail: Detail| -> Vec<String> {
            let all = keepable().into_iter().chain(passing());
            let events = all.map(|json| serde_json::from_value::<EventMessage>(json).unwrap());
            let kept = events.filter(|event| kept(event, detail).is_some());
            kept.map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()).collect()
        };
        let all: Vec<String> = keepable().iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names(Detail::Limited), all[..14]);
        assert_eq!(names(Detail::Extended), all);
    }

    #[test]
    fn an_event_that_is_kept_is_kept_whatever_another_program_wrote_into_it() {
        for json in keepable() {
            let name = json["type"].as_str().unwrap();
            let event: EventMessage = serde_json::from_value(json.clone()).unwrap();
            let odd = json!({ "type": name, "later": 1 }).to_string();
            for detail in [Detail::Limited, Detail::Extended] {
                assert_eq!(
                    kept(&event, detail).is_some(),
                    is_kept_payload(json.to_string().as_bytes(), detail),
                    "{name}"
                );
                let is_listed = SAID.contains(&name) || DONE.contains(&name);
                if is_listed {
                    assert_eq!(is_kept_payload(odd.as_bytes(), detail), kept(&event, detail).is_some(), "{name}");
                }
            }
        }
        for odd in ["", "null", "{}", "[1]", "{\"type\":7}", "\u{feff}"] {
            assert!(!is_kept_payload(odd.as_bytes(), Detail::Extended), "{odd:?}");
        }
    }

    #[test]
    fn only_the_whole_output_of_a_command_is_kept_and_not_more_than_its_ends() {
        let json = keepable().into_iter().find(|it| it["type"] == "exec_command_end").unwrap();
        let mut json = json;
        json["stdout"] = json!("out");
        json["stderr"] = json!("err");
        json["formatted_output"] = json!("formatted");
        json["aggregated_output"] = json!("x".repeat(OUTPUT_BYTES_MAX + 1));
        let event: EventMessage = serde_json::from_value(json.clone()).unwrap();
        let kept = serde_json::to_value(kept(&event, Detail::Extended).unwrap().as_ref()).unwrap();
        let half = "x".repeat(OUTPUT_BYTES_MAX / 2);
        json["stdout"] = json!("");
        json["stderr"] = json!("");
        json["formatted_output"] = json!("");
        json["aggregated_output"] = json!(format!("{half}…1 chars truncated…{half}"));
        assert_eq!(kept, json);
    }
}
