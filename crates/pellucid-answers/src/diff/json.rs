//! The answer for programs.

use pellucid_engine::prices::PriceTable;
use serde_json::Value;
use serde_json::json;

use super::DiffKind;
use super::DiffStep;
use super::LineChange;
use super::PartChange;
use super::RequestDiff;
use crate::inspected::Inspected;
use crate::why;
use crate::why::PlaceCost;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.diff/1";

impl RequestDiff<'_> {
    /// What the tokens that are paid for again cost on a day; absent where none are, or where the price is unknown.
    pub fn cost_again(&self, prices: &PriceTable, day: &str) -> Option<PlaceCost> {
        let broken = self.continuity.as_ref()?.broken.as_ref()?;
        why::place_cost(prices, &self.b.model, day, broken.tokens_rebilled)
    }

    /// The diff as JSON, with what the tokens cost that are paid for again; `null` where that is unknown or nothing is.
    pub fn to_json_with(&self, again: Option<&PlaceCost>) -> Value {
        let mut value = self.to_json();
        value["cost_again"] = again.map_or(
            Value::Null,
            |cost| json!({ "amount": cost.uncached.decimal(), "currency": cost.uncached.currency, "from": cost.from }),
        );
        value
    }

    /// The diff as JSON. To turn the body of `a` into the body of `b`, write the steps that have `b` one after the other:
    /// `wire` where a step has it, else the bytes of `a` that the step names.
    pub fn to_json(&self) -> Value {
        let summary = self.summary();
        let starts = (starts(self.a), starts(self.b));
        json!({
            "schema": SCHEMA,
            "a": side_json(self.a),
            "b": side_json(self.b),
            "bytes": signed(self.b.bytes()) - signed(self.a.bytes()),
            "tokens": signed(self.b.tokens()) - signed(self.a.tokens()),
            "changes": summary.changes.iter().map(change_json).collect::<Vec<_>>(),
            "unchanged_parts": summary.n_unchanged,
            "notation_bytes": summary.notation_bytes,
            "cache": self.continuity.as_ref().map(pellucid_engine::continuity::Continuity::to_json),
            "steps": self.steps.iter().map(|step| self.step_json(step, &starts)).collect::<Vec<_>>(),
        })
    }

    fn step_json(&self, step: &DiffStep, (starts_a, starts_b): &(Vec<usize>, Vec<usize>)) -> Value {
        let mut value = json!({ "op": step.kind.sign() });
        if !step.a.is_empty() {
            value["a"] =
                json!({ "rows": [step.a.start, step.a.end], "bytes": [starts_a[step.a.start], starts_a[step.a.end]] });
        }
        if !step.b.is_empty() {
            value["b"] =
                json!({ "rows": [step.b.start, step.b.end], "bytes": [starts_b[step.b.start], starts_b[step.b.end]] });
        }
        if step.kind == DiffKind::Same && step.b.len() > 1 {
            return value;
        }
        let row = self.b.rows.get(step.b.start).filter(|_| !step.b.is_empty()).or(self.a.rows.get(step.a.start));
        if let Some(row) = row {
            value["part"] = json!(row.part);
            value["source"] = json!(row.source);
            value["origin"] = json!(row.origin);
        }
        let wire_of = |request: &Inspected, at: usize| Some(request.rows.get(at)?.content.as_ref()?.wire.clone());
        let old = if step.a.is_empty() { None } else { wire_of(self.a, step.a.start) };
        let new = if step.b.is_empty() { None } else { wire_of(self.b, step.b.start) };
        if let Some(new) = new.filter(|new| old.as_ref() != Some(new)) {
            match str::from_utf8(&new) {
                Ok(text) => value["wire"] = text.into(),
                Err(_) => value["wire_bytes"] = json!(&new[..]),
            }
        }
        value
    }
}

fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// The first byte of every row, and the end of the last.
fn starts(request: &Inspected) -> Vec<usize> {
    let mut end = 0;
    let ends = request.rows.iter().map(|row| {
        end += row.bytes;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn side_json(request: &Inspected) -> Value {
    json!({
        "name": request.name,
        "model": request.model,
        "pack": request.pack,
        "wire": request.wire,
        "bytes": request.bytes(),
        "tokens": request.tokens(),
    })
}

fn change_json(change: &PartChange) -> Value {
    json!({
        "op": change.kind.sign(),
        "part": change.part,
        "item": change.item,
        "source": change.source,
        "origin": change.origin,
        "bytes": change.bytes,
        "tokens": change.tokens,
        "usual": change.is_usual,
        "lines": change.lines.as_ref().map(lines_json),
    })
}

fn lines_json(lines: &LineChange) -> Value {
    let hunks = lines.hunks.iter().map(|hunk| {
        let text: String = hunk.text.iter().map(|(sign, line)| format!("{sign}{line}\n")).collect();
        json!({ "lines": [hunk.lines.start, hunk.lines.end], "text": text })
    });
    json!({ "added": lines.added, "removed": lines.removed, "hunks": hunks.collect::<Vec<_>>() })
}
