//! Fixtures of what came of the cache.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::cache::CacheChange;

use super::*;

fn request(number: usize, tokens: usize, word: CacheWord) -> RequestFigures {
    RequestFigures {
        cache_write_1h: None,
        number,
        turn: "t".to_owned(),
        purpose: "answer".to_owned(),
        model: "gpt-5.2-codex".to_owned(),
        sent_at: Some("2026-11-20T10:00:00.000Z".to_owned()),
        tokens,
        bytes: tokens as u64 * 4,
        usage: Some(UsageSplit { cached_read: 0, cache_write: None, uncached: tokens as i64, output: 10 }),
        verdict: CacheVerdict { verdict: word, ..CacheVerdict::unknown() },
        cache_break: None,
        failure: None,
        cache_seconds: Some(300),
    }
}

fn broken(number: usize, tokens: usize, rebilled: usize) -> RequestFigures {
    let change =
        |part: &str, how| CacheChange { how, part: part.to_owned(), source: "server wiki".to_owned(), is_read: true };
    let cache_break = CacheBreak {
        first_byte: 0,
        part: "tools/mcp__wiki__find".to_owned(),
        tokens_rebilled: rebilled,
        span: (0, 0),
        source: String::new(),
        cause: "tools".to_owned(),
        changes: vec![change("tools/mcp__wiki__find", CacheChangeKind::Removed)],
    };
    RequestFigures { cache_break: Some(cache_break), ..request(number, tokens, CacheWord::Broken) }
}

#[track_caller]
fn check_cache(requests: &[RequestFigures], expected: &Expect) {
    let answer = CacheAnswer::of(requests, &PriceTable::built_in());
    let mut text = String::new();
    for row in &answer.rows {
        let (word, detail) = (row.verdict.verdict.as_str(), row.detail());
        text += &format!(
            "{} {} {} {} {} {word} {detail}\n",
            row.number,
            row.sent,
            row.kept,
            row.sent - row.kept,
            row.rebilled
        );
    }
    let times = answer.times_over().map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
    let money = |money: Option<Money>| money.map_or_else(|| "unknown".to_owned(), |it| it.to_string());
    text += &format!(
        "{} breaks, {} rebilled, {times} times, {} of {}\n",
        answer.n_breaks,
        answer.tokens_rebilled,
        money(answer.cost_rebilled),
        money(answer.cost)
    );
    expected.assert_eq(&text);
}

#[test]
fn each_request_keeps_what_the_one_before_had() {
    let mut expired = request(4, 1400, CacheWord::Expired);
    expired.verdict.idle_ms = Some(49 * 60_000);
    check_cache(
        &[request(1, 1000, CacheWord::Cold), request(2, 1100, CacheWord::Extended), broken(3, 1300, 900), expired],
        &expect![[r#"
            1 1000 0 1000 0 cold 
            2 1100 1000 100 0 extended 
            3 1300 200 1100 900 broken tools, − tools/mcp__wiki__find (server wiki)
            4 1400 1300 100 0 expired 49 min since #3, kept for 5 min
            1 breaks, 900 rebilled, 1.64 times, $0.0016 of $0.0090
        "#]],
    );
}

#[test]
fn a_summary_is_not_continued() {
    let summary = RequestFigures { purpose: "summary".to_owned(), ..request(2, 1050, CacheWord::Extended) };
    check_cache(
        &[request(1, 1000, CacheWord::Cold), summary, request(3, 1100, CacheWord::Extended)],
        &expect![[r#"
            1 1000 0 1000 0 cold 
            2 1050 0 1050 0 extended 
            3 1100 1000 100 0 extended 
            0 breaks, 0 rebilled, 1.00 times, $0.0000 of $0.0059
        "#]],
    );
}

#[test]
fn an_unknown_price_makes_the_sum_unknown() {
    let other = RequestFigures { model: "my-own".to_owned(), ..request(2, 1100, CacheWord::Unknown) };
    check_cache(
        &[request(1, 1000, CacheWord::Cold), other],
        &expect![[r#"
            1 1000 0 1000 0 cold 
            2 1100 1000 100 0 unknown the provider gave no figures
            0 breaks, 0 rebilled, 1.00 times, unknown of unknown
        "#]],
    );
    check_cache(
        &[],
        &expect![[r#"
        0 breaks, 0 rebilled, - times, unknown of unknown
    "#]],
    );
}

#[test]
fn how_long_the_cache_is_kept_is_said_where_it_is_known() {
    let verdict = |idle_ms| CacheVerdict { verdict: CacheWord::Expired, idle_ms, ..CacheVerdict::unknown() };
    let detail = |idle_ms, cache_seconds| {
        let late = RequestFigures { verdict: verdict(idle_ms), ..request(2, 1100, CacheWord::Expired) };
        let requests = [request(1, 1000, CacheWord::Cold), late.kept_for(cache_seconds)];
        CacheAnswer::of(&requests, &PriceTable::built_in()).rows[1].detail()
    };
    assert_eq!(detail(Some(400_000), Some(300)), "6 min since #1, kept for 5 min");
    assert_eq!(detail(Some(90_000), Some(60)), "90 s since #1, kept for 60 s");
    assert_eq!(detail(Some(90_000_000), Some(86_400)), "25 h since #1, kept for 24 h");
    assert_eq!(detail(Some(400_000), None), "6 min since #1");
    assert_eq!(detail(None, Some(300)), "");
}

#[test]
fn another_model_has_kept_nothing() {
    let mut switched = broken(2, 1300, 925);
    if let Some(it) = &mut switched.cache_break {
        it.cause = "model".to_owned();
        it.changes.clear();
    }
    check_cache(
        &[request(1, 1000, CacheWord::Cold), switched],
        &expect![[r#"
            1 1000 0 1000 0 cold 
            2 1300 0 1300 925 broken model, in tools/mcp__wiki__find
            1 breaks, 925 rebilled, 1.67 times, $0.0016 of $0.0043
        "#]],
    );
}
