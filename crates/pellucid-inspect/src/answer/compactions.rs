//! The summaries that took the place of a session's history.

use std::path::Path;

use pellucid_agent::replay;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::cost::money_json;
use pellucid_answers::figures::RequestFigures;
use pellucid_engine::prices::PriceTable;
use pellucid_store::read;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::RebuiltEntry;
use pellucid_store::requests::entry::Stretch;
use pellucid_store::requests::parts::PartStore;
use serde_json::Value;
use serde_json::json;

use super::line;
use crate::error::ApiError;
use crate::view::SessionView;

/// How much of the texts of items an answer has. Written as JSON, a byte takes up to six.
const TEXT_BYTES_MAX: usize = 128 << 10;

/// A summary that took the place of the history.
struct Compaction {
    rebuilt: RebuiltEntry,
    /// The last request before it that asked for an answer.
    before: Option<usize>,
    /// The request that asked for the summary, if it is in the record.
    asked_by: Option<usize>,
    /// The first request after it.
    after: Option<usize>,
}

impl Compaction {
    /// Every compaction of a session, in order.
    fn all(home: &Path, view: &SessionView) -> Result<Vec<Self>, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the record", error);
        let Some(record) = &view.files.record else {
            return Ok(Vec::new());
        };
        let chain = Chain::read(record).map_err(|error| failed(&error))?;
        let file = read::open_damaged(&view.files.path).map_err(|error| failed(&error))?;
        let numbers = replay::numbers(home, &file, &chain).map_err(|error| failed(&error))?;
        let mut found = Vec::new();
        for link in &chain.links {
            let LogEntry::Rebuilt(rebuilt) = &link.entry else {
                continue;
            };
            let last = numbers.range(..link.n).next_back().map(|(_, number)| *number);
            let after = numbers.range(link.n..).next().map(|(_, number)| *number);
            let figures = |number: usize| view.requests.get(number.checked_sub(1)?).and_then(|it| view.figures_of(it));
            let is_answer = |number: &usize| figures(*number).is_some_and(RequestFigures::is_answer);
            let asked_by = last.filter(|number| !is_answer(number));
            let before = last.and_then(|last| (1..=last).rev().find(is_answer));
            found.push(Self { rebuilt: rebuilt.clone(), before, asked_by, after });
        }
        Ok(found)
    }

    fn to_json(&self, k: usize, view: &SessionView, cache: &CacheAnswer) -> Value {
        let request = |number: Option<usize>| view.requests.get(number?.checked_sub(1)?);
        let figures = |number| request(number).and_then(|it| view.figures_of(it));
        let cost = request(self.asked_by).and_then(|it| cache.rows.get(it.figures?)?.cost.as_ref());
        let n_after: u64 = self.rebuilt.items.iter().map(n_items).sum();
        json!({
            "k": k,
            "asked_by": self.asked_by,
            "before": self.before,
            "after": self.after,
            "bytes_before": figures(self.before).map(|it| it.bytes),
            "bytes_after": figures(self.after).map(|it| it.bytes),
            "tokens_before": figures(self.before).map(|it| it.tokens),
            "tokens_after": figures(self.after).map(|it| it.tokens),
            "items_before": request(self.before).map(|it| it.items),
            "items_after": n_after,
            "cost": money_json(cost),
        })
    }
}

fn n_items(stretch: &Stretch) -> u64 {
    match stretch {
        Stretch::Before { n, .. } => *n,
        Stretch::Item(_) => 1,
    }
}

/// Every compaction of a session.
pub fn list(home: &Path, view: &SessionView, prices: &PriceTable) -> Result<Vec<u8>, ApiError> {
    let cache = CacheAnswer::of(&view.figures, prices);
    let all = Compaction::all(home, view)?;
    let all: Vec<Value> = (1..).zip(&all).map(|(k, it)| it.to_json(k, view, &cache)).collect();
    Ok(line(&json!({ "session": view.files.id, "compactions": all })))
}

/// One compaction, with what took the place of the history.
pub fn one(home: &Path, view: &SessionView, prices: &PriceTable, k: usize) -> Result<Vec<u8>, ApiError> {
    let cache = CacheAnswer::of(&view.figures, prices);
    let all = Compaction::all(home, view)?;
    let of = all.len();
    let found = k.checked_sub(1).and_then(|at| all.get(at));
    let found =
        found.ok_or_else(|| ApiError::not_found(format!("there is no compaction {k}: the session has {of}")))?;
    let parts = PartStore::new(home);
    let mut left = TEXT_BYTES_MAX;
    let stretch = |stretch: &Stretch| match stretch {
        Stretch::Before { from, n } => json!({ "from": from, "n": n }),
        Stretch::Item(piece) => {
            let item: Value =
                parts.text(piece).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            let mut text = String::new();
            collect(&item, &mut text);
            let shown = &text[..text.floor_char_boundary(left)];
            left -= shown.len();
            json!({ "type": item["type"], "role": item["role"], "text": shown, "text_bytes": text.len() })
        }
    };
    let mut answer = found.to_json(k, view, &cache);
    answer["session"] = view.files.id.as_str().into();
    answer["items"] = found.rebuilt.items.iter().map(stretch).collect();
    Ok(line(&answer))
}

/// Adds the texts of an item, each on lines by itself.
fn collect(value: &Value, into: &mut String) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
        Value::Object(table) => {
            for (key, value) in table {
                match value {
                    Value::String(text) if matches!(key.as_str(), "text" | "arguments" | "input" | "output") => {
                        if !into.is_empty() {
                            into.push('\n');
                        }
                        into.push_str(text);
                    }
                    value => collect(value, into),
                }
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
