//! Limits that a user sets for a session, and what is spent of them.
//!
//! [`Budget::admit`] admits a request, which counts from then on with the least that it can cost; the provider's figure
//! replaces that when the reply is complete. A request that was refused costs no tokens. Clones share what is spent, so
//! that agents, reviews and summaries count for their session.
//!
//! Not here: how the least cost is counted (`pellucid-agent`).

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_protocol::price::Money;
use pellucid_protocol::price::TokenPrice;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::UsageSplit;

/// The most that may be spent; an absent limit does not apply.
#[derive(Debug, Clone, Default)]
pub struct BudgetLimits {
    /// How many tokens requests and replies may have in all.
    pub max_tokens: Option<u64>,
    /// How many requests may be sent, retries included.
    pub max_requests: Option<u64>,
    /// What requests and replies may cost in all.
    pub max_cost: Option<CostLimit>,
}

/// A limit in money.
#[derive(Debug, Clone)]
pub struct CostLimit {
    /// The limit, in units of the currency that the prices have.
    pub units: f64,
    /// Where prices come from.
    pub prices: Arc<dyn PriceSource>,
}

/// What models cost now.
pub trait PriceSource: fmt::Debug + Send + Sync {
    /// The price of a model; absent if it is not known.
    fn price(&self, model: &str) -> Option<TokenPrice>;
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
    /// Absent until a request with a price was admitted.
    cost: Option<Money>,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub fn new(limits: BudgetLimits) -> Self {
        Self { limits, spent: Arc::default() }
    }

    /// Whether tokens or their price are limited, so that the least cost of a request must be counted.
    pub fn counts_tokens(&self) -> bool {
        self.limits.max_tokens.is_some() || self.limits.max_cost.is_some()
    }

    /// Admits a request to a model that has at least `least` tokens. Every request has at least one.
    ///
    /// # Errors
    ///
    /// When the request would exceed a limit, or money is limited and the price of the model is unknown.
    pub fn admit(&self, model: &str, least: u64) -> Result<Ticket, ReplyError> {
        let least = least.max(1);
        let mut spent = self.spent();
        self.check_requests(&spent)?;
        self.check_tokens(&spent, least)?;
        let priced = match &self.limits.max_cost {
            Some(limit) => Some(limit.check(&spent, model, least)?),
            None => None,
        };
        spent.requests += 1;
        spent.tokens = spent.tokens.saturating_add(least);
        let held = Held { tokens: least, cost: priced.as_ref().map(|priced| priced.least.clone()) };
        spent.add_cost(held.cost.as_ref());
        drop(spent);
        Ok(Ticket { budget: self.clone(), held, price: priced.map(|priced| priced.price) })
    }

    fn check_requests(&self, spent: &Spent) -> Result<(), ReplyError> {
        match self.limits.max_requests {
            Some(max) if spent.requests >= max => Err(refusal(format!(
                "the limit of {} is reached, so no other was sent; allow more with --max-requests, or max_requests \
                 under [limits]",
                counted(max, "request"),
            ))),
            _ => Ok(()),
        }
    }

    fn check_tokens(&self, spent: &Spent, least: u64) -> Result<(), ReplyError> {
        match self.limits.max_tokens {
            Some(max) if spent.tokens.saturating_add(least) > max => Err(refusal(format!(
                "the limit of {} is reached: {} spent, and this request costs at least {least}, so it was not \
                 sent; allow more with --max-tokens, or max_tokens under [limits]",
                counted(max, "token"),
                are(spent.tokens),
            ))),
            _ => Ok(()),
        }
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The price of a request's model, and the least that the request costs.
struct Priced {
    price: TokenPrice,
    least: Money,
}

impl CostLimit {
    fn check(&self, spent: &Spent, model: &str, least: u64) -> Result<Priced, ReplyError> {
        let Some(price) = self.prices.price(model) else {
            return Err(refusal(format!(
                "the price of `{model}` is unknown, so --max-cost cannot be kept and nothing was sent; write the price into \
                 prices.toml (see docs/prices.md)"
            )));
        };
        let max = Money::of_units(self.units, &price.currency);
        let least = price.least(least);
        let so_far = spent.cost.clone().unwrap_or_else(|| Money::none(&price.currency));
        let Some(then) = so_far.plus(&least) else {
            return Err(refusal(format!(
                "the price of `{model}` is in {}, and {so_far} is spent, so --max-cost cannot be kept and nothing was \
                 sent; prices.toml needs one currency",
                price.currency,
            )));
        };
        if max.is_zero() || then.is_more_than(&max) == Some(true) {
            return Err(refusal(format!(
                "the limit of {max} is reached: {so_far} is spent, and this request costs at least {least} (price from {}), \
                 so it was not sent; allow more with --max-cost",
                price.from,
            )));
        }
        Ok(Priced { price, least })
    }
}

impl Spent {
    fn add_cost(&mut self, cost: Option<&Money>) {
        if let Some(cost) = cost {
            self.cost = match &self.cost {
                Some(so_far) => so_far.plus(cost),
                None => Some(cost.clone()),
            };
        }
    }
}

fn refusal(message: String) -> ReplyError {
    ReplyError::new(ReplyErrorKind::Budget, message)
}

/// An admitted request.
#[derive(Debug)]
pub struct Ticket {
    budget: Budget,
    held: Held,
    /// The price of the model, where money is limited.
    price: Option<TokenPrice>,
}

/// What counts for a request until the provider reports its usage.
#[derive(Debug)]
struct Held {
    tokens: u64,
    cost: Option<Money>,
}

impl Ticket {
    /// Admits the same request once more, after it was refused.
    pub(crate) fn again(&self) -> Result<(), ReplyError> {
        let mut spent = self.budget.spent();
        self.budget.check_requests(&spent)?;
        spent.requests += 1;
        Ok(())
    }

    /// Replaces the estimate by the provider's figures, and the tokens that it wrote to its cache.
    pub(crate) fn settle(&mut self, usage: &TokenUsage, cache_write: Option<i64>) {
        let parts = usage.input_tokens.saturating_add(usage.output_tokens);
        let tokens = u64::try_from(usage.total_tokens.max(parts)).unwrap_or(0);
        let cost = self.price.as_ref().map(|price| price.cost(&UsageSplit::new(usage, cache_write)));
        self.replace(Held { tokens, cost });
    }

    /// Counts no tokens for the request, because no reply began.
    pub(crate) fn refund(&mut self) {
        let cost = self.price.as_ref().map(|price| Money::none(&price.currency));
        self.replace(Held { tokens: 0, cost });
    }

    fn replace(&mut self, now: Held) {
        let mut spent = self.budget.spent();
        spent.tokens = spent.tokens.saturating_sub(self.held.tokens).saturating_add(now.tokens);
        if let (Some(so_far), Some(held)) = (&spent.cost, &self.held.cost) {
            spent.cost = so_far.minus(held);
        }
        spent.add_cost(now.cost.as_ref());
        self.held = now;
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

    fn tokens(max: u64) -> BudgetLimits {
        BudgetLimits { max_tokens: Some(max), ..BudgetLimits::default() }
    }

    /// A token costs a millionth, a token from the cache a tenth of it, an answered one ten times as much.
    #[derive(Debug)]
    struct OnlyM;

    impl PriceSource for OnlyM {
        fn price(&self, model: &str) -> Option<TokenPrice> {
            let currency = match model {
                "m" => "USD",
                "e" => "EUR",
                _ => return None,
            };
            let (input, cached_read, output) = (1_000_000, 100_000, 10_000_000);
            let (cache_write, cache_write_1h) = (input, input);
            let from = "2026-01-01".into();
            Some(TokenPrice {
                from,
                currency: currency.into(),
                input,
                cached_read,
                cache_write,
                cache_write_1h,
                output,
            })
        }
    }

    fn money(units: f64) -> Budget {
        let max_cost = Some(CostLimit { units, prices: Arc::new(OnlyM) });
        Budget::new(BudgetLimits { max_cost, ..BudgetLimits::default() })
    }

    #[track_caller]
    fn check_refusal(budget: &Budget, least: u64, expected: &Expect) {
        let error = budget.admit("m", least).unwrap_err();
        assert_eq!(error.kind, ReplyErrorKind::Budget);
        expected.assert_eq(&error.message);
    }

    #[test]
    fn nothing_is_let_out_beyond_the_tokens() {
        let budget = Budget::new(tokens(100));
        let mut first = budget.admit("m", 40).unwrap();
        first.settle(&usage(90), None);
        check_refusal(
            &budget,
            11,
            &expect![
                "the limit of 100 tokens is reached: 90 are spent, and this request costs at least 11, so it was not sent; allow more with --max-tokens, or max_tokens under [limits]"
            ],
        );
        budget.admit("m", 10).unwrap();
    }

    #[test]
    fn what_is_under_way_counts_and_what_was_refused_does_not() {
        let budget = Budget::new(tokens(100));
        let mut first = budget.admit("m", 60).unwrap();
        budget.clone().admit("m", 60).unwrap_err();
        first.refund();
        drop(budget.admit("m", 60).unwrap());
        // The second reply was interrupted: the least that it cost stays spent.
        budget.admit("m", 41).unwrap_err();
    }

    #[test]
    fn requests_are_counted_each_time_that_they_go_out() {
        let budget = Budget::new(BudgetLimits { max_requests: Some(2), ..BudgetLimits::default() });
        let ticket = budget.admit("m", 1).unwrap();
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
        Budget::new(tokens(0)).admit("m", 0).unwrap_err();
        Budget::new(BudgetLimits { max_requests: Some(0), ..BudgetLimits::default() }).admit("m", 0).unwrap_err();
        Budget::default().admit("m", u64::MAX).unwrap();
    }

    #[test]
    fn a_request_that_tokens_forbid_does_not_count() {
        let budget = Budget::new(BudgetLimits { max_requests: Some(1), ..tokens(10) });
        budget.admit("m", 11).unwrap_err();
        budget.admit("m", 10).unwrap();
    }

    #[test]
    fn money_that_is_spent_counts_with_the_least_of_the_next_request() {
        let budget = money(0.01);
        assert!(budget.counts_tokens());
        let mut first = budget.admit("m", 1000).unwrap();
        let usage = TokenUsage { input_tokens: 1000, cached_input_tokens: 0, output_tokens: 899, ..usage(1899) };
        first.settle(&usage, None);
        check_refusal(
            &budget,
            101,
            &expect![
                "the limit of $0.010 is reached: $0.0100 is spent, and this request costs at least <$0.0001 (price from 2026-01-01), so it was not sent; allow more with --max-cost"
            ],
        );
        budget.admit("m", 100).unwrap();
    }

    #[test]
    fn money_of_what_was_refused_is_not_spent() {
        let budget = money(0.001);
        let mut first = budget.admit("m", 9000).unwrap();
        budget.admit("m", 9000).unwrap_err();
        first.refund();
        budget.admit("m", 9000).unwrap();
    }

    #[test]
    fn a_limit_in_money_needs_prices_of_one_currency() {
        let budget = money(1.0);
        expect!["the price of `other` is unknown, so --max-cost cannot be kept and nothing was sent; write the price into prices.toml (see docs/prices.md)"]
            .assert_eq(&budget.admit("other", 1).unwrap_err().message);
        budget.admit("m", 1).unwrap();
        expect!["the price of `e` is in EUR, and <$0.0001 is spent, so --max-cost cannot be kept and nothing was sent; prices.toml needs one currency"]
            .assert_eq(&budget.admit("e", 1).unwrap_err().message);
    }

    #[test]
    fn no_money_allows_nothing() {
        for units in [0.0, -1.0, f64::NAN] {
            money(units).admit("m", 0).unwrap_err();
        }
        money(f64::INFINITY).admit("m", u64::MAX).unwrap();
    }
}
