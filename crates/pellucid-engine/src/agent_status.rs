//! The status of an agent, derived from its events.
//!
//! Not here: who keeps that in mind, and who waits for it.

use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::EventMessage;

/// How far an agent is after this event; absent when the event says nothing of that.
pub fn after(event: &EventMessage) -> Option<AgentStatus> {
    Some(match event {
        EventMessage::TaskStarted { .. } => AgentStatus::Running,
        EventMessage::TaskComplete { last_agent_message, .. } => AgentStatus::Completed(last_agent_message.clone()),
        EventMessage::TurnAborted { reason, .. } => AgentStatus::Errored(reason_name(*reason).to_owned()),
        EventMessage::Error { message, .. } => AgentStatus::Errored(message.clone()),
        EventMessage::ShutdownComplete => AgentStatus::Shutdown,
        _ => return None,
    })
}

fn reason_name(reason: AbortReason) -> &'static str {
    match reason {
        AbortReason::Interrupted => "Interrupted",
        AbortReason::Replaced => "Replaced",
        AbortReason::ReviewEnded => "ReviewEnded",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    /// Events as session files write them, a line each, and the status after each.
    #[track_caller]
    fn check_life(events: &str, expected: &Expect) {
        let mut status = AgentStatus::default();
        let mut shown = format!("{}\n", serde_json::to_string(&status).unwrap());
        for line in events.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let event: EventMessage = serde_json::from_str(line).unwrap();
            status = after(&event).unwrap_or(status);
            let rest = if status.is_final() { "final" } else { "going on" };
            shown += &format!("{} {rest}\n", serde_json::to_string(&status).unwrap());
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_turn_is_begun_and_answered() {
        check_life(
            r#"
            {"type":"task_started","turn_id":"t","model_context_window":null,"collaboration_mode_kind":"default"}
            {"type":"agent_message","message":"Twelve."}
            {"type":"task_complete","turn_id":"t","last_agent_message":"Twelve."}
            {"type":"task_started","turn_id":"u","model_context_window":null,"collaboration_mode_kind":"default"}
            {"type":"task_complete","turn_id":"u","last_agent_message":null}
            {"type":"shutdown_complete"}
            "#,
            &expect![[r#"
                "pending_init"
                "running" going on
                "running" going on
                {"completed":"Twelve."} final
                "running" going on
                {"completed":null} final
                "shutdown" final
            "#]],
        );
    }

    #[test]
    fn what_breaks_off_is_named() {
        check_life(
            r#"
            {"type":"task_started","turn_id":"t","model_context_window":null,"collaboration_mode_kind":"default"}
            {"type":"turn_aborted","turn_id":"t","reason":"interrupted"}
            {"type":"turn_aborted","turn_id":"t","reason":"replaced"}
            {"type":"turn_aborted","turn_id":"t","reason":"review_ended"}
            {"type":"error","message":"no credit"}
            {"type":"task_complete","turn_id":"t","last_agent_message":null}
            "#,
            &expect![[r#"
                "pending_init"
                "running" going on
                {"errored":"Interrupted"} final
                {"errored":"Replaced"} final
                {"errored":"ReviewEnded"} final
                {"errored":"no credit"} final
                {"completed":null} final
            "#]],
        );
    }
}
