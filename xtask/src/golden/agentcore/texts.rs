//! The suites about cutting and counting texts.

use pellucid_engine::cut::ends;
use pellucid_engine::injection::scalar;
use pellucid_engine::window::count::CharacterEstimate;
use serde::Deserialize;
use serde_json::Value;

use crate::golden::Verdict;
use crate::golden::cases::{self, same};
use crate::golden::text::Text;

/// A text value, or any other value that is converted to text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(Text),
    Other(Value),
}

impl Input {
    fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => text.bytes(),
            Self::Other(value @ (Value::Null | Value::Number(_) | Value::Bool(_))) => {
                Ok(scalar::text(value).into_owned().into_bytes())
            }
            Self::Other(other) => Err(format!("unknown input {other}")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Truncation {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    #[serde(rename = "fn")]
    function: String,
    input: Input,
    #[serde(default)]
    max_bytes: Value,
    marker: Option<Input>,
    expect: String,
    expect_bytes: usize,
}

pub fn truncation(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Truncation| {
        let bytes = case.input.bytes()?;
        let text = ends::normalize(&bytes);
        let max = scalar::int(&case.max_bytes);
        let marker = case.marker.as_ref().map(Input::bytes).transpose()?.unwrap_or_default();
        let found = match case.function.as_str() {
            "head_marker_tail" => ends::head_marker_tail(&text, max, &ends::normalize(&marker)),
            "head" => ends::head(&text, max).to_owned(),
            "tail" => ends::tail(&text, max).to_owned(),
            "normalize" => text.into_owned(),
            other => return Err(format!("unknown function {other}")),
        };
        same("text", &found, &case.expect)?;
        same("bytes", &found.len(), &case.expect_bytes)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counting {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    kind: String,
    input: Value,
    options: Options,
    expect: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default = "four")]
    chars_per_token: f64,
    #[serde(default = "one")]
    non_ascii_chars_per_token: f64,
}

fn four() -> f64 {
    4.0
}

fn one() -> f64 {
    1.0
}

pub fn token_counter(file: &Value) -> Vec<Verdict> {
    cases::run(file, |case: Counting| {
        let counter = CharacterEstimate::new(case.options.chars_per_token, case.options.non_ascii_chars_per_token)
            .map_err(|error| error.to_string())?;
        let found = match case.kind.as_str() {
            "text" => {
                let input: Input = serde_json::from_value(case.input).map_err(|error| error.to_string())?;
                let bytes = input.bytes()?;
                counter.text(&ends::normalize(&bytes))
            }
            "messages" => {
                let messages = case.input.as_array().ok_or("messages are a list")?;
                counter.messages(messages.iter().map(|message| &message["content"]))
            }
            "tools" => counter.tools(case.input.as_array().ok_or("tools are a list")?),
            other => return Err(format!("unknown kind {other}")),
        };
        same("tokens", &found, &case.expect)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_marker_that_is_not_utf8_is_measured_after_it_is_normalised() {
        let case = |max: usize, expect: &str| {
            json!({
                "id": format!("marker-{max}"), "fn": "head_marker_tail", "input": "abcdefghijklmnopqrstuvwxyz",
                "max_bytes": max, "marker": {"b64": "/w=="}, "expect": expect, "expect_bytes": expect.len(),
            })
        };
        let file = json!({"cases": [case(9, "abc\u{fffd}xyz"), case(4, "\u{fffd}z"), case(3, "abc")]});
        assert_eq!(truncation(&file).into_iter().filter_map(|it| it.problem).collect::<Vec<_>>(), [""; 0]);
    }
}
