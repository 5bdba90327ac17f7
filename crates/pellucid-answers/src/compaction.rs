//! What a summary does to a history: what leaves, what stays, and which facts are lost.

use pellucid_engine::loss::Loss;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use serde_json::Value;
use serde_json::json;

/// How many characters of an item's text are shown beside it.
const WORDS_CHARS: usize = 80;

/// What a summary does, or would do.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionAnswer {
    /// The estimated tokens of instructions and history, before and after.
    pub tokens: (usize, usize),
    /// The items that leave.
    pub replaced: Vec<HistoryItem>,
    /// The items that stay.
    pub kept: Vec<HistoryItem>,
    /// How many items the history has afterwards.
    pub n_after: usize,
    /// The message that has the summary; absent if it is sealed or there is none.
    pub summary: Option<String>,
    /// What is in the items that leave and in none that stay.
    pub loss: Loss,
}

/// An item of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryItem {
    /// The place in the history before, from one.
    pub number: usize,
    /// The estimated tokens.
    pub tokens: usize,
    item: Value,
}

impl HistoryItem {
    fn of((at, item): (usize, &Item)) -> Self {
        let item = serde_json::to_value(item).unwrap_or_default();
        Self { number: at + 1, tokens: tokens_of_bytes(item.to_string().len()), item }
    }

    /// The kind of the item, its role, its tool and the id of its call, as far as it has them.
    pub fn name(&self) -> String {
        let word = |key: &str| self.item[key].as_str().filter(|word| !word.is_empty());
        ["type", "role", "name", "call_id"].into_iter().filter_map(word).collect::<Vec<_>>().join(" ")
    }

    /// How the text of the item begins, on one line.
    pub fn words(&self) -> String {
        let text = match &self.item {
            item if item["content"].is_array() => {
                item["content"].as_array().into_iter().flatten().find_map(|part| part["text"].as_str())
            }
            item => ["arguments", "input", "output"].into_iter().find_map(|key| item[key].as_str()),
        };
        let line = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(WORDS_CHARS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// The item as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "item": self.number,
            "type": self.item["type"],
            "role": self.item.get("role"),
            "call_id": self.item.get("call_id"),
            "tokens": self.tokens,
            "words": self.words(),
        })
    }
}

/// The last message of role `user`, which has the summary. A provider's summary is sealed.
pub fn summary_of(items: &[Item]) -> Option<String> {
    if items.iter().any(|item| matches!(item, Item::Compaction { .. })) {
        return None;
    }
    items.iter().rev().find_map(|item| match item {
        Item::Message { role, content, .. } if role == "user" => content.iter().find_map(|part| match part {
            ContentPart::InputText { text } => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    })
}

impl CompactionAnswer {
    /// What became of a history.
    pub fn of(before: &[Item], after: &[Item], tokens: (usize, usize), summary: Option<String>) -> Self {
        let (kept, replaced): (Vec<_>, Vec<_>) = before.iter().enumerate().partition(|(_, item)| after.contains(item));
        Self {
            tokens,
            replaced: replaced.into_iter().map(HistoryItem::of).collect(),
            kept: kept.into_iter().map(HistoryItem::of).collect(),
            n_after: after.len(),
            summary,
            loss: Loss::of(before, after),
        }
    }

    /// What became of a history whose compaction was undone: nothing is lost by that.
    pub fn of_undone(before: &[Item], after: &[Item], tokens: (usize, usize)) -> Self {
        Self { loss: Loss::default(), ..Self::of(before, after, tokens, None) }
    }

    /// The lists of what is lost that have something, each with its kind.
    pub fn lost(&self) -> Vec<(&'static str, &[String])> {
        let Loss { paths, identifiers, open_tasks, constraints } = &self.loss;
        let lists: [(_, &[String]); 4] =
            [("paths", paths), ("names", identifiers), ("open tasks", open_tasks), ("demands", constraints)];
        lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        let items = |items: &[HistoryItem]| items.iter().map(HistoryItem::to_json).collect::<Vec<_>>();
        json!({
            "tokens_before": self.tokens.0,
            "tokens_after": self.tokens.1,
            "items_after": self.n_after,
            "replaced": items(&self.replaced),
            "kept": items(&self.kept),
            "summary": self.summary,
            "lost": self.lost_json(),
        })
    }

    /// What is lost as JSON: paths, names, open tasks and demands.
    pub fn lost_json(&self) -> Value {
        let Loss { paths, identifiers, open_tasks, constraints } = &self.loss;
        json!({
            "paths": paths,
            "identifiers": identifiers,
            "open_tasks": open_tasks,
            "constraints": constraints,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_and_what_stays_are_all_of_the_history() {
        let (question, answer) = (Item::text("user", "look at src/port.rs"), Item::text("assistant", "It says 8141."));
        let summary = Item::text("user", "We looked at a file.");
        let answer = CompactionAnswer::of(
            &[question.clone(), answer],
            &[question, summary],
            (20, 15),
            Some("We looked at a file.".to_owned()),
        );
        let shown = |items: &[HistoryItem]| {
            items.iter().map(|item| format!("{} {}: {}", item.number, item.name(), item.words())).collect::<Vec<_>>()
        };
        assert_eq!(shown(&answer.kept), ["1 message user: look at src/port.rs"]);
        assert_eq!(shown(&answer.replaced), ["2 message assistant: It says 8141."]);
        assert_eq!((answer.n_after, answer.tokens), (2, (20, 15)));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let item = HistoryItem::of((0, &Item::text("user", "é".repeat(WORDS_CHARS + 1))));
        assert_eq!(item.words(), format!("{}…", "é".repeat(WORDS_CHARS)));
        let exact = HistoryItem::of((0, &Item::text("user", "é".repeat(WORDS_CHARS))));
        assert_eq!(exact.words(), "é".repeat(WORDS_CHARS));
    }
}
