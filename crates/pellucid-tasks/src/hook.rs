//! What a panic writes to the log.

use std::cell::RefCell;
use std::panic;
use std::panic::PanicHookInfo;

thread_local! {
    /// Where this thread panicked last.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic is written to the log instead of to standard error: the place in the code at level `error`, the
/// message at level `debug`.
pub fn log_panics() {
    panic::set_hook(Box::new(log));
}

/// Where this thread panicked last, as `file:line:column`.
pub fn last_place() -> Option<String> {
    LAST.with_borrow(Clone::clone)
}

fn log(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    tracing::error!(place, "panicked");
    tracing::debug!(place, "the panic says: {}", panic.payload_as_str().unwrap_or("nothing"));
    LAST.set(Some(place));
}
