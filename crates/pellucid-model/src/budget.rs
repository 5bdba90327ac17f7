//! Limits that a user sets for a session, and what is spent of them.
//!
//! [`Budget::admit`] admits a request, which counts from then on with the least that it can cost; the provider's figure
//! replaces that when the reply is complete. A request that was refused costs no tokens. Clones share what is spent, so
//! that agents, reviews and summaries count for their session.
//!
//! Not here: how the least cost is counted (`pellucid-agent`).

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::usage::TokenUsage;

/// The most that may be spent; an absent limit does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    /// How many tokens requests and replies may have in all.
    pub max_tokens: Option<u64>,
    /// How many requests may be sent, retries included.
    pub max_requests: Option<u64>,
}

/// Limits, and what is spent of them. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    limits: BudgetLimits,
    spent: Arc<Mutex<Spent>>,
}

#[derive(Debug, Default)]
struct Spent {
    tokens: u64,
    requests: u64,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub fn new(limits: BudgetLimits) -> Self {
        Self { limits, spent: Arc::default() }
    }

    /// Whether tokens are limited, so that the least cost of a request must be counted.
    pub fn counts_tokens(&self) -> bool {
        self.limits.max_tokens.is_some()
    }

    /// Admits a request that costs at least `least` tokens. Every request costs at least one.
    ///
    /// # Errors
    ///
    /// When the request would exceed a limit.
    pub fn admit(&self, least: u64) -> Result<Ticket, ReplyError> {
        let least = least.max(1);
        self.count_request()?;
        let mut spent = self.spent();
        if let Some(max) = self.limits.max_tokens
            && spent.tokens.saturating_add(least) > max
        {
            spent.requests -= 1;
            let message = format!(
                "the limit of {} is reached: {} spent, and this request costs at least {least}, so it was not \
                 sent; allow more with --max-tokens, or max_tokens under [limits]",
                counted(max, "token"),
                are(spent.tokens),
            );
            return Err(ReplyError::new(ReplyErrorKind::Budget, message));
        }
        spent.tokens = spent.tokens.saturating_add(least);
        drop(spent);
        Ok(Ticket { budget: self.clone(), held: least })
    }

    fn count_request(&self) -> Result<(), ReplyError> {
        let mut spent = self.spent();
        if let Some(max) = self.limits.max_requests
            && spent.requests >= max
        {
            let message = format!(
                "the limit of {} is reached, so no other was sent; allow more with --max-requests, or max_requests \
                 under [limits]",
                counted(max, "request"),
            );
            return Err(ReplyError::new(ReplyErrorKind::Budget, message));
        }
        spent.requests += 1;
        Ok(())
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An admitted request.
#[derive(Debug)]
pub struct Ticket {
    budget: Budget,
    /// The tokens that count for the request until the provider reports its usage.
    held: u64,
}

impl Ticket {
    /// Admits the same request once more, after it was refused.
    pub(crate) fn again(&self) -> Result<(), ReplyError> {
        self.budget.count_request()
    }

    /// Replaces the estimate by the provider's figure.
    pub(crate) fn settle(&mut self, usage: &TokenUsage) {
        let parts = usage.input_tokens.saturating_add(usage.output_tokens);
        let cost = u64::try_from(usage.total_tokens.max(parts)).unwrap_or(0);
        self.replace(cost);
    }

    /// Counts no tokens for the request, because no reply began.
    pub(crate) fn refund(&mut self) {
        self.replace(0);
    }

    fn replace(&mut self, cost: u64) {
        let mut spent = self.budget.spent();
        spent.tokens = spent.tokens.saturating_sub(self.held).saturating_add(cost);
        self.held = cost;
    }
}

fn counted(n: u64, unit: &str) -> String {
    if n == 1 { format!("1 {unit}") } else { format!("{n} {unit}s") }
}

fn are(n: u64) -> String {
    if n == 1 { "1 is".to_owned() } else { format!("{n} are") }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn usage(total_tokens: i64) -> TokenUsage {
        TokenUsage { total_tokens, ..TokenUsage::default() }
    }

    #[track_caller]
    fn check_refusal(budget: &Budget, least: u64, expected: &Expect) {
        let error = budget.admit(least).unwrap_err();
        assert_eq!(error.kind, ReplyErrorKind::Budget);
        expected.assert_eq(&error.message);
    }

    #[test]
    fn nothing_is_let_out_beyond_the_tokens() {
        let budget = Budget::new(BudgetLimits { max_tokens: Some(100), max_requests: None });
        let mut first = budget.admit(40).unwrap();
        first.settle(&usage(90));
        check_refusal(
            &budget,
            11,
            &expect![
                "the limit of 100 tokens is reached: 90 are spent, and this request costs at least 11, so it was not sent; allow more with --max-tokens, or max_tokens under [limits]"
            ],
        );
        budget.admit(10).unwrap();
    }

    #[test]
    fn what_is_under_way_counts_and_what_was_refused_does_not() {
        let budget = Budget::new(BudgetLimits { max_tokens: Some(100), max_requests: None });
        let mut first = budget.admit(60).unwrap();
        budget.clone().admit(60).unwrap_err();
        first.refund();
        drop(budget.admit(60).unwrap());
        // The second reply was interrupted: the least that it cost stays spent.
        budget.admit(41).unwrap_err();
    }

    #[test]
    fn requests_are_counted_each_time_that_they_go_out() {
        let budget = Budget::new(BudgetLimits { max_tokens: None, max_requests: Some(2) });
        let ticket = budget.admit(1).unwrap();
        ticket.again().unwrap();
        ticket.again().unwrap_err();
        check_refusal(
            &budget,
            1,
            &expect![
                "the limit of 2 requests is reached, so no other was sent; allow more with --max-requests, or max_requests under [limits]"
            ],
        );
        assert!(!budget.counts_tokens());
    }

    #[test]
    fn zero_allows_nothing() {
        Budget::new(BudgetLimits { max_tokens: Some(0), max_requests: None }).admit(0).unwrap_err();
        Budget::new(BudgetLimits { max_tokens: None, max_requests: Some(0) }).admit(0).unwrap_err();
        Budget::default().admit(u64::MAX).unwrap();
    }

    #[test]
    fn a_request_that_tokens_forbid_does_not_count() {
        let budget = Budget::new(BudgetLimits { max_tokens: Some(10), max_requests: Some(1) });
        budget.admit(11).unwrap_err();
        budget.admit(10).unwrap();
    }
}
