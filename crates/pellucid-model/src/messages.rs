//! The Messages wire of Anthropic: decodes the data of one streamed event.
//!
//! A reply is a list of blocks, each begun, extended and ended by its index. Answers and reasoning are emitted when
//! their block ends, calls when the server says why it stopped, because a truncated call must not run. What cannot be
//! parsed is skipped, and so are unknown blocks and events.
//!
//! Not here: bytes and waiting ([`crate::sse`], [`crate::model`]); errors before a stream begins ([`crate::failure`]).

use std::collections::BTreeMap;

use pellucid_protocol::failure::AnswerCut;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ReasoningSummaryPart;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::seal::Seal;
use pellucid_protocol::usage::TokenUsage;
use serde::Deserialize;
use serde_json::Value;

use crate::failure;
use crate::held::Answer;
use crate::held::Held;
use crate::overflow;
use crate::progress::Progress;
use crate::responses::said;

/// A decoder in the middle of a stream.
#[derive(Debug, Default)]
pub struct MessagesDecoder {
    state: Progress,
    response_id: String,
    blocks: BTreeMap<u64, Block>,
    /// Complete calls that wait for the end.
    calls: Vec<Item>,
    usage: Figures,
    held: Held,
}

/// A block that is coming in.
#[derive(Debug)]
enum Block {
    Text(Answer),
    Thought { text: String, signature: String },
    Redacted { data: String },
    Call { id: String, name: String, input: Value, json: String },
}

impl MessagesDecoder {
    /// Appends the events of one payload to `events`. Payloads after [`ReplyEvent::Completed`] are ignored.
    ///
    /// # Errors
    ///
    /// When the server reports an error, or stopped for a reason that makes the reply worthless.
    pub fn decode(&mut self, payload: &[u8], events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        let event: Event = match serde_json::from_slice(payload) {
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "skipped an event that could not be parsed");
                return Ok(());
            }
        };
        if self.state == Progress::Completed {
            return Ok(());
        }
        match event {
            Event::MessageStart { message } => {
                if self.state == Progress::Waiting {
                    self.state = Progress::Begun;
                    self.response_id = message.id.unwrap_or_default();
                    events.extend([ReplyEvent::Created]);
                }
                self.usage.update(message.usage);
            }
            Event::ContentBlockStart { index, content_block } => self.start(index, content_block, events)?,
            Event::ContentBlockDelta { index, delta } => self.add(index, delta, events)?,
            Event::ContentBlockStop { index } => {
                if let Some(block) = self.blocks.remove(&index) {
                    self.end(block, events);
                }
            }
            Event::MessageDelta { delta, usage } => {
                self.usage.update(usage);
                if let Some(reason) = delta.stop_reason {
                    self.stop(&reason, events)?;
                }
            }
            Event::MessageStop => {
                if self.state != Progress::Stopped {
                    self.stop("end_turn", events)?;
                }
                self.complete(events);
            }
            Event::Error { error } => return Err(error.meaning()),
            Event::Other => {}
        }
        Ok(())
    }

    /// Handles the end of the stream: a reply is complete once the server said why it stopped.
    ///
    /// # Errors
    ///
    /// When the server did not say so.
    pub fn finish(&mut self, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        if self.state.at_end("message_stop")? {
            self.complete(events);
        }
        Ok(())
    }

    fn start(&mut self, index: u64, block: Start, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        // A second announcement of a block is ignored: the block continues.
        if self.blocks.contains_key(&index) || self.state == Progress::Stopped {
            return Ok(());
        }
        self.held.take("")?;
        let block = match block {
            Start::Text { text } => {
                self.held.take(&text)?;
                let mut answer = Answer::default();
                answer.push(&text, events);
                Block::Text(answer)
            }
            Start::Thinking { thinking, signature } => {
                self.held.take(&thinking)?;
                self.held.take(&signature)?;
                events.extend([ReplyEvent::ItemAdded(thought(String::new(), None))]);
                if !thinking.is_empty() {
                    events.extend([ReplyEvent::SummaryDelta { delta: thinking.clone(), summary_index: 0 }]);
                }
                Block::Thought { text: thinking, signature }
            }
            Start::RedactedThinking { data } => {
                self.held.take(&data)?;
                Block::Redacted { data }
            }
            Start::ToolUse { id, name, input } => Block::Call { id, name, input, json: String::new() },
            Start::Other => return Ok(()),
        };
        self.blocks.insert(index, block);
        Ok(())
    }

    fn add(&mut self, index: u64, delta: Delta, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        match (self.blocks.get_mut(&index), delta) {
            (Some(Block::Text(answer)), Delta::Text { text }) => {
                self.held.take(&text)?;
                answer.push(&text, events);
            }
            (Some(Block::Thought { text, .. }), Delta::Thinking { thinking }) => {
                self.held.take(&thinking)?;
                text.push_str(&thinking);
                events.extend([ReplyEvent::SummaryDelta { delta: thinking, summary_index: 0 }]);
            }
            (Some(Block::Thought { signature, .. }), Delta::Signature { signature: piece }) => {
                self.held.take(&piece)?;
                signature.push_str(&piece);
            }
            (Some(Block::Call { json, .. }), Delta::Json { partial_json }) => {
                self.held.take(&partial_json)?;
                json.push_str(&partial_json);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, block: Block, events: &mut impl Extend<ReplyEvent>) {
        match block {
            Block::Text(answer) => answer.end(events),
            Block::Thought { text, signature } => {
                let seal = (!signature.is_empty()).then(|| Seal::Signature(&signature).to_text());
                events.extend([ReplyEvent::ItemDone(thought(text, seal))]);
            }
            Block::Redacted { data } => {
                let item = thought(String::new(), Some(Seal::Redacted(&data).to_text()));
                events.extend([ReplyEvent::ItemDone(item)]);
            }
            Block::Call { id, name, input, json } => {
                let arguments = match (json.is_empty(), &input) {
                    (false, _) => json,
                    (true, Value::Object(_)) => input.to_string(),
                    (true, _) => "{}".to_owned(),
                };
                self.calls.push(Item::FunctionCall { id: None, name, arguments, call_id: id });
            }
        }
    }

    fn stop(&mut self, reason: &str, events: &mut impl Extend<ReplyEvent>) -> Result<(), ReplyError> {
        match reason {
            "model_context_window_exceeded" => return Err(failure::context_window_exceeded()),
            "max_tokens" => return Err(cut()),
            "refusal" => {
                let message = "The provider's safety rules ended the answer.";
                let error = ReplyError::new(ReplyErrorKind::InvalidRequest, message);
                return Err(error.cut_by(AnswerCut::ContentFilter));
            }
            _ => {}
        }
        if self.state == Progress::Stopped {
            return Ok(());
        }
        self.state = Progress::Stopped;
        for block in std::mem::take(&mut self.blocks).into_values() {
            self.end(block, events);
        }
        events.extend(self.calls.drain(..).map(ReplyEvent::ItemDone));
        Ok(())
    }

    fn complete(&mut self, events: &mut impl Extend<ReplyEvent>) {
        self.state = Progress::Completed;
        let response_id = std::mem::take(&mut self.response_id);
        events.extend(self.usage.written.map(ReplyEvent::CacheWritten));
        let usage = self.usage.total();
        events.extend((usage.is_some() && self.usage.read.is_none()).then_some(ReplyEvent::CacheReadUnknown));
        events.extend([ReplyEvent::Completed { response_id, usage }]);
    }
}

/// The answer exceeds the output limit. A retry would only cost the same again.
fn cut() -> ReplyError {
    ReplyError::new(
        ReplyErrorKind::Local,
        "The answer reached the maximum output tokens. Raise max_output_tokens of the provider.",
    )
    .cut_by(AnswerCut::OutputLimit)
}

fn thought(text: String, encrypted_content: Option<String>) -> Item {
    let summary = if text.is_empty() { Vec::new() } else { vec![ReasoningSummaryPart::SummaryText { text }] };
    Item::Reasoning { id: None, summary, content: None, encrypted_content }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        index: u64,
        content_block: Start,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: Stop,
        #[serde(default)]
        usage: Option<Usage>,
    },
    MessageStop,
    Error {
        error: Fault,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Start {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Json { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Stop {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<i64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<i64>,
    #[serde(default)]
    cache_read_input_tokens: Option<i64>,
    #[serde(default)]
    output_tokens: Option<i64>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default)]
    thinking_tokens: Option<i64>,
}

/// The newest usage figures; later ones include earlier ones.
#[derive(Debug, Default)]
struct Figures {
    uncached: Option<i64>,
    written: Option<i64>,
    read: Option<i64>,
    output: Option<i64>,
    thinking: Option<i64>,
}

impl Figures {
    fn update(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else {
            return;
        };
        self.uncached = usage.input_tokens.or(self.uncached);
        self.written = usage.cache_creation_input_tokens.or(self.written);
        self.read = usage.cache_read_input_tokens.or(self.read);
        self.output = usage.output_tokens.or(self.output);
        self.thinking = usage.output_tokens_details.and_then(|it| it.thinking_tokens).or(self.thinking);
    }

    /// All input tokens, including those written to the cache and read from it.
    fn total(&self) -> Option<TokenUsage> {
        let uncached = self.uncached?;
        let count = |figure: Option<i64>| figure.unwrap_or(0);
        let input_tokens = uncached.saturating_add(count(self.written)).saturating_add(count(self.read));
        Some(TokenUsage {
            input_tokens,
            cached_input_tokens: count(self.read),
            output_tokens: count(self.output),
            reasoning_output_tokens: count(self.thinking),
            total_tokens: input_tokens.saturating_add(count(self.output)),
        })
    }
}

#[derive(Deserialize)]
struct Fault {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

impl Fault {
    fn meaning(self) -> ReplyError {
        let message = self.message.unwrap_or_default();
        match self.kind.as_deref() {
            _ if overflow::is_overflow(&message) => {
                said(failure::context_window_exceeded(), Some(message), failure::OVERFLOW_ADVICE)
            }
            Some("billing_error") => {
                said(failure::quota_exceeded(), Some(message), "check the account's plan and billing details")
            }
            Some("authentication_error" | "permission_error") => {
                ReplyError::new(ReplyErrorKind::InvalidRequest, message).coded(FailureCode::Auth)
            }
            Some("invalid_request_error" | "not_found_error") => {
                ReplyError::new(ReplyErrorKind::InvalidRequest, message)
            }
            // Overload and rate limits are temporary; unknown errors are treated the same.
            _ => ReplyError::stream(message),
        }
    }
}

#[cfg(test)]
mod tests;
