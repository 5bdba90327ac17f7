//! What a model reports to have consumed.

use serde::Deserialize;
use serde::Serialize;

/// Tokens of one response, or of several added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read, cached ones included.
    pub input_tokens: i64,
    /// Of these, read from the provider's cache.
    pub cached_input_tokens: i64,
    /// Tokens written, reasoning included.
    pub output_tokens: i64,
    /// Of these, spent on reasoning.
    pub reasoning_output_tokens: i64,
    /// All of them, as the server counts.
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

    /// What a person calls "used": uncached input and output.
    pub fn blended_total(&self) -> i64 {
        (self.input_tokens - self.cached_input_tokens).max(0) + self.output_tokens.max(0)
    }
}

/// Tokens of one response, or of several added up, by what they are charged for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSplit {
    /// Input that was read from the provider's cache.
    pub cached_read: i64,
    /// Input that was put into that cache; absent where the wire does not tell, and then it counts as uncached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<i64>,
    /// All other input.
    pub uncached: i64,
    /// What was written, reasoning included.
    pub output: i64,
}

impl UsageSplit {
    /// The figures of a response, with what it put into the cache, where the wire tells.
    pub fn new(usage: &TokenUsage, cache_write: Option<i64>) -> Self {
        let cached = usage.cached_input_tokens.saturating_add(cache_write.unwrap_or(0));
        Self {
            cached_read: usage.cached_input_tokens,
            cache_write,
            uncached: usage.input_tokens.saturating_sub(cached).max(0),
            output: usage.output_tokens,
        }
    }

    /// Adds others to these.
    pub fn add(&mut self, other: &Self) {
        self.cached_read = self.cached_read.saturating_add(other.cached_read);
        self.cache_write = match (self.cache_write, other.cache_write) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        self.uncached = self.uncached.saturating_add(other.uncached);
        self.output = self.output.saturating_add(other.output);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A session's token figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsageInfo {
    /// All responses added up.
    pub total_token_usage: TokenUsage,
    /// The newest response.
    pub last_token_usage: TokenUsage,
    /// The model's effective window.
    pub model_context_window: Option<i64>,
}

/// How much of a rate limit is used, as response headers tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateLimitSnapshot {
    /// Which limit.
    pub limit_id: Option<String>,
    /// Its name for people.
    pub limit_name: Option<String>,
    /// The short window.
    pub primary: Option<RateLimitWindow>,
    /// The long window.
    pub secondary: Option<RateLimitWindow>,
    /// Bought credits.
    pub credits: Option<Credits>,
    /// The account's plan.
    pub plan_type: Option<String>,
}

/// One window of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateLimitWindow {
    /// Share that is used, 0 to 100.
    #[serde(deserialize_with = "crate::number::as_f64")]
    pub used_percent: f64,
    /// Its length.
    pub window_minutes: Option<i64>,
    /// When it starts anew, in seconds of Unix time.
    pub resets_at: Option<i64>,
}

/// Bought credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Whether there are any.
    pub has_credits: bool,
    /// Whether they never run out.
    pub unlimited: bool,
    /// How many, as the server writes it.
    pub balance: Option<String>,
}
