//! Settings of summaries.

use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;

use crate::keys::default::flag_or_default;
use crate::reader::Reader;

/// How a long history is summarised. The pack decides about absent values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether the history is summarised without being asked for.
    pub auto: bool,
    /// The model that writes summaries.
    pub model: Option<String>,
    /// What happens when a history cannot be summarised by a model.
    pub fallback: Option<SummaryFallback>,
    /// How many of the last turns stay word for word.
    pub keep_turns: Option<usize>,
    /// By how many percent a summary must make a history smaller.
    pub saving_min: Option<u8>,
    /// How often a summary request that exceeds the window is retried.
    pub overflow_calls_max: Option<usize>,
    /// What the summarising model reads.
    pub input: Option<SummaryInput>,
    /// How a summary lists the user's requests.
    pub requests: Option<SummaryRequests>,
    /// Whether the texts of used skills stay.
    pub keep_skills: Option<bool>,
    /// How many tokens of the window are kept free for the answer, in packs that drop turns.
    pub reserved_output_tokens: Option<i64>,
    /// How many tokens a summary has at most, in packs that drop turns.
    pub summary_max_output_tokens: Option<i64>,
    /// How many recalled texts are used at most.
    pub memory_search_limit: Option<i64>,
    /// Whether dropped turns are summarised.
    pub summarise: Option<bool>,
}

impl CompactionSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self {
            auto: flag_or_default!(reader, "compaction.auto"),
            model: reader.text("compaction.model"),
            fallback: reader.word("compaction.fallback", SummaryFallback::from_word),
            keep_turns: reader.count("compaction.keep_turns"),
            saving_min: reader.count("compaction.saving_min"),
            overflow_calls_max: reader.count("compaction.overflow_calls_max"),
            input: reader.word("compaction.input", SummaryInput::from_word),
            requests: reader.word("compaction.requests", SummaryRequests::from_word),
            keep_skills: reader.flag("compaction.keep_skills"),
            reserved_output_tokens: reader.integer("compaction.reserved_output_tokens"),
            summary_max_output_tokens: reader.integer("compaction.summary_max_output_tokens"),
            memory_search_limit: reader.integer("compaction.memory_search_limit"),
            summarise: reader.flag("compaction.summarise"),
        }
    }
}
