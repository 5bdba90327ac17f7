use serde_json::json;

use super::*;

/// A session file with these lines, without its content.
fn blanked(lines: &[Value]) -> Vec<String> {
    let session: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let texts = SessionTexts { session: session.clone(), ..SessionTexts::default() };
    let blank = texts.without_content();
    assert_eq!(blank.session.len(), session.len());
    blank.session.lines().map(str::to_owned).collect()
}

fn line(kind: &str, payload: &Value) -> Value {
    json!({ "timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload })
}

/// One line of every kind, with `zebra` wherever a text of a person, a model, a tool or a file can be.
fn lines() -> Vec<Value> {
    let item = |item: Value| line("response_item", &item);
    let message = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "zebra" }] });
    vec![
        line(
            "session_meta",
            &json!({
                "id": "019a0000-0000-7000-8000-000000000001", "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/zebra",
                "originator": "pellucid_exec", "cli_version": "0.1.0", "source": "exec", "model_provider": "openai",
                "base_instructions": { "text": "zebra" }, "dynamic_tools": [{ "name": "zebra", "zebra": 1 }],
                "git": { "commit_hash": "zebra", "branch": "zebra", "repository_url": "zebra" },
            }),
        ),
        line(
            "turn_context",
            &json!({
                "turn_id": "t", "cwd": "/zebra", "approval_policy": "on-request",
                "sandbox_policy": { "type": "workspace-write", "writable_roots": ["/zebra"], "network_access": true,
                    "exclude_tmpdir_env_var": true, "exclude_slash_tmp": true },
                "network": { "allowed_domains": ["zebra"], "denied_domains": ["zebra"] },
                "model": "gpt-5.1", "personality": "friendly",
                "collaboration_mode": { "mode": "plan", "settings": { "model": "gpt-5.1", "reasoning_effort": "high",
                    "developer_instructions": "zebra" } },
                "effort": "low", "summary": "detailed", "user_instructions": "zebra",
                "final_output_json_schema": { "type": "object", "properties": { "zebra": { "type": "string" } } },
                "truncation_policy": { "mode": "tokens", "limit": 10 },
            }),
        ),
        line("compacted", &json!({ "message": "zebra", "replacement_history": [message] })),
        item(message.clone()),
        item(json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_image", "image_url": "data:image/png;base64,zebra" }] })),
        item(json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "zebra" }],
            "content": [{ "type": "reasoning_text", "text": "zebra" }], "encrypted_content": "zebra" })),
        item(json!({ "type": "local_shell_call", "call_id": "c", "status": "completed", "action": { "type": "exec",
            "command": ["zebra"], "timeout_ms": 1, "working_directory": "/zebra", "env": { "zebra": "zebra" },
            "user": "zebra" } })),
        item(json!({ "type": "function_call", "name": "zebra", "call_id": "c",
            "arguments": "{\"zebra\":{\"b\":[\"zebra\",true]}}" })),
        item(json!({ "type": "function_call", "name": "zebra", "arguments": "{ zebra", "call_id": "c" })),
        item(json!({ "type": "function_call_output", "call_id": "c",
            "output": "{\"output\":\"zebra\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}" })),
        item(json!({ "type": "function_call_output", "call_id": "c",
            "output": [{ "type": "input_text", "text": "zebra" }] })),
        item(json!({ "type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "zebra" })),
        item(json!({ "type": "web_search_call", "status": "completed",
            "action": { "type": "search", "query": "zebra" } })),
        item(json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "h", "parent": null,
            "preexisting_untracked_files": ["zebra"], "preexisting_untracked_dirs": ["zebra"] } })),
        item(json!({ "type": "compaction", "encrypted_content": "zebra" })),
        line("event_msg", &json!({ "type": "agent_message", "message": "zebra" })),
        line(
            "event_msg",
            &json!({ "type": "user_message", "message": "zebra", "images": ["data:,zebra"],
            "local_images": ["/zebra"], "text_elements": [{ "placeholder": "zebra" }] }),
        ),
        line(
            "event_msg",
            &json!({ "type": "exec_command_end", "call_id": "c", "command": ["zebra"], "cwd": "/zebra",
            "parsed_cmd": [{ "type": "read", "cmd": "zebra", "name": "zebra", "path": "zebra" }], "stdout": "zebra" }),
        ),
        line(
            "event_msg",
            &json!({ "type": "patch_apply_end", "changes": { "/zebra": { "add": { "content": "zebra" } } } }),
        ),
        line("event_msg", &json!({ "type": "turn_aborted", "reason": "interrupted" })),
        line("event_msg", &json!({ "type": "error", "message": "zebra" })),
    ]
}

#[test]
fn every_kind_of_line_keeps_its_kind_and_length_and_loses_its_content() {
    let lines = lines();
    for (before, now) in lines.iter().zip(blanked(&lines)) {
        let before = before.to_string();
        assert!(!now.contains("zebra"), "{now}");
        assert_eq!(now.len(), before.len());
        assert_eq!(seal::kind(now.as_bytes()), seal::kind(before.as_bytes()));
        let is_record = |line: &str| matches!(read_line(line.as_bytes()), LineReading::Record(_));
        assert_eq!(is_record(&now), is_record(&before), "{now}");
    }
}

#[test]
fn names_of_the_programs_tools_stay_and_arguments_stay_json() {
    let now = blanked(&lines()).concat();
    assert!(now.contains("\"name\":\"apply_patch\""), "{now}");
    let call = |line: &String| line.contains("function_call\"") && line.contains("true");
    let line = blanked(&lines()).into_iter().find(call).unwrap();
    let value: Value = serde_json::from_str(&line).unwrap();
    let arguments: Value = serde_json::from_str(value["payload"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments.to_string().len(), "{\"zebra\":{\"b\":[\"zebra\",true]}}".len());
    assert!(now.contains("\\\"metadata\\\":{\\\"exit_code\\\":0,\\\"duration_seconds\\\":0."), "{now}");
}

#[test]
fn equal_texts_have_equal_filler_and_the_same_session_gives_the_same() {
    let session = format!("{}\n", line("event_msg", &json!({ "type": "agent_message", "message": "a zebra ran" })));
    let texts = SessionTexts { session: session.repeat(2), ..SessionTexts::default() };
    let blank = texts.without_content();
    let lines: Vec<&str> = blank.session.lines().collect();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(texts.without_content(), blank);
}

#[test]
fn lines_that_cannot_be_read_lose_their_text_and_keep_their_place() {
    let session = "{\"timestamp\":\"2026\",\"type\":\"event_msg\",\"payload\":{\"mess zebra\n".to_owned();
    let record = "{\"n\":0,\"timestamp\":\"zebra".to_owned();
    let blank =
        SessionTexts { session: session.clone(), record: record.clone(), parts: BTreeMap::new() }.without_content();
    assert_eq!((blank.session.len(), blank.record.len()), (session.len(), record.len()));
    assert!(!blank.session.contains("zebra") && !blank.record.contains("zebra"));
}

#[test]
fn a_long_text_has_the_digest_of_its_filler_and_the_chain_holds() {
    let opened = json!({ "n": 0, "timestamp": "t", "kind": "opened", "format": 2, "session": "s", "version": "1", "how": "new",
        "at": 0, "ids": "hidden", "truncation": { "mode": "bytes", "limit": 1 } });
    let text = "zebra ".repeat(300);
    let item =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }).to_string();
    let sha256 = chain::sha256(item.as_bytes());
    let noted = json!({ "n": 1, "timestamp": "t", "previous": "x", "kind": "noted", "at": 0,
        "item": { "sha256": sha256, "bytes": item.len() } });
    let parts = BTreeMap::from([(sha256.clone(), item.clone())]);
    let blank =
        SessionTexts { session: String::new(), record: format!("{opened}\n{noted}\n"), parts }.without_content();
    let (name, part) = blank.parts.first_key_value().unwrap();
    assert_eq!(
        (blank.parts.len(), name.as_str(), part.len()),
        (1, chain::sha256(part.as_bytes()).as_str(), item.len())
    );
    assert!(!part.contains("zebra") && !blank.record.contains(&sha256));
    let lines: Vec<&str> = blank.record.lines().collect();
    let second: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(
        (&second["previous"], &second["item"]["sha256"]),
        (&json!(chain::sha256(lines[0].as_bytes())), &json!(name))
    );
    assert_eq!(serde_json::from_str::<Value>(lines[0]).unwrap()["blanked"], CONTENT);
}
