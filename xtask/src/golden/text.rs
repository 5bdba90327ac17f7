//! Text values of the vectors: strings, bytes, generated texts and digests of long results.
//!
//! The forms are those of `golden/README.md`. Not here: contents of one system only.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// An input that may be long or not UTF-8.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Plain(String),
    Made(Made),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Made {
    Bytes(Base64),
    Lines(Lines),
    Repeat(Repeat),
    Concat(Concat),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base64 {
    b64: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    #[serde(rename = "gen")]
    _kind: RepeatWord,
    unit: String,
    count: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    #[serde(rename = "gen")]
    _kind: LinesWord,
    count: usize,
    prefix: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concat {
    concat: Vec<Text>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RepeatWord {
    Repeat,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LinesWord {
    Lines,
}

impl Text {
    /// The bytes that the value represents.
    ///
    /// # Errors
    ///
    /// When its base64 is invalid.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Plain(text) => Ok(text.clone().into_bytes()),
            Self::Made(Made::Bytes(it)) => {
                BASE64_STANDARD.decode(&it.b64).map_err(|error| format!("{}: {error}", it.b64))
            }
            Self::Made(Made::Repeat(it)) => Ok(it.unit.repeat(it.count).into_bytes()),
            Self::Made(Made::Lines(it)) => {
                Ok((1..=it.count).map(|n| format!("{}{n}\n", it.prefix)).collect::<String>().into_bytes())
            }
            Self::Made(Made::Concat(it)) => {
                let parts: Result<Vec<_>, _> = it.concat.iter().map(Self::bytes).collect();
                Ok(parts?.concat())
            }
        }
    }

    /// The text that the value represents.
    ///
    /// # Errors
    ///
    /// When it is not UTF-8.
    pub fn text(&self) -> Result<String, String> {
        String::from_utf8(self.bytes()?).map_err(|error| error.to_string())
    }
}

/// Expands every text value in a value; marks like `$ROOT` stay. Bytes that are not UTF-8 become U+FFFD.
pub fn expanded(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(values) => values.iter().map(expanded).collect(),
        Value::Object(fields) => {
            let bytes = serde_json::from_value::<Made>(value.clone()).ok().map(|made| Text::Made(made).bytes());
            match bytes {
                Some(Ok(bytes)) => Value::String(String::from_utf8_lossy(&bytes).into_owned()),
                _ => Value::Object(fields.iter().map(|(key, it)| (key.clone(), expanded(it))).collect()),
            }
        }
        other => other.clone(),
    }
}

/// Compares a value with the expected one, in which a digest may represent a long text.
pub fn same_or_digest(what: &str, found: &serde_json::Value, expected: &serde_json::Value) -> Result<(), String> {
    use serde_json::Value;
    match (found, expected) {
        (Value::String(text), Value::Object(_)) => {
            let digest: TextDigest = serde_json::from_value(expected.clone()).map_err(|error| error.to_string())?;
            Expected::Digest(digest).check(what, text)
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            found.iter().zip(expected).try_for_each(|(found, expected)| same_or_digest(what, found, expected))
        }
        (Value::Object(found), Value::Object(expected)) if found.len() == expected.len() => {
            found.iter().try_for_each(|(key, found)| match expected.get(key) {
                Some(expected) => same_or_digest(what, found, expected),
                None => Err(format!("{what}: {key} is not expected")),
            })
        }
        (found, expected) => super::cases::same(what, found, expected),
    }
}

/// A result: the text itself, or a digest of a long one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    Plain(String),
    Digest(TextDigest),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextDigest {
    sha256: String,
    chars: usize,
    head: String,
    tail: String,
}

impl Expected {
    /// Compares a text with the expected one.
    ///
    /// # Errors
    ///
    /// The place where they differ.
    pub fn check(&self, what: &str, found: &str) -> Result<(), String> {
        let digest = match self {
            Self::Plain(expected) => return super::cases::same(what, &found, &expected.as_str()),
            Self::Digest(digest) => digest,
        };
        super::cases::same(&format!("{what}: characters"), &found.chars().count(), &digest.chars)?;
        if !found.starts_with(&digest.head) || !found.ends_with(&digest.tail) {
            return Err(format!("{what}: head or tail differ: {found:?}"));
        }
        super::cases::same(&format!("{what}: hash"), &sha256(found.as_bytes()), &digest.sha256)
    }
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bytes(value: serde_json::Value) -> Vec<u8> {
        serde_json::from_value::<Text>(value).unwrap().bytes().unwrap()
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(bytes(json!("a")), b"a");
        assert_eq!(bytes(json!({"b64": "/w=="})), [0xff]);
        assert_eq!(bytes(json!({"gen": "repeat", "unit": "ab", "count": 2})), b"abab");
        assert_eq!(bytes(json!({"gen": "lines", "prefix": "r", "count": 2})), b"r1\nr2\n");
        assert_eq!(bytes(json!({"concat": ["a", {"gen": "repeat", "unit": "b", "count": 1}]})), b"ab");
    }

    #[test]
    fn an_unknown_form_is_refused() {
        for value in [json!({"gen": "lines", "unit": "a", "count": 2}), json!({"hex": "00"}), json!(1)] {
            assert!(serde_json::from_value::<Text>(value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn texts_within_a_value_are_made() {
        let value =
            json!({"a": [{"gen": "repeat", "unit": "x", "count": 2}], "b": {"template": "t"}, "c": {"b64": "/w=="}});
        assert_eq!(expanded(&value), json!({"a": ["xx"], "b": {"template": "t"}, "c": "\u{fffd}"}));
        let digest = json!({"sha256": sha256(b"abc"), "chars": 3, "head": "abc", "tail": "abc"});
        same_or_digest("text", &json!(["abc", 1]), &json!([digest, 1])).unwrap();
        assert!(same_or_digest("text", &json!(["abd"]), &json!([digest])).is_err());
        assert!(same_or_digest("text", &json!({"a": 1}), &json!({"b": 1})).is_err());
    }

    #[test]
    fn a_digest_is_compared_whole() {
        let expected: Expected = serde_json::from_value(json!({
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "chars": 3, "head": "abc", "tail": "abc",
        }))
        .unwrap();
        expected.check("text", "abc").unwrap();
        assert!(expected.check("text", "abd").is_err());
    }
}
