//! Session files in short form, and the turns that are rebuilt from them.

use expect_test::Expect;
use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use super::*;

/// A record: a word and its payload, or the payload itself.
fn line(text: &str) -> String {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let payload = match word {
        "start" => json!({"type": "task_started", "turn_id": rest, "model_context_window": null,
            "collaboration_mode_kind": "default"}),
        "done" => json!({"type": "task_complete", "turn_id": rest, "last_agent_message": null}),
        "abort" => json!({"type": "turn_aborted", "turn_id": rest, "reason": "interrupted"}),
        "user" => json!({"type": "user_message", "message": rest, "images": [], "local_images": [],
            "text_elements": []}),
        "agent" => json!({"type": "agent_message", "message": rest}),
        "thought" => json!({"type": "agent_reasoning", "text": rest}),
        "raw" => json!({"type": "agent_reasoning_raw_content", "text": rest}),
        "error" => json!({"type": "error", "message": "bad", "codex_error_info": rest}),
        "rollback" => json!({"type": "thread_rolled_back", "num_turns": rest.parse::<usize>().unwrap()}),
        "summarised" => json!({"type": "context_compacted"}),
        "command" => json!({"type": "exec_command_end", "call_id": "c1", "turn_id": rest,
            "command": ["bash", "-c", "echo hi"], "cwd": "/w", "parsed_cmd": [{"type": "unknown", "cmd": "echo hi"}],
            "source": "agent", "stdout": "", "stderr": "", "aggregated_output": "hi\n", "exit_code": 0,
            "duration": {"secs": 0, "nanos": 5_000_000}, "formatted_output": "", "status": "completed"}),
        "compacted" => return r#"{"timestamp":"t","type":"compacted","payload":{"message":"s"}}"#.to_owned(),
        _ => serde_json::from_str::<Value>(text).unwrap(),
    };
    json!({"timestamp": "t", "type": "event_msg", "payload": payload}).to_string()
}

fn records(fixture: &str) -> Vec<Record> {
    let lines: Vec<String> = fixture.lines().map(str::trim).filter(|it| !it.is_empty()).map(line).collect();
    let (records, set_aside) = pellucid_store::read::parse(lines.join("\n").as_bytes());
    assert_eq!((records.len(), set_aside), (lines.len(), vec![]));
    records
}

fn shown(turns: &[Turn]) -> String {
    let mut out = String::new();
    for turn in turns {
        let error = turn.error.as_ref().map(|error| format!(" {}", serde_json::to_string(error).unwrap()));
        out += &format!("{} {}{}\n", turn.id, turn.status, error.unwrap_or_default());
        for item in &turn.items {
            out += &match item {
                ThreadItem::UserMessage { id, content } if content.len() == 1 => match &content[0] {
                    UserInput::Text { text, .. } => format!("  {id} user {text}\n"),
                    other => format!("  {id} user {other:?}\n"),
                },
                ThreadItem::AgentMessage { id, text } => format!("  {id} agent {text}\n"),
                other => format!("  {}\n", serde_json::to_string(other).unwrap()),
            };
        }
    }
    out
}

#[track_caller]
fn check_turns(fixture: &str, expected: &Expect) {
    expected.assert_eq(&shown(&rebuild_with(&records(fixture), || "fresh".to_owned())));
}

#[test]
fn a_turn_lasts_from_its_start_to_its_end() {
    check_turns(
        "start t1\nuser a\nagent b\nuser c\ndone t1\nagent late\nstart t2\nuser d\nstart t3\nuser e",
        &expect![[r#"
            t1 completed
              item-1 user a
              item-2 agent b
              item-3 user c
            fresh completed
              item-4 agent late
            t2 completed
              item-5 user d
            t3 completed
              item-6 user e
        "#]],
    );
    check_turns(
        "start t1\ndone t1\nstart t2\nuser a\ndone other\nagent b",
        &expect![[r#"
            t1 completed
            t2 completed
              item-1 user a
            fresh completed
              item-2 agent b
        "#]],
    );
}

#[test]
fn messages_begin_turns_where_nothing_else_does() {
    check_turns(
        "agent b\nuser c\nagent d\nuser e",
        &expect![[r#"
            fresh completed
              item-1 agent b
            fresh completed
              item-2 user c
              item-3 agent d
            fresh completed
              item-4 user e
        "#]],
    );
    check_turns(
        "compacted\nuser a\nagent b\ncompacted",
        &expect![[r#"
            fresh completed
              item-1 user a
              item-2 agent b
        "#]],
    );
    check_turns(
        "compacted\nstart t1\nuser a\nsummarised\ndone t1\ncompacted",
        &expect![[r#"
            fresh completed
            t1 completed
              item-1 user a
              {"type":"contextCompaction","id":"item-2"}
            fresh completed
        "#]],
    );
}

#[test]
fn an_abort_goes_to_its_turn_and_leaves_it_open() {
    check_turns(
        "start t1\nuser a\nabort t1\nuser b\nagent c\ndone t1\nagent d",
        &expect![[r#"
            t1 interrupted
              item-1 user a
              item-2 user b
              item-3 agent c
            fresh completed
              item-4 agent d
        "#]],
    );
    check_turns(
        "abort t0\nstart t1\nuser a\nabort other\nstart t2\nuser b\nabort t1\ndone t1\nagent c\ndone t2",
        &expect![[r#"
            t1 interrupted
              item-1 user a
            t2 completed
              item-2 user b
              item-3 agent c
        "#]],
    );
}

#[test]
fn files_of_older_versions_say_less() {
    check_turns(
        r#"{"type":"task_started","turn_id":"t1"}
        {"type":"user_message","message":"a","kind":"plain"}
        {"type":"turn_aborted","reason":"interrupted"}
        {"type":"turn_started","turn_id":"t2"}
        {"type":"user_message","message":"b","images":null}
        {"type":"turn_complete","turn_id":"t2"}
        agent c"#,
        &expect![[r#"
            t1 interrupted
              item-1 user a
            t2 completed
              item-2 user b
            fresh completed
              item-3 agent c
        "#]],
    );
}

#[test]
fn errors_fail_the_turn_that_is_open() {
    check_turns(
        "start t1\nuser a\nerror other\ndone t1\nerror other\nstart t2\nerror thread_rollback_failed\ndone t2\n\
         start t3\nerror bad_request\nabort t3",
        &expect![[r#"
            t1 failed {"message":"bad","codexErrorInfo":"other","additionalDetails":null}
              item-1 user a
            t2 completed
            t3 interrupted {"message":"bad","codexErrorInfo":"badRequest","additionalDetails":null}
        "#]],
    );
}

#[test]
fn turns_taken_back_give_their_numbers_back() {
    check_turns(
        "start t1\nuser a\nagent b\ndone t1\nstart t2\nuser c\ncommand t2\nagent d\ndone t2\nrollback 1\n\
         start t3\nuser e\nagent f",
        &expect![[r#"
            t1 completed
              item-1 user a
              item-2 agent b
            t3 completed
              item-3 user e
              item-4 agent f
        "#]],
    );
    check_turns(
        "start t1\nuser a\ndone t1\nrollback 5\nuser b",
        &expect![[r#"
            fresh completed
              item-1 user b
        "#]],
    );
}

#[test]
fn thoughts_that_stand_together_are_one_item() {
    check_turns(
        "start t1\nthought one\nraw two\nthought three\nthought \nagent x\nraw four\nagent \nagent y\ndone t1",
        &expect![[r#"
            t1 completed
              {"type":"reasoning","id":"item-1","summary":["one","three"],"content":["two"]}
              item-2 agent x
              {"type":"reasoning","id":"item-3","summary":[],"content":["four"]}
              item-4 agent y
        "#]],
    );
}

#[test]
fn commands_belong_to_the_turn_that_began_them() {
    check_turns(
        "start t1\nuser a\ndone t1\nstart t2\nuser b\ncommand t1\ncommand other\ndone t2",
        &expect![[r#"
            t1 completed
              item-1 user a
              {"type":"commandExecution","id":"c1","command":"bash -c 'echo hi'","cwd":"/w","processId":null,"status":"completed","commandActions":[{"type":"unknown","command":"echo hi"}],"aggregatedOutput":"hi\n","exitCode":0,"durationMs":5}
            t2 completed
              item-2 user b
              {"type":"commandExecution","id":"c1","command":"bash -c 'echo hi'","cwd":"/w","processId":null,"status":"completed","commandActions":[{"type":"unknown","command":"echo hi"}],"aggregatedOutput":"hi\n","exitCode":0,"durationMs":5}
        "#]],
    );
}

#[test]
fn other_tools_and_pictures_are_items_of_their_own() {
    check_turns(
        r#"start t1
        {"type":"user_message","message":"  ","images":["http://x/y"],"local_images":["/w/a.png"],"text_elements":[]}
        {"type":"patch_apply_end","call_id":"p1","turn_id":"t1","stdout":"","stderr":"","success":true,"changes":{"/w/b":{"type":"update","unified_diff":"@@\n","move_path":"/w/c"},"/w/a":{"type":"add","content":"x\n"}},"status":"completed"}
        {"type":"view_image_tool_call","call_id":"i1","path":"/w/a.png"}
        {"type":"web_search_end","call_id":"s1","query":"q","action":{"type":"search","query":"q"}}
        {"type":"item_completed","thread_id":"x","turn_id":"t1","item":{"type":"Plan","id":"t1-plan","text":"plan"}}
        done t1"#,
        &expect![[r##"
            t1 completed
              {"type":"userMessage","id":"item-1","content":[{"type":"image","url":"http://x/y"},{"type":"localImage","path":"/w/a.png"}]}
              {"type":"fileChange","id":"p1","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"},{"path":"/w/b","kind":{"type":"update","move_path":"/w/c"},"diff":"@@\n\n\nMoved to: /w/c"}],"status":"completed"}
              {"type":"imageView","id":"i1","path":"/w/a.png"}
              {"type":"webSearch","id":"s1","query":"q","action":{"type":"search","query":"q","queries":null}}
              {"type":"plan","id":"t1-plan","text":"plan"}
        "##]],
    );
}

#[test]
fn a_review_is_shown_by_its_explanation() {
    check_turns(
        r#"start t1
        {"type":"entered_review_mode","target":{"type":"uncommittedChanges"},"user_facing_hint":"current changes"}
        {"type":"exited_review_mode","review_output":{"findings":[{"title":"[P1] x","body":"b","confidence_score":0.5,"priority":1,"code_location":{"absolute_file_path":"/a","line_range":{"start":1,"end":2}}}],"overall_correctness":"ok","overall_explanation":" Fine. ","overall_confidence_score":0.5}}
        {"type":"entered_review_mode","target":{"type":"uncommittedChanges"}}
        {"type":"exited_review_mode","review_output":null}
        done t1"#,
        &expect![[r#"
            t1 completed
              {"type":"enteredReviewMode","id":"item-1","review":"current changes"}
              {"type":"exitedReviewMode","id":"item-2","review":"Fine."}
              {"type":"enteredReviewMode","id":"item-3","review":"Review requested."}
              {"type":"exitedReviewMode","id":"item-4","review":"Reviewer failed to output a response."}
        "#]],
    );
}

#[test]
fn the_turn_that_runs_takes_the_place_of_what_the_file_has_of_it() {
    let of_file = rebuild_with(&records("start t1\nuser a\ndone t1\nstart t2"), || "fresh".to_owned());
    let turns = with_running(of_file, Some(Turn::in_progress("t2")));
    expect![[r#"
        t1 completed
          item-1 user a
        t2 inProgress
    "#]]
    .assert_eq(&shown(&turns));
}
