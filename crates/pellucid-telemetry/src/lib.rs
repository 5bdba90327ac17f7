//! Telemetry: spans, logs and metrics about sessions, sent to collectors that the user names.
//!
//! - [`names`]: everything that can be exported, in one table: log events, spans, metrics, attributes
//! - [`facts`]: what is observed of a session, as values: its settings, events, requests, replies, calls
//! - [`observer`]: from what is observed to records, without a clock and without a network
//! - [`record`]: the records; [`trace`]: the ids that tie them together; [`resource`]: what
//!   they come from
//! - [`otlp`]: records as messages of the OpenTelemetry protocol, in both encodings; [`metrics`] adds figures up before
//! - [`exporter`]: the queue, the thread that sends it, and the end of the process
//!
//! Records are made from events and from the record of requests, never from log lines, so what is exported is a closed
//! list. Without a collector in the settings nothing of this runs.
//!
//! Not here: settings (`pellucid_protocol::telemetry`), and who hands events over (`pellucid-agent`).

#![warn(missing_docs)]

pub mod content;
pub mod exporter;
pub mod facts;
pub mod metrics;
pub mod names;
pub mod observer;
pub mod otlp;
pub mod record;
pub mod resource;
pub mod trace;

mod client;
mod queue;
