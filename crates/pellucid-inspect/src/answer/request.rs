//! One request: the head of its report, its rows, bytes and texts, and what the model does not see.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderName;
use http::StatusCode;
use http::header;
use pellucid_answers::cache::CacheAnswer;
use pellucid_answers::cache::CacheRow;
use pellucid_answers::cost::money_json;
use pellucid_answers::overview::ContextOverview;
use pellucid_answers::overview::OverviewGroup;
use pellucid_answers::tree::tree;
use pellucid_engine::prices::PriceTable;
use pellucid_store::redact::Redactor;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use super::MASKED;
use super::Sent;
use super::line;
use super::paging::fitting;
use super::paging::with_list;
use crate::bodies::SentBody;
use crate::error::ApiError;
use crate::error::ErrorCode;
use crate::mask;
use crate::reply::JSON;
use crate::reply::Reply;
use crate::route::Stretch;
use crate::view::SessionView;

/// How many rows an answer has if nothing is said.
const COUNT: usize = 500;

/// How many bytes of texts an answer has. Written as JSON, a byte takes up to six.
const TEXT_BYTES_MAX: usize = 128 << 10;

/// How many bytes of an answer a row takes besides its text and its names.
const ROW_BYTES: usize = 256;

const DIGEST: HeaderName = HeaderName::from_static("digest");

/// The head of the report of a request.
pub fn head(
    view: &SessionView,
    number: usize,
    sent: impl FnOnce() -> Sent,
    prices: &PriceTable,
) -> Result<Vec<u8>, ApiError> {
    let of = view.requests.len();
    let request = number.checked_sub(1).and_then(|at| view.requests.get(at));
    let request =
        request.ok_or_else(|| ApiError::not_found(format!("there is no request {number}: the session has {of}")))?;
    let sent = match &request.why {
        None => Some(sent()?),
        Some(_) => None,
    };
    let figures = view.figures_of(request);
    let cache = CacheAnswer::of(&view.figures, prices);
    let row = request.figures.and_then(|at| cache.rows.get(at));
    let id = &view.files.id;
    let mut answer = json!({
        "name": format!("{id}#{number}"),
        "session": id,
        "number": number,
        "of": of,
        "purpose": figures.map(|it| &it.purpose),
        "turn": figures.map(|it| &it.turn),
        "sha256": request.sha256,
        "proved": request.why.is_none(),
        "why": request.why,
        "bytes": figures.map(|it| it.bytes),
        "tokens": figures.map(|it| it.tokens),
        "items": request.items,
        "model": figures.map(|it| &it.model),
        "pack": request.pack,
        "wire": request.format,
        "sent_at": figures.and_then(|it| it.sent_at.as_ref()),
        "first_event_at": request.first_event_at,
        "done_at": request.done_at,
        "attempts": request.attempts,
        "failure": figures.and_then(|it| it.failure.as_ref()),
        "usage": figures.and_then(|it| it.usage),
        "cache": figures.map(|it| &it.verdict),
        "detail": row.map(CacheRow::detail),
        "break": figures.and_then(|it| it.cache_break.as_ref()),
        "kept": row.map(|it| it.kept),
        "rebilled": row.map(|it| it.rebilled),
        "cost": money_json(row.and_then(|it| it.cost.as_ref())),
        "before": row.and_then(|it| it.before),
    });
    let report = sent.as_ref().map(|sent| &sent.report);
    answer["rows"] = json!(report.map(|report| report.rows.len()));
    answer["counted_by"] = json!(report.map(|report| &report.counted_by));
    answer["notes"] = json!(report.map(pellucid_engine::report::Report::notes).unwrap_or_default());
    let groups = report.map(|report| ContextOverview::of(report).groups).unwrap_or_default();
    answer["groups"] = groups.iter().map(group_json).collect();
    answer["tree"] = json!(report.map(tree).unwrap_or_default());
    Ok(line(&answer))
}

fn group_json(group: &OverviewGroup) -> Value {
    let sources = group
        .sources
        .iter()
        .map(|it| json!({ "name": it.name, "whose": it.origin.name(), "bytes": it.bytes, "tokens": it.tokens }));
    json!({
        "group": group.kind.name(),
        "bytes": group.bytes,
        "tokens": group.tokens,
        "sources": sources.collect::<Vec<_>>(),
    })
}

/// Rows as `context --json` has them.
pub fn rows(session: &str, sent: &SentBody, stretch: Stretch) -> Result<Vec<u8>, ApiError> {
    let of = sent.report.rows.len();
    let first = stretch.from.min(of);
    let wanted = stretch.count.unwrap_or(COUNT).min(of - first);
    let rows: Vec<String> = sent.report.rows_json().skip(first).take(wanted).map(|row| row.to_string()).collect();
    fitting(wanted, |count| {
        let next = first + count;
        let next = (next < of).then_some(next);
        let head = json!({ "session": session, "number": sent.number, "from": first, "of": of, "next": next });
        with_list(&head, "rows", rows[..count].iter().cloned())
    })
}

/// Texts with their escapes undone, row by row.
pub fn text(
    session: &str,
    sent: &SentBody,
    item: Option<usize>,
    from: usize,
    offset: usize,
) -> Result<Vec<u8>, ApiError> {
    let (mut shown, mut next) = (Vec::new(), None);
    let mut left = TEXT_BYTES_MAX;
    let rows = sent.report.rows.iter().enumerate().skip(from);
    for (n, row) in rows.filter(|(_, row)| item.is_none() || row.item == item) {
        if left == 0 {
            next = Some(json!({ "from": n, "offset": 0 }));
            break;
        }
        let content = sent.text(n);
        let text = &content.text;
        let start = if n == from { text.floor_char_boundary(offset) } else { 0 };
        let end = text.floor_char_boundary(start + left).max(start);
        shown.push(json!({
            "row": n,
            "part": row.part,
            "item": row.item,
            "role": row.role,
            "source": row.origin.kind(),
            "origin": row.origin.detail(),
            "start": row.start,
            "bytes": row.bytes,
            "text": text[start..end],
            "text_from": start,
            "text_bytes": text.len(),
            "image_bytes": content.image_bytes,
        }));
        if end < text.len() {
            next = Some(json!({ "from": n, "offset": end }));
            break;
        }
        // A row counts, so that many short rows end a page too.
        left = left.saturating_sub(end - start + row.part.len() + row.origin.detail().len() + ROW_BYTES);
    }
    let of = sent.report.rows.len();
    let answer =
        json!({ "session": session, "number": sent.number, "item": item, "of": of, "next": next, "rows": shown });
    Ok(line(&answer))
}

/// What the model does not see.
pub fn absent(session: &str, sent: &SentBody) -> Result<Vec<u8>, ApiError> {
    let mut head = sent.report.to_json().head;
    let mut answer = json!({ "session": session, "number": sent.number });
    let is_absent = |source: &Value| source["status"] != "full";
    let sources = head["sources"].as_array_mut().map(std::mem::take).unwrap_or_default();
    answer["sources"] = sources.into_iter().filter(is_absent).collect();
    for key in ["omissions", "candidates", "instruction_files", "changed_files"] {
        answer[key] = head[key].take();
    }
    Ok(line(&answer))
}

/// The bytes of a request, or a range of them.
pub fn body(sent: &SentBody, redactor: &Redactor, reveals: bool, range: Option<&str>) -> Result<Reply, ApiError> {
    let body = Bytes::from(sent.request.body());
    let of = body.len();
    let (body, n_masked) = match reveals {
        true => (body, 0),
        false => mask::masked(redactor, body),
    };
    let range = match range.map(|text| parse_range(text, of)) {
        None => None,
        Some(Some(range)) => Some(range),
        Some(None) => {
            return Err(ApiError::new(ErrorCode::BadRange, format!("the request has {of} bytes")));
        }
    };
    let reply = match &range {
        None => Reply::bytes(JSON, body),
        Some(range) => Reply::bytes(JSON, body.slice(range.clone()))
            .with_status(StatusCode::PARTIAL_CONTENT)
            .with(header::CONTENT_RANGE, &format!("bytes {}-{}/{of}", range.start, range.end - 1)),
    };
    let reply = reply.with(header::ACCEPT_RANGES, "bytes");
    Ok(match (n_masked, range) {
        (0, None) => {
            let mut hash = Sha256::new();
            sent.request.segments.iter().for_each(|segment| hash.update(segment));
            reply.with(DIGEST, &format!("sha-256={}", STANDARD.encode(hash.finalize())))
        }
        (0, Some(_)) => reply,
        (n, _) => reply.with(MASKED, &n.to_string()),
    })
}

/// One range of bytes; absent if the text is none, or none of so many bytes.
fn parse_range(text: &str, of: usize) -> Option<Range<usize>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| text.bytes().all(|it| it.is_ascii_digit()).then(|| text.parse::<usize>().ok()).flatten();
    let range = match (first, last) {
        ("", last) => of.saturating_sub(number(last)?)..of,
        (first, "") => number(first)?..of,
        (first, last) => number(first)?..number(last)?.checked_add(1)?.min(of),
    };
    (range.start < range.end).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_body() {
        for (text, expected) in [
            ("bytes=0-3", Some(0..4)),
            ("bytes=5-", Some(5..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=-30", Some(0..10)),
            ("bytes=8-99", Some(8..10)),
            ("bytes=10-", None),
            ("bytes=4-3", None),
            ("bytes=-0", None),
            ("bytes=0-1,3-4", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("items=0-1", None),
        ] {
            assert_eq!(parse_range(text, 10), expected, "{text}");
        }
    }
}
