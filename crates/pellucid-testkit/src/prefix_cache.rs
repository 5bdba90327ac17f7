//! The figures of a provider that caches what it has read, for replies of the mock server.
//!
//! The provider reads tools, then instructions, then messages: the JSON of each tool, the texts of messages as they are
//! escaped, and of calls and their outputs ids, names and values (in the Responses format the whole JSON of these). It
//! counts a token for every byte, and has the beginnings of all earlier requests to the same model in its cache. Braces
//! and keys around these are not read, and neither are marks that end what may be cached.

use serde_json::Value;
use serde_json::json;

use crate::mock_server::MockReply;
use crate::mock_server::RecordedRequest;

/// The input tokens of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrefixCharge {
    read: usize,
    rest: usize,
}

/// What the provider has in its cache. Each request is read once, and only when a reply has to say a figure.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    /// The model and the text of each request, in the order of arrival.
    readings: Vec<(String, String)>,
}

impl PrefixCache {
    /// What a request costs after these.
    pub(crate) fn charge(&mut self, earlier: &[RecordedRequest], request: &RecordedRequest) -> PrefixCharge {
        let unread = earlier.iter().skip(self.readings.len());
        self.readings.extend(unread.map(|request| reading(&request.body)));
        let (model, text) = reading(&request.body);
        let of_the_model = self.readings.iter().filter(|(of, _)| *of == model);
        let read = of_the_model.map(|(_, before)| n_equal_bytes(text.as_bytes(), before.as_bytes())).max();
        let read = read.unwrap_or(0);
        PrefixCharge { read, rest: text.len() - read }
    }
}

/// How many bytes are equal at the beginning. Whole blocks are compared, because a comparison of single bytes is slow
/// in a debug build.
fn n_equal_bytes(one: &[u8], two: &[u8]) -> usize {
    const BLOCK: usize = 1024;
    let blocks = one.chunks_exact(BLOCK).zip(two.chunks_exact(BLOCK));
    let n_equal = BLOCK * blocks.take_while(|(one, two)| one == two).count();
    n_equal + one[n_equal..].iter().zip(&two[n_equal..]).take_while(|(one, two)| one == two).count()
}

/// The model that a request asks, and all that it reads.
fn reading(body: &[u8]) -> (String, String) {
    let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
    without_marks(&mut body);
    let mut text = String::new();
    for tool in listed(&body["tools"]) {
        text += &tool.to_string();
    }
    text += &said(&body["instructions"]);
    text += &said(&body["system"]);
    for item in listed(&body["input"]) {
        let is_said = item["type"] == "message";
        text += &if is_said { said(&item["content"]) } else { item.to_string() };
    }
    for message in listed(&body["messages"]) {
        if message["role"] == "tool" {
            text += &message["tool_call_id"].to_string();
            text += &message["content"].to_string();
            continue;
        }
        text += &said(&message["content"]);
        for call in listed(&message["tool_calls"]) {
            let function = &call["function"];
            text += &format!("{}{}{}", call["id"], function["name"], function["arguments"]);
        }
    }
    (body["model"].to_string(), text)
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a message, as they are escaped.
fn said(content: &Value) -> String {
    match content {
        Value::String(_) => escaped(content),
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        _ => String::new(),
    }
}

fn block(block: &Value) -> String {
    match block["type"].as_str() {
        Some("tool_use") => format!("{}{}{}", block["id"], block["name"], block["input"]),
        Some("tool_result") => format!("{}{}", block["tool_use_id"], block["content"]),
        Some("text" | "input_text" | "output_text") => {
            let text = escaped(&block["text"]);
            let inside = text.strip_prefix("<developer>\\n").and_then(|text| text.strip_suffix("\\n</developer>"));
            inside.unwrap_or(&text).to_owned()
        }
        _ => block.to_string(),
    }
}

/// A text with its escapes and without its quotes.
fn escaped(text: &Value) -> String {
    let text = text.to_string();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(without_marks);
        }
        Value::Array(values) => values.iter_mut().for_each(without_marks),
        _ => {}
    }
}

/// A reply with these figures.
pub(crate) fn charged(mut reply: MockReply, charge: PrefixCharge) -> MockReply {
    for frame in reply.frames_mut() {
        let text = String::from_utf8_lossy(frame).into_owned();
        let lines = text.split('\n').map(|line| match line.strip_prefix("data: ").map(serde_json::from_str::<Value>) {
            Some(Ok(mut payload)) => {
                set_usage(&mut payload, charge);
                format!("data: {payload}")
            }
            _ => line.to_owned(),
        });
        *frame = lines.collect::<Vec<_>>().join("\n").into_bytes();
    }
    reply
}

/// Sets the input tokens wherever a payload has them, in the notation of its API.
fn set_usage(value: &mut Value, charge: PrefixCharge) {
    let Value::Object(members) = value else { return };
    let all = charge.read + charge.rest;
    for (key, member) in members.iter_mut() {
        match member {
            usage if key == "usage" && usage.get("prompt_tokens").is_some() => {
                let answered = usage["completion_tokens"].as_u64().unwrap_or(0);
                usage["prompt_tokens"] = json!(all);
                usage["total_tokens"] = json!(all as u64 + answered);
                usage["prompt_tokens_details"] = json!({ "cached_tokens": charge.read });
            }
            usage if key == "usage" && usage.get("cache_read_input_tokens").is_some() => {
                usage["input_tokens"] = json!(0);
                usage["cache_read_input_tokens"] = json!(charge.read);
                usage["cache_creation_input_tokens"] = json!(charge.rest);
            }
            usage if key == "usage" && usage.get("input_tokens").is_some() => {
                let answered = usage["output_tokens"].as_u64().unwrap_or(0);
                usage["input_tokens"] = json!(all);
                usage["total_tokens"] = json!(all as u64 + answered);
                usage["input_tokens_details"] = json!({ "cached_tokens": charge.read });
            }
            member => set_usage(member, charge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_beginnings_are_counted_across_blocks() {
        let text: Vec<u8> = (0..5000_u32).map(|at| (at % 251) as u8).collect();
        for n_equal in [0, 1, 1023, 1024, 1025, 4096, 4999] {
            let mut other = text.clone();
            other[n_equal] ^= 1;
            assert_eq!(n_equal_bytes(&text, &other), n_equal);
            assert_eq!(n_equal_bytes(&text, &text[..n_equal]), n_equal);
        }
        assert_eq!(n_equal_bytes(&text, &text), 5000);
    }
}
