//! What people learn beside the conversation: warnings, what was left out, broken caches, servers that failed.

use agent_client_protocol::v1::schema::Notice;
use agent_client_protocol::v1::schema::NoticeSeverity;
use agent_client_protocol::v1::schema::SessionUpdate;
use pellucid_protocol::event::EventMessage;

use super::Outgoing;
use super::View;
use super::chunk;

/// How many bytes of a text are the title of a notice.
const TITLE_BYTES: usize = 160;

impl View {
    /// The notice of an event, if people should learn of it.
    pub(super) fn notice(&mut self, event: &EventMessage) -> Vec<Outgoing> {
        let (severity, title, description) = match event {
            EventMessage::Warning { message } => (NoticeSeverity::Warning, message.clone(), None),
            EventMessage::DeprecationNotice { summary, details } => {
                (NoticeSeverity::Info, summary.clone(), details.clone())
            }
            EventMessage::StreamError { message, additional_details, plain, .. } => {
                (NoticeSeverity::Warning, message.clone(), plain.clone().or_else(|| additional_details.clone()))
            }
            EventMessage::ModelReroute { from_model, to_model, .. } => {
                (NoticeSeverity::Warning, format!("{to_model} answers instead of {from_model}"), None)
            }
            EventMessage::McpStartupComplete { failed, .. } => {
                let failed = failed.iter().flat_map(|it| {
                    let title = format!("the MCP server {} cannot be used", it.server);
                    self.note(NoticeSeverity::Error, title, Some(it.error.clone()))
                });
                return failed.collect::<Vec<_>>();
            }
            EventMessage::ContextOmission { part, what, why, bytes } => (
                NoticeSeverity::Warning,
                format!("{what} is left out or cut: {why}"),
                Some(format!("{part}, {bytes} bytes")),
            ),
            EventMessage::ContextCacheBreak(broken) | EventMessage::ContextResumeCost(broken) => {
                let title = format!(
                    "about {} tokens are paid for again: {} differs from the request before ({})",
                    broken.tokens_rebilled, broken.part, broken.cause
                );
                (NoticeSeverity::Info, title, Some(broken.source.clone()))
            }
            EventMessage::ContextFileChanged { message } => (NoticeSeverity::Info, message.clone(), None),
            _ => return Vec::new(),
        };
        self.note(severity, title, description)
    }

    /// A notice. Clients that show none receive warnings and errors as a thought, which is no part of the answer.
    pub fn note(&mut self, severity: NoticeSeverity, text: String, description: Option<String>) -> Vec<Outgoing> {
        if self.shown.notices {
            let (title, rest) = titled(text);
            let description = match (rest, description) {
                (Some(rest), Some(more)) => Some(format!("{rest}\n{more}")),
                (rest, more) => rest.or(more),
            };
            return vec![SessionUpdate::Notice(Notice::new(severity, title).description(description)).into()];
        }
        if severity == NoticeSeverity::Info {
            return Vec::new();
        }
        self.n_notices += 1;
        let more = description.map(|more| format!(" ({more})")).unwrap_or_default();
        let id = format!("notice-{}", self.n_notices);
        vec![SessionUpdate::AgentThoughtChunk(chunk(&format!("{text}{more}\n"), &id)).into()]
    }
}

/// The first line of a text, and the whole text if it has more.
fn titled(text: String) -> (String, Option<String>) {
    let line = text.lines().next().unwrap_or_default();
    if line.len() == text.trim_end().len() && line.len() <= TITLE_BYTES {
        return (line.to_owned(), None);
    }
    let title = super::calls::cut(line, TITLE_BYTES);
    (title, Some(text))
}
