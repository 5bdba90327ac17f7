//! Layouts that drop the oldest turns: a running summary stands for them.

use expect_test::expect;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_testkit::MockReply;
use serde_json::Value;

use crate::outline;
use crate::play;

fn say(text: &str) -> Operation {
    // A thousand tokens each, by the estimate.
    let text = format!("{text}\n{}", "x".repeat(4_000));
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

fn play_agentcore(window: i64, replies: Vec<MockReply>, n_turns: usize) -> crate::Played {
    let config = format!("pack = \"agentcore\"\nmodel_context_window = {window}\n");
    let turns = ["one", "two", "three", "four", "five"].into_iter().take(n_turns).map(say).collect();
    play(&config, replies, turns)
}

fn answers(texts: &[&str]) -> Vec<MockReply> {
    texts.iter().map(|text| MockReply::say(text)).collect()
}

#[test]
fn the_oldest_turn_goes_and_a_summary_stands_for_it() {
    let played = play_agentcore(5_200, answers(&["a1", "a2", "a3", "they said one", "a4"]), 4);
    let [.., question, last] = played.requests.as_slice() else {
        panic!("{:?}", played.events);
    };
    let asked = question["input"][0]["content"][0]["text"].as_str().unwrap();
    assert!(asked.starts_with("<new_transcript>\n[user] one\n"), "{asked}");
    assert!(asked.ends_with("\n[assistant] a1\n</new_transcript>\n"), "{asked}");
    assert_eq!(question["tools"].as_array().map(Vec::len), Some(0));
    assert_ne!(question["instructions"], last["instructions"]);
    expect![[r#"
        assistant <conversation_summary>
        user two
        assistant a2
        user three
        assistant a3
        user four"#]]
    .assert_eq(&outline(last));
    assert_eq!(
        last["input"][0]["content"][0],
        content("<conversation_summary>\nthey said one\n</conversation_summary>")
    );
}

fn content(text: &str) -> Value {
    serde_json::json!({ "type": "output_text", "text": text })
}

#[test]
fn without_an_answer_the_turn_is_lost_and_the_rest_goes_on() {
    let replies = vec![
        MockReply::say("a1"),
        MockReply::say("a2"),
        MockReply::say("a3"),
        MockReply::status(400, "{}"),
        MockReply::say("a4"),
    ];
    let played = play_agentcore(5_200, replies, 4);
    expect![[r#"
        user two
        assistant a2
        user three
        assistant a3
        user four"#]]
    .assert_eq(&outline(played.requests.last().unwrap()));
}

#[test]
fn what_cannot_fit_is_said_with_its_figures() {
    let played = play_agentcore(1_500, Vec::new(), 1);
    assert_eq!(played.requests.len(), 0);
    let error = played.events.iter().find(|event| event.starts_with("error: ")).unwrap();
    assert!(error.contains("prompt tokens exceeds limit 1500 (messages: "), "{error}");
    assert!(error.ends_with("context_window: 1500, reserved_output: 0)"), "{error}");
}
