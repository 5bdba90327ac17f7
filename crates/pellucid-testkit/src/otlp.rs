//! A collector: takes what is exported over OTLP, in both encodings, and gives it as values.
//!
//! Protocol buffers are read by a table of fields of the protocol's files, which has nothing from the code that writes
//! them. What the table does not know is a panic: a message with another field is not what the protocol says.

use std::collections::BTreeMap;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::mock_server::MockReply;
use crate::mock_server::MockServer;
use crate::mock_server::RecordedRequest;

/// How many requests a collector takes.
const REQUESTS_MAX: usize = 1000;

/// A collector; it stops when dropped.
#[derive(Debug)]
pub struct OtlpReceiver {
    server: MockServer,
}

/// A log event, span or data point.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The name of the event, span or metric.
    pub name: String,
    /// The attributes, by name.
    pub attributes: BTreeMap<String, Value>,
    /// The attributes of the resource, by name.
    pub resource: BTreeMap<String, Value>,
    /// The whole record in the protocol's JSON.
    pub record: Value,
}

impl OtlpReceiver {
    /// A collector that takes everything.
    pub fn start() -> Self {
        Self::answering(|| MockReply::status(200, "{}"))
    }

    /// A collector that gives this answer to every request.
    pub fn answering(reply: impl Fn() -> MockReply) -> Self {
        Self { server: MockServer::start((0..REQUESTS_MAX).map(|_| reply())) }
    }

    /// The address for a signal: `logs`, `traces` or `metrics`.
    pub fn endpoint(&self, signal: &str) -> String {
        format!("{}/{signal}", self.server.base_url())
    }

    /// The address without the signal, for variables that name the address of all signals.
    pub fn base(&self) -> String {
        self.server.base_url().trim_end_matches("/v1").to_owned()
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.server.requests()
    }

    /// The log events so far.
    pub fn logs(&self) -> Vec<Exported> {
        let name = |record: &Value| record["eventName"].clone();
        self.records("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"], name)
    }

    /// The spans so far.
    pub fn spans(&self) -> Vec<Exported> {
        self.records("/v1/traces", ["resourceSpans", "scopeSpans", "spans"], |record| record["name"].clone())
    }

    /// The data points so far, each with the name of its metric.
    pub fn points(&self) -> Vec<Exported> {
        let mut points = Vec::new();
        for metric in
            self.records("/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"], |record| record["name"].clone())
        {
            for kind in ["sum", "histogram"] {
                for point in list(&metric.record[kind]["dataPoints"]) {
                    points.push(Exported {
                        attributes: attributes(&point["attributes"]),
                        record: point.clone(),
                        ..metric.clone()
                    });
                }
            }
        }
        points
    }

    fn records(&self, path: &str, lists: [&str; 3], name: impl Fn(&Value) -> Value) -> Vec<Exported> {
        let [of_resource, of_scope, records] = lists;
        let mut all = Vec::new();
        for request in self.requests().iter().filter(|request| request.path == path) {
            let message = decoded(request);
            for resource in list(&message[of_resource]) {
                for record in list(&resource[of_scope]).iter().flat_map(|scope| list(&scope[records])) {
                    all.push(Exported {
                        name: name(record).as_str().unwrap_or_default().to_owned(),
                        attributes: attributes(&record["attributes"]),
                        resource: attributes(&resource["resource"]["attributes"]),
                        record: record.clone(),
                    });
                }
            }
        }
        all
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn attributes(value: &Value) -> BTreeMap<String, Value> {
    let pair = |it: &Value| {
        let value = it["value"].as_object().and_then(|value| value.values().next()).cloned().unwrap_or_default();
        (it["key"].as_str().unwrap_or_default().to_owned(), value)
    };
    list(value).iter().map(pair).collect()
}

/// The message of a request in the protocol's JSON.
///
/// # Panics
///
/// When the body is not what its content type and path say.
pub fn decoded(request: &RecordedRequest) -> Value {
    match request.header("content-type") {
        Some("application/json") => serde_json::from_slice(&request.body).expect("the body is JSON"),
        Some("application/x-protobuf") => {
            let message = match request.path.rsplit('/').next() {
                Some("logs") => "LogsRequest",
                Some("traces") => "TracesRequest",
                _ => "MetricsRequest",
            };
            read(message, &request.body)
        }
        other => panic!("the body has the content type {other:?}"),
    }
}

/// How a field is written, and what it is in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Hex,
    Bool,
    /// A whole number of 32 bits.
    Number,
    /// A whole number of 64 bits, which JSON has as text.
    Long,
    Fixed32,
    Fixed64,
    Double,
    /// Numbers of 64 bits one after the other.
    Fixed64s,
    Doubles,
    Message(&'static str),
    Messages(&'static str),
}

use Kind::Bool;
use Kind::Double;
use Kind::Doubles;
use Kind::Fixed32;
use Kind::Fixed64;
use Kind::Fixed64s;
use Kind::Hex;
use Kind::Long;
use Kind::Message;
use Kind::Messages;
use Kind::Number;
use Kind::Text;

/// The fields of each message: number, name in JSON, kind.
fn fields(message: &str) -> &'static [(u64, &'static str, Kind)] {
    match message {
        "LogsRequest" => &[(1, "resourceLogs", Messages("ResourceLogs"))],
        "TracesRequest" => &[(1, "resourceSpans", Messages("ResourceSpans"))],
        "MetricsRequest" => &[(1, "resourceMetrics", Messages("ResourceMetrics"))],
        "ResourceLogs" => {
            &[(1, "resource", Message("Resource")), (2, "scopeLogs", Messages("ScopeLogs")), (3, "schemaUrl", Text)]
        }
        "ResourceSpans" => {
            &[(1, "resource", Message("Resource")), (2, "scopeSpans", Messages("ScopeSpans")), (3, "schemaUrl", Text)]
        }
        "ResourceMetrics" => &[
            (1, "resource", Message("Resource")),
            (2, "scopeMetrics", Messages("ScopeMetrics")),
            (3, "schemaUrl", Text),
        ],
        "Resource" => &[(1, "attributes", Messages("KeyValue"))],
        "Scope" => &[(1, "name", Text), (2, "version", Text)],
        "ScopeLogs" => &[(1, "scope", Message("Scope")), (2, "logRecords", Messages("LogRecord"))],
        "ScopeSpans" => &[(1, "scope", Message("Scope")), (2, "spans", Messages("Span"))],
        "ScopeMetrics" => &[(1, "scope", Message("Scope")), (2, "metrics", Messages("Metric"))],
        "KeyValue" => &[(1, "key", Text), (2, "value", Message("AnyValue"))],
        "AnyValue" => &[
            (1, "stringValue", Text),
            (2, "boolValue", Bool),
            (3, "intValue", Long),
            (4, "doubleValue", Double),
            (5, "arrayValue", Message("ArrayValue")),
        ],
        "ArrayValue" => &[(1, "values", Messages("AnyValue"))],
        "LogRecord" => &[
            (1, "timeUnixNano", Fixed64),
            (11, "observedTimeUnixNano", Fixed64),
            (2, "severityNumber", Number),
            (3, "severityText", Text),
            (6, "attributes", Messages("KeyValue")),
            (8, "flags", Fixed32),
            (9, "traceId", Hex),
            (10, "spanId", Hex),
            (12, "eventName", Text),
        ],
        "Span" => &[
            (1, "traceId", Hex),
            (2, "spanId", Hex),
            (4, "parentSpanId", Hex),
            (16, "flags", Fixed32),
            (5, "name", Text),
            (6, "kind", Number),
            (7, "startTimeUnixNano", Fixed64),
            (8, "endTimeUnixNano", Fixed64),
            (9, "attributes", Messages("KeyValue")),
            (11, "events", Messages("Event")),
            (13, "links", Messages("Link")),
            (15, "status", Message("Status")),
        ],
        "Event" => &[(1, "timeUnixNano", Fixed64), (2, "name", Text), (3, "attributes", Messages("KeyValue"))],
        "Link" => &[(1, "traceId", Hex), (2, "spanId", Hex), (6, "flags", Fixed32)],
        "Status" => &[(3, "code", Number)],
        "Metric" => &[
            (1, "name", Text),
            (2, "description", Text),
            (3, "unit", Text),
            (7, "sum", Message("Sum")),
            (9, "histogram", Message("Histogram")),
        ],
        "Sum" => &[
            (1, "dataPoints", Messages("NumberPoint")),
            (2, "aggregationTemporality", Number),
            (3, "isMonotonic", Bool),
        ],
        "Histogram" => &[(1, "dataPoints", Messages("HistogramPoint")), (2, "aggregationTemporality", Number)],
        "NumberPoint" => &[
            (7, "attributes", Messages("KeyValue")),
            (2, "startTimeUnixNano", Fixed64),
            (3, "timeUnixNano", Fixed64),
            (4, "asDouble", Double),
            (6, "asInt", Fixed64),
        ],
        "HistogramPoint" => &[
            (9, "attributes", Messages("KeyValue")),
            (2, "startTimeUnixNano", Fixed64),
            (3, "timeUnixNano", Fixed64),
            (4, "count", Fixed64),
            (5, "sum", Double),
            (6, "bucketCounts", Fixed64s),
            (7, "explicitBounds", Doubles),
            (11, "min", Double),
            (12, "max", Double),
        ],
        other => panic!("there is no message {other}"),
    }
}

fn read(message: &str, mut bytes: &[u8]) -> Value {
    let mut all = Map::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (number, wire) = (tag >> 3, tag & 7);
        let found = fields(message).iter().find(|(it, ..)| *it == number);
        let (_, name, kind) = *found.unwrap_or_else(|| panic!("{message} has no field {number}"));
        let value = match (kind, wire) {
            (Bool, 0) => json!(varint(&mut bytes) != 0),
            (Number, 0) => json!(varint(&mut bytes)),
            (Long, 0) => json!(varint(&mut bytes).cast_signed().to_string()),
            (Fixed64, 1) => json!(u64::from_le_bytes(array(take(&mut bytes, 8))).to_string()),
            (Double, 1) => json!(f64::from_le_bytes(array(take(&mut bytes, 8)))),
            (Fixed32, 5) => json!(u32::from_le_bytes(array(take(&mut bytes, 4)))),
            (_, 2) => {
                let length = usize::try_from(varint(&mut bytes)).expect("a length fits");
                let piece = take(&mut bytes, length);
                match kind {
                    Text => json!(std::str::from_utf8(piece).expect("a text is UTF-8")),
                    Hex => json!(piece.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
                    Fixed64s => piece.chunks(8).map(|it| json!(u64::from_le_bytes(array(it)).to_string())).collect(),
                    Doubles => piece.chunks(8).map(|it| json!(f64::from_le_bytes(array(it)))).collect(),
                    Message(inner) => read(inner, piece),
                    Messages(inner) => {
                        let list = all.entry(name).or_insert_with(|| json!([]));
                        list.as_array_mut().expect("it is a list").push(read(inner, piece));
                        continue;
                    }
                    other => panic!("{message}.{name} is {other:?} and has a length"),
                }
            }
            (kind, wire) => panic!("{message}.{name} is {kind:?} and is written as {wire}"),
        };
        all.insert(name.to_owned(), value);
    }
    Value::Object(all)
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number has no end")
}

fn take<'b>(bytes: &mut &'b [u8], n: usize) -> &'b [u8] {
    assert!(bytes.len() >= n, "the message is cut off");
    let (taken, rest) = bytes.split_at(n);
    *bytes = rest;
    taken
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the piece has this length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_buffers_are_read_by_their_table() {
        // resourceLogs { resource { attributes { key: "a" value { intValue: -1 } } } }
        let value = [0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let pair = [&[0x0a, 1, b'a', 0x12, 11][..], &value].concat();
        let resource = [&[0x0a, u8::try_from(pair.len()).unwrap()][..], &pair].concat();
        let of_resource = [&[0x0a, u8::try_from(resource.len()).unwrap()][..], &resource].concat();
        let body = [&[0x0a, u8::try_from(of_resource.len()).unwrap()][..], &of_resource].concat();
        let expected = json!({ "resourceLogs": [
            { "resource": { "attributes": [{ "key": "a", "value": { "intValue": "-1" } }] } },
        ] });
        assert_eq!(read("LogsRequest", &body), expected);
    }
}
