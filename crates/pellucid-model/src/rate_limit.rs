//! Rate limits in response headers.
//!
//! Headers come in families `x-{limit}-...`. The limit `codex` always yields a snapshot, even an empty one; further
//! limits are found by their header `...-primary-used-percent`.

use std::collections::BTreeSet;

use http::HeaderMap;
use pellucid_protocol::usage::Credits;
use pellucid_protocol::usage::RateLimitSnapshot;
use pellucid_protocol::usage::RateLimitWindow;

/// The limit that always has a snapshot.
pub const DEFAULT_LIMIT: &str = "codex";

const USED_PERCENT: &str = "-primary-used-percent";

/// Every snapshot in the headers: `codex` first, then others with data by id.
pub fn snapshots(headers: &HeaderMap) -> Vec<RateLimitSnapshot> {
    let others: BTreeSet<String> = headers
        .keys()
        .filter_map(|name| name.as_str().strip_prefix("x-")?.strip_suffix(USED_PERCENT))
        .map(limit_id)
        .filter(|id| id != DEFAULT_LIMIT)
        .collect();
    let others = others.iter().map(|id| snapshot(headers, id)).filter(has_data);
    std::iter::once(snapshot(headers, DEFAULT_LIMIT)).chain(others).collect()
}

/// The snapshot of one limit, perhaps empty.
pub fn snapshot(headers: &HeaderMap, limit: &str) -> RateLimitSnapshot {
    let id = limit_id(limit);
    let prefix = format!("x-{}", id.replace('_', "-"));
    RateLimitSnapshot {
        limit_name: text(headers, &format!("{prefix}-limit-name")),
        primary: window(headers, &format!("{prefix}-primary")),
        secondary: window(headers, &format!("{prefix}-secondary")),
        credits: credits(headers),
        plan_type: None,
        limit_id: Some(id),
    }
}

/// The spelling of a limit in snapshots: lower case with underscores.
pub(crate) fn limit_id(limit: &str) -> String {
    limit.trim().to_ascii_lowercase().replace('-', "_")
}

fn has_data(snapshot: &RateLimitSnapshot) -> bool {
    snapshot.primary.is_some() || snapshot.secondary.is_some() || snapshot.credits.is_some()
}

fn window(headers: &HeaderMap, prefix: &str) -> Option<RateLimitWindow> {
    let used_percent =
        text(headers, &format!("{prefix}-used-percent"))?.parse::<f64>().ok().filter(|it| it.is_finite())?;
    let window_minutes = number(headers, &format!("{prefix}-window-minutes"));
    let resets_at = number(headers, &format!("{prefix}-reset-at"));
    let says_something =
        used_percent != 0.0 || window_minutes.is_some_and(|minutes| minutes != 0) || resets_at.is_some();
    says_something.then_some(RateLimitWindow { used_percent, window_minutes, resets_at })
}

fn credits(headers: &HeaderMap) -> Option<Credits> {
    Some(Credits {
        has_credits: flag(headers, "x-codex-credits-has-credits")?,
        unlimited: flag(headers, "x-codex-credits-unlimited")?,
        balance: text(headers, "x-codex-credits-balance"),
    })
}

fn flag(headers: &HeaderMap, name: &str) -> Option<bool> {
    let value = text(headers, name)?;
    if value.eq_ignore_ascii_case("true") || value == "1" {
        Some(true)
    } else if value.eq_ignore_ascii_case("false") || value == "0" {
        Some(false)
    } else {
        None
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    text(headers, name)?.parse().ok()
}

pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::response_headers::tests::parse_headers;

    #[track_caller]
    fn check_limits(fixture: &str, expected: Expect) {
        let lines: Vec<String> = snapshots(&parse_headers(fixture))
            .iter()
            .map(|snapshot| serde_json::to_string(snapshot).unwrap() + "\n")
            .collect();
        expected.assert_eq(&lines.concat());
    }

    #[test]
    fn without_headers_there_is_one_empty_snapshot() {
        check_limits(
            "",
            expect![[r#"
                {"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}
            "#]],
        );
    }

    #[test]
    fn windows_and_credits_are_read() {
        check_limits(
            "
x-codex-primary-used-percent: 12.5
x-codex-primary-window-minutes: 300
x-codex-primary-reset-at: 1800000000
X-Codex-Secondary-Used-Percent: 0
x-codex-secondary-window-minutes: 10080
x-codex-limit-name: Codex
x-codex-credits-has-credits: True
x-codex-credits-unlimited: 0
x-codex-credits-balance: 9.99
",
            expect![[r#"
                {"limit_id":"codex","limit_name":"Codex","primary":{"used_percent":12.5,"window_minutes":300,"resets_at":1800000000},"secondary":{"used_percent":0.0,"window_minutes":10080,"resets_at":null},"credits":{"has_credits":true,"unlimited":false,"balance":"9.99"},"plan_type":null}
            "#]],
        );
    }

    #[test]
    fn a_window_that_says_nothing_is_none() {
        check_limits(
            "
x-codex-primary-used-percent: 0
x-codex-primary-window-minutes: 0
x-codex-secondary-used-percent: much
x-codex-secondary-window-minutes: 5
x-codex-credits-has-credits: perhaps
x-codex-credits-unlimited: false
",
            expect![[r#"
                {"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}
            "#]],
        );
        check_limits(
            "
x-codex-primary-used-percent: 0
x-codex-primary-reset-at: 0
x-codex-secondary-used-percent: nan
",
            expect![[r#"
                {"limit_id":"codex","limit_name":null,"primary":{"used_percent":0.0,"window_minutes":null,"resets_at":0},"secondary":null,"credits":null,"plan_type":null}
            "#]],
        );
    }

    #[test]
    fn further_limits_come_sorted_and_only_with_data() {
        check_limits(
            "
x-zeta-primary-used-percent: 1
x-codex-bench-primary-used-percent: 2
x-codex-bench-limit-name: Bench
x-empty-primary-used-percent: 0
",
            expect![[r#"
                {"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}
                {"limit_id":"codex_bench","limit_name":"Bench","primary":{"used_percent":2.0,"window_minutes":null,"resets_at":null},"secondary":null,"credits":null,"plan_type":null}
                {"limit_id":"zeta","limit_name":null,"primary":{"used_percent":1.0,"window_minutes":null,"resets_at":null},"secondary":null,"credits":null,"plan_type":null}
            "#]],
        );
    }
}
