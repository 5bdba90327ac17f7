//! The Chat Completions wire: decodes the data of one streamed event.
//!
//! The stream consists of pieces: of reasoning, of the answer, of calls by their index. This module joins them to
//! items. A call is complete only when the server says why it stopped, so calls are emitted then. What cannot be parsed
//! is skipped; values of an unexpected kind count as absent.
//!
//! Not here: bytes and waiting ([`crate::sse`], [`crate::model`]); errors before a stream begins ([`crate::failure`]).

use std::collections::BTreeMap;

use pellucid_protocol::failure::AnswerCut;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ReasoningContentPart;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use serde::Deserialize;
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure;
use crate::held::Answer;
use crate::held::Held;
use crate::overflow;
use crate::progress::Progress;
use crate::responses;

/// A decoder in the middle of a stream.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    state: Progress,
    response_id: String,
    said: Said,
    calls: Calls,
    usage: Option<TokenUsage>,
    /// Whether the usage figures say how much came from a cache.
    reports_cache: bool,
    held: Held,
}

/// The kind of text that is coming in.
#[derive(Debug, Default)]
enum Said {
    #[default]
    Nothing,
    Thought(String),
    Answer(Answer),
}

/// Calls in pieces, by their index.
#[derive(Debug, Default)]
struct Calls {
    calls: BTreeMap<u64, Call>,
    last: Option<u64>,
}

#[derive(Debug, Default)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl ChatDecoder {
    /// Appends the events of one payload to `events`. Payloads after [`ReplyEvent::Completed`] are ignored.
    ///
    /// # Errors
    ///
    /// When the server reports an error, or stopped for a reason that makes the reply worthless.
    pub fn decode(&mut self, payload: &[u8], events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        if matches!(payload.trim_ascii(), b"[DONE]" | b"DONE") {
            if self.state != Progress::Completed {
                self.stop(events);
                self.complete(events);
            }
            return Ok(());
        }
        let chunk: Chunk = match serde_json::from_slice(payload) {
            Ok(chunk) => chunk,
            Err(error) => {
                tracing::debug!(%error, "skipped an event that could not be parsed");
                return Ok(());
            }
        };
        if self.state == Progress::Completed {
            return Ok(());
        }
        if let Some(error) = chunk.error() {
            return Err(error);
        }
        if self.state == Progress::Waiting {
            self.state = Progress::Begun;
            events.extend([ReplyEvent::Created]);
        }
        if self.response_id.is_empty() {
            self.response_id = chunk.id.unwrap_or_default();
        }
        for choice in chunk.choices.unwrap_or_default() {
            // Requests ask for one choice, so others are ignored.
            if choice.index.unwrap_or(0) == 0 && self.state == Progress::Begun {
                self.choice(choice, events)?;
            }
        }
        if let Some(usage) = chunk.usage {
            self.reports_cache = usage.prompt_tokens_details.as_ref().is_some_and(|it| it.cached_tokens.is_some());
            self.usage = Some(usage.into());
            if self.state == Progress::Stopped {
                self.complete(events);
            }
        }
        Ok(())
    }

    /// Handles the end of the stream: a reply is complete once the server said why it stopped.
    ///
    /// # Errors
    ///
    /// When the server did not say so.
    pub fn finish(&mut self, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        if self.state.at_end("finish_reason")? {
            self.complete(events);
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        let delta = choice.delta.unwrap_or_default();
        for thought in [delta.reasoning, delta.reasoning_content].into_iter().flatten().take(1) {
            self.think(&thought, events)?;
        }
        for text in [delta.content, delta.refusal].into_iter().flatten() {
            self.say(&text, events)?;
        }
        for fragment in delta.tool_calls.unwrap_or_default() {
            self.calls.add(fragment, &mut self.held)?;
        }
        match choice.finish_reason.as_deref() {
            None => {}
            Some("length") => return Err(failure::context_window_exceeded().cut_by(AnswerCut::OutputLimit)),
            Some("content_filter") => {
                let message = "The provider's content filter ended the answer.";
                let error = ReplyError::new(ReplyErrorKind::InvalidRequest, message);
                return Err(error.cut_by(AnswerCut::ContentFilter));
            }
            Some(_) => self.stop(events),
        }
        Ok(())
    }

    fn think(&mut self, piece: &str, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.held.take(piece)?;
        if !matches!(self.said, Said::Thought(_)) {
            self.end_said(events);
            self.said = Said::Thought(String::new());
            events.extend([ReplyEvent::ItemAdded(thought(Vec::new()))]);
        }
        if let Said::Thought(text) = &mut self.said {
            text.push_str(piece);
        }
        events.extend([ReplyEvent::RawReasoningDelta { delta: piece.to_owned(), content_index: 0 }]);
        Ok(())
    }

    fn say(&mut self, piece: &str, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.held.take(piece)?;
        if !matches!(self.said, Said::Answer(_)) {
            self.end_said(events);
            self.said = Said::Answer(Answer::default());
        }
        if let Said::Answer(answer) = &mut self.said {
            answer.push(piece, events);
        }
        Ok(())
    }

    fn end_said(&mut self, events: &mut impl Extend<ReplyEvent>) {
        match std::mem::take(&mut self.said) {
            Said::Nothing => {}
            Said::Thought(text) => {
                let content = vec![ReasoningContentPart::ReasoningText { text }];
                events.extend([ReplyEvent::ItemDone(thought(content))]);
            }
            Said::Answer(answer) => answer.end(events),
        }
    }

    fn stop(&mut self, events: &mut impl Extend<ReplyEvent>) {
        self.end_said(events);
        events.extend(self.calls.take().map(ReplyEvent::ItemDone));
        self.state = Progress::Stopped;
    }

    fn complete(&mut self, events: &mut impl Extend<ReplyEvent>) {
        self.state = Progress::Completed;
        let response_id = std::mem::take(&mut self.response_id);
        events.extend((self.usage.is_some() && !self.reports_cache).then_some(ReplyEvent::CacheReadUnknown));
        events.extend([ReplyEvent::Completed { response_id, usage: self.usage }]);
    }
}

impl Calls {
    /// Adds a piece of a call: by its index, else to the call of the same id, else to the last one.
    fn add(&mut self, fragment: Fragment, held: &mut Held) -> Result<(), ReplyError> {
        let Fragment { index, id, function } = fragment;
        let id = id.filter(|id| !id.is_empty());
        let known = |id: &String| self.calls.iter().find(|(_, call)| call.id.as_ref() == Some(id)).map(|(n, _)| *n);
        let index = match (index, &id) {
            (Some(index), _) => index,
            (None, Some(id)) => known(id).unwrap_or_else(|| self.last.map_or(0, |last| last.saturating_add(1))),
            (None, None) => self.last.unwrap_or(0),
        };
        let Function { name, arguments } = function.unwrap_or_default();
        let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
        held.take(&name)?;
        held.take(&arguments)?;
        self.last = Some(index);
        let call = self.calls.entry(index).or_default();
        call.id = call.id.take().or(id);
        // Some servers repeat the name with every piece.
        if call.name != name {
            call.name.push_str(&name);
        }
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// The calls, in the order of their indices.
    fn take(&mut self) -> impl Iterator<Item = Item> + use<> {
        let calls = std::mem::take(&mut self.calls);
        calls.into_iter().map(|(index, call)| Item::FunctionCall {
            id: None,
            name: call.name,
            arguments: call.arguments,
            call_id: call.id.unwrap_or_else(|| format!("tool-call-{index}")),
        })
    }
}

fn thought(content: Vec<ReasoningContentPart>) -> Item {
    Item::Reasoning { id: None, summary: Vec::new(), content: Some(content), encrypted_content: None }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    object: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    #[serde(default, deserialize_with = "lenient")]
    content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    tool_calls: Option<Vec<Fragment>>,
}

#[derive(Deserialize)]
struct Fragment {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
struct Function {
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: i64,
    #[serde(default)]
    completion_tokens: i64,
    #[serde(default)]
    total_tokens: Option<i64>,
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<i64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<i64>,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.prompt_tokens,
            cached_input_tokens: usage.prompt_tokens_details.and_then(|it| it.cached_tokens).unwrap_or(0),
            output_tokens: usage.completion_tokens,
            reasoning_output_tokens: usage.completion_tokens_details.and_then(|it| it.reasoning_tokens).unwrap_or(0),
            total_tokens: usage
                .total_tokens
                .unwrap_or_else(|| usage.prompt_tokens.saturating_add(usage.completion_tokens)),
        }
    }
}

impl Chunk {
    /// The error that is in the chunk or is the chunk.
    fn error(&self) -> Option<ReplyError> {
        let is_error = self.object.as_deref() == Some("error");
        let error = match &self.error {
            None | Some(Value::Null) if is_error => Value::Null,
            None | Some(Value::Null) => return None,
            Some(error) => error.clone(),
        };
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let message = text("message").or(error.as_str()).or(self.message.as_deref()).unwrap_or_default();
        let code = text("code").or(text("type"));
        if overflow::is_overflow(message) || code.is_some_and(overflow::is_overflow) {
            let message = Some(message.to_owned());
            return Some(responses::said(failure::context_window_exceeded(), message, failure::OVERFLOW_ADVICE));
        }
        Some(responses::reported(code, Some(message.to_owned())))
    }
}

/// Reads a value of an unexpected kind as absent, so that the rest is still read.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests;
