//! Every item is read as a call or not, and every kind of call is answered in its own form.

use expect_test::Expect;
use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use super::*;

fn item(json: Value) -> Item {
    serde_json::from_value(json).unwrap()
}

/// A call of each payload with this name.
fn calls(name: &str) -> Vec<ToolCall> {
    let exec = json!({ "type": "exec", "command": ["ls"] });
    let items = [
        json!({ "type": "function_call", "name": name, "arguments": "{}", "call_id": "f" }),
        json!({ "type": "custom_tool_call", "name": name, "input": "i", "call_id": "c" }),
        json!({ "type": "local_shell_call", "status": "completed", "call_id": "l", "action": exec }),
    ];
    let call = |json: Value| match read(&item(json)) {
        CallReading::Call(call) => ToolCall { name: name.to_owned(), ..call },
        other => panic!("{other:?}"),
    };
    items.into_iter().map(call).collect()
}

#[track_caller]
fn check_read(json: Value, expected: &Expect) {
    expected.assert_eq(&match read(&item(json)) {
        CallReading::Call(call) => format!("{} {} {:?}", call.call_id, call.name, call.payload),
        CallReading::Unanswerable(item) => format!("unanswerable: {}", serde_json::to_string(&item).unwrap()),
        CallReading::NoCall => "no call".to_owned(),
    });
}

#[test]
fn calls_of_all_kinds_are_read() {
    check_read(
        json!({ "type": "function_call", "name": "shell", "arguments": "{ not json", "call_id": "c" }),
        &expect![[r#"c shell Function { arguments: "{ not json" }"#]],
    );
    check_read(
        json!({ "type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c" }),
        &expect![[r#"c apply_patch Custom { input: "*** Begin" }"#]],
    );
    let exec = json!({ "type": "exec", "command": ["ls"], "timeout_ms": 5 });
    let local = |rest: Value| {
        let mut json = json!({ "type": "local_shell_call", "status": "completed", "action": exec });
        json.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json
    };
    check_read(
        local(json!({ "call_id": "c", "id": "i" })),
        &expect![[
            r#"c local_shell LocalShell(Exec { command: ["ls"], timeout_ms: Some(5), working_directory: None, env: None, user: None })"#
        ]],
    );
    check_read(
        local(json!({ "id": "i" })),
        &expect![[
            r#"i local_shell LocalShell(Exec { command: ["ls"], timeout_ms: Some(5), working_directory: None, env: None, user: None })"#
        ]],
    );
    check_read(
        local(json!({})),
        &expect![[
            r#"unanswerable: {"type":"function_call_output","call_id":"","output":"LocalShellCall without call_id or id"}"#
        ]],
    );
}

#[test]
fn items_that_call_nothing_are_no_calls() {
    for json in [
        json!({ "type": "message", "role": "assistant", "content": [] }),
        json!({ "type": "reasoning", "summary": [] }),
        json!({ "type": "function_call_output", "call_id": "c", "output": "o" }),
        json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "o" }),
        json!({ "type": "web_search_call" }),
        json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "h" } }),
        json!({ "type": "compaction", "encrypted_content": "e" }),
        json!({ "type": "telepathy" }),
    ] {
        assert_eq!(read(&item(json.clone())), CallReading::NoCall, "{json}");
    }
}

#[test]
fn a_raw_call_is_answered_in_raw_text_and_others_in_parts() {
    let parts = || {
        ToolOutput::Parts(vec![
            ContentPart::InputText { text: "one".to_owned() },
            ContentPart::InputImage { image_url: "data:,".to_owned() },
            ContentPart::InputText { text: " \n".to_owned() },
            ContentPart::OutputText { text: "the model's".to_owned() },
            ContentPart::InputText { text: "two ".to_owned() },
        ])
    };
    let shown = |output: &dyn Fn() -> ToolOutput| -> Vec<String> {
        calls("t").iter().map(|call| serde_json::to_string(&answer(call, output())).unwrap()).collect()
    };
    let text = || ToolOutput::Text(" plain\n".to_owned());
    assert_eq!(
        shown(&text),
        [
            r#"{"type":"function_call_output","call_id":"f","output":" plain\n"}"#,
            r#"{"type":"custom_tool_call_output","call_id":"c","output":" plain\n"}"#,
            r#"{"type":"function_call_output","call_id":"l","output":" plain\n"}"#,
        ]
    );
    let whole = serde_json::to_string(&parts()).unwrap();
    assert_eq!(
        shown(&parts),
        [
            format!(r#"{{"type":"function_call_output","call_id":"f","output":{whole}}}"#),
            r#"{"type":"custom_tool_call_output","call_id":"c","output":"one\ntwo "}"#.to_owned(),
            format!(r#"{{"type":"function_call_output","call_id":"l","output":{whole}}}"#),
        ]
    );
}

#[test]
fn a_tool_that_is_not_there_is_named_in_the_words_of_its_call() {
    let said: Vec<String> = calls("fly").iter().map(unsupported).collect();
    assert_eq!(said, ["unsupported call: fly", "unsupported custom tool call: fly", "unsupported call: fly"]);
}

#[test]
fn an_interrupted_call_says_how_long_it_ran() {
    let said = |name: &str, millis: u64| aborted(&calls(name)[0], Duration::from_millis(millis));
    for name in ["shell", "container.exec", "local_shell", "shell_command", "unified_exec"] {
        assert_eq!(said(name, 1_250), "Wall time: 1.2 seconds\naborted by user", "{name}");
    }
    assert_eq!(said("mcp__docs__find", 61_000), "err: \"aborted by user after 61.0s\"");
    assert_eq!(said("apply_patch", 0), "aborted by user after 0.1s", "a moment is never nothing");
    assert_eq!(said("", 99), "aborted by user after 0.1s");
}
