//! Items: what comes in, and what goes back out.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::item::Item;

/// Reads an item, writes it, and checks that what was written reads as the same.
#[track_caller]
fn check_item(incoming: &str, expected: &Expect) {
    let item: Item = serde_json::from_str(incoming).unwrap();
    let written = serde_json::to_string(&item).unwrap();
    expected.assert_eq(&written);
    let again: Item = serde_json::from_str(&written).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), written);
}

#[track_caller]
fn check_same(json: &str) {
    let item: Item = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&item).unwrap(), json);
}

#[test]
fn messages_hide_ids_and_echo_phase() {
    check_item(
        r#"{"id":"msg_1","status":"completed","role":"assistant","type":"message","content":[{"text":"hi","type":"output_text","annotations":[]}]}"#,
        &expect![[r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}"#]],
    );
    check_same(r#"{"type":"message","role":"assistant","content":[],"end_turn":true,"phase":"final_answer"}"#);
    check_same(
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"é\n"},{"type":"input_image","image_url":"data:x"}]}"#,
    );
}

#[test]
fn reasoning_content_is_null_whole_or_left_out() {
    check_item(
        r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}"#,
        &expect![[
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":null,"encrypted_content":"e"}"#
        ]],
    );
    check_same(
        r#"{"type":"reasoning","summary":[],"content":[{"type":"text","text":"b"},{"type":"reasoning_text","text":"a"}],"encrypted_content":null}"#,
    );
    for content in [r#"[{"type":"text","text":"b"}]"#, "[]"] {
        let item: Item =
            serde_json::from_str(&format!(r#"{{"type":"reasoning","summary":[],"content":{content}}}"#)).unwrap();
        expect![[r#"{"type":"reasoning","summary":[],"encrypted_content":null}"#]]
            .assert_eq(&serde_json::to_string(&item).unwrap());
    }
}

#[test]
fn local_shell_calls_write_every_key() {
    check_item(
        r#"{"type":"local_shell_call","id":"ls_9","call_id":"c7","status":"completed","action":{"type":"exec","command":["ls"]}}"#,
        &expect![[
            r#"{"type":"local_shell_call","call_id":"c7","status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":null,"working_directory":null,"env":null,"user":null}}"#
        ]],
    );
    check_item(
        r#"{"type":"local_shell_call","status":"in_progress","action":{"type":"exec","command":[],"env":{"b":"2","a":"1"},"timeout_ms":5}}"#,
        &expect![[
            r#"{"type":"local_shell_call","call_id":null,"status":"in_progress","action":{"type":"exec","command":[],"timeout_ms":5,"working_directory":null,"env":{"a":"1","b":"2"},"user":null}}"#
        ]],
    );
}

#[test]
fn calls_keep_their_raw_text_and_outputs_their_form() {
    check_item(
        r#"{"type":"function_call","id":"fc_1","call_id":"c1","name":"shell","arguments":"{ \"a\":1 }"}"#,
        &expect![[r#"{"type":"function_call","name":"shell","arguments":"{ \"a\":1 }","call_id":"c1"}"#]],
    );
    check_same(r#"{"type":"function_call_output","call_id":"c1","output":"text"}"#);
    check_same(
        r#"{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"u"}]}"#,
    );
    check_same(r#"{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin"}"#);
    check_same(r#"{"type":"custom_tool_call","status":"completed","call_id":"c2","name":"apply_patch","input":""}"#);
    check_same(r#"{"type":"custom_tool_call_output","call_id":"c2","output":"done"}"#);
}

#[test]
fn searches_keep_what_is_known_of_them() {
    check_same(
        r#"{"type":"web_search_call","status":"completed","action":{"type":"search","query":"a","queries":["a","b"]}}"#,
    );
    check_same(r#"{"type":"web_search_call","action":{"type":"open_page","url":"u"}}"#);
    check_same(r#"{"type":"web_search_call","action":{"type":"find_in_page","url":"u","pattern":"p"}}"#);
    check_item(
        r#"{"type":"web_search_call","id":"ws_1","action":{"type":"dance","steps":3}}"#,
        &expect![[r#"{"type":"web_search_call","action":{"type":"other"}}"#]],
    );
}

#[test]
fn the_rest_round_trips() {
    check_same(
        r#"{"type":"ghost_snapshot","ghost_commit":{"id":"abc","parent":null,"preexisting_untracked_files":["f"],"preexisting_untracked_dirs":[]}}"#,
    );
    check_item(
        r#"{"type":"compaction_summary","encrypted_content":"x"}"#,
        &expect![[r#"{"type":"compaction","encrypted_content":"x"}"#]],
    );
    check_item(r#"{"type":"hologram","depth":3}"#, &expect![[r#"{"type":"other"}"#]]);
}

#[test]
fn an_item_without_what_it_needs_is_no_item() {
    for broken in [
        r#"{"type":"function_call","name":"x","arguments":"{}"}"#,
        r#"{"type":"message","role":"user"}"#,
        r#"{"role":"user","content":[]}"#,
    ] {
        assert!(serde_json::from_str::<Item>(broken).is_err(), "{broken}");
    }
}
