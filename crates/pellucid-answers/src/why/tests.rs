//! Tests of why something is in a request or is not.

use std::sync::Arc;

use expect_test::expect;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::not_utf8::NotUtf8;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::report::SourceStatus;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::provider::WireApi;

use super::*;

/// The kind that follows another one, so that a list of all kinds cannot lack one.
fn next_why(why: Option<&Why>) -> Option<Why> {
    let error = || "torn".to_owned();
    Some(match why {
        None => Why::Cut { kept: 5, of: 9 },
        Some(Why::Cut { .. }) => Why::OverBudget { of: 9 },
        Some(Why::OverBudget { .. }) => Why::LeftWindow { of: 9, kept_as: "a summary".to_owned() },
        Some(Why::LeftWindow { kept_as, .. }) if !kept_as.is_empty() => {
            Why::LeftWindow { of: 9, kept_as: String::new() }
        }
        Some(Why::LeftWindow { .. }) => Why::Blank,
        Some(Why::Blank) => Why::Missing,
        Some(Why::Missing) => Why::Duplicate,
        Some(Why::Duplicate) => Why::SwitchedOff,
        Some(Why::SwitchedOff) => Why::OnlyOnMention,
        Some(Why::OnlyOnMention) => Why::Shadowed { by: "/a".to_owned() },
        Some(Why::Shadowed { .. }) => Why::Replaced { by: "base_instructions".to_owned() },
        Some(Why::Replaced { .. }) => Why::Outside { target: "/etc/x".to_owned() },
        Some(Why::Outside { .. }) => Why::Untrusted,
        Some(Why::Untrusted) => Why::NotAccepted { is_changed: true },
        Some(Why::NotAccepted { is_changed: true }) => Why::NotAccepted { is_changed: false },
        Some(Why::NotAccepted { .. }) => Why::Unusable { error: error() },
        Some(Why::Unusable { .. }) => Why::NotUtf8(NotUtf8 { first: 3, count: 2 }),
        Some(Why::NotUtf8(NotUtf8 { count: 2, .. })) => Why::NotUtf8(NotUtf8 { first: 3, count: 1 }),
        Some(Why::NotUtf8(_)) => Why::ByPack { reason: "too long".to_owned() },
        Some(Why::ByPack { .. }) => return None,
    })
}

fn next_fate(fate: Option<&Fate>) -> Option<Fate> {
    Some(match fate {
        None => Fate::Read,
        Some(Fate::Read) => Fate::Absent,
        Some(Fate::Absent) => Fate::Shadowed { by: "/p/AGENTS.override.md".to_owned() },
        Some(Fate::Shadowed { .. }) => Fate::NotAFile,
        Some(Fate::NotAFile) => Fate::Unreadable { error: "permission denied".to_owned() },
        Some(Fate::Unreadable { .. }) => Fate::Blank,
        Some(Fate::Blank) => Fate::Outside { target: "/etc/x".to_owned() },
        Some(Fate::Outside { .. }) => Fate::Untrusted,
        Some(Fate::Untrusted) => Fate::NotAccepted { is_changed: true },
        Some(Fate::NotAccepted { .. }) => return None,
    })
}

fn next_status(status: Option<SourceStatus>) -> Option<SourceStatus> {
    Some(match status {
        None => SourceStatus::Full,
        Some(SourceStatus::Full) => SourceStatus::Altered,
        Some(SourceStatus::Altered) => SourceStatus::Truncated,
        Some(SourceStatus::Truncated) => SourceStatus::Omitted,
        Some(SourceStatus::Omitted) => SourceStatus::Missing,
        Some(SourceStatus::Missing) => SourceStatus::Shadowed,
        Some(SourceStatus::Shadowed) => SourceStatus::Duplicate,
        Some(SourceStatus::Duplicate) => return None,
    })
}

#[test]
fn every_kind_of_omission_has_its_sentence() {
    let all = std::iter::successors(next_why(None), |why| next_why(Some(why)));
    let lines: Vec<String> = all.map(|why| format!("{}: {}\n", why.kind(), why_sentence(&why))).collect();
    expect![[r#"
        cut: cut: the budget was spent at its byte 5 of 9
        over_budget: left out: the budget was spent before it, so none of its 9 bytes is sent
        left_window: left the window: a summary replaces its 9 bytes
        left_window: left the window: its 9 bytes no longer fit, and nothing replaces them
        blank: blank: it has nothing but white space, so there is nothing to send
        missing: missing: there is no such file
        duplicate: duplicate: the request has the same content already, and it is sent once
        switched_off: switched off in the configuration
        on_mention: sent only when a message mentions it, and none does
        shadowed: shadowed: /a has the same name and comes first
        replaced: replaced: base_instructions is sent in its place
        outside: outside: it is a link that leads out of the project, to /etc/x, and such files are not sent
        untrusted: untrusted: the project is marked as untrusted, so its files are not sent
        not_accepted: not accepted: it has changed since you accepted it, so it is not sent; `pellucid trust accept --instructions` shows and accepts it
        not_accepted: not accepted: you accepted other files of this project, not it, so it is not sent; `pellucid trust accept --instructions` shows and accepts it
        unusable: unusable: torn
        not_utf8: altered: 2 bytes from byte 3 on are not UTF-8, and U+FFFD is sent in their place
        not_utf8: altered: the byte at offset 3 is not UTF-8, and U+FFFD is sent in its place
        by_pack: left out by a template of the pack: too long
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn every_fate_of_a_file_has_its_sentence() {
    let all = std::iter::successors(next_fate(None), |fate| next_fate(Some(fate)));
    let lines: Vec<String> = all.map(|fate| format!("{}\n", fate_sentence(&fate))).collect();
    expect![[r#"
        read: the file was read for this request
        missing: the file was looked for, and there is none
        shadowed: /p/AGENTS.override.md is in the same folder and comes first
        unusable: it is not a regular file
        unusable: it cannot be read: permission denied
        blank: it has nothing but white space, so there is nothing to send
        outside: it is a link that leads out of the project, to /etc/x, and such files are not sent
        untrusted: the project is marked as untrusted, so its files are not sent
        not accepted: it has changed since you accepted it, so it is not sent; `pellucid trust accept --instructions` shows and accepts it
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn every_status_of_a_source_has_its_sentence() {
    let all = std::iter::successors(next_status(None), |status| next_status(Some(*status)));
    let lines: Vec<String> = all.map(|status| format!("{}\n", status_sentence(status, 9))).collect();
    expect![[r#"
        full: the request has all 9 bytes of it
        altered: the request has all of it, 9 bytes as they are and U+FFFD for those that are not UTF-8
        truncated: the request has 9 bytes of it and lacks the rest
        omitted: the request has nothing of it
        missing: there is no such file
        shadowed: another one is sent in its place
        duplicate: the request has the same content already
    "#]]
    .assert_eq(&lines.concat());
}

/// A request with a file in two rows and a call, from pieces of a body: part, item, origin, bytes.
fn request() -> (Vec<u8>, Inspected) {
    let file = |start: u64, end: u64| Origin::File { path: "/p/AGENTS.md".into(), range: start..end, size: 20 };
    let pieces: [(&str, Option<usize>, Origin, &str); 9] = [
        ("input", None, Origin::Wire, r#"{"input":["#),
        ("docs", Some(0), Origin::Wire, r#"{"text":""#),
        ("docs", Some(0), file(0, 10), r#"one\n\"two\"\n"#),
        ("docs", Some(0), file(10, 20), r#"three\nfour"#),
        ("docs", Some(0), Origin::Layout, r#" end"#),
        ("docs", Some(0), Origin::Wire, r#""}"#),
        ("input", None, Origin::Wire, ","),
        ("model", Some(1), Origin::Model, r#"{"call_id":"c1","arguments":"{\"cmd\":\"say \\\"two\\\"\"}"}"#),
        ("input", None, Origin::Wire, "]}"),
    ];
    let (mut rows, mut body) = (Vec::new(), Vec::new());
    for (part, item, origin, bytes) in pieces {
        let start = body.len();
        body.extend_from_slice(bytes.as_bytes());
        let role: Option<Arc<str>> = item.map(|_| "user".into());
        let tokens = tokens_of_bytes(body.len()) - tokens_of_bytes(start);
        rows.push(Row {
            part: part.into(),
            item,
            role,
            origin,
            start,
            bytes: bytes.len(),
            raw_bytes: bytes.len(),
            tokens,
        });
    }
    let report = Report { rows, ..Report::default() };
    let inspected = Inspected::of_body("now", "m", WireApi::Responses, &body, &report);
    (body, inspected)
}

/// Checks the bytes of the request that a question finds.
#[track_caller]
fn check_places(question: &WhyQuestion, expected: &[&str]) {
    let (body, request) = request();
    let found = places(question, &request).unwrap();
    let texts: Vec<&str> = found.iter().map(|place| std::str::from_utf8(&body[place.bytes.clone()]).unwrap()).collect();
    assert_eq!(texts, expected, "{question:?}");
}

fn lines(lines: RangeInclusive<usize>) -> WhyQuestion {
    let (typed, path) = ("AGENTS.md".to_owned(), "/p/AGENTS.md".to_owned());
    WhyQuestion::File(FileQuestion { typed, path, lines: Some(lines), on_disk: None, is_past_end: false })
}

#[test]
fn lines_of_a_file_are_found_across_rows() {
    check_places(&lines(1..=1), &["one"]);
    check_places(&lines(2..=2), &[r#"\"two\""#]);
    check_places(&lines(2..=3), &[r#"\"two\"\nthree"#]);
    check_places(&lines(4..=4), &["four"]);
    check_places(&lines(5..=5), &[]);
}

#[test]
fn a_short_path_means_a_known_file_only_if_there_is_none_at_the_path() {
    let (_, request) = request();
    let question = |path: &str| FileQuestion {
        typed: "AGENTS.md".to_owned(),
        path: path.to_owned(),
        lines: None,
        on_disk: None,
        is_past_end: false,
    };
    let meant = |path: &str, is_on_disk: bool| question(path).resolved(&request, &Absences::default(), is_on_disk).path;
    assert_eq!(meant("/p/AGENTS.md", true), "/p/AGENTS.md");
    assert_eq!(meant("/p/sub/AGENTS.md", true), "/p/sub/AGENTS.md");
    assert_eq!(meant("/elsewhere/AGENTS.md", false), "/p/AGENTS.md");
}

#[test]
fn a_text_is_found_before_escaping_and_across_rows() {
    check_places(&WhyQuestion::Text("two\"\nthree".to_owned()), &[r#"two\"\nthree"#]);
    check_places(&WhyQuestion::Text("four end".to_owned()), &["four end"]);
    check_places(&WhyQuestion::Text("nowhere".to_owned()), &[]);
    // The arguments of a call are escaped twice.
    check_places(&WhyQuestion::Text("\"two\"".to_owned()), &[r#"\"two\""#, r#"\\\"two\\\""#]);
}

#[test]
fn parts_bytes_and_calls_are_found_by_their_rows() {
    check_places(&WhyQuestion::Byte(0), &[r#"{"input":["#]);
    check_places(&WhyQuestion::Byte(20), &[r#"one\n\"two\"\n"#]);
    check_places(&WhyQuestion::Byte(10_000), &[]);
    let call = r#"{"call_id":"c1","arguments":"{\"cmd\":\"say \\\"two\\\"\"}"}"#;
    check_places(&WhyQuestion::Call("c1".to_owned()), &[call]);
    check_places(&WhyQuestion::Call("c".to_owned()), &[]);
    check_places(&WhyQuestion::Part("model".to_owned()), &[call]);
    check_places(&WhyQuestion::Tool("model".to_owned()), &[]);
}

#[test]
fn a_saved_report_has_rows_and_no_texts() {
    let (_, request) = request();
    let rows = request.rows.iter().map(|row| crate::inspected::InspectedRow { content: None, ..row.clone() }).collect();
    let saved = Inspected { rows, ..request };
    assert!(places(&WhyQuestion::Text("one".to_owned()), &saved).is_err());
    assert!(places(&lines(1..=1), &saved).is_err());
    assert_eq!(places(&WhyQuestion::Part("docs".to_owned()), &saved).unwrap().len(), 1);
}

/// A history of requests: `a` an answer, `s` a summary; then how many copies, and whether only the summary has them.
fn history(requests: &[(char, usize, bool)]) -> WhyHistory {
    let mut history = WhyHistory::new("x");
    for (n, (kind, copies, is_summary_only)) in requests.iter().enumerate() {
        history.requests.push(SeenIn {
            number: n + 1,
            copies: *copies,
            is_summary_only: *is_summary_only,
            is_answer: *kind == 'a',
            is_cached: n > 0,
        });
    }
    history
}

#[test]
fn a_history_says_what_became_of_a_text() {
    let summarised = history(&[('a', 1, false), ('a', 1, false), ('s', 1, false), ('a', 0, false)]);
    assert_eq!((summarised.first().unwrap().number, summarised.last().unwrap().number), (1, 3));
    assert_eq!((summarised.summarised_by(), summarised.lost_before(4)), (Some(3), Some((2, 4))));
    let kept = history(&[('a', 1, false), ('s', 1, false), ('a', 1, true)]);
    assert_eq!((kept.summarised_by(), kept.lost_before(4)), (Some(2), Some((3, 4))));
    let rolled_back = history(&[('a', 1, false), ('a', 0, false)]);
    assert_eq!((rolled_back.summarised_by(), rolled_back.lost_before(2)), (None, Some((1, 2))));
    assert_eq!(history(&[('a', 2, false), ('a', 2, false)]).cached_since(), Some(2));
    assert_eq!(history(&[('a', 0, false)]).first(), None);
}
