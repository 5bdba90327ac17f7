//! The Responses wire: decodes the data of one streamed event.
//!
//! Data that cannot be parsed is skipped, and so are items of unknown form. An error that the stream reports is kept
//! and only counts when the stream ends without a completed response.
//!
//! Not here: bytes and waiting ([`crate::sse`], [`crate::model`]); errors before a stream begins ([`crate::failure`]).

use std::borrow::Cow;
use std::time::Duration;

use pellucid_protocol::failure::AnswerCut;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure;

/// A decoder in the middle of a stream.
#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    server_model: Option<String>,
    failure: Option<ReplyError>,
    is_appendable: bool,
}

impl ResponsesDecoder {
    /// A decoder for a stream whose headers already named the model.
    pub fn new(server_model: Option<String>) -> Self {
        Self { server_model, failure: None, is_appendable: false }
    }

    /// Appends the events of one payload to `events`. Payloads after [`ReplyEvent::Completed`] are ignored.
    pub fn decode(&mut self, payload: &[u8], events: &mut impl Extend<ReplyEvent>) {
        let payload: Payload<'_> = match serde_json::from_slice(payload) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::debug!(%error, "skipped an event that could not be parsed");
                return;
            }
        };
        if let Some(model) = payload.server_model()
            && self.server_model.as_ref() != Some(&model)
        {
            events.extend([ReplyEvent::ServerModel(model.clone())]);
            self.server_model = Some(model);
        }
        self.is_appendable = payload.kind == "response.done";
        match payload.event() {
            Ok(decoded) => events.extend(decoded.into_iter().flatten()),
            Err(error) => self.failure = Some(error),
        }
    }

    /// The error that the stream reported, if it did.
    pub(crate) fn take_failure(&mut self) -> Option<ReplyError> {
        self.failure.take()
    }

    /// Whether the last event says that the response can be extended.
    pub(crate) fn is_appendable(&self) -> bool {
        self.is_appendable
    }

    /// The error of a stream that ended without a completed response.
    pub fn finish(&mut self) -> ReplyError {
        self.failure.take().unwrap_or_else(|| ReplyError::stream("stream closed before response.completed"))
    }
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    headers: Option<&'a RawValue>,
    #[serde(default, borrow)]
    response: Option<&'a RawValue>,
    #[serde(default, borrow)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    delta: Option<String>,
    #[serde(default)]
    summary_index: Option<i64>,
    #[serde(default)]
    content_index: Option<i64>,
}

impl Payload<'_> {
    fn event(self) -> Result<[Option<ReplyEvent>; 2], ReplyError> {
        let event = match &*self.kind {
            "response.created" => self.response.map(|_| ReplyEvent::Created),
            "response.output_item.added" => self.item().filter(|item| *item != Item::Other).map(ReplyEvent::ItemAdded),
            "response.output_item.done" => self.item().map(ReplyEvent::ItemDone),
            "response.output_text.delta" => self.delta.map(ReplyEvent::TextDelta),
            "response.reasoning_summary_part.added" => {
                self.summary_index.map(|summary_index| ReplyEvent::SummaryPartAdded { summary_index })
            }
            "response.reasoning_summary_text.delta" => self
                .delta
                .zip(self.summary_index)
                .map(|(delta, summary_index)| ReplyEvent::SummaryDelta { delta, summary_index }),
            "response.reasoning_text.delta" => self
                .delta
                .zip(self.content_index)
                .map(|(delta, content_index)| ReplyEvent::RawReasoningDelta { delta, content_index }),
            "response.completed" => match self.response {
                Some(response) => {
                    let Completed { id, usage } = parse_response(response)?;
                    return Ok(completed(id, usage));
                }
                None => None,
            },
            "response.done" => {
                let Done { id, usage } = self.response.map(parse_response).transpose()?.unwrap_or_default();
                return Ok(completed(id.unwrap_or_default(), usage));
            }
            "response.failed" => return Err(failed(self.response)),
            "response.incomplete" => return Err(incomplete(self.response)),
            _ => None,
        };
        Ok([event, None])
    }

    fn item(&self) -> Option<Item> {
        serde_json::from_str(self.item?.get())
            .inspect_err(|error| tracing::debug!(%error, "skipped an item that could not be parsed"))
            .ok()
    }

    /// The model that answers, from the response's headers or the event.
    fn server_model(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Response<'a> {
            #[serde(default, borrow)]
            headers: Option<&'a RawValue>,
        }
        let inner = self.response.and_then(|response| serde_json::from_str::<Response<'_>>(response.get()).ok());
        inner
            .and_then(|response| response.headers)
            .and_then(model_header)
            .or_else(|| self.headers.and_then(model_header))
    }
}

fn model_header(headers: &RawValue) -> Option<String> {
    let headers: serde_json::Map<String, Value> = serde_json::from_str(headers.get()).ok()?;
    headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("openai-model") || name.eq_ignore_ascii_case("x-openai-model"))
        .find_map(|(_, value)| match value {
            Value::String(text) => Some(text.clone()),
            Value::Array(values) => values.first()?.as_str().map(str::to_owned),
            _ => None,
        })
}

#[derive(Deserialize)]
struct Completed {
    id: String,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize, Default)]
struct Done {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    usage: Option<Usage>,
}

/// The token usage of a response.
#[derive(Deserialize)]
pub(crate) struct Usage {
    input_tokens: i64,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    output_tokens: i64,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
    total_tokens: i64,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: i64,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: i64,
}

/// The end of a reply, preceded by a note if its usage figures lack the cache.
fn completed(response_id: String, usage: Option<Usage>) -> [Option<ReplyEvent>; 2] {
    let is_untold = usage.as_ref().is_some_and(|usage| usage.input_tokens_details.is_none());
    let usage = usage.map(Into::into);
    [is_untold.then_some(ReplyEvent::CacheReadUnknown), Some(ReplyEvent::Completed { response_id, usage })]
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.input_tokens_details.map_or(0, |details| details.cached_tokens),
            output_tokens: usage.output_tokens,
            reasoning_output_tokens: usage.output_tokens_details.map_or(0, |details| details.reasoning_tokens),
            total_tokens: usage.total_tokens,
        }
    }
}

fn parse_response<'a, T: Deserialize<'a>>(response: &'a RawValue) -> Result<T, ReplyError> {
    serde_json::from_str(response.get()).map_err(|error| {
        // The place within the response would mean nothing to a reader of the message.
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = text.strip_suffix(&place).unwrap_or(&text);
        ReplyError::stream(format_args!("failed to parse ResponseCompleted: {text}"))
    })
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

fn failed(response: Option<&RawValue>) -> ReplyError {
    #[derive(Deserialize)]
    struct Response {
        error: Fault,
    }
    let Some(response) = response.and_then(|response| serde_json::from_str::<Response>(response.get()).ok()) else {
        return ReplyError::stream("response.failed event received");
    };
    let Fault { code, message } = response.error;
    reported(code.as_deref(), message)
}

/// The error that a stream reports, by its code.
pub(crate) fn reported(code: Option<&str>, message: Option<String>) -> ReplyError {
    match code {
        Some("context_length_exceeded") => said(failure::context_window_exceeded(), message, failure::OVERFLOW_ADVICE),
        Some("insufficient_quota") => {
            said(failure::quota_exceeded(), message, "check the account's plan and billing details")
        }
        Some("usage_not_included") => failure::usage_not_included(),
        Some("server_is_overloaded" | "slow_down") => failure::server_overloaded(),
        Some("invalid_prompt") => {
            ReplyError::new(ReplyErrorKind::InvalidRequest, message.unwrap_or_else(|| "Invalid request.".to_owned()))
        }
        code => {
            let message = message.unwrap_or_default();
            let retry_after = if code == Some("rate_limit_exceeded") { wished_delay(&message) } else { None };
            ReplyError { retry_after, ..ReplyError::stream(message) }
        }
    }
}

/// Replaces an error's fixed sentence by the server's words in the text for people, if there are any.
pub(crate) fn said(error: ReplyError, message: Option<String>, advice: &str) -> ReplyError {
    match message.filter(|message| !message.trim().is_empty()) {
        Some(message) => error.plainly(format!("{message}; {advice}")),
        None => error,
    }
}

fn incomplete(response: Option<&RawValue>) -> ReplyError {
    let response: Option<Value> = response.and_then(|response| serde_json::from_str(response.get()).ok());
    let reason = response
        .as_ref()
        .and_then(|response| response.pointer("/incomplete_details/reason"))
        .and_then(Value::as_str)
        .unwrap_or("unknown");
    let error = ReplyError::stream(format_args!("Incomplete response returned, reason: {reason}"));
    match reason {
        "max_output_tokens" => error.cut_by(AnswerCut::OutputLimit),
        "content_filter" => error.cut_by(AnswerCut::ContentFilter),
        _ => error,
    }
}

/// The delay in a text such as `Please try again in 1.5s.`: a number of `s`, `ms` or `seconds`.
fn wished_delay(message: &str) -> Option<Duration> {
    const WORDS: &str = "try again in";
    let message = message.to_ascii_lowercase();
    message.match_indices(WORDS).find_map(|(at, _)| {
        let rest = message[at + WORDS.len()..].trim_start();
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let whole = digits(rest);
        if whole == 0 {
            return None;
        }
        let decimals = rest[whole..].strip_prefix('.').map_or(0, digits);
        let end = if decimals > 0 { whole + 1 + decimals } else { whole };
        let number: f64 = rest[..end].parse().ok()?;
        let unit = rest[end..].trim_start();
        let seconds = if unit.starts_with('s') {
            number
        } else if unit.starts_with("ms") {
            number / 1000.0
        } else {
            return None;
        };
        Duration::try_from_secs_f64(seconds).ok()
    })
}

#[cfg(test)]
mod tests;
