//! Settings of what clients show.

use crate::keys::default;
use crate::keys::default::flag_or_default;
use crate::load::HarnessOverrides;
use crate::reader::Reader;

/// What clients show of the model's reasoning.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplaySettings {
    /// Whether reasoning summaries are hidden.
    pub hide_reasoning: bool,
    /// Whether raw reasoning is shown.
    pub show_raw_reasoning: bool,
}

impl DisplaySettings {
    pub(crate) fn read(reader: &Reader<'_>, harness: &HarnessOverrides) -> Self {
        Self {
            hide_reasoning: flag_or_default!(reader, "hide_agent_reasoning"),
            show_raw_reasoning: reader
                .flag("show_raw_agent_reasoning")
                .or(harness.show_raw_reasoning)
                .unwrap_or(const { default::flag("show_raw_agent_reasoning") }),
        }
    }
}
