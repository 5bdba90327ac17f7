//! What a client that wants progress receives of a turn: a line for each step.

use pellucid_engine::command_line::joined;
use pellucid_engine::visible::visible;
use pellucid_protocol::event::EventMessage;

/// How many characters a line has.
const CHARS_MAX: usize = 200;

/// The line about an event, if it is a step.
pub fn text(message: &EventMessage) -> Option<String> {
    let text = match message {
        EventMessage::TaskStarted { .. } => "the turn began".to_owned(),
        EventMessage::ExecCommandBegin(begin) => format!("runs {}", joined(&begin.command)),
        EventMessage::ExecCommandEnd(end) => {
            format!("ended with code {}: {}", end.exit_code, joined(&end.begin.command))
        }
        EventMessage::PatchApplyBegin(begin) => {
            let paths: Vec<String> = begin.changes.keys().map(|path| path.display().to_string()).collect();
            format!("changes {}", paths.join(", "))
        }
        EventMessage::McpToolCallBegin(begin) => {
            format!("calls {} of {}", begin.invocation.tool, begin.invocation.server)
        }
        EventMessage::WebSearchBegin { .. } => "searches the web".to_owned(),
        EventMessage::AgentMessage { message } => message.clone(),
        EventMessage::ContextCompacted => "replaced the history by a summary".to_owned(),
        EventMessage::Warning { message } => format!("warning: {message}"),
        EventMessage::StreamError { message, .. } => message.clone(),
        _ => return None,
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(visible(&line.chars().take(CHARS_MAX).collect::<String>()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_short_line() {
        let message = EventMessage::AgentMessage { message: format!("a\n b\t{}", "x".repeat(500)) };
        let line = text(&message).unwrap();
        assert!(line.starts_with("a b x"), "{line}");
        assert_eq!(line.chars().count(), CHARS_MAX);
        assert_eq!(text(&EventMessage::ShutdownComplete), None);
    }
}
