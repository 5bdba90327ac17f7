//! How servers report that a request does not fit into the context window.
//!
//! The Responses wire has a code for it inside a stream. Servers of the other wires refuse the request, each with a
//! different text.

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;

use crate::failure;

/// Codes and phrases of OpenAI, vLLM, llama.cpp and Anthropic, in lower case.
const PHRASES: [&str; 6] = [
    "context_length_exceeded",
    "maximum context length",
    "exceed_context_size_error",
    "exceeds the available context size",
    "prompt is too long",
    "exceed context limit",
];

/// Whether a text contains one of the phrases.
pub(crate) fn is_overflow(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
}

/// Recognises such a refusal. On the Responses wire a refusal stays as it is.
pub(crate) fn recognised(wire: WireApi, error: ReplyError) -> ReplyError {
    let is_refusal = matches!(error.kind, ReplyErrorKind::InvalidRequest | ReplyErrorKind::UnexpectedStatus);
    if wire != WireApi::Responses && is_refusal && is_overflow(&error.message) {
        return ReplyError { failure: error.failure, ..failure::context_window_exceeded() };
    }
    error
}
