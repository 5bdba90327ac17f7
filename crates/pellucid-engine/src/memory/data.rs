//! The memory of a chat as it is stored, in the notation of Risuai's files.
//!
//! Keys and their meaning are those of that system, so that a chat's memory can be carried over. They are facts of a format,
//! whatever strategy a pack has. Unknown keys are kept unchanged.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use super::entry::ChatEntry;

/// How a stored running summary with fragments begins; one without begins with the id of a message.
pub(super) const WITH_FRAGMENTS: &str = "hypa:";
/// The key of a stored running summary.
pub(super) const SUMMARY_KEY: &str = "supa";
/// The key of stored fragments.
pub(super) const FRAGMENTS_KEY: &str = "hypa";

/// The memory of [`super::summary_cards`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardData {
    /// The summaries, oldest first.
    #[serde(default)]
    pub summaries: Vec<MemorySummary>,
    /// The categories of the summaries, which people make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<Category>>,
    /// The summaries that were used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// An older form of `metrics`; it goes when it is read.
    #[serde(default, skip_serializing)]
    pub last_selected_summaries: Option<Value>,
    /// Unknown keys, kept unchanged.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A summary: a card of the memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemorySummary {
    /// The text of the summary.
    pub text: String,
    /// The messages it was made from; nothing is the first message, which has no id.
    #[serde(default)]
    pub chat_memos: Vec<Option<String>>,
    /// Whether the summary is pinned.
    #[serde(default)]
    pub is_important: bool,
    /// The id of the summary's category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_id: Option<String>,
    /// Tags that people gave to the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Unknown keys, kept unchanged.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A category of summaries, which people make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// The id of the category; empty for summaries without one.
    pub id: String,
    /// The name of the category.
    pub name: String,
}

/// The indices of the summaries that were used last, each list in the order of choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metrics {
    /// Summaries that were chosen because they are pinned.
    pub last_important_summaries: Vec<usize>,
    /// Summaries that were chosen because they are new.
    pub last_recent_summaries: Vec<usize>,
    /// Summaries that were chosen because they resemble the last messages.
    pub last_similar_summaries: Vec<usize>,
    /// Summaries that were chosen at random.
    pub last_random_summaries: Vec<usize>,
}

/// The memory of [`super::summaries_and_details`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DetailData {
    /// The highest id that was given.
    #[serde(rename = "lastMainChunkID", default)]
    pub last_main_chunk_id: i64,
    /// The summaries, oldest first.
    #[serde(rename = "mainChunks", default)]
    pub main_chunks: Vec<MainChunk>,
    /// The paragraphs of all summaries.
    #[serde(default)]
    pub chunks: Vec<SummaryChunk>,
}

/// A summary of [`DetailData`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MainChunk {
    /// The id of the summary.
    pub id: i64,
    /// The text of the summary.
    pub text: String,
    /// The messages it was made from.
    #[serde(default, deserialize_with = "list_or_empty")]
    pub chat_memos: Vec<Option<String>>,
    /// The memo of the last message.
    #[serde(default)]
    pub last_chat_memo: Option<String>,
}

/// A paragraph of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryChunk {
    /// The id of the summary that the paragraph belongs to.
    #[serde(rename = "mainChunkID")]
    pub main_chunk_id: i64,
    /// The text of the paragraph.
    pub text: String,
}

/// Reads a value that is not a list as an empty list.
fn list_or_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Option<String>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let Value::Array(items) = value else {
        return Ok(Vec::new());
    };
    Ok(items.into_iter().map(|item| item.as_str().map(str::to_owned)).collect())
}

impl CardData {
    /// Takes summaries away of which some message is gone.
    pub fn drop_orphans(&mut self, entries: &[ChatEntry]) {
        let memos = memos(entries);
        self.summaries.retain(|summary| summary.chat_memos.iter().all(|memo| memos.contains(&memo.as_deref())));
    }
}

impl DetailData {
    /// Reads what was stored, in the form of today or the one before it.
    pub fn read(value: &Value, entries: &[ChatEntry]) -> Option<Self> {
        let is_old = |key: &str| {
            let rows = value.get(key).and_then(Value::as_array);
            rows.is_some_and(|rows| rows.iter().any(|row| row.get("targetId").is_some()))
        };
        if is_old("mainChunks") || is_old("chunks") { old(value, entries) } else { Self::deserialize(value).ok() }
    }

    /// Takes summaries away of which some message is gone, with their paragraphs.
    pub fn drop_orphans(&mut self, entries: &[ChatEntry]) {
        let memos = memos(entries);
        self.main_chunks.retain(|chunk| chunk.chat_memos.iter().all(|memo| memos.contains(&memo.as_deref())));
        let ids: BTreeSet<i64> = self.main_chunks.iter().map(|chunk| chunk.id).collect();
        self.chunks.retain(|chunk| ids.contains(&chunk.main_chunk_id));
        self.last_main_chunk_id = self.main_chunks.last().map_or(0, |chunk| chunk.id);
    }
}

fn memos(entries: &[ChatEntry]) -> BTreeSet<Option<&str>> {
    entries.iter().map(|entry| entry.memo.as_deref()).collect()
}

/// The form before today's: newest first, and only the last message of each summary is known. A
/// summary also has the message that the one before it ends with, as the reference converts it.
fn old(value: &Value, entries: &[ChatEntry]) -> Option<DetailData> {
    let rows = |key: &str| {
        let rows = value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let row = |row: &Value| {
            let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
            Some((text("text")?, text("targetId")?))
        };
        rows.iter().filter_map(row).collect::<Vec<_>>()
    };
    let place = |target: &str| entries.iter().position(|entry| entry.has_memo(target));
    let mut data = DetailData::default();
    let mut targets: Vec<(String, i64)> = Vec::new();
    let mut start = 0;
    for (text, target) in rows("mainChunks").into_iter().rev() {
        let Some(end) = place(&target) else {
            continue;
        };
        let id = i64::try_from(targets.len()).ok()?;
        let chat_memos = entries.get(start..=end).unwrap_or_default().iter().map(|entry| entry.memo.clone()).collect();
        data.main_chunks.push(MainChunk { id, text, chat_memos, last_chat_memo: Some(target.clone()) });
        data.last_main_chunk_id = id;
        targets.push((target, id));
        start = end;
    }
    for (text, target) in rows("chunks") {
        if let Some((_, id)) = targets.iter().find(|(known, _)| *known == target) {
            data.chunks.push(SummaryChunk { main_chunk_id: *id, text });
        }
    }
    Some(data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::entry::ChatRole;
    use super::*;

    fn chat(memos: &[&str]) -> Vec<ChatEntry> {
        memos.iter().map(|memo| ChatEntry::new(ChatRole::User, *memo).with_memo(*memo)).collect()
    }

    #[track_caller]
    fn check_v2(value: &Value, memos: &[&str], expected: &Value) {
        let data = DetailData::read(value, &chat(memos)).expect("the data can be read");
        assert_eq!(json!(data), *expected);
    }

    #[test]
    fn summaries_of_the_old_form_share_the_message_between_them() {
        check_v2(
            &json!({
                "mainChunks": [
                    {"text": "last", "targetId": "d"},
                    {"text": "lost", "targetId": "gone"},
                    {"text": "first", "targetId": "b"},
                ],
                "chunks": [{"text": "x", "targetId": "d"}, {"text": "y", "targetId": "gone"}],
            }),
            &["a", "b", "c", "d", "e"],
            &json!({
                "lastMainChunkID": 1,
                "mainChunks": [
                    {"id": 0, "text": "first", "chatMemos": ["a", "b"], "lastChatMemo": "b"},
                    {"id": 1, "text": "last", "chatMemos": ["b", "c", "d"], "lastChatMemo": "d"},
                ],
                "chunks": [{"mainChunkID": 1, "text": "x"}],
            }),
        );
    }

    #[test]
    fn a_summary_without_a_list_of_messages_has_an_empty_one() {
        check_v2(
            &json!({"lastMainChunkID": 2, "mainChunks": [{"id": 1, "text": "a"}, {"id": 2, "text": "b", "chatMemos": 7}]}),
            &["a"],
            &json!({
                "lastMainChunkID": 2,
                "mainChunks": [
                    {"id": 1, "text": "a", "chatMemos": [], "lastChatMemo": null},
                    {"id": 2, "text": "b", "chatMemos": [], "lastChatMemo": null},
                ],
                "chunks": [],
            }),
        );
    }

    #[test]
    fn data_of_today_is_read_back_as_it_was_with_what_is_not_known() {
        let stored = json!({
            "summaries": [{ "text": "t", "chatMemos": ["a", null], "isImportant": true, "categoryId": "c",
                "tags": ["x"], "later": { "a": 1 } }],
            "categories": [{ "id": "c", "name": "C" }],
            "metrics": { "lastImportantSummaries": [0], "lastRecentSummaries": [], "lastSimilarSummaries": [],
                "lastRandomSummaries": [] },
            "more": [1, 2],
        });
        let data: CardData = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&data).unwrap(), stored);
        let old: CardData = serde_json::from_value(json!({ "lastSelectedSummaries": [1] })).unwrap();
        assert_eq!(
            serde_json::to_value(&old).unwrap(),
            json!({ "summaries": [] }),
            "an older form goes when it is read"
        );
        assert_eq!(serde_json::from_value::<CardData>(json!({})).unwrap(), CardData::default());
    }

    #[test]
    fn what_is_no_data_is_refused_and_lists_that_are_none_are_empty() {
        for wrong in [
            json!(7),
            json!({ "mainChunks": 7 }),
            json!({ "mainChunks": [{ "id": "x", "text": "t" }] }),
            json!({ "chunks": [{}] }),
        ] {
            assert_eq!(DetailData::read(&wrong, &[]), None, "{wrong}");
        }
        check_v2(
            &json!({ "mainChunks": [{ "id": 3, "text": "t", "chatMemos": "none" }], "lastMainChunkID": 3 }),
            &[],
            &json!({
                "lastMainChunkID": 3,
                "mainChunks": [{ "id": 3, "text": "t", "chatMemos": [], "lastChatMemo": null }],
                "chunks": [],
            }),
        );
    }

    #[test]
    fn summaries_whose_messages_are_gone_take_their_paragraphs_with_them() {
        let chunk = |id: i64, memos: &[&str]| MainChunk {
            id,
            text: id.to_string(),
            chat_memos: memos.iter().map(|memo| Some((*memo).to_owned())).collect(),
            last_chat_memo: None,
        };
        let paragraph = |id: i64| SummaryChunk { main_chunk_id: id, text: id.to_string() };
        let mut data = DetailData {
            last_main_chunk_id: 3,
            main_chunks: vec![chunk(1, &["a"]), chunk(2, &["b", "gone"]), chunk(3, &["gone"])],
            chunks: vec![paragraph(1), paragraph(2), paragraph(9)],
        };
        data.drop_orphans(&chat(&["a", "b"]));
        assert_eq!(
            data,
            DetailData { last_main_chunk_id: 1, main_chunks: vec![chunk(1, &["a"])], chunks: vec![paragraph(1)] }
        );
        data.drop_orphans(&[]);
        assert_eq!(data, DetailData::default());
    }
}
