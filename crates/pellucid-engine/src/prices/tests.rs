//! Fixtures of prices.

use expect_test::Expect;
use expect_test::expect;

use super::*;

const MINE: &str = r#"
[[price]]
model = "gpt-5.2*"
from = 2026-01-01
currency = "EUR"
input = 2
output = 10.5
source = "the contract"

[[price]]
model = "gpt-5.2*"
from = "2026-06-01"
currency = "EUR"
input = 1
cached_read = 0.1
output = 10
"#;

/// Checks the price of a model on a day, for a thousand tokens of each kind.
#[track_caller]
fn check_price(users: &str, model: &str, day: &str, expected: &Expect) {
    let table = PriceTable::with_users(users).unwrap();
    let usage = UsageSplit { cached_read: 1000, cache_write: Some(1000), uncached: 1000, output: 1000 };
    let text = table.of(model, day).map_or_else(
        || "unknown".to_owned(),
        |entry| {
            let (cost, hour) = (entry.cost(&usage), entry.cost_kept_an_hour(&usage));
            format!("{cost} {} hour {hour} from {} by {:?}", cost.decimal(), entry.from, entry.source)
        },
    );
    expected.assert_eq(&text);
}

#[test]
fn the_users_newest_entry_counts() {
    check_price(
        MINE,
        "gpt-5.2-codex",
        "2026-05-31T23:59:59Z",
        &expect![[r#"€0.017 0.0165 hour €0.017 from 2026-01-01 by "the contract""#]],
    );
    check_price(
        MINE,
        "gpt-5.2-codex",
        "2026-06-01T00:00:00Z",
        &expect![[r#"€0.012 0.0121 hour €0.012 from 2026-06-01 by """#]],
    );
    check_price(MINE, "gpt-5.2", "2025-12-31", &expect!["unknown"]);
}

#[test]
fn a_model_without_an_entry_has_no_price() {
    check_price("", "my-own-model", "2026-12-01", &expect!["unknown"]);
    check_price("", "gpt-5.2-codex", "2026-11-15", &expect!["unknown"]);
}

#[test]
fn the_program_has_dated_prices() {
    check_price(
        "",
        "gpt-5.2-codex",
        "2026-11-16",
        &expect![[r#"$0.018 0.017675 hour $0.018 from 2026-11-16 by "litellm 1.108.4""#]],
    );
    check_price(
        "",
        "claude-sonnet-4-5",
        "2027-01-01",
        &expect![[r#"$0.022 0.02205 hour $0.024 from 2026-11-16 by "litellm 1.108.4""#]],
    );
    for entry in entries_of_program().unwrap() {
        assert!(entry.rates.input > 0 && entry.rates.output > 0, "{}", entry.model);
        assert!(!entry.source.is_empty(), "{}", entry.model);
    }
}

/// Checks what is said of a file that cannot be used.
#[track_caller]
fn check_refusal(text: &str, expected: &Expect) {
    expected.assert_eq(&PriceTable::with_users(text).unwrap_err().to_string());
}

#[test]
fn a_wrong_file_is_refused_by_name() {
    let entry = |changed: &str| {
        format!("[[price]]\nmodel = \"m\"\nfrom = \"2026-01-01\"\ncurrency = \"USD\"\noutput = 1\n{changed}\n")
    };
    check_refusal(
        &entry("input = -1"),
        &expect!["the price of `m`: `input` is -1, an amount from 0 on for a million tokens is needed"],
    );
    check_refusal(
        &entry("input = nan"),
        &expect!["the price of `m`: `input` is NaN, an amount from 0 on for a million tokens is needed"],
    );
    check_refusal(
        &entry("input = 1\ninptu = 2"),
        &expect![[r#"
            TOML parse error at line 7, column 1
              |
            7 | inptu = 2
              | ^^^^^
            unknown field `inptu`, expected one of `model`, `from`, `currency`, `input`, `cached_read`, `cache_write`, `cache_write_1h`, `output`, `source`
        "#]],
    );
    let no_date = "[[price]]\nmodel = \"m\"\nfrom = \"soon\"\ncurrency = \"USD\"\ninput = 1\noutput = 1\n";
    check_refusal(no_date, &expect!["the price of `m`: `from` is `soon`, a date such as 2026-01-31 is needed"]);
}

#[test]
fn amounts_are_exact_and_short() {
    let shown = |text: &str| Money::parse(text, "USD").map(|money| format!("{money} {}", money.decimal()));
    let cases = ["0", "0.5", "12", "12.345", "0.0461", "0.00413", "0.00004", ".25", "1.", "x", "-1", "1e3", ""];
    let texts: Vec<String> =
        cases.iter().map(|it| format!("{it:?}: {}", shown(it).unwrap_or_else(|| "none".to_owned()))).collect();
    expect![[r#"
        "0": $0.0000 0
        "0.5": $0.500 0.5
        "12": $12.00 12
        "12.345": $12.35 12.345
        "0.0461": $0.046 0.0461
        "0.00413": $0.0041 0.00413
        "0.00004": <$0.0001 0.00004
        ".25": $0.250 0.25
        "1.": $1.00 1
        "x": none
        "-1": none
        "1e3": none
        "": none"#]]
    .assert_eq(&texts.join("\n"));
}

#[test]
fn amounts_of_different_currencies_have_no_sum() {
    let money = |text: &str, currency: &str| Money::parse(text, currency).unwrap();
    assert_eq!(Money::sum([money("1", "USD"), money("0.5", "USD")]), Some(money("1.5", "USD")));
    assert_eq!(Money::sum([money("1", "USD"), money("1", "EUR")]), None);
    assert_eq!(Money::sum([]), None);
    assert_eq!(money("1", "USD").is_more_than(&money("1", "EUR")), None);
    assert_eq!(money("2", "USD").is_more_than(&money("1", "USD")), Some(true));
    assert_eq!(money("1", "USD").is_more_than(&money("1", "USD")), Some(false));
}
