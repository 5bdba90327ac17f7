//! The items of a session: each once, with the requests that had it.
//!
//! A history that is summarised, rolled back or shown in another way gives the same item another place. Items are the same if
//! their bytes are, and if a request has the same bytes several times, each is an item.
//!
//! - `glance`: what the JSON of an item says of it

mod glance;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_engine::digest::Digest;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::text_of;

use self::glance::Glance;
use crate::overview::OverviewKind;
use crate::overview::OverviewOrigin;

/// How many characters of an item's text are kept.
const PREVIEW_CHARS: usize = 200;

/// What the bytes of an item say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemFacts {
    /// The digest of the bytes.
    pub digest: Digest,
    /// The type: `message`, `function_call` and so on.
    pub kind: Cow<'static, str>,
    /// The role, for messages.
    pub role: Option<Arc<str>>,
    /// How many bytes the item has.
    pub bytes: usize,
    /// The part that most of its bytes belong to.
    pub part: Arc<str>,
    /// Whose words most of its bytes are: `yours`, `pack`, `model`, `tool` or `session`.
    pub author: Cow<'static, str>,
    /// The id of the call, for calls and their outputs.
    pub call: Option<String>,
    /// The first characters of its text, with escapes undone.
    pub preview: String,
}

impl ItemFacts {
    /// What an item is. `bytes` are those that the spans are about.
    pub fn of(kind: &'static str, role: Option<&Arc<str>>, spans: &[Span], bytes: &[u8]) -> Self {
        let is_text = |span: &&Span| !matches!(span.origin, Origin::Wire | Origin::Layout | Origin::Repair);
        let largest = spans.iter().filter(is_text).max_by_key(|span| span.len).or(spans.first());
        let author = largest
            .map_or(OverviewOrigin::Session, |span| OverviewOrigin::of(OverviewKind::Conversation, &span.origin));
        let json = bytes.trim_ascii_start().strip_prefix(b",").unwrap_or(bytes);
        let Glance { call, preview } = Glance::of(json, PREVIEW_CHARS).unwrap_or_default();
        Self {
            digest: Digest::of([bytes]),
            kind: kind.into(),
            role: role.cloned(),
            bytes: bytes.len(),
            part: largest.map_or_else(|| "".into(), |span| span.part.clone()),
            author: author.name().into(),
            call,
            preview: preview.unwrap_or_else(|| of_spans(spans, bytes)),
        }
    }
}

/// The first characters of the text of an item that is no JSON by itself, because it shares a message with others.
/// Notation is left out.
fn of_spans(spans: &[Span], bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut start = 0;
    for span in spans {
        let end = (start + span.len).min(bytes.len());
        if !matches!(span.origin, Origin::Wire) {
            // A string of JSON has quotes around it.
            let quoted = [b"\"", &bytes[start..end], b"\""].concat();
            let unescaped = text_of(&quoted);
            text += unescaped.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&unescaped);
        }
        start = end;
        if text.chars().nth(PREVIEW_CHARS).is_some() {
            break;
        }
    }
    text.chars().take(PREVIEW_CHARS).collect()
}

/// An item of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionItem {
    /// What the item is.
    pub facts: Arc<ItemFacts>,
    /// The number of the first request that had the item.
    pub first: usize,
    /// The number of the last request that had the item.
    pub last: usize,
    /// The place of the item among the items of the first request.
    pub place: usize,
}

/// The items that the requests of a session had so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionItems {
    items: Vec<SessionItem>,
    /// The places of the items with the same bytes.
    known: BTreeMap<Digest, Vec<usize>>,
    /// The items of the request that was added last, by their places.
    last: Vec<usize>,
    /// How many items of that request have the same bytes.
    used: BTreeMap<Digest, usize>,
}

impl SessionItems {
    /// Continues with the items that were found before.
    pub fn continuing(items: Vec<SessionItem>) -> Self {
        let mut known: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
        for (at, item) in items.iter().enumerate() {
            known.entry(item.facts.digest).or_default().push(at);
        }
        Self { items, known, last: Vec::new(), used: BTreeMap::new() }
    }

    /// Forgets the requests from one on, so that they can be added again.
    pub fn forget_from(&mut self, number: usize) {
        self.items.retain(|item| item.first < number);
        for item in &mut self.items {
            item.last = item.last.min(number - 1);
        }
        *self = Self::continuing(std::mem::take(&mut self.items));
    }

    /// Adds the items of the next request: the first `n_kept` of the request that was added before it, and then `rest`.
    pub fn add(&mut self, number: usize, n_kept: usize, rest: &[Arc<ItemFacts>]) {
        if n_kept < self.last.len() {
            self.last.truncate(n_kept);
            self.used.clear();
            for at in &self.last {
                *self.used.entry(self.items[*at].facts.digest).or_default() += 1;
            }
        }
        for at in &self.last {
            self.items[*at].last = number;
        }
        for facts in rest {
            let n_before = self.used.entry(facts.digest).or_default();
            let places = self.known.entry(facts.digest).or_default();
            match places.get(*n_before) {
                Some(at) => {
                    self.items[*at].last = number;
                    self.last.push(*at);
                }
                None => {
                    let place = self.last.len();
                    places.push(self.items.len());
                    self.last.push(self.items.len());
                    self.items.push(SessionItem { facts: facts.clone(), first: number, last: number, place });
                }
            }
            *n_before += 1;
        }
    }

    /// The items, in the order in which they appeared.
    pub fn finish(self) -> Vec<SessionItem> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(origin: Origin, len: usize) -> Span {
        Span { part: "user".into(), origin, len, raw_len: len }
    }

    fn seen(texts: &str) -> Vec<Arc<ItemFacts>> {
        let item = |text: char| {
            let text = text.to_string();
            Arc::new(ItemFacts::of("message", None, &[span(Origin::User, 1)], text.as_bytes()))
        };
        texts.chars().map(item).collect()
    }

    #[test]
    fn an_item_is_described_by_its_bytes() {
        let bytes = br#",{"role":"user","call_id":"c1","text":"caf\u00e9 \"x\""}"#;
        let start = bytes.windows(4).position(|it| it == b"caf\\").unwrap();
        let spans = [span(Origin::Wire, start), span(Origin::User, bytes.len() - start - 2), span(Origin::Wire, 2)];
        let facts = ItemFacts::of("message", Some(&"user".into()), &spans, bytes);
        assert_eq!((&*facts.author, &*facts.part, facts.call.as_deref()), ("yours", "user", Some("c1")));
        assert_eq!(facts.preview, "caf\u{e9} \"x\"");
        let joined = &bytes[..bytes.len() - 1];
        assert_eq!(ItemFacts::of("message", None, &spans, joined).preview, "caf\u{e9} \"x\"", "a part of a message");
    }

    #[test]
    fn an_item_has_the_requests_from_its_first_to_its_last() {
        let mut items = SessionItems::default();
        let mut shared = SessionItems::default();
        let mut before = "";
        for (number, texts) in [(1, "ab"), (2, "abca"), (3, "Sca"), (5, "Sd")] {
            items.add(number, 0, &seen(texts));
            let n_kept = texts.bytes().zip(before.bytes()).take_while(|(one, two)| one == two).count();
            shared.add(number, n_kept, &seen(&texts[n_kept..]));
            before = texts;
        }
        assert_eq!(shared.items, items.items, "what a request shares with the one before need not be looked at");
        shared.forget_from(3);
        shared.add(3, 0, &seen("Sca"));
        shared.add(5, 0, &seen("Sd"));
        assert_eq!(shared.items, items.items, "requests that are added again come to the same");
        let found: Vec<_> = items.finish().iter().map(|it| (it.first, it.last, it.place)).collect();
        // a, b, c, the second a, S, d
        assert_eq!(found, [(1, 3, 0), (1, 2, 1), (2, 3, 2), (2, 2, 3), (3, 5, 0), (5, 5, 1)]);
    }
}
