//! What a turn will cost before it begins: the next request, and as many more as the turns of the session had on average.
//!
//! If the next request extends the last one, what the two share was counted by the provider, and the estimate of the rest is
//! scaled by that.

use pellucid_engine::prices::PriceEntry;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;

use crate::figures::RequestFigures;

/// A whole request, in the parts that averages are computed in.
const WHOLE: i64 = 1_000;

/// More tokens than any request has; products of two such numbers can be computed.
const TOKENS_MAX: i64 = 1 << 30;

/// How the turns of a session went, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PastTurns {
    /// How many turns asked for an answer.
    pub n_turns: usize,
    n_requests: i64,
    /// The tokens by which a request was longer than the one before in its turn, summed up.
    growth: i64,
    /// How many requests had one before in their turn.
    n_steps: i64,
    /// The tokens of all answers.
    output: i64,
    /// The tokens of the last request.
    last: i64,
}

/// The size of the next request, estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextSize {
    /// How many tokens the request has.
    pub tokens: usize,
    /// How many of these the provider may have in its cache.
    pub tokens_kept: usize,
    /// Whether the request begins with all of the last one.
    pub is_extending: bool,
}

/// What a turn will probably cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnForecast {
    /// The tokens of its requests and answers together.
    pub tokens: usize,
    /// What they cost; absent if the price is not known.
    pub cost: Option<Money>,
    /// How many turns the averages are from.
    pub n_turns: usize,
}

impl PastTurns {
    /// The turns of a session. Requests that are not for an answer, and those that the provider did not count, do not count.
    pub fn of(figures: &[RequestFigures]) -> Self {
        let mut past = Self::default();
        let mut before: Option<(&str, i64)> = None;
        for request in figures.iter().filter(|request| request.is_answer()) {
            let Some(usage) = &request.usage else { continue };
            let input = usage.cached_read + usage.uncached + usage.cache_write.unwrap_or(0);
            match before {
                Some((turn, input_before)) if turn == request.turn => {
                    past.growth += (input - input_before).max(0);
                    past.n_steps += 1;
                }
                _ => past.n_turns += 1,
            }
            past.n_requests += 1;
            past.output += usage.output;
            past.last = input;
            before = Some((&request.turn, input));
        }
        past
    }

    /// What a turn costs that begins with a request of this size. Absent before the first turn.
    pub fn forecast(&self, next: NextSize, price: Option<&PriceEntry>) -> Option<TurnForecast> {
        let n_turns = i64::try_from(self.n_turns).ok().filter(|n| *n > 0)?;
        let count = |tokens: usize| i64::try_from(tokens).unwrap_or(i64::MAX).min(TOKENS_MAX);
        let (mut first, mut kept) = (count(next.tokens), count(next.tokens_kept.min(next.tokens)));
        if next.is_extending && kept > 0 && self.last > 0 {
            let last = self.last.min(TOKENS_MAX);
            (first, kept) = (last + (first - kept) * last / kept, last);
        }
        let growth = if self.n_steps > 0 { self.growth / self.n_steps } else { 0 };
        let output = self.output / self.n_requests.max(1);
        let mut left = self.n_requests * WHOLE / n_turns;
        let mut usage = UsageSplit { cached_read: kept, uncached: first - kept, output, ..UsageSplit::default() };
        let mut sent = first;
        left -= WHOLE;
        while left > 0 {
            // Of the last request, only the part that turns have on average.
            let part = left.min(WHOLE);
            usage.cached_read += sent * part / WHOLE;
            usage.uncached += growth * part / WHOLE;
            usage.output += output * part / WHOLE;
            sent += growth;
            left -= WHOLE;
        }
        let all = usage.cached_read + usage.uncached + usage.output;
        Some(TurnForecast {
            tokens: usize::try_from(all).unwrap_or(usize::MAX),
            cost: price.map(|price| price.cost(&usage)),
            n_turns: self.n_turns,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pellucid_engine::prices::PriceTable;
    use pellucid_protocol::usage::TokenUsage;
    use pellucid_store::token_counts::TokenCountLine;

    use super::*;

    /// A session of turns with so many requests each. A request begins with all of the one before, and is longer by `growth`.
    fn session(turns: &[usize], growth: i64, output: i64) -> Vec<RequestFigures> {
        let (mut counts, mut input) = (Vec::new(), 5_000);
        for (turn, n) in turns.iter().enumerate() {
            for _ in 0..*n {
                let cached = if counts.is_empty() { 0 } else { input - growth };
                let usage = TokenUsage {
                    input_tokens: input,
                    cached_input_tokens: cached,
                    output_tokens: output,
                    ..TokenUsage::default()
                };
                counts.push(TokenCountLine {
                    usage,
                    turn: turn.to_string(),
                    model: "gpt-5.2-codex".to_owned(),
                    at: "2026-01-02T00:00:00Z".to_owned(),
                    ..TokenCountLine::default()
                });
                input += growth;
            }
        }
        RequestFigures::estimated(&counts, Duration::from_secs(300))
    }

    fn price() -> PriceEntry {
        PriceTable::built_in().of("gpt-5.2-codex", "9999-12-31").cloned().unwrap()
    }

    /// Forecasts the last turn of a session from those before, and compares it with the bill of that turn.
    #[track_caller]
    fn check_bill(turns: &[usize], growth: i64, output: i64) {
        let (figures, price) = (session(turns, growth, output), price());
        let last = (turns.len() - 1).to_string();
        let at = figures.iter().position(|request| request.turn == last).unwrap();
        let usage = |request: &RequestFigures| request.usage.unwrap();
        let first = usage(&figures[at]);
        // Estimates are off by a fifth, as those from bytes may be.
        let estimated = |tokens: i64| usize::try_from(tokens * 6 / 5).unwrap();
        let next = NextSize {
            tokens: estimated(first.cached_read + first.uncached),
            tokens_kept: estimated(first.cached_read),
            is_extending: true,
        };
        let forecast = PastTurns::of(&figures[..at]).forecast(next, Some(&price)).unwrap();
        let bill = Money::sum(figures[at..].iter().map(|request| price.cost(&usage(request)))).unwrap();
        let (paid, expected): (f64, f64) =
            (bill.decimal().parse().unwrap(), forecast.cost.unwrap().decimal().parse().unwrap());
        assert!((paid - expected).abs() <= paid * 0.05, "paid {paid}, expected {expected}");
    }

    #[test]
    fn a_forecast_is_within_a_twentieth_of_the_bill_of_a_steady_session() {
        check_bill(&[1, 1, 1, 1], 200, 300);
        check_bill(&[3, 3, 3], 800, 250);
        check_bill(&[2, 4, 2, 4, 3], 500, 100);
    }

    #[test]
    fn before_the_first_turn_nothing_is_forecast() {
        let next = NextSize { tokens: 1_000, tokens_kept: 0, is_extending: false };
        assert_eq!(PastTurns::of(&[]).forecast(next, Some(&price())), None);
        let past = PastTurns::of(&session(&[2], 100, 10));
        let forecast = past.forecast(next, None).unwrap();
        assert_eq!((forecast.tokens, forecast.cost, forecast.n_turns), (1_000 + 10 + 1_100 + 10, None, 1));
    }
}
