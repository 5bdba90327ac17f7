//! What a request was made of, as far as a session file without a record has it.
//!
//! The file has the items of the conversation and what the provider charged, and neither tools nor, for some agents, instructions.
//! So sizes are estimated, and what the provider counted beyond them is a separate row.

use std::collections::BTreeMap;

use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::usage::TokenUsage;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::record::Record;
use pellucid_store::token_counts::TokenCountLine;
use serde_json::Value;
use serde_json::json;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.reconstructed/1";

/// The part of what the file does not have.
pub const NOT_IN_FILE: &str = "(not in the file)";

/// A request, reconstructed from a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconstructedRequest {
    /// The number of the request, from 1.
    pub number: usize,
    /// How many requests the file has.
    pub of: usize,
    /// When the answer was there, in UTC.
    pub at: String,
    /// The model that was asked.
    pub model: String,
    /// What the provider charged.
    pub usage: UsageSplit,
    /// The parts that the file has, in the order in which they came first.
    pub rows: Vec<ReconstructedRow>,
}

/// A part of a reconstructed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconstructedRow {
    /// The part: `base`, a role, or `tools/` and the name of the tool whose calls and outputs it has.
    pub part: String,
    /// How many items it has.
    pub items: usize,
    /// How many bytes the items have in the session file, about as many as were sent.
    pub bytes: usize,
}

impl ReconstructedRow {
    /// The tokens, estimated from the bytes.
    pub fn tokens(&self) -> i64 {
        i64::try_from(tokens_of_bytes(self.bytes)).unwrap_or(i64::MAX)
    }
}

impl ReconstructedRequest {
    /// The request with a number, or the last one; absent if the file has no such request. `counts` are the token counts of the
    /// file that has the records.
    pub fn of(records: &[Record], counts: &[TokenCountLine], wanted: Option<usize>) -> Option<Self> {
        let number = wanted.unwrap_or(counts.len());
        let count = counts.get(number.checked_sub(1)?)?;
        let mut parts = FileParts::default();
        let (mut total, mut n_counted) = (TokenUsage::default(), 0);
        for record in records {
            match record {
                Record::SessionMeta(meta) if parts.base.is_none() => {
                    parts.base = meta.base_instructions.as_ref().map(|base| base.text.len());
                }
                Record::ResponseItem(item) => parts.add(item),
                Record::Compacted(_) => parts.items.clear(),
                Record::EventMsg(EventMessage::TokenCount { info: Some(info), .. })
                    if info.total_token_usage != total && info.last_token_usage.input_tokens > 0 =>
                {
                    total = info.total_token_usage;
                    n_counted += 1;
                    if n_counted == number {
                        break;
                    }
                }
                _ => {}
            }
        }
        Some(Self {
            number,
            of: counts.len(),
            at: count.at.clone(),
            model: count.model.clone(),
            usage: UsageSplit::new(&count.usage, count.cache_write),
            rows: parts.rows(),
        })
    }

    /// The input tokens that the provider counted.
    pub fn counted(&self) -> i64 {
        let UsageSplit { cached_read, cache_write, uncached, .. } = self.usage;
        cached_read.saturating_add(cache_write.unwrap_or(0)).saturating_add(uncached)
    }

    /// How many tokens the provider counted beyond those that are estimated for what the file has.
    pub fn not_in_file(&self) -> i64 {
        let estimated = self.rows.iter().map(ReconstructedRow::tokens).fold(0, i64::saturating_add);
        self.counted().saturating_sub(estimated).max(0)
    }

    /// The answer as JSON.
    pub fn to_json(&self, session: &str) -> Value {
        let row = |row: &ReconstructedRow| json!({"part": row.part, "items": row.items, "bytes_estimated": row.bytes, "tokens_estimated": row.tokens()});
        json!({
            "schema": SCHEMA,
            "reconstructed": true,
            "session": session,
            "number": self.number,
            "of": self.of,
            "at": self.at,
            "model": self.model,
            "usage": self.usage,
            "tokens_counted": self.counted(),
            "tokens_not_in_file": self.not_in_file(),
            "rows": self.rows.iter().map(row).collect::<Value>(),
        })
    }
}

/// The items of a request so far.
#[derive(Default)]
struct FileParts {
    base: Option<usize>,
    /// The part and the bytes of every item, and whether the model made it.
    items: Vec<(String, usize, bool)>,
    /// The tools of calls, by the ids of the calls.
    tools: BTreeMap<String, String>,
}

impl FileParts {
    fn add(&mut self, item: &Item) {
        let (part, is_models) = match item {
            Item::Message { role, .. } => (role.clone(), role == "assistant"),
            Item::Reasoning { .. } => ("reasoning".to_owned(), true),
            Item::FunctionCall { name, call_id, .. } | Item::CustomToolCall { name, call_id, .. } => {
                self.tools.insert(call_id.clone(), name.clone());
                (format!("tools/{name}"), true)
            }
            Item::FunctionCallOutput { call_id, .. } | Item::CustomToolCallOutput { call_id, .. } => {
                let tool = self.tools.get(call_id);
                (tool.map_or_else(|| "tools".to_owned(), |name| format!("tools/{name}")), false)
            }
            _ => ("other".to_owned(), false),
        };
        let bytes = serde_json::to_vec(item).map_or(0, |json| json.len());
        self.items.push((part, bytes, is_models));
    }

    /// The parts of the request: the items behind which its answer begins.
    fn rows(mut self) -> Vec<ReconstructedRow> {
        let n_sent = self.items.iter().rposition(|(_, _, is_models)| !is_models).map_or(0, |last| last + 1);
        self.items.truncate(n_sent);
        let mut rows: Vec<ReconstructedRow> = Vec::new();
        if let Some(bytes) = self.base {
            rows.push(ReconstructedRow { part: "base".to_owned(), items: 1, bytes });
        }
        for (part, bytes, _) in self.items {
            match rows.iter_mut().find(|row| row.part == part) {
                Some(row) => (row.items, row.bytes) = (row.items + 1, row.bytes + bytes),
                None => rows.push(ReconstructedRow { part, items: 1, bytes }),
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::item::ToolOutput;
    use pellucid_protocol::usage::TokenUsageInfo;

    use super::*;

    fn count(total: i64, last: i64) -> Record {
        let usage = |tokens| TokenUsage { input_tokens: tokens, total_tokens: tokens, ..TokenUsage::default() };
        let info = TokenUsageInfo {
            total_token_usage: usage(total),
            last_token_usage: usage(last),
            model_context_window: None,
        };
        Record::EventMsg(EventMessage::TokenCount { info: Some(info), rate_limits: None })
    }

    fn said(role: &str, text: &str) -> Record {
        Record::ResponseItem(Item::text(role, text))
    }

    #[track_caller]
    fn check_parts(records: &[Record], wanted: Option<usize>, expected: &[(&str, usize)], not_in_file: i64) {
        let line = |tokens: i64| TokenCountLine {
            usage: TokenUsage { input_tokens: tokens, ..TokenUsage::default() },
            ..TokenCountLine::default()
        };
        let found = ReconstructedRequest::of(records, &[line(100), line(300)], wanted).unwrap();
        let rows: Vec<(&str, usize)> = found.rows.iter().map(|row| (row.part.as_str(), row.items)).collect();
        assert_eq!((rows, found.not_in_file()), (expected.to_vec(), not_in_file));
    }

    #[test]
    fn a_request_has_what_came_before_its_answer() {
        let call = Item::FunctionCall {
            id: None,
            name: "Read".to_owned(),
            arguments: "{}".to_owned(),
            call_id: "c".to_owned(),
        };
        let output = Item::FunctionCallOutput { call_id: "c".to_owned(), output: ToolOutput::Text("out".to_owned()) };
        let mut records = vec![
            said("user", "look"),
            said("assistant", "I look"),
            Record::ResponseItem(call),
            count(100, 100),
            count(100, 100),
            Record::ResponseItem(output),
            said("assistant", "done"),
            count(400, 300),
        ];
        check_parts(&records, Some(1), &[("user", 1)], 80);
        check_parts(&records, None, &[("user", 1), ("assistant", 1), ("tools/Read", 2)], 225);
        let summary = pellucid_store::record::Compacted { message: "s".to_owned(), replacement_history: None };
        records.insert(5, Record::Compacted(summary));
        check_parts(&records, Some(2), &[("tools/Read", 1)], 285);
        assert_eq!(ReconstructedRequest::of(&records, &[], None), None);
    }
}
