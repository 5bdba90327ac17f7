//! Every kind of entry is written in one form, read back as it was, and known by its kind, turn and texts.

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::fits_schema;
use serde_json::Value;
use serde_json::json;

use super::*;

/// A text that is kept by itself.
fn kept(n: u8) -> Value {
    json!({ "part": "base", "sha256": format!("{n:064}"), "bytes": n })
}

/// A file that was put before an input.
fn injection() -> Value {
    json!({
        "item_id": "phase", "path": "phases/review.md", "hash": "missing", "bytes_before": 2, "bytes_after": 1,
        "outcome": "injected", "reason": "phase-review", "chosen_by": "session", "turn": 3, "channel": "exec",
    })
}

/// One entry of each kind with all of its fields, and of purposes and stretches each variant.
fn full() -> Vec<Value> {
    let request = |purpose: Value| {
        json!({
            "kind": "request", "turn": "t", "purpose": purpose, "at": 1, "frame": "f", "bytes": 2, "items": 3,
            "body": "b", "marks": [[1, 2, "m"]],
            "cache_break": {
                "first_byte": 4, "part": "tools", "tokens_rebilled": 5, "span": [6, 7], "source": "s", "cause": "c",
                "changes": [{ "how": "added", "part": "tools", "source": "s", "is_read": true }],
            },
            "sent_at": "2026-01-02T03:04:05.678Z", "files": kept(8), "injections": [injection()],
        })
    };
    vec![
        json!({
            "kind": "opened", "format": 2, "session": "s", "version": "1", "how": "forked", "at": 1, "ids": "kept",
            "truncation": { "mode": "tokens", "limit": 10 },
            "summaries": { "prefix": { "text": "p" }, "context": [kept(1), { "text": "" }] },
            "origins_from": 3, "parent": { "session": "p", "upto": 4 }, "files": kept(2),
            "terms": {
                "pack": "codex", "cache_order": ["tools", "items"], "cache_seconds": 300, "compact_at": 5, "window": 6,
            },
        }),
        json!({
            "kind": "frame", "digest": "d", "view": { "shown": 1 }, "head": [kept(1)], "tail": [{ "text": "}" }],
            "origins": { "text": "[]" },
        }),
        request(json!("answer")),
        request(json!("answer_again")),
        request(json!({ "summary": {
            "prompt": { "text": "p" }, "dropped": 1, "shown": [0, 2], "origins": { "text": "o" },
        } })),
        request(json!("provider_summary")),
        request(json!({ "memory_summary": { "items": [{ "text": "i" }], "origins": { "text": "o" } } })),
        request(json!("vectors")),
        json!({
            "kind": "reply", "request": 1, "response_id": "r",
            "usage": {
                "input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 2,
                "total_tokens": 13,
            },
            "cache_write": 5,
            "cache": { "verdict": "missed", "cause": "c", "expected": 8, "read": 4, "idle_ms": 9 },
            "first_event_at": "2026-01-02T03:04:05.678Z", "done_at": "2026-01-02T03:04:06.000Z",
            "attempts": [null, 503, 200], "failure": "interrupted",
        }),
        json!({ "kind": "rebuilt", "at": 1, "items": [{ "from": 0, "n": 2 }, kept(1)] }),
        json!({ "kind": "noted", "at": 1, "item": { "text": "{}" } }),
        json!({ "kind": "origins", "from": 1, "at": 2, "items": [[3, "h"]], "spans": kept(1) }),
        json!({ "kind": "shown", "at": 1, "items": [{ "part": "memory", "text": "{}" }, { "from": 3, "n": 1 }] }),
        json!({ "kind": "placed", "at": 1, "texts": [{ "before": 2, "item": kept(1) }], "origins": kept(1) }),
        json!({ "kind": "child", "at": 1, "session": "s", "purpose": "review" }),
        json!({ "kind": "said_again", "at": 1, "part": "base", "reason": "interval", "sha256": "h" }),
        json!({ "kind": "not_sent", "at": 1, "turn": "t", "why": "interrupted", "injections": [injection()] }),
        json!({
            "kind": "call", "at": 1, "call": "c", "tool": "shell", "turn": "t", "within": "outer", "began_at": "b",
            "ended_at": "e", "outcome": "panicked", "grounds": { "id": 0, "is": { "decision": "ask" } },
            "answers": [{ "to": "retry", "by": "client", "client": "tui", "answer": "approved_with_rule" }],
            "runs": [{
                "sandbox": { "id": 1, "is": {
                    "mode": "none", "backend": "landlock", "writable_roots": ["/w"], "network": true, "outside": "rule",
                } },
                "exit_code": -9, "denied": true,
            }],
        }),
        json!({
            "kind": "sealed", "from": 1, "at": 2, "sha256": "h", "before": "b", "turn": "t", "foreign": true,
            "names": [{ "kind": "event_msg", "part": "p" }], "lines": "AAAAAAA",
        }),
    ]
}

/// The entries of the list above, each without the fields that may be absent.
fn least() -> Vec<Value> {
    vec![
        json!({
            "kind": "opened", "format": 1, "session": "s", "version": "1", "how": "new", "at": 0, "ids": null,
            "truncation": { "mode": "bytes", "limit": -1 },
        }),
        json!({ "kind": "frame", "digest": "", "view": null, "head": [], "tail": [] }),
        json!({
            "kind": "request", "turn": "", "purpose": { "summary": { "prompt": { "text": "" }, "dropped": 0 } },
            "at": 0, "frame": "", "bytes": 0, "items": 0, "body": "",
        }),
        json!({ "kind": "not_sent", "at": 0, "turn": "", "why": "" }),
        json!({ "kind": "reply", "request": 0, "usage": null }),
        json!({ "kind": "rebuilt", "at": 0, "items": [] }),
        json!({
            "kind": "call", "at": 0, "call": "", "turn": "", "began_at": "", "ended_at": "", "outcome": "done",
            "grounds": { "id": 0 }, "runs": [{ "sandbox": { "id": 0 } }],
        }),
        json!({ "kind": "sealed", "from": 0, "at": 0, "sha256": "", "names": [{ "kind": "" }], "lines": "" }),
    ]
}

/// The place of a kind in the list of kinds. A new kind does not compile until it is in the tests.
fn place(entry: &LogEntry) -> usize {
    match entry {
        LogEntry::Opened(_) => 0,
        LogEntry::Frame(_) => 1,
        LogEntry::Request(_) => 2,
        LogEntry::Reply(_) => 3,
        LogEntry::Rebuilt(_) => 4,
        LogEntry::Noted(_) => 5,
        LogEntry::Origins(_) => 6,
        LogEntry::Shown(_) => 7,
        LogEntry::Child(_) => 8,
        LogEntry::SaidAgain(_) => 9,
        LogEntry::NotSent(_) => 10,
        LogEntry::Call(_) => 11,
        LogEntry::Sealed(_) => 12,
        LogEntry::Placed(_) => 13,
    }
}

#[test]
fn every_kind_is_written_as_it_is_read() {
    let mut seen = std::collections::BTreeSet::new();
    for json in full().into_iter().chain(least()) {
        let entry: LogEntry = serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{json}: {error}"));
        assert_eq!(serde_json::to_value(&entry).unwrap(), json);
        assert_eq!(json["kind"], entry.kind());
        seen.insert(place(&entry));
        let link = ChainLink { n: 7, timestamp: "t".to_owned(), previous: Some("h".to_owned()), entry };
        let line = serde_json::to_string(&link).unwrap();
        let head = format!("{{\"n\":7,\"timestamp\":\"t\",\"previous\":\"h\",\"kind\":{}", json["kind"]);
        assert!(line.starts_with(&head), "{line}");
        assert_eq!(serde_json::from_str::<ChainLink>(&line).unwrap(), link);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), (0..14).collect::<Vec<_>>());
}

#[test]
fn every_kind_fits_the_published_schema_and_no_other_field_does() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(schema["$id"], format!("urn:pellucid.record/{FORMAT}"));
    for mut line in full().into_iter().chain(least()) {
        (line["n"], line["timestamp"]) = (json!(0), json!("t"));
        fits_schema(&schema, &line).unwrap();
        line["previous"] = json!("h");
        fits_schema(&schema, &line).unwrap();
        line["unknown"] = json!(1);
        assert!(fits_schema(&schema, &line).is_err(), "{line}");
    }
}

#[test]
fn the_first_line_has_no_hash_and_later_formats_may_add_fields() {
    let line = r#"{"n":0,"timestamp":"t","kind":"not_sent","at":1,"turn":"t","why":"w","later":[1]}"#;
    let link: ChainLink = serde_json::from_str(line).unwrap();
    assert_eq!(link.previous, None);
    assert_eq!(
        serde_json::to_string(&link).unwrap(),
        r#"{"n":0,"timestamp":"t","kind":"not_sent","at":1,"turn":"t","why":"w"}"#
    );
}

/// Takes every field away, one at a time, and gives it another type: what cannot be read is refused and never guessed.
#[test]
fn a_field_of_another_type_is_refused() {
    for json in full() {
        for key in json.as_object().unwrap().keys() {
            // What shows items is the engine's, and any value.
            if ["ids", "view"].contains(&key.as_str()) {
                continue;
            }
            for other in [json!(true), json!({ "a": [] }), json!(-1), json!("?"), json!([[null]])] {
                let mut changed = json.clone();
                let is_same_type = match (&other, &json[key]) {
                    (Value::String(_), Value::String(_)) => {
                        let is_request = key == "purpose" && json["kind"] == "request";
                        !is_request && !["kind", "outcome", "how"].contains(&key.as_str())
                    }
                    (Value::Bool(_), Value::Bool(_)) => true,
                    (Value::Number(_), Value::Number(_)) => key == "cache_write",
                    _ => false,
                };
                changed[key] = other.clone();
                let read = serde_json::from_value::<LogEntry>(changed.clone());
                assert_eq!(read.is_ok(), is_same_type, "{changed}: {read:?}");
            }
        }
    }
}

#[track_caller]
fn check_refused(json: &Value, expected: &Expect) {
    expected.assert_eq(&serde_json::from_value::<LogEntry>(json.clone()).unwrap_err().to_string());
}

#[test]
fn kinds_that_this_version_does_not_know_are_named() {
    check_refused(
        &json!({ "kind": "hologram", "at": 1 }),
        &expect![
            "unknown variant `hologram`, expected one of `opened`, `frame`, `request`, `reply`, `rebuilt`, `noted`, `origins`, `shown`, `placed`, `child`, `said_again`, `not_sent`, `call`, `sealed`"
        ],
    );
    check_refused(&json!({ "at": 1 }), &expect!["missing field `kind`"]);
    check_refused(&json!({ "kind": "noted", "at": 1 }), &expect!["missing field `item`"]);
    check_refused(
        &json!({ "kind": "noted", "at": -1, "item": { "text": "" } }),
        &expect!["invalid value: integer `-1`, expected u64"],
    );
    check_refused(
        &json!({ "kind": "noted", "at": 1, "item": { "sha256": "h" } }),
        &expect!["data did not match any variant of untagged enum StoredText"],
    );
    check_refused(
        &json!({ "kind": "noted", "at": 1.5, "item": { "text": "" } }),
        &expect!["invalid type: floating point `1.5`, expected u64"],
    );
}

#[test]
fn huge_numbers_are_kept_exactly() {
    let json =
        json!({ "kind": "child", "at": u64::MAX, "session": "s".repeat(1 << 16), "purpose": "\u{0}é\u{10ffff}" });
    let entry: LogEntry = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_string(&entry).unwrap(), json.to_string());
}

#[track_caller]
fn check_entry(json: &Value, expected: &Expect) {
    let entry: LogEntry = serde_json::from_value(json.clone()).unwrap();
    let texts: Vec<String> = entry
        .pieces()
        .into_iter()
        .map(|piece| match &piece.text {
            StoredText::Kept { sha256, bytes } => format!("{}:{}…+{bytes}", piece.part, &sha256[62..]),
            StoredText::Here { text } => format!("{}:{text:?}", piece.part),
        })
        .collect();
    expected.assert_eq(&format!("{} turn {:?} texts [{}]", entry.kind(), entry.turn(), texts.join(", ")));
}

#[test]
fn every_kind_names_its_turn_and_its_texts() {
    let full = full();
    let expected = [
        expect![[r#"opened turn None texts [:"p", base:01…+1, :"", base:02…+2]"#]],
        expect![[r#"frame turn None texts [base:01…+1, :"}", :"[]"]"#]],
        expect![[r#"request turn Some("t") texts [base:08…+8]"#]],
        expect![[r#"request turn Some("t") texts [base:08…+8]"#]],
        expect![[r#"request turn Some("t") texts [:"p", :"o", base:08…+8]"#]],
        expect![[r#"request turn Some("t") texts [base:08…+8]"#]],
        expect![[r#"request turn Some("t") texts [:"i", :"o", base:08…+8]"#]],
        expect![[r#"request turn Some("t") texts [base:08…+8]"#]],
        expect!["reply turn None texts []"],
        expect!["rebuilt turn None texts [base:01…+1]"],
        expect![[r#"noted turn None texts [:"{}"]"#]],
        expect!["origins turn None texts [base:01…+1]"],
        expect![[r#"shown turn None texts [memory:"{}"]"#]],
        expect!["placed turn None texts [base:01…+1, base:01…+1]"],
        expect!["child turn None texts []"],
        expect!["said_again turn None texts []"],
        expect![[r#"not_sent turn Some("t") texts []"#]],
        expect![[r#"call turn Some("t") texts []"#]],
        expect![[r#"sealed turn Some("t") texts []"#]],
    ];
    assert_eq!(full.len(), expected.len());
    for (json, expected) in full.iter().zip(&expected) {
        check_entry(json, expected);
    }
}

#[test]
fn lines_of_turns_name_the_files_before_their_input() {
    let with = |json: Value| serde_json::from_value::<LogEntry>(json).unwrap().injections().len();
    let n: usize = full().into_iter().map(with).sum();
    assert_eq!(n, 7, "six requests and a turn that sent none");
    assert_eq!(least().into_iter().map(with).sum::<usize>(), 0);
}

#[test]
fn texts_say_how_long_they_are() {
    let here = |text: &str| StoredText::Here { text: text.to_owned() };
    let kept = |bytes| StoredText::Kept { sha256: String::new(), bytes };
    let lens: Vec<(u64, bool)> =
        [here(""), here("é"), kept(0), kept(9)].iter().map(|it| (it.len(), it.is_empty())).collect();
    assert_eq!(lens, [(0, true), (2, false), (0, true), (9, false)]);
}

#[test]
fn what_a_reply_cost_is_split_by_what_is_charged_for() {
    let split = |usage: Value, cache_write: Value| {
        let json = json!({ "request": 0, "usage": usage, "cache_write": cache_write });
        serde_json::from_value::<ReplyEntry>(json).unwrap().split()
    };
    let usage = |input: i64, cached: i64| {
        json!({
            "input_tokens": input, "cached_input_tokens": cached, "output_tokens": 3, "reasoning_output_tokens": 2,
            "total_tokens": input + 3,
        })
    };
    let expected =
        |cached_read, cache_write, uncached| Some(UsageSplit { cached_read, cache_write, uncached, output: 3 });
    assert_eq!(split(Value::Null, json!(5)), None);
    assert_eq!(split(usage(10, 4), Value::Null), expected(4, None, 6));
    assert_eq!(split(usage(10, 4), json!(5)), expected(4, Some(5), 1));
    // A provider that says more of its cache than of its input costs nothing less.
    assert_eq!(split(usage(10, 4), json!(i64::MAX)), expected(4, Some(i64::MAX), 0));
}
