//! The headers of a response, as events that come before those of its body.

use http::HeaderMap;
use pellucid_protocol::reply::ReplyEvent;

use crate::rate_limit;

/// The events, in order: the model that answers, rate limits, reasoning, the turn's token.
pub fn events(headers: &HeaderMap) -> Vec<ReplyEvent> {
    let mut events = Vec::new();
    events.extend(rate_limit::text(headers, "openai-model").map(ReplyEvent::ServerModel));
    events.extend(rate_limit::snapshots(headers).into_iter().map(ReplyEvent::RateLimits));
    if headers.contains_key("x-reasoning-included") {
        events.push(ReplyEvent::ReasoningIncluded);
    }
    events.extend(rate_limit::text(headers, "x-codex-turn-state").map(ReplyEvent::TurnState));
    events
}

#[cfg(test)]
pub(crate) mod tests {
    use http::HeaderName;
    use http::HeaderValue;

    use super::*;

    /// Reads `name: value` lines.
    pub(crate) fn parse_headers(fixture: &str) -> HeaderMap {
        let parse = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value.trim()).unwrap())
        };
        fixture.trim().lines().map(parse).collect()
    }

    #[test]
    fn events_come_in_their_order() {
        let headers = parse_headers(
            "
x-codex-turn-state: ts-1
x-reasoning-included:
x-other-primary-used-percent: 3
openai-model: gpt-x
",
        );
        let events = events(&headers);
        assert_eq!(events[0], ReplyEvent::ServerModel("gpt-x".to_owned()));
        let limits: Vec<_> = events[1..3]
            .iter()
            .map(|event| match event {
                ReplyEvent::RateLimits(snapshot) => snapshot.limit_id.as_deref().unwrap(),
                other => panic!("{other:?} is no rate limit"),
            })
            .collect();
        assert_eq!(limits, ["codex", "other"]);
        assert_eq!(events[3..], [ReplyEvent::ReasoningIncluded, ReplyEvent::TurnState("ts-1".to_owned())]);
    }

    #[test]
    fn plain_headers_yield_one_snapshot() {
        assert_eq!(events(&HeaderMap::new()).len(), 1);
    }
}
