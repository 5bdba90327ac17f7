//! Token usage and rate limits, as providers report them.

use serde::Deserialize;
use serde::Serialize;

/// Tokens of one response, or of several added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input tokens, including cached ones.
    pub input_tokens: i64,
    /// Input tokens that came from the provider's cache.
    pub cached_input_tokens: i64,
    /// Output tokens, including reasoning.
    pub output_tokens: i64,
    /// Output tokens spent on reasoning.
    pub reasoning_output_tokens: i64,
    /// All tokens, as the provider counts them.
    pub total_tokens: i64,
}

impl TokenUsage {
    /// Adds another report to this one.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.cached_input_tokens += other.cached_input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_output_tokens += other.reasoning_output_tokens;
        self.total_tokens += other.total_tokens;
    }

    /// The number that people are shown as "used": uncached input and output.
    pub fn blended_total(&self) -> i64 {
        (self.input_tokens - self.cached_input_tokens).max(0) + self.output_tokens.max(0)
    }
}

/// Tokens of one response, or of several added up, by what they are charged for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSplit {
    /// Input tokens that came from the provider's cache.
    pub cached_read: i64,
    /// Input tokens that were written to that cache; absent if the API does not report them, and then they count as
    /// uncached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<i64>,
    /// All other input tokens.
    pub uncached: i64,
    /// Output tokens, including reasoning.
    pub output: i64,
}

impl UsageSplit {
    /// Splits the figures of a response; `cache_write` is what the provider reports to have written to its cache.
    pub fn new(usage: &TokenUsage, cache_write: Option<i64>) -> Self {
        let cached = usage.cached_input_tokens.saturating_add(cache_write.unwrap_or(0));
        Self {
            cached_read: usage.cached_input_tokens,
            cache_write,
            uncached: usage.input_tokens.saturating_sub(cached).max(0),
            output: usage.output_tokens,
        }
    }

    /// Adds the figures of another response.
    pub fn add(&mut self, other: &Self) {
        self.cached_read = self.cached_read.saturating_add(other.cached_read);
        self.cache_write = match (self.cache_write, other.cache_write) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        self.uncached = self.uncached.saturating_add(other.uncached);
        self.output = self.output.saturating_add(other.output);
    }

    /// Whether all figures are 0.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The token usage of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsageInfo {
    /// The sum over all responses of the session.
    pub total_token_usage: TokenUsage,
    /// The usage of the newest response.
    pub last_token_usage: TokenUsage,
    /// The context window that the session can use, in tokens.
    pub model_context_window: Option<i64>,
}

/// How much of a rate limit is used, as response headers report it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateLimitSnapshot {
    /// The provider's id of the limit.
    pub limit_id: Option<String>,
    /// The limit's name for people.
    pub limit_name: Option<String>,
    /// The short window, usually of hours.
    pub primary: Option<RateLimitWindow>,
    /// The long window, usually of days.
    pub secondary: Option<RateLimitWindow>,
    /// The credits that the account has bought.
    pub credits: Option<Credits>,
    /// The plan of the account.
    pub plan_type: Option<String>,
}

/// One time window of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateLimitWindow {
    /// The used share in percent, 0 to 100.
    #[serde(deserialize_with = "crate::number::as_f64")]
    pub used_percent: f64,
    /// The length of the window in minutes.
    pub window_minutes: Option<i64>,
    /// When the window restarts, in seconds of Unix time.
    pub resets_at: Option<i64>,
}

/// The credits that the account has bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Whether any credits are left.
    pub has_credits: bool,
    /// Whether the credits never run out.
    pub unlimited: bool,
    /// How many credits are left, as the provider writes it.
    pub balance: Option<String>,
}
