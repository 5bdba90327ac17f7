//! The exporter: takes records from sessions, and sends them from a separate thread.
//!
//! Sessions with the same collectors share an exporter. Its thread begins with the first record. Adding records never
//! waits, so a collector that hangs costs a turn nothing: when the queue is full, records are dropped and counted. A
//! person learns once that records are lost. At the end of the process, [`close_all`] waits a bounded time for the rest.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use pellucid_protocol::telemetry::Collector;
use pellucid_protocol::telemetry::OtlpEncoding;
use pellucid_protocol::telemetry::TelemetrySettings;
use tokio::time::sleep;
use tokio::time::sleep_until;
use tokio::time::timeout_at;

use crate::client::CollectorClient;
use crate::otlp;
use crate::otlp::Range;
use crate::otlp::RecordSource;
use crate::queue::Queue;
use crate::queue::Queued;
use crate::record::ExportedRecord;
use crate::record::LogEvent;
use crate::record::Nanoseconds;
use crate::record::SpanRecord;

/// How long the end of the process waits for what was not sent yet.
pub const CLOSING_TIME: Duration = Duration::from_secs(2);

/// How many records are sent at once.
const BATCH: usize = 512;

/// How long a batch waits for more records.
const GATHERING_TIME: Duration = Duration::from_secs(1);

/// How often figures are sent.
const FIGURES_INTERVAL: Duration = Duration::from_mins(1);

/// How often a request is sent again that may be taken later.
const RETRIES_MAX: u32 = 2;

/// How long the first of these waits; each further one waits twice as long.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The exporters of this process.
static EXPORTERS: Mutex<Vec<Arc<Exporter>>> = Mutex::new(Vec::new());

/// Sends the records of sessions that have the same collectors.
#[derive(Debug)]
pub struct Exporter {
    collectors: Collectors,
    queue: Arc<Queue>,
    resources: Mutex<Vec<Arc<RecordSource>>>,
    thread: Mutex<Thread>,
    notices: Arc<Mutex<Notices>>,
}

/// Where the signals are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Collectors {
    logs: Option<Collector>,
    traces: Option<Collector>,
    metrics: Option<Collector>,
}

/// The thread of an exporter.
#[derive(Debug)]
enum Thread {
    Waiting,
    /// The channel closes when everything is sent.
    Running(mpsc::Receiver<()>),
    Over,
}

/// What a person learns of an exporter, each once.
#[derive(Debug, Default)]
struct Notices {
    waiting: Vec<String>,
    has_dropped: bool,
    failed: Vec<&'static str>,
}

impl Exporter {
    /// The exporter of these collectors. Nothing is started yet.
    pub fn shared(settings: &TelemetrySettings) -> Arc<Self> {
        let collectors = Collectors {
            logs: settings.logs.clone(),
            traces: settings.traces.clone(),
            metrics: settings.metrics.clone(),
        };
        let mut exporters = lock(&EXPORTERS);
        let is_it = |exporter: &&Arc<Self>| exporter.collectors == collectors && !exporter.is_over();
        if let Some(known) = exporters.iter().find(is_it) {
            return known.clone();
        }
        let exporter = Arc::new(Self {
            collectors,
            queue: Arc::default(),
            resources: Mutex::default(),
            thread: Mutex::new(Thread::Waiting),
            notices: Arc::default(),
        });
        exporters.push(exporter.clone());
        exporter
    }

    /// A resource that sessions with the same attributes share.
    pub fn resource(&self, resource: RecordSource) -> Arc<RecordSource> {
        let mut known = lock(&self.resources);
        if let Some(it) = known.iter().find(|it| ***it == resource) {
            return it.clone();
        }
        let resource = Arc::new(resource);
        known.push(resource.clone());
        resource
    }

    /// Hands records over. This never waits.
    pub fn export(&self, resource: &Arc<RecordSource>, records: Vec<ExportedRecord>) {
        if records.is_empty() {
            return;
        }
        let n_dropped = self.queue.add(resource, records);
        let mut notices = lock(&self.notices);
        if n_dropped > 0 && !std::mem::replace(&mut notices.has_dropped, true) {
            notices.waiting.push(
                "telemetry is incomplete: the collector is too slow, so records are dropped (`pellucid.telemetry.dropped` counts them)"
                    .to_owned(),
            );
        }
        drop(notices);
        let mut thread = lock(&self.thread);
        if matches!(*thread, Thread::Waiting) {
            *thread = self.start();
        }
    }

    /// Takes what a person has to learn. Everything comes once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.notices).waiting)
    }

    /// How many records wait, and how many were lost.
    pub fn counts(&self) -> (usize, u64) {
        (self.queue.len(), self.queue.n_dropped())
    }

    /// Sends what waits, for at most this time, and ends. Gives what a person has to learn.
    pub fn close(&self, patience: Duration) -> Vec<String> {
        self.queue.close();
        let thread = std::mem::replace(&mut *lock(&self.thread), Thread::Over);
        if let Thread::Running(over) = thread
            && over.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout)
        {
            let mut notices = lock(&self.notices);
            if notices.failed.is_empty() && !notices.has_dropped {
                notices.waiting.push("telemetry is incomplete: the collector did not answer in time".to_owned());
            }
        }
        self.take_notices()
    }

    fn is_over(&self) -> bool {
        matches!(*lock(&self.thread), Thread::Over)
    }

    fn start(&self) -> Thread {
        let (running, over) = mpsc::channel();
        let (queue, collectors, notices) = (self.queue.clone(), self.collectors.clone(), self.notices.clone());
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(Worker::new(queue, &collectors, notices).serve()),
                Err(error) => lock(&notices).waiting.push(format!("telemetry is not exported: {error}")),
            }
            drop(running);
        };
        #[expect(clippy::disallowed_methods, reason = "the thread ends with the exporter, or with the process")]
        let started = std::thread::Builder::new().name("telemetry".to_owned()).spawn(work);
        match started {
            Ok(_) => Thread::Running(over),
            Err(error) => {
                lock(&self.notices).waiting.push(format!("telemetry is not exported: {error}"));
                Thread::Over
            }
        }
    }
}

/// Ends all exporters of the process. All of them together take at most this time. Gives what a person has to learn.
pub fn close_all(patience: Duration) -> Vec<String> {
    let exporters = std::mem::take(&mut *lock(&EXPORTERS));
    let deadline = Instant::now() + patience;
    exporters.iter().for_each(|exporter| exporter.queue.close());
    let left = || deadline.saturating_duration_since(Instant::now());
    exporters.iter().flat_map(|exporter| exporter.close(left())).collect()
}

/// What the thread does.
struct Worker {
    queue: Arc<Queue>,
    notices: Arc<Mutex<Notices>>,
    logs: Option<Target>,
    traces: Option<Target>,
    metrics: Option<Target>,
    /// Since when figures are added up.
    since: Nanoseconds,
}

/// A collector that can be used.
struct Target {
    signal: &'static str,
    endpoint: String,
    encoding: OtlpEncoding,
    client: CollectorClient,
}

impl Worker {
    fn new(queue: Arc<Queue>, collectors: &Collectors, notices: Arc<Mutex<Notices>>) -> Self {
        let target = |signal, collector: &Option<Collector>| {
            let collector = collector.as_ref()?;
            match CollectorClient::new(collector) {
                Ok(client) => {
                    let endpoint = shown(&collector.endpoint);
                    Some(Target { signal, endpoint, encoding: collector.encoding, client })
                }
                Err(why) => {
                    let mut notices = lock(&notices);
                    notices.failed.push(signal);
                    let endpoint = shown(&collector.endpoint);
                    notices.waiting.push(format!("{signal} are not exported to {endpoint}: {why}"));
                    None
                }
            }
        };
        let (logs, traces) = (target("logs", &collectors.logs), target("traces", &collectors.traces));
        let metrics = target("metrics", &collectors.metrics);
        Self { queue, logs, traces, metrics, since: now(), notices }
    }

    async fn serve(mut self) {
        let mut closing = self.queue.closing();
        let mut due = tokio::time::Instant::now() + FIGURES_INTERVAL;
        loop {
            let is_closing = tokio::select! {
                _ = closing.wait_for(|is_closing| *is_closing) => true,
                () = self.queue.added.notified() => self.gather().await,
                () = sleep_until(due) => false,
            };
            loop {
                let batch = self.queue.take(BATCH);
                if batch.is_empty() {
                    break;
                }
                self.send(batch).await;
            }
            if is_closing || tokio::time::Instant::now() >= due {
                self.send_figures().await;
                due = tokio::time::Instant::now() + FIGURES_INTERVAL;
            }
            if is_closing {
                return;
            }
        }
    }

    /// Waits for more records. Gives whether no more come.
    async fn gather(&self) -> bool {
        let mut closing = self.queue.closing();
        let until = tokio::time::Instant::now() + GATHERING_TIME;
        while self.queue.len() < BATCH {
            tokio::select! {
                _ = closing.wait_for(|is_closing| *is_closing) => return true,
                more = timeout_at(until, self.queue.added.notified()) => {
                    if more.is_err() {
                        break;
                    }
                }
            }
        }
        *closing.borrow()
    }

    async fn send(&self, batch: Vec<Queued>) {
        for (resource, records) in by_resource(&batch) {
            let logs: Vec<&LogEvent> = records.iter().filter_map(|record| log(record)).collect();
            let spans: Vec<&SpanRecord> = records.iter().filter_map(|record| span(record)).collect();
            let all_logs = async {
                if let (Some(target), false) = (&self.logs, logs.is_empty()) {
                    let body = otlp::encode(&otlp::logs(resource, &logs), target.encoding);
                    self.post(target, resource, body, logs.len()).await;
                }
            };
            let all_spans = async {
                if let (Some(target), false) = (&self.traces, spans.is_empty()) {
                    let body = otlp::encode(&otlp::spans(resource, &spans), target.encoding);
                    self.post(target, resource, body, spans.len()).await;
                }
            };
            tokio::join!(all_logs, all_spans);
        }
    }

    async fn send_figures(&mut self) {
        let range = Range { from: std::mem::replace(&mut self.since, now()), to: now() };
        let figures = self.queue.take_figures();
        let Some(target) = &self.metrics else { return };
        for (resource, metrics) in figures {
            let body = otlp::encode(&otlp::metrics(&resource, &metrics, range), target.encoding);
            self.post(target, &resource, body, 0).await;
        }
    }

    /// Sends a body with so many records, several times if that may help. A person learns of the first failure.
    async fn post(&self, target: &Target, resource: &Arc<RecordSource>, body: Vec<u8>, n_records: usize) {
        let mut closing = self.queue.closing();
        let mut n_retries = 0;
        let refused = loop {
            let Err(refused) = target.client.post(body.clone()).await else { return };
            if !refused.is_passing || n_retries >= RETRIES_MAX || *closing.borrow() {
                break refused;
            }
            let delay = RETRY_DELAY * 2_u32.pow(n_retries);
            n_retries += 1;
            tokio::select! {
                () = sleep(delay) => {}
                _ = closing.wait_for(|is_closing| *is_closing) => {}
            }
        };
        tracing::debug!(signal = target.signal, why = %refused.why, n_records, "records are lost");
        self.queue.lost(resource, n_records as u64);
        let mut notices = lock(&self.notices);
        if !notices.failed.contains(&target.signal) {
            notices.failed.push(target.signal);
            let Target { signal, endpoint, .. } = target;
            notices.waiting.push(format!("{signal} are not exported to {endpoint}: {}", refused.why));
        }
    }
}

fn by_resource(batch: &[Queued]) -> Vec<(&Arc<RecordSource>, Vec<&ExportedRecord>)> {
    let mut all: Vec<(&Arc<RecordSource>, Vec<&ExportedRecord>)> = Vec::new();
    for (resource, record) in batch {
        match all.iter_mut().find(|(known, _)| Arc::ptr_eq(known, resource)) {
            Some((_, records)) => records.push(record),
            None => all.push((resource, vec![record])),
        }
    }
    all
}

fn log(record: &ExportedRecord) -> Option<&LogEvent> {
    match record {
        ExportedRecord::Log(event) => Some(event),
        ExportedRecord::Span(_) | ExportedRecord::Measurement(_) => None,
    }
}

fn span(record: &ExportedRecord) -> Option<&SpanRecord> {
    match record {
        ExportedRecord::Span(span) => Some(span),
        ExportedRecord::Log(_) | ExportedRecord::Measurement(_) => None,
    }
}

/// An address without what may be secret in it: a password, and the query.
fn shown(endpoint: &str) -> String {
    let before_query = endpoint.split(['?', '#']).next().unwrap_or_default();
    match before_query.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
            let host = host.rsplit('@').next().unwrap_or_default();
            path.map_or_else(|| format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
        }
        None => before_query.rsplit('@').next().unwrap_or_default().to_owned(),
    }
}

fn now() -> Nanoseconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_secrets() {
        assert_eq!(shown("https://a.test:4318/v1/logs?key=k#f"), "https://a.test:4318/v1/logs");
        assert_eq!(shown("https://user:pass@a.test"), "https://a.test");
        assert_eq!(shown("user:pass@a.test"), "a.test");
    }
}
