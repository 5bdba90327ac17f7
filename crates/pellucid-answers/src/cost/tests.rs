//! Fixtures of costs.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::usage::UsageSplit;
use proptest::prelude::*;

use super::*;

fn text(part: &str, bytes: &str) -> ReadText {
    let is_item = !part.starts_with("tools/") && part != "base";
    let tool = part.strip_prefix("tools/").map(Arc::from);
    ReadText { part: part.into(), source: format!("pack {part}").into(), tool, is_item, bytes: bytes.as_bytes().into() }
}

fn request(number: usize, minutes: i64, usage: UsageSplit, read: &[(&str, &str)]) -> CostedRequest {
    let read: Vec<ReadText> = read.iter().map(|(part, bytes)| text(part, bytes)).collect();
    let bytes: usize = read.iter().map(|text| text.bytes.len()).sum();
    let figures = RequestFigures {
        cache_write_1h: None,
        number,
        turn: "t".to_owned(),
        purpose: "answer".to_owned(),
        model: "gpt-5.2-codex".to_owned(),
        sent_at: Some("2026-11-20T10:00:00.000Z".to_owned()),
        tokens: bytes,
        bytes: bytes as u64,
        usage: Some(usage),
        verdict: CacheVerdict::unknown(),
        cache_break: None,
        failure: None,
        cache_seconds: None,
    };
    let sent_ms = Some(minutes * 60_000);
    CostedRequest {
        session: "s".into(),
        provider: "p".into(),
        figures,
        sent_ms,
        kept_ms: Some(300_000),
        read: read.into(),
    }
}

/// A provider that charges a token for each byte and keeps what it read for five minutes.
fn usage(cached_read: i64, uncached: i64) -> UsageSplit {
    UsageSplit { cached_read, cache_write: None, uncached, output: 10 }
}

fn session() -> Vec<CostedRequest> {
    vec![
        request(
            1,
            0,
            usage(0, 100),
            &[("tools/a", &"t".repeat(30)), ("base", &"b".repeat(50)), ("user", &"u".repeat(20))],
        ),
        request(
            2,
            1,
            usage(100, 15),
            &[
                ("tools/a", &"t".repeat(30)),
                ("base", &"b".repeat(50)),
                ("user", &"u".repeat(20)),
                ("model", &"m".repeat(15)),
            ],
        ),
        request(
            3,
            20,
            usage(0, 125),
            &[
                ("tools/a", &"t".repeat(30)),
                ("base", &"b".repeat(50)),
                ("user", &"u".repeat(20)),
                ("model", &"m".repeat(15)),
                ("user", &"v".repeat(10)),
            ],
        ),
        request(
            4,
            21,
            usage(30, 95),
            &[
                ("tools/a", &"t".repeat(30)),
                ("base", &"c".repeat(50)),
                ("user", &"u".repeat(20)),
                ("model", &"m".repeat(15)),
                ("user", &"v".repeat(10)),
            ],
        ),
    ]
}

fn line(name: &str, usage: &UsageSplit, cost: Option<&Money>) -> String {
    let written = usage.cache_write.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let cost = cost.map_or_else(|| "unknown".to_owned(), Money::decimal);
    format!("{name}: {} {written} {} {} {cost}", usage.cached_read, usage.uncached, usage.output)
}

#[track_caller]
fn check_groups(requests: &[CostedRequest], by: CostBy, expected: &Expect) {
    let answer = CostAnswer::of(requests, by, &PriceTable::built_in());
    let groups = answer.groups.iter().chain([&answer.total]);
    let lines: Vec<String> = groups.map(|it| line(&it.name, &it.usage, it.cost.as_ref())).collect();
    let factor = answer.factor().unwrap();
    expected.assert_eq(&format!("{}\nfactor {factor:.2}\n{}", lines.join("\n"), UsedPrice::line(&answer.prices)));
}

#[test]
fn the_parts_add_up_to_what_the_provider_reported() {
    check_groups(
        &session(),
        CostBy::Part,
        &expect![[r#"
            answer: 0 - 0 40 0.00056
            base: 50 - 150 0 0.00027125
            user: 20 - 80 0 0.0001435
            tools/a: 60 - 60 0 0.0001155
            model: 0 - 45 0 0.00007875
            total: 130 - 335 40 0.001169
            factor 1.00
            prices: gpt-5.2-codex from 2026-11-16 (litellm 1.108.4)"#]],
    );
}

#[test]
fn requests_turns_and_tools_add_up_too() {
    check_groups(
        &session(),
        CostBy::Request,
        &expect![[r#"
            s#1: 0 - 100 10 0.000315
            s#2: 100 - 15 10 0.00018375
            s#3: 0 - 125 10 0.00035875
            s#4: 30 - 95 10 0.0003115
            total: 130 - 335 40 0.001169
            factor 1.00
            prices: gpt-5.2-codex from 2026-11-16 (litellm 1.108.4)"#]],
    );
    check_groups(
        &session(),
        CostBy::Tool,
        &expect![[r#"
            (no tool): 70 - 275 40 0.0010535
            a: 60 - 60 0 0.0001155
            total: 130 - 335 40 0.001169
            factor 1.00
            prices: gpt-5.2-codex from 2026-11-16 (litellm 1.108.4)"#]],
    );
}

#[test]
fn an_unknown_price_and_missing_figures_are_not_guessed() {
    let mut requests = session();
    requests[0].figures.model = "my-own".to_owned();
    requests[1].figures.usage = None;
    let answer = CostAnswer::of(&requests, CostBy::Session, &PriceTable::built_in());
    assert_eq!((answer.total.cost.as_ref(), answer.n_unreported, answer.has_unknown_price()), (None, 1, true));
    assert_eq!(answer.groups[0].cost, None);
}

#[track_caller]
fn check_simulated(setting: &str, expected: &Expect) {
    let setting = (!setting.is_empty()).then(|| CostSetting::parse(setting).unwrap());
    let simulated = SimulatedCost::of(&session(), setting.as_ref(), &PriceTable::built_in()).unwrap();
    let mut lines: Vec<String> =
        simulated.requests.iter().map(|(_, number, usage)| line(&format!("#{number}"), usage, None)).collect();
    lines.push(line("total", &simulated.usage, simulated.cost.as_ref()));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn without_a_setting_the_simulation_gives_the_recorded_figures() {
    let simulated = SimulatedCost::of(&session(), None, &PriceTable::built_in()).unwrap();
    assert_eq!(simulated.n_different(&session()), 0, "{:?}", simulated.requests);
}

#[test]
fn settings_change_what_is_read_and_what_it_costs() {
    check_simulated(
        "ttl=1h",
        &expect![[r#"
            #1: 0 - 100 10 unknown
            #2: 100 - 15 10 unknown
            #3: 115 - 10 10 unknown
            #4: 30 - 95 10 unknown
            total: 245 - 220 40 0.000987875"#]],
    );
    check_simulated(
        "without=tools",
        &expect![[r#"
            #1: 0 - 70 10 unknown
            #2: 70 - 15 10 unknown
            #3: 0 - 95 10 unknown
            #4: 0 - 95 10 unknown
            total: 70 - 275 40 0.0010535"#]],
    );
    check_simulated(
        "order=stable-first",
        &expect![[r#"
            #1: 0 - 100 10 unknown
            #2: 50 - 65 10 unknown
            #3: 0 - 125 10 unknown
            #4: 75 - 50 10 unknown
            total: 125 - 340 40 0.001176875"#]],
    );
    check_simulated(
        "model=gpt-5-mini",
        &expect![[r#"
            #1: 0 - 100 10 unknown
            #2: 100 - 15 10 unknown
            #3: 0 - 125 10 unknown
            #4: 30 - 95 10 unknown
            total: 130 - 335 40 0.000167"#]],
    );
}

#[test]
fn what_cannot_be_simulated_is_refused_by_name() {
    let refusal = |text: &str| CostSetting::parse(text).unwrap_err().to_string();
    expect![[r#"
        wire takes responses, chat or messages
        ttl takes a time such as 5m or 1h
        prompt_mode takes full, minimal or none
        compact_at takes a number of tokens, from 1
        mcp takes off, direct or deferred
        order takes stable-first
        give each setting with an --as of its own
        a setting is one of model=M, ttl=TIME, without=PART, order=stable-first, pack=P, wire=FORMAT, prompt_mode=MODE, mcp=OFFER, compact_at=TOKENS
        a setting is one of model=M, ttl=TIME, without=PART, order=stable-first, pack=P, wire=FORMAT, prompt_mode=MODE, mcp=OFFER, compact_at=TOKENS"#]]
    .assert_eq(
        &[
            "wire=smoke",
            "ttl=soon",
            "prompt_mode=loud",
            "compact_at=0",
            "mcp=on",
            "order=any",
            "model=a,wire=chat",
            "pack=",
            "cheap",
        ]
        .map(refusal)
        .join("\n"),
    );
    let setting = CostSetting::parse("without=nosuch").unwrap();
    let error = SimulatedCost::of(&session(), Some(&setting), &PriceTable::built_in()).unwrap_err();
    expect!["no request has the part `nosuch`; the parts are: base, model, tools/a, user"]
        .assert_eq(&error.to_string());
}

#[test]
fn settings_are_named_as_they_are_typed() {
    for text in [
        "model=m",
        "ttl=90s",
        "ttl=5m",
        "ttl=1h",
        "without=tools",
        "order=stable-first",
        "pack=ads",
        "wire=chat",
        "prompt_mode=minimal",
        "mcp=off",
        "mcp=direct",
        "mcp=deferred",
        "compact_at=900",
    ] {
        assert_eq!(CostSetting::parse(text).unwrap().name(), text);
    }
}

/// The requests of the session as they would be sent with other base instructions, each with the recorded answer.
fn remade(base: &str) -> Vec<RemadeRequest> {
    let made = |request: CostedRequest| {
        let other = |text: &ReadText| if &*text.part == "base" { self::text("base", base) } else { text.clone() };
        RemadeRequest {
            session: request.session.clone(),
            number: request.figures.number,
            model: request.figures.model.clone(),
            read: request.read.iter().map(other).collect(),
        }
    };
    session().into_iter().map(made).collect()
}

#[track_caller]
fn check_remade(base: &str, setting: &str, expected: &Expect) {
    let setting = CostSetting::parse(setting).unwrap();
    let simulated = SimulatedCost::of_remade(&session(), &remade(base), &setting, &PriceTable::built_in());
    let lines = simulated.requests.iter().map(|(_, number, usage)| line(&format!("#{number}"), usage, None));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn requests_that_are_made_again_have_the_tokens_of_their_bytes() {
    // The fourth request had other instructions, and would have the same as the others.
    check_remade(
        &"b".repeat(80),
        "pack=ads",
        &expect![[r#"
            #1: 0 - 130 10 unknown
            #2: 130 - 15 10 unknown
            #3: 0 - 155 10 unknown
            #4: 155 - 0 10 unknown"#]],
    );
    check_remade(
        &"b".repeat(80),
        "wire=messages",
        &expect![[r#"
            #1: 0 130 0 10 unknown
            #2: 130 15 0 10 unknown
            #3: 0 155 0 10 unknown
            #4: 155 0 0 10 unknown"#]],
    );
}

#[test]
fn blocks_are_learned_from_the_figures() {
    let long = "x".repeat(2000);
    let requests = [
        request(1, 0, usage(0, 2000), &[("base", &long)]),
        request(2, 1, usage(1920, 90), &[("base", &long), ("user", "0123456789")]),
    ];
    let simulated = SimulatedCost::of(&requests, None, &PriceTable::built_in()).unwrap();
    assert_eq!(simulated.n_different(&requests), 0, "{:?}", simulated.requests);
}

proptest! {
    #[test]
    fn shares_add_up(total in 0i64..1_000_000, weights in proptest::collection::vec(0u64..5000, 1..40)) {
        let shares = ledger::deal(total, &weights);
        prop_assert_eq!(shares.iter().sum::<i64>(), total);
        let sum: u64 = weights.iter().sum();
        if sum > 0 {
            for (share, weight) in shares.iter().zip(&weights) {
                let exact = total as f64 * *weight as f64 / sum as f64;
                prop_assert!((*share as f64 - exact).abs() <= 1.0);
            }
        }
    }

    #[test]
    fn shares_by_charge_add_up(read in 0i64..5000, written in 0i64..5000, uncached in 0i64..5000, sizes in proptest::collection::vec(0usize..90, 1..20)) {
        let usage = UsageSplit { cached_read: read, cache_write: Some(written), uncached, output: 0 };
        let texts: Vec<ReadText> = sizes.iter().map(|n| text("user", &"x".repeat(*n))).collect();
        let mut sum = UsageSplit::default();
        for share in ledger::shares(&usage, &texts) {
            sum.add(&share);
        }
        prop_assert_eq!(sum, usage);
    }

    #[test]
    fn the_cache_compares_bytes_however_they_are_divided(
        one in "[ab]{1,12}",
        two in "[ab]{1,12}",
        cuts in proptest::collection::vec(0usize..13, 4),
    ) {
        let divided = |text: &str, cuts: &[usize]| {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(text.len())).collect();
            cuts.sort_unstable();
            let (middle, last) = (cuts[0], cuts[1]);
            [&text[..middle], &text[middle..last], &text[last..]].map(str::to_owned)
        };
        let same = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
        let parts = [divided(&one, &cuts[..2]), divided(&two, &cuts[2..])];
        let figures = [usage(0, one.len() as i64), usage(same as i64, (two.len() - same) as i64)];
        let requests: Vec<CostedRequest> = parts.iter().zip(figures).enumerate().map(|(at, (parts, usage))| {
            let read: Vec<(&str, &str)> = parts.iter().map(|part| ("user", part.as_str())).collect();
            request(at + 1, at as i64, usage, &read)
        }).collect();
        let simulated = SimulatedCost::of(&requests, None, &PriceTable::built_in()).unwrap();
        prop_assert_eq!(simulated.n_different(&requests), 0, "{:?}", simulated.requests);
    }
}
