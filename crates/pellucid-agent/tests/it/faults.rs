//! Servers that break: the turn ends, and what came whole is in the next request.

use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::configure;
use crate::open;
use crate::run;

fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

fn done(text: &str) -> Value {
    json!({ "type": "response.output_item.done", "item": {
        "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }],
    } })
}

fn completed() -> Value {
    json!({ "type": "response.completed", "response": { "id": "r" } })
}

/// Plays two turns, the first with these replies, and gives what the second one sends and what was told.
fn play_then_ask(settings: &str, mut replies: Vec<MockReply>) -> (Vec<String>, Vec<String>) {
    let files = Workspace::empty();
    replies.push(MockReply::say("end"));
    let server = MockServer::start(replies);
    configure(&files, "", &server);
    let config = files.read("home/config.toml").replace("stream_max_retries = 0\n", settings);
    files.write("home/config.toml", config);
    let session = open(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let (_, events) = run(session, vec![say("one"), say("two")]);
    let last: Value = serde_json::from_slice(&server.requests().last().unwrap().body).unwrap();
    let texts = last["input"].as_array().unwrap().iter();
    let texts = texts.filter(|item| item["role"] == "assistant" || item["role"] == "user");
    let texts = texts.map(|item| item["content"][0]["text"].as_str().unwrap().to_owned());
    (texts.filter(|text| !text.starts_with('<')).collect(), events)
}

#[test]
fn a_reply_that_breaks_anywhere_is_asked_for_again_and_keeps_what_came() {
    let whole = MockReply::events([done("a"), done("b"), completed()]);
    for at in (0..whole.body_len() - 2).step_by(97) {
        let broken = whole.clone().break_after(at);
        let (texts, events) = play_then_ask("stream_max_retries = 1\n", vec![broken, whole.clone()]);
        let ends = events.iter().filter(|event| *event == "task_complete").count();
        assert_eq!(ends, 2, "broken at {at}: {events:?}");
        let (first, rest) = texts.split_first().unwrap();
        assert_eq!(first, "one");
        assert!(["a", "b", "two"].iter().rev().eq(rest.iter().rev().take(3)), "broken at {at}: {texts:?}");
    }
}

#[test]
fn many_pieces_and_events_that_come_twice_do_not_harm_a_turn() {
    let added = json!({ "type": "response.output_item.added", "item": { "type": "message", "role": "assistant", "content": [] } });
    let delta = json!({ "type": "response.output_text.delta", "delta": "x" });
    let mut events = vec![added.clone(), added];
    events.extend(std::iter::repeat_n(delta, 10_000));
    events.extend([done("a"), done("a"), completed(), completed()]);
    let (texts, events) = play_then_ask("", vec![MockReply::events(events)]);
    assert_eq!(texts, ["one", "a", "a", "two"]);
    let deltas = events.iter().filter(|event| *event == "agent_message_content_delta").count();
    assert_eq!(deltas, 10_000);
}
