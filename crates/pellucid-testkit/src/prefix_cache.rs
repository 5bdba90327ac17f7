//! The figures of a provider that caches what it has read, for replies of the mock server.
//!
//! The provider reads tools, then instructions, then messages, counts a token for every four bytes, and has the beginnings of
//! all earlier requests to the same model in its cache. Marks that end what may be cached are not read.

use serde_json::Value;
use serde_json::json;

use crate::mock_server::MockReply;
use crate::mock_server::RecordedRequest;

/// How many bytes are a token.
const BYTES_PER_TOKEN: usize = 4;

/// The input tokens of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PrefixCharge {
    read: usize,
    rest: usize,
}

/// What a request costs after these.
pub(crate) fn charge(earlier: &[RecordedRequest], request: &RecordedRequest) -> PrefixCharge {
    let (model, text) = reading(&request.body);
    let same = |earlier: &RecordedRequest| match reading(&earlier.body) {
        (of, before) if of == model => text.bytes().zip(before.bytes()).take_while(|(one, two)| one == two).count(),
        _ => 0,
    };
    let read = earlier.iter().map(same).max().unwrap_or(0) / BYTES_PER_TOKEN;
    PrefixCharge { read, rest: text.len() / BYTES_PER_TOKEN - read }
}

/// The model that a request asks, and all that it reads.
fn reading(body: &[u8]) -> (String, String) {
    let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
    without_marks(&mut body);
    let mut text = String::new();
    let listed = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for part in listed(&body["tools"]).iter().chain([&body["instructions"], &body["system"]]) {
        if !part.is_null() {
            text += &part.to_string();
        }
    }
    for message in listed(&body["input"]).iter().chain(&listed(&body["messages"])) {
        match (&message["role"], message["content"].as_array()) {
            (Value::String(role), Some(content)) => {
                for block in content {
                    text += &format!("{role}:{block}");
                }
            }
            _ => text += &message.to_string(),
        }
    }
    (body["model"].to_string(), text)
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
