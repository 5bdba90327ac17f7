//! Token usage and rate limits, as clients receive them.

use pellucid_protocol::usage as inner;
use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// The token usage of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsage {
    /// The sum over all responses of the thread.
    pub total: TokenUsageBreakdown,
    /// The usage of the newest response.
    pub last: TokenUsageBreakdown,
    /// The context window that the thread can use, in tokens.
    pub model_context_window: Option<i64>,
}

/// Tokens of one response, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageBreakdown {
    /// All tokens, as the provider counts them.
    pub total_tokens: i64,
    /// Input tokens, including cached ones.
    pub input_tokens: i64,
    /// Input tokens that came from the provider's cache.
    pub cached_input_tokens: i64,
    /// Output tokens, including reasoning.
    pub output_tokens: i64,
    /// Output tokens spent on reasoning.
    pub reasoning_output_tokens: i64,
}

/// How much of a rate limit is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RateLimitSnapshot {
    pub limit_id: Option<String>,
    /// The limit's name for people.
    pub limit_name: Option<String>,
    /// The short window, usually of hours.
    pub primary: Option<RateLimitWindow>,
    /// The long window, usually of days.
    pub secondary: Option<RateLimitWindow>,
    /// The credits that the account has bought.
    pub credits: Option<CreditsSnapshot>,
    pub plan_type: Option<PlanType>,
}

/// One time window of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RateLimitWindow {
    /// The used share in percent, 0 to 100.
    pub used_percent: i32,
    /// The length of the window in minutes.
    pub window_duration_mins: Option<i64>,
    /// When the window restarts, in seconds of Unix time.
    pub resets_at: Option<i64>,
}

/// The credits that the account has bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreditsSnapshot {
    /// Whether any credits are left.
    pub has_credits: bool,
    /// Whether the credits never run out.
    pub unlimited: bool,
    /// How many credits are left, as the provider writes it.
    pub balance: Option<String>,
}

word_enum! {
    /// The plan of an account.
    PlanType {
        Free = "free",
        Go = "go",
        Plus = "plus",
        Pro = "pro",
        Team = "team",
        Business = "business",
        Enterprise = "enterprise",
        Edu = "edu",
        /// A plan that this version does not know.
        Unknown = "unknown",
    }
}

impl From<inner::TokenUsageInfo> for ThreadTokenUsage {
    fn from(info: inner::TokenUsageInfo) -> Self {
        Self {
            total: info.total_token_usage.into(),
            last: info.last_token_usage.into(),
            model_context_window: info.model_context_window,
        }
    }
}

impl From<inner::TokenUsage> for TokenUsageBreakdown {
    fn from(usage: inner::TokenUsage) -> Self {
        Self {
            total_tokens: usage.total_tokens,
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_output_tokens: usage.reasoning_output_tokens,
        }
    }
}

impl From<inner::RateLimitSnapshot> for RateLimitSnapshot {
    fn from(limits: inner::RateLimitSnapshot) -> Self {
        Self {
            limit_id: limits.limit_id,
            limit_name: limits.limit_name,
            primary: limits.primary.map(Into::into),
            secondary: limits.secondary.map(Into::into),
            credits: limits.credits.map(Into::into),
            plan_type: limits.plan_type.map(|plan| PlanType::from_word(&plan).unwrap_or(PlanType::Unknown)),
        }
    }
}

impl From<inner::RateLimitWindow> for RateLimitWindow {
    fn from(window: inner::RateLimitWindow) -> Self {
        Self {
            used_percent: window.used_percent.round() as i32,
            window_duration_mins: window.window_minutes,
            resets_at: window.resets_at,
        }
    }
}

impl From<inner::Credits> for CreditsSnapshot {
    fn from(credits: inner::Credits) -> Self {
        Self { has_credits: credits.has_credits, unlimited: credits.unlimited, balance: credits.balance }
    }
}
