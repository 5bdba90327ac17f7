//! Turns over a WebSocket: what is sent, and what happens when it does not work.

use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_model::Tape;
use pellucid_model::Transport;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::MockSocket;
use pellucid_testkit::Say;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::configure;
use crate::open;
use crate::run;

fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

/// A round in which the model gives items.
fn round(id: &str, items: &[Value]) -> Vec<Say> {
    let mut says = vec![Say::Json(json!({ "type": "response.created", "response": { "id": id } }))];
    says.extend(items.iter().map(|item| Say::Json(json!({ "type": "response.output_item.done", "item": item }))));
    says.push(Say::Json(json!({ "type": "response.completed", "response": { "id": id } })));
    says
}

fn plan(id: &str) -> Value {
    json!({
        "type": "function_call", "id": "fc", "call_id": id, "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
    })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

struct Played {
    server: MockServer,
    events: Vec<String>,
}

/// Plays turns with a server that takes WebSockets, and once more from the recording.
fn play(settings: &str, replies: Vec<MockReply>, sockets: Vec<MockSocket>, turns: &[&str]) -> Played {
    let files = Workspace::empty();
    let server = MockServer::with_sockets(replies, sockets);
    configure(&files, "features.responses_websockets_v2 = true", &server);
    let config = files.read("home/config.toml").replace("stream_max_retries = 0\n", settings);
    files.write("home/config.toml", format!("{config}supports_websockets = true\n"));
    let operations: Vec<Operation> = turns.iter().map(|text| say(text)).collect();
    let path = files.path("r.toml");
    let live = open(&files, |provider| {
        let tape = Tape::create(&path, provider).unwrap();
        Model::http(Transport::default(), provider, None, &|_| None).recorded(&tape)
    });
    let (_, events) = run(live, operations.clone());
    let (_, played) = run(open(&files, |_| Model::scripted(Script::load(&path).unwrap())), operations);
    // A tool runs while the reply is read, so its events may come before or after those of the reply's end.
    let sorted = |events: &[String]| {
        let mut events = events.to_vec();
        events.sort_unstable();
        events
    };
    assert_eq!(sorted(&played), sorted(&events), "{}", files.read("r.toml"));
    Played { server, events }
}

/// What was sent, a line each: the items, or what they add to.
fn outline(server: &MockServer) -> Vec<String> {
    let line = |text: &String| {
        let message: Value = serde_json::from_str(text).unwrap();
        let items = message["input"].as_array().unwrap().iter();
        let kinds: Vec<&str> = items.map(|item| item["role"].as_str().or(item["type"].as_str()).unwrap()).collect();
        let after = message["previous_response_id"].as_str().unwrap_or("-");
        format!("{} {after}: {}", message["type"].as_str().unwrap(), kinds.join(" "))
    };
    server.messages().iter().map(line).collect()
}

#[test]
fn a_turn_sends_only_what_is_new() {
    let first = MockSocket::open([
        round("r1", &[message("Let me see."), plan("c1")]),
        round("r2", &[plan("c2"), plan("c3")]),
        round("r3", &[message("Done.")]),
    ]);
    let second = MockSocket::open([round("r4", &[message("Yes.")])]);
    let played = play("stream_max_retries = 0\n", vec![], vec![first, second], &["go", "sure?"]);
    assert_eq!(
        outline(&played.server),
        [
            "response.create -: developer user user",
            "response.create r1: function_call_output",
            "response.create r2: function_call_output function_call_output",
            "response.create -: developer user user assistant function_call function_call_output function_call \
             function_call function_call_output function_call_output assistant user",
        ]
    );
    assert_eq!(played.server.requests().len(), 2, "a connection for each turn");
}

#[test]
fn what_the_model_gave_and_we_do_not_keep_is_not_taken_for_known() {
    let odd = json!({ "type": "hologram" });
    let socket = MockSocket::open([round("r1", &[odd, plan("c1")]), round("r2", &[message("Done.")])]);
    let played = play("stream_max_retries = 0\n", vec![], vec![socket], &["go"]);
    assert_eq!(
        outline(&played.server),
        [
            "response.create -: developer user user",
            "response.create -: developer user user function_call function_call_output",
        ]
    );
}

#[test]
fn a_connection_that_keeps_breaking_is_left_for_good() {
    let broken = || MockSocket::open([vec![Say::Close]]);
    let replies = vec![MockReply::say("Over HTTP."), MockReply::say("Still.")];
    let played = play("stream_max_retries = 1\n", replies, vec![broken(), broken()], &["go", "on"]);
    let told: Vec<&String> = played
        .events
        .iter()
        .filter(|event| ["stream_error", "warning", "task_complete"].iter().any(|told| event.starts_with(told)))
        .collect();
    assert_eq!(told, ["warning", "task_complete", "task_complete"], "the first retry is silent");
    let methods: Vec<String> = played.server.requests().into_iter().map(|request| request.method).collect();
    assert_eq!(methods, ["GET", "GET", "POST", "POST"]);
}

#[test]
fn a_server_that_wants_no_websocket_is_not_asked_twice() {
    let replies = vec![MockReply::say("One."), MockReply::say("Two.")];
    let played = play("stream_max_retries = 1\n", replies, vec![MockSocket::refused(426)], &["go", "on"]);
    assert!(!played.events.contains(&"warning".to_owned()), "{:?}", played.events);
    let methods: Vec<String> = played.server.requests().into_iter().map(|request| request.method).collect();
    assert_eq!(methods, ["GET", "POST", "POST"]);
}
