//! The token counts of a session file: what is known of requests that have no record.
//!
//! Programs repeat a count when only a rate limit changed, so a count is a new response only if the sum of the session grew.

use std::path::Path;

use memchr::memmem;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::usage::TokenUsage;
use serde_json::Value;

use crate::lines::Forwards;
use crate::read;
use crate::read::LineReading;
use crate::read::ReadError;
use crate::record::Record;

/// The member of a token count with the tokens that were written to the provider's cache. Only reconstructed sessions have it.
pub const CACHE_WRITE: &str = "cache_write_tokens";

/// The member with how many of these the provider keeps for an hour.
pub const CACHE_WRITE_1H: &str = "cache_write_1h_tokens";

/// The usage of a response, as the session file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenCountLine {
    /// When the line was written, in UTC.
    pub at: String,
    /// The model that the turn asked; empty where no line says.
    pub model: String,
    /// The id of the turn; empty where no line says.
    pub turn: String,
    /// The tokens that the provider charged.
    pub usage: TokenUsage,
    /// Input tokens that were written to the provider's cache; absent if the file does not tell.
    pub cache_write: Option<i64>,
    /// How many of these the provider keeps for an hour.
    pub cache_write_1h: Option<i64>,
}

/// The usage of every response of a session file, in order.
///
/// # Errors
/// When the file cannot be read.
pub fn token_counts(path: &Path) -> Result<Vec<TokenCountLine>, ReadError> {
    let failed = |source| ReadError::io(path, source);
    let mut lines = Forwards::new(pellucid_files::open(path).map_err(failed)?, 0, u64::MAX).map_err(failed)?;
    let mut counts = TokenCounts::default();
    while let Some(line) = lines.next_line().map_err(failed)? {
        counts.line(line.bytes);
    }
    Ok(counts.found)
}

#[derive(Default)]
struct TokenCounts {
    found: Vec<TokenCountLine>,
    total: TokenUsage,
    model: String,
    turn: String,
}

impl TokenCounts {
    fn line(&mut self, line: &[u8]) {
        let record = match read::read_line(line) {
            LineReading::Record(record) => record,
            LineReading::Passed | LineReading::SetAside => return,
        };
        match record {
            Record::TurnContext(context) => {
                self.model = context.model;
                self.turn = context.turn_id.unwrap_or_default();
            }
            Record::EventMsg(EventMessage::TokenCount { info: Some(info), .. })
                if info.total_token_usage != self.total && info.last_token_usage.input_tokens > 0 =>
            {
                self.total = info.total_token_usage;
                let (model, turn) = (self.model.clone(), self.turn.clone());
                let (cache_write, cache_write_1h) = written(line);
                let (at, usage) = (timestamp(line), info.last_token_usage);
                self.found.push(TokenCountLine { at, model, turn, usage, cache_write, cache_write_1h });
            }
            _ => {}
        }
    }
}

/// The tokens of a count that were written to the provider's cache, and how many of these are kept for an hour.
fn written(line: &[u8]) -> (Option<i64>, Option<i64>) {
    if memmem::find(line, CACHE_WRITE.as_bytes()).is_none() {
        return (None, None);
    }
    let line: Value = serde_json::from_slice(line).unwrap_or_default();
    let tokens = |name: &str| line["payload"]["info"][name].as_i64().filter(|tokens| *tokens >= 0);
    (tokens(CACHE_WRITE), tokens(CACHE_WRITE_1H))
}

/// The time that a line begins with.
fn timestamp(line: &[u8]) -> String {
    let text = line.strip_prefix(b"{\"timestamp\":\"").unwrap_or_default();
    let end = text.iter().position(|byte| *byte == b'"').unwrap_or(0);
    String::from_utf8_lossy(&text[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_count_is_no_response() {
        let count = |at: &str, total: i64, last: i64| {
            let usage = |tokens: i64| {
                format!(
                    r#"{{"input_tokens":{tokens},"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0,"total_tokens":{}}}"#,
                    tokens + 1
                )
            };
            format!(
                r#"{{"timestamp":"{at}","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{},"last_token_usage":{},"model_context_window":9}},"rate_limits":null}}}}"#,
                usage(total),
                usage(last)
            )
        };
        let mut counts = TokenCounts::default();
        for line in [count("t1", 10, 10), count("t2", 10, 10), count("t3", 25, 15), "{".to_owned()] {
            counts.line(line.as_bytes());
        }
        let found: Vec<_> = counts.found.iter().map(|it| (it.at.as_str(), it.usage.input_tokens)).collect();
        assert_eq!(found, [("t1", 10), ("t3", 15)]);
    }
}
