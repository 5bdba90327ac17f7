//! The sentence about a reached limit of a plan: what to do, and when the limit restarts.

use jiff::Timestamp;
use jiff::Zoned;

/// What is known when a plan's limit is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation<'a> {
    /// The limit's name, if the server sends it.
    pub limit_name: Option<&'a str>,
    /// A text that the server asks to be shown.
    pub promo: Option<&'a str>,
    /// The plan of the account.
    pub plan: Option<&'a str>,
    /// When the limit restarts, in seconds of Unix time.
    pub resets_at: Option<i64>,
    /// The current local time.
    pub now: &'a Zoned,
}

pub(crate) fn sentence(situation: &Situation<'_>) -> String {
    const HIT: &str = "You've hit your usage limit";
    let when = when(situation);
    if let Some(name) = situation.limit_name.filter(|name| !name.eq_ignore_ascii_case("codex")) {
        return format!("{HIT} for {name}. Switch to another model now, or try again {when}.");
    }
    if let Some(promo) = situation.promo {
        return format!("{HIT}. {}, or try again {when}.", promo.trim_end_matches('.'));
    }
    let advice = match situation.plan.map(str::to_ascii_lowercase).as_deref() {
        Some("plus") => "Upgrade the plan or buy credits",
        Some("team" | "business") => "Ask the administrator of your workspace for more",
        Some("free" | "go") => "Upgrade the plan to continue",
        Some("pro") => "Buy credits to continue",
        _ => return format!("{HIT}. Please try again {when}."),
    };
    format!("{HIT}. {advice}, or try again {when}.")
}

fn when(situation: &Situation<'_>) -> String {
    let reset = situation.resets_at.and_then(|seconds| Timestamp::from_second(seconds).ok());
    let Some(reset) = reset.map(|reset| reset.to_zoned(situation.now.time_zone().clone())) else {
        return "later".to_owned();
    };
    let time = reset.strftime("%-I:%M %p");
    if reset.date() == situation.now.date() {
        return format!("at {time}");
    }
    let day = reset.day();
    format!("at {} {day}{}, {} {time}", reset.strftime("%b"), ordinal(day), reset.year())
}

fn ordinal(day: i8) -> &'static str {
    match (day % 10, day) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use jiff::tz::TimeZone;

    use super::*;

    /// `NOW` is 2027-01-15 08:00:00 UTC.
    const NOW: i64 = 1_800_000_000;

    fn now() -> Zoned {
        Timestamp::from_second(NOW).unwrap().to_zoned(TimeZone::UTC)
    }

    #[track_caller]
    fn check_plan(plan: Option<&str>, expected: Expect) {
        let situation = Situation { limit_name: Some("codex"), promo: None, plan, resets_at: None, now: &now() };
        expected.assert_eq(&sentence(&situation));
    }

    #[test]
    fn each_plan_has_its_advice() {
        check_plan(
            Some("plus"),
            expect!["You've hit your usage limit. Upgrade the plan or buy credits, or try again later."],
        );
        check_plan(
            Some("team"),
            expect![
                "You've hit your usage limit. Ask the administrator of your workspace for more, or try again later."
            ],
        );
        check_plan(
            Some("business"),
            expect![
                "You've hit your usage limit. Ask the administrator of your workspace for more, or try again later."
            ],
        );
        check_plan(
            Some("free"),
            expect!["You've hit your usage limit. Upgrade the plan to continue, or try again later."],
        );
        check_plan(
            Some("go"),
            expect!["You've hit your usage limit. Upgrade the plan to continue, or try again later."],
        );
        check_plan(Some("Pro"), expect!["You've hit your usage limit. Buy credits to continue, or try again later."]);
        check_plan(Some("enterprise"), expect!["You've hit your usage limit. Please try again later."]);
        check_plan(Some("edu"), expect!["You've hit your usage limit. Please try again later."]);
        check_plan(None, expect!["You've hit your usage limit. Please try again later."]);
    }

    #[test]
    fn a_named_limit_comes_before_the_server_before_the_plan() {
        let now = now();
        let situation = Situation {
            limit_name: Some("Bench"),
            promo: Some("See https://x.example."),
            plan: Some("plus"),
            resets_at: None,
            now: &now,
        };
        expect!["You've hit your usage limit for Bench. Switch to another model now, or try again later."]
            .assert_eq(&sentence(&situation));
        expect!["You've hit your usage limit. See https://x.example, or try again later."]
            .assert_eq(&sentence(&Situation { limit_name: None, ..situation }));
    }

    #[track_caller]
    fn check_when(resets_at: i64, expected: Expect) {
        let now = now();
        let situation = Situation { limit_name: None, promo: None, plan: None, resets_at: Some(resets_at), now: &now };
        expected.assert_eq(&when(&situation));
    }

    #[test]
    fn times_are_short_today_and_long_otherwise() {
        const DAY: i64 = 86_400;
        check_when(NOW + 7 * 3600 + 300, expect!["at 3:05 PM"]);
        check_when(1_893_456_000, expect!["at Jan 1st, 2030 12:00 AM"]);
        check_when(NOW + 7 * DAY, expect!["at Jan 22nd, 2027 8:00 AM"]);
        check_when(NOW + 8 * DAY, expect!["at Jan 23rd, 2027 8:00 AM"]);
        check_when(NOW + 28 * DAY, expect!["at Feb 12th, 2027 8:00 AM"]);
        check_when(i64::MAX, expect!["later"]);
    }
}
