//! The answer for programs.

use std::ops::RangeInclusive;

use serde_json::Value;
use serde_json::json;

use super::WhyAnswer;
use super::WhyHistory;
use super::WhyPlace;
use pellucid_protocol::price::Money;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.why/1";

impl WhyAnswer {
    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        let settings = self.settings.iter().map(|tried| {
            let loses = tried.loses.iter().map(|(path, bytes)| json!({ "source": path, "bytes": bytes }));
            json!({
                "setting": tried.setting,
                "bytes": tried.bytes,
                "tokens": tried.tokens,
                "loses": loses.collect::<Vec<_>>(),
            })
        });
        json!({
            "schema": SCHEMA,
            "request": self.request,
            "subject": self.subject,
            "there": self.is_there(),
            "copies": self.places.len(),
            "tokens": self.tokens(),
            "places": self.places.iter().map(place_json).collect::<Vec<_>>(),
            "status": self.status,
            "reason": self.reason.as_ref().map(|reason| json!({ "kind": reason.kind, "why": reason.sentence })),
            "settings": settings.collect::<Vec<_>>(),
            "history": self.history.as_ref().map(history_json),
            "cost": self.cost.as_ref().map(|cost| {
                json!({ "uncached": money_json(&cost.uncached), "cached": money_json(&cost.cached), "from": cost.from })
            }),
        })
    }
}

fn money_json(money: &Money) -> Value {
    json!({ "amount": money.decimal(), "currency": money.currency })
}

fn place_json(place: &WhyPlace) -> Value {
    json!({
        "start": place.bytes.start,
        "bytes": place.bytes.len(),
        "tokens": place.tokens,
        "part": place.part,
        "item": place.item,
        "role": place.role,
        "source": place.source,
        "origin": place.origin,
        "lines": place.lines.as_ref().map(|lines: &RangeInclusive<usize>| [*lines.start(), *lines.end()]),
    })
}

fn history_json(history: &WhyHistory) -> Value {
    let requests = history.requests.iter().filter(|it| it.copies > 0).map(|it| {
        json!({
            "number": it.number,
            "copies": it.copies,
            "summary_only": it.is_summary_only,
            "answer": it.is_answer,
            "cached": it.is_cached,
        })
    });
    json!({
        "session": history.session,
        "first": history.first().map(|it| it.number),
        "last": history.last().map(|it| it.number),
        "cached_since": history.cached_since(),
        "summarised_by": history.summarised_by(),
        "requests": requests.collect::<Vec<_>>(),
        "unknown": history.unknown,
    })
}
