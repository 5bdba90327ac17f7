use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::continuity::Break;
use pellucid_engine::continuity::Cause;
use pellucid_engine::file_version::FileVersion;
use pellucid_protocol::provider::WireApi;

use super::*;

/// A request whose parts are in the order of the Responses API: instructions, items, tools, settings.
fn report(texts: &[(&str, Option<usize>, Origin, &str)]) -> (Report, Request) {
    let mut report = Report::default();
    let mut body = String::new();
    for (part, item, origin, text) in texts {
        let (part, origin, start) = (Arc::from(*part), origin.clone(), body.len());
        body += text;
        let bytes = text.len();
        report.rows.push(Row { part, item: *item, role: None, origin, start, bytes, raw_bytes: bytes, tokens: bytes });
    }
    (report, Request { segments: vec![body.into_bytes().into()] })
}

fn usual() -> (Report, Request) {
    let pack = || Origin::Pack { file: FileVersion::new("base.md", None) };
    let file =
        |range: std::ops::Range<u64>| Origin::File { path: FileVersion::new("/p/AGENTS.md", None), range, size: 20 };
    report(&[
        ("base", None, pack(), "instructions"),
        ("user_instructions", Some(0), file(0..6), r"one\ntw"),
        ("user_instructions", Some(0), Origin::Layout, ","),
        ("user_instructions", Some(0), file(6..20), r"o\nthree\\n\n"),
        ("user", Some(1), Origin::User, "hello"),
        ("user", Some(2), Origin::User, "again"),
        ("tools/find", None, pack(), "a tool"),
        ("settings", None, Origin::fact("model"), "model name in full"),
    ])
}

/// Checks which rows the provider may have, for a request that keeps its items up to a byte.
#[track_caller]
fn check_kept(broken: Option<(Cause, usize)>, items_end: usize, expected: &Expect) {
    let (mut report, request) = usual();
    let broken = broken.map(|(cause, first_byte)| Break {
        first_byte,
        part_bytes: 0,
        part: "".into(),
        source: String::new(),
        tokens_rebilled: 0,
        cause,
    });
    report.continuity = Some(Continuity {
        kept_bytes: 0,
        previous_bytes: 0,
        extends_bytes: 0,
        items_end,
        is_shortened: false,
        broken,
        changes: Vec::new(),
    });
    let panel = ContextPanel::of(&report, &request, WireApi::Responses.reading_order());
    assert_eq!(panel.bytes(), report.bytes());
    assert_eq!(panel.tokens(), report.tokens());
    let kept = panel.groups.iter().flat_map(|group| &group.rows).filter(|row| row.tokens_kept > 0);
    let kept: Vec<String> = kept.map(|row| format!("{} {}", row.part, row.tokens_kept)).collect();
    expected.assert_eq(&kept.join(", "));
}

#[test]
fn rows_before_the_first_difference_in_the_order_of_reading_are_kept() {
    let end = 12 + 7 + 1 + 11 + 5;
    check_kept(
        None,
        end,
        &expect!["base 12, user_instructions 20, settings 18, tools/find 6, user 5, user_instructions 1"],
    );
    check_kept(
        Some((Cause::Items, 33)),
        31,
        &expect!["base 12, user_instructions 20, tools/find 6, user_instructions 1"],
    );
    check_kept(Some((Cause::Instructions, 0)), end, &expect!["tools/find 6"]);
    check_kept(Some((Cause::Tools, 41)), end, &expect![""]);
    check_kept(Some((Cause::Model, 47)), end, &expect![""]);
}

#[test]
fn rows_of_a_file_say_their_lines() {
    let (report, request) = usual();
    let panel = ContextPanel::of(&report, &request, WireApi::Responses.reading_order());
    let rows: Vec<_> = panel.groups.iter().flat_map(|group| &group.rows).filter_map(|row| row.lines.clone()).collect();
    assert_eq!(rows, [1..=3]);
}
