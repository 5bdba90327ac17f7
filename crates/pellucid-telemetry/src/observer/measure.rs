//! The figures of metrics. None of them names a session.

use super::Observer;
use super::attribute;
use crate::names;
use crate::names::Instrument;
use crate::names::MetricSet;
use crate::record::Attribute;
use crate::record::ExportedRecord;
use crate::record::Measurement;

impl Observer {
    /// Adds one to a counter.
    pub(super) fn count(&mut self, metric: &'static Instrument, attributes: Vec<Attribute>) {
        self.measure(metric, 1.0, attributes);
    }

    /// Notes a figure in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "a duration for people")]
    pub(super) fn measure_ms(&mut self, metric: &'static Instrument, milliseconds: u64, attributes: Vec<Attribute>) {
        self.measure(metric, milliseconds as f64, attributes);
    }

    /// Notes a whole figure.
    #[expect(clippy::cast_precision_loss, reason = "so many tokens or bytes no session has")]
    pub(super) fn measure_n(&mut self, metric: &'static Instrument, n: i64, attributes: Vec<Attribute>) {
        self.measure(metric, n as f64, attributes);
    }

    /// Notes a figure, with what all metrics of its set are about.
    pub(super) fn measure(&mut self, metric: &'static Instrument, value: f64, attributes: Vec<Attribute>) {
        let is_wanted = match metric.set {
            MetricSet::Codex => self.exported.codex,
            MetricSet::GenAi => self.exported.gen_ai,
            MetricSet::GenAiSince(revision) => self.exported.gen_ai && self.exported.semconv >= revision,
            MetricSet::Always => true,
        };
        if !self.exported.metrics || !is_wanted {
            return;
        }
        let mut all = Vec::new();
        if metric.set == MetricSet::Codex {
            all.push(attribute(names::APP_VERSION, self.facts.version.as_str()));
            all.push(attribute(names::MODEL, self.facts.model.as_str()));
            all.push(attribute(names::ORIGINATOR, self.facts.originator.as_str()));
            all.push(attribute(names::SESSION_SOURCE, self.facts.source.as_str()));
        }
        all.extend(attributes);
        self.records.push(ExportedRecord::Measurement(Measurement { metric, value, attributes: all }));
    }

    /// What figures of the conventions are about.
    pub(super) fn about_operation(&self, operation: &'static str) -> Vec<Attribute> {
        vec![
            attribute(names::OPERATION_NAME, operation),
            self.provider(),
            attribute(names::REQUEST_MODEL, self.facts.model.as_str()),
        ]
    }
}
