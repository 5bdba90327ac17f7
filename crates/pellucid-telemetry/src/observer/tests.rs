//! What an observer makes of a session: fixtures of events in, records as lines out.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::call_record::ApprovalWord;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::CacheBreak;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::telemetry::Collector;
use pellucid_protocol::telemetry::CollectorTls;
use pellucid_protocol::telemetry::OtlpEncoding;
use pellucid_protocol::telemetry::SemconvRevision;
use pellucid_protocol::telemetry::TelemetryContent;
use pellucid_protocol::telemetry::TelemetrySchema;
use pellucid_protocol::telemetry::TelemetrySettings;
use pellucid_protocol::usage::TokenUsage;

use super::*;
use crate::facts::InputContent;
use crate::facts::ObservedCall;
use crate::facts::ObservedReply;
use crate::facts::RequestDetails;
use crate::facts::RequestFacts;
use crate::facts::RunFacts;
use crate::facts::SettingsFacts;

/// The text that must not leave.
const PLANTED: &str = "planted-secret";

/// The id of the session.
const SESSION: &str = "019a-session";

/// A key that is blanked.
#[derive(Debug)]
struct Key;

impl Blanks for Key {
    fn blanked(&self, text: &str) -> String {
        text.replace("sk-key", "[redacted]")
    }
}

fn settings() -> TelemetrySettings {
    let collector = Some(Collector {
        endpoint: "http://localhost".to_owned(),
        headers: [].into(),
        encoding: OtlpEncoding::Json,
        timeout: pellucid_protocol::telemetry::COLLECTOR_TIMEOUT,
        tls: CollectorTls::default(),
    });
    TelemetrySettings {
        environment: "dev".to_owned(),
        service_name: None,
        resource: Vec::new(),
        logs: collector.clone(),
        traces: collector.clone(),
        metrics: collector,
        schema: TelemetrySchema::Both,
        content: TelemetryContent::None,
        shows_prompt: false,
        semconv: SemconvRevision::V1_41,
        propagates: false,
        parent: None,
    }
}

fn facts() -> SessionFacts {
    SessionFacts {
        session: SESSION.to_owned(),
        originator: "codex_exec".to_owned(),
        terminal: "unknown".to_owned(),
        version: "0.1.0".to_owned(),
        source: "exec".to_owned(),
        provider_name: "mock".to_owned(),
        provider: "mock".to_owned(),
        server_address: Some("127.0.0.1".to_owned()),
        server_port: Some(80),
        model: "m".to_owned(),
        settings: SettingsFacts {
            reasoning_summary: "auto".to_owned(),
            approval_policy: "never".to_owned(),
            sandbox_policy: "danger-full-access".to_owned(),
            ..SettingsFacts::default()
        },
        pack: "codex".to_owned(),
        pack_sha256: "ab".to_owned(),
        ..SessionFacts::default()
    }
}

/// A session under observation, whose clock advances by ten milliseconds with every step.
struct Fixture {
    observer: Observer,
    at: Nanoseconds,
}

impl Fixture {
    fn new(settings: &TelemetrySettings) -> Self {
        Self::of(facts(), settings)
    }

    fn of(facts: SessionFacts, settings: &TelemetrySettings) -> Self {
        Self { observer: Observer::new(facts, settings, 0, Arc::new(Key)), at: 1_700_000_000_000_000_000 }
    }

    fn tick(&mut self) -> Nanoseconds {
        self.at += 10 * MILLISECOND;
        self.at
    }

    fn event(&mut self, event: &EventMessage) {
        let at = self.tick();
        self.observer.event(at, event);
    }

    fn begin(&mut self) {
        self.event(&EventMessage::SessionConfigured(SessionConfigured {
            session_id: SessionId::new(SESSION),
            model: "m".to_owned(),
            model_provider_id: "mock".to_owned(),
            approval_policy: ApprovalPolicy::Never,
            sandbox_policy: SandboxPolicy::DangerFullAccess,
            cwd: PathBuf::from("/work"),
            reasoning_effort: None,
        }));
        self.event(&EventMessage::TaskStarted {
            turn_id: TurnId::new("t"),
            model_context_window: None,
            collaboration_mode_kind: CollaborationModeKind::Default,
        });
        self.event(&EventMessage::UserMessage {
            message: format!("{PLANTED} sk-key"),
            images: Vec::new(),
            local_images: Vec::new(),
            text_elements: Vec::new(),
        });
    }

    fn request(&mut self, purpose: &'static str, n: u64) {
        let at = self.tick();
        let input = self.observer.wants_content().then(|| InputContent {
            instructions: format!("{PLANTED} instructions"),
            items: vec![Item::text("user", format!("{PLANTED} sk-key").as_str())],
        });
        let facts = RequestFacts {
            purpose,
            n: Some(n),
            sha256: Some("cd".to_owned()),
            bytes: Some(100),
            items: Some(2),
            record: Some((n * 3, "ef".to_owned())),
            cache_break: (n == 2).then(|| CacheBreak {
                first_byte: 7,
                part: "instructions".to_owned(),
                tokens_rebilled: 40,
                span: (7, 9),
                source: String::new(),
                cause: "instructions".to_owned(),
                changes: Vec::new(),
            }),
            details: Some(RequestDetails {
                model: "m".to_owned(),
                kept_bytes: 50,
                layers: vec![("pack", 60), ("user", 40)],
                omissions: 1,
                omitted_bytes: 5,
                input,
            }),
        };
        self.observer.request(at, facts);
    }

    fn replied(&mut self, event: &ReplyEvent) {
        let at = self.tick();
        self.observer.reply_event(at, event, || vec![Some(500), Some(200)]);
    }

    fn answered(&mut self, n: u64, item: Item) {
        self.replied(&ReplyEvent::Created);
        self.replied(&ReplyEvent::ItemDone(item));
        let usage = TokenUsage {
            input_tokens: 100,
            cached_input_tokens: 10,
            output_tokens: 20,
            reasoning_output_tokens: 5,
            total_tokens: 120,
        };
        self.replied(&ReplyEvent::Completed { response_id: "r".to_owned(), usage: Some(usage) });
        let at = self.tick();
        let reply = ObservedReply {
            line: Some(n * 3),
            response_id: Some("r".to_owned()),
            usage: Some(usage),
            cache_write: Some(3),
            attempts: vec![Some(500), Some(200)],
            failure: None,
            cost: Some((0.5, "USD".to_owned())),
        };
        self.observer.reply(at, reply);
    }

    fn failed(&mut self, n: u64, why: &str) {
        let at = self.tick();
        let reply = ObservedReply { line: Some(n * 3), failure: Some(why.to_owned()), ..ObservedReply::default() };
        self.observer.reply(at, reply);
    }

    fn call(&mut self) {
        self.observer
            .output(&Item::FunctionCallOutput { call_id: "c1".to_owned(), output: format!("{PLANTED} output").into() });
        let (began, ended) = (self.tick(), self.tick());
        self.observer.call(&ObservedCall {
            call_id: "c1".to_owned(),
            tool: "shell_command".to_owned(),
            began,
            ended,
            outcome: CallOutcome::Done,
            answers: Vec::new(),
            runs: vec![RunFacts { mode: "read-only".to_owned(), exit_code: Some(0), ..RunFacts::default() }],
            within: None,
        });
    }

    fn end(&mut self) {
        self.event(&EventMessage::TaskComplete { turn_id: TurnId::new("t"), last_agent_message: None });
        self.event(&EventMessage::ShutdownComplete);
    }

    /// The turn of the capture: a call, and an answer.
    fn turn(&mut self) {
        self.begin();
        self.request("answer", 1);
        self.answered(1, called());
        self.call();
        self.request("answer", 2);
        self.answered(2, Item::text("assistant", format!("{PLANTED} done").as_str()));
        self.end();
    }
}

fn called() -> Item {
    Item::FunctionCall {
        id: None,
        name: "shell_command".to_owned(),
        arguments: format!("{{\"command\":\"{PLANTED}\"}}"),
        call_id: "c1".to_owned(),
    }
}

fn turn_with(settings: &TelemetrySettings) -> Vec<ExportedRecord> {
    let mut fixture = Fixture::new(settings);
    fixture.turn();
    fixture.observer.take()
}

fn shown(attributes: &[Attribute]) -> String {
    attributes.iter().fold(String::new(), |mut text, (name, value)| {
        let value = match value {
            AttributeValue::Text(text) => text.clone(),
            AttributeValue::Int(number) => number.to_string(),
            AttributeValue::Float(number) => number.to_string(),
            AttributeValue::Flag(flag) => flag.to_string(),
            AttributeValue::Texts(texts) => texts.join(","),
        };
        text.push_str(&format!(" {name}={value}"));
        text
    })
}

fn spans(records: &[ExportedRecord]) -> Vec<&SpanRecord> {
    let span = |record: &'_ ExportedRecord| matches!(record, ExportedRecord::Span(_));
    records
        .iter()
        .filter(|it| span(it))
        .map(|it| if let ExportedRecord::Span(span) = it { &**span } else { unreachable!() })
        .collect()
}

fn logs(records: &[ExportedRecord]) -> Vec<&LogEvent> {
    records.iter().filter_map(|it| if let ExportedRecord::Log(log) = it { Some(log) } else { None }).collect()
}

#[track_caller]
fn check_spans(records: &[ExportedRecord], expected: &Expect) {
    let all = spans(records);
    let mut text = String::new();
    for span in &all {
        let above = span.parent.and_then(|parent| all.iter().find(|it| it.context.span == parent));
        let above = above.map_or("-", |above| above.name.as_str());
        let events: Vec<String> =
            span.events.iter().map(|event| format!("{}{}", event.name, shown(&event.attributes))).collect();
        text.push_str(&format!(
            "{} < {above} ({} ms){}\n  {}\n{}",
            span.name,
            (span.end - span.start) / MILLISECOND,
            if span.has_failed { " failed" } else { "" },
            shown(&span.attributes).trim(),
            if events.is_empty() { String::new() } else { format!("  [{}]\n", events.join("; ")) },
        ));
    }
    expected.assert_eq(&text);
}

#[test]
fn the_spans_of_a_turn_name_their_requests_in_the_record() {
    check_spans(
        &turn_with(&settings()),
        &expect![[r#"
        chat m < invoke_agent pellucid (40 ms)
          gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m gen_ai.conversation.id=019a-session pellucid.pack=codex pellucid.pack.sha256=ab server.address=127.0.0.1 server.port=80 gen_ai.response.id=r gen_ai.response.finish_reasons=tool_calls gen_ai.usage.input_tokens=100 gen_ai.usage.output_tokens=20 gen_ai.usage.cache_read.input_tokens=10 gen_ai.usage.cache_creation.input_tokens=3 pellucid.request.purpose=answer pellucid.request.n=1 pellucid.request.sha256=cd pellucid.request.bytes=100 pellucid.request.items=2 pellucid.record.n=3 pellucid.record.sha256=ef pellucid.prefix.bytes_kept=50 pellucid.omissions=1 pellucid.layers.pack.bytes=60 pellucid.layers.user.bytes=40
          [retry http.response.status_code=500; first_chunk]
        execute_tool shell_command < invoke_agent pellucid (10 ms)
          gen_ai.operation.name=execute_tool gen_ai.tool.name=shell_command gen_ai.tool.call.id=c1 gen_ai.tool.type=function gen_ai.conversation.id=019a-session pellucid.call.outcome=done process.exit.code=0 pellucid.sandbox.mode=read-only pellucid.sandbox.backend=none pellucid.sandbox.denied=false
        chat m < invoke_agent pellucid (40 ms)
          gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m gen_ai.conversation.id=019a-session pellucid.pack=codex pellucid.pack.sha256=ab server.address=127.0.0.1 server.port=80 gen_ai.response.id=r gen_ai.response.finish_reasons=stop gen_ai.usage.input_tokens=100 gen_ai.usage.output_tokens=20 gen_ai.usage.cache_read.input_tokens=10 gen_ai.usage.cache_creation.input_tokens=3 pellucid.request.purpose=answer pellucid.request.n=2 pellucid.request.sha256=cd pellucid.request.bytes=100 pellucid.request.items=2 pellucid.record.n=6 pellucid.record.sha256=ef pellucid.cache_break.cause=instructions pellucid.cache_break.first_byte=7 pellucid.cache_break.tokens=40 pellucid.prefix.bytes_kept=50 pellucid.omissions=1 pellucid.layers.pack.bytes=60 pellucid.layers.user.bytes=40
          [retry http.response.status_code=500; first_chunk]
        invoke_agent pellucid < - (140 ms)
          gen_ai.operation.name=invoke_agent gen_ai.agent.name=pellucid gen_ai.agent.version=0.1.0 gen_ai.conversation.id=019a-session gen_ai.provider.name=mock gen_ai.request.model=m pellucid.pack=codex pellucid.pack.sha256=ab gen_ai.usage.input_tokens=200 gen_ai.usage.output_tokens=40 gen_ai.usage.cache_read.input_tokens=20 gen_ai.usage.cache_creation.input_tokens=6
    "#]],
    );
}

#[test]
fn log_events_have_the_names_and_attributes_of_the_capture() {
    let records = turn_with(&TelemetrySettings { schema: TelemetrySchema::Codex, ..settings() });
    let common = "event.name event.timestamp conversation.id app.version originator terminal.type model slug";
    let lines: Vec<String> = logs(&records)
        .iter()
        .map(|log| {
            let names: Vec<&str> = log.attributes.iter().map(|(name, _)| &**name).collect();
            let own = names.join(" ");
            format!("{}: {}", log.name, own.strip_prefix(common).unwrap_or("?").trim())
        })
        .collect();
    expect![[r#"
        codex.conversation_starts: provider_name reasoning_summary approval_policy sandbox_policy mcp_servers
        codex.user_prompt: prompt_length prompt
        codex.api_request: duration_ms http.response.status_code attempt error.message
        codex.api_request: duration_ms http.response.status_code attempt
        codex.sse_event: event.kind duration_ms
        codex.sse_event: event.kind duration_ms
        codex.sse_event: event.kind duration_ms
        codex.sse_event: event.kind input_token_count output_token_count cached_token_count reasoning_token_count tool_token_count
        codex.tool_decision: tool_name call_id decision source
        codex.tool_result: tool_name call_id arguments duration_ms success output
        codex.api_request: duration_ms http.response.status_code attempt error.message
        codex.api_request: duration_ms http.response.status_code attempt
        codex.sse_event: event.kind duration_ms
        codex.sse_event: event.kind duration_ms
        codex.sse_event: event.kind duration_ms
        codex.sse_event: event.kind input_token_count output_token_count cached_token_count reasoning_token_count tool_token_count"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn figures_name_no_session() {
    let all: BTreeSet<String> = turn_with(&settings())
        .iter()
        .filter_map(|record| match record {
            ExportedRecord::Measurement(it) => {
                Some(format!("{} {}{}", it.metric.name, it.value, shown(&it.attributes)))
            }
            ExportedRecord::Log(_) | ExportedRecord::Span(_) => None,
        })
        .collect();
    let all: Vec<String> = all.into_iter().collect();
    let text = all.join("\n");
    assert!(!text.contains(SESSION) && !text.contains(names::CONVERSATION_ID), "{text}");
    expect![[r#"
        codex.api_request 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec status=200 success=true
        codex.api_request 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec status=500 success=false
        codex.api_request.duration_ms 10 app.version=0.1.0 model=m originator=codex_exec session_source=exec status=200 success=true
        codex.conversation.turn.count 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec
        codex.sse_event 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec kind=response.completed success=true
        codex.sse_event 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec kind=response.created success=true
        codex.sse_event 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec kind=response.output_item.done success=true
        codex.sse_event.duration_ms 0 app.version=0.1.0 model=m originator=codex_exec session_source=exec kind=response.created success=true
        codex.sse_event.duration_ms 10 app.version=0.1.0 model=m originator=codex_exec session_source=exec kind=response.completed success=true
        codex.sse_event.duration_ms 10 app.version=0.1.0 model=m originator=codex_exec session_source=exec kind=response.output_item.done success=true
        codex.thread.started 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec is_git=false
        codex.tool.call 1 app.version=0.1.0 model=m originator=codex_exec session_source=exec tool=shell_command success=true sandbox=none sandbox_policy=danger-full-access
        codex.tool.call.duration_ms 10 app.version=0.1.0 model=m originator=codex_exec session_source=exec tool=shell_command success=true sandbox=none sandbox_policy=danger-full-access
        codex.turn.e2e_duration_ms 140 app.version=0.1.0 model=m originator=codex_exec session_source=exec
        gen_ai.client.operation.duration 0.04 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m server.address=127.0.0.1 server.port=80
        gen_ai.client.operation.time_to_first_chunk 0.01 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m server.address=127.0.0.1 server.port=80
        gen_ai.client.token.usage 100 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m server.address=127.0.0.1 server.port=80 gen_ai.token.type=input
        gen_ai.client.token.usage 20 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m server.address=127.0.0.1 server.port=80 gen_ai.token.type=output
        gen_ai.execute_tool.duration 0.01 gen_ai.operation.name=execute_tool gen_ai.provider.name=mock gen_ai.request.model=m gen_ai.tool.name=shell_command
        gen_ai.invoke_agent.duration 0.14 gen_ai.operation.name=invoke_agent gen_ai.provider.name=mock gen_ai.request.model=m
        pellucid.cache.broken_tokens 40 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m
        pellucid.cost 0.5 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m server.address=127.0.0.1 server.port=80 pellucid.currency=USD
        pellucid.omitted_bytes 5 gen_ai.operation.name=chat gen_ai.provider.name=mock gen_ai.request.model=m"#]].assert_eq(&text);
}

/// All settings that change what is exported.
fn all_settings() -> Vec<TelemetrySettings> {
    let mut all = Vec::new();
    for schema in TelemetrySchema::ALL {
        for content in TelemetryContent::ALL {
            for semconv in SemconvRevision::ALL {
                all.push(TelemetrySettings { schema: *schema, content: *content, semconv: *semconv, ..settings() });
            }
        }
    }
    all
}

#[test]
fn every_name_is_in_a_table() {
    for settings in all_settings() {
        for record in turn_with(&settings) {
            let attributes = match &record {
                ExportedRecord::Log(log) => {
                    assert!(names::EVENTS.iter().any(|it| it.name == log.name), "{}", log.name);
                    log.attributes.clone()
                }
                ExportedRecord::Span(span) => {
                    let first = span.name.split(' ').next().unwrap_or_default();
                    assert!(names::SPANS.iter().any(|it| it.name == first), "{}", span.name);
                    for event in &span.events {
                        assert!(names::SPAN_EVENTS.iter().any(|it| it.name == event.name), "{}", event.name);
                    }
                    span.events
                        .iter()
                        .flat_map(|event| event.attributes.clone())
                        .chain(span.attributes.clone())
                        .collect()
                }
                ExportedRecord::Measurement(measurement) => measurement.attributes.clone(),
            };
            for (name, _) in attributes {
                assert!(names::is_attribute(&name), "{name}");
            }
        }
    }
}

#[test]
fn contents_leave_only_if_they_are_asked_for() {
    for settings in all_settings() {
        let text = format!("{:?}", turn_with(&settings));
        let has_contents = settings.content == TelemetryContent::Full;
        assert_eq!(text.contains(PLANTED), has_contents, "{settings:?}");
        assert!(!text.contains("sk-key"), "{settings:?}");
        let has_digests = text.contains(&trace::sha256(&format!("{{\"command\":\"{PLANTED}\"}}")));
        assert_eq!(has_digests, settings.content == TelemetryContent::Digests, "{settings:?}");
    }
    let shows_prompt = TelemetrySettings { shows_prompt: true, ..settings() };
    let text = format!("{:?}", turn_with(&shows_prompt));
    assert_eq!(text.matches(PLANTED).count(), 1, "the prompt alone leaves");
    assert!(text.contains(&format!("{PLANTED} [redacted]")));
}

#[test]
fn what_fails_and_is_sent_again_is_one_span() {
    let mut fixture = Fixture::new(&TelemetrySettings { schema: TelemetrySchema::GenAi, ..settings() });
    fixture.begin();
    fixture.request("answer", 1);
    fixture.failed(1, "stream");
    fixture.request("answer_again", 2);
    fixture.answered(2, Item::text("assistant", "done"));
    fixture.request("answer", 3);
    fixture.failed(3, "usage_limit_reached");
    fixture.end();
    let records = fixture.observer.take();
    let chats: Vec<&SpanRecord> = spans(&records).into_iter().filter(|span| span.name == "chat m").collect();
    assert_eq!(chats.len(), 2);
    let retries = |span: &SpanRecord| span.events.iter().filter(|it| it.name == names::RETRY).count();
    // One for the stream, one for the attempt with the status 500.
    assert_eq!((retries(chats[0]), chats[0].has_failed), (2, false));
    assert!(shown(&chats[0].attributes).contains("pellucid.request.n=2 "));
    assert!(chats[1].has_failed && shown(&chats[1].attributes).contains("error.type=usage_limit_reached"));
}

#[test]
fn an_interrupted_turn_ends_its_request() {
    let mut fixture = Fixture::new(&settings());
    fixture.begin();
    fixture.request("answer", 1);
    fixture.event(&EventMessage::TurnAborted { turn_id: TurnId::new("t"), reason: AbortReason::Interrupted });
    let records = fixture.observer.take();
    let failed: Vec<&str> = spans(&records).iter().filter(|it| it.has_failed).map(|it| it.name.as_str()).collect();
    assert_eq!(failed, ["chat m", "invoke_agent pellucid"]);
}

#[test]
fn a_session_that_a_turn_starts_is_below_its_span() {
    let mut parent = Fixture::new(&settings());
    parent.begin();
    let above = parent.observer.turn_span().unwrap();
    let mut child = Fixture::of(SessionFacts { parent: Some(above), kind: Some("agent"), ..facts() }, &settings());
    child.turn();
    let records = child.observer.take();
    let turn = spans(&records).into_iter().find(|span| span.name == "invoke_agent pellucid").unwrap().clone();
    assert_eq!((turn.context.trace, turn.parent), (above.trace, Some(above.span)));
    assert_eq!(turn.links, [above]);
}

#[test]
fn the_program_above_is_the_parent_if_its_trace_is_recorded() {
    let above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let records = turn_with(&TelemetrySettings { parent: Some(above.to_owned()), ..settings() });
    let all = spans(&records);
    assert!(all.iter().all(|span| span.context.trace_hex() == "0af7651916cd43dd8448eb211c80319c"));
    assert!(all.iter().any(|span| span.parent.is_some_and(|it| trace::hex(&it) == "b7ad6b7169203331")));
    let records = turn_with(&TelemetrySettings { parent: Some(above.replace("-01", "-00")), ..settings() });
    assert!(spans(&records).is_empty() && !logs(&records).is_empty());
}

#[test]
fn an_answer_to_a_question_names_its_source() {
    let mut fixture = Fixture::new(&settings());
    fixture.begin();
    let (began, ended) = (fixture.tick(), fixture.tick());
    fixture.observer.call(&ObservedCall {
        call_id: "not a name".to_owned(),
        tool: format!("{PLANTED} as a name"),
        began,
        ended,
        outcome: CallOutcome::Refused,
        answers: vec![(ApprovalSubject::Command, Answerer::Client, ApprovalWord::Denied)],
        runs: Vec::new(),
        within: Some("c0".to_owned()),
    });
    let records = fixture.observer.take();
    let text = format!("{records:?}");
    assert!(!text.contains(PLANTED) && !text.contains("not a name"), "what is no name may be content: {text}");
    let decision = logs(&records).into_iter().find(|log| log.name == names::TOOL_DECISION).unwrap();
    let expected = "tool_name=other call_id=other decision=denied source=User";
    assert!(shown(&decision.attributes).ends_with(expected), "{}", shown(&decision.attributes));
}

#[test]
fn only_signals_with_a_collector_are_made() {
    let none = TelemetrySettings { logs: None, traces: None, ..settings() };
    assert!(turn_with(&none).iter().all(|record| matches!(record, ExportedRecord::Measurement(_))));
    let none = TelemetrySettings { metrics: None, traces: None, ..settings() };
    assert!(turn_with(&none).iter().all(|record| matches!(record, ExportedRecord::Log(_))));
}
