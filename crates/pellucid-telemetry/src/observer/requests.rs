//! Requests to models and their replies. A request has one span: attempts that failed are events of that span.

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::telemetry::TelemetryContent;

use super::CALLS_MAX;
use super::Observer;
use super::attribute;
use super::chosen;
use super::internal;
use super::milliseconds;
use super::seconds;
use crate::content;
use crate::facts::ObservedReply;
use crate::facts::RequestDetails;
use crate::facts::RequestFacts;
use crate::names;
use crate::record::Attribute;
use crate::record::AttributeValue;
use crate::record::ExportedRecord;
use crate::record::LogEvent;
use crate::record::Nanoseconds;
use crate::record::SpanKind;
use crate::record::SpanNote;
use crate::record::SpanRecord;
use crate::trace;
use crate::trace::SpanContext;

/// Why a request has no answer whose turn ended before.
const INTERRUPTED: &str = "interrupted";

/// How many requests can be under way at most; of more, the oldest are not exported.
const CHATS_MAX: usize = 64;

/// How many items of a reply are kept at most, for contents.
const REPLY_ITEMS_MAX: usize = 256;

/// How many attempts of a request have an event at most.
const RETRIES_MAX: usize = 32;

/// A request that is not answered yet, or failed and may be sent again.
#[derive(Debug)]
pub(super) struct Chat {
    context: SpanContext,
    parent: Option<[u8; 8]>,
    start: Nanoseconds,
    /// When the attempt that is under way began.
    attempt_start: Nanoseconds,
    facts: RequestFacts,
    model: String,
    first: Option<Nanoseconds>,
    last: Option<Nanoseconds>,
    /// How many HTTP attempts were exported.
    n_attempts: usize,
    /// When it failed, and why, if it may be sent again.
    failure: Option<(Nanoseconds, ObservedReply)>,
    events: Vec<SpanNote>,
    response_model: Option<String>,
    has_calls: bool,
    reply: Vec<Item>,
}

impl Chat {
    pub(super) fn context(&self) -> SpanContext {
        self.context
    }

    /// Whether the request waits for a reply.
    pub(super) fn is_under_way(&self) -> bool {
        self.failure.is_none()
    }

    /// Whether the reply comes as a stream of this session.
    fn is_streamed(&self) -> bool {
        !matches!(self.facts.purpose, "memory_summary" | "vectors")
    }

    fn event(&mut self, at: Nanoseconds, name: &'static str, attributes: Vec<Attribute>) {
        if self.events.len() < RETRIES_MAX {
            self.events.push(SpanNote { at, name, attributes });
        }
    }
}

impl Observer {
    /// Notes that a request is sent, for the first time or again.
    pub fn request(&mut self, at: Nanoseconds, facts: RequestFacts) {
        if facts.purpose == "answer_again" && self.sent_again(at, &facts) {
            return;
        }
        self.close_failed();
        match facts.purpose {
            "summary" | "provider_summary" => self.begin_compaction(at),
            "answer" => {
                if let Some(turn) = &mut self.turn {
                    turn.has_answers = true;
                }
            }
            _ => {}
        }
        if let Some(model) = facts.details.as_ref().map(|details| &details.model).filter(|model| !model.is_empty()) {
            self.facts.model.clone_from(model);
        }
        if let Some(broken) = &facts.cache_break {
            let tokens = i64::try_from(broken.tokens_rebilled).unwrap_or(i64::MAX);
            self.measure_n(&names::BROKEN_TOKENS, tokens, self.about_operation(names::CHAT));
        }
        let omitted = facts.details.as_ref().map_or(0, |details| details.omitted_bytes);
        if omitted > 0 {
            let omitted = i64::try_from(omitted).unwrap_or(i64::MAX);
            self.measure_n(&names::OMITTED_BYTES, omitted, self.about_operation(names::CHAT));
        }
        let (context, above) = self.below();
        if self.chats.len() >= CHATS_MAX {
            self.chats.remove(0);
        }
        self.chats.push(Chat {
            context,
            parent: above.map(|above| above.span),
            start: at,
            attempt_start: at,
            model: self.facts.model.clone(),
            facts,
            first: None,
            last: None,
            n_attempts: 0,
            failure: None,
            events: Vec::new(),
            response_model: None,
            has_calls: false,
            reply: Vec::new(),
        });
    }

    /// Adds an attempt to the request that failed before. Gives whether there is one.
    fn sent_again(&mut self, at: Nanoseconds, facts: &RequestFacts) -> bool {
        let Some(chat) = self.chats.iter_mut().rev().find(|chat| chat.failure.is_some()) else { return false };
        if let Some((failed_at, reply)) = chat.failure.take() {
            let why = reply.failure.unwrap_or_default();
            chat.event(failed_at, names::RETRY, vec![attribute(names::ERROR_TYPE, why)]);
        }
        // The number and the line are those of the attempt that is answered; the body is the same.
        (chat.facts.n, chat.facts.record) = (facts.n.or(chat.facts.n), facts.record.clone());
        (chat.attempt_start, chat.n_attempts, chat.first) = (at, 0, None);
        (chat.has_calls, chat.reply) = (false, Vec::new());
        true
    }

    /// Notes an event of the reply that is streamed. `attempts` are the statuses of all attempts so far.
    pub fn reply_event(&mut self, at: Nanoseconds, event: &ReplyEvent, attempts: impl FnOnce() -> Vec<Option<u16>>) {
        let Some(at_chat) = self.chats.iter().rposition(|chat| chat.is_under_way() && chat.is_streamed()) else {
            return;
        };
        if self.chats[at_chat].first.is_none() {
            let attempts = attempts();
            self.attempts(at_chat, at, &attempts, None);
            let chat = &mut self.chats[at_chat];
            chat.first = Some(at);
            chat.event(at, names::FIRST_CHUNK, Vec::new());
            if attempts.is_empty() && self.facts.may_use_socket {
                let duration = milliseconds(self.chats[at_chat].attempt_start, at).to_string();
                self.log(at, names::WEBSOCKET_REQUEST, vec![attribute(names::DURATION_MS, duration)]);
            }
        }
        let keeps_reply = self.exported.content != TelemetryContent::None;
        let chat = &mut self.chats[at_chat];
        match event {
            ReplyEvent::ServerModel(model) => chat.response_model = Some(model.clone()),
            ReplyEvent::ItemDone(item) => {
                chat.has_calls |= matches!(item, Item::FunctionCall { .. } | Item::CustomToolCall { .. });
                if keeps_reply && chat.reply.len() < REPLY_ITEMS_MAX {
                    chat.reply.push(item.clone());
                }
                self.note_arguments(item);
            }
            _ => {}
        }
        if let Some(kind) = kind(event) {
            self.streamed(at_chat, at, kind);
        }
    }

    fn note_arguments(&mut self, item: &Item) {
        let (call_id, arguments) = match item {
            Item::FunctionCall { call_id, arguments, .. } => (call_id, arguments),
            Item::CustomToolCall { call_id, input, .. } => (call_id, input),
            _ => return,
        };
        if self.wants_calls() && self.arguments.len() < CALLS_MAX {
            self.arguments.insert(call_id.clone(), arguments.clone());
        }
    }

    fn streamed(&mut self, at_chat: usize, at: Nanoseconds, kind: &'static str) {
        let chat = &mut self.chats[at_chat];
        let waited = milliseconds(chat.last.replace(at).unwrap_or(at), at);
        let is_socket = self.facts.may_use_socket && chat.n_attempts == 0;
        let name = if is_socket { names::WEBSOCKET_EVENT } else { names::SSE_EVENT_EVENT };
        let attributes = vec![attribute(names::EVENT_KIND, kind), attribute(names::DURATION_MS, waited.to_string())];
        self.log(at, name, attributes);
        if !is_socket {
            let about = || vec![attribute(names::KIND, kind), attribute(names::SUCCESS, "true")];
            self.count(&names::SSE_EVENT, about());
            self.measure_ms(&names::SSE_EVENT_DURATION, waited, about());
        }
    }

    /// Exports the attempts that were not exported yet. An attempt before the last one failed; the last one failed for
    /// this reason, if there is one.
    fn attempts(&mut self, at_chat: usize, at: Nanoseconds, statuses: &[Option<u16>], failure: Option<&str>) {
        let chat = &self.chats[at_chat];
        let (start, first) = (chat.attempt_start, chat.n_attempts);
        for (n, status) in statuses.iter().enumerate().skip(first) {
            let is_last = n + 1 == statuses.len();
            let is_success =
                status.is_some_and(|status| (200..300).contains(&status)) && !(is_last && failure.is_some());
            let duration = milliseconds(start, at);
            let mut attributes = vec![attribute(names::DURATION_MS, duration.to_string())];
            attributes.extend(status.map(|it| attribute(names::STATUS_CODE, i64::from(it))));
            attributes.push(attribute(names::ATTEMPT, i64::try_from(n).unwrap_or(i64::MAX)));
            let why = failure.filter(|_| is_last).unwrap_or("unexpected_status");
            attributes.extend((!is_success).then(|| attribute(names::ERROR_MESSAGE, why)));
            self.log(at, names::API_REQUEST_EVENT, attributes);
            let status_text = status.map_or_else(|| "none".to_owned(), |it| it.to_string());
            let about = || {
                vec![
                    attribute(names::STATUS, status_text.as_str()),
                    attribute(names::SUCCESS, if is_success { "true" } else { "false" }),
                ]
            };
            self.count(&names::API_REQUEST, about());
            if is_last {
                self.measure_ms(&names::API_REQUEST_DURATION, duration, about());
            } else {
                let status = status.map(|it| attribute(names::STATUS_CODE, i64::from(it)));
                self.chats[at_chat].event(at, names::RETRY, status.into_iter().collect());
            }
        }
        self.chats[at_chat].n_attempts = statuses.len().max(first);
    }

    /// Notes that a reply is over, or failed.
    pub fn reply(&mut self, at: Nanoseconds, reply: ObservedReply) {
        let is_it = |chat: &Chat| match reply.line {
            Some(line) => chat.facts.record.as_ref().is_some_and(|(n, _)| *n == line),
            None => chat.is_under_way() && chat.is_streamed(),
        };
        let Some(at_chat) = self.chats.iter().rposition(is_it) else { return };
        if self.chats[at_chat].first.is_none() || reply.failure.is_some() {
            self.attempts(at_chat, at, &reply.attempts, reply.failure.as_deref());
        }
        if reply.failure.is_some() && self.chats[at_chat].is_streamed() {
            self.chats[at_chat].failure = Some((at, reply));
            return;
        }
        self.answered(at, &reply);
        let chat = self.chats.remove(at_chat);
        self.finish(chat, at, &reply);
    }

    /// The tokens of a reply, as the Codex CLI logs them after its last event.
    fn answered(&mut self, at: Nanoseconds, reply: &ObservedReply) {
        let Some(usage) = &reply.usage else { return };
        let attributes = vec![
            attribute(names::EVENT_KIND, "response.completed"),
            attribute(names::INPUT_TOKENS, usage.input_tokens.to_string()),
            attribute(names::OUTPUT_TOKENS, usage.output_tokens.to_string()),
            attribute(names::CACHED_TOKENS, usage.cached_input_tokens),
            attribute(names::REASONING_TOKENS, usage.reasoning_output_tokens),
            attribute(names::TOOL_TOKENS, usage.total_tokens.to_string()),
        ];
        self.log(at, names::SSE_EVENT_EVENT, attributes);
    }

    /// Ends the requests that failed and were not sent again.
    fn close_failed(&mut self) {
        while let Some(at_chat) = self.chats.iter().position(|chat| chat.failure.is_some()) {
            let mut chat = self.chats.remove(at_chat);
            if let Some((failed_at, reply)) = chat.failure.take() {
                self.finish(chat, failed_at, &reply);
            }
        }
    }

    /// Ends all requests of the session.
    pub(super) fn close_chats(&mut self, at: Nanoseconds) {
        self.close_failed();
        for chat in std::mem::take(&mut self.chats) {
            let reply = ObservedReply { failure: Some(INTERRUPTED.to_owned()), ..ObservedReply::default() };
            self.finish(chat, at, &reply);
        }
    }

    fn finish(&mut self, chat: Chat, at: Nanoseconds, reply: &ObservedReply) {
        if let (Some(turn), Some(usage)) = (&mut self.turn, &reply.usage) {
            turn.usage.get_or_insert_default().add(usage);
            turn.cache_write = match (turn.cache_write, reply.cache_write) {
                (Some(one), Some(two)) => Some(one.saturating_add(two)),
                (one, two) => one.or(two),
            };
        }
        self.measure_reply(&chat, at, reply);
        let span = self.chat_span(chat, at, reply);
        if self.exported.logs && self.exported.gen_ai {
            let mut attributes = vec![attribute(names::EVENT_NAME, names::OPERATION_DETAILS)];
            attributes.extend(span.attributes.iter().cloned());
            let context = Some(span.context).filter(|_| self.exported.spans);
            self.records.push(ExportedRecord::Log(LogEvent {
                at,
                name: names::OPERATION_DETAILS,
                attributes,
                context,
            }));
        }
        self.span(span);
    }

    fn measure_reply(&mut self, chat: &Chat, at: Nanoseconds, reply: &ObservedReply) {
        let mut about = self.about_operation(names::CHAT);
        about.extend(self.server());
        if let Some(usage) = &reply.usage {
            for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                let mut attributes = about.clone();
                attributes.push(attribute(names::TOKEN_TYPE, kind));
                self.measure_n(&names::TOKEN_USAGE, tokens, attributes);
            }
        }
        if let Some(first) = chat.first {
            self.measure(&names::TIME_TO_FIRST_CHUNK, seconds(chat.attempt_start, first), about.clone());
        }
        if let Some((units, currency)) = &reply.cost {
            let mut attributes = about.clone();
            attributes.push(attribute(names::CURRENCY, currency.as_str()));
            self.measure(&names::COST, *units, attributes);
        }
        about.extend(reply.failure.as_deref().map(|it| attribute(names::ERROR_TYPE, it)));
        self.measure(&names::OPERATION_DURATION, seconds(chat.start, at), about);
    }

    fn chat_span(&self, chat: Chat, at: Nanoseconds, reply: &ObservedReply) -> SpanRecord {
        let facts = &self.facts;
        let name = format!("{} {}", names::CHAT, chat.model);
        let mut span = internal(chat.context, chat.parent, name, chat.start, at);
        span.kind = SpanKind::Client;
        let mut all = vec![
            attribute(names::OPERATION_NAME, names::CHAT),
            self.provider(),
            attribute(names::REQUEST_MODEL, chat.model.as_str()),
            attribute(names::GEN_AI_CONVERSATION, facts.session.as_str()),
            attribute(names::PACK, facts.pack.as_str()),
            attribute(names::PACK_SHA256, facts.pack_sha256.as_str()),
        ];
        all.extend(self.server());
        all.extend(reply.response_id.as_deref().map(|it| attribute(names::RESPONSE_ID, chosen(it))));
        all.extend(chat.response_model.as_deref().map(|it| attribute(names::RESPONSE_MODEL, chosen(it))));
        match &reply.failure {
            Some(failure) => all.push(attribute(names::ERROR_TYPE, failure.as_str())),
            None if chat.is_streamed() => {
                let reason = if chat.has_calls { "tool_calls" } else { "stop" };
                all.push(attribute(names::FINISH_REASONS, AttributeValue::Texts(vec![reason.to_owned()])));
            }
            None => {}
        }
        all.extend(self.usage(reply.usage.as_ref(), reply.cache_write));
        all.extend(provenance(&chat.facts));
        self.contents(&chat, &mut all);
        span.attributes = all;
        span.has_failed = reply.failure.is_some();
        span.events = chat.events;
        span
    }

    fn contents(&self, chat: &Chat, all: &mut Vec<Attribute>) {
        if self.exported.content == TelemetryContent::Digests && !chat.reply.is_empty() {
            all.push(attribute(names::ANSWER_DIGEST, trace::sha256(&texts(&chat.reply))));
        }
        if !self.has_full_content() {
            return;
        }
        let mut omitted = 0;
        let mut add = |name, (text, cut): (String, usize)| {
            all.push(attribute(name, text));
            omitted += cut;
        };
        if let Some(input) = chat.facts.details.as_ref().and_then(|details| details.input.as_ref()) {
            add(names::SYSTEM_INSTRUCTIONS, content::instructions(&self.blanks.blanked(&input.instructions)));
            add(names::INPUT_MESSAGES, content::messages(&input.items, &*self.blanks));
        }
        if !chat.reply.is_empty() {
            add(names::OUTPUT_MESSAGES, content::messages(&chat.reply, &*self.blanks));
        }
        if omitted > 0 {
            all.push(attribute(names::CUT_BYTES, omitted as u64));
        }
    }
}

/// What ties a span to the record.
fn provenance(facts: &RequestFacts) -> Vec<Attribute> {
    let mut all = vec![attribute(names::PURPOSE, facts.purpose)];
    all.extend(facts.n.map(|it| attribute(names::REQUEST_N, it)));
    all.extend(facts.sha256.as_deref().map(|it| attribute(names::REQUEST_SHA256, it)));
    all.extend(facts.bytes.map(|it| attribute(names::REQUEST_BYTES, it)));
    all.extend(facts.items.map(|it| attribute(names::REQUEST_ITEMS, it)));
    if let Some((n, sha256)) = &facts.record {
        all.push(attribute(names::RECORD_N, *n));
        all.push(attribute(names::RECORD_SHA256, sha256.as_str()));
    }
    if let Some(broken) = &facts.cache_break {
        all.push(attribute(names::BREAK_CAUSE, broken.cause.as_str()));
        all.push(attribute(names::BREAK_BYTE, broken.first_byte as u64));
        all.push(attribute(names::BREAK_TOKENS, broken.tokens_rebilled as u64));
    }
    if let Some(RequestDetails { kept_bytes, layers, omissions, .. }) = &facts.details {
        all.push(attribute(names::KEPT_BYTES, *kept_bytes));
        all.push(attribute(names::OMISSIONS, *omissions));
        all.extend(layers.iter().filter_map(|(kind, bytes)| Some(attribute(names::layer(kind)?, *bytes))));
    }
    all
}

/// The texts of the messages of a reply.
fn texts(items: &[Item]) -> String {
    let mut texts = String::new();
    for item in items {
        if let Item::Message { content, .. } = item {
            for part in content {
                if let ContentPart::OutputText { text } | ContentPart::InputText { text } = part {
                    texts.push_str(text);
                }
            }
        }
    }
    texts
}

/// The kind of an event of a reply, as the Responses API names it. Figures that come with a reply are no events of it.
fn kind(event: &ReplyEvent) -> Option<&'static str> {
    Some(match event {
        ReplyEvent::Created => "response.created",
        ReplyEvent::ItemAdded(_) => "response.output_item.added",
        ReplyEvent::ItemDone(_) => "response.output_item.done",
        ReplyEvent::TextDelta(_) => "response.output_text.delta",
        ReplyEvent::SummaryPartAdded { .. } => "response.reasoning_summary_part.added",
        ReplyEvent::SummaryDelta { .. } => "response.reasoning_summary_text.delta",
        ReplyEvent::RawReasoningDelta { .. } => "response.reasoning_text.delta",
        ReplyEvent::Completed { .. } => "response.completed",
        ReplyEvent::ServerModel(_)
        | ReplyEvent::RateLimits(_)
        | ReplyEvent::ReasoningIncluded
        | ReplyEvent::TurnState(_)
        | ReplyEvent::CacheWritten(_)
        | ReplyEvent::CacheReadUnknown => return None,
    })
}
