//! Words of Risuai's files that layouts may have in place of the general ones.
//!
//! People carry layouts and presets over, so the words of that system keep working. Its words are in this table, in the
//! keys of presets (`preset`) and in the files beside a session (`data`), and nowhere else in the engine.

/// Strategies: the word of those files, and ours.
const STRATEGIES: [(&str, &str); 5] = [
    ("supa", "running_summary"),
    ("hypa_v1", "summary_and_fragments"),
    ("hypa_v2", "summaries_and_details"),
    ("hypa_v3", "cards"),
    ("hanurai", "recall"),
];

/// Keys of the settings of cards: the key of those files, and ours.
const KEYS: [(&str, &str); 14] = [
    ("summarizationPrompt", "summary_prompt"),
    ("memoryTokensRatio", "memory_ratio"),
    ("extraSummarizationRatio", "extra_ratio"),
    ("maxChatsPerSummary", "messages_per_card"),
    ("recentMemoryRatio", "recent_ratio"),
    ("similarMemoryRatio", "similar_ratio"),
    ("enableSimilarityCorrection", "similarity_correction"),
    ("preserveOrphanedMemory", "keep_orphans"),
    ("doNotSummarizeUserMessage", "skip_user_messages"),
    ("useExperimentalImpl", "experimental"),
    ("summarizationRequestsPerMinute", "summaries_per_minute"),
    ("summarizationMaxConcurrent", "summaries_at_once"),
    ("embeddingRequestsPerMinute", "vectors_per_minute"),
    ("embeddingMaxConcurrent", "vectors_at_once"),
];

/// Our word for a strategy.
pub(super) fn strategy(word: &str) -> &str {
    STRATEGIES.iter().find(|(theirs, _)| *theirs == word).map_or(word, |(_, ours)| ours)
}

/// The key of those files for ours; any other key is the same.
pub(super) fn file_key(key: &str) -> &str {
    KEYS.iter().find(|(_, ours)| *ours == key).map_or(key, |(theirs, _)| theirs)
}

/// Our key for one of those files.
pub(super) fn key(file_key: &str) -> &str {
    KEYS.iter().find(|(theirs, _)| *theirs == file_key).map_or(file_key, |(_, ours)| ours)
}

/// An error with our keys in place of those of the files.
pub(super) fn in_our_words(message: &str) -> String {
    let quoted = |word: &str| format!("`{word}`");
    KEYS.iter().fold(message.to_owned(), |text, (theirs, ours)| text.replace(&quoted(theirs), &quoted(ours)))
}
