//! The exporter against collectors: both encodings, and collectors that hang, refuse or do not exist.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

use std::sync::Arc;
use std::time::Duration;

use pellucid_protocol::secret::Secret;
use pellucid_protocol::telemetry::Collector;
use pellucid_protocol::telemetry::CollectorTls;
use pellucid_protocol::telemetry::OtlpEncoding;
use pellucid_protocol::telemetry::SemconvRevision;
use pellucid_protocol::telemetry::TelemetryContent;
use pellucid_protocol::telemetry::TelemetrySchema;
use pellucid_protocol::telemetry::TelemetrySettings;
use pellucid_telemetry::exporter::Exporter;
use pellucid_telemetry::facts::SessionFacts;
use pellucid_telemetry::names;
use pellucid_telemetry::otlp::RecordSource;
use pellucid_telemetry::record::AttributeValue;
use pellucid_telemetry::record::ExportedRecord;
use pellucid_telemetry::record::LogEvent;
use pellucid_telemetry::record::Measurement;
use pellucid_telemetry::record::SpanKind;
use pellucid_telemetry::record::SpanNote;
use pellucid_telemetry::record::SpanRecord;
use pellucid_telemetry::resource;
use pellucid_telemetry::resource::HostSystem;
use pellucid_telemetry::trace::SpanContext;
use pellucid_testkit::MockReply;
use pellucid_testkit::OtlpReceiver;

/// How long a test waits for a collector that answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many records may wait.
const QUEUE: usize = 2048;

fn settings(receiver: &OtlpReceiver, encoding: OtlpEncoding) -> TelemetrySettings {
    let collector = |signal| {
        Some(Collector {
            endpoint: receiver.endpoint(signal),
            headers: [("x-key".to_owned(), Secret::new("k"))].into(),
            encoding,
            timeout: PATIENCE,
            tls: CollectorTls::default(),
        })
    };
    TelemetrySettings {
        environment: "test".to_owned(),
        service_name: None,
        resource: vec![("team".to_owned(), "a".to_owned()), ("env".to_owned(), "not this one".to_owned())],
        logs: collector("logs"),
        traces: collector("traces"),
        metrics: collector("metrics"),
        schema: TelemetrySchema::Both,
        content: TelemetryContent::None,
        shows_prompt: false,
        semconv: SemconvRevision::V1_41,
        propagates: false,
        parent: None,
    }
}

fn exporter(settings: &TelemetrySettings) -> (Arc<Exporter>, Arc<RecordSource>) {
    let exporter = Exporter::shared(settings);
    let facts = SessionFacts { originator: "tests".to_owned(), version: "1".to_owned(), ..SessionFacts::default() };
    let resource = exporter.resource(resource::of(&facts, settings, HostSystem { name: "Debian", version: "12" }));
    (exporter, resource)
}

fn log() -> ExportedRecord {
    let attributes = vec![
        (names::TOOL_NAME.into(), AttributeValue::Text("é \"quoted\" \n".to_owned())),
        (names::STATUS_CODE.into(), AttributeValue::Int(-1)),
        (names::SUCCESS.into(), AttributeValue::Flag(true)),
        (names::COST.name.into(), AttributeValue::Float(0.5)),
        (names::FINISH_REASONS.into(), AttributeValue::Texts(vec!["a".to_owned(), "b".to_owned()])),
    ];
    let context = Some(SpanContext::root(&["a"]));
    ExportedRecord::Log(LogEvent { at: 1_700_000_000_000_000_001, name: names::TOOL_RESULT, attributes, context })
}

fn span() -> ExportedRecord {
    let context = SpanContext::root(&["a"]);
    ExportedRecord::Span(Box::new(SpanRecord {
        context: context.beside(&["b"]),
        parent: Some(context.span),
        name: "chat m".to_owned(),
        kind: SpanKind::Client,
        start: 1,
        end: 2,
        attributes: vec![(names::REQUEST_N.into(), AttributeValue::Int(3))],
        events: vec![SpanNote { at: 1, name: names::RETRY, attributes: vec![(names::ERROR_TYPE.into(), "x".into())] }],
        links: vec![context],
        has_failed: true,
    }))
}

fn figures() -> [ExportedRecord; 3] {
    let figure = |metric, value| {
        let attributes = vec![(names::TOOL.into(), AttributeValue::Text("t".to_owned()))];
        ExportedRecord::Measurement(Measurement { metric, value, attributes })
    };
    [figure(&names::TOOL_CALL, 2.0), figure(&names::TOOL_CALL_DURATION, 30.0), figure(&names::COST, 0.25)]
}

#[test]
fn both_encodings_say_the_same() {
    let mut said = Vec::new();
    for encoding in OtlpEncoding::ALL {
        let receiver = OtlpReceiver::start();
        let (exporter, resource) = exporter(&settings(&receiver, *encoding));
        let records = [log(), span()].into_iter().chain(figures()).collect();
        exporter.export(&resource, records);
        assert_eq!(exporter.close(PATIENCE), Vec::<String>::new());
        for request in receiver.requests() {
            assert_eq!(request.header("x-key"), Some("k"));
        }
        let mut points = receiver.points();
        for point in &mut points {
            assert_eq!(point.resource["os"], "Debian");
            let times = point.record.as_object_mut().unwrap();
            assert!(times.remove("startTimeUnixNano").is_some() && times.remove("timeUnixNano").is_some());
        }
        assert_eq!(points.len(), 3);
        assert_eq!(points.iter().find(|it| it.name == "codex.tool.call").unwrap().record["asInt"], "2");
        let (logs, spans) = (receiver.logs(), receiver.spans());
        assert_eq!((&logs[0].resource["env"], &logs[0].resource["team"]), (&"test".into(), &"a".into()));
        assert_eq!(logs[0].attributes["tool_name"], "é \"quoted\" \n");
        assert_eq!(spans[0].record["status"]["code"], 2);
        said.push((logs, spans, points.into_iter().map(|it| (it.name, it.record, it.attributes)).collect::<Vec<_>>()));
    }
    assert_eq!(said[0], said[1]);
}

#[test]
fn a_collector_that_hangs_costs_a_bounded_queue_and_no_waiting() {
    let receiver = OtlpReceiver::answering(MockReply::silence);
    let (exporter, resource) = exporter(&settings(&receiver, OtlpEncoding::Binary));
    let n_rounds = 10;
    for _ in 0..n_rounds {
        // No call here waits for the collector: it never answers, and all of them return.
        exporter.export(&resource, (0..QUEUE).map(|_| span()).collect());
        assert!(exporter.counts().0 <= QUEUE);
    }
    let (n_waiting, n_dropped) = exporter.counts();
    // The thread holds one batch at most, which it waits for.
    let n_all = (n_rounds * QUEUE) as u64;
    assert!(n_dropped >= n_all - 2 * QUEUE as u64 && n_waiting <= QUEUE, "{n_waiting} {n_dropped}");
    let notices = exporter.take_notices();
    assert!(matches!(notices.as_slice(), [one] if one.contains("records are dropped")), "{notices:?}");
    exporter.export(&resource, (0..2 * QUEUE).map(|_| span()).collect());
    assert_eq!(exporter.take_notices(), Vec::<String>::new(), "it is said once");
    assert_eq!(exporter.close(Duration::ZERO), Vec::<String>::new());
}

#[test]
fn a_collector_that_refuses_is_named_once() {
    let receiver = OtlpReceiver::answering(|| MockReply::status(401, "no"));
    let mut settings = settings(&receiver, OtlpEncoding::Json);
    (settings.traces, settings.metrics) = (None, None);
    settings.logs.as_mut().unwrap().endpoint.push_str("?key=secret");
    let (exporter, resource) = exporter(&settings);
    exporter.export(&resource, vec![log()]);
    let notices = exporter.close(PATIENCE);
    let expected = format!("logs are not exported to {}: it answers 401", receiver.endpoint("logs"));
    assert_eq!(notices, [expected]);
    assert_eq!((receiver.requests().len(), exporter.counts()), (1, (0, 1)));
}

#[test]
fn a_collector_that_does_not_exist_is_named_once() {
    let receiver = OtlpReceiver::start();
    let settings = settings(&receiver, OtlpEncoding::Json);
    drop(receiver);
    let (exporter, resource) = exporter(&settings);
    exporter.export(&resource, vec![log(), log(), span()]);
    let notices = exporter.close(PATIENCE);
    let signals: Vec<&str> = notices.iter().filter_map(|it| it.split(' ').next()).collect();
    assert!(signals.contains(&"logs") && signals.contains(&"traces"), "{notices:?}");
    assert!(notices.len() <= 3, "each signal once: {notices:?}");
}

#[test]
fn sessions_with_the_same_collectors_share_an_exporter() {
    let receiver = OtlpReceiver::start();
    let settings = settings(&receiver, OtlpEncoding::Json);
    let (one, of_one) = exporter(&settings);
    let (two, of_two) = exporter(&TelemetrySettings { content: TelemetryContent::Full, ..settings });
    assert!(Arc::ptr_eq(&one, &two) && Arc::ptr_eq(&of_one, &of_two));
    assert!(receiver.requests().is_empty());
}
