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
fn a_wrong_file_is_refused_with_its_place() {
    let entry = |changed: &str| {
        format!("[[price]]\nmodel = \"m\"\nfrom = \"2026-01-01\"\ncurrency = \"USD\"\noutput = 1\n{changed}\n")
    };
    check_refusal(
        &entry("input = -1"),
        &expect!["6:9: the price of `m`: `input` is -1, an amount from 0 to 1000000 for a million tokens is needed"],
    );
    check_refusal(
        &entry("input = nan"),
        &expect!["6:9: the price of `m`: `input` is NaN, an amount from 0 to 1000000 for a million tokens is needed"],
    );
    check_refusal(
        &entry("input = 1\n  cache_write_1h = 1e9"),
        &expect![
            "7:20: the price of `m`: `cache_write_1h` is 1000000000, an amount from 0 to 1000000 for a million tokens is needed"
        ],
    );
    check_refusal(
        &entry("input = 1\ninptu = 2"),
        &expect![
            "7:1: unknown field `inptu`, expected one of `model`, `from`, `currency`, `input`, `cached_read`, `cache_write`, `cache_write_1h`, `output`, `source`"
        ],
    );
    check_refusal(&entry(""), &expect!["1:1: missing field `input`"]);
    check_refusal(&entry("input = \"much\""), &expect![[r#"6:9: invalid type: string "much", expected f64"#]]);
    check_refusal("[[price]\n", &expect!["1:9: unclosed array table, expected `]`"]);
    check_refusal(
        &entry("input = 1").replace("\"m\"", "\"[m\""),
        &expect![
            "2:9: the price of `[m`: the pattern cannot be read: error parsing glob '[m': unclosed character class; missing ']'"
        ],
    );
    check_refusal(
        &entry("input = 1").replace("USD", " "),
        &expect!["4:12: the price of `m`: `currency` is empty, a code such as USD is needed"],
    );
}

#[test]
fn a_date_is_a_day_that_exists() {
    let dated = |from: &str| {
        let text = format!("[[price]]\nmodel = \"m\"\nfrom = {from}\ncurrency = \"USD\"\ninput = 1\noutput = 1\n");
        PriceTable::with_users(&text).map(|table| table.of("m", "9999").unwrap().from.clone())
    };
    for day in ["2026-01-31", "\"2026-12-31\"", "\"2024-02-29\"", "\"2000-02-29\""] {
        assert_eq!(dated(day).unwrap(), day.trim_matches('"'));
    }
    for day in [
        "\"2026-02-29\"",
        "\"1900-02-29\"",
        "\"2026-13-01\"",
        "\"2026-04-31\"",
        "\"2026-00-01\"",
        "\"2026-1-1\"",
        "2026",
    ] {
        let error = dated(day).unwrap_err();
        assert_eq!((error.line, error.column), (3, 8), "{day}");
        assert!(error.what.contains("a date such as 2026-01-31 is needed"), "{error}");
    }
    // A moment is no day.
    let error = dated("2026-01-31T10:00:00Z").unwrap_err();
    assert!(error.what.contains("`from` is `2026-01-31T10:00:00Z`"), "{error}");
}

#[test]
fn what_is_written_to_a_cache_has_a_price_of_its_own() {
    let text = |more: &str| {
        format!("[[price]]\nmodel = \"m\"\nfrom = 2026-01-01\ncurrency = \"USD\"\ninput = 1\noutput = 10\n{more}")
    };
    let cost = |more: &str| {
        let table = PriceTable::with_users(&text(more)).unwrap();
        let usage = UsageSplit { cached_read: 0, cache_write: Some(1_000_000), uncached: 0, output: 0 };
        let entry = table.of("m", "2026-01-01").unwrap();
        (entry.cost(&usage).decimal(), entry.cost_kept_an_hour(&usage).decimal())
    };
    // `input` if absent, and `cache_write` for an hour.
    assert_eq!(cost(""), ("1".to_owned(), "1".to_owned()));
    assert_eq!(cost("cache_write = 1.25"), ("1.25".to_owned(), "1.25".to_owned()));
    assert_eq!(cost("cache_write = 1.25\ncache_write_1h = 2"), ("1.25".to_owned(), "2".to_owned()));
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
