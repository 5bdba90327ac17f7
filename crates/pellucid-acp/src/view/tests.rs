//! Events in, updates out. Each case is a text of events, a line each, and a text of what the client receives.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;

use super::Outgoing;
use super::Shown;
use super::Texts;
use super::View;

const ABLE: Shown = Shown { notices: true, compaction: true, raw_reasoning: false };

/// Shows events, one a line, to a client.
fn shown(view: &mut View, events: &str, texts: &Texts) -> String {
    let mut lines = String::new();
    for line in events.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let msg: EventMessage = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for outgoing in view.event(&Event { id: "t".to_owned(), msg }, texts) {
            lines += &match outgoing {
                Outgoing::Update(update) => serde_json::to_string(&update).unwrap(),
                Outgoing::Question(question) => format!("asks {:?}", question.decision(None).map(|(call, _)| call)),
                Outgoing::Over(end) => match end.answer(false) {
                    Ok(answer) => serde_json::to_string(&answer).unwrap(),
                    Err(error) => serde_json::to_string(&error).unwrap(),
                },
            };
            lines.push('\n');
        }
    }
    lines
}

#[track_caller]
fn check(events: &str, expected: &Expect) {
    check_shown(ABLE, events, expected);
}

#[track_caller]
fn check_shown(able: Shown, events: &str, expected: &Expect) {
    expected.assert_eq(&shown(&mut View::new(able), events, &Texts::new()));
}

#[test]
fn text_that_came_in_pieces_is_not_sent_again() {
    check(
        r#"
        {"type":"agent_message_content_delta","thread_id":"s","turn_id":"t","item_id":"m1","delta":"Hel"}
        {"type":"agent_message_delta","delta":"Hel"}
        {"type":"item_completed","thread_id":"s","turn_id":"t","item":{"type":"AgentMessage","id":"m1","content":[{"type":"Text","text":"Hello"}]}}
        {"type":"agent_message","message":"Hello"}
        {"type":"item_completed","thread_id":"s","turn_id":"t","item":{"type":"AgentMessage","id":"m2","content":[{"type":"Text","text":"Whole"}]}}
        {"type":"item_completed","thread_id":"s","turn_id":"t","item":{"type":"Reasoning","id":"r","summary_text":["One","Two"],"raw_content":["raw"]}}
        {"type":"item_completed","thread_id":"s","turn_id":"t","item":{"type":"UserMessage","id":"u","content":[]}}
        "#,
        &expect![[r#"
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"},"messageId":"m1"}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Whole"},"messageId":"m2"}
            {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"One\n\nTwo"},"messageId":"r"}
        "#]],
    );
}

#[test]
fn a_command_is_announced_once_and_its_output_is_whole() {
    check(
        r#"
        {"type":"context_request_sent","n":3,"sha256":"ab","bytes":9,"purpose":"answer"}
        {"type":"exec_command_begin","call_id":"c","turn_id":"t","command":["bash","-lc","cat a; echo"],"cwd":"/w","parsed_cmd":[{"type":"read","cmd":"cat a","name":"a","path":"a"}],"source":"agent"}
        {"type":"exec_command_output_delta","call_id":"c","stream":"stdout","chunk":"b25lCg=="}
        {"type":"exec_command_output_delta","call_id":"c","stream":"stdout","chunk":"dHdvCg=="}
        {"type":"exec_command_end","call_id":"c","turn_id":"t","command":["cat","a"],"cwd":"/w","parsed_cmd":[],"source":"agent","stdout":"","stderr":"","aggregated_output":"one\ntwo\n","exit_code":2,"duration":{"secs":1,"nanos":0},"formatted_output":"","status":"failed"}
        "#,
        &expect![[r#"
            {"sessionUpdate":"tool_call","toolCallId":"c","title":"cat a; echo","name":"shell","kind":"read","status":"in_progress","locations":[{"path":"/w/a"}],"rawInput":{"command":["bash","-lc","cat a; echo"],"cwd":"/w"},"_meta":{"pellucid":{"request":{"n":3,"sha256":"ab"}}}}
            {"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"one\n"}}]}
            {"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"one\ntwo\n"}}]}
            {"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","content":[{"type":"content","content":{"type":"text","text":"one\ntwo\n"}}],"rawOutput":{"exit_code":2,"duration_ms":1000,"status":"failed"}}
        "#]],
    );
}

#[test]
fn a_call_that_is_tried_again_or_refused_is_announced_once() {
    let begin = r#"{"type":"exec_command_begin","call_id":"c","turn_id":"t","command":["ls"],"cwd":"/w","parsed_cmd":[],"source":"agent"}"#;
    let end = r#"{"type":"exec_command_end","call_id":"c","turn_id":"t","command":["ls"],"cwd":"/w","parsed_cmd":[],"source":"agent","stdout":"","stderr":"","aggregated_output":"","exit_code":1,"duration":{"secs":0,"nanos":0},"formatted_output":"","status":"failed"}"#;
    let ask =
        r#"{"type":"exec_approval_request","call_id":"c","turn_id":"t","command":["ls"],"cwd":"/w","parsed_cmd":[]}"#;
    let mut view = View::new(ABLE);
    let tried = shown(&mut view, &[begin, end, ask].join("\n"), &Texts::new());
    let refused = view.decided("c", &pellucid_protocol::approval::ReviewDecision::Denied);
    assert_eq!(refused.len(), 1);
    let rest = shown(&mut view, &[begin, end].join("\n"), &Texts::new());
    expect![[r#"
        {"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","name":"shell","kind":"execute","status":"in_progress","rawInput":{"command":["ls"],"cwd":"/w"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","rawOutput":{"exit_code":1,"duration_ms":0,"status":"failed"}}
        asks Some("c")
    "#]].assert_eq(&format!("{tried}{rest}"));
}

#[test]
fn what_a_turn_leaves_open_is_over_with_it() {
    check(
        r#"
        {"type":"exec_command_begin","call_id":"c","turn_id":"t","command":["ls"],"cwd":"/w","parsed_cmd":[],"source":"agent"}
        {"type":"exec_command_begin","call_id":"l","turn_id":"t","command":["top"],"cwd":"/w","parsed_cmd":[],"source":"unified_exec_startup"}
        {"type":"turn_aborted","turn_id":"t","reason":"interrupted"}
        "#,
        &expect![[r#"
            {"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","name":"shell","kind":"execute","status":"in_progress","rawInput":{"command":["ls"],"cwd":"/w"}}
            {"sessionUpdate":"tool_call","toolCallId":"l","title":"top","name":"exec_command","kind":"execute","status":"in_progress","rawInput":{"command":["top"],"cwd":"/w"}}
            {"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}
            {"stopReason":"cancelled","_meta":{"pellucid":{"requests":[]}}}
        "#]],
    );
}

#[test]
fn the_answer_names_the_requests_and_why_it_stopped() {
    let events = r#"
        {"type":"task_started","turn_id":"t","model_context_window":10}
        {"type":"context_request_sent","n":1,"sha256":"aa","bytes":9,"purpose":"summary"}
        {"type":"context_request_sent","n":2,"sha256":"bb","bytes":9,"purpose":"answer"}
        {"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":1,"total_tokens":13},"last_token_usage":{"input_tokens":5,"cached_input_tokens":0,"output_tokens":2,"reasoning_output_tokens":0,"total_tokens":7},"model_context_window":100},"rate_limits":null}
    "#;
    check(
        &format!("{events}{}", r#"{"type":"task_complete","turn_id":"t","last_agent_message":null}"#),
        &expect![[r#"
            {"sessionUpdate":"usage_update","used":7,"size":100}
            {"stopReason":"end_turn","usage":{"totalTokens":13,"inputTokens":10,"outputTokens":3,"thoughtTokens":1,"cachedReadTokens":4},"_meta":{"pellucid":{"requests":[{"n":1,"sha256":"aa","purpose":"summary"},{"n":2,"sha256":"bb","purpose":"answer"}]}}}
        "#]],
    );
    check(
        &format!(
            "{events}{}",
            r#"{"type":"error","message":"no such model"}
        {"type":"task_complete","turn_id":"t","last_agent_message":null}"#
        ),
        &expect![[r#"
            {"sessionUpdate":"usage_update","used":7,"size":100}
            {"code":-32603,"message":"no such model","data":{"code":"other","pellucid":{"requests":[{"n":1,"sha256":"aa","purpose":"summary"},{"n":2,"sha256":"bb","purpose":"answer"}]}}}
        "#]],
    );
}

#[test]
fn calls_of_a_reviewer_name_its_own_requests() {
    check(
        r#"
        {"type":"context_request_sent","n":4,"sha256":"aa","bytes":9,"purpose":"answer"}
        {"type":"context_elsewhere","thread_id":"r","event":{"type":"context_request_sent","n":1,"sha256":"bb","bytes":9,"purpose":"answer"}}
        {"type":"mcp_tool_call_begin","call_id":"c1","invocation":{"server":"s","tool":"t","arguments":{"a":1}}}
        {"type":"mcp_tool_call_end","call_id":"c1","invocation":{"server":"s","tool":"t","arguments":null},"duration":{"secs":0,"nanos":0},"result":{"Ok":{"content":[{"type":"text","text":"said"},{"type":"new"}]}}}
        {"type":"exited_review_mode","review_output":null}
        {"type":"view_image_tool_call","call_id":"c2","path":"/w/a.png"}
        "#,
        &expect![[r#"
            {"sessionUpdate":"tool_call","toolCallId":"c1","title":"s: t","name":"mcp__s__t","status":"in_progress","rawInput":{"a":1},"_meta":{"pellucid":{"request":{"n":1,"sha256":"bb","session":"r"}}}}
            {"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"said"}},{"type":"content","content":{"type":"text","text":"{\"type\":\"new\"}"}}]}
            {"sessionUpdate":"tool_call","toolCallId":"c2","title":"View /w/a.png","name":"view_image","kind":"read","status":"completed","locations":[{"path":"/w/a.png"}],"_meta":{"pellucid":{"request":{"n":4,"sha256":"aa"}}}}
        "#]],
    );
}

#[test]
fn notices_are_for_clients_that_show_them() {
    let events = r#"
        {"type":"warning","message":"AGENTS.md is cut\nat 5 bytes"}
        {"type":"deprecation_notice","summary":"old","details":"use new"}
        {"type":"mcp_startup_complete","ready":[],"failed":[{"server":"s","error":"gone"}],"cancelled":[]}
        {"type":"context_omission","part":"docs","what":"AGENTS.md","why":"too long","bytes":7}
    "#;
    check(
        events,
        &expect![[r#"
        {"sessionUpdate":"notice","severity":"warning","title":"AGENTS.md is cut","description":"AGENTS.md is cut\nat 5 bytes"}
        {"sessionUpdate":"notice","severity":"info","title":"old","description":"use new"}
        {"sessionUpdate":"notice","severity":"error","title":"the MCP server s cannot be used","description":"gone"}
        {"sessionUpdate":"notice","severity":"warning","title":"AGENTS.md is left out or cut: too long","description":"docs, 7 bytes"}
    "#]],
    );
    check_shown(
        Shown::default(),
        events,
        &expect![[r#"
        {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"AGENTS.md is cut\nat 5 bytes\n"},"messageId":"notice-1"}
        {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"the MCP server s cannot be used (gone)\n"},"messageId":"notice-2"}
        {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"AGENTS.md is left out or cut: too long (docs, 7 bytes)\n"},"messageId":"notice-3"}
    "#]],
    );
}

#[test]
fn a_summary_reports_what_it_loses() {
    let begun = r#"{"type":"item_started","thread_id":"s","turn_id":"t","item":{"type":"ContextCompaction","id":"k"}}"#;
    let done =
        r#"{"type":"item_completed","thread_id":"s","turn_id":"t","item":{"type":"ContextCompaction","id":"k"}}"#;
    let loss = r#"{"type":"context_compaction","account":{"lost":1}}"#;
    check(
        &[begun, loss, done].join("\n"),
        &expect![[r#"
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"completed","_meta":{"pellucid":{"loss":{"lost":1}}}}
    "#]],
    );
    check(
        &[begun, done, loss].join("\n"),
        &expect![[r#"
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"completed","_meta":{"pellucid":{"loss":{"lost":1}}}}
    "#]],
    );
    check(
        &[begun, r#"{"type":"error","message":"no summary"}"#].join("\n"),
        &expect![[r#"
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}
        {"sessionUpdate":"compaction_update","compactionId":"k","status":"failed","error":"no summary"}
    "#]],
    );
    check_shown(Shown::default(), &[begun, done].join("\n"), &expect![[""]]);
}

#[test]
fn output_is_sent_more_rarely_the_more_there_is() {
    let mut view = View::new(ABLE);
    let begin = r#"{"type":"exec_command_begin","call_id":"c","turn_id":"t","command":["yes"],"cwd":"/w","parsed_cmd":[],"source":"agent"}"#;
    shown(&mut view, begin, &Texts::new());
    let line = r#"{"type":"exec_command_output_delta","call_id":"c","stream":"stdout","chunk":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Cg=="}"#;
    let lines = [line; 16_384].join("\n");
    let sent = shown(&mut view, &lines, &Texts::new());
    let n_bytes = 16_384 * 67;
    assert!(sent.len() < 6 * n_bytes, "{} bytes for {n_bytes}", sent.len());
    assert!(sent.lines().all(|line| line.len() < 40_000));
    assert!(sent.lines().next_back().unwrap().contains("bytes before this"));
}
