//! The summaries that took the place of a session's history.

use std::path::Path;

use pellucid_agent::replay;
use pellucid_agent::replay::CompactedHistory;
use pellucid_agent::replay::CompactionLine;
use pellucid_agent::replay::ReplaySource;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::compaction::CompactionAnswer;
use pellucid_answers::compaction::HistoryItem;
use pellucid_answers::compaction::summary_of;
use pellucid_answers::cost::money_json;
use pellucid_answers::figures::RequestFigures;
use pellucid_engine::prices::PriceTable;
use pellucid_store::read;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use serde_json::Value;
use serde_json::json;

use super::line;
use crate::error::ApiError;
use crate::view::SessionView;

/// How much of a summary an answer has. Written as JSON, a byte takes up to six.
const TEXT_BYTES_MAX: usize = 96 << 10;

/// How many items, and how many lost facts of a kind, an answer has. An item has at most 80 characters of text.
const N_LISTED_MAX: usize = 400;

/// How long a lost fact may be in an answer.
const FACT_BYTES_MAX: usize = 300;

/// A summary that took the place of the history.
struct Compaction {
    line: CompactionLine,
    /// Where the session file was when the summary was asked for.
    from: u64,
    /// The last request before it that asked for an answer.
    before: Option<usize>,
    /// The request that asked for the summary, if it is in the record.
    asked_by: Option<usize>,
    /// The first request after it.
    after: Option<usize>,
}

/// The compactions of a session, with its file.
struct Compactions {
    source: ReplaySource,
    all: Vec<Compaction>,
}

impl Compactions {
    /// Every compaction of a session, in order.
    fn of(home: &Path, view: &SessionView) -> Result<Self, ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the record", error);
        let file = read::open_damaged(&view.files.path).map_err(|error| failed(&error))?;
        let source = ReplaySource::open_surveyed(home, &file, view.survey.clone()).map_err(|error| failed(&error))?;
        let (chain, numbers) = (source.chain(), replay::numbers(&source).map_err(|error| failed(&error))?);
        let place = |link: &ChainLink| match &link.entry {
            LogEntry::Request(request) => Some((request.at, *numbers.get(&link.n)?)),
            _ => None,
        };
        let places: Vec<(u64, usize)> = chain.links.iter().filter_map(place).collect();
        let figures = |number: usize| view.requests.get(number.checked_sub(1)?).and_then(|it| view.figures_of(it));
        let is_answer = |number: &usize| figures(*number).is_some_and(RequestFigures::is_answer);
        let compaction = |line: CompactionLine| {
            let place = places.iter().rev().find(|(at, _)| *at <= line.start);
            let last = place.map(|(_, number)| *number);
            let asked = place.filter(|(_, number)| !is_answer(number));
            Compaction {
                line,
                from: asked.map_or(line.start, |(at, _)| *at),
                before: last.and_then(|last| (1..=last).rev().find(is_answer)),
                asked_by: asked.map(|(_, number)| *number),
                after: places.iter().find(|(at, _)| *at >= line.end).map(|(_, number)| *number),
            }
        };
        let all = replay::compaction_lines(&source).into_iter().map(compaction).collect();
        Ok(Self { all, source })
    }
}

impl Compaction {
    fn to_json(&self, k: usize, view: &SessionView, cache: &CacheAnswer) -> Value {
        let request = |number: Option<usize>| view.requests.get(number?.checked_sub(1)?);
        let figures = |number| request(number).and_then(|it| view.figures_of(it));
        let cost = request(self.asked_by).and_then(|it| cache.rows.get(it.figures?)?.cost.as_ref());
        json!({
            "k": k,
            "asked_by": self.asked_by,
            "before": self.before,
            "after": self.after,
            "bytes_before": figures(self.before).map(|it| it.bytes),
            "bytes_after": figures(self.after).map(|it| it.bytes),
            "tokens_before": figures(self.before).map(|it| it.tokens),
            "tokens_after": figures(self.after).map(|it| it.tokens),
            "cost": money_json(cost),
            "undone": self.line.is_undone,
        })
    }
}

/// Every compaction of a session.
pub fn list(home: &Path, view: &SessionView, prices: &PriceTable) -> Result<Vec<u8>, ApiError> {
    let cache = CacheAnswer::of(&view.figures, prices);
    let Compactions { all, .. } = Compactions::of(home, view)?;
    let all: Vec<Value> = (1..).zip(&all).map(|(k, it)| it.to_json(k, view, &cache)).collect();
    Ok(line(&json!({ "session": view.files.id, "compactions": all })))
}

/// One compaction: what left the history, what stayed, the summary, and what is lost by it.
pub fn one(home: &Path, view: &SessionView, prices: &PriceTable, k: usize) -> Result<Vec<u8>, ApiError> {
    let cache = CacheAnswer::of(&view.figures, prices);
    let Compactions { source, all } = Compactions::of(home, view)?;
    let of = all.len();
    let found = k.checked_sub(1).and_then(|at| all.get(at));
    let found =
        found.ok_or_else(|| ApiError::not_found(format!("there is no compaction {k}: the session has {of}")))?;
    let history = replay::compacted(&source, &found.line, found.from);
    let history = history.map_err(|error| ApiError::internal("rebuilding the history", &error))?;
    let mut answer = found.to_json(k, view, &cache);
    answer["session"] = view.files.id.as_str().into();
    answer["why"] = history.as_ref().err().cloned().into();
    let histories = history.as_ref().map(|CompactedHistory { before, after }| {
        let answer = CompactionAnswer::of(before, after, (0, 0), summary_of(after));
        (answer, before.len())
    });
    let (of_history, n_before) = match histories {
        Ok((answer, n_before)) => (Some(answer), Some(n_before)),
        Err(_) => (None, None),
    };
    answer["items_before"] = n_before.into();
    answer["items_after"] = of_history.as_ref().map(|it| it.n_after).into();
    let summary = of_history.as_ref().and_then(|it| it.summary.as_deref());
    answer["summary"] = summary.map(|text| &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]).into();
    answer["summary_bytes"] = summary.map(str::len).into();
    let items =
        |items: &[HistoryItem]| -> Value { items.iter().take(N_LISTED_MAX).map(HistoryItem::to_json).collect() };
    answer["replaced"] = of_history.as_ref().map_or_else(|| json!([]), |it| items(&it.replaced));
    answer["kept"] = of_history.as_ref().map_or_else(|| json!([]), |it| items(&it.kept));
    answer["n_replaced"] = of_history.as_ref().map_or(0, |it| it.replaced.len()).into();
    answer["n_kept"] = of_history.as_ref().map_or(0, |it| it.kept.len()).into();
    answer["lost"] = of_history.map_or_else(|| json!({}), |it| shortened(it.lost_json()));
    Ok(line(&answer))
}

/// Lists of lost facts that fit into an answer.
fn shortened(mut lost: Value) -> Value {
    for list in lost.as_object_mut().into_iter().flat_map(|lists| lists.values_mut()).filter_map(Value::as_array_mut) {
        list.truncate(N_LISTED_MAX);
        for fact in list {
            let text = fact.as_str().unwrap_or_default();
            if text.len() > FACT_BYTES_MAX {
                *fact = text[..text.floor_char_boundary(FACT_BYTES_MAX)].into();
            }
        }
    }
    lost
}
