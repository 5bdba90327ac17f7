//! The transcript: what a request shows of what was recorded.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::fragment::Origin;
use pellucid_engine::transcript::ExecOutputs;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::ReasoningCounted;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::ShownImages;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use proptest::prelude::*;

pub const POLICY: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Tokens, limit: 10_000 };

/// A conversation without items.
pub fn empty() -> Transcript {
    Transcript::new(ItemIds::Hidden, POLICY)
}

/// One item on each line, shortened: `U text`, `A text`, `D text`, `call ID NAME`, `out ID TEXT`,
/// `custom ID NAME`, `cout ID TEXT`, `shell ID`, `image`, `ghost`, `think`.
pub fn transcript(fixture: &str) -> Transcript {
    let mut transcript = empty();
    for line in fixture.trim().lines() {
        transcript.record(&item(line.trim()), &Origin::Model);
    }
    transcript
}

pub fn item(line: &str) -> Item {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let json = match kind {
        "U" => return Item::text("user", rest),
        "A" => return Item::text("assistant", rest),
        "D" => return Item::text("developer", rest),
        "call" => serde_json::json!({ "type": "function_call", "name": text, "arguments": "{}", "call_id": id }),
        "out" => serde_json::json!({ "type": "function_call_output", "call_id": id, "output": text }),
        "custom" => serde_json::json!({ "type": "custom_tool_call", "name": text, "input": "", "call_id": id }),
        "cout" => serde_json::json!({ "type": "custom_tool_call_output", "call_id": id, "output": text }),
        "shell" => {
            serde_json::json!({ "type": "local_shell_call", "call_id": (!id.is_empty()).then_some(id), "status": "completed", "action": { "type": "exec", "command": ["ls"] } })
        }
        "picture" => {
            serde_json::json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "<image>" }, { "type": "input_image", "image_url": "u" }, { "type": "input_text", "text": "</image>" }] })
        }
        "ghost" => serde_json::json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "x" } }),
        "think" => serde_json::json!({ "type": "reasoning", "summary": [], "encrypted_content": "x".repeat(1200) }),
        other => panic!("unknown line {other}"),
    };
    serde_json::from_value(json).unwrap()
}

pub fn shown(transcript: &mut Transcript, view: View) -> Vec<serde_json::Value> {
    let mut bytes = transcript.view(view).concat();
    bytes.extend_from_slice(transcript.closing().as_bytes());
    // The system message comes before the messages of Chat Completions.
    let open = if view.wire == WireApi::Chat { "[0" } else { "[" };
    let whole = [open.as_bytes(), &bytes, b"]"].concat();
    let len = |row: &Rendered| row.lead + row.spans.iter().map(|span| span.len).sum::<usize>() + row.trail;
    assert_eq!(transcript.rendered().iter().map(len).sum::<usize>(), bytes.len(), "every byte has an origin");
    serde_json::from_slice(&whole).unwrap()
}

pub fn line(value: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").replace('\n', "⏎");
    match value["type"].as_str().unwrap() {
        "message" => {
            let parts = value["content"].as_array().unwrap().iter();
            let parts = parts.map(|part| text(part.get("text").unwrap_or(&part["image_url"]))).collect::<Vec<_>>();
            format!("{} {}", text(&value["role"]), parts.join("|"))
        }
        kind if kind.ends_with("output") => format!("{kind} {} {}", text(&value["call_id"]), text(&value["output"])),
        kind => format!("{kind} {}", text(&value["call_id"])),
    }
}

#[track_caller]
fn check_shown(fixture: &str, view: View, expected: &Expect) {
    let lines: Vec<String> = shown(&mut transcript(fixture), view).iter().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn calls_without_an_output_get_one_and_outputs_without_a_call_go() {
    check_shown(
        "
        out early nobody asked
        call a x
        call b x
        custom c apply_patch
        out c wrong kind
        shell d
        shell
        out b ok
        cout zz nobody asked
        ghost
        ",
        View::default(),
        &expect![[r#"
            function_call a
            function_call_output a aborted
            function_call b
            custom_tool_call c
            custom_tool_call_output c aborted
            local_shell_call d
            function_call_output d aborted
            local_shell_call -
            function_call_output b ok"#]],
    );
}

#[test]
fn images_become_a_sentence_for_models_that_cannot_see() {
    check_shown(
        "picture",
        View { images: ShownImages::Replaced, ..View::default() },
        &expect!["user <image>|image content omitted because you do not support image input|</image>"],
    );
    check_shown("picture", View::default(), &expect!["user <image>|u|</image>"]);
}

#[test]
fn structured_outputs_become_text_only_for_tools_that_give_them() {
    let output = r#"{"output":"hi","metadata":{"exit_code":0,"duration_seconds":1.5}}"#;
    let fixture = format!(
        "
        call a shell
        out a {output}
        call b shell_command
        out b {output}
        custom c apply_patch
        cout c {output}
        call d apply_patch
        out d {{\"output\":\"cut…7 chars
        shell e
        out e {output}
        "
    );
    check_shown(
        &fixture,
        View { exec_outputs: ExecOutputs::AsText, ..View::default() },
        &expect![[r#"
            function_call a
            function_call_output a Exit code: 0⏎Wall time: 1.5 seconds⏎Output:⏎hi
            function_call b
            function_call_output b {"output":"hi","metadata":{"exit_code":0,"duration_seconds":1.5}}
            custom_tool_call c
            custom_tool_call_output c Exit code: 0⏎Wall time: 1.5 seconds⏎Output:⏎hi
            function_call d
            function_call_output d {"output":"cut…7 chars
            local_shell_call e
            function_call_output e Exit code: 0⏎Wall time: 1.5 seconds⏎Output:⏎hi"#]],
    );
}

#[test]
fn an_answer_that_comes_after_all_takes_the_place_of_the_repair() {
    let mut transcript = transcript("call a x");
    let lines = |transcript: &mut Transcript| shown(transcript, View::default()).iter().map(line).collect::<Vec<_>>();
    assert_eq!(lines(&mut transcript), ["function_call a", "function_call_output a aborted"]);
    transcript.record(&item("U next"), &Origin::User);
    transcript.record(&item("out a late"), &Origin::Model);
    assert_eq!(lines(&mut transcript), ["function_call a", "user next", "function_call_output a late"]);
}

#[track_caller]
fn check_rollback(fixture: &str, n_turns: usize, expected: &Expect) {
    let mut transcript = transcript(fixture);
    transcript.view(View::default());
    transcript.roll_back(n_turns);
    let lines: Vec<String> = shown(&mut transcript, View::default()).iter().map(line).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn rolling_back_takes_turns_of_the_person() {
    let fixture = "
        D permissions
        U <environment_context>
        U one
        A first
        D update
        U two
        call a x
        out a ok
        U steered
        A second
        ";
    check_rollback(
        fixture,
        1,
        &expect![[r#"
            developer permissions
            user <environment_context>
            user one
            assistant first
            developer update
            user two
            function_call a
            function_call_output a ok"#]],
    );
    check_rollback(
        fixture,
        2,
        &expect![[r#"
            developer permissions
            user <environment_context>
            user one
            assistant first
            developer update"#]],
    );
    check_rollback(
        fixture,
        99,
        &expect![[r#"
            developer permissions
            user <environment_context>"#]],
    );
    check_rollback(
        "D x\nU <turn_aborted>",
        1,
        &expect![[r#"
        developer x
        user <turn_aborted>"#]],
    );
}

#[test]
fn tokens_are_counted_as_the_reference_counts_them() {
    let tokens = |fixture: &str| transcript(fixture).tokens();
    // {"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]} is 78 bytes.
    assert_eq!(tokens("U x"), 20);
    assert_eq!(tokens("ghost"), 0);
    assert_eq!(tokens("think"), (1200 * 3 / 4 - 650_usize).div_ceil(4));
    let unreported = |fixture: &str, counted| transcript(fixture).tokens_unreported(counted);
    assert_eq!(unreported("U x", ReasoningCounted::ByUs), 0, "without a reply there is nothing to add to");
    assert_eq!(unreported("U x\nA y\nU x", ReasoningCounted::ByUs), 20);
    assert_eq!(unreported("think\nU x\nA y", ReasoningCounted::ByUs), 63);
    assert_eq!(unreported("think\nU x\nA y", ReasoningCounted::ByServer), 0);
    assert_eq!(unreported("U x\nthink\nA y", ReasoningCounted::ByUs), 0, "thoughts of this turn are in the figure");
}

fn any_line() -> impl Strategy<Value = String> {
    let id = "[ab]";
    prop_oneof![
        "U [a-z]{0,5}",
        "A [a-z]{0,5}",
        "D [a-z]{0,5}",
        id.prop_map(|id| format!("call {id} shell")),
        id.prop_map(|id| format!(
            "out {id} {{\"output\":\"x\",\"metadata\":{{\"exit_code\":0,\"duration_seconds\":1}}}}"
        )),
        id.prop_map(|id| format!("custom {id} apply_patch")),
        id.prop_map(|id| format!("cout {id} x")),
        Just("picture".to_owned()),
        Just("ghost".to_owned()),
        Just("think".to_owned()),
    ]
}

proptest! {
    /// However requests are interleaved with recording, the last one shows what a single request
    /// over the same items would show.
    #[test]
    fn rendering_bit_by_bit_equals_rendering_at_once(
        lines in prop::collection::vec((any_line(), any::<bool>()), 0..20),
        text in any::<bool>(),
        blind in any::<bool>(),
        wire in 0..WireApi::ALL.len(),
    ) {
        let view = View {
            images: if blind { ShownImages::Replaced } else { ShownImages::Shown },
            exec_outputs: if text { ExecOutputs::AsText } else { ExecOutputs::AsRecorded },
            wire: WireApi::ALL[wire],
            ..View::default()
        };
        let mut stepwise = Transcript::new(ItemIds::Hidden, POLICY);
        for (line, is_sent) in &lines {
            stepwise.record(&item(line), &Origin::Model);
            if *is_sent {
                stepwise.view(view);
            }
        }
        let whole = lines.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(shown(&mut stepwise, view), shown(&mut transcript(&whole), view));
        prop_assert_eq!(stepwise.items().count(), lines.len());
    }
}
