//! What a session does with other agents: starts them, writes to them, waits for them, closes them.

use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::event::EventMessage;

use super::notice::NoticeCell;
use super::notice::NoticeKind;

/// The note that an event about another agent is, when the call has ended.
pub fn agent_notice(event: &EventMessage) -> Option<NoticeCell> {
    let (text, details, status) = match event {
        EventMessage::CollabAgentSpawnEnd { new_thread_id, prompt, status, .. } => match new_thread_id {
            Some(id) => (format!("Started agent {id}"), Some(prompt.clone()), Some(status)),
            None => ("An agent could not be started".to_owned(), Some(prompt.clone()), Some(status)),
        },
        EventMessage::CollabAgentInteractionEnd { receiver_thread_id, prompt, status, .. } => {
            (format!("Sent a message to agent {receiver_thread_id}"), Some(prompt.clone()), Some(status))
        }
        EventMessage::CollabWaitingEnd { statuses, .. } if statuses.is_empty() => {
            ("Stopped waiting for agents: none is done".to_owned(), None, None)
        }
        EventMessage::CollabWaitingEnd { statuses, .. } => {
            let rows: Vec<String> = statuses.iter().map(|(id, status)| format!("{id}: {}", words(status))).collect();
            ("Waited for agents".to_owned(), Some(rows.join("\n")), None)
        }
        EventMessage::CollabCloseEnd { receiver_thread_id, status, .. } => {
            (format!("Closed agent {receiver_thread_id}"), None, Some(status))
        }
        EventMessage::CollabResumeEnd { receiver_thread_id, status, .. } => {
            (format!("Resumed agent {receiver_thread_id}"), None, Some(status))
        }
        _ => return None,
    };
    let failure = status.filter(|status| status.is_failure());
    let kind = if failure.is_some() { NoticeKind::Error } else { NoticeKind::Info };
    let text = failure.map_or(text.clone(), |status| format!("{text}: {}", words(status)));
    Some(NoticeCell { kind, text, details: details.map(|it| shortened(&it)) })
}

/// The first lines of a text for another agent.
fn shortened(text: &str) -> String {
    const LINES: usize = 3;
    let lines: Vec<&str> = text.trim().lines().collect();
    match lines.len().saturating_sub(LINES) {
        0 => lines.join("\n"),
        missing => format!("{}\n… +{missing} lines", lines[..LINES].join("\n")),
    }
}

fn words(status: &AgentStatus) -> String {
    match status {
        AgentStatus::PendingInit => "is starting".to_owned(),
        AgentStatus::Running => "is working".to_owned(),
        AgentStatus::Completed(None) => "is done".to_owned(),
        AgentStatus::Completed(Some(answer)) => format!("is done: {}", answer.lines().next().unwrap_or_default()),
        AgentStatus::Errored(error) => format!("failed: {error}"),
        AgentStatus::Shutdown => "is closed".to_owned(),
        AgentStatus::NotFound => "does not exist".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::id::SessionId;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[test]
    fn agents_are_named_with_their_state() {
        let (one, two) = (SessionId::new("a1"), SessionId::new("b2"));
        let call_id = || "c".to_owned();
        let events = [
            EventMessage::CollabAgentSpawnEnd {
                call_id: call_id(),
                sender_thread_id: one.clone(),
                new_thread_id: Some(two.clone()),
                prompt: "1\n2\n3\n4\n5".to_owned(),
                status: AgentStatus::Running,
            },
            EventMessage::CollabWaitingEnd {
                call_id: call_id(),
                sender_thread_id: one.clone(),
                statuses: [(two.clone(), AgentStatus::Completed(Some("Done.\nmore".to_owned())))].into(),
            },
            EventMessage::CollabCloseEnd {
                call_id: call_id(),
                sender_thread_id: one.clone(),
                receiver_thread_id: two,
                status: AgentStatus::NotFound,
            },
        ];
        let text: String = events.iter().map(|it| shown(&agent_notice(it).unwrap().lines(&CANVAS(60)))).collect();
        expect![[r#"
            • Started agent b2|
              1|
              2|
              3|
              … +2 lines|
            • Waited for agents|
              b2: is done: Done.|
            ■ Closed agent b2: does not exist|
        "#]]
        .assert_eq(&text);
        let begin = EventMessage::CollabWaitingBegin {
            call_id: call_id(),
            sender_thread_id: one,
            receiver_thread_ids: Vec::new(),
        };
        assert_eq!(agent_notice(&begin), None);
    }
}
