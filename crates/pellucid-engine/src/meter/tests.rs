//! Figures of a session, as responses, full windows and rewritten histories change them.

use pellucid_protocol::usage::Credits;
use pellucid_protocol::usage::RateLimitWindow;

use super::*;

fn usage(total: i64) -> TokenUsage {
    TokenUsage {
        input_tokens: total - 3,
        cached_input_tokens: 1,
        output_tokens: 3,
        reasoning_output_tokens: 2,
        total_tokens: total,
    }
}

fn only(total_tokens: i64) -> TokenUsage {
    TokenUsage { total_tokens, ..TokenUsage::default() }
}

fn info(total: TokenUsage, last: TokenUsage, window: Option<i64>) -> Option<TokenUsageInfo> {
    Some(TokenUsageInfo { total_token_usage: total, last_token_usage: last, model_context_window: window })
}

#[test]
fn responses_add_up_and_the_last_one_stays() {
    let mut meter = Meter::default();
    assert_eq!((meter.info(), meter.last_total()), (None, 0));
    meter.add(&usage(10), Some(100));
    meter.add(&usage(20), None);
    let mut both = usage(10);
    both.add(&usage(20));
    assert_eq!(meter.info().cloned(), info(both, usage(20), None));
    assert_eq!(meter.last_total(), 20);
    assert_eq!(Meter::resumed(meter.info().cloned()).info(), meter.info());
}

#[test]
fn a_full_window_is_filled_once() {
    let mut meter = Meter::default();
    meter.add(&usage(30), Some(100));
    meter.fill(100);
    assert_eq!(meter.info().cloned(), info(only(100), only(70), Some(100)));
    meter.fill(100);
    assert_eq!(meter.info().cloned(), info(only(100), only(0), Some(100)));
    meter.fill(50);
    assert_eq!(meter.last_total(), 0, "what was used before is never less than nothing");
}

#[test]
fn an_estimate_takes_the_place_of_the_last_figure_alone() {
    let mut meter = Meter::default();
    meter.add(&usage(30), Some(100));
    meter.estimate(7, Some(90));
    assert_eq!(meter.info().cloned(), info(usage(30), only(7), Some(90)));
    let mut fresh = Meter::default();
    fresh.estimate(7, None);
    assert_eq!(fresh.info().cloned(), info(TokenUsage::default(), only(7), None));
}

fn limits(used: f64, credits: Option<&str>, plan: Option<&str>) -> RateLimitSnapshot {
    let window = RateLimitWindow { used_percent: used, window_minutes: None, resets_at: None };
    let credits = credits.map(|it| Credits { has_credits: true, unlimited: false, balance: Some(it.to_owned()) });
    RateLimitSnapshot {
        limit_id: None,
        limit_name: None,
        primary: Some(window),
        secondary: None,
        credits,
        plan_type: plan.map(str::to_owned),
    }
}

#[test]
fn newer_limits_replace_older_ones_but_for_what_they_do_not_say() {
    let mut meter = Meter::default();
    let told = |meter: &Meter| match meter.event() {
        EventMessage::TokenCount { info, rate_limits } => (info, rate_limits),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&meter), (None, None));
    meter.limit(limits(1.0, Some("5"), Some("pro")));
    meter.limit(limits(2.0, None, None));
    assert_eq!(told(&meter).1, Some(limits(2.0, Some("5"), Some("pro"))));
    meter.limit(limits(3.0, Some("4"), Some("plus")));
    assert_eq!(told(&meter).1, Some(limits(3.0, Some("4"), Some("plus"))));
}
