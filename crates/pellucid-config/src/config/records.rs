//! Settings of what is recorded, and what is sent elsewhere.

use crate::keys::default::flag_or_default;
use crate::reader::Reader;

/// What is recorded, and what is sent elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSettings {
    /// The program that is run after each turn, with its arguments.
    pub notify: Option<Vec<String>>,
    /// Whether feedback may be sent.
    pub feedback: bool,
    /// Whether `exec --json` prints context events.
    pub context_events: bool,
    /// Whether the exit status of `exec` distinguishes kinds of failure.
    pub typed_exit_codes: bool,
}

impl RecordSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            notify: reader.texts("notify"),
            feedback: flag_or_default!(reader, "feedback.enabled"),
            context_events: flag_or_default!(reader, "exec.context_events"),
            typed_exit_codes: flag_or_default!(reader, "exec.typed_exit_codes"),
        }
    }
}
