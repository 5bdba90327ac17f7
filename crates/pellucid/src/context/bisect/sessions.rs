//! The first request at which two sessions diverge, and the first row.

use pellucid_answers::bisect::DivergedRow;
use pellucid_answers::bisect::first_row;
use pellucid_answers::diff::RequestDiff;
use pellucid_answers::inspected::InspectedRow;
use pellucid_engine::request_name::RequestName;
use serde_json::Value;
use serde_json::json;

use super::BisectAnswer;
use super::BisectStatus;
use crate::context::diff;
use crate::inspected;
use crate::request::RequestRefusal;
use crate::screen::name;
use crate::start;
use crate::style::counted;

/// How many characters of a row are shown.
const SHOWN_CHARS: usize = 200;

/// Compares two sessions, request by request, until they diverge.
pub fn answer(sessions: &[String]) -> Result<BisectAnswer, RequestRefusal> {
    let [a, b] = sessions else {
        return Err(RequestRefusal::usage("--sessions takes two sessions".to_owned()));
    };
    let home = start::find_home()?;
    let session = |text: &str| match inspected::name(&home, text)? {
        RequestName::Sent { session, number: None } => Ok(session),
        _ => Err(RequestRefusal::usage(format!("--sessions takes names of sessions, and `{text}` is none"))),
    };
    let (a, b) = (session(a)?, session(b)?);
    let (a, b) = (diff::requests(&home, &a)?, diff::requests(&home, &b)?);
    let mut json = json!({ "search": "sessions", "requests": [a.len(), b.len()] });
    for n in 0..a.len().max(b.len()) {
        let number = n + 1;
        json["request"] = number.into();
        let (one, two) = match (a.get(n), b.get(n)) {
            (Some(Ok(one)), Some(Ok(two))) => (one, two),
            (Some(Err(why)), _) | (_, Some(Err(why))) => {
                json["unknown"] = why.as_str().into();
                let text = format!("request {number} is not known: {}\n", name(why));
                return Ok(BisectAnswer { status: BisectStatus::Unknown, text, json });
            }
            (one, _) => {
                let only = if one.is_some() { "first" } else { "second" };
                json["only"] = only.into();
                let text = format!("the sessions diverge at request {number}: only the {only} session has it\n");
                return Ok(BisectAnswer { status: BisectStatus::Found, text, json });
            }
        };
        let diff = RequestDiff::of(one, two);
        if let Some(row) = first_row(&diff) {
            json["row"] = row_json(&row);
            let text = format!("the sessions diverge at request {number}\n{}", row_text(&row));
            return Ok(BisectAnswer { status: BisectStatus::Found, text, json });
        }
    }
    json["request"] = Value::Null;
    let text = format!(
        "the sessions do not diverge: {} are the same, but for facts that differ between any two sessions\n",
        counted(a.len(), "request")
    );
    Ok(BisectAnswer { status: BisectStatus::EndsAgree, text, json })
}

fn row_text(row: &DivergedRow<'_>) -> String {
    let Some(named) = row.b.or(row.a) else { return String::new() };
    let item = named.item.map_or_else(String::new, |item| format!(" item {item}"));
    let origin = match &*named.origin {
        "" => named.source.to_string(),
        origin => format!("{} {}", named.source, name(origin)),
    };
    let mut text = format!("first row: {} {}{item}   {origin}\n", row.kind.sign(), named.part);
    for (sign, side) in [('-', row.a), ('+', row.b)] {
        if let Some(content) = side.and_then(|row| row.content.as_ref()) {
            let shown: String = content.text.chars().take(SHOWN_CHARS).collect();
            let more = if shown.len() < content.text.len() { "…" } else { "" };
            text += &shown.lines().map(|line| format!("    {sign} {}\n", name(line))).collect::<String>();
            text += if more.is_empty() { "" } else { "      …\n" };
        }
    }
    text
}

fn row_json(row: &DivergedRow<'_>) -> Value {
    let side = |row: Option<&InspectedRow>| {
        row.map(|row| {
            json!({
                "part": row.part, "item": row.item, "source": row.source, "origin": row.origin, "bytes": row.bytes,
                "text": row.content.as_ref().map(|content| &*content.text),
            })
        })
    };
    json!({ "op": row.kind.sign(), "a": side(row.a), "b": side(row.b) })
}
