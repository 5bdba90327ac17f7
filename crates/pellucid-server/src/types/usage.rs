//! Tokens and limits.

use pellucid_protocol::usage as inner;
use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// A thread's token figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTokenUsage {
    /// All responses added up.
    pub total: TokenUsageBreakdown,
    /// The newest response.
    pub last: TokenUsageBreakdown,
    /// The model's effective window.
    pub model_context_window: Option<i64>,
}

/// Tokens of one response, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsageBreakdown {
    /// All of them, as the server counts.
    pub total_tokens: i64,
    /// Tokens read, cached ones included.
    pub input_tokens: i64,
    /// Of these, read from the provider's cache.
    pub cached_input_tokens: i64,
    /// Tokens written, reasoning included.
    pub output_tokens: i64,
    /// Of these, spent on reasoning.
    pub reasoning_output_tokens: i64,
}

/// How much of a limit is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
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
    pub credits: Option<CreditsSnapshot>,
    /// The account's plan.
    pub plan_type: Option<PlanType>,
}

/// One window of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitWindow {
    /// Share that is used, 0 to 100.
    pub used_percent: i32,
    /// Its length in minutes.
    pub window_duration_mins: Option<i64>,
    /// When it starts anew, in seconds of Unix time.
    pub resets_at: Option<i64>,
}

/// Bought credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreditsSnapshot {
    /// Whether there are any.
    pub has_credits: bool,
    /// Whether they never run out.
    pub unlimited: bool,
    /// How many, as the server writes it.
    pub balance: Option<String>,
}

word_enum! {
    /// The plan of an account.
    PlanType {
        /// Free.
        Free = "free",
        /// Go.
        Go = "go",
        /// Plus.
        Plus = "plus",
        /// Pro.
        Pro = "pro",
        /// Team.
        Team = "team",
        /// Business.
        Business = "business",
        /// Enterprise.
        Enterprise = "enterprise",
        /// Edu.
        Edu = "edu",
        /// One that this version does not know.
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
