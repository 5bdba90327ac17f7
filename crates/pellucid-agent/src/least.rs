//! The least that a request costs, counted for the model that is asked.

use bytes::Bytes;
use pellucid_engine::least::least_tokens;
use pellucid_model::Model;
use pellucid_model::budget::Ticket;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_tokens::Exact;

/// A model whose encoding this build carries, to count for those whose own it does not.
const COUNTED_WITH: &str = "gpt-5";

/// What a count with another encoding is divided by: the encodings in use differ by far less.
const UNKNOWN_ENCODING: u64 = 2;

/// Counts for a wire and a model.
#[derive(Debug, Clone)]
pub(crate) struct Least {
    wire: WireApi,
    model: String,
}

impl Least {
    /// For requests of this wire to this model.
    pub(crate) fn new(wire: WireApi, model: &str) -> Self {
        Self { wire, model: model.to_owned() }
    }

    /// The least number of tokens of a body.
    pub(crate) fn tokens(&self, body: &[Bytes]) -> u64 {
        let body = body.concat();
        let count = |exact: &Exact| least_tokens(self.wire, &body, exact);
        match Exact::for_model(&self.model) {
            Ok(exact) => count(&exact),
            Err(_) => Exact::for_model(COUNTED_WITH).map_or(0, |exact| count(&exact) / UNKNOWN_ENCODING),
        }
    }

    /// Lets a request out. It is only counted where tokens or money are limited.
    pub(crate) fn admit(&self, model: &Model, body: &[Bytes]) -> Result<Ticket, ReplyError> {
        let least = if model.budget().counts_tokens() { self.tokens(body) } else { 0 };
        model.admit(&self.model, least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_tokens(model: &str, expected: u64) {
        let body = format!(r#"{{"instructions":"{}"}}"#, "word ".repeat(100));
        let (head, tail) = body.split_at(7);
        let segments = [Bytes::from(head.to_owned()), Bytes::from(tail.to_owned())];
        assert_eq!(Least::new(WireApi::Responses, model).tokens(&segments), expected);
    }

    #[test]
    fn models_with_another_encoding_count_half() {
        check_tokens("gpt-5.2-codex", 101);
        check_tokens("claude-x", 50);
    }
}
