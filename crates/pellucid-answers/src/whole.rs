//! A request taken apart into what surrounds its items and the items, as the engine compares requests.
//!
//! The comparison itself is the engine's (`continuity`), so a diff of any two requests names the same part, cause and number of
//! tokens as the report of a session does.

use pellucid_engine::continuity::Continuity;
use pellucid_engine::continuity::NextRequest;
use pellucid_engine::continuity::SentRequest;
use pellucid_engine::encode::Encoded;
use pellucid_engine::encode::Span;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
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
    bytes: Vec<u8>,
    wire: WireApi,
}

/// How request `b` would continue request `a`, if `b` were sent right after `a`; absent where a body is missing or the
/// two have different API formats.
pub fn continuity(a: &Inspected, b: &Inspected) -> Option<Continuity> {
    let (before, after) = (Whole::of(a)?, Whole::of(b)?);
    if before.wire != after.wire {
        return None;
    }
    let kept = before.bytes.iter().zip(&after.bytes).take_while(|(one, two)| one == two).count();
    let divergence = (kept < before.bytes.len()).then_some(Divergence { kept, of: before.bytes.len() });
    let sent = SentRequest::new(&before.frame, before.bytes.len(), before.items.len());
    let segments = [after.frame.head_bytes().to_vec(), after.bytes, after.frame.tail_bytes().to_vec()];
    let request = Request { segments: segments.into_iter().map(Into::into).collect() };
    let next = NextRequest {
        frame: &after.frame,
        request: &request,
        items: &after.items,
        order: after.wire.reading_order(),
        left: None,
        cause: None,
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
        Some(Self { frame, items: items(&rows[start..behind])?, bytes: bytes_of(&rows[start..behind])?, wire })
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
    Some(Span { part, origin, len: row.bytes, raw_len: content.text.len() })
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
