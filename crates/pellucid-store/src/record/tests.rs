//! Every kind of line is written in one form and read back as it was, whatever another program wrote beside it.

use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use super::*;
use crate::read::LineReading;
use crate::read::read_line;

/// The largest and the smallest form of each kind of line.
fn records() -> Vec<Value> {
    let record = |kind: &str, payload: Value| json!({ "type": kind, "payload": payload });
    let item = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] });
    vec![
        record(
            "session_meta",
            json!({
                "id": "i", "forked_from_id": "f", "timestamp": "t", "cwd": "/w", "originator": "o", "cli_version": "1",
                "source": { "subagent": "review" }, "model_provider": "p", "base_instructions": { "text": "b" },
                "dynamic_tools": [{ "name": "t" }],
                "git": { "commit_hash": "c", "branch": "b", "repository_url": "u" },
            }),
        ),
        record(
            "session_meta",
            json!({
                "id": "", "timestamp": "", "cwd": "", "originator": "", "cli_version": "", "source": null,
                "model_provider": null, "base_instructions": null,
            }),
        ),
        record("response_item", item.clone()),
        record("compacted", json!({ "message": "", "replacement_history": [item] })),
        record("compacted", json!({ "message": "s" })),
        record(
            "turn_context",
            json!({
                "turn_id": "t", "cwd": "/w", "approval_policy": "on-request",
                "sandbox_policy": {
                    "type": "workspace-write", "writable_roots": ["/r"], "network_access": true,
                    "exclude_tmpdir_env_var": true, "exclude_slash_tmp": true,
                },
                "network": { "allowed_domains": ["a"], "denied_domains": ["d"] },
                "model": "m", "personality": "friendly",
                "collaboration_mode": { "mode": "plan", "settings": {
                    "model": "m", "reasoning_effort": "high", "developer_instructions": "d",
                } },
                "effort": "low", "summary": "detailed", "user_instructions": "u", "developer_instructions": "d",
                "final_output_json_schema": { "type": "object" },
                "truncation_policy": { "mode": "tokens", "limit": 10 },
            }),
        ),
        record(
            "turn_context",
            json!({
                "cwd": "", "approval_policy": "never", "sandbox_policy": { "type": "danger-full-access" }, "model": "",
                "summary": "none",
            }),
        ),
        record("event_msg", json!({ "type": "agent_message", "message": "x" })),
        record("event_msg", json!({ "type": "context_compacted" })),
    ]
}

/// One item of each type that conversations have.
fn items() -> Vec<Value> {
    vec![
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "x" }],
            "end_turn": true, "phase": "final_answer" }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_image", "image_url": "data:," }] }),
        json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "s" }],
            "content": [{ "type": "reasoning_text", "text": "r" }], "encrypted_content": "e" }),
        json!({ "type": "reasoning", "summary": [], "content": null, "encrypted_content": null }),
        json!({ "type": "local_shell_call", "call_id": "c", "status": "completed", "action": { "type": "exec",
            "command": ["ls"], "timeout_ms": 1, "working_directory": "/w", "env": { "A": "b" }, "user": "u" } }),
        json!({ "type": "function_call", "name": "shell", "arguments": "{ not json", "call_id": "c" }),
        json!({ "type": "function_call_output", "call_id": "c", "output": "o" }),
        json!({ "type": "function_call_output", "call_id": "c", "output": [{ "type": "input_text", "text": "o" }] }),
        json!({ "type": "custom_tool_call", "status": "completed", "call_id": "c", "name": "apply_patch", "input": "i" }),
        json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "o" }),
        json!({ "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "q" } }),
        json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "h", "parent": null,
            "preexisting_untracked_files": ["f"], "preexisting_untracked_dirs": [] } }),
        json!({ "type": "compaction", "encrypted_content": "e" }),
        json!({ "type": "other" }),
    ]
}

/// Whether a line is read and written again as it was.
#[track_caller]
fn check_same(json: &Value) {
    let line = serde_json::to_string(json).unwrap();
    let LineReading::Record(record) = read_line(line.as_bytes()) else { panic!("{line}") };
    assert_eq!(serde_json::to_string(&record).unwrap(), line);
}

#[test]
fn every_kind_of_line_is_written_as_it_is_read() {
    for record in records() {
        check_same(&record);
        let wrapped =
            json!({ "timestamp": "2026-01-02T03:04:05.678Z", "type": record["type"], "payload": record["payload"] });
        let line = serde_json::to_vec(&wrapped).unwrap();
        assert!(crate::read::split(&line).is_some(), "{wrapped}");
        let plain = serde_json::from_value::<Record>(record).unwrap();
        assert_eq!(read_line(&line), LineReading::Record(plain));
    }
    for item in items() {
        check_same(&json!({ "type": "response_item", "payload": item }));
    }
}

#[test]
fn a_line_of_a_newer_program_keeps_its_place() {
    let read =
        |payload: Value| read_line(json!({ "type": "response_item", "payload": payload }).to_string().as_bytes());
    assert_eq!(
        read(json!({ "type": "telepathy", "thought": 1 })),
        LineReading::Record(Record::ResponseItem(Item::Other))
    );
    let text = read(json!({ "type": "message", "role": "user", "content": [], "later": { "a": 1 } }));
    assert_eq!(text, LineReading::Record(Record::ResponseItem(Item::message("user", Vec::new()))));
}

#[track_caller]
fn check_reading(line: &str, expected: &Expect) {
    expected.assert_eq(match read_line(line.as_bytes()) {
        LineReading::Record(_) => "a record",
        LineReading::Passed => "passed over",
        LineReading::SetAside => "set aside",
    });
}

#[test]
fn every_event_of_the_format_is_no_damage_whatever_its_fields_are() {
    for name in OTHER_EVENTS {
        let line = json!({ "type": "event_msg", "payload": { "type": name, "odd": { "a": [1] } } }).to_string();
        assert_ne!(read_line(line.as_bytes()), LineReading::SetAside, "{name}");
    }
    check_reading(r#"{"type":"event_msg","payload":{"type":"error","message":7}}"#, &expect!["passed over"]);
    check_reading(r#"{"type":"event_msg","payload":{"type":"agent_message","message":7}}"#, &expect!["set aside"]);
    check_reading(r#"{"type":"event_msg","payload":{"type":"Error"}}"#, &expect!["set aside"]);
    check_reading(r#"{"type":"event_msg","payload":{}}"#, &expect!["set aside"]);
    check_reading(r#"{"type":"event_msg","payload":"error"}"#, &expect!["set aside"]);
}

#[test]
fn lines_of_other_shapes_are_set_aside() {
    let good = records();
    for record in &good {
        let line = record.to_string();
        for cut in 0..line.len() {
            if line.is_char_boundary(cut) {
                assert_eq!(read_line(&line.as_bytes()[..cut]), LineReading::SetAside, "{}", &line[..cut]);
            }
        }
        let payload = &record["payload"];
        // Fields that a line cannot do without.
        for key in ["id", "cwd", "message", "model", "role"] {
            if payload.get(key).is_some() {
                let mut odd = record.clone();
                odd["payload"][key] = json!({ "an": "object" });
                assert_eq!(read_line(odd.to_string().as_bytes()), LineReading::SetAside, "{odd}");
                odd["payload"].as_object_mut().unwrap().remove(key);
                assert_eq!(read_line(odd.to_string().as_bytes()), LineReading::SetAside, "{odd}");
            }
        }
    }
    for line in ["", "null", "[]", "{}", "7", "\"x\"", "{\"type\":\"compacted\"}", "{\"payload\":{}}", "\u{feff}{}"] {
        assert_eq!(read_line(line.as_bytes()), LineReading::SetAside, "{line}");
    }
    let deep =
        format!("{{\"type\":\"compacted\",\"payload\":{{\"message\":{}{}}}}}", "[".repeat(10_000), "]".repeat(10_000));
    check_reading(&deep, &expect!["set aside"]);
}
