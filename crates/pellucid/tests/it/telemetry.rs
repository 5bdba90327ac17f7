//! Telemetry of the program: the same turn for every client, with what leaves and what does not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pellucid_engine::pack::Pack;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::OtlpReceiver;
use pellucid_testkit::otlp::Exported;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use crate::Ran;
use crate::World;
use crate::context_events::Client;

/// The text that must not leave with `content = "none"`.
const PLANTED: &str = "PLANTED-0a1b2c3d4e";

/// A configuration that sends everything to a collector.
fn configure(world: &World, server: &MockServer, receiver: &OtlpReceiver, wire: &str, protocol: &str, more: &str) {
    let exporter = |signal| {
        format!("{{ otlp-http = {{ endpoint = \"{}\", protocol = \"{protocol}\" }} }}", receiver.endpoint(signal))
    };
    let config = format!(
        "model = \"gpt-5.1-codex\"\nmodel_provider = \"mock\"\n\
         [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\nrequest_max_retries = 1\n\
         stream_max_retries = 1\n\
         [otel]\nenvironment = \"cap\"\nexporter = {}\ntrace_exporter = {}\nmetrics_exporter = {}\n{more}\n",
        server.base_url(),
        exporter("logs"),
        exporter("traces"),
        exporter("metrics"),
    );
    world.files.write("home/config.toml", config);
}

fn call(command: &str) -> Value {
    let arguments = json!({ "command": command }).to_string();
    json!({ "type": "function_call", "name": "shell_command", "call_id": "c1", "arguments": arguments })
}

fn said(text: &str) -> Value {
    json!({ "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

fn reply(wire: &str, item: Value) -> MockReply {
    match wire {
        "chat" => MockReply::chat([item]),
        "messages" => MockReply::messages([item]),
        _ => MockReply::items([item]),
    }
}

/// The turn of the capture: a call, and an answer.
fn turn_of_capture(wire: &str) -> MockServer {
    MockServer::start([reply(wire, call("echo hi")), reply(wire, said("done"))])
}

#[track_caller]
fn done(world: &World, args: &[&str]) -> Ran {
    let ran = world.run(args);
    assert_eq!(ran.status, 0, "{args:?}: {}{}", ran.out(), ran.stderr);
    ran
}

fn named<'e>(all: &'e [Exported], name: &str) -> Vec<&'e Exported> {
    all.iter().filter(|it| it.name == name).collect()
}

/// The events of Codex CLI 0.104.0 for the same turn, in order, with the attributes that are not common to all.
const CAPTURED: &str = "\
codex.conversation_starts: approval_policy mcp_servers provider_name reasoning_summary sandbox_policy
codex.user_prompt: prompt prompt_length
codex.api_request: attempt duration_ms http.response.status_code
codex.sse_event: duration_ms event.kind
codex.sse_event: duration_ms event.kind
codex.sse_event: duration_ms event.kind
codex.sse_event: cached_token_count event.kind input_token_count output_token_count reasoning_token_count tool_token_count
codex.tool_decision: call_id decision source tool_name
codex.tool_result: arguments call_id duration_ms output success tool_name
codex.api_request: attempt duration_ms http.response.status_code
codex.sse_event: duration_ms event.kind
codex.sse_event: duration_ms event.kind
codex.sse_event: duration_ms event.kind
codex.sse_event: cached_token_count event.kind input_token_count output_token_count reasoning_token_count tool_token_count";

/// What all of them have.
const COMMON: [&str; 8] =
    ["app.version", "conversation.id", "event.name", "event.timestamp", "model", "originator", "slug", "terminal.type"];

#[test]
fn the_turn_of_the_capture_has_its_events_and_attributes() {
    for protocol in ["json", "binary"] {
        let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
        configure(&world, &server, &receiver, "responses", protocol, "");
        let ran = done(&world, &["exec", "-s", "danger-full-access", "say hi"]);
        assert_eq!(ran.out(), "done\n");
        let logs = receiver.logs();
        let lines: Vec<String> = logs
            .iter()
            .filter(|log| log.attributes.get("event.kind").is_none_or(|kind| kind != "response.output_item.added"))
            .map(|log| {
                for name in COMMON {
                    assert!(log.attributes.contains_key(name), "{} has no {name}", log.name);
                }
                let own: Vec<&str> =
                    log.attributes.keys().map(String::as_str).filter(|name| !COMMON.contains(name)).collect();
                format!("{}: {}", log.name, own.join(" "))
            })
            .collect();
        assert_eq!(lines.join("\n"), CAPTURED, "{protocol}");
        let decision = named(&logs, "codex.tool_decision")[0];
        assert_eq!(
            (&decision.attributes["decision"], &decision.attributes["source"]),
            (&"approved".into(), &"Config".into())
        );
        assert_eq!(logs[0].resource["service.name"], "pellucid_exec");
        assert_eq!(logs[0].resource["env"], "cap");
        let figures: BTreeSet<String> = receiver.points().into_iter().map(|point| point.name).collect();
        for name in [
            "codex.thread.started",
            "codex.conversation.turn.count",
            "codex.turn.e2e_duration_ms",
            "codex.api_request",
            "codex.api_request.duration_ms",
            "codex.sse_event",
            "codex.sse_event.duration_ms",
            "codex.tool.call",
            "codex.tool.call.duration_ms",
        ] {
            assert!(figures.contains(name), "{name}: {figures:?}");
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The line with this hash, of all files below a folder.
fn record_line(folder: &Path, hash: &str) -> Value {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path)
                && let Some(line) = bytes.split(|byte| *byte == b'\n').find(|line| sha256(line) == hash)
            {
                return serde_json::from_slice(line).unwrap();
            }
        }
    }
    panic!("no line has the hash {hash}")
}

#[test]
fn spans_name_the_requests_that_replay_proves() {
    for wire in ["responses", "chat", "messages"] {
        let (server, receiver, world) = (turn_of_capture(wire), OtlpReceiver::start(), World::new(""));
        configure(&world, &server, &receiver, wire, "binary", "");
        done(&world, &["exec", "say hi"]);
        let replayed = done(&world, &["replay", "--last", "--json"]);
        let replayed: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        let spans = receiver.spans();
        let mut chats = named(&spans, "chat gpt-5.1-codex");
        chats.sort_by_key(|span| span.attributes["pellucid.request.n"].as_str().map(str::to_owned));
        assert_eq!(chats.len(), 2, "{wire}");
        let requests = replayed["requests"].as_array().unwrap();
        for (n, (span, request)) in chats.iter().zip(requests).enumerate() {
            assert_eq!(span.attributes["pellucid.request.n"], (n + 1).to_string(), "{wire}");
            let body = &server.requests()[n].body;
            assert_eq!(span.attributes["pellucid.request.sha256"], sha256(body), "{wire}");
            assert_eq!(span.attributes["pellucid.request.bytes"], body.len().to_string(), "{wire}");
            // The same bytes are rebuilt, and the line of the record says so.
            let (verdict, bytes) = (&request["verdict"], request["bytes"].as_u64());
            assert_eq!((verdict, bytes), (&"equal".into(), Some(body.len() as u64)), "{wire}");
            let line =
                record_line(&world.files.path("home"), span.attributes["pellucid.record.sha256"].as_str().unwrap());
            assert_eq!(line["n"].to_string(), span.attributes["pellucid.record.n"].as_str().unwrap(), "{wire}");
            assert!(line.to_string().contains(&sha256(body)), "{wire}: {line}");
            let layers: u64 = span
                .attributes
                .iter()
                .filter(|(name, _)| name.starts_with("pellucid.layers."))
                .map(|(_, bytes)| bytes.as_str().unwrap().parse::<u64>().unwrap())
                .sum();
            assert_eq!(layers, body.len() as u64, "{wire}: the layers are the whole body");
        }
        let turn = named(&spans, "invoke_agent pellucid")[0];
        let tool = named(&spans, "execute_tool shell_command")[0];
        for span in [chats[0], chats[1], tool] {
            assert_eq!(span.record["parentSpanId"], turn.record["spanId"], "{wire}");
            assert_eq!(span.record["traceId"], turn.record["traceId"], "{wire}");
        }
    }
}

/// A situation of the corpus, with the secret wherever a text can be.
struct Situation {
    name: &'static str,
    replies: fn(&str) -> Vec<MockReply>,
    is_failure: bool,
}

const SITUATIONS: [Situation; 4] = [
    Situation {
        name: "a call and an answer",
        replies: |wire| {
            vec![reply(wire, call(&format!("echo {PLANTED}"))), reply(wire, said(&format!("{PLANTED} done")))]
        },
        is_failure: false,
    },
    Situation {
        name: "a tool that does not exist",
        replies: |wire| {
            let unknown = json!({
                "type": "function_call", "name": format!("{PLANTED} tool"), "call_id": format!("{PLANTED} id"),
                "arguments": format!("{{\"x\":\"{PLANTED}\"}}"),
            });
            vec![reply(wire, unknown), reply(wire, said("done"))]
        },
        is_failure: false,
    },
    Situation {
        name: "a request that is refused",
        replies: |_| {
            let body =
                format!("{{\"error\":{{\"message\":\"{PLANTED}\",\"type\":\"{PLANTED}\",\"code\":\"{PLANTED}\"}}}}");
            vec![MockReply::status(400, &body)]
        },
        is_failure: true,
    },
    Situation {
        name: "a stream that breaks",
        replies: |wire| {
            let whole = reply(wire, said(&format!("{PLANTED} done")));
            let half = whole.body_len() / 2;
            vec![whole.clone().cut_after(half), whole]
        },
        is_failure: false,
    },
];

#[test]
fn no_text_leaves_with_contents_off() {
    let packs = Pack::builtin_names();
    let mut cells = Vec::new();
    // Every pack on one wire, and every situation, wire and encoding with one pack.
    for pack in &packs {
        cells.push((*pack, &SITUATIONS[0], "responses", "json"));
    }
    for situation in &SITUATIONS {
        for (wire, protocol) in [("responses", "binary"), ("chat", "json"), ("messages", "binary")] {
            cells.push(("codex", situation, wire, protocol));
        }
    }
    for (pack, situation, wire, protocol) in cells {
        let cell = format!("{pack}, {}, {wire}, {protocol}", situation.name);
        let (server, receiver) = (MockServer::start((situation.replies)(wire)), OtlpReceiver::start());
        let world = World::new(&format!("//- work/AGENTS.md\n{PLANTED}\n//- work/{PLANTED}.txt\n{PLANTED}\n"));
        configure(&world, &server, &receiver, wire, protocol, "schema = \"both\"");
        let ran = world.run(&["exec", "--pack", pack, &format!("{PLANTED} say hi")]);
        assert_eq!(ran.status != 0, situation.is_failure, "{cell}: {}{}", ran.out(), ran.stderr);
        let requests = receiver.requests();
        let paths: BTreeSet<&str> = requests.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(paths, ["/v1/logs", "/v1/metrics", "/v1/traces"].into(), "{cell}");
        for request in &requests {
            let body = String::from_utf8_lossy(&request.body);
            assert!(!body.contains(PLANTED) && !body.contains("PLANTED"), "{cell}: {} {body}", request.path);
        }
        // The secret was there to be sent.
        assert!(String::from_utf8_lossy(&server.requests()[0].body).contains(PLANTED), "{cell}");
        for point in receiver.points() {
            let names: Vec<&String> = point.attributes.keys().collect();
            assert!(
                !names.iter().any(|name| name.contains("conversation") || name.contains("call")),
                "{cell} {names:?}"
            );
        }
    }
}

#[test]
fn texts_leave_if_they_are_asked_for_and_keys_do_not() {
    let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
    configure(&world, &server, &receiver, "responses", "json", "schema = \"both\"\ncontent = \"full\"");
    let key = "sk-0123456789abcdefghijklmnopqrstuv";
    done(&world, &["exec", &format!("say hi {PLANTED} {key}")]);
    let spans = receiver.spans();
    let chats = named(&spans, "chat gpt-5.1-codex");
    let messages = chats[1].attributes["gen_ai.input.messages"].as_str().unwrap();
    let messages: Value = serde_json::from_str(messages).unwrap();
    let last = messages.as_array().unwrap().last().unwrap();
    assert_eq!((&last["role"], &last["parts"][0]["type"]), (&"tool".into(), &"tool_call_response".into()));
    assert!(chats[1].attributes["gen_ai.output.messages"].as_str().unwrap().contains("done"));
    let bodies: Vec<u8> = receiver.requests().into_iter().flat_map(|request| request.body).collect();
    let text = String::from_utf8_lossy(&bodies);
    assert!(text.contains(PLANTED) && text.contains("echo hi") && !text.contains(key));
}

#[test]
fn a_dead_collector_costs_the_turn_nothing_and_is_named_once() {
    let (server, world) = (turn_of_capture("responses"), World::new(""));
    let hangs = OtlpReceiver::answering(MockReply::silence);
    configure(&world, &server, &hangs, "responses", "json", "");
    let ran = done(&world, &["exec", "say hi"]);
    assert_eq!(ran.out(), "done\n");
    assert_eq!(ran.stderr.matches("telemetry is incomplete").count(), 1, "{}", ran.stderr);
    let dead = OtlpReceiver::start();
    let (server, world) = (turn_of_capture("responses"), World::new(""));
    configure(&world, &server, &dead, "responses", "json", "");
    drop(dead);
    let ran = done(&world, &["exec", "say hi"]);
    assert_eq!(ran.out(), "done\n");
    assert_eq!(ran.stderr.matches("logs are not exported to http://127.0.0.1").count(), 1, "{}", ran.stderr);
}

#[test]
fn what_is_not_configured_or_not_supported_sends_nothing() {
    let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
    configure(&world, &server, &receiver, "responses", "json", "");
    let config = world.files.read("home/config.toml");
    let (before, _) = config.split_once("[otel]").unwrap();
    world.files.write(
        "home/config.toml",
        format!("{before}[otel]\nexporter = {{ otlp-grpc = {{ endpoint = \"{}\" }} }}\n", receiver.endpoint("logs")),
    );
    let ran = done(&world, &["exec", "say hi"]);
    assert!(ran.stderr.contains("`otel.exporter` names `otlp-grpc`"), "{}", ran.stderr);
    assert!(receiver.requests().is_empty());
}

#[test]
fn variables_export_where_no_file_does_and_the_program_above_is_the_parent() {
    let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
    configure(&world, &server, &receiver, "responses", "json", "");
    let config = world.files.read("home/config.toml");
    let (before, _) = config.split_once("[otel]").unwrap();
    world.files.write("home/config.toml", format!("{before}[otel]\npropagate = true\n"));
    let above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let base = receiver.base();
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", base.as_str()), ("TRACEPARENT", above), ("OTEL_SERVICE_NAME", "mine")];
    let ran = world.run_in(&["exec", "say hi"], &variables);
    assert_eq!((ran.status, ran.out()), (0, "done\n"), "{}", ran.stderr);
    let spans = receiver.spans();
    let turn = named(&spans, "invoke_agent pellucid")[0];
    assert_eq!(
        (&turn.record["parentSpanId"], &turn.resource["service.name"]),
        (&"b7ad6b7169203331".into(), &"mine".into())
    );
    // Requests to the model name their spans.
    for (request, span) in server.requests().iter().zip(named(&spans, "chat gpt-5.1-codex")) {
        let parent = request.header("traceparent").unwrap();
        assert_eq!(
            parent,
            format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", span.record["spanId"].as_str().unwrap())
        );
    }
}

#[test]
fn requests_name_no_span_unless_that_is_configured() {
    let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
    configure(&world, &server, &receiver, "responses", "json", "");
    done(&world, &["exec", "say hi"]);
    assert!(server.requests().iter().all(|request| request.header("traceparent").is_none()));
}

#[test]
fn a_session_without_a_file_is_exported_too() {
    let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
    configure(&world, &server, &receiver, "responses", "json", "");
    done(&world, &["exec", "--ephemeral", "say hi"]);
    let spans = receiver.spans();
    let chats = named(&spans, "chat gpt-5.1-codex");
    assert_eq!((chats.len(), named(&spans, "execute_tool shell_command").len()), (2, 1));
    assert!(chats.iter().all(|span| span.attributes.contains_key("pellucid.request.sha256")));
    assert!(chats.iter().all(|span| !span.attributes.contains_key("pellucid.record.n")));
}

#[test]
fn sessions_of_the_app_server_are_exported_when_it_ends() {
    let (server, receiver, world) = (turn_of_capture("responses"), OtlpReceiver::start(), World::new(""));
    configure(&world, &server, &receiver, "responses", "json", "");
    let mut client = Client::of(&world, &[]);
    client.introduce(&json!({}));
    let (thread, _) = client.turn("thread/start", &json!({}), "say hi");
    client.leave();
    let spans = receiver.spans();
    let turn = named(&spans, "invoke_agent pellucid");
    assert_eq!(turn.len(), 1);
    assert_eq!(turn[0].attributes["gen_ai.conversation.id"], thread.as_str());
    assert_eq!(turn[0].resource["service.name"], "test");
}
