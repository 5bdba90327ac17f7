//! Settings of the memories of past sessions.

use crate::config::MemoryScope;
use crate::keys::default::count_or_default;
use crate::keys::default::flag_or_default;
use crate::keys::default::integer_or_default;
use crate::keys::default::text_or_default;
use crate::keys::default::word_or_default;
use crate::reader::Reader;

/// How memories of sessions are made. The numbers are within their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// How many memories are merged at most.
    pub raw_memories_max: usize,
    /// How old a session may be, in days.
    pub age_days_max: i64,
    /// How many sessions are read per start.
    pub sessions_per_start_max: usize,
    /// How many hours a session must be idle before it is read.
    pub idle_hours_min: i64,
    /// The model that reads sessions.
    pub reading_model: String,
    /// The model that merges memories.
    pub merging_model: String,
    /// Whose past sessions are read, merged and remembered.
    pub scope: MemoryScope,
    /// Whether sessions write memories in their background.
    pub is_written: bool,
}

impl MemorySettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            raw_memories_max: count_or_default!(reader, "memories.max_raw_memories_for_global").min(4096),
            age_days_max: integer_or_default!(reader, "memories.max_rollout_age_days").clamp(0, 90),
            sessions_per_start_max: count_or_default!(reader, "memories.max_rollouts_per_startup").min(128),
            idle_hours_min: integer_or_default!(reader, "memories.min_rollout_idle_hours").clamp(1, 48),
            reading_model: text_or_default!(reader, "memories.phase_1_model"),
            merging_model: text_or_default!(reader, "memories.phase_2_model"),
            scope: word_or_default!(reader, "memories.scope", MemoryScope),
            is_written: flag_or_default!(reader, "memories.write"),
        }
    }
}
