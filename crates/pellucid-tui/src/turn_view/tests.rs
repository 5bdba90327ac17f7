//! What is written once, and what is drawn below it, after each event.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use expect_test::Expect;
use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::cells::testing::shown;

/// What happens in a fixture.
enum Step {
    Event(Value),
    /// An event of an agent.
    Agent(Value),
    /// The rows below the final lines.
    Look,
    /// The window has another width.
    Width(u16),
}

fn size(columns: u16) -> ScreenSize {
    ScreenSize { columns, rows: 24 }
}

/// Plays steps, a second apart. Final lines are written as they come, and rows where a step looks at them.
fn played(steps: Vec<Step>) -> (TurnView, String) {
    let mut view = TurnView::new(TranscriptOptions::default(), Palette::plain(), size(60));
    let mut text = String::new();
    for (second, step) in steps.into_iter().enumerate() {
        let now = Duration::from_secs(second as u64);
        match step {
            Step::Event(event) => view.event(&serde_json::from_value(event).unwrap(), now),
            Step::Agent(event) => view.agent_event(&serde_json::from_value(event).unwrap(), now),
            Step::Width(columns) => view.resize(size(columns)),
            Step::Look => {
                text += "[\n";
                text += &shown(&view.rows(now));
                text += "]\n";
            }
        }
        text += &shown(&view.take_history());
    }
    (view, text)
}

#[track_caller]
fn check_view(steps: Vec<Step>, expected: &Expect) {
    expected.assert_eq(&played(steps).1);
}

fn started() -> Step {
    Step::Event(json!({ "type": "task_started", "turn_id": "t", "model_context_window": null }))
}

fn complete() -> Step {
    Step::Event(json!({ "type": "task_complete", "turn_id": "t", "last_agent_message": null }))
}

fn user(text: &str) -> Step {
    let item = json!({ "type": "UserMessage", "id": "u", "content": [{ "type": "text", "text": text }] });
    Step::Event(json!({ "type": "item_completed", "thread_id": "s", "turn_id": "t", "item": item }))
}

fn piece(delta: &str) -> Step {
    Step::Event(
        json!({ "type": "agent_message_content_delta", "thread_id": "s", "turn_id": "t", "item_id": "m", "delta": delta }),
    )
}

fn message(text: &str) -> Value {
    let item = json!({ "type": "AgentMessage", "id": "m", "content": [{ "type": "Text", "text": text }] });
    json!({ "type": "item_completed", "thread_id": "s", "turn_id": "t", "item": item })
}

fn tokens(input: i64) -> Step {
    let usage = json!({
        "input_tokens": input, "cached_input_tokens": 0, "output_tokens": 100, "reasoning_output_tokens": 0,
        "total_tokens": input + 100,
    });
    let info = json!({ "total_token_usage": usage, "last_token_usage": usage, "model_context_window": null });
    Step::Event(json!({ "type": "token_count", "info": info, "rate_limits": null }))
}

fn command(kind: &str, script: &str, more: Value) -> Value {
    let mut event = json!({
        "type": kind, "call_id": "c", "turn_id": "t", "command": ["bash", "-lc", script], "cwd": "/w",
        "parsed_cmd": [{ "type": "unknown", "cmd": script }], "source": "agent",
    });
    if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
        event.extend(more);
    }
    event
}

fn begins(script: &str) -> Value {
    command("exec_command_begin", script, json!({}))
}

fn output(text: &str) -> Step {
    let chunk = BASE64_STANDARD.encode(text);
    Step::Event(json!({ "type": "exec_command_output_delta", "call_id": "c", "stream": "stdout", "chunk": chunk }))
}

fn ends(script: &str, output: &str, code: i32) -> Value {
    command(
        "exec_command_end",
        script,
        json!({
            "stdout": "", "stderr": "", "aggregated_output": output, "exit_code": code, "formatted_output": "",
            "duration": { "secs": 0, "nanos": 0 }, "status": if code == 0 { "completed" } else { "failed" },
        }),
    )
}

#[test]
fn an_answer_is_shown_while_it_comes_and_once() {
    let steps = vec![
        started(),
        user("What is it?"),
        Step::Look,
        piece("It is **for"),
        Step::Look,
        piece("ty**-two.\n\nReally"),
        Step::Look,
        tokens(5_000),
        Step::Event(message("It is **forty**-two.\n\nReally.")),
        complete(),
        Step::Look,
    ];
    let (mut view, text) = played(steps);
    assert!(view.has_shown("It is **forty**-two.\n\nReally.\n"));
    assert!(!view.has_shown("Another answer."));
    view.end(Duration::from_secs(75));
    let text = text + &shown(&view.take_history());
    expect![[r#"
        › What is it?|
        [
        |
        • Working (2s • ctrl-c to interrupt)|
        ]
        [
        |
        • It is **for|
        |
        • Working (4s • ctrl-c to interrupt)|
        ]
        |
        • It is forty-two.|
        [
        |
          Really|
        |
        • Working (6s • ctrl-c to interrupt)|
        ]
        |
          Really.|
        [
        ]
        |
        5,100 tokens in 1m 15s|
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_command_shows_its_output_as_it_comes() {
    let long: String = (1..40).map(|n| format!("line {n}\n")).collect();
    check_view(
        vec![
            started(),
            Step::Event(begins("make all")),
            Step::Look,
            output(&long),
            Step::Look,
            tokens(12_345),
            Step::Look,
            Step::Event(ends("make all", &long, 2)),
            Step::Look,
        ],
        &expect![[r#"
            [
            • Running make all|
            |
            • Running make all (2s • ctrl-c to interrupt)|
            ]
            [
            • Running make all|
              └ line 32|
                line 33|
                line 34|
                line 35|
                line 36|
                line 37|
                line 38|
                line 39|
            |
            • Running make all (4s • ctrl-c to interrupt)|
            ]
            [
            • Running make all|
              └ line 32|
                line 33|
                line 34|
                line 35|
                line 36|
                line 37|
                line 38|
                line 39|
            |
            • Running make a… (6s • 12.4K tokens • ctrl-c to interrupt)|
            ]
            • Ran make all (exit code 2)|
              └ line 1|
                line 2|
                line 3|
                line 4|
                line 5|
                line 6|
                line 7|
                line 8|
                line 9|
                … +21 lines|
                line 31|
                line 32|
                line 33|
                line 34|
                line 35|
                line 36|
                line 37|
                line 38|
                line 39|
            [
            |
            • Working (8s • 12.4K tokens • ctrl-c to interrupt)|
            ]
        "#]],
    );
}

#[test]
fn a_patch_is_shown_once() {
    let diff = "@@ -1 +1 @@\n-one\n+two\n";
    let changes = json!({ "/w/a.txt": { "type": "update", "unified_diff": diff, "move_path": null } });
    check_view(
        vec![
            started(),
            Step::Event(json!({
                "type": "patch_apply_begin", "call_id": "p", "turn_id": "t", "auto_approved": true, "changes": changes,
            })),
            Step::Event(json!({
                "type": "patch_apply_end", "call_id": "p", "turn_id": "t", "stdout": "ok", "stderr": "", "success": true,
                "changes": changes, "status": "completed",
            })),
            Step::Event(json!({ "type": "turn_diff", "unified_diff": diff })),
            Step::Event(json!({ "type": "turn_diff", "unified_diff": diff })),
        ],
        &expect![[r#"
            • Edited /w/a.txt (+1 -1)|
                1 -one|
                1 +two|
        "#]],
    );
}

#[test]
fn the_status_row_fits_every_width() {
    let looks = [80, 40, 24, 12].into_iter().flat_map(|columns| [Step::Width(columns), Step::Look]);
    let steps = || vec![started(), tokens(9_999), Step::Event(begins("cargo test"))];
    let mut all = steps();
    all.extend(looks);
    check_view(
        all,
        &expect![[r#"
        [
        • Running cargo test|
        |
        • Running cargo test (4s • 10.1K tokens • ctrl-c to interrupt)|
        ]
        [
        • Running cargo test|
        |
        • Running cargo te… (6s • 10.1K tokens)|
        ]
        [
        • Running cargo test|
        |
        • Running cargo t… (8s)|
        ]
        [
        • Running|
          │ cargo|
          │ test|
        |
        • Ru… (10s)|
        ]
    "#]],
    );
    for columns in 1..30 {
        let (mut view, _) = played(steps());
        view.resize(size(columns));
        let row = view.rows(Duration::from_secs(3_725)).pop().unwrap();
        // The rest is cut where it is drawn.
        assert!(row.width() <= usize::from(columns).max("• (1h 02m 05s)".chars().count() + 1), "{columns}: {row}");
    }
}

#[test]
fn servers_are_named_while_they_start_and_nothing_is_drawn_while_nothing_is_done() {
    let update = |status: &str| {
        Step::Event(json!({ "type": "mcp_startup_update", "server": "depot", "status": { "state": status } }))
    };
    check_view(
        vec![Step::Look, update("starting"), Step::Look, update("ready"), Step::Look],
        &expect![[r#"
            [
            ]
            [
            |
            • Starting MCP servers: depot (2s • ctrl-c to interrupt)|
            ]
            [
            ]
        "#]],
    );
    let (view, _) = played(vec![]);
    assert_eq!(view.next_tick(Duration::from_millis(1_500)), None);
    let (view, _) = played(vec![started()]);
    assert_eq!(view.next_tick(Duration::from_millis(1_500)), Some(Duration::from_secs(2)));
}

#[test]
fn what_an_agent_says_waits_for_the_end_of_the_reply() {
    check_view(
        vec![
            started(),
            piece("The session writes.\n\nMore"),
            Step::Agent(message("The agent is done.")),
            Step::Agent(json!({ "type": "task_started", "turn_id": "t2", "model_context_window": null })),
            piece(" of it."),
            Step::Event(message("The session writes.\n\nMore of it.")),
        ],
        &expect![[r#"
            • The session writes.|
            |
              More of it.|
            |
            • The agent is done.|
        "#]],
    );
}

#[test]
fn a_long_prompt_is_cut() {
    let long: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let (_, text) = played(vec![user(&long)]);
    assert!(text.ends_with("  line 20|\n  … +10 lines|\n"), "{text}");
    let (_, text) = played(vec![user(&"名".repeat(10_000))]);
    assert!(text.ends_with("… +21810 bytes|\n"), "{text}");
}

#[test]
fn an_interrupted_answer_stays() {
    check_view(
        vec![
            started(),
            piece("It is forty"),
            Step::Event(json!({ "type": "turn_aborted", "turn_id": "t", "reason": "interrupted" })),
            Step::Look,
        ],
        &expect![[r#"
            • It is forty|
            |
            ■ The turn was interrupted|
            [
            ]
        "#]],
    );
}
