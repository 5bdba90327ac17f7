//! Sessions of several turns, against a mock server.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

mod answers;
mod client_tools;
mod contained;
mod crew;
mod disks;
mod documents;
mod elicitation;
mod faults;
mod login;
mod mcp;
mod origins;
mod pack_mutations;
mod questions;
mod recordings;
mod replays;
mod rules;
#[path = "../common/sessions.rs"]
mod sessions;
mod skills;
mod sockets;
mod tampering;
mod turns;
mod windows;

use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::operation::Operation;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;

pub use self::sessions::configure;
pub use self::sessions::open;
pub use self::sessions::run;
pub use self::sessions::run_for_events;
pub use self::sessions::setup;
pub use self::sessions::setup_with;

/// What came of a session.
#[derive(Debug)]
pub struct Played {
    /// The bodies that the server received.
    pub requests: Vec<Value>,
    /// The names of the events, and the texts of errors.
    pub events: Vec<String>,
}

/// Plays operations one after the other, each once the one before is done.
pub fn play(config: &str, replies: Vec<MockReply>, operations: Vec<Operation>) -> Played {
    play_in(&Workspace::empty(), config, replies, operations)
}

/// The same with further models.
pub fn play_with_models(cache: &Value, replies: Vec<MockReply>, operations: Vec<Operation>) -> Played {
    let files = Workspace::empty();
    files.write("home/models_cache.json", cache.to_string());
    play_in(&files, "", replies, operations)
}

fn play_in(files: &Workspace, config: &str, replies: Vec<MockReply>, operations: Vec<Operation>) -> Played {
    let server = MockServer::start(replies);
    configure(files, config, &server);
    let session = open(files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let (_, events) = run(session, operations);
    let requests = server.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    Played { requests, events }
}

/// The items of a request, a line each.
pub fn outline(body: &Value) -> String {
    let line = |item: &Value| {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        let start = text.lines().next().unwrap_or_default();
        let start: String = start.chars().take(40).collect();
        format!("{} {start}", item["role"].as_str().or(item["type"].as_str()).unwrap_or_default()).trim_end().to_owned()
    };
    body["input"].as_array().unwrap().iter().map(line).collect::<Vec<_>>().join("\n")
}
