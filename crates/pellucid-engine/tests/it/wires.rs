//! The other wires: the same prompt in the notation of Chat Completions and of Messages.

use std::collections::BTreeMap;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::why_text;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::DraftPart;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::item::Item;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::provider::DeveloperRole;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::seal::Seal;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::document;
use crate::facts;
use crate::pack;
use crate::requests::any_api;
use crate::requests::any_facts;
use crate::requests::any_text;
use crate::requests::body;
use crate::requests::session;
use crate::requests::wire;
use crate::transcripts::POLICY;

fn on(api: WireApi) -> WireSettings {
    WireSettings { wire: api, ..wire() }
}

/// One item on each line: a word, then what it needs.
fn item(line: &str) -> Item {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let value = match kind {
        "U" => return Item::text("user", rest),
        "A" => return Item::text("assistant", rest),
        "D" => return Item::text("developer", rest),
        "call" => {
            let (name, arguments) = text.split_once(' ').unwrap_or((text, "{}"));
            json!({ "type": "function_call", "name": name, "arguments": arguments, "call_id": id })
        }
        "out" => json!({ "type": "function_call_output", "call_id": id, "output": text }),
        "seen" => {
            let image = json!({ "type": "input_image", "image_url": text });
            let output = json!([{ "type": "input_text", "text": "one" }, { "type": "input_text", "text": " " }, image]);
            json!({ "type": "function_call_output", "call_id": id, "output": output })
        }
        "patch" => json!({ "type": "custom_tool_call", "name": "apply_patch", "input": text, "call_id": id }),
        "patched" => json!({ "type": "custom_tool_call_output", "call_id": id, "output": text }),
        "shell" => json!({
            "type": "local_shell_call", "call_id": (!id.is_empty()).then_some(id), "status": "completed",
            "action": { "type": "exec", "command": ["ls", "-l"] },
        }),
        "picture" => json!({
            "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "<image>" }, { "type": "input_image", "image_url": rest }],
        }),
        "think" => json!({
            "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": rest }],
        }),
        "signed" => json!({
            "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": Seal::Signature(id).to_text(),
        }),
        "hidden" => json!({ "type": "reasoning", "summary": [], "encrypted_content": Seal::Redacted(id).to_text() }),
        "sealed" => json!({ "type": "reasoning", "summary": [], "encrypted_content": rest }),
        "search" => json!({ "type": "web_search_call", "status": "completed" }),
        "ghost" => json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "x" } }),
        other => panic!("unknown line {other}"),
    };
    serde_json::from_value(value).unwrap()
}

/// A session of these items and nothing else. A line `---` is a request.
fn translated(wire: &WireSettings, fixture: &str) -> (Value, Report) {
    let frame = Frame::new(pack(), &facts(), &[Fragment::layout("Base.")], wire);
    let mut transcript = Transcript::new(ItemIds::Hidden, POLICY);
    for line in fixture.trim().lines().map(str::trim) {
        match line {
            "---" => drop(frame.request(&mut transcript)),
            line => transcript.record(&item(line), &Origin::Model),
        }
    }
    let body = frame.request(&mut transcript).body();
    let report = Report::new(&frame, transcript.rendered(), transcript.omissions().to_vec(), Vec::new());
    assert_eq!(report.bytes(), body.len(), "the report covers the body");
    (serde_json::from_slice(&body).unwrap(), report)
}

/// Checks the messages of a fixture, and what is left out.
#[track_caller]
fn check(wire: &WireSettings, fixture: &str, expected: &Expect) {
    let (body, report) = translated(wire, fixture);
    let mut text = String::new();
    for message in body["messages"].as_array().unwrap() {
        text += &format!("{message}\n");
    }
    for omission in &report.omissions {
        text += &format!("without {}: {}\n", omission.what, why_text(&omission.why));
    }
    expected.assert_eq(&text);
}

#[track_caller]
fn check_chat(fixture: &str, expected: &Expect) {
    check(&on(WireApi::Chat), fixture, expected);
}

#[track_caller]
fn check_messages(fixture: &str, expected: &Expect) {
    check(&on(WireApi::Messages), fixture, expected);
}

const TALK: &str = r#"
D Be "kind".
U Hello.
A Hi.
call c1 shell {"command":["ls"]}
call c2 update_plan
out c1 a b
out c2 Plan updated
A Done.
"#;

#[test]
fn a_talk_becomes_chat_messages() {
    check_chat(
        TALK,
        &expect![[r#"
        {"role":"system","content":"Base."}
        {"role":"developer","content":"Be \"kind\"."}
        {"role":"user","content":"Hello."}
        {"role":"assistant","content":"Hi."}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":[\"ls\"]}"}},{"id":"c2","type":"function","function":{"name":"update_plan","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"a b"}
        {"role":"tool","tool_call_id":"c2","content":"Plan updated"}
        {"role":"assistant","content":"Done."}
    "#]],
    );
}

#[test]
fn a_talk_becomes_alternating_messages() {
    check_messages(
        TALK,
        &expect![[r#"
        {"role":"user","content":[{"type":"text","text":"<developer>\nBe \"kind\".\n</developer>"},{"type":"text","text":"Hello."}]}
        {"role":"assistant","content":[{"type":"text","text":"Hi."},{"type":"tool_use","id":"c1","name":"shell","input":{"command":["ls"]}},{"type":"tool_use","id":"c2","name":"update_plan","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a b"},{"type":"tool_result","tool_use_id":"c2","content":"Plan updated"}]}
        {"role":"assistant","content":[{"type":"text","text":"Done.","cache_control":{"type":"ephemeral"}}]}
    "#]],
    );
}

const ODD: &str = r#"
U Go.
patch p1 *** Begin "Patch"
patched p1 ok
shell s1
out s1 done
shell
call a/b container.exec {"x": [1, 2]}
out a/b fine
call c3 f not json
call c4 f  
call c5 f [1]
out c3 x
out c4 
out c5 y
"#;

#[test]
fn every_kind_of_call_becomes_a_function() {
    check_chat(
        ODD,
        &expect![[r#"
        {"role":"system","content":"Base."}
        {"role":"user","content":"Go."}
        {"role":"assistant","content":null,"tool_calls":[{"id":"p1","type":"function","function":{"name":"apply_patch","arguments":"{\"input\":\"*** Begin \\\"Patch\\\"\"}"}}]}
        {"role":"tool","tool_call_id":"p1","content":"ok"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"s1","type":"function","function":{"name":"local_shell","arguments":"{\"type\":\"exec\",\"command\":[\"ls\",\"-l\"],\"timeout_ms\":null,\"working_directory\":null,\"env\":null,\"user\":null}"}}]}
        {"role":"tool","tool_call_id":"s1","content":"done"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"a/b","type":"function","function":{"name":"container_exec","arguments":"{\"x\": [1, 2]}"}}]}
        {"role":"tool","tool_call_id":"a/b","content":"fine"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"f","arguments":"not json"}},{"id":"c4","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c5","type":"function","function":{"name":"f","arguments":"[1]"}}]}
        {"role":"tool","tool_call_id":"c3","content":"x"}
        {"role":"tool","tool_call_id":"c4","content":""}
        {"role":"tool","tool_call_id":"c5","content":"y"}
        without local_shell_call: the API format `chat` cannot express it
    "#]],
    );
    check_messages(
        ODD,
        &expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Go."}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"p1","name":"apply_patch","input":{"input":"*** Begin \"Patch\""}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"p1","content":"ok"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"s1","name":"local_shell","input":{"type":"exec","command":["ls","-l"],"timeout_ms":null,"working_directory":null,"env":null,"user":null}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"s1","content":"done"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"a_b","name":"container_exec","input":{"x":[1,2]}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a_b","content":"fine"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"f","input":{"arguments":"not json"}},{"type":"tool_use","id":"c4","name":"f","input":{}},{"type":"tool_use","id":"c5","name":"f","input":{"arguments":"[1]"}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"x"},{"type":"tool_result","tool_use_id":"c4","content":""},{"type":"tool_result","tool_use_id":"c5","content":"y","cache_control":{"type":"ephemeral"}}]}
        without local_shell_call: the API format `messages` cannot express it
    "#]],
    );
}

const TANGLED: &str = r"
U Go.
call c1 f
U Wait!
A Hm.
call c2 f
out c1 one
out c1 again
call c3 f
out c2 two
";

#[test]
fn outputs_follow_their_calls() {
    check_chat(
        TANGLED,
        &expect![[r#"
        {"role":"system","content":"Base."}
        {"role":"user","content":"Go."}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c1","content":"one"}
        {"role":"user","content":"Wait!"}
        {"role":"assistant","content":"Hm."}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c2","content":"two"}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"f","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c3","content":"aborted"}
        without function_call_output: it answers no call
    "#]],
    );
    check_messages(
        TANGLED,
        &expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Go."}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"text","text":"Wait!"}]}
        {"role":"assistant","content":[{"type":"text","text":"Hm."},{"type":"tool_use","id":"c2","name":"f","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"two"}]}
        {"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"f","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"aborted","cache_control":{"type":"ephemeral"}}]}
        without function_call_output: it answers no call
    "#]],
    );
}

const THOUGHTS: &str = r#"
U Go.
think First "this".
A I look.
think Then
think  that.
call c1 f
think And more.
call c2 f
out c1 one
out c2 two
sealed gAAA
signed SIG Claude's thought.
hidden DATA
A Done.
think Nothing came of it.
search
ghost
U Thanks.
"#;

#[test]
fn thoughts_go_where_the_wire_takes_them() {
    check_chat(
        THOUGHTS,
        &expect![[r#"
            {"role":"system","content":"Base."}
            {"role":"user","content":"Go."}
            {"role":"assistant","reasoning":"First \"this\".","content":"I look."}
            {"role":"assistant","reasoning":"Then that.\nAnd more.","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]}
            {"role":"tool","tool_call_id":"c1","content":"one"}
            {"role":"tool","tool_call_id":"c2","content":"two"}
            {"role":"assistant","content":"Done."}
            {"role":"user","content":"Thanks."}
            without reasoning: only the API format that signed it can read it
            without reasoning: only the API format that signed it can read it
            without reasoning: the API format `chat` cannot express reasoning without plain text
            without web_search_call: the API format `chat` cannot express it
            without reasoning: it led to no answer and no call
        "#]],
    );
    check_messages(
        THOUGHTS,
        &expect![[r#"
        {"role":"user","content":[{"type":"text","text":"Go."}]}
        {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"f","input":{}},{"type":"tool_use","id":"c2","name":"f","input":{}}]}
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":"two"}]}
        {"role":"assistant","content":[{"type":"thinking","thinking":"Claude's thought.","signature":"SIG"},{"type":"redacted_thinking","data":"DATA"},{"type":"text","text":"Done."}]}
        {"role":"user","content":[{"type":"text","text":"Thanks.","cache_control":{"type":"ephemeral"}}]}
        without reasoning: the API format `messages` accepts only reasoning that it signed
        without reasoning: the API format `messages` accepts only reasoning that it signed
        without reasoning: the API format `messages` accepts only reasoning that it signed
        without reasoning: the API format `messages` accepts only reasoning that it signed
        without reasoning: the API format `messages` accepts only reasoning that it signed
        without reasoning: the API format `messages` accepts only reasoning that it signed
        without web_search_call: the API format `messages` cannot express it
    "#]],
    );
    let (_, report) = translated(&on(WireApi::Responses), THOUGHTS);
    let left_out: Vec<String> = report.omissions.iter().map(|omission| why_text(&omission.why)).collect();
    assert_eq!(left_out, ["only the API format that signed it can read it"; 2]);
}

const IMAGE_TYPES: &str = r"
picture data:image/png;base64,AAAA
picture https://box/a.png
picture data:image/tiff;base64,AAAA
call c1 view
seen c1 data:image/webp;base64,BBBB
";

#[test]
fn images_are_shown_in_the_wires_own_way() {
    check_chat(
        IMAGE_TYPES,
        &expect![[r#"
        {"role":"system","content":"Base."}
        {"role":"user","content":[{"type":"text","text":"<image>"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
        {"role":"user","content":[{"type":"text","text":"<image>"},{"type":"image_url","image_url":{"url":"https://box/a.png"}}]}
        {"role":"user","content":[{"type":"text","text":"<image>"},{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"view","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"one"},{"type":"text","text":" "},{"type":"image_url","image_url":{"url":"data:image/webp;base64,BBBB"}}]}
    "#]],
    );
    check_messages(
        IMAGE_TYPES,
        &expect![[r#"
            {"role":"user","content":[{"type":"text","text":"<image>"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"<image>"},{"type":"image","source":{"type":"url","url":"https://box/a.png"}},{"type":"text","text":"<image>"},{"type":"text","text":"image content omitted because you do not support image input"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"view","input":{}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"BBBB"}}],"cache_control":{"type":"ephemeral"}}]}
            without message: images of a type that the API format `messages` does not accept: 1
        "#]],
    );
}

#[test]
fn blank_texts_and_repetitions_are_left_out() {
    let fixture = "U  \nA Same.\nU Again.\nA Same.\nA \nU x";
    check_chat(
        fixture,
        &expect![[r#"
        {"role":"system","content":"Base."}
        {"role":"user","content":""}
        {"role":"assistant","content":"Same."}
        {"role":"user","content":"Again."}
        {"role":"assistant","content":""}
        {"role":"user","content":"x"}
        without message: it repeats the answer before
    "#]],
    );
    check_messages(
        fixture,
        &expect![[r#"
        {"role":"assistant","content":[{"type":"text","text":"Same."}]}
        {"role":"user","content":[{"type":"text","text":"Again."}]}
        {"role":"assistant","content":[{"type":"text","text":"Same."}]}
        {"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}
        without message: it is blank
        without message: it is blank
    "#]],
    );
}

#[test]
fn the_developer_can_take_another_role() {
    let fixture = "D Be kind.\nU Hello.";
    for (role, expected) in [
        (
            DeveloperRole::System,
            expect![[r#"
            {"role":"system","content":"Base."}
            {"role":"system","content":"Be kind."}
            {"role":"user","content":"Hello."}
        "#]],
        ),
        (
            DeveloperRole::User,
            expect![[r#"
            {"role":"system","content":"Base."}
            {"role":"user","content":"<developer>\nBe kind.\n</developer>"}
            {"role":"user","content":"Hello."}
        "#]],
        ),
    ] {
        check(&WireSettings { developer: role, ..on(WireApi::Chat) }, fixture, &expected);
    }
}

/// Checks a body without its long parts.
#[track_caller]
fn check_settings(api: WireApi, change: impl FnOnce(&mut Facts, &mut WireSettings), expected: &Expect) {
    let (mut facts, mut wire) = (facts(), on(api));
    change(&mut facts, &mut wire);
    let mut session = session(&facts, &wire, "hello");
    let body = body(&mut session);
    let mut value: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(serde_json::to_vec(&value).unwrap(), body, "the body is compact JSON");
    if let Some(tools) = value["tools"].as_array() {
        let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap().to_owned();
        value["tools"] = tools.iter().map(name).collect::<Vec<_>>().join(" ").into();
    }
    if let Some(text) = value.pointer_mut("/system/0/text") {
        *text = "…".into();
    }
    value["messages"] = value["messages"].as_array().unwrap().len().into();
    let mut text = format!("{value}\n");
    for omission in session.frame.omissions() {
        text += &format!("without {} {}: {}\n", omission.slot, omission.what, why_text(&omission.why));
    }
    expected.assert_eq(&text);
}

#[test]
fn settings_of_a_chat_request() {
    check_settings(
        WireApi::Chat,
        |_, _| {},
        &expect![[r#"
            {"model":"gpt-5.2-codex","messages":4,"stream":true,"stream_options":{"include_usage":true},"tools":"exec_command write_stdin update_plan request_user_input apply_patch view_image","parallel_tool_calls":true,"reasoning_effort":"medium"}
            without tools web_search: the API format `chat` has no tools of this kind
        "#]],
    );
    check_settings(
        WireApi::Chat,
        |facts, wire| {
            facts.settings.effort = Some(ReasoningEffort::Low);
            facts.settings.model.supports_parallel_tool_calls = false;
            facts.settings.model.shell_type = ShellType::Local;
            facts.settings.features.set(Feature::UnifiedExec, false);
            facts.settings.features.set(Feature::JsRepl, true);
            wire.output_schema = Some(json!({ "type": "object", "b": 1, "a": 2 }));
        },
        &expect![[r#"
            {"model":"gpt-5.2-codex","messages":5,"stream":true,"stream_options":{"include_usage":true},"tools":"update_plan js_repl_reset request_user_input apply_patch view_image","reasoning_effort":"low","response_format":{"type":"json_schema","json_schema":{"name":"codex_output_schema","strict":true,"schema":{"type":"object","b":1,"a":2}}}}
            without tools local_shell: the API format `chat` has no tools of this kind
            without tools js_repl: the API format `chat` has no tools of this kind
            without tools web_search: the API format `chat` has no tools of this kind
        "#]],
    );
}

#[test]
fn settings_of_a_messages_request() {
    check_settings(
        WireApi::Messages,
        |facts, _| {
            facts.settings.model.slug = "claude-sonnet-4-5".to_owned();
            facts.settings.model.supports_reasoning_summaries = false;
        },
        &expect![[r#"
            {"model":"claude-sonnet-4-5","max_tokens":32000,"stream":true,"tools":"exec_command write_stdin update_plan request_user_input apply_patch view_image","system":[{"type":"text","text":"…","cache_control":{"type":"ephemeral"}}],"messages":1}
            without tools web_search: the API format `messages` has no tools of this kind
        "#]],
    );
    check_settings(
        WireApi::Messages,
        |facts, wire| {
            facts.settings.effort = Some(ReasoningEffort::Minimal);
            facts.settings.summary = ReasoningSummary::None;
            wire.output_tokens_max = Some(9000);
            wire.output_schema = Some(json!({ "type": "object" }));
        },
        &expect![[r#"
            {"model":"gpt-5.2-codex","max_tokens":9000,"stream":true,"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}},"tools":"exec_command write_stdin update_plan request_user_input apply_patch view_image","system":[{"type":"text","text":"…","cache_control":{"type":"ephemeral"}}],"messages":1}
            without tools web_search: the API format `messages` has no tools of this kind
        "#]],
    );
    check_settings(
        WireApi::Messages,
        |facts, _| {
            facts.settings.effort = Some(ReasoningEffort::None);
            facts.settings.model.context_window = Some(8000);
        },
        &expect![[r#"
            {"model":"gpt-5.2-codex","max_tokens":4096,"stream":true,"thinking":{"type":"disabled"},"tools":"exec_command write_stdin update_plan request_user_input apply_patch view_image","system":[{"type":"text","text":"…","cache_control":{"type":"ephemeral"}}],"messages":1}
            without tools web_search: the API format `messages` has no tools of this kind
        "#]],
    );
}

#[track_caller]
fn check_tool(api: WireApi, expected: &Expect) {
    let body: Value = serde_json::from_slice(&body(&mut session(&facts(), &on(api), "x"))).unwrap();
    let tools = body["tools"].as_array().unwrap();
    let mut tool = tools.last().unwrap().clone();
    let described = if api == WireApi::Chat { &mut tool["function"] } else { &mut tool };
    described["description"] = "…".into();
    expected.assert_eq(&tool.to_string());
}

#[test]
fn tools_are_in_the_wires_own_notation() {
    check_tool(
        WireApi::Chat,
        &expect![[
            r#"{"type":"function","function":{"name":"view_image","description":"…","strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string","description":"The path of the image file."}},"required":["path"],"additionalProperties":false}}}"#
        ]],
    );
    check_tool(
        WireApi::Messages,
        &expect![[
            r#"{"name":"view_image","description":"…","input_schema":{"type":"object","properties":{"path":{"type":"string","description":"The path of the image file."}},"required":["path"],"additionalProperties":false},"cache_control":{"type":"ephemeral"}}"#
        ]],
    );
}

#[test]
fn a_summary_is_asked_for_without_calls() {
    let frame = |api| Frame::for_summary(pack(), &facts(), &[Fragment::layout("Base.")], &on(api));
    let body = |api| -> Value {
        let mut transcript = Transcript::new(ItemIds::Hidden, POLICY);
        transcript.record(&item("U Sum up."), &Origin::User);
        serde_json::from_slice(&frame(api).request(&mut transcript).body()).unwrap()
    };
    assert_eq!(body(WireApi::Chat).get("tools"), None);
    let messages = body(WireApi::Messages);
    assert_eq!(messages["tool_choice"], json!({ "type": "none" }));
    assert!(!messages["tools"].as_array().unwrap().is_empty(), "what is cached begins with them");
}

/// The raw bytes that each origin contributes to a request.
fn contributions(facts: &Facts, api: WireApi, image: &str) -> BTreeMap<String, usize> {
    let mut session = session(facts, &on(api), "Say \"hé\".");
    let parts = vec![DraftPart::Text(vec![Fragment::layout("see"), Fragment::provided("flag", "this")])];
    session.transcript.record_draft(&Draft { part: "extra".into(), role: "user", parts });
    let image = DraftPart::Image(Fragment { origin: Origin::User, text: image.to_owned() });
    session.transcript.record_draft(&Draft { part: "picture".into(), role: "user", parts: vec![image] });
    body(&mut session);
    let report = Report::new(&session.frame, session.transcript.rendered(), Vec::new(), Vec::new());
    let mut sums = BTreeMap::new();
    for row in &report.rows {
        if row.origin != Origin::Wire && !row.part.starts_with("tools") && &*row.part != "settings" {
            *sums.entry(format!("{} {:?}", row.part, row.origin)).or_default() += row.raw_bytes;
        }
    }
    sums
}

#[test]
fn origins_survive_the_translation() {
    let mut facts = facts();
    facts.world.home_document = Some(document("/home/ada/AGENTS.md", "Answer \"briefly\".\n"));
    facts.world.project_documents = vec![document("/p/AGENTS.md", "Use tabs.\u{1}"), document("/p/q/AGENTS.md", "é")];
    let image = "https://box/a.png";
    let responses = contributions(&facts, WireApi::Responses, image);
    assert!(responses.keys().any(|key| key.contains("/p/q/AGENTS.md")));
    assert_eq!(contributions(&facts, WireApi::Chat, image), responses);
    assert_eq!(contributions(&facts, WireApi::Messages, image), responses);
}

#[test]
fn what_was_sent_is_shared_not_written_again() {
    for api in [WireApi::Chat, WireApi::Messages] {
        let mut session = session(&facts(), &on(api), "hello");
        let first = session.frame.request(&mut session.transcript);
        session.transcript.record(&item("A Hi."), &Origin::Model);
        let second = session.frame.request(&mut session.transcript);
        assert_eq!(first.segments[0].as_ptr(), second.segments[0].as_ptr(), "what stands before the items");
        assert_eq!(first.segments[1].as_ptr(), second.segments[1].as_ptr(), "the items that were there");
    }
}

fn any_line() -> impl Strategy<Value = String> {
    let id = || prop_oneof![Just("a"), Just("b"), Just("c/d"), Just("e")];
    prop_oneof![
        any_text().prop_map(|text| format!("U {text}")),
        any_text().prop_map(|text| format!("A {text}")),
        any_text().prop_map(|text| format!("D {text}")),
        (id(), any_text()).prop_map(|(id, text)| format!("call {id} shell {text}")),
        (id(), any_text()).prop_map(|(id, text)| format!("out {id} {text}")),
        (id(), any_text()).prop_map(|(id, text)| format!("patch {id} {text}")),
        (id(), any_text()).prop_map(|(id, text)| format!("patched {id} {text}")),
        id().prop_map(|id| format!("seen {id} data:image/png;base64,AA")),
        any_text().prop_map(|text| format!("think {text}")),
        any_text().prop_map(|text| format!("signed S {text}")),
        Just("sealed x".to_owned()),
        Just("hidden H".to_owned()),
        Just("shell a".to_owned()),
        Just("shell".to_owned()),
        Just("picture data:image/gif;base64,AA".to_owned()),
        Just("picture nowhere".to_owned()),
        Just("search".to_owned()),
        Just("ghost".to_owned()),
    ]
}

/// What servers of the wire insist on.
fn check_chat_rules(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "system");
    let mut awaited: Vec<&Value> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            assert!(message["content"].is_string() || message["content"].is_array());
            assert_eq!(awaited.first(), Some(&&message["tool_call_id"]), "outputs follow their calls in order");
            awaited.remove(0);
            continue;
        }
        assert!(awaited.is_empty(), "every call is answered before anything else is said");
        match message["tool_calls"].as_array() {
            Some(calls) => {
                assert!(!calls.is_empty() && message["content"].is_null());
                for call in calls {
                    assert_eq!(call["type"], "function");
                    assert!(call["function"]["arguments"].is_string());
                    awaited.push(&call["id"]);
                }
            }
            None => assert!(message["content"].is_string() || message["content"].is_array()),
        }
    }
    assert!(awaited.is_empty());
}

fn check_messages_rules(body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    let mut asked: Vec<&Value> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap();
        assert!(n == 0 || messages[n - 1]["role"] != message["role"], "roles alternate");
        let blocks = message["content"].as_array().unwrap();
        assert!(!blocks.is_empty());
        let of = |kind: &str| blocks.iter().filter(|block| block["type"] == kind).collect::<Vec<_>>();
        let results: Vec<&Value> = of("tool_result").iter().map(|block| &block["tool_use_id"]).collect();
        assert_eq!(results, std::mem::take(&mut asked), "the next message answers every call");
        assert!(blocks[..results.len()].iter().all(|block| block["type"] == "tool_result"), "answers come first");
        asked = of("tool_use").iter().map(|block| &block["id"]).collect();
        for block in blocks {
            let is_said = matches!(block["type"].as_str().unwrap(), "tool_use" | "thinking" | "redacted_thinking");
            assert!(!is_said || role == "assistant");
            assert!(block["type"] != "tool_use" || block["input"].is_object());
            assert!(block["type"] != "text" || !block["text"].as_str().unwrap().trim().is_empty());
        }
        let is_marked = |block: &Value| block.get("cache_control").is_some();
        let earlier = if n + 1 == messages.len() { &blocks[..blocks.len() - 1] } else { &blocks[..] };
        assert!(!earlier.iter().any(is_marked), "only the newest block is marked");
    }
    assert!(asked.is_empty());
    assert!(body.to_string().matches("\"cache_control\":").count() <= 4);
}

proptest! {
    #[test]
    fn servers_take_whatever_is_recorded(
        lines in prop::collection::vec((any_line(), any::<bool>()), 0..24),
    ) {
        for api in [WireApi::Chat, WireApi::Messages] {
            let wire = on(api);
            let frame = Frame::new(pack(), &facts(), &[Fragment::layout("Base.")], &wire);
            let mut transcript = Transcript::new(ItemIds::Hidden, POLICY);
            transcript.record(&item("U Go."), &Origin::User);
            for (line, is_sent) in &lines {
                transcript.record(&item(line), &Origin::Model);
                if *is_sent {
                    frame.request(&mut transcript);
                }
            }
            let bytes = frame.request(&mut transcript).body();
            let report = Report::new(&frame, transcript.rendered(), Vec::new(), Vec::new());
            prop_assert_eq!(report.bytes(), bytes.len());
            let body: Value = serde_json::from_slice(&bytes).unwrap();
            match api {
                WireApi::Chat => check_chat_rules(body["messages"].as_array().unwrap()),
                _ => check_messages_rules(&body),
            }
        }
    }

    #[test]
    fn every_wire_shows_the_same_texts(facts in any_facts(), text in any_text(), api in any_api()) {
        let instructions = assemble(pack(), &facts).instructions;
        let frame = Frame::new(pack(), &facts, &instructions, &on(api));
        let mut transcript = Transcript::new(ItemIds::Hidden, POLICY);
        let text = format!("x{text}");
        transcript.record(&Item::text("user", text.as_str()), &Origin::User);
        let body: Value = serde_json::from_slice(&frame.request(&mut transcript).body()).unwrap();
        let said = match api {
            WireApi::Responses => &body["input"][0]["content"][0]["text"],
            WireApi::Chat => &body["messages"][1]["content"],
            WireApi::Messages => &body["messages"][0]["content"][0]["text"],
        };
        prop_assert_eq!(said.as_str(), Some(text.as_str()));
    }
}
