//! Captures what a piece of a test writes to the log.
//!
//! One subscriber serves the whole process and keeps lines for the thread that asked. A subscriber for each test would
//! miss some: `tracing` caches for each place in the code whether a subscriber listens, and asks only the thread that
//! comes first.

use std::cell::RefCell;
use std::fmt::Debug;
use std::fmt::Write;
use std::sync::Once;

use tracing::Event;
use tracing::Metadata;
use tracing::Subscriber;
use tracing::field::Field;
use tracing::field::Visit;
use tracing::span;

/// Does some work on this thread, and returns what was logged meanwhile at levels `warn` and `error`: a line each, with
/// the level, the message and the fields.
pub fn logged<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| tracing::subscriber::set_global_default(Log).expect("tests have no other subscriber"));
    tracing::callsite::rebuild_interest_cache();
    LINES.set(Some(Vec::new()));
    let done = work();
    (done, LINES.take().unwrap_or_default())
}

thread_local! {
    /// The lines of this thread, while they are captured.
    static LINES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct Log;

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let line = format!("{} {}{}", event.metadata().level(), line.message, line.fields);
        LINES.with_borrow_mut(|lines| lines.as_mut().map(|lines| lines.push(line)));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Debug, Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        written.expect("a string takes all text");
    }
}
