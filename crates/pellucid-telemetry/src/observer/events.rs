//! Events that clients see: sessions and turns, inputs, reviews.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::failure::FailureCode;

use super::CALLS_MAX;
use super::Observer;
use super::Part;
use super::Turn;
use super::attribute;
use super::internal;
use super::milliseconds;
use super::seconds;
use crate::names;
use crate::record::Nanoseconds;
use crate::record::SpanRecord;

/// Why a turn failed that was interrupted.
const INTERRUPTED: &str = "interrupted";

impl Observer {
    /// Notes an event that clients are sent.
    pub fn event(&mut self, at: Nanoseconds, event: &EventMessage) {
        // What a reviewer does is observed in its own session.
        let is_reviewing = self.turn.as_ref().is_some_and(|turn| turn.name == names::REVIEW);
        match event {
            EventMessage::SessionConfigured(_) => self.session_begins(at),
            EventMessage::EnteredReviewMode { .. } if self.turn.is_none() => self.begin_turn(at, names::REVIEW),
            EventMessage::TaskComplete { .. } => self.turn_ends(at, None),
            EventMessage::TurnAborted { .. } => self.turn_ends(at, Some(INTERRUPTED)),
            EventMessage::Error { failure, .. } => self.failed(failure.code),
            EventMessage::ShutdownComplete => self.session_ends(at),
            _ if is_reviewing => {}
            EventMessage::TaskStarted { .. } => {
                self.end_turn(at);
                self.begin_turn(at, names::INVOKE_AGENT);
            }
            EventMessage::UserMessage { message, .. } => self.prompt(at, message),
            EventMessage::McpToolCallBegin(begin) if self.mcp_calls.len() < CALLS_MAX => {
                self.mcp_calls.insert(begin.call_id.clone());
            }
            EventMessage::ItemCompleted { item: TurnItem::ContextCompaction { .. }, .. } => self.compacted(at),
            EventMessage::UndoCompleted { .. } => self.count(&names::TASK_UNDO, Vec::new()),
            _ => {}
        }
    }

    fn session_begins(&mut self, at: Nanoseconds) {
        let facts = &self.facts;
        let mut attributes = vec![attribute(names::PROVIDER_NAME, facts.provider_name.as_str())];
        attributes.extend(facts.settings.reasoning_effort.as_deref().map(|it| attribute(names::REASONING_EFFORT, it)));
        attributes.push(attribute(names::REASONING_SUMMARY, facts.settings.reasoning_summary.as_str()));
        attributes.extend(facts.settings.context_window.map(|it| attribute(names::CONTEXT_WINDOW, it)));
        attributes.extend(facts.settings.compact_limit.map(|it| attribute(names::COMPACT_LIMIT, it)));
        attributes.push(attribute(names::APPROVAL_POLICY, facts.settings.approval_policy.as_str()));
        attributes.push(attribute(names::SANDBOX_POLICY, facts.settings.sandbox_policy.as_str()));
        attributes.push(attribute(names::MCP_SERVERS, facts.settings.mcp_servers.join(", ")));
        attributes.extend(facts.settings.profile.as_deref().map(|it| attribute(names::ACTIVE_PROFILE, it)));
        let is_git = facts.is_git.to_string();
        self.log(at, names::CONVERSATION_STARTS, attributes);
        self.count(&names::THREAD_STARTED, vec![attribute(names::IS_GIT, is_git)]);
    }

    fn session_ends(&mut self, at: Nanoseconds) {
        self.end_turn(at);
        self.close_chats(at);
    }

    fn prompt(&mut self, at: Nanoseconds, text: &str) {
        let length = text.chars().count().to_string();
        let mut attributes = vec![attribute(names::PROMPT_LENGTH, length)];
        attributes.extend(self.text(names::PROMPT, names::PROMPT_SHA256, Some(text), self.exported.prompt));
        self.log(at, names::USER_PROMPT, attributes);
    }

    fn failed(&mut self, code: FailureCode) {
        if let Some(turn) = &mut self.turn {
            turn.error = Some(code.word().to_owned());
        }
    }

    fn turn_ends(&mut self, at: Nanoseconds, error: Option<&str>) {
        if let (Some(turn), Some(error)) = (&mut self.turn, error) {
            turn.error = Some(error.to_owned());
        }
        self.end_turn(at);
    }

    /// Ends the turn that runs, with its requests and its parts.
    pub(super) fn end_turn(&mut self, at: Nanoseconds) {
        if self.turn.is_none() {
            return;
        }
        self.close_chats(at);
        self.end_compaction(at, None);
        self.mcp_calls.clear();
        self.arguments.clear();
        self.outputs.clear();
        let Some(turn) = self.turn.take() else { return };
        if turn.name == names::REVIEW {
            self.count(&names::TASK_REVIEW, Vec::new());
        }
        self.count(&names::TURN_COUNT, Vec::new());
        self.measure_ms(&names::TURN_DURATION, milliseconds(turn.start, at), Vec::new());
        let error = turn.error.as_deref().map(|it| attribute(names::ERROR_TYPE, it));
        let about = self.about_operation(names::INVOKE_AGENT).into_iter().chain(error).collect();
        self.measure(&names::INVOKE_AGENT_DURATION, seconds(turn.start, at), about);
        let span = self.span_of(turn, at);
        self.span(span);
    }

    fn span_of(&self, turn: Turn, at: Nanoseconds) -> SpanRecord {
        let facts = &self.facts;
        let is_review = turn.name == names::REVIEW;
        let name = if is_review { turn.name.to_owned() } else { format!("{} {}", turn.name, super::AGENT) };
        let mut span = internal(turn.context, turn.parent, name, turn.start, at);
        span.attributes = vec![
            attribute(names::OPERATION_NAME, names::INVOKE_AGENT),
            attribute(names::AGENT_NAME, super::AGENT),
            attribute(names::AGENT_VERSION, facts.version.as_str()),
            attribute(names::GEN_AI_CONVERSATION, facts.session.as_str()),
            self.provider(),
            attribute(names::REQUEST_MODEL, facts.model.as_str()),
            attribute(names::PACK, facts.pack.as_str()),
            attribute(names::PACK_SHA256, facts.pack_sha256.as_str()),
        ];
        span.attributes.extend(facts.kind.map(|it| attribute(names::SESSION_KIND, it)));
        span.attributes.extend(self.usage(turn.usage.as_ref(), turn.cache_write));
        span.attributes.extend(turn.error.as_deref().map(|it| attribute(names::ERROR_TYPE, it)));
        span.has_failed = turn.error.is_some();
        span.links = turn.links;
        span
    }

    /// Begins to make the history shorter, if that has not begun.
    pub(super) fn begin_compaction(&mut self, at: Nanoseconds) {
        let context = self.turn.as_ref().map(|turn| turn.context.beside(&[&self.seed, "compact", &at.to_string()]));
        if let (Some(turn), Some(context)) = (&mut self.turn, context) {
            turn.compact.get_or_insert(Part { context, start: at });
        }
    }

    fn compacted(&mut self, at: Nanoseconds) {
        let is_asked = self.turn.as_ref().is_none_or(|turn| !turn.has_answers);
        let kind = if is_asked { "manual" } else { "auto" };
        self.count(&names::TASK_COMPACT, vec![attribute(names::TYPE, kind)]);
        self.close_chats(at);
        self.end_compaction(at, Some(()));
    }

    fn end_compaction(&mut self, at: Nanoseconds, done: Option<()>) {
        let Some(turn) = &mut self.turn else { return };
        let Some(part) = turn.compact.take() else { return };
        let mut span = internal(part.context, Some(turn.context.span), names::COMPACT.to_owned(), part.start, at);
        span.has_failed = done.is_none();
        span.attributes = vec![attribute(names::GEN_AI_CONVERSATION, self.facts.session.as_str())];
        if done.is_none() {
            span.attributes.push(attribute(names::ERROR_TYPE, INTERRUPTED));
        }
        self.span(span);
    }
}
