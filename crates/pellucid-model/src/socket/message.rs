//! What is sent over a WebSocket: the body of a request, or the items that it adds to the one before.

use bytes::Bytes;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::Answered;
use super::SocketAsk;
use super::SocketVersion;

/// The end of the part of a body before its items.
const ITEMS_BEGIN: &[u8] = b"\"input\":[";

/// The text of a request's message.
///
/// # Errors
///
/// When the body is not UTF-8.
pub(super) fn text(body: &[Bytes], ask: &SocketAsk, last: Option<&Answered>) -> Result<Utf8Bytes, ReplyError> {
    let text = match (addition(body, ask, last), ask.version, last) {
        (Some(added), SocketVersion::V2, Some(last)) => {
            let id = serde_json::Value::from(last.response_id.as_str()).to_string();
            let before = &added.head[1..added.head.len() - ITEMS_BEGIN.len()];
            let mut text = b"{\"type\":\"response.create\",".to_vec();
            text.extend_from_slice(before);
            text.extend_from_slice(format!("\"previous_response_id\":{id},").as_bytes());
            text.extend_from_slice(ITEMS_BEGIN);
            added.write_items(&mut text);
            text.extend_from_slice(added.tail);
            text
        }
        (Some(added), SocketVersion::V1, Some(last)) if last.is_appendable => {
            let mut text = b"{\"type\":\"response.append\",\"input\":[".to_vec();
            added.write_items(&mut text);
            text.extend_from_slice(b"]}");
            text
        }
        _ => whole(body),
    };
    Utf8Bytes::try_from(text)
        .map_err(|error| ReplyError::new(ReplyErrorKind::Local, format!("the request is not UTF-8: {error}")))
}

/// The whole body, with the message's type before its first key.
fn whole(body: &[Bytes]) -> Vec<u8> {
    let mut text = b"{\"type\":\"response.create\",".to_vec();
    text.reserve(body.iter().map(Bytes::len).sum());
    let mut is_open = false;
    for segment in body {
        let brace = usize::from(!is_open && segment.first() == Some(&b'{'));
        is_open |= !segment.is_empty();
        text.extend_from_slice(&segment[brace..]);
    }
    text
}

/// A body in its three parts, and how many bytes of the items the server knows.
struct Addition<'a> {
    head: &'a [u8],
    items: &'a [Bytes],
    tail: &'a [u8],
    n_known: usize,
}

/// What a request adds to the last one, if it extends that and the server remembers it.
fn addition<'a>(body: &'a [Bytes], ask: &SocketAsk, last: Option<&Answered>) -> Option<Addition<'a>> {
    let (known, last) = (ask.known?, last?);
    let is_next = known.number == last.number && known.n_returned == last.n_returned && !last.response_id.is_empty();
    let [head, items @ .., tail] = body else {
        return None;
    };
    let is_split = head.starts_with(b"{") && head.ends_with(ITEMS_BEGIN) && tail.starts_with(b"]");
    let n_bytes: usize = items.iter().map(Bytes::len).sum();
    (is_next && is_split && known.bytes < n_bytes).then_some(Addition { head, items, tail, n_known: known.bytes })
}

impl Addition<'_> {
    /// Writes the items that the server does not know.
    fn write_items(&self, text: &mut Vec<u8>) {
        // The comma after the known items is skipped too.
        let mut skip = if self.n_known == 0 { 0 } else { self.n_known + 1 };
        for segment in self.items {
            let skipped = skip.min(segment.len());
            skip -= skipped;
            text.extend_from_slice(&segment[skipped..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::KnownPrefix;
    use super::*;

    const BODY: [&str; 5] = [
        r#"{"model":"m","instructions":"i","input":["#,
        r#"{"a":1},{"b""#,
        r#":2}"#,
        r#",{"c":3}"#,
        r#"],"tools":[]}"#,
    ];

    fn ask(version: SocketVersion, known: Option<KnownPrefix>) -> SocketAsk {
        SocketAsk { version, turn: "t".into(), number: Some(2), known, wants_timings: false }
    }

    #[track_caller]
    fn check_text(version: SocketVersion, known: Option<KnownPrefix>, is_appendable: bool, expected: &str) {
        let body: Vec<Bytes> = BODY.iter().map(|segment| Bytes::from_static(segment.as_bytes())).collect();
        let last = Answered { number: 1, response_id: "r\"1".to_owned(), n_returned: 1, is_appendable };
        assert_eq!(text(&body, &ask(version, known), Some(&last)).unwrap().as_str(), expected);
    }

    const WHOLE: &str =
        r#"{"type":"response.create","model":"m","instructions":"i","input":[{"a":1},{"b":2},{"c":3}],"tools":[]}"#;

    #[test]
    fn only_what_is_new_is_sent() {
        let known = Some(KnownPrefix { number: 1, bytes: 15, n_returned: 1 });
        check_text(
            SocketVersion::V2,
            known,
            false,
            r#"{"type":"response.create","model":"m","instructions":"i","previous_response_id":"r\"1","input":[{"c":3}],"tools":[]}"#,
        );
        check_text(SocketVersion::V1, known, true, r#"{"type":"response.append","input":[{"c":3}]}"#);
        check_text(SocketVersion::V1, known, false, WHOLE);
    }

    #[test]
    fn all_is_sent_when_the_server_remembers_something_else() {
        for known in [
            None,
            Some(KnownPrefix { number: 0, bytes: 15, n_returned: 1 }),
            Some(KnownPrefix { number: 1, bytes: 15, n_returned: 2 }),
            Some(KnownPrefix { number: 1, bytes: 23, n_returned: 1 }),
        ] {
            check_text(SocketVersion::V2, known, true, WHOLE);
        }
        let body = [Bytes::new(), Bytes::from_static(b"{\"a\":1}")];
        assert_eq!(
            text(&body, &ask(SocketVersion::V2, None), None).unwrap().as_str(),
            r#"{"type":"response.create","a":1}"#
        );
    }
}
