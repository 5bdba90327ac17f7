//! The tokens that a session has used, as the server reports them.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::usage::RateLimitSnapshot;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::TokenUsageInfo;

/// Token figures and rate limits of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meter {
    info: Option<TokenUsageInfo>,
    limits: Option<RateLimitSnapshot>,
}

impl Meter {
    /// A meter that continues from these figures.
    pub fn resumed(info: Option<TokenUsageInfo>) -> Self {
        Self { info, limits: None }
    }

    /// Adds what a response cost.
    pub fn add(&mut self, usage: &TokenUsage, window: Option<i64>) {
        let info = self.info.get_or_insert_default();
        info.total_token_usage.add(usage);
        info.last_token_usage = *usage;
        info.model_context_window = window;
    }

    /// Notes that the window is full.
    pub fn fill(&mut self, window: i64) {
        let info = self.info.get_or_insert_default();
        let before = info.total_token_usage.total_tokens;
        info.last_token_usage = TokenUsage { total_tokens: (window - before).max(0), ..TokenUsage::default() };
        info.total_token_usage = TokenUsage { total_tokens: window, ..TokenUsage::default() };
        info.model_context_window = Some(window);
    }

    /// Takes an estimate in place of the server's last figure, after the history was rewritten.
    pub fn estimate(&mut self, total_tokens: i64, window: Option<i64>) {
        let info = self.info.get_or_insert_default();
        info.last_token_usage = TokenUsage { total_tokens, ..TokenUsage::default() };
        info.model_context_window = window;
    }

    /// The server's last figure.
    pub fn last_total(&self) -> i64 {
        self.info.as_ref().map_or(0, |info| info.last_token_usage.total_tokens)
    }

    /// Takes a newer state of the rate limits; what it does not say stays.
    pub fn limit(&mut self, mut newer: RateLimitSnapshot) {
        if let Some(older) = self.limits.take() {
            newer.credits = newer.credits.or(older.credits);
            newer.plan_type = newer.plan_type.or(older.plan_type);
        }
        self.limits = Some(newer);
    }

    /// The event that reports the figures.
    pub fn event(&self) -> EventMessage {
        EventMessage::TokenCount { info: self.info.clone(), rate_limits: self.limits.clone() }
    }

    /// The token counts; absent before the first reply.
    pub fn info(&self) -> Option<&TokenUsageInfo> {
        self.info.as_ref()
    }
}

#[cfg(test)]
mod tests;
