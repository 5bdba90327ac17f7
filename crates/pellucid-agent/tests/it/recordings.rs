//! A recorded session plays back to the same events, and what it would send next is the same.

use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_model::Tape;
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

/// Plays operations live and from the recording, and compares the events and the next request.
#[track_caller]
fn check_playback(settings: &str, replies: Vec<MockReply>, operations: &[Operation]) {
    let files = Workspace::empty();
    let server = MockServer::start(replies);
    configure(&files, "", &server);
    let mut config = files.read("home/config.toml");
    config = config.replace("stream_max_retries = 0\n", settings);
    files.write("home/config.toml", config);
    let path = files.path("r.jsonl");
    let live = open(&files, |provider| {
        let tape = Tape::create(&path, provider).unwrap();
        Model::http(Transport::default(), provider, None, &|_| None).recorded(&tape)
    });
    let live = run(live, operations.to_vec());
    let played = open(&files, |_| Model::scripted(Script::load(&path).unwrap()));
    let played = run(played, operations.to_vec());
    // A call runs beside the rest of its reply, so its events may come earlier or later than those of the reply.
    let sorted = |mut names: Vec<_>| {
        names.sort();
        names
    };
    assert_eq!(sorted(played.1), sorted(live.1), "{}", files.read("r.jsonl"));
    let next_request = |mut session: pellucid_agent::session::Session| {
        let frame = session.frame(None);
        let mut body: Value = serde_json::from_slice(&session.request(&frame).body()).unwrap();
        // Each of the two is a session of its own.
        body["prompt_cache_key"].take();
        body
    };
    let last = serde_json::from_slice::<Value>(&server.requests().last().unwrap().body).unwrap();
    let (live, played) = (next_request(live.0), next_request(played.0));
    assert_eq!(played, live);
    let (sent, next) = (last["input"].as_array().unwrap(), played["input"].as_array().unwrap());
    assert!(next.starts_with(sent), "what was sent last is the beginning of what comes next");
}

#[test]
fn tools_retries_and_errors_lead_to_the_same_requests() {
    let plan = json!({
        "type": "function_call", "id": "fc", "call_id": "c1", "name": "update_plan",
        "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}",
    });
    let broken = MockReply::items([plan.clone(), json!({ "type": "web_search_call", "id": "ws" })]);
    let n_bytes = broken.body_len();
    check_playback(
        "stream_max_retries = 1\n",
        vec![
            MockReply::items([plan]).header("x-codex-turn-state", "t"),
            broken.cut_after(n_bytes - 60),
            MockReply::say("One."),
            MockReply::status(400, "no"),
            MockReply::say("Three."),
        ],
        &[say("one"), say("two"), say("three")],
    );
}
