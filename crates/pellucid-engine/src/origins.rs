//! Origins that outlive the process: how lists of spans are written down, and how items find theirs again.
//!
//! Most items need nothing: what the model made is the model's, the output of a call is its tool's, a message of a
//! person is the person's between two pieces of notation. Such an item has the *usual* spans, which its bytes give.
//! The lists of all others are written down and found again by the bytes of the item.
//!
//! Not here: where they are written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::digest::Digest;
use crate::encode::Span;
use crate::file_version::FileVersion;
use crate::fragment::Origin;

/// Lists of spans with what they have in common.
#[derive(Serialize, Deserialize)]
struct Lists {
    parts: Vec<Arc<str>>,
    origins: Vec<Value>,
    /// The hashes of files, which origins name by their place here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// For each list and span: part, origin, bytes, and by how many bytes its text is shorter.
    lists: Vec<Vec<usize>>,
}

/// How many numbers a span has.
const SPAN_NUMBERS: usize = 4;

/// Lists of spans as text.
pub fn write(lists: &[&[Span]]) -> String {
    let mut written = Lists { parts: Vec::new(), origins: Vec::new(), files: Vec::new(), lists: Vec::new() };
    for spans in lists {
        let mut numbers = Vec::with_capacity(spans.len() * SPAN_NUMBERS);
        for span in *spans {
            let part = place(&mut written.parts, span.part.clone());
            let file = span.origin.file_sha256().map(|sha256| place(&mut written.files, sha256.to_string()));
            let origin = place(&mut written.origins, origin_value(&span.origin, file));
            numbers.extend([part, origin, span.len, span.len.saturating_sub(span.raw_len)]);
        }
        written.lists.push(numbers);
    }
    serde_json::to_string(&written).unwrap_or_default()
}

/// Lists of spans, read back; absent if the text says something else.
pub fn read(text: &str) -> Option<Vec<Vec<Span>>> {
    let Lists { parts, origins, files, lists } = serde_json::from_str(text).ok()?;
    let files: Vec<Digest> = files.iter().map(|it| Digest::read(it)).collect::<Option<_>>()?;
    let origins: Vec<Origin> = origins.iter().map(|it| read_origin(it, &files)).collect::<Option<_>>()?;
    let span = |numbers: &[usize]| {
        let [part, origin, len, less] = numbers else {
            return None;
        };
        let (part, origin) = (parts.get(*part)?.clone(), origins.get(*origin)?.clone());
        Some(Span { part, origin, len: *len, raw_len: len.checked_sub(*less)? })
    };
    let list = |numbers: &Vec<usize>| numbers.chunks(SPAN_NUMBERS).map(span).collect::<Option<Vec<Span>>>();
    lists.iter().map(list).collect()
}

fn place<T: PartialEq>(table: &mut Vec<T>, value: T) -> usize {
    table.iter().position(|known| *known == value).unwrap_or_else(|| {
        table.push(value);
        table.len() - 1
    })
}

/// An origin, with the place of its file's hash at the end where there is one.
fn origin_value(origin: &Origin, file: Option<usize>) -> Value {
    if let Origin::Likely(origin) = origin {
        return json!(["likely", origin_value(origin, file)]);
    }
    let mut value = vec![json!(origin.kind())];
    if !origin.detail().is_empty() {
        value.push(json!(origin.detail()));
    }
    if let Origin::File { range, size, .. } = origin {
        value.extend([range.start, range.end, *size].map(|it| json!(it)));
    }
    value.extend(file.map(|it| json!(it)));
    Value::Array(value)
}

fn read_origin(value: &Value, files: &[Digest]) -> Option<Origin> {
    let list = value.as_array()?;
    let text = |n: usize| list.get(n).and_then(Value::as_str);
    let number = |n: usize| list.get(n).and_then(Value::as_u64);
    let detail: Arc<str> = text(1).unwrap_or_default().into();
    // Records of before have no hashes.
    let version = |place: usize| {
        let sha256 = match number(place) {
            Some(n) => Some(*files.get(usize::try_from(n).ok()?)?),
            None => None,
        };
        Some(FileVersion::new(&detail, sha256))
    };
    Some(match text(0)? {
        "pack" => Origin::Pack { file: version(2)? },
        "file" => Origin::File { path: version(5)?, range: number(2)?..number(3)?, size: number(4)? },
        "skill" => Origin::Skill { path: detail },
        "provided" => Origin::Provided { place: detail },
        "fact" => Origin::Fact { name: detail.to_string().into() },
        "layout" => Origin::Layout,
        "catalogue" => Origin::Catalogue,
        "user" => Origin::User,
        "model" => Origin::Model,
        "tool" => Origin::Tool { name: detail },
        "session" => Origin::Recorded { path: detail },
        "repair" => Origin::Repair,
        "wire" => Origin::Wire,
        "program" => Origin::Program { name: detail },
        "unknown" => Origin::Unknown,
        // One within another says no more.
        "likely" => match read_origin(list.get(1)?, files)? {
            Origin::Likely(_) => return None,
            origin => Origin::Likely(Arc::new(origin)),
        },
        _ => return None,
    })
}

/// The key that identifies an item when a session is loaded again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemKey {
    /// The number of bytes of the item.
    pub bytes: usize,
    /// The beginning of the digest of these bytes.
    pub digest: String,
}

impl ItemKey {
    /// The key of an item with these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = Digest::of([bytes]).short();
        digest.truncate(16);
        Self { bytes: bytes.len(), digest }
    }
}

/// The stored origins of a session's items.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// By the number of bytes, so that most items are not hashed.
    kept: BTreeMap<usize, Vec<Kept>>,
    /// The ranges of the session file whose items have the usual spans unless others were kept.
    covered: Vec<Range<u64>>,
}

/// The spans of all items with one digest, from an offset of the session file on.
#[derive(Debug, Clone)]
struct Kept {
    digest: String,
    from: u64,
    spans: Arc<[Span]>,
}

impl Origins {
    /// Notes the spans of items with this key from an offset of the session file on.
    pub fn keep(&mut self, key: ItemKey, from: u64, spans: Vec<Span>) {
        if spans.iter().map(|span| span.len).sum::<usize>() == key.bytes {
            self.kept.entry(key.bytes).or_default().push(Kept { digest: key.digest, from, spans: spans.into() });
        }
    }

    /// Notes that origins were kept in a range of the session file.
    pub fn cover(&mut self, range: Range<u64>) {
        self.covered.push(range);
    }

    /// Whether origins were kept anywhere.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.covered.is_empty()
    }

    /// Every list that was kept, with its key.
    pub fn lists(&self) -> impl Iterator<Item = (ItemKey, &Arc<[Span]>)> {
        self.kept.iter().flat_map(|(bytes, lists)| {
            lists.iter().map(|kept| (ItemKey { bytes: *bytes, digest: kept.digest.clone() }, &kept.spans))
        })
    }

    /// The spans that were kept of an item at an offset of the session file.
    pub(crate) fn find(&self, bytes: &[u8], at: u64) -> Option<&Arc<[Span]>> {
        let lists = self.kept.get(&bytes.len())?;
        let digest = ItemKey::of(bytes).digest;
        lists.iter().rev().find(|kept| kept.digest == digest && kept.from <= at).map(|kept| &kept.spans)
    }

    /// Whether an item at an offset of the session file has the usual spans if no others were kept. Lines behind the
    /// last request may be another program's, but items of the model and of tools have the usual spans whichever program wrote them.
    pub(crate) fn covers(&self, at: u64, is_message: bool) -> bool {
        let is_in = |range: &Range<u64>| range.start <= at && (at < range.end || !is_message);
        self.covered.iter().any(is_in)
    }
}

/// The notation before and behind the text of a person's message.
const SAID: (&[u8], &[u8]) =
    (br#"{"type":"message","role":"user","content":[{"type":"input_text","text":""#, br#""}]}"#);

/// Whether notation of so many bytes is the one around a person's message.
pub(crate) fn frames_said(before: usize, behind: usize) -> bool {
    (before, behind) == (SAID.0.len(), SAID.1.len())
}

/// The usual spans of what a person says, if that is all that the bytes say.
pub(crate) fn said_by_user(bytes: &[u8]) -> Option<Arc<[Span]>> {
    let inside = bytes.strip_prefix(SAID.0)?.strip_suffix(SAID.1)?;
    let mut escapes = 0;
    let mut rest = inside.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => return None,
            b'\\' => {
                escapes += match rest.next()? {
                    b'u' => {
                        rest.nth(3)?;
                        5
                    }
                    _ => 1,
                };
            }
            _ => {}
        }
    }
    let part: Arc<str> = "user".into();
    let wire = |len: usize| Span { part: part.clone(), origin: Origin::Wire, len, raw_len: len };
    let said = Span { part: part.clone(), origin: Origin::User, len: inside.len(), raw_len: inside.len() - escapes };
    let spans = [wire(SAID.0.len()), said, wire(SAID.1.len())];
    Some(if inside.is_empty() { [wire(bytes.len())].into() } else { spans.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fragment::Fragment;
    use crate::transcript::Draft;

    fn any_file() -> impl Strategy<Value = FileVersion> {
        ("[a-z/]{1,4}", prop::option::of(any::<[u8; 32]>()))
            .prop_map(|(path, sha256)| FileVersion::new(&path, sha256.map(Digest::from)))
    }

    fn any_origin() -> impl Strategy<Value = Origin> {
        prop_oneof![
            any_file().prop_map(|file| Origin::Pack { file }),
            (any_file(), 0_u64..9, 0_u64..9, 0_u64..99).prop_map(|(path, start, len, size)| Origin::File {
                path,
                range: start..start + len,
                size
            }),
            "[a-z]{1,4}".prop_map(|it| Origin::Skill { path: it.into() }),
            "[a-z]{1,4}".prop_map(|it| Origin::Provided { place: it.into() }),
            "[a-z]{1,4}".prop_map(|it| Origin::Fact { name: it.into() }),
            "[a-z]{0,4}".prop_map(|it| Origin::Tool { name: it.into() }),
            "[a-z]{1,4}".prop_map(|it| Origin::Recorded { path: it.into() }),
            "[a-z]{1,4}".prop_map(|it| Origin::Program { name: it.into() }),
            "[a-z]{1,4}".prop_map(|it| Origin::Likely(Arc::new(Origin::Program { name: it.into() }))),
            (any_file(), 0_u64..9)
                .prop_map(|(path, end)| { Origin::Likely(Arc::new(Origin::File { path, range: 0..end, size: 9 })) }),
            Just(Origin::Unknown),
            Just(Origin::Likely(Arc::new(Origin::User))),
            Just(Origin::Layout),
            Just(Origin::Catalogue),
            Just(Origin::User),
            Just(Origin::Model),
            Just(Origin::Repair),
            Just(Origin::Wire),
        ]
    }

    fn any_span() -> impl Strategy<Value = Span> {
        ("[a-z/]{1,3}", any_origin(), 1_usize..50, 0_usize..50).prop_map(|(part, origin, len, less)| Span {
            part: part.into(),
            origin,
            len,
            raw_len: len - less.min(len),
        })
    }

    proptest! {
        #[test]
        fn lists_are_read_as_they_were_written(lists in prop::collection::vec(prop::collection::vec(any_span(), 0..6), 0..4)) {
            let slices: Vec<&[Span]> = lists.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(read(&write(&slices)), Some(lists));
        }

        #[test]
        fn what_a_person_says_is_told_from_its_bytes(text in any::<String>()) {
            let draft = Draft::text("user", "user", vec![Fragment { origin: Origin::User, text }]);
            let encoded = draft.encode();
            let spans = said_by_user(&encoded.bytes).unwrap();
            prop_assert_eq!(&*spans, encoded.spans.as_slice());
        }
    }

    #[test]
    fn records_without_hashes_are_read() {
        let text = r#"{"parts":["a"],"origins":[["file","/f",0,4,9],["pack","p.md"]],"lists":[[0,0,4,0,0,1,2,0]]}"#;
        let file = Origin::File { path: "/f".into(), range: 0..4, size: 9 };
        let pack = Origin::Pack { file: "p.md".into() };
        let span = |origin, len| Span { part: "a".into(), origin, len, raw_len: len };
        assert_eq!(read(text), Some(vec![vec![span(file, 4), span(pack, 2)]]));
        assert_eq!(read(&text.replace("0,4,9]", "0,4,9,0]")), None, "a hash that is not there");
    }

    #[test]
    fn the_hash_of_a_file_is_written_once() {
        let file = FileVersion::of("/f", b"text");
        let origin = |start| Origin::File { path: file.clone(), range: start..start + 2, size: 4 };
        let spans = [0, 2].map(|start| Span { part: "a".into(), origin: origin(start), len: 2, raw_len: 2 });
        let written = write(&[&spans, &spans]);
        assert_eq!(written.matches(&file.sha256().unwrap().to_string()).count(), 1, "{written}");
        assert_eq!(read(&written), Some(vec![spans.to_vec(), spans.to_vec()]));
    }

    #[test]
    fn a_message_of_several_parts_is_not_told_from_its_bytes() {
        let item = br#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#;
        assert_eq!(said_by_user(item), None);
    }

    #[test]
    fn the_same_bytes_can_have_another_origin_later() {
        let spans = |origin: Origin| vec![Span { part: "x".into(), origin, len: 2, raw_len: 2 }];
        let mut origins = Origins::default();
        origins.keep(ItemKey::of(b"hi"), 0, spans(Origin::User));
        origins.keep(ItemKey::of(b"hi"), 10, spans(Origin::Layout));
        origins.keep(ItemKey::of(b"ho"), 0, vec![]);
        let found = |bytes: &[u8], at| origins.find(bytes, at).map(|spans| spans[0].origin.clone());
        assert_eq!(found(b"hi", 9), Some(Origin::User));
        assert_eq!(found(b"hi", 10), Some(Origin::Layout));
        assert_eq!(found(b"ho", 10), None, "a list that does not fit its item is none");
    }
}
