//! Adds figures up: measurements in, data points out, each time only what came since the last time.

use std::collections::BTreeMap;

use crate::names;
use crate::names::Instrument;
use crate::names::MetricKind;
use crate::record::Attribute;
use crate::record::AttributeValue;
use crate::record::Measurement;

/// How many combinations of attributes a metric has at most; the figures of all others are one combination.
pub const SERIES_MAX: usize = 500;

/// What came since the last time.
#[derive(Debug, Default)]
pub struct Aggregation {
    metrics: BTreeMap<&'static str, MetricPoints>,
}

/// A metric with its data points.
#[derive(Debug)]
pub struct MetricPoints {
    /// The metric that the points belong to.
    pub metric: &'static Instrument,
    /// The data points, by their attributes.
    points: BTreeMap<String, Point>,
}

impl MetricPoints {
    /// The data points, in the order of their attributes.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.values()
    }
}

/// A data point: all figures with the same attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What the figures are about.
    pub attributes: Vec<Attribute>,
    /// The sum of the figures.
    pub sum: f64,
    /// How many there are.
    pub count: u64,
    /// The smallest figure.
    pub min: f64,
    /// The largest figure.
    pub max: f64,
    /// How many figures are in each bucket; empty for sums.
    pub buckets: Vec<u64>,
}

impl Aggregation {
    /// Adds a figure.
    pub fn add(&mut self, measurement: Measurement) {
        let Measurement { metric, value, attributes } = measurement;
        let points = &mut self
            .metrics
            .entry(metric.name)
            .or_insert_with(|| MetricPoints { metric, points: BTreeMap::new() })
            .points;
        let mut key = key(&attributes);
        let mut attributes = attributes;
        if points.len() >= SERIES_MAX && !points.contains_key(&key) {
            attributes = vec![(names::OVERFLOW.into(), AttributeValue::Flag(true))];
            key = names::OVERFLOW.to_owned();
        }
        let n_buckets = match metric.kind {
            MetricKind::Histogram(bounds) => bounds.len() + 1,
            MetricKind::Counter | MetricKind::Sum => 0,
        };
        let point = points.entry(key).or_insert_with(|| Point {
            attributes,
            sum: 0.0,
            count: 0,
            min: value,
            max: value,
            buckets: vec![0; n_buckets],
        });
        point.sum += value;
        point.count += 1;
        point.min = point.min.min(value);
        point.max = point.max.max(value);
        if let MetricKind::Histogram(bounds) = metric.kind {
            let bucket = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
            point.buckets[bucket] += 1;
        }
    }

    /// Whether nothing came since the last time.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// Takes what came since the last time.
    pub fn take(&mut self) -> Vec<MetricPoints> {
        std::mem::take(&mut self.metrics).into_values().collect()
    }
}

fn key(attributes: &[Attribute]) -> String {
    let mut names: Vec<String> = attributes.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    names.sort();
    names.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(tool: &str) -> Vec<Attribute> {
        vec![(names::TOOL.into(), tool.into())]
    }

    #[test]
    fn figures_are_added_by_their_attributes_and_counted_in_buckets() {
        let mut all = Aggregation::default();
        for (tool, value) in [("a", 5.0), ("a", 5.1), ("b", 99_999.0)] {
            all.add(Measurement { metric: &names::TOOL_CALL_DURATION, value, attributes: about(tool) });
        }
        let taken = all.take();
        assert!(all.is_empty());
        let points: Vec<&Point> = taken[0].points().collect();
        assert_eq!(points.len(), 2);
        assert_eq!((points[0].sum, points[0].count, points[0].min, points[0].max), (10.1, 2, 5.0, 5.1));
        assert_eq!(points[0].buckets[..3], [0, 1, 1]);
        assert_eq!(points[1].buckets.last(), Some(&1));
    }

    #[test]
    fn too_many_combinations_become_one() {
        let mut all = Aggregation::default();
        for n in 0..SERIES_MAX + 10 {
            all.add(Measurement { metric: &names::TOOL_CALL, value: 1.0, attributes: about(&n.to_string()) });
        }
        let taken = all.take();
        assert_eq!(taken[0].points().count(), SERIES_MAX + 1);
        let rest = taken[0].points().find(|point| point.attributes[0].0 == names::OVERFLOW).unwrap();
        assert_eq!(rest.sum, 10.0);
    }
}
