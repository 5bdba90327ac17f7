//! A body taken apart: what surrounds the items, and the items, for every API format that is known.

use std::borrow::Cow;
use std::ops::Range;

use pellucid_engine::watched::WatchedFormat;
use serde::Deserializer as _;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::value::RawValue;

/// The longest body that is taken apart. Servers of models take less.
const TAKEN_BYTES_MAX: usize = 48 << 20;

/// A body taken apart. Head, items and tail are the whole text, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBody<'a> {
    /// The API format of the body.
    pub format: WatchedFormat,
    /// The whole body.
    pub text: &'a str,
    /// Where the first item begins, with the notation before it.
    pub head: usize,
    /// The items, each with the notation before it.
    pub items: Vec<Range<usize>>,
    /// The members of the body, with their values.
    pub members: Vec<(Cow<'a, str>, Range<usize>)>,
    /// Messages of the head that are instructions.
    pub instructions: Vec<Range<usize>>,
}

impl<'a> TakenBody<'a> {
    /// Takes a body apart. A body that is not of a known format is one piece.
    pub fn of(path: &str, text: &'a str) -> Self {
        let format = if text.len() > TAKEN_BYTES_MAX { WatchedFormat::Raw } else { format(path) };
        let raw = || Self {
            format: WatchedFormat::Raw,
            text,
            head: text.len(),
            items: Vec::new(),
            members: Vec::new(),
            instructions: Vec::new(),
        };
        let Some(members) = members(text).filter(|_| text.len() <= TAKEN_BYTES_MAX) else {
            return raw();
        };
        let place = |value: &RawValue| {
            let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
            start..start + value.get().len()
        };
        let list = members.iter().find(|(key, _)| format != WatchedFormat::Raw && key == format.list());
        let ranges = members.iter().map(|(key, value)| (key.clone(), place(value))).collect();
        let Some((_, list)) = list else {
            // An input that is one text instead of a list is still of the format.
            let is_known = format == WatchedFormat::Responses && members.iter().any(|(key, _)| key == "model");
            return Self { format: if is_known { format } else { WatchedFormat::Raw }, members: ranges, ..raw() };
        };
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(list.get()) else {
            return Self { format, members: ranges, ..raw() };
        };
        let elements: Vec<Range<usize>> = elements.into_iter().map(place).collect();
        let n_instructions = match format {
            WatchedFormat::Chat => elements.iter().take_while(|range| is_system(&text[(*range).clone()])).count(),
            _ => 0,
        };
        let instructions = elements[..n_instructions].to_vec();
        let head = instructions.last().map_or(place(list).start + 1, |last| last.end);
        let mut end = head;
        let with_lead = |element: &Range<usize>| {
            let start = std::mem::replace(&mut end, element.end);
            start..element.end
        };
        let items = elements[n_instructions..].iter().map(with_lead).collect();
        Self { format, text, head, items, members: ranges, instructions }
    }

    /// The bytes behind the items.
    pub fn tail(&self) -> Range<usize> {
        self.items.last().map_or(self.head, |last| last.end)..self.text.len()
    }

    /// The text of a member that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        let (_, range) = self.members.iter().find(|(key, _)| key == name)?;
        serde_json::from_str(&self.text[range.clone()]).ok()
    }
}

/// The format of requests to a path.
fn format(path: &str) -> WatchedFormat {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if path.ends_with("/responses") {
        WatchedFormat::Responses
    } else if path.ends_with("/chat/completions") {
        WatchedFormat::Chat
    } else if path.ends_with("/messages") {
        WatchedFormat::Messages
    } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
        WatchedFormat::Gemini
    } else {
        WatchedFormat::Raw
    }
}

/// The model that a path names: `…/models/NAME:generateContent`.
pub fn model_in_path(path: &str) -> Option<String> {
    let path = path.split('?').next()?;
    let (_, name) = path.rsplit_once("/models/")?;
    let (name, _) = name.split_once(':')?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn is_system(message: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Message<'a> {
        #[serde(borrow, default)]
        role: Cow<'a, str>,
    }
    serde_json::from_str::<Message<'_>>(message).is_ok_and(|it| matches!(&*it.role, "system" | "developer"))
}

/// The members of a JSON object in their order; absent if the text is something else.
fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = reader.deserialize_map(Members).ok()?;
    reader.end().ok()?;
    Some(members)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_taken(path: &str, text: &str, format: WatchedFormat, head: &str, items: &[&str], tail: &str) {
        let taken = TakenBody::of(path, text);
        let found: Vec<&str> = taken.items.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!((taken.format, &text[..taken.head], &found[..], &text[taken.tail()]), (format, head, items, tail));
    }

    #[test]
    fn bodies_of_every_format_are_taken_apart() {
        check_taken(
            "/responses",
            r#"{"model":"m","input":[{"a":1},{"b":2}],"tools":[]}"#,
            WatchedFormat::Responses,
            r#"{"model":"m","input":["#,
            &[r#"{"a":1}"#, r#",{"b":2}"#],
            r#"],"tools":[]}"#,
        );
        check_taken(
            "/v1/chat/completions",
            r#"{"messages":[ {"role":"system","content":"s"}, {"role":"user"} ]}"#,
            WatchedFormat::Chat,
            r#"{"messages":[ {"role":"system","content":"s"}"#,
            &[r#", {"role":"user"}"#],
            " ]}",
        );
        check_taken(
            "/v1/messages?beta=true",
            "{\"messages\":[\n {\"role\":\"user\"}\n],\"system\":\"s\"}",
            WatchedFormat::Messages,
            "{\"messages\":[",
            &["\n {\"role\":\"user\"}"],
            "\n],\"system\":\"s\"}",
        );
        check_taken(
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            r#"{"contents":[{"role":"user"}]}"#,
            WatchedFormat::Gemini,
            r#"{"contents":["#,
            &[r#"{"role":"user"}"#],
            "]}",
        );
        assert_eq!(model_in_path("/v1beta/models/gemini-2.5-pro:generateContent").as_deref(), Some("gemini-2.5-pro"));
        assert_eq!(model_in_path("/v1/responses"), None);
    }

    #[test]
    fn what_is_of_no_format_stays_one_piece() {
        for (path, text) in [
            ("/v1/traces", r#"{"messages":[]}"#),
            ("/responses", "not json"),
            ("/responses", r#"{"input":[}"#),
            ("/v1/messages", r#"{"model":"m"}"#),
            ("/v1/messages/count_tokens", r#"{"messages":[{"role":"user"}]}"#),
            ("/responses", r#"{"input":[]} behind"#),
        ] {
            check_taken(path, text, WatchedFormat::Raw, text, &[], "");
        }
        let text = r#"{"model":"m","input":"hi"}"#;
        check_taken("/responses", text, WatchedFormat::Responses, text, &[], "");
        check_taken("/responses", r#"{"input":[]}"#, WatchedFormat::Responses, r#"{"input":["#, &[], "]}");
    }

    proptest! {
        #[test]
        fn pieces_are_the_body(text in "[\\[\\]{}:,\"a1 \n]{0,60}", path in 0_usize..4) {
            let path = ["/responses", "/chat/completions", "/messages", "/models/m:generateContent"][path];
            let taken = TakenBody::of(path, &text);
            let items: String = taken.items.iter().map(|range| &text[range.clone()]).collect();
            prop_assert_eq!(format!("{}{items}{}", &text[..taken.head], &text[taken.tail()]), text.clone());
        }
    }
}
