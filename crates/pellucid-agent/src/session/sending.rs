//! Sending a request: what surrounds its items, whether it may go out, and what the record gets of it.

use std::sync::Arc;
use std::sync::PoisonError;

use pellucid_engine::digest::RequestDigest;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::concat;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_model::budget::Ticket;
use pellucid_model::catalogue::CatalogueMatch;
use pellucid_model::socket::SocketAsk;
use pellucid_model::socket::SocketVersion;
use pellucid_model::transport::Attempts;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::Purpose;
use pellucid_telemetry::facts::InputContent;
use pellucid_telemetry::facts::RequestDetails;
use serde_json::Value;

use super::Session;
use super::setup::Setup;
use crate::least::Least;
use crate::sent::Extent;
use crate::shared_facts::SharedFacts;

/// Whether a request is sent for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The request is sent for the first time.
    First,
    /// The request was sent before and failed.
    Again,
}

/// What a request asks the model for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskKind {
    /// An answer to the session's last request.
    LastRequest,
    /// A summary of the history.
    Summary,
}

/// The last frame without a schema, and what it was made from.
#[derive(Debug)]
pub(super) struct Framed {
    facts: SharedFacts,
    instructions: Arc<[Fragment]>,
    frame: Frame,
}

impl Session {
    /// What surrounds the items in the requests of a turn.
    pub fn frame(&self, output_schema: Option<Value>) -> Frame {
        let (facts, instructions) = (&self.setup.gathered.facts, self.conversation.shared_instructions());
        let mut framed = self.framed.lock().unwrap_or_else(PoisonError::into_inner);
        // What a frame is made from does not change in place, so the same memory makes the same frame.
        let is_known = |it: &&Framed| it.facts.is_held_with(facts) && Arc::ptr_eq(&it.instructions, instructions);
        if let (None, Some(known)) = (&output_schema, framed.as_ref().filter(is_known)) {
            return known.frame.clone();
        }
        let is_plain = output_schema.is_none();
        let wire = self.setup.wire(output_schema);
        let frame = Frame::new(&self.setup.pack, facts, instructions, &wire);
        let frame = match self.requests.last_frame().filter(|last| last.is_same(&frame)) {
            Some(last) => frame.sharing(last),
            None => self.setup.frames.share(frame),
        };
        if is_plain {
            let (facts, instructions) = (facts.clone(), instructions.clone());
            *framed = Some(Framed { facts, instructions, frame: frame.clone() });
        }
        frame
    }

    /// The request with everything recorded so far.
    pub fn request(&mut self, frame: &Frame) -> Request {
        self.place_texts();
        let is_recording = self.log.is_recording();
        let is_observed = self.log.telemetry().is_some();
        self.requests.make(frame, self.conversation.transcript_mut(), &self.setup, is_recording, is_observed)
    }

    /// Admits a request that asks for an answer. What is not admitted is not recorded as sent.
    ///
    /// # Errors
    /// There is no key, a limit is reached, the request is certain not to fit the window, or it diverges from the one
    /// before and such requests are refused.
    pub(crate) fn admit(&mut self, request: &Request) -> Result<Ticket, ReplyError> {
        self.requests.check_break()?;
        if let Some(window) = known_window(&self.setup) {
            let model = &self.setup.gathered.facts.settings.model.slug;
            self.requests.check_window(request, window, &least(&self.setup), model)?;
        }
        self.admit_again(request)
    }

    /// Admits a request that was found to fit, or one for a summary, which is made shorter until it fits.
    ///
    /// # Errors
    /// There is no key, or a limit is reached.
    pub(crate) fn admit_again(&self, request: &Request) -> Result<Ticket, ReplyError> {
        least(&self.setup).admit(&self.setup.model, &request.segments)
    }

    /// Forgets the last request, because it was not sent.
    pub(crate) fn take_request_back(&mut self) {
        self.requests.take_back();
    }

    /// Records that the last request is sent, for the first time or again.
    pub(crate) fn log_request(&mut self, turn: &TurnId, attempt: Attempt) {
        let cache_break = match attempt {
            Attempt::First if self.log.is_recording() || self.log.telemetry().is_some() => self.requests.cache_break(),
            Attempt::First | Attempt::Again => None,
        };
        self.log_origins();
        let sent_at = self.requests.sends();
        let injected = std::mem::take(&mut self.injected);
        if attempt == Attempt::First {
            self.describe_request();
        }
        let Some((frame, account)) = self.requests.last_account() else { return };
        if self.log.written().is_none() {
            let purpose = if attempt == Attempt::First { Purpose::Answer } else { Purpose::AnswerAgain };
            self.log.sent_from_start().observe(purpose.word(), account, cache_break, sent_at);
            return;
        }
        if let Some((sent, at)) = self.log.sent() {
            sent.injections_are(&injected);
            match attempt {
                Attempt::First => sent.request(at, turn, Purpose::Answer, frame, account, cache_break, sent_at),
                Attempt::Again => {
                    let account = RequestDigest { marks: Vec::new(), ..account.clone() };
                    sent.request(at, turn, Purpose::AnswerAgain, frame, &account, None, sent_at);
                }
            }
        }
    }

    /// Reports to telemetry what the last request is made of, if that is exported.
    fn describe_request(&mut self) {
        let Some(telemetry) = self.log.telemetry() else { return };
        let (wants_details, wants_content) = (telemetry.wants_details(), telemetry.wants_content());
        let Some(report) = self.report().filter(|_| wants_details) else { return };
        let mut layers: Vec<(&'static str, u64)> = Vec::new();
        for row in &report.rows {
            let (kind, bytes) = (row.origin.kind(), row.bytes as u64);
            match layers.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, sum)) => *sum += bytes,
                None => layers.push((kind, bytes)),
            }
        }
        let input = wants_content.then(|| InputContent {
            instructions: concat(self.conversation.instructions()),
            items: self.conversation.items(),
        });
        let details = RequestDetails {
            model: self.setup.gathered.facts.settings.model.slug.clone(),
            kept_bytes: report.continuity.as_ref().map_or(0, |continuity| continuity.kept_bytes as u64),
            layers,
            omissions: report.omissions.len() as u64,
            omitted_bytes: report.omissions.iter().map(|omission| omission.why.bytes()).sum(),
            input,
        };
        if let Some(telemetry) = self.log.telemetry() {
            telemetry.describe(details);
        }
    }

    /// Records that a turn ended before it sent anything.
    pub(crate) fn log_not_sent(&mut self, turn: &TurnId, why: &str) {
        let injected = std::mem::take(&mut self.injected);
        if let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) {
            sent.injections_are(&injected);
            sent.not_sent(at, turn, why);
        }
    }

    /// Records where the bytes of items came from, as far as the bytes do not show it.
    pub(crate) fn log_origins(&mut self) {
        self.log_origins_of(Extent::Covered);
    }

    /// The same behind a history that was replaced or copied, after which this process may send no request. Of items whose
    /// origins are lost nothing is claimed.
    pub(crate) fn log_origins_of(&mut self, extent: Extent) {
        if let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) {
            sent.origins(at, self.conversation.transcript_mut(), extent);
        }
    }

    /// Records that another session was started from this one.
    pub(crate) fn log_child(&mut self, child: &SessionId, purpose: &str) {
        if let Some((sent, at)) = self.log.sent() {
            sent.child(at, child, purpose);
        }
    }

    /// Where attempts to send the request are counted.
    pub(crate) fn attempts(&self) -> Attempts {
        self.requests.attempts()
    }

    /// Records what an answer cost. Gives the event about it for clients that ask for it.
    pub(crate) fn note_reply(&mut self, event: &ReplyEvent) -> Option<EventMessage> {
        self.requests.note(event);
        let attempts = self.requests.attempts();
        if let Some(telemetry) = self.log.telemetry() {
            telemetry.reply_event(event, || attempts.statuses());
        }
        let ReplyEvent::Completed { response_id, usage } = event else {
            return None;
        };
        self.note_answer(Some(response_id.clone()).filter(|id| !id.is_empty()), usage.as_ref())
    }

    /// The same for a summary that the provider made: one answer, and no stream of events.
    pub(crate) fn note_summary(&mut self, usage: Option<&TokenUsage>) -> Option<EventMessage> {
        if !self.requests.note_whole() {
            return None;
        }
        self.note_answer(None, usage)
    }

    fn note_answer(&mut self, response_id: Option<String>, usage: Option<&TokenUsage>) -> Option<EventMessage> {
        let (reply, event) = self.requests.answered(response_id, usage, self.setup.provider.cache_kept());
        self.log_reply(reply);
        event.filter(|_| self.setup.context_events.is_usage_wanted())
    }

    /// Records that the turn no longer waits for the answer of a request, if one is under way.
    pub(crate) fn note_interruption(&mut self) {
        let reply = self.requests.failed(INTERRUPTED);
        self.log_reply(reply);
    }

    /// Records that a request failed.
    pub(crate) fn note_failure(&mut self, error: &ReplyError) {
        let reply = self.requests.failed(failure_word(error.kind));
        self.log_reply(reply);
    }

    fn log_reply(&mut self, reply: entry::ReplyEntry) {
        // Without a file nothing is written, but the reply may be exported.
        self.log.sent_from_start().reply(reply);
    }

    /// The version of the WebSocket protocol, if provider, features and model allow a WebSocket.
    pub(crate) fn socket_version(&self) -> Option<SocketVersion> {
        let facts = &self.setup.gathered.facts;
        let provider = &self.setup.provider;
        if !provider.supports_websockets || provider.wire_api != WireApi::Responses {
            None
        } else if facts.settings.features.is_on(Feature::ResponsesWebsocketsV2) {
            Some(SocketVersion::V2)
        } else if facts.settings.features.is_on(Feature::ResponsesWebsockets) || facts.settings.model.prefer_websockets
        {
            Some(SocketVersion::V1)
        } else {
            None
        }
    }

    /// How a request may go over a WebSocket. Only a request for an answer adds to the one before.
    pub(crate) fn socket_ask(&self, turn_id: &TurnId, kind: AskKind) -> Option<SocketAsk> {
        let is_last = self.requests.has_last() && kind == AskKind::LastRequest;
        Some(SocketAsk {
            version: self.socket_version()?,
            turn: turn_id.as_str().into(),
            number: is_last.then(|| self.requests.n()),
            known: self.requests.last_known().filter(|_| is_last),
            wants_timings: self.setup.gathered.facts.settings.features.is_on(Feature::RuntimeMetrics),
        })
    }
}

fn least(setup: &Setup) -> Least {
    Least::new(setup.provider.wire_api, &setup.gathered.facts.settings.model.slug)
}

/// The model's window, where the person or the catalogue gives its size. A person who lets the history grow beyond the
/// catalogue's window before it is summarised has a server with a larger one, of a size that is not known.
fn known_window(setup: &Setup) -> Option<u64> {
    let configured = &setup.sources.config.model;
    let window = setup.gathered.facts.settings.model.context_window?;
    let is_known = configured.context_window.is_some()
        || setup.gathered.model_match != CatalogueMatch::Fallback
            && configured.auto_compact_token_limit.is_none_or(|limit| limit <= window);
    u64::try_from(window).ok().filter(|_| is_known)
}

/// Why a request has no answer if its turn ended before.
pub(super) const INTERRUPTED: &str = "interrupted";

/// Why a request failed, in a word that has nothing of the server's own text.
pub(crate) fn failure_word(kind: ReplyErrorKind) -> &'static str {
    match kind {
        ReplyErrorKind::Stream => "stream",
        ReplyErrorKind::UnexpectedStatus => "unexpected_status",
        ReplyErrorKind::InternalServer => "internal_server",
        ReplyErrorKind::InvalidRequest => "invalid_request",
        ReplyErrorKind::InvalidImage => "invalid_image",
        ReplyErrorKind::ContextWindowExceeded => "context_window_exceeded",
        ReplyErrorKind::UsageLimitReached => "usage_limit_reached",
        ReplyErrorKind::UsageNotIncluded => "usage_not_included",
        ReplyErrorKind::QuotaExceeded => "quota_exceeded",
        ReplyErrorKind::ServerOverloaded => "server_overloaded",
        ReplyErrorKind::RetryLimit { .. } => "retry_limit",
        ReplyErrorKind::MissingKey => "missing_key",
        ReplyErrorKind::Unreachable => "unreachable",
        ReplyErrorKind::Budget => "budget",
        ReplyErrorKind::Local => "local",
    }
}
