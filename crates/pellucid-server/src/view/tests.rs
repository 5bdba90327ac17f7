//! Events in, messages for clients out.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::event::Event;
use serde_json::Value;

use super::*;
use crate::rpc::RpcError;

/// Plays a script. A line is an event of turn `t1` (a line may begin with another turn), or `answer`, `refuse` or
/// `unheard` for the oldest open question.
#[track_caller]
fn check_view(script: &str, expected: &Expect) {
    let mut view = ThreadView::new("T").with_raw_items(RawItems::Shown);
    expected.assert_eq(&play(&mut view, script));
}

fn play(view: &mut ThreadView, script: &str) -> String {
    let (mut lines, mut open) = (Vec::new(), Vec::new());
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let said = match word {
            "answer" | "refuse" | "unheard" => {
                let question: ServerQuestion = open.remove(0);
                let (operation, said) = match word {
                    "answer" => view.answered(question, Ok(serde_json::from_str(rest).unwrap())),
                    "refuse" => view.answered(question, Err(RpcError::internal("no"))),
                    _ => view.unheard(question),
                };
                lines.push(format!("-> {}", serde_json::to_string(&operation).unwrap()));
                said
            }
            _ => {
                let (turn, msg) = if word.starts_with('{') { ("t1", line) } else { (word, rest) };
                view.event(&Event { id: turn.to_owned(), msg: serde_json::from_str(msg).unwrap() })
            }
        };
        for outgoing in said {
            lines.push(match outgoing {
                Outgoing::Notification(it) => shown(&serde_json::to_value(&it).unwrap(), ""),
                Outgoing::Asked(question) => {
                    let line = shown(&serde_json::to_value(&question.request).unwrap(), "? ");
                    open.push(*question);
                    line
                }
            });
        }
    }
    lines.join("\n") + "\n"
}

/// The method, the turn and the rest.
fn shown(message: &Value, mark: &str) -> String {
    let mut params = message["params"].as_object().unwrap().clone();
    assert!(params.remove("threadId").is_none_or(|id| id == "T"));
    let turn = params.remove("turnId").map(|turn| format!(" {}", turn.as_str().unwrap()));
    format!(
        "{mark}{}{} {}",
        message["method"].as_str().unwrap(),
        turn.unwrap_or_default(),
        serde_json::to_string(&params).unwrap()
    )
}

const BEGIN: &str = r#"{"type":"exec_command_begin","call_id":"c1","turn_id":"t1","command":["touch","a b"],"cwd":"/w","parsed_cmd":[{"type":"unknown","cmd":"touch 'a b'"}],"source":"agent"}"#;
const MAY_RUN: &str = r#"{"type":"exec_approval_request","call_id":"c1","turn_id":"t1","command":["touch","a b"],"cwd":"/w","proposed_execpolicy_amendment":["touch","a b"],"parsed_cmd":[{"type":"unknown","cmd":"touch 'a b'"}]}"#;
const REFUSED: &str = r#"{"type":"exec_command_end","call_id":"c1","turn_id":"t1","command":["touch","a b"],"cwd":"/w","parsed_cmd":[],"source":"agent","stdout":"","stderr":"","aggregated_output":"exec command rejected by user","exit_code":-1,"duration":{"secs":0,"nanos":0},"formatted_output":"","status":"declined"}"#;
const MAY_PATCH: &str = r#"{"type":"apply_patch_approval_request","call_id":"p1","turn_id":"t1","changes":{"/w/a":{"type":"add","content":"x\n"}}}"#;
const PATCH: &str = r#"{"type":"patch_apply_begin","call_id":"p1","turn_id":"t1","auto_approved":false,"changes":{"/w/a":{"type":"add","content":"x\n"}}}"#;

fn patched(status: &str) -> String {
    format!(
        r#"{{"type":"patch_apply_end","call_id":"p1","turn_id":"t1","stdout":"","stderr":"","success":false,"changes":{{"/w/a":{{"type":"add","content":"x\n"}}}},"status":"{status}"}}"#
    )
}

#[test]
fn messages_and_thoughts_are_told_as_they_come() {
    check_view(
        r#"{"type":"task_started","turn_id":"t1","model_context_window":null,"collaboration_mode_kind":"default"}
        {"type":"item_started","thread_id":"T","turn_id":"t1","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"Hi","text_elements":[]},{"type":"image","image_url":"data:x"}]}}
        {"type":"item_completed","thread_id":"T","turn_id":"t1","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"Hi","text_elements":[]}]}}
        {"type":"user_message","message":"Hi","images":[],"local_images":[],"text_elements":[]}
        {"type":"agent_reasoning_section_break","item_id":"r","summary_index":0}
        {"type":"reasoning_content_delta","thread_id":"T","turn_id":"t1","item_id":"r","delta":"Hm","summary_index":0}
        {"type":"agent_reasoning_delta","delta":"Hm"}
        {"type":"reasoning_raw_content_delta","thread_id":"T","turn_id":"t1","item_id":"r","delta":"mm","content_index":1}
        {"type":"agent_message_content_delta","thread_id":"T","turn_id":"t1","item_id":"m","delta":"Hel"}
        {"type":"plan_delta","thread_id":"T","turn_id":"t1","item_id":"t1-plan","delta":"- a"}
        {"type":"item_completed","thread_id":"T","turn_id":"t1","item":{"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"Hel"},{"type":"Text","text":"lo"}]}}
        {"type":"item_completed","thread_id":"T","turn_id":"t1","item":{"type":"WebSearch","id":"w","query":"q","action":{"type":"open_page"}}}
        {"type":"raw_response_item","item":{"type":"message","role":"user","content":[]}}
        {"type":"warning","message":"careful"}
        {"type":"task_complete","turn_id":"t1","last_agent_message":"Hello"}"#,
        &expect![[r#"
            item/started t1 {"item":{"type":"userMessage","id":"u","content":[{"type":"text","text":"Hi","text_elements":[]},{"type":"image","url":"data:x"}]}}
            item/completed t1 {"item":{"type":"userMessage","id":"u","content":[{"type":"text","text":"Hi","text_elements":[]}]}}
            item/reasoning/summaryPartAdded t1 {"summaryIndex":0,"itemId":"r"}
            item/reasoning/summaryTextDelta t1 {"summaryIndex":0,"delta":"Hm","itemId":"r"}
            item/reasoning/textDelta t1 {"contentIndex":1,"delta":"mm","itemId":"r"}
            item/agentMessage/delta t1 {"delta":"Hel","itemId":"m"}
            item/plan/delta t1 {"delta":"- a","itemId":"t1-plan"}
            item/completed t1 {"item":{"type":"agentMessage","id":"m","text":"Hello"}}
            item/completed t1 {"item":{"type":"webSearch","id":"w","query":"q","action":{"type":"openPage","url":null}}}
            rawResponseItem/completed t1 {"item":{"type":"message","role":"user","content":[]}}
            turn/completed {"turn":{"id":"t1","items":[],"status":"completed","error":null}}
        "#]],
    );
}

#[test]
fn the_turn_is_told_of_beside_its_items() {
    check_view(
        r#"{"type":"plan_update","explanation":null,"plan":[{"step":"a","status":"in_progress"}]}
        {"type":"turn_diff","unified_diff":"diff"}
        {"type":"token_count","info":{"total_token_usage":{"input_tokens":1,"cached_input_tokens":2,"output_tokens":3,"reasoning_output_tokens":4,"total_tokens":5},"last_token_usage":{"input_tokens":6,"cached_input_tokens":7,"output_tokens":8,"reasoning_output_tokens":9,"total_tokens":10},"model_context_window":11},"rate_limits":{"limit_id":"codex","limit_name":null,"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":9},"secondary":null,"credits":null,"plan_type":"gold"}}
        {"type":"token_count","info":null,"rate_limits":{"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}}
        {"type":"token_count","info":null,"rate_limits":null}
        {"type":"item_started","thread_id":"T","turn_id":"t1","item":{"type":"ContextCompaction","id":"k"}}
        {"type":"context_compacted"}
        {"type":"model_reroute","from_model":"a","to_model":"b","reason":"high_risk_cyber_activity"}
        {"type":"deprecation_notice","summary":"old"}
        {"type":"view_image_tool_call","call_id":"i","path":"/w/a.png"}
        {"type":"entered_review_mode","target":{"type":"commit","sha":"0123456789","title":"x"}}
        {"type":"exited_review_mode","review_output":null}"#,
        &expect![[r#"
            turn/plan/updated t1 {"plan":[{"step":"a","status":"inProgress"}],"explanation":null}
            turn/diff/updated t1 {"diff":"diff"}
            thread/tokenUsage/updated t1 {"tokenUsage":{"total":{"totalTokens":5,"inputTokens":1,"cachedInputTokens":2,"outputTokens":3,"reasoningOutputTokens":4},"last":{"totalTokens":10,"inputTokens":6,"cachedInputTokens":7,"outputTokens":8,"reasoningOutputTokens":9},"modelContextWindow":11}}
            account/rateLimits/updated {"rateLimits":{"limitId":"codex","limitName":null,"primary":{"usedPercent":13,"windowDurationMins":300,"resetsAt":9},"secondary":null,"credits":null,"planType":"unknown"}}
            account/rateLimits/updated {"rateLimits":{"limitId":"codex","limitName":null,"primary":null,"secondary":null,"credits":null,"planType":null}}
            item/started t1 {"item":{"type":"contextCompaction","id":"k"}}
            thread/compacted t1 {}
            model/rerouted t1 {"reason":"highRiskCyberActivity","toModel":"b","fromModel":"a"}
            deprecationNotice {"summary":"old","details":null}
            item/started t1 {"item":{"type":"imageView","id":"i","path":"/w/a.png"}}
            item/completed t1 {"item":{"type":"imageView","id":"i","path":"/w/a.png"}}
            item/started t1 {"item":{"type":"enteredReviewMode","id":"t1","review":"commit 0123456: x"}}
            item/completed t1 {"item":{"type":"enteredReviewMode","id":"t1","review":"commit 0123456: x"}}
            item/started t1 {"item":{"type":"exitedReviewMode","id":"t1","review":"Reviewer failed to output a response."}}
            item/completed t1 {"item":{"type":"exitedReviewMode","id":"t1","review":"Reviewer failed to output a response."}}
        "#]],
    );
}

#[test]
fn a_turn_that_saw_an_error_has_failed() {
    check_view(
        r#"{"type":"stream_error","message":"Reconnecting... 1/2","codex_error_info":{"response_stream_disconnected":{"http_status_code":null}},"additional_details":"gone"}
        {"type":"task_complete","turn_id":"t1","last_agent_message":null}
        t2 {"type":"error","message":"bad","codex_error_info":"other"}
        t2 {"type":"task_complete","turn_id":"t2","last_agent_message":null}
        t3 {"type":"error","message":"no such turn","codex_error_info":"thread_rollback_failed"}
        t3 {"type":"task_complete","turn_id":"t3","last_agent_message":null}
        t4 {"type":"error","message":"bad","codex_error_info":"other"}
        t4 {"type":"turn_aborted","turn_id":"t4","reason":"interrupted"}
        t5 {"type":"task_complete","turn_id":"t5","last_agent_message":null}"#,
        &expect![[r#"
            error t1 {"error":{"message":"Reconnecting... 1/2","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}},"additionalDetails":"gone"},"willRetry":true}
            turn/completed {"turn":{"id":"t1","items":[],"status":"completed","error":null}}
            error t2 {"error":{"message":"bad","codexErrorInfo":"other","additionalDetails":null},"willRetry":false}
            turn/completed {"turn":{"id":"t2","items":[],"status":"failed","error":{"message":"bad","codexErrorInfo":"other","additionalDetails":null}}}
            turn/completed {"turn":{"id":"t3","items":[],"status":"completed","error":null}}
            error t4 {"error":{"message":"bad","codexErrorInfo":"other","additionalDetails":null},"willRetry":false}
            turn/completed {"turn":{"id":"t4","items":[],"status":"interrupted","error":null}}
            turn/completed {"turn":{"id":"t5","items":[],"status":"completed","error":null}}
        "#]],
    );
}

#[test]
fn a_command_that_may_not_run_ends_twice() {
    check_view(
        &format!("{BEGIN}\n{MAY_RUN}\nanswer {{\"decision\":\"decline\"}}\n{REFUSED}"),
        &expect![[r#"
        item/started t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"inProgress","commandActions":[{"type":"unknown","command":"touch 'a b'"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
        ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
        -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"denied"}
        item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"declined","commandActions":[{"type":"unknown","command":"touch 'a b'"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
        item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"declined","commandActions":[],"aggregatedOutput":"exec command rejected by user","exitCode":-1,"durationMs":0}}
    "#]],
    );
}

#[test]
fn whatever_is_answered_the_session_learns_of_it() {
    let amendment = r#"{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}}}"#;
    check_view(
        &format!(
            "{MAY_RUN}\nanswer {{\"decision\":\"accept\"}}\n{MAY_RUN}\nanswer {{\"decision\":\"acceptForSession\"}}\n\
             {MAY_RUN}\nanswer {amendment}\n{MAY_RUN}\nanswer {{\"decision\":\"cancel\"}}\n\
             {MAY_RUN}\nanswer {{\"decision\":\"perhaps\"}}\n{MAY_RUN}\nrefuse\n{MAY_RUN}\nunheard"
        ),
        &expect![[r#"
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"approved"}
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"approved_for_session"}
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":{"approved_execpolicy_amendment":{"proposed_execpolicy_amendment":["touch"]}}}
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"abort"}
            item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"declined","commandActions":[{"type":"unknown","command":"touch 'a b'"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"denied"}
            item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"declined","commandActions":[{"type":"unknown","command":"touch 'a b'"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"denied"}
            item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"failed","commandActions":[{"type":"unknown","command":"touch 'a b'"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
            ? item/commandExecution/requestApproval t1 {"proposedExecpolicyAmendment":["touch","a b"],"commandActions":[{"type":"unknown","command":"touch 'a b'"}],"itemId":"c1","command":"touch 'a b'","cwd":"/w"}
            -> {"type":"exec_approval","id":"c1","turn_id":"t1","decision":"denied"}
            item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"touch 'a b'","cwd":"/w","processId":null,"status":"failed","commandActions":[{"type":"unknown","command":"touch 'a b'"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
        "#]],
    );
}

#[test]
fn a_patch_is_started_before_anybody_is_asked() {
    let failed = r#"{"type":"exec_command_output_delta","call_id":"p1","stream":"stderr","chunk":"RmFpbGVkCg=="}"#;
    check_view(
        &format!("{PATCH}\n{MAY_PATCH}\nanswer {{\"decision\":\"accept\"}}\n{failed}\n{}", patched("completed")),
        &expect![[r#"
            item/started t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"inProgress"}}
            ? item/fileChange/requestApproval t1 {"grantRoot":null,"reason":null,"itemId":"p1"}
            -> {"type":"patch_approval","id":"p1","decision":"approved"}
            item/fileChange/outputDelta t1 {"delta":"Failed\n","itemId":"p1"}
            item/completed t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"completed"}}
        "#]],
    );
    check_view(
        &format!("{MAY_PATCH}\n{PATCH}\nanswer {{\"decision\":\"decline\"}}\n{}", patched("declined")),
        &expect![[r#"
            item/started t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"inProgress"}}
            ? item/fileChange/requestApproval t1 {"grantRoot":null,"reason":null,"itemId":"p1"}
            -> {"type":"patch_approval","id":"p1","decision":"denied"}
            item/completed t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"declined"}}
            item/completed t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"declined"}}
        "#]],
    );
    check_view(
        &format!("{PATCH}\n{MAY_PATCH}\nrefuse\n{PATCH}\n{MAY_PATCH}\nanswer []"),
        &expect![[r#"
        item/started t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"inProgress"}}
        ? item/fileChange/requestApproval t1 {"grantRoot":null,"reason":null,"itemId":"p1"}
        -> {"type":"patch_approval","id":"p1","decision":"denied"}
        item/completed t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"failed"}}
        item/started t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"inProgress"}}
        ? item/fileChange/requestApproval t1 {"grantRoot":null,"reason":null,"itemId":"p1"}
        -> {"type":"patch_approval","id":"p1","decision":"denied"}
        item/completed t1 {"item":{"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"declined"}}
    "#]],
    );
}

#[test]
fn a_command_that_outlives_its_turn_ends_there() {
    check_view(
        r#"{"type":"exec_command_begin","call_id":"c1","process_id":"7","turn_id":"t1","command":["sh"],"cwd":"/w","parsed_cmd":[{"type":"read","cmd":"cat a","name":"a","path":"a"}],"source":"unified_exec_startup"}
        {"type":"task_complete","turn_id":"t1","last_agent_message":null}
        t2 {"type":"terminal_interaction","call_id":"c1","process_id":"7","stdin":"x\n"}
        t2 {"type":"exec_command_output_delta","call_id":"c1","stream":"stdout","chunk":"YfCf"}
        t2 {"type":"exec_command_end","call_id":"c1","process_id":"7","turn_id":"t1","command":["sh"],"cwd":"/w","parsed_cmd":[],"source":"unified_exec_startup","stdout":"","stderr":"","aggregated_output":"","exit_code":0,"duration":{"secs":1,"nanos":2000000},"formatted_output":"","status":"completed"}"#,
        &expect![[r#"
            item/started t1 {"item":{"type":"commandExecution","id":"c1","command":"sh","cwd":"/w","processId":"7","status":"inProgress","commandActions":[{"type":"read","command":"cat a","name":"a","path":"a"}],"aggregatedOutput":null,"exitCode":null,"durationMs":null}}
            turn/completed {"turn":{"id":"t1","items":[],"status":"completed","error":null}}
            item/commandExecution/terminalInteraction t2 {"stdin":"x\n","processId":"7","itemId":"c1"}
            item/commandExecution/outputDelta t1 {"delta":"a�","itemId":"c1"}
            item/completed t1 {"item":{"type":"commandExecution","id":"c1","command":"sh","cwd":"/w","processId":"7","status":"completed","commandActions":[],"aggregatedOutput":null,"exitCode":0,"durationMs":1002}}
        "#]],
    );
}

#[test]
fn questions_and_tools_of_the_client_make_no_items() {
    let question = r#"{"type":"request_user_input","call_id":"q1","turn_id":"t1","questions":[{"id":"size","header":"Size","question":"How big?","isOther":true,"isSecret":false,"options":[{"label":"S","description":"s"}]},{"id":"why","header":"Why","question":"Why?","isOther":false,"isSecret":true}]}"#;
    let call =
        r#"{"type":"dynamic_tool_call_request","callId":"d1","turnId":"t1","tool":"lookup","arguments":{"a":1}}"#;
    check_view(
        &format!(
            "{question}\nanswer {{\"answers\":{{\"size\":{{\"answers\":[\"S\"]}}}}}}\n{question}\nanswer 1\n{question}\nrefuse"
        ),
        &expect![[r#"
            ? item/tool/requestUserInput t1 {"questions":[{"id":"size","header":"Size","question":"How big?","isOther":true,"isSecret":false,"options":[{"label":"S","description":"s"}]},{"id":"why","header":"Why","question":"Why?","isOther":false,"isSecret":true,"options":null}],"itemId":"q1"}
            -> {"type":"user_input_answer","id":"t1","response":{"answers":{"size":{"answers":["S"]}}}}
            ? item/tool/requestUserInput t1 {"questions":[{"id":"size","header":"Size","question":"How big?","isOther":true,"isSecret":false,"options":[{"label":"S","description":"s"}]},{"id":"why","header":"Why","question":"Why?","isOther":false,"isSecret":true,"options":null}],"itemId":"q1"}
            -> {"type":"user_input_answer","id":"t1","response":{"answers":{}}}
            ? item/tool/requestUserInput t1 {"questions":[{"id":"size","header":"Size","question":"How big?","isOther":true,"isSecret":false,"options":[{"label":"S","description":"s"}]},{"id":"why","header":"Why","question":"Why?","isOther":false,"isSecret":true,"options":null}],"itemId":"q1"}
            -> {"type":"user_input_answer","id":"t1","response":{"answers":{}}}
        "#]],
    );
    check_view(
        &format!(
            "{call}\nanswer {{\"contentItems\":[{{\"type\":\"inputText\",\"text\":\"x\"}},{{\"type\":\"inputImage\",\"imageUrl\":\"u\"}}],\"success\":true}}\n{call}\nanswer {{}}\n{call}\nrefuse"
        ),
        &expect![[r#"
            ? item/tool/call t1 {"arguments":{"a":1},"tool":"lookup","callId":"d1"}
            -> {"type":"dynamic_tool_response","id":"d1","response":{"contentItems":[{"type":"inputText","text":"x"},{"type":"inputImage","imageUrl":"u"}],"success":true}}
            ? item/tool/call t1 {"arguments":{"a":1},"tool":"lookup","callId":"d1"}
            -> {"type":"dynamic_tool_response","id":"d1","response":{"contentItems":[{"type":"inputText","text":"dynamic tool response was invalid"}],"success":false}}
            ? item/tool/call t1 {"arguments":{"a":1},"tool":"lookup","callId":"d1"}
            -> {"type":"dynamic_tool_response","id":"d1","response":{"contentItems":[{"type":"inputText","text":"dynamic tool request failed"}],"success":false}}
        "#]],
    );
}

#[test]
fn a_server_of_the_session_asks_the_client() {
    let question = r#"{"type":"elicitation_request","server_name":"depot","id":7,"message":"How many?"}"#;
    check_view(
        &format!(
            "{question}\nanswer {{\"action\":\"accept\",\"content\":{{\"count\":3}}}}\n{question}\nanswer {{\"action\":\"cancel\"}}\n\
             {question}\nanswer 1\n{question}\nrefuse\n{question}\nunheard"
        ),
        &expect![[r#"
            ? mcpServer/elicitation/request t1 {"requestedSchema":null,"message":"How many?","serverName":"depot","mode":"form"}
            -> {"type":"resolve_elicitation","server_name":"depot","request_id":7,"decision":"accept","content":{"count":3}}
            ? mcpServer/elicitation/request t1 {"requestedSchema":null,"message":"How many?","serverName":"depot","mode":"form"}
            -> {"type":"resolve_elicitation","server_name":"depot","request_id":7,"decision":"cancel"}
            ? mcpServer/elicitation/request t1 {"requestedSchema":null,"message":"How many?","serverName":"depot","mode":"form"}
            -> {"type":"resolve_elicitation","server_name":"depot","request_id":7,"decision":"decline"}
            ? mcpServer/elicitation/request t1 {"requestedSchema":null,"message":"How many?","serverName":"depot","mode":"form"}
            -> {"type":"resolve_elicitation","server_name":"depot","request_id":7,"decision":"decline"}
            ? mcpServer/elicitation/request t1 {"requestedSchema":null,"message":"How many?","serverName":"depot","mode":"form"}
            -> {"type":"resolve_elicitation","server_name":"depot","request_id":7,"decision":"decline"}
        "#]],
    );
}

#[test]
fn a_client_that_joins_sees_what_there_is_of_the_turn() {
    let mut view = ThreadView::new("T");
    assert_eq!(view.turn_in_progress(), None);
    let script = r#"{"type":"task_started","turn_id":"t1","model_context_window":null,"collaboration_mode_kind":"default"}
        {"type":"user_message","message":"Hi","images":[],"local_images":[],"text_elements":[]}
        {"type":"agent_message","message":"Hello"}"#;
    play(&mut view, script);
    expect![[r#"{"id":"t1","items":[{"type":"userMessage","id":"item-1","content":[{"type":"text","text":"Hi","text_elements":[]}]},{"type":"agentMessage","id":"item-2","text":"Hello"}],"status":"inProgress","error":null}"#]].assert_eq(&serde_json::to_string(&view.turn_in_progress()).unwrap());
    play(&mut view, r#"{"type":"task_complete","turn_id":"t1","last_agent_message":null}"#);
    assert_eq!(view.turn_in_progress(), None);
}

#[test]
fn events_have_a_name_of_their_own_for_older_clients() {
    let check = |msg: &str, raw_items: RawItems| {
        let view = ThreadView::new("T").with_raw_items(raw_items);
        let event = Event { id: "t1".to_owned(), msg: serde_json::from_str(msg).unwrap() };
        serde_json::to_string(&view.untyped(&event)).unwrap()
    };
    let raw = r#"{"type":"raw_response_item","item":{"type":"other"}}"#;
    let lines = [
        check(r#"{"type":"agent_message","message":"\"x"}"#, RawItems::Hidden),
        check(r#"{"type":"shutdown_complete"}"#, RawItems::Hidden),
        check(raw, RawItems::Hidden),
        check(raw, RawItems::Shown),
        check(r#"{"type":"context_injection","account":{}}"#, RawItems::Shown),
    ];
    expect![[r#"
        {"method":"codex/event/agent_message","params":{"id":"t1","msg":{"type":"agent_message","message":"\"x"},"conversationId":"T"}}
        {"method":"codex/event/shutdown_complete","params":{"id":"t1","msg":{"type":"shutdown_complete"},"conversationId":"T"}}
        null
        {"method":"codex/event/raw_response_item","params":{"id":"t1","msg":{"type":"raw_response_item","item":{"type":"other"}},"conversationId":"T"}}
        null"#]].assert_eq(&lines.join("\n"));
}
