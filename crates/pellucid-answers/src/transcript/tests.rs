use expect_test::Expect;
use expect_test::expect;

use super::*;

/// The entries of the lines of a session file, one in each line.
#[track_caller]
fn check(lines: &[&str], facts: TranscriptFacts, expected: &Expect) {
    let records: Vec<Record> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect();
    let entries = transcript(&records, facts, KeptOutput::Whole);
    expected.assert_eq(&entries.iter().map(|entry| format!("{entry:?}\n")).collect::<String>());
}

fn usage(input: i64, cached: i64, output: i64) -> TokenUsage {
    TokenUsage {
        input_tokens: input,
        cached_input_tokens: cached,
        output_tokens: output,
        total_tokens: input + output,
        ..TokenUsage::default()
    }
}

fn counted(last: TokenUsage, total: TokenUsage) -> String {
    let info = serde_json::json!({ "total_token_usage": total, "last_token_usage": last, "model_context_window": 1 });
    let event = serde_json::json!({ "type": "token_count", "info": info, "rate_limits": null });
    serde_json::json!({ "type": "event_msg", "payload": event }).to_string()
}

#[test]
fn a_request_has_the_number_that_replay_gives_it() {
    let (one, two) = (usage(100, 20, 10), usage(200, 0, 5));
    // Requests 1 and 2 have no figures; the figures of request 3 come twice, and request 4 is not in the record.
    let lines = [counted(one, one), counted(one, one), counted(two, usage(300, 20, 15))];
    let reply = |number, usage| ReplyFacts { number, usage, verdict: None };
    let facts = TranscriptFacts { replies: vec![reply(3, one)], ..TranscriptFacts::default() };
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(
        &lines,
        facts,
        &expect![[r#"
            Request(TranscriptRequest { number: Some(3), sent: 100, cached: 20, answered: 10, verdict: None })
            Request(TranscriptRequest { number: None, sent: 200, cached: 0, answered: 5, verdict: None })
        "#]],
    );
}

#[test]
fn outcomes_come_from_the_record_or_from_what_the_model_received() {
    let call = |id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call","name":"shell","arguments":"{{\"command\":[\"bash\",\"-lc\",\"ls -a\"]}}","call_id":"{id}"}}}}"#
        )
    };
    let output = |id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call_output","call_id":"{id}","output":"Exit code: 2\nWall time: 0.5 seconds\nOutput:\nx"}}}}"#
        )
    };
    let lines = [call("a"), output("a"), call("b"), output("b")];
    let recorded = CallFacts { exit_code: Some(3), duration_ms: 7, is_denied: true };
    let facts = TranscriptFacts { outcomes: [("a".to_owned(), recorded)].into(), ..TranscriptFacts::default() };
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(
        &lines,
        facts,
        &expect![[r#"
            Command { command: "ls -a" }
            Output(CallOutput { exit_code: Some(3), time: Some(Milliseconds(7)), is_denied: true, body: "x", n_more_lines: 0 })
            Command { command: "ls -a" }
            Output(CallOutput { exit_code: Some(2), time: Some(Written("0.5 s")), is_denied: false, body: "x", n_more_lines: 0 })
        "#]],
    );
}

#[test]
fn an_output_stands_below_its_call_whatever_comes_between() {
    let call = |id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call","name":"shell","arguments":"{{\"command\":\"{id}\"}}","call_id":"{id}"}}}}"#
        )
    };
    let output = |id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call_output","call_id":"{id}","output":"of {id}"}}}}"#
        )
    };
    let one = usage(100, 0, 10);
    let lines =
        [call("a"), call("b"), call("c"), counted(one, one), output("c"), output("a"), output("b"), output("gone")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(
        &lines,
        TranscriptFacts::default(),
        &expect![[r#"
            Command { command: "a" }
            Output(CallOutput { exit_code: None, time: None, is_denied: false, body: "of a", n_more_lines: 0 })
            Command { command: "b" }
            Output(CallOutput { exit_code: None, time: None, is_denied: false, body: "of b", n_more_lines: 0 })
            Command { command: "c" }
            Output(CallOutput { exit_code: None, time: None, is_denied: false, body: "of c", n_more_lines: 0 })
            Request(TranscriptRequest { number: None, sent: 100, cached: 0, answered: 10, verdict: None })
            Output(CallOutput { exit_code: None, time: None, is_denied: false, body: "of gone", n_more_lines: 0 })
        "#]],
    );
}
