//! A request taken apart into what surrounds its items and the items, as the engine compares requests.
//!
//! The comparison itself is the engine's (`continuity`), so a diff of any two requests names the same part, cause and number of
//! tokens as the report of a session does.

use bytes::Bytes;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::NextRequest;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::encode::Encoded;
use pellucid_engine::encode::Span;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::Divergence;
use pellucid_engine::transcript::Rendered;
use pellucid_engine::transcript::View;
use pellucid_protocol::provider::WireApi;
use serde::de::IgnoredAny;

use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// A request taken apart.
struct Whole {
    frame: Frame,
    items: Vec<Rendered>,
    /// The bytes of the items, without the notation that closes their list.
    bytes: Vec<Bytes>,
    wire: WireApi,
}

/// How request `b` would continue request `a`, if `b` were sent right after `a`; absent where a body is missing or the
/// two have different API formats.
pub fn continuity(a: &Inspected, b: &Inspected) -> Option<Continuity> {
    let (before, after) = (Whole::of(a)?, Whole::of(b)?);
    if before.wire != after.wire {
        return None;
    }
    let kept = common_prefix(&before.bytes, &after.bytes);
    let of = before.bytes.iter().map(Bytes::len).sum();
    let divergence = (kept < of).then_some(Divergence { kept, of });
    let sent = SentRequest::new(&before.frame, of, before.items.len());
    let request = after.frame.around(after.bytes, "");
    let next = NextRequest {
        frame: &after.frame,
        request: &request,
        items: &after.items,
        order: after.wire.reading_order(),
        left: None,
        cause: None,
        moved: None,
    };
    sent.continued_by(&next, divergence)
}

impl Whole {
    fn of(request: &Inspected) -> Option<Self> {
        let wire = request.wire?;
        let rows = &request.rows;
        let first = rows.iter().position(|row| row.item.is_some()).unwrap_or(rows.len());
        let behind = rows.iter().rposition(|row| row.item.is_some()).map_or(first, |last| last + 1);
        // Notation before the first item and behind the last belongs to the items if the rest is a request without it.
        let (start, end) = [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().find_map(|(lead, trail)| {
            let (start, end) = (first.checked_sub(lead)?, behind + trail);
            let rest = [bytes_of(&rows[..start])?, bytes_of(rows.get(end..)?)?].concat();
            serde_json::from_slice::<IgnoredAny>(&rest).is_ok().then_some((start, end))
        })?;
        let frame = Frame::recorded(View { wire, ..View::default() }, encoded(&rows[..start])?, encoded(&rows[end..])?);
        let bytes =
            rows[start..behind].iter().map(|row| Some(row.content.as_ref()?.wire.clone())).collect::<Option<_>>()?;
        Some(Self { frame, items: items(&rows[start..behind])?, bytes, wire })
    }
}

/// How many bytes are the same from the start on. Bytes that both share are not looked at.
fn common_prefix(one: &[Bytes], two: &[Bytes]) -> usize {
    let mut n = 0;
    let (mut ones, mut twos) = (one.iter(), two.iter());
    let (mut a, mut b): (&[u8], &[u8]) = (&[], &[]);
    loop {
        while a.is_empty() {
            let Some(next) = ones.next() else { return n };
            a = next;
        }
        while b.is_empty() {
            let Some(next) = twos.next() else { return n };
            b = next;
        }
        let len = a.len().min(b.len());
        if !std::ptr::eq(a.as_ptr(), b.as_ptr()) && a[..len] != b[..len] {
            return n + a.iter().zip(b).take_while(|(one, two)| one == two).count();
        }
        n += len;
        (a, b) = (&a[len..], &b[len..]);
    }
}

fn bytes_of(rows: &[InspectedRow]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(rows.iter().map(|row| row.bytes).sum());
    for row in rows {
        bytes.extend_from_slice(&row.content.as_ref()?.wire);
    }
    Some(bytes)
}

fn span(row: &InspectedRow) -> Option<Span> {
    let content = row.content.as_ref()?;
    let (part, origin) = (row.part.clone(), content.whence.clone());
    // No comparison asks how long texts are before they are escaped.
    Some(Span { part, origin, len: row.bytes, raw_len: row.bytes })
}

fn encoded(rows: &[InspectedRow]) -> Option<Encoded> {
    let spans = rows.iter().map(span).collect::<Option<_>>()?;
    Some(Encoded { bytes: bytes_of(rows)?, spans })
}

/// The items, each with the notation before it.
fn items(rows: &[InspectedRow]) -> Option<Vec<Rendered>> {
    let mut items: Vec<Rendered> = Vec::new();
    let mut lead = 0;
    let mut rest = rows;
    while let Some(row) = rest.first() {
        let Some(item) = row.item else {
            lead += row.bytes;
            rest = &rest[1..];
            continue;
        };
        let n = rest.iter().position(|row| row.item != Some(item)).unwrap_or(rest.len());
        let spans = rest[..n].iter().map(span).collect::<Option<Vec<_>>>()?;
        items.push(Rendered { kind: "message", role: row.role.clone(), lead, spans: spans.into(), trail: 0 });
        lead = 0;
        rest = &rest[n..];
    }
    Some(items)
}
