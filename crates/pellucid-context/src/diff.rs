//! What is different between two requests: row by row, and for the provider's cache.
//!
//! Rows with the same part, origin and bytes are the same row; the longest run of them that keeps its order stays, the
//! others have moved. Of the remaining rows, those with the same part and origin have changed.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::NextRequest;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::report::Row;
use pellucid_engine::transcript::Divergence;
use pellucid_engine::transcript::Rendered;
use serde_json::Value;
use serde_json::json;

use crate::built::BuiltRequest;

/// What is different between two requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltDiff {
    /// How many bytes from the start are the same.
    pub same_bytes: usize,
    /// What became of every row, in the order of the later request. A removed row is where it was before.
    pub rows: Vec<RowChange>,
    /// How the later request continues the earlier one in the order in which the model reads; absent if one of them cannot
    /// be read.
    pub continuity: Option<Continuity>,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowChange {
    /// What became of the row.
    pub fate: RowFate,
    /// The number of the row in the report of the earlier request; absent for an added row.
    pub before: Option<usize>,
    /// The number of the row in the report of the later request; absent for a removed row.
    pub after: Option<usize>,
}

/// What became of a row, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFate {
    /// The bytes are the same, in the same order among the rows that stayed.
    Same,
    /// The row of this part and origin has other bytes.
    Changed,
    /// Only the later request has the row.
    Added,
    /// Only the earlier request has the row.
    Removed,
    /// The bytes are the same, at another place.
    Moved,
}

impl RowFate {
    /// The word for the fate in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Moved => "moved",
        }
    }
}

impl BuiltDiff {
    /// Whether the two requests have the same bytes in the same rows.
    pub fn is_same(&self) -> bool {
        self.rows.iter().all(|row| row.fate == RowFate::Same)
    }

    /// The difference as JSON.
    pub fn to_json(&self) -> Value {
        let row = |row: &RowChange| json!({ "fate": row.fate.word(), "before": row.before, "after": row.after });
        json!({
            "same_bytes": self.same_bytes,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "continuity": self.continuity.as_ref().map(Continuity::to_json),
        })
    }
}

pub(crate) fn diff(before: &BuiltRequest, after: &BuiltRequest) -> BuiltDiff {
    let (old, new) = (before.body(), after.body());
    BuiltDiff {
        same_bytes: common(&old, &new),
        rows: rows(&before.report.rows, &old, &after.report.rows, &new),
        continuity: continuity(before, &old, after, &new),
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn continuity(before: &BuiltRequest, old: &[u8], after: &BuiltRequest, new: &[u8]) -> Option<Continuity> {
    let items = |built: &BuiltRequest| built.items.iter().map(Rendered::len).sum::<usize>();
    let (old_len, new_len) = (items(before), items(after));
    let (old_head, new_head) = (before.frame.head_bytes().len(), after.frame.head_bytes().len());
    let kept = common(&old[old_head..old_head + old_len], &new[new_head..new_head + new_len]);
    let divergence = (kept < old_len).then_some(Divergence { kept, of: old_len });
    let next = NextRequest {
        frame: &after.frame,
        request: &after.request,
        items: &after.items,
        order: after.wire.reading_order(),
        left: None,
        cause: None,
        moved: None,
    };
    SentRequest::new(&before.frame, old_len, before.items.len()).continued_by(&next, divergence)
}

type RowKey<'a> = (&'a str, &'static str, &'a str);

fn key(row: &Row) -> RowKey<'_> {
    (&row.part, row.origin.kind(), row.origin.detail())
}

fn rows(before: &[Row], old: &[u8], after: &[Row], new: &[u8]) -> Vec<RowChange> {
    let mut waiting: BTreeMap<(RowKey<'_>, &[u8]), VecDeque<usize>> = BTreeMap::new();
    for (n, row) in before.iter().enumerate() {
        waiting.entry((key(row), &old[row.start..row.start + row.bytes])).or_default().push_back(n);
    }
    let mut pairs: Vec<Option<(usize, RowFate)>> = Vec::with_capacity(after.len());
    for row in after {
        let found = waiting.get_mut(&(key(row), &new[row.start..row.start + row.bytes]));
        pairs.push(found.and_then(VecDeque::pop_front).map(|n| (n, RowFate::Moved)));
    }
    for n in in_order(&pairs) {
        if let Some((_, fate)) = &mut pairs[n] {
            *fate = RowFate::Same;
        }
    }
    let mut left: BTreeMap<RowKey<'_>, Vec<usize>> = BTreeMap::new();
    for ((key, _), rows) in waiting {
        left.entry(key).or_default().extend(rows);
    }
    for rows in left.values_mut() {
        rows.sort_unstable_by(|a, b| b.cmp(a));
    }
    for (row, pair) in after.iter().zip(&mut pairs) {
        if pair.is_none() {
            *pair = left.get_mut(&key(row)).and_then(Vec::pop).map(|n| (n, RowFate::Changed));
        }
    }
    let mut removed: Vec<usize> = left.into_values().flatten().collect();
    removed.sort_unstable();
    listed(&pairs, &removed)
}

/// The changes in the order of the later request, each removed row before the first row that followed it.
fn listed(pairs: &[Option<(usize, RowFate)>], removed: &[usize]) -> Vec<RowChange> {
    let gone = |n: &usize| RowChange { fate: RowFate::Removed, before: Some(*n), after: None };
    let (mut changes, mut removed) = (Vec::with_capacity(pairs.len() + removed.len()), removed.iter().peekable());
    for (after, pair) in pairs.iter().enumerate() {
        match pair {
            Some((before, fate)) => {
                while *fate != RowFate::Moved && removed.peek().is_some_and(|n| *n < before) {
                    changes.extend(removed.next().map(gone));
                }
                changes.push(RowChange { fate: *fate, before: Some(*before), after: Some(after) });
            }
            None => changes.push(RowChange { fate: RowFate::Added, before: None, after: Some(after) }),
        }
    }
    changes.extend(removed.map(gone));
    changes
}

/// The places of the longest run of pairs whose earlier rows are in order.
fn in_order(pairs: &[Option<(usize, RowFate)>]) -> Vec<usize> {
    let earlier = |n: usize| pairs[n].map_or(0, |(before, _)| before);
    // The place of the smallest last row of a run of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; pairs.len()];
    for n in (0..pairs.len()).filter(|n| pairs[*n].is_some()) {
        let length = ends.partition_point(|end| earlier(*end) < earlier(n));
        previous[n] = length.checked_sub(1).map(|it| ends[it]);
        if length == ends.len() {
            ends.push(n);
        } else {
            ends[length] = n;
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(n) = at {
        run.push(n);
        at = previous[n];
    }
    run
}
