//! The queue between sessions and the thread that exports. Adding to it never waits: what does not fit is counted.
//!
//! Log events and spans wait one by one. Figures are added up at once, so that they take no more room however many come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use tokio::sync::Notify;
use tokio::sync::watch;

use crate::metrics::Aggregation;
use crate::metrics::MetricPoints;
use crate::names;
use crate::otlp::RecordSource;
use crate::record::ExportedRecord;
use crate::record::Measurement;

/// How many records may wait.
pub(crate) const RECORDS_MAX: usize = 2048;

/// How many bytes all waiting records may take, about.
pub(crate) const BYTES_MAX: usize = 16 << 20;

/// A record with what it comes from.
pub(crate) type Queued = (Arc<RecordSource>, ExportedRecord);

/// Records that wait to be exported.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Wakes the thread that exports.
    pub added: Notify,
    /// Whether no more records come.
    closing: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    records: VecDeque<Queued>,
    bytes: usize,
    figures: Vec<(Arc<RecordSource>, Aggregation)>,
    n_dropped: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self { state: Mutex::default(), added: Notify::new(), closing: watch::Sender::new(false) }
    }
}

impl Queue {
    /// Adds records. Gives how many did not fit.
    pub fn add(&self, resource: &Arc<RecordSource>, records: Vec<ExportedRecord>) -> u64 {
        let mut state = self.lock();
        let mut n_dropped = 0;
        for record in records {
            if let ExportedRecord::Measurement(measurement) = record {
                state.figures(resource).add(measurement);
                continue;
            }
            let size = record.size();
            if state.records.len() >= RECORDS_MAX || state.bytes + size > BYTES_MAX {
                n_dropped += 1;
                continue;
            }
            state.bytes += size;
            state.records.push_back((resource.clone(), record));
        }
        if n_dropped > 0 {
            state.dropped(resource, n_dropped);
        }
        drop(state);
        self.added.notify_one();
        n_dropped
    }

    /// Counts records that no collector took.
    pub fn lost(&self, resource: &Arc<RecordSource>, n: u64) {
        self.lock().dropped(resource, n);
    }

    /// Takes the oldest records.
    pub fn take(&self, n_max: usize) -> Vec<Queued> {
        let mut state = self.lock();
        let n = state.records.len().min(n_max);
        let taken: Vec<Queued> = state.records.drain(..n).collect();
        let size: usize = taken.iter().map(|(_, record)| record.size()).sum();
        state.bytes = state.bytes.saturating_sub(size);
        taken
    }

    /// Takes the figures that came since the last time.
    pub fn take_figures(&self) -> Vec<(Arc<RecordSource>, Vec<MetricPoints>)> {
        let mut state = self.lock();
        std::mem::take(&mut state.figures).into_iter().map(|(resource, mut all)| (resource, all.take())).collect()
    }

    /// How many records wait.
    pub fn len(&self) -> usize {
        self.lock().records.len()
    }

    /// How many records were not exported so far.
    pub fn n_dropped(&self) -> u64 {
        self.lock().n_dropped
    }

    /// No more records come: what waits is to be exported at once.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Whether no more records come, for code that waits for that.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn figures(&mut self, resource: &Arc<RecordSource>) -> &mut Aggregation {
        let at = self.figures.iter().position(|(known, _)| Arc::ptr_eq(known, resource)).unwrap_or_else(|| {
            self.figures.push((resource.clone(), Aggregation::default()));
            self.figures.len() - 1
        });
        &mut self.figures[at].1
    }

    #[expect(clippy::cast_precision_loss, reason = "so many records no process has")]
    fn dropped(&mut self, resource: &Arc<RecordSource>, n: u64) {
        self.n_dropped += n;
        let dropped = Measurement { metric: &names::DROPPED, value: n as f64, attributes: Vec::new() };
        self.figures(resource).add(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LogEvent;

    fn resource() -> Arc<RecordSource> {
        Arc::new(RecordSource {
            attributes: Vec::new(),
            of_metrics: Vec::new(),
            version: String::new(),
            schema_url: String::new(),
        })
    }

    fn log(text: String) -> ExportedRecord {
        let attributes = vec![(names::PROMPT.into(), text.into())];
        ExportedRecord::Log(LogEvent { at: 0, name: names::USER_PROMPT, attributes, context: None })
    }

    #[test]
    fn more_records_than_fit_are_dropped_and_counted() {
        let (queue, resource) = (Queue::default(), resource());
        let records = (0..RECORDS_MAX + 5).map(|n| log(n.to_string())).collect();
        assert_eq!(queue.add(&resource, records), 5);
        assert_eq!((queue.len(), queue.n_dropped()), (RECORDS_MAX, 5));
        assert_eq!(queue.take(10).len(), 10);
        assert_eq!(queue.add(&resource, vec![log(String::new())]), 0);
        let figures = queue.take_figures();
        let point = figures[0].1[0].points().next().map(|point| point.sum);
        assert_eq!((figures[0].1[0].metric.name, point), (names::DROPPED.name, Some(5.0)));
        assert!(queue.take_figures().is_empty());
    }

    #[test]
    fn more_bytes_than_fit_are_dropped_too() {
        let (queue, resource) = (Queue::default(), resource());
        let large = BYTES_MAX / 2 - 1000;
        let records = vec![log("x".repeat(large)), log("x".repeat(large)), log("x".repeat(large))];
        assert_eq!(queue.add(&resource, records), 1);
        assert_eq!(queue.take(usize::MAX).len(), 2);
        assert_eq!(queue.add(&resource, vec![log("x".repeat(large))]), 0);
    }

    #[test]
    fn figures_take_no_place_in_the_queue() {
        let (queue, resource) = (Queue::default(), resource());
        let figure = || {
            ExportedRecord::Measurement(Measurement { metric: &names::TURN_COUNT, value: 1.0, attributes: Vec::new() })
        };
        assert_eq!(queue.add(&resource, (0..RECORDS_MAX * 2).map(|_| figure()).collect()), 0);
        assert_eq!(queue.len(), 0);
        let figures = queue.take_figures();
        assert_eq!(figures[0].1[0].points().next().map(|point| point.count), Some(2 * RECORDS_MAX as u64));
    }
}
