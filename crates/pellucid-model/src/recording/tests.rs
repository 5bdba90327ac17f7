use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ReasoningContentPart;
use pellucid_protocol::provider::Provider;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::Via;
use pellucid_protocol::secret::Secret;
use pellucid_protocol::usage::RateLimitSnapshot;
use pellucid_protocol::usage::RateLimitWindow;
use pellucid_protocol::usage::TokenUsage;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use std::time::Duration;

use super::tape::Format;
use super::*;
use crate::model::Ask;
use crate::model::Model;
use crate::script::Script;
use crate::transport::Transport;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

type Heard = Vec<Result<ReplyEvent, ReplyError>>;

/// Asks until the model has answered `n` times.
fn replies(model: &Model, n: usize) -> Vec<Heard> {
    run(async {
        let mut all = Vec::new();
        for _ in 0..n {
            let mut heard = Vec::new();
            match model.ask(Ask::default()).await {
                Ok(mut reply) => {
                    while let Some(next) = reply.next().await {
                        heard.push(next);
                    }
                }
                Err(error) => heard.push(Err(error)),
            }
            all.push(heard);
        }
        all
    })
}

fn limits() -> RateLimitSnapshot {
    RateLimitSnapshot {
        limit_id: Some("codex".to_owned()),
        limit_name: None,
        primary: Some(RateLimitWindow { used_percent: 12.0, window_minutes: Some(300), resets_at: None }),
        secondary: None,
        credits: None,
        plan_type: None,
    }
}

/// Every kind of event, with fields that requests omit.
fn every_event() -> Vec<ReplyEvent> {
    let reasoning = Item::Reasoning {
        id: Some("rs".to_owned()),
        summary: Vec::new(),
        content: Some(vec![ReasoningContentPart::Text { text: "beside".to_owned() }]),
        encrypted_content: None,
    };
    let shell = serde_json::from_value(json!({
        "type": "local_shell_call", "id": "l", "status": "completed",
        "action": { "type": "exec", "command": ["ls"], "timeout_ms": i64::MAX },
    }));
    vec![
        ReplyEvent::ServerModel("gpt-z".to_owned()),
        ReplyEvent::RateLimits(limits()),
        ReplyEvent::ReasoningIncluded,
        ReplyEvent::CacheWritten(7),
        ReplyEvent::TurnState(TURN_STATE.to_owned()),
        ReplyEvent::Created,
        ReplyEvent::ItemAdded(reasoning.clone()),
        ReplyEvent::SummaryPartAdded { summary_index: 0 },
        ReplyEvent::SummaryDelta { delta: "a\n\"b\"".to_owned(), summary_index: 0 },
        ReplyEvent::RawReasoningDelta { delta: String::new(), content_index: 1 },
        ReplyEvent::ItemDone(reasoning),
        ReplyEvent::ItemDone(shell.unwrap()),
        ReplyEvent::TextDelta("é🙂\u{1}".to_owned()),
        ReplyEvent::ItemDone(Item::Other),
        ReplyEvent::Completed {
            response_id: "resp".to_owned(),
            usage: Some(TokenUsage { input_tokens: 5, total_tokens: 5, ..TokenUsage::default() }),
        },
    ]
}

fn every_error() -> Vec<ReplyError> {
    let kinds = [
        ReplyErrorKind::Stream,
        ReplyErrorKind::UnexpectedStatus,
        ReplyErrorKind::InternalServer,
        ReplyErrorKind::InvalidRequest,
        ReplyErrorKind::InvalidImage,
        ReplyErrorKind::ContextWindowExceeded,
        ReplyErrorKind::UsageLimitReached,
        ReplyErrorKind::UsageNotIncluded,
        ReplyErrorKind::QuotaExceeded,
        ReplyErrorKind::ServerOverloaded,
        ReplyErrorKind::RetryLimit { status: 418 },
        ReplyErrorKind::MissingKey,
        ReplyErrorKind::Unreachable,
        ReplyErrorKind::Budget,
        ReplyErrorKind::Local,
    ];
    let mut errors: Vec<ReplyError> = kinds.map(|kind| ReplyError::new(kind, format!("{kind:?}"))).into();
    errors.push(ReplyError {
        retry_after: Some(Duration::from_millis(1500)),
        rate_limits: Some(Box::new(limits())),
        via: Via::WebSocket,
        ..ReplyError::stream("wait")
    });
    errors
}

/// Writes a reply in both formats, plays it, and compares.
#[track_caller]
fn check_same(events: &[ReplyEvent], error: Option<ReplyError>) {
    let end = error.as_ref().map_or(End::Completed, End::Failed);
    let written = reply(events.to_vec(), end, &Redactor::default());
    let mut heard: Heard = events.iter().cloned().map(Ok).collect();
    heard.extend(error.map(Err));
    for (name, format) in [("r.toml", Format::Toml), ("r.jsonl", Format::JsonLines)] {
        let text = format.reply(&written);
        let script = Script::parse(name, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(replies(&Model::scripted(script), 1), [heard.clone()], "{text}");
    }
}

#[test]
fn what_is_written_plays_back_to_the_same() {
    let events = every_event();
    check_same(&events, None);
    for error in every_error() {
        check_same(&[], Some(error.clone()));
        check_same(&events[..events.len() - 1], Some(error));
    }
}

/// Records replies of a server, plays the recording, and shows it.
#[track_caller]
fn check_recording(file: &str, secrets: &str, script: Vec<MockReply>, expected: Expect) {
    let n = script.len();
    let server = MockServer::start(script);
    let folder = Workspace::empty();
    let path = folder.path(file);
    let provider = Provider {
        name: "Mock".to_owned(),
        base_url: Some(server.base_url()),
        experimental_bearer_token: Some(Secret::new(secrets)),
        request_max_retries: Some(0),
        stream_max_retries: Some(3),
        ..Provider::default()
    };
    let tape = Tape::create(&path, &provider).unwrap();
    let model = Model::http(Transport::default(), &provider, None, &|_| None).recorded(&tape);
    let live = replies(&model, n);
    tape.finish().unwrap();
    let text = folder.read(file).replace(&server.base_url(), "BASE");
    expected.assert_eq(&text);
    let script = Script::load(&path).unwrap();
    assert_eq!(script.provider().stream_retries(), 3);
    let played = replies(&Model::scripted(script), n);
    assert_eq!(played, live);
}

#[test]
fn a_server_becomes_a_script() {
    let broken = MockReply::say("Hello.").cut_after(150);
    check_recording(
        "r.toml",
        "",
        vec![broken, MockReply::status(400, "no"), MockReply::say("Hello.").header("openai-model", "gpt-z")],
        expect![[r#"
            [provider]
            name = "Mock"
            stream_max_retries = 3

            [[reply]]
            events = [
              { rate_limits = { limit_id = "codex" } },
              "created",
            ]
            error = { kind = "stream", message = "stream disconnected before completion: stream closed before response.completed" }

            [[reply]]
            error = { kind = "invalid_request", message = "no", plain = "the provider refused the request (400 Bad Request): no, url: BASE/responses" }

            [[reply]]
            events = [
              { server_model = "gpt-z" },
              { rate_limits = { limit_id = "codex" } },
              "created",
              { added = { type = "message", role = "assistant", content = [], id = "msg_mock" } },
              { done = { type = "message", role = "assistant", content = [{ type = "output_text", text = "Hello." }], id = "msg_mock" } },
              "cache_read_unknown",
              { completed = { id = "resp_mock", usage = { input_tokens = 100, cached_input_tokens = 0, output_tokens = 10, reasoning_output_tokens = 0, total_tokens = 110 } } },
            ]
        "#]],
    );
    check_recording(
        "r.jsonl",
        "",
        vec![MockReply::events([json!({ "type": "response.completed", "response": { "id": "r" } })])],
        expect![[r#"
            {"provider":{"name":"Mock","stream_max_retries":3}}
            {"events":[{"rate_limits":{"limit_id":"codex"}},{"completed":{"id":"r"}}]}
        "#]],
    );
}

/// Records one reply with a key in it and shows it as JSON.
#[track_caller]
fn check_blanked(events: Vec<ReplyEvent>, expected: Expect) {
    let redactor = Redactor::new(["sk-12345678", "sk-12345678-long", "short"].map(Secret::new));
    let text = reply(events, End::Failed(&ReplyError::stream("no: sk-12345678")), &redactor).to_string();
    expected.assert_eq(&text);
}

#[test]
fn a_key_is_blanked_wherever_it_comes() {
    let text = |text: &str| ReplyEvent::TextDelta(text.to_owned());
    check_blanked(
        vec![text("it is sk-123"), text("45678-lo"), text("ng, short"), ReplyEvent::TurnState("secret".to_owned())],
        expect![[
            r#"{"events":[{"text":"it is [secret], short"},{"text":""},{"text":""},{"turn_state":"(not recorded)"}],"error":{"kind":"stream","message":"stream disconnected before completion: no: [secret]"}}"#
        ]],
    );
    check_blanked(
        vec![
            ReplyEvent::ItemDone(Item::text("assistant", "sk-12345678")),
            text("sk-"),
            ReplyEvent::ItemDone(Item::text("assistant", "")),
            text("12345678"),
        ],
        expect![[
            r#"{"events":[{"done":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"[secret]"}]}},{"text":"sk-"},{"done":{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}},{"text":"12345678"}],"error":{"kind":"stream","message":"stream disconnected before completion: no: [secret]"}}"#
        ]],
    );
}

#[test]
fn a_reply_that_nobody_wanted_to_the_end_is_written_as_far_as_it_came() {
    let server = MockServer::start([MockReply::say("Hello.")]);
    let folder = Workspace::empty();
    let provider = Provider { base_url: Some(server.base_url()), ..Provider::default() };
    let tape = Tape::create(&folder.path("r.jsonl"), &provider).unwrap();
    let model = Model::http(Transport::default(), &provider, None, &|_| None).recorded(&tape);
    run(async {
        let mut reply = model.ask(Ask::default()).await.unwrap();
        reply.next().await.unwrap().unwrap();
    });
    let text = folder.read("r.jsonl");
    assert!(
        text.ends_with("\n{\"events\":[{\"rate_limits\":{\"limit_id\":\"codex\"}}],\"error\":{\"cut\":true}}\n"),
        "{text}"
    );
}

#[test]
fn a_summary_by_the_provider_is_recorded_among_the_replies() {
    let items = json!({ "output": [{ "type": "compaction", "encrypted_content": "E" }] });
    let server = MockServer::start([
        MockReply::status(200, &items.to_string()),
        MockReply::status(400, "no"),
        MockReply::say("Hello."),
    ]);
    let folder = Workspace::empty();
    let provider = Provider { base_url: Some(server.base_url()), ..Provider::default() };
    let path = folder.path("r.toml");
    let tape = Tape::create(&path, &provider).unwrap();
    let live = Model::http(Transport::default(), &provider, None, &|_| None).recorded(&tape);
    let summaries =
        |model: &Model| run(async { [model.compact(Ask::default()).await, model.compact(Ask::default()).await] });
    let first = summaries(&live);
    assert!(first[0].is_ok() && first[1].is_err());
    let reply = replies(&live, 1);
    let played = Model::scripted(Script::load(&path).unwrap());
    assert_eq!((summaries(&played), replies(&played, 1)), (first, reply));
    let played = Model::scripted(Script::load(&path).unwrap());
    let error = replies(&played, 1).remove(0).remove(0).unwrap_err();
    let name = path.display().to_string();
    assert_eq!(
        error.message.replace(&name, "FILE"),
        "reply 1 of the script FILE is a provider's summary, but a reply was requested"
    );
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let error = Tape::create(std::path::Path::new("/no/such/folder/r.toml"), &Provider::default()).unwrap_err();
    assert!(error.to_string().starts_with("could not create /no/such/folder/r.toml: "), "{error}");
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_a_recording() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Workspace::empty();
    let path = folder.path("r.toml");
    Tape::create(&path, &Provider::default()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
