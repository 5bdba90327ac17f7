//! Any bytes are a stream: cut into pieces of any size they give the same events, and the decoder
//! of the wire takes whatever those hold.

use pellucid_model::responses;
use pellucid_model::sse;
use pellucid_model::sse::SseLimits;
use pellucid_protocol::reply::ReplyEvent;

/// Small, so that short inputs reach them.
const LIMITS: SseLimits = SseLimits { line_bytes_max: 4096, event_bytes_max: 2048 };

pub fn check(data: &[u8]) {
    let whole = payloads(data, data.len());
    for size in [1, 3, 64] {
        assert_eq!(payloads(data, size), whole, "in pieces of {size}");
    }
    let mut decoder = responses::ResponsesDecoder::new(None);
    let mut events: Vec<ReplyEvent> = Vec::new();
    for payload in whole.into_iter().flatten() {
        decoder.decode(&payload, &mut events);
    }
    let error = decoder.finish();
    assert!(!error.to_string().is_empty());
}

/// The data of every event, and at last the error if there is one.
fn payloads(data: &[u8], size: usize) -> Vec<Result<Vec<u8>, sse::SseError>> {
    let mut decoder = sse::SseDecoder::with_limits(LIMITS);
    let mut payloads = Vec::new();
    for piece in data.chunks(size.max(1)) {
        decoder.push(piece);
        while let Some(payload) = decoder.next() {
            let broken = payload.is_err();
            payloads.push(payload);
            if broken {
                return payloads;
            }
        }
    }
    payloads
}
