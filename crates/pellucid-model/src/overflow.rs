//! How servers say that a prompt is too long.
//!
//! The Responses wire has a code for it inside a stream. Servers of the other wires refuse the
//! request, each in words of its own.

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;

use crate::failure;

/// Codes and phrases of OpenAI, vLLM, llama.cpp and Anthropic, in small letters.
const PHRASES: [&str; 6] = [
    "context_length_exceeded",
    "maximum context length",
    "exceed_context_size_error",
    "exceeds the available context size",
    "prompt is too long",
    "exceed context limit",
];

/// Whether a text says so.
pub(crate) fn is_told(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
}

/// A refusal for what it is. On the Responses wire a refusal stays one.
pub(crate) fn recognised(wire: WireApi, error: ReplyError) -> ReplyError {
    let is_refusal = matches!(error.kind, ReplyErrorKind::InvalidRequest | ReplyErrorKind::UnexpectedStatus);
    if wire != WireApi::Responses && is_refusal && is_told(&error.message) {
        return ReplyError { failure: error.failure, ..failure::context_window_exceeded() };
    }
    error
}
