//! What the scrollback and the viewport have after each event.

use std::fmt::Write as _;

use expect_test::Expect;
use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::cells::testing::CANVAS;
use crate::cells::testing::shown;

/// What happens in a fixture.
enum Step {
    Event(Value),
    /// Draws the live lines.
    Look,
    Say(&'static str),
}

fn item(kind: &str, item: &Value) -> Step {
    Step::Event(json!({ "type": kind, "thread_id": "s", "turn_id": "t", "item": item }))
}

fn started() -> Step {
    Step::Event(json!({ "type": "task_started", "turn_id": "t", "model_context_window": null }))
}

fn complete() -> Step {
    Step::Event(json!({ "type": "task_complete", "turn_id": "t", "last_agent_message": null }))
}

fn piece(id: &str, delta: &str) -> Step {
    Step::Event(
        json!({ "type": "agent_message_content_delta", "thread_id": "s", "turn_id": "t", "item_id": id, "delta": delta }),
    )
}

fn reply(id: &str, text: &str) -> Step {
    item("item_completed", &json!({ "type": "AgentMessage", "id": id, "content": [{ "type": "Text", "text": text }] }))
}

fn user(text: &str) -> Step {
    item("item_completed", &json!({ "type": "UserMessage", "id": "u", "content": [{ "type": "text", "text": text }] }))
}

fn retry() -> Step {
    Step::Event(json!({ "type": "stream_error", "message": "Reconnecting... 1/5", "additional_details": "cut" }))
}

fn aborted() -> Step {
    Step::Event(json!({ "type": "turn_aborted", "turn_id": "t", "reason": "interrupted" }))
}

fn command(kind: &str, id: &str, script: &str, parsed: &Value, more: Value) -> Step {
    let mut event = json!({
        "type": kind, "call_id": id, "turn_id": "t", "command": ["bash", "-lc", script], "cwd": "/w",
        "parsed_cmd": parsed, "source": "agent",
    });
    if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
        event.extend(more);
    }
    Step::Event(event)
}

fn unknown(script: &str) -> Value {
    json!([{ "type": "unknown", "cmd": script }])
}

fn begins(id: &str, script: &str) -> Step {
    command("exec_command_begin", id, script, &unknown(script), json!({}))
}

fn ended(output: &str, code: i32) -> Value {
    json!({
        "stdout": "", "stderr": "", "aggregated_output": output, "exit_code": code, "formatted_output": "",
        "duration": { "secs": 0, "nanos": 0 }, "status": if code == 0 { "completed" } else { "failed" },
    })
}

fn ends(id: &str, script: &str, output: &str, code: i32) -> Step {
    command("exec_command_end", id, script, &unknown(script), ended(output, code))
}

fn looks(id: &str, parsed: &Value) -> [Step; 2] {
    let begin = command("exec_command_begin", id, "x", &json!([parsed]), json!({}));
    [begin, command("exec_command_end", id, "x", &json!([parsed]), ended("", 0))]
}

/// Plays steps, one second apart, and writes down the lines of the scrollback, with looks at the live lines between.
fn played(steps: Vec<Step>) -> (Transcript, String) {
    let canvas = CANVAS(40);
    let mut transcript = Transcript::new(TranscriptOptions::default());
    let mut text = String::new();
    for (second, step) in steps.into_iter().enumerate() {
        let now = Duration::from_secs(second as u64);
        let changes = match step {
            Step::Event(event) => transcript.apply(&serde_json::from_value(event).unwrap(), now, &canvas),
            Step::Say(words) => transcript.said(&[UserInput::text(words)], &canvas),
            Step::Look => {
                text += "[live:\n";
                text += &shown(&transcript.live(now, &canvas));
                text += "]\n";
                continue;
            }
        };
        for change in changes {
            match change {
                TranscriptChange::History(lines) => text += &shown(&lines),
                TranscriptChange::Live => {}
                TranscriptChange::Heading(heading) => writeln!(text, "[heading: {heading}]").unwrap(),
                TranscriptChange::RolledBack => text += "[rolled back]\n",
            }
        }
    }
    (transcript, text)
}

#[track_caller]
fn check_transcript(steps: Vec<Step>, expected: &Expect) {
    expected.assert_eq(&played(steps).1);
}

#[test]
fn a_reply_arrives_line_by_line() {
    check_transcript(
        vec![
            Step::Say("hello"),
            started(),
            user("hello"),
            piece("m", "One "),
            Step::Look,
            piece("m", "two\nthree\n\nfo"),
            Step::Look,
            piece("m", "ur"),
            reply("m", "One two\nthree\n\nfour"),
            complete(),
            Step::Look,
        ],
        &expect![[r#"
            › hello|
            [live:
            |
            • One|
            ]
            |
            • One two|
              three|
            [live:
            |
              fo|
            ]
            |
              four|
            [live:
            ]
        "#]],
    );
}

#[test]
fn a_command_is_live_until_it_ends_and_a_rule_comes_before_the_final_message() {
    check_transcript(
        vec![
            started(),
            begins("1", "make"),
            Step::Event(
                json!({ "type": "exec_command_output_delta", "call_id": "1", "stream": "stdout", "chunk": "b25lCnR3bwo=" }),
            ),
            Step::Look,
            ends("1", "make", "one\ntwo\n", 2),
            piece("m", "It failed."),
            Step::Look,
            reply("m", "It failed."),
            complete(),
        ],
        &expect![[r#"
            [live:
            • Running make|
              └ one|
                two|
            ]
            • Ran make (exit code 2)|
              └ one|
                two|
            [live:
            |
            ─ Worked for 6s ────────────────────────|
            |
            • It failed.|
            ]
            |
            ─ Worked for 7s ────────────────────────|
            |
            • It failed.|
        "#]],
    );
}

#[test]
fn looking_around_is_one_group_until_something_else_happens() {
    let mut steps = vec![started()];
    steps.extend(looks("1", &json!({ "type": "read", "cmd": "cat a.txt", "name": "a.txt", "path": "a.txt" })));
    steps.push(Step::Look);
    steps.extend(looks("2", &json!({ "type": "list_files", "cmd": "ls src", "path": "src" })));
    steps.extend(looks("3", &json!({ "type": "search", "cmd": "grep", "query": "two", "path": "a.txt" })));
    steps.extend([reply("m", "Looked."), complete()]);
    check_transcript(
        steps,
        &expect![[r#"
        [live:
        • Explored|
          └ Read a.txt|
        ]
        • Explored|
          └ Read a.txt|
            List src|
            Search two in a.txt|
        |
        ─ Worked for 8s ────────────────────────|
        |
        • Looked.|
    "#]],
    );
}

#[test]
fn a_reply_that_is_repeated_after_a_retry_is_there_once() {
    // Nothing of the first try was in the scrollback.
    check_transcript(
        vec![
            started(),
            piece("a", "First try"),
            retry(),
            Step::Look,
            piece("b", "Second try worked."),
            reply("b", "Second try worked."),
            complete(),
        ],
        &expect![[r#"
            [live:
            • Reconnecting... 1/5 (cut)|
            ]
            • Second try worked.|
        "#]],
    );
    // The provider repeats the reply and continues.
    check_transcript(
        vec![
            started(),
            piece("a", "One\n\ntwo\nthr"),
            retry(),
            piece("b", "One\n\n"),
            piece("b", "two\nthree\nfour"),
            reply("b", "One\n\ntwo\nthree\nfour"),
            complete(),
        ],
        &expect![[r#"
            • One|
            |
              two|
              three|
              four|
        "#]],
    );
    // The second try is another reply.
    check_transcript(
        vec![
            started(),
            piece("a", "One\n\ntwo\nthr"),
            retry(),
            piece("b", "Other"),
            reply("b", "Other words"),
            complete(),
        ],
        &expect![[r#"
            • One|
            |
              two|
              thr|
            |
            • The reply was interrupted; the model|
              begins again|
            |
            • Other words|
        "#]],
    );
    // The second try is no reply at all.
    check_transcript(
        vec![started(), piece("a", "One"), retry(), begins("1", "ls"), ends("1", "ls", "", 0), complete()],
        &expect![[r#"
            • Ran ls|
              └ (no output)|
        "#]],
    );
}

#[test]
fn nothing_comes_between_the_lines_of_a_reply() {
    check_transcript(
        vec![
            started(),
            piece("m", "One\n\ntwo\n"),
            Step::Event(json!({ "type": "warning", "message": "careful" })),
            Step::Say("steered"),
            Step::Look,
            piece("m", "three"),
            reply("m", "One\n\ntwo\nthree"),
            user("steered"),
            complete(),
        ],
        &expect![[r#"
            • One|
            [live:
            |
              two|
            |
            ⚠ careful|
            |
            › steered|
            ]
            |
              two|
              three|
            |
            ⚠ careful|
            |
            › steered|
        "#]],
    );
}

#[test]
fn an_interrupted_turn_keeps_what_had_arrived() {
    check_transcript(
        vec![started(), piece("m", "Half a"), begins("1", "sleep 60"), aborted(), ends("1", "sleep 60", "", 130)],
        &expect![[r#"
            • Half a|
            |
            • Interrupted sleep 60|
            |
            ■ The turn was interrupted|
        "#]],
    );
}

#[test]
fn a_command_in_the_background_is_left_at_the_end_of_the_turn() {
    let begin = command(
        "exec_command_begin",
        "1",
        "sleep 300",
        &unknown("sleep 300"),
        json!({ "process_id": "7", "source": "unified_exec_startup" }),
    );
    let wrote =
        Step::Event(json!({ "type": "terminal_interaction", "call_id": "1", "process_id": "7", "stdin": "y\n" }));
    check_transcript(
        vec![started(), begin, wrote, reply("m", "Serving."), complete(), Step::Look],
        &expect![[r#"
        • Wrote to a running command|
          └ y|
        |
        • Serving.|
        |
        • Running in the background sleep 300|
        [live:
        ]
    "#]],
    );
}

#[test]
fn reasoning_has_its_heading_as_status_and_its_body_as_cell() {
    let thought = |delta: &str| {
        Step::Event(
            json!({ "type": "reasoning_content_delta", "thread_id": "s", "turn_id": "t", "item_id": "r", "delta": delta, "summary_index": 0 }),
        )
    };
    check_transcript(
        vec![
            started(),
            thought("**Weighing "),
            thought("options**\n\nThe inner"),
            Step::Look,
            thought(" thoughts."),
            item(
                "item_completed",
                &json!({ "type": "Reasoning", "id": "r", "summary_text": ["**Weighing options**\n\nThe inner thoughts."], "raw_content": [] }),
            ),
            reply("m", "Thought out."),
            complete(),
        ],
        &expect![[r#"
            [heading: Weighing options]
            [live:
            • The inner|
            ]
            • The inner thoughts.|
            |
            • Thought out.|
        "#]],
    );
}

#[test]
fn a_review_is_shown_once() {
    let output = json!({ "findings": [], "overall_correctness": "patch is correct", "overall_explanation": "Fine.", "overall_confidence_score": 1.0 });
    let text = pellucid_engine::review::render(Some(&serde_json::from_value(output.clone()).unwrap()));
    check_transcript(
        vec![
            started(),
            Step::Event(json!({ "type": "entered_review_mode", "target": { "type": "uncommittedChanges" } })),
            Step::Event(json!({ "type": "exited_review_mode", "review_output": output })),
            reply("review", &text),
            complete(),
        ],
        &expect![[r#"
            • Reviewing uncommitted changes|
            |
            • Review: no findings|
            |
              Fine.|
              patch is correct|
        "#]],
    );
}

#[test]
fn plans_searches_and_failures() {
    let plan = |delta: &str| {
        Step::Event(json!({ "type": "plan_delta", "thread_id": "s", "turn_id": "t", "item_id": "p", "delta": delta }))
    };
    check_transcript(
        vec![
            started(),
            item(
                "item_started",
                &json!({ "type": "WebSearch", "id": "w", "query": "", "action": { "type": "search" } }),
            ),
            Step::Look,
            item(
                "item_completed",
                &json!({ "type": "WebSearch", "id": "w", "query": "pty", "action": { "type": "search", "query": "pty" } }),
            ),
            plan("# Plan\n- do"),
            Step::Look,
            item("item_completed", &json!({ "type": "Plan", "id": "p", "text": "# Plan\n- do it" })),
            Step::Event(json!({ "type": "error", "message": "That was bad input." })),
            complete(),
        ],
        &expect![[r#"
            [live:
            • Searching the web|
            ]
            • Searched pty|
            |
            • Proposed plan|
              Plan|
            [live:
            |
              - do|
            ]
            |
              - do it|
            |
            ■ That was bad input.|
        "#]],
    );
}

#[test]
fn a_rollback_removes_the_last_messages() {
    let (mut transcript, _) =
        played(vec![user("one"), reply("a", "1"), user("two"), reply("b", "2"), user("three"), reply("c", "3")]);
    let event = EventMessage::ThreadRolledBack { num_turns: 2 };
    let changes = transcript.apply(&event, Duration::ZERO, &CANVAS(40));
    assert_eq!(changes, [TranscriptChange::Live, TranscriptChange::RolledBack]);
    assert_eq!(transcript.messages().map(|(at, cell)| (at, cell.text())).collect::<Vec<_>>(), [(0, "one")]);
    assert_eq!(transcript.cells().len(), 2);
}

#[test]
fn the_pager_has_everything_unfolded() {
    let rows: String = (1..=9).map(|row| format!("row {row}\n")).collect();
    let (transcript, _) = played(vec![
        started(),
        begins("1", "seq 9"),
        ends("1", "seq 9", &rows, 0),
        piece("m", "arriv"),
        begins("2", "true"),
    ]);
    let blocks: Vec<String> = transcript.unfolded(&CANVAS(40)).iter().map(|block| shown(block)).collect();
    expect![[r#"
        • Ran seq 9|
          └ row 1|
            row 2|
            row 3|
            row 4|
            row 5|
            row 6|
            row 7|
            row 8|
            row 9|
        --
        • arriv|
        --
        • Running true|
    "#]]
    .assert_eq(&blocks.join("--\n"));
}

/// Pieces of one reply, however they are split, leave the same scrollback.
#[test]
fn the_scrollback_does_not_depend_on_the_pieces() {
    let text = "# Title\n\nOne **two\nthree** four\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- five\n  - six\n\nend";
    let whole = played(vec![started(), reply("m", text), complete()]).1;
    for size in [1, 2, 3, 7, 50] {
        let characters: Vec<char> = text.chars().collect();
        let mut steps = vec![started()];
        steps.extend(characters.chunks(size).map(|chunk| piece("m", &chunk.iter().collect::<String>())));
        steps.extend([reply("m", text), complete()]);
        assert_eq!(played(steps).1, whole, "in pieces of {size}");
    }
}

/// Text of models, tools and files in every place where a cell has some.
#[test]
fn hostile_text_is_harmless_and_bounded_in_every_cell() {
    let hostile = format!("\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}8m\0\t\r\u{8}\u{202e}x{}\nsecond\u{85}", "y".repeat(1 << 16));
    let text = hostile.as_str();
    let step = json!({ "step": text, "status": "in_progress" });
    let invocation = json!({ "server": text, "tool": text, "arguments": { "a": text } });
    let content = json!([{ "type": "text", "text": text }]);
    let finding = json!({
        "title": text, "body": text, "confidence_score": 1.0, "priority": 1,
        "code_location": { "absolute_file_path": text, "line_range": { "start": 1, "end": 1 } },
    });
    let review = json!({ "findings": [finding], "overall_correctness": text, "overall_explanation": text, "overall_confidence_score": 1.0 });
    let diff = format!("@@ -1 +1 @@\n-{text}\n+{text}\n");
    let changes = json!({ text: { "type": "update", "unified_diff": diff, "move_path": text } });
    let event = |value: Value| Step::Event(value);
    let steps = vec![
        started(),
        user(text),
        piece("m", text),
        Step::Look,
        reply("m", text),
        begins("1", text),
        Step::Look,
        ends("1", text, text, 1),
        event(json!({ "type": "plan_update", "explanation": text, "plan": [step] })),
        event(json!({ "type": "mcp_tool_call_begin", "call_id": "2", "invocation": invocation.clone() })),
        event(
            json!({ "type": "mcp_tool_call_end", "call_id": "2", "invocation": invocation, "duration": { "secs": 0, "nanos": 0 }, "result": { "Ok": { "content": content } } }),
        ),
        event(
            json!({ "type": "patch_apply_end", "call_id": "3", "turn_id": "t", "stdout": text, "stderr": text, "success": false, "changes": changes, "status": "failed" }),
        ),
        event(json!({ "type": "view_image_tool_call", "call_id": "4", "path": text })),
        event(json!({ "type": "warning", "message": text })),
        event(json!({ "type": "error", "message": text })),
        event(json!({ "type": "stream_error", "message": text, "additional_details": text })),
        Step::Look,
        event(json!({ "type": "entered_review_mode", "target": { "type": "custom", "instructions": text } })),
        event(json!({ "type": "exited_review_mode", "review_output": review })),
        item("item_completed", &json!({ "type": "Reasoning", "id": "r", "summary_text": [text], "raw_content": [] })),
        item(
            "item_completed",
            &json!({ "type": "WebSearch", "id": "w", "query": text, "action": { "type": "other" } }),
        ),
        item("item_completed", &json!({ "type": "Plan", "id": "p", "text": text })),
        complete(),
    ];
    let (transcript, out) = played(steps);
    let is_hostile = |it: char| it.is_control() && it != '\n' || matches!(it, '\u{202a}'..='\u{202e}');
    assert_eq!(out.chars().find(|it| is_hostile(*it)), None);
    for (number, cell) in transcript.cells().iter().enumerate() {
        // Replies, plans and thoughts are the model's words and are shown whole; all else is cut.
        let is_whole = matches!(
            cell,
            TranscriptCell::Reply(_)
                | TranscriptCell::ProposedPlan(_)
                | TranscriptCell::Reasoning(_)
                | TranscriptCell::Review(_)
        );
        let lines = cell.lines(&CANVAS(80));
        let limit = if is_whole { (3 << 16) / 70 } else { 1000 };
        assert!(lines.len() < limit, "cell {number}: {} lines of {cell:.60?}", lines.len());
        assert!(
            lines
                .iter()
                .chain(&cell.unfolded(&CANVAS(200)))
                .all(|line| !line.to_string().chars().any(char::is_control))
        );
    }
}
