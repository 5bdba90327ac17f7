use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::fragment::concat;

/// Checks the prompt for a session with these lines; `window` is in tokens.
#[track_caller]
fn check_input(items: &str, window: Option<i64>, expected: &Expect) {
    let items: Vec<Item> = items
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let pack = Pack::builtin("codex").unwrap();
    let session = ExtractionSource { path: "/h/s.jsonl", cwd: "/w", items: &items };
    let input = input(&pack, &session, window);
    let contents: Vec<&Fragment> = input.iter().filter(|it| it.origin.kind() == "provided").collect();
    let facts: Vec<&str> = input.iter().filter(|it| it.origin.kind() == "fact").map(|it| it.text.as_str()).collect();
    let contents: String = contents.iter().map(|it| it.text.as_str()).collect();
    expected.assert_eq(&format!("{facts:?}\n{}\n", contents.replace("},{", "},\n{")));
}

#[test]
fn what_was_said_and_done_is_shown() {
    check_input(
        r#"
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}
        {"type":"message","role":"user","content":[{"type":"input_text","text":"count é"}]}
        {"type":"reasoning","summary":[],"encrypted_content":"x"}
        {"type":"function_call","id":"f","name":"shell","arguments":"{\"a\":1}","call_id":"c"}
        {"type":"function_call_output","call_id":"c","output":"12"}
        {"type":"local_shell_call","call_id":"d","status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":null,"working_directory":null,"env":null,"user":null}}
        {"type":"custom_tool_call","call_id":"e","name":"apply_patch","input":"p"}
        {"type":"custom_tool_call_output","call_id":"e","output":"ok"}
        {"type":"web_search_call","status":"completed"}
        {"type":"ghost_snapshot","ghost_commit":{"id":"a","parent":null,"preexisting_untracked_files":[],"preexisting_untracked_dirs":[]}}
        {"type":"compaction","encrypted_content":"x"}
        {"type":"unheard_of"}
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"12."}]}
        "#,
        None,
        &expect![[r#"
            ["/h/s.jsonl", "/w"]
            [{"type":"message","role":"user","content":[{"type":"input_text","text":"count é"}]},
            {"type":"function_call","name":"shell","arguments":"{\"a\":1}","call_id":"c"},
            {"type":"function_call_output","call_id":"c","output":"12"},
            {"type":"local_shell_call","call_id":"d","status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":null,"working_directory":null,"env":null,"user":null}},
            {"type":"custom_tool_call","call_id":"e","name":"apply_patch","input":"p"},
            {"type":"custom_tool_call_output","call_id":"e","output":"ok"},
            {"type":"web_search_call","status":"completed"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"12."}]}]
        "#]],
    );
}

#[test]
fn a_long_session_is_cut_to_a_share_of_the_window() {
    let long = format!(
        r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{}"}}]}}"#,
        "a".repeat(200)
    );
    check_input(
        &long,
        Some(30),
        &expect![[r#"
        ["/h/s.jsonl", "/w"]
        [{"type":"message","role":"user","content"…49 tokens truncated…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}]
    "#]],
    );
    check_input(
        &long,
        Some(0),
        &expect![[r#"
        ["/h/s.jsonl", "/w"]
        [{"type":"message","role":"user","content":[{"type":"input_text","text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}]
    "#]],
    );
}

#[test]
fn the_model_reads_the_keys_of_its_answer() {
    let pack = Pack::builtin("codex").unwrap();
    let text = concat(&instructions(&pack));
    for word in ["rollout_summary", "rollout_slug", "raw_memory"] {
        assert!(text.contains(word), "{word}");
    }
}

#[track_caller]
fn check_answer(answer: &str, expected: &Expect) {
    let shown = match parse(answer) {
        Ok(None) => "nothing".to_owned(),
        Ok(Some(it)) => format!("{:?} {:?} {:?}", it.raw_memory, it.rollout_summary, it.rollout_slug),
        Err(why) => why,
    };
    expected.assert_eq(&shown);
}

#[test]
fn answers_have_one_form() {
    check_answer(r#"{"raw_memory":"a","rollout_summary":"b","rollout_slug":"c"}"#, &expect![[r#""a" "b" Some("c")"#]]);
    check_answer(r#"{"raw_memory":"a","rollout_summary":"b"}"#, &expect![[r#""a" "b" None"#]]);
    check_answer(r#"{"raw_memory":"a","rollout_summary":"","rollout_slug":null}"#, &expect!["nothing"]);
    check_answer(r#"{"raw_memory":"","rollout_summary":"","rollout_slug":""}"#, &expect!["nothing"]);
    check_answer(
        r#"{"raw_memory":"a","rollout_summary":"b","more":1}"#,
        &expect![
            "the answer has another form: unknown field `more`, expected one of `raw_memory`, `rollout_summary`, `rollout_slug` at line 1 column 46"
        ],
    );
    check_answer("none", &expect!["the answer has another form: expected ident at line 1 column 2"]);
}
