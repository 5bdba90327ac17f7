//! Records as messages of the OpenTelemetry protocol, version 1, in both of its encodings.
//!
//! The messages are in `messages`, once for both encodings: `prost` writes them as protocol buffers, `serde` as JSON.

pub mod messages;

use prost::Message;

use self::messages as m;
use crate::metrics::MetricPoints;
use crate::metrics::Point;
use crate::names::MetricKind;
use crate::record::Attribute;
use crate::record::AttributeValue;
use crate::record::LogEvent;
use crate::record::Nanoseconds;
use crate::record::SpanKind;
use crate::record::SpanRecord;
use pellucid_protocol::telemetry::OtlpEncoding;

/// The name of what records come from.
const SCOPE: &str = "pellucid";

/// The number of the severity `INFO`.
const INFO: i32 = 9;

/// The number of the state `error`.
const ERROR: i32 = 2;

/// The number for figures since the last time.
const DELTA: i32 = 1;

/// The flag of a span in a trace that is recorded.
const SAMPLED: u32 = 1;

/// What records come from: the attributes of a resource, and the address of the conventions.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSource {
    /// The attributes of all signals.
    pub attributes: Vec<Attribute>,
    /// Further attributes, of metrics only.
    pub of_metrics: Vec<Attribute>,
    /// The version of this program.
    pub version: String,
    /// The address of the schema of the conventions.
    pub schema_url: String,
}

/// A time range of figures.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// When the first figure may have come.
    pub from: Nanoseconds,
    /// When the last figure may have come.
    pub to: Nanoseconds,
}

/// A message in an encoding.
pub fn encode<T: Message + serde::Serialize>(message: &T, encoding: OtlpEncoding) -> Vec<u8> {
    match encoding {
        OtlpEncoding::Binary => message.encode_to_vec(),
        OtlpEncoding::Json => serde_json::to_vec(message).unwrap_or_default(),
    }
}

/// The content type of an encoding.
pub fn content_type(encoding: OtlpEncoding) -> &'static str {
    match encoding {
        OtlpEncoding::Binary => "application/x-protobuf",
        OtlpEncoding::Json => "application/json",
    }
}

/// Log events of one resource.
pub fn logs(resource: &RecordSource, events: &[&LogEvent]) -> m::LogsRequest {
    m::LogsRequest {
        resource_logs: vec![m::ResourceLogs {
            resource: Some(self::resource(resource)),
            scope_logs: vec![m::ScopeLogs {
                scope: Some(scope(resource)),
                log_records: events.iter().map(|event| log(event)).collect(),
                schema_url: String::new(),
            }],
            schema_url: resource.schema_url.clone(),
        }],
    }
}

/// Spans of one resource.
pub fn spans(resource: &RecordSource, spans: &[&SpanRecord]) -> m::TracesRequest {
    m::TracesRequest {
        resource_spans: vec![m::ResourceSpans {
            resource: Some(self::resource(resource)),
            scope_spans: vec![m::ScopeSpans {
                scope: Some(scope(resource)),
                spans: spans.iter().map(|it| span(it)).collect(),
                schema_url: String::new(),
            }],
            schema_url: resource.schema_url.clone(),
        }],
    }
}

/// Data points of one resource.
pub fn metrics(resource: &RecordSource, metrics: &[MetricPoints], range: Range) -> m::MetricsRequest {
    m::MetricsRequest {
        resource_metrics: vec![m::ResourceMetrics {
            resource: Some(resource_of_metrics(resource)),
            scope_metrics: vec![m::ScopeMetrics {
                scope: Some(scope(resource)),
                metrics: metrics.iter().map(|it| metric(it, range)).collect(),
                schema_url: String::new(),
            }],
            schema_url: resource.schema_url.clone(),
        }],
    }
}

fn resource(resource: &RecordSource) -> m::ResourceMessage {
    m::ResourceMessage { attributes: attributes(&resource.attributes) }
}

fn resource_of_metrics(resource: &RecordSource) -> m::ResourceMessage {
    let mut all = attributes(&resource.attributes);
    all.extend(attributes(&resource.of_metrics));
    m::ResourceMessage { attributes: all }
}

fn scope(resource: &RecordSource) -> m::ScopeMessage {
    m::ScopeMessage { name: SCOPE.to_owned(), version: resource.version.clone() }
}

fn attributes(attributes: &[Attribute]) -> Vec<m::KeyValue> {
    attributes
        .iter()
        .map(|(name, value)| m::KeyValue { key: name.clone().into_owned(), value: Some(any(value)) })
        .collect()
}

fn any(value: &AttributeValue) -> m::AnyValue {
    let text = |text: &String| m::AnyValue { value: Some(m::Any::StringValue(text.clone())) };
    let value = match value {
        AttributeValue::Text(it) => return text(it),
        AttributeValue::Int(number) => m::Any::IntValue(*number),
        AttributeValue::Float(number) => m::Any::DoubleValue(*number),
        AttributeValue::Flag(flag) => m::Any::BoolValue(*flag),
        AttributeValue::Texts(texts) => m::Any::ArrayValue(m::ArrayValue { values: texts.iter().map(text).collect() }),
    };
    m::AnyValue { value: Some(value) }
}

fn log(event: &LogEvent) -> m::LogRecord {
    m::LogRecord {
        time_unix_nano: event.at,
        observed_time_unix_nano: event.at,
        severity_number: INFO,
        severity_text: "INFO".to_owned(),
        attributes: attributes(&event.attributes),
        flags: if event.context.is_some() { SAMPLED } else { 0 },
        trace_id: event.context.map(|it| it.trace.to_vec()).unwrap_or_default(),
        span_id: event.context.map(|it| it.span.to_vec()).unwrap_or_default(),
        event_name: event.name.to_owned(),
    }
}

fn span(span: &SpanRecord) -> m::SpanMessage {
    m::SpanMessage {
        trace_id: span.context.trace.to_vec(),
        span_id: span.context.span.to_vec(),
        parent_span_id: span.parent.map(|it| it.to_vec()).unwrap_or_default(),
        flags: SAMPLED,
        name: span.name.clone(),
        kind: match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Client => 3,
        },
        start_time_unix_nano: span.start,
        end_time_unix_nano: span.end,
        attributes: attributes(&span.attributes),
        events: span
            .events
            .iter()
            .map(|event| m::SpanEventMessage {
                time_unix_nano: event.at,
                name: event.name.to_owned(),
                attributes: attributes(&event.attributes),
            })
            .collect(),
        links: span
            .links
            .iter()
            .map(|link| m::Link { trace_id: link.trace.to_vec(), span_id: link.span.to_vec(), flags: SAMPLED })
            .collect(),
        status: span.has_failed.then_some(m::Status { code: ERROR }),
    }
}

fn metric(metric: &MetricPoints, range: Range) -> m::MetricMessage {
    let numbers = |is_whole: bool| m::Sum {
        data_points: metric.points().map(|point| number(point, range, is_whole)).collect(),
        aggregation_temporality: DELTA,
        is_monotonic: true,
    };
    let data = match metric.metric.kind {
        MetricKind::Counter => m::MetricData::Sum(numbers(true)),
        MetricKind::Sum => m::MetricData::Sum(numbers(false)),
        MetricKind::Histogram(bounds) => m::MetricData::Histogram(m::Histogram {
            data_points: metric.points().map(|point| histogram(point, bounds, range)).collect(),
            aggregation_temporality: DELTA,
        }),
    };
    m::MetricMessage {
        name: metric.metric.name.to_owned(),
        description: metric.metric.doc.to_owned(),
        unit: metric.metric.unit.to_owned(),
        data: Some(data),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "counters count whole things, and the cast saturates")]
fn number(point: &Point, range: Range, is_whole: bool) -> m::NumberPoint {
    m::NumberPoint {
        attributes: attributes(&point.attributes),
        start_time_unix_nano: range.from,
        time_unix_nano: range.to,
        value: Some(if is_whole { m::Number::AsInt(point.sum.round() as i64) } else { m::Number::AsDouble(point.sum) }),
    }
}

fn histogram(point: &Point, bounds: &[f64], range: Range) -> m::HistogramPoint {
    m::HistogramPoint {
        attributes: attributes(&point.attributes),
        start_time_unix_nano: range.from,
        time_unix_nano: range.to,
        count: point.count,
        sum: Some(point.sum),
        bucket_counts: point.buckets.clone(),
        explicit_bounds: bounds.to_vec(),
        min: Some(point.min),
        max: Some(point.max),
    }
}
