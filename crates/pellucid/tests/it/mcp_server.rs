//! `mcp-server` answers as Codex CLI 0.104.0 did when it was recorded.
//!
//! `mcp_server/codex-0.104.0.json` has the lines that were sent to that program, what the model answered, and the lines that
//! came back. Names stand for what differs from run to run and for texts that a program words for itself; the same names
//! are put into the answers of this program, and then both have to be equal.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const RECORDED: &str = include_str!("mcp_server/codex-0.104.0.json");

/// How long a line may take. Only a failing test waits so long.
const WAIT: Duration = Duration::from_secs(60);

/// Where this program does otherwise on purpose, with the reason: what comes instead of the recorded lines.
const OTHERWISE: [(&str, &str); 1] = [(
    // The call stays open for good in the reference.
    "the error",
    "a command is denied if the client answers with an error",
)];

struct Server {
    child: Child,
    said: ChildStdin,
    heard: mpsc::Receiver<Value>,
}

impl Server {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(&[&["mcp-server"], args].concat());
        command.env("RUST_LOG", "off").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, said, heard }
    }

    fn write(&mut self, line: &str) {
        self.said.write_all(line.as_bytes()).unwrap();
    }

    fn read(&mut self, why: &str) -> Value {
        self.heard.recv_timeout(WAIT).unwrap_or_else(|error| panic!("{why}: {error}"))
    }

    /// Closes the input, and gives the status with the lines that still came.
    fn leave(self) -> (i32, Vec<Value>) {
        let Self { mut child, said, heard } = self;
        drop(said);
        let status = child.wait().unwrap().code().unwrap();
        (status, heard.iter().collect())
    }
}

/// Puts names into a message, as the recording has them.
fn named(message: &mut Value) {
    if let Some(server) = message.pointer_mut("/result/serverInfo") {
        server["version"] = json!("{{VERSION}}");
        server["user_agent"] = json!("{{USER_AGENT}}");
    }
    if let Some(tools) = message.pointer_mut("/result/tools") {
        hide_descriptions(tools);
    }
    if let Some(text) = message.pointer_mut("/result/content/0/text") {
        for head in ["Failed to load Codex configuration from overrides: ", "Failed to parse thread_id: invalid "] {
            if text.as_str().is_some_and(|text| text.starts_with(head)) {
                *text = json!(format!("{}{{{{TEXT}}}}", head.trim_end_matches("invalid ")));
            }
        }
    }
    if message["method"] == "codex/event" {
        let is_first_context = message["params"]["id"] == "auto-compact-0";
        let event = &mut message["params"]["msg"];
        if is_first_context {
            for part in event["item"]["content"].as_array_mut().unwrap() {
                part["text"] = json!("{{TEXT}}");
            }
        }
        for (key, name) in [("rollout_path", "{{ROLLOUT}}"), ("chunk", "{{CHUNK}}"), ("duration", "{{DURATION}}")] {
            if let Some(value) = event.get_mut(key) {
                *value = json!(name);
            }
        }
    }
}

fn hide_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(text) if key == "description" => *text = "{{TEXT}}".to_owned(),
                    _ => hide_descriptions(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide_descriptions),
        _ => {}
    }
}

fn kind(message: &Value) -> &str {
    message["params"]["msg"]["type"].as_str().unwrap_or_default()
}

/// The messages of a step as text. What has no order in the reference gets one: the servers of a session start beside it,
/// tokens are told beside the calls of a reply, and of a call that is refused while its turn ends either may be told.
fn as_text(messages: &[Value], world: &World, ids: &mut BTreeMap<String, usize>) -> String {
    let mut messages = messages.to_vec();
    messages.iter_mut().for_each(named);
    // An output comes in as many pieces as it was read in.
    messages.dedup_by(|it, before| kind(it) == "exec_command_output_delta" && it == before);
    if let Some(at) = messages.iter().position(|it| kind(it) == "mcp_startup_complete") {
        let event = messages.remove(at);
        messages.insert(1, event);
    }
    let (usage, mut messages): (Vec<_>, Vec<_>) = messages.into_iter().partition(|it| kind(it) == "token_count");
    if messages.iter().any(|it| kind(it) == "turn_aborted") {
        messages.retain(|it| kind(it) != "exec_command_end");
        for message in &mut messages {
            if let Some(item) = message.pointer_mut("/params/msg/item")
                && item["type"] == "function_call_output"
            {
                item["output"] = json!("{{REFUSED}}");
            }
        }
    }
    messages.extend(usage);
    let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let root = world.files.root().canonicalize().unwrap();
    let text = text.replace(&format!("{}/work", root.display()), "{{WORK}}");
    numbered(&text, ids)
}

/// Replaces ids by numbers in the order in which they come, and seconds by a name.
fn numbered(text: &str, ids: &mut BTreeMap<String, usize>) -> String {
    const LENGTH: usize = 36;
    let is_id = |part: &str| {
        part.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
    };
    let (mut named, mut at) = (String::new(), 0);
    while at < text.len() {
        match text.get(at..at + LENGTH) {
            Some(part) if is_id(part) => {
                let n = ids.len();
                let n = *ids.entry(part.to_owned()).or_insert(n);
                named += &format!("{{{{UUID:{n}}}}}");
                at += LENGTH;
            }
            _ => {
                let next = text[at..].chars().next().unwrap();
                named.push(next);
                at += next.len_utf8();
            }
        }
    }
    for before in ["Wall time: ", "duration_seconds\\\":"] {
        let mut parts = named.split(before);
        let mut text = parts.next().unwrap().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            text += &format!("{before}{{{{SECS}}}}{rest}");
        }
        named = text;
    }
    named
}

#[test]
fn the_answers_are_those_of_codex_cli() {
    let model = MockServer::start([]);
    let world = World::new("");
    world.files.folder("work/sub");
    world.files.write("work/AGENTS.md", "Be good.\n");
    world.files.write(
        "home/config.toml",
        format!(
            "model_provider = \"mock\"\nmodel = \"gpt-5.2-codex\"\npack = \"codex\"\n[model_providers.mock]\nname = \"mock\"\n\
             base_url = \"{}\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\
             [features]\nshell_snapshot = false\n",
            model.base_url()
        ),
    );
    let mut server = Server::start(&world, &[]);
    let (mut ids, mut recorded_ids) = (BTreeMap::new(), BTreeMap::new());
    let (mut first, mut last, mut question) = (String::new(), String::new(), Value::Null);
    let steps: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    assert!(steps.len() > 40, "{}", steps.len());
    for step in &steps {
        let name = step["name"].as_str().unwrap();
        let expected = step["got"].as_array().unwrap();
        let is_otherwise = OTHERWISE.iter().any(|(step, _)| *step == name);
        for reply in step["model"].as_array().unwrap() {
            model.add([match reply {
                Value::Array(events) => MockReply::events(events.iter().cloned()),
                failure => {
                    let status = u16::try_from(failure["status"].as_u64().unwrap()).unwrap();
                    MockReply::status(status, failure["body"].as_str().unwrap())
                }
            }]);
        }
        let mut sent = step["send"].clone();
        match &mut sent {
            Value::Null => continue,
            Value::String(line) => server.write(line),
            message => {
                if message.get("method").is_none() && message["id"] != 99 {
                    message["id"] = question.clone();
                }
                let line = message.to_string().replace("{{THREAD}}", &first).replace("{{LAST}}", &last);
                server.write(&format!("{line}\n"));
            }
        }
        let mut got: Vec<Value> = Vec::new();
        let is_answered = |got: &[Value]| got.last().is_some_and(|it| it["id"] == 40 && it.get("result").is_some());
        let answer = expected.iter().find(|it| it.get("method").is_none()).map(|it| &it["id"]);
        let ends_aborted = expected.iter().any(|it| kind(it) == "turn_aborted");
        let is_done = |got: &[Value]| match answer {
            _ if is_otherwise => is_answered(got),
            Some(id) => got.iter().any(|it| it.get("method").is_none() && it["id"] == *id),
            None if ends_aborted => got.iter().any(|it| kind(it) == "turn_aborted"),
            None => got.len() >= expected.len(),
        };
        while !is_done(&got) {
            let message = server.read(name);
            let event = &message["params"]["msg"];
            if event["type"] == "session_configured" {
                last = event["session_id"].as_str().unwrap().to_owned();
                if first.is_empty() {
                    first.clone_from(&last);
                }
            }
            if message["method"] == "elicitation/create" {
                question = message["id"].clone();
            }
            got.push(message);
        }
        // Lines are handled in order: what is answered to the step comes before this answer.
        server.write("{\"jsonrpc\":\"2.0\",\"id\":\"then\",\"method\":\"ping\"}\n");
        let then = server.read(name);
        assert_eq!(then["id"], "then", "{name}: more is answered: {then}");
        if is_otherwise {
            continue;
        }
        let got = as_text(&got, &world, &mut ids);
        let expected: String = expected.iter().map(|message| format!("{message}\n")).collect();
        let expected = renumbered(&expected, &mut recorded_ids);
        pretty_same(name, &got, &expected);
    }
    let (status, rest) = server.leave();
    assert_eq!((status, rest), (0, Vec::new()));
}

/// The ids of the recording are names already; they are numbered again, as those of steps that are left out do not count.
fn renumbered(text: &str, ids: &mut BTreeMap<String, usize>) -> String {
    let mut parts = text.split("{{UUID:");
    let mut numbered = parts.next().unwrap().to_owned();
    for part in parts {
        let (id, rest) = part.split_once("}}").unwrap();
        let n = ids.len();
        let n = *ids.entry(id.to_owned()).or_insert(n);
        numbered += &format!("{{{{UUID:{n}}}}}{rest}");
    }
    numbered
}

#[track_caller]
fn pretty_same(step: &str, got: &str, expected: &str) {
    for (n, (got, expected)) in got.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "{step}, line {}", n + 1);
    }
    assert_eq!(got, expected, "{step}");
}
