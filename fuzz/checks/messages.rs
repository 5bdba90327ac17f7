//! Any bytes are a stream of the Messages wire: whatever its events hold is decoded or refused with words, and nothing comes
//! after the reply is complete.

use pellucid_model::messages;
use pellucid_model::sse;
use pellucid_protocol::reply::ReplyEvent;

pub fn check(data: &[u8]) {
    let mut stream = sse::SseDecoder::with_limits(sse::SseLimits { line_bytes_max: 4096, event_bytes_max: 2048 });
    stream.push(data);
    let mut decoder = messages::MessagesDecoder::default();
    let mut events: Vec<ReplyEvent> = Vec::new();
    while let Some(Ok(payload)) = stream.next() {
        if let Err(error) = decoder.decode(&payload, &mut events) {
            return assert!(!error.to_string().is_empty());
        }
    }
    if let Err(error) = decoder.finish(&mut events) {
        return assert!(!error.to_string().is_empty());
    }
    let complete = events.iter().position(|event| matches!(event, ReplyEvent::Completed { .. }));
    assert_eq!(complete, events.len().checked_sub(1), "{events:?}");
}
