//! The least number of tokens that a request costs, whichever wire it is for.
//!
//! A lower bound: it counts the texts that a model is certain to be given, each by itself, and nothing
//! of the notation around them, of sealed thoughts, or of the shapes of tools but their descriptions.
//! Images count by the rules of providers for their width and height, never by the length of their
//! data, and one whose size cannot be read counts as one token. So what is refused because of this
//! figure would have been refused by the provider too.

use pellucid_protocol::provider::WireApi;
use serde_json::Map;
use serde_json::Value;

use crate::tokens::Counter;

/// Members whose text the model is given.
const TEXTS: [&str; 8] = ["text", "content", "instructions", "output", "arguments", "input", "system", "description"];

/// Kinds of items and parts that a model may be given in another form, or not at all.
const SKIPPED: [&str; 5] = ["reasoning", "thinking", "redacted_thinking", "compaction", "compaction_summary"];

/// How much of an image's data is looked at for its size, in characters of base64.
const HEAD_CHARS: usize = 64 << 10;

/// The least that a body costs. One that is no JSON costs nothing that is known.
pub fn least_tokens(wire: WireApi, body: &[u8], counter: &dyn Counter) -> u64 {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut sum = Sum { wire, counter, tokens: 0 };
    if let Value::Object(body) = &body {
        for (name, value) in body {
            // Settings about the form of the answer are not certain to be part of the prompt.
            if !matches!(name.as_str(), "text" | "response_format" | "output_config" | "metadata" | "client_metadata") {
                sum.member(name, value);
            }
        }
    }
    sum.tokens
}

struct Sum<'a> {
    wire: WireApi,
    counter: &'a dyn Counter,
    tokens: u64,
}

impl Sum<'_> {
    fn member(&mut self, name: &str, value: &Value) {
        match value {
            Value::String(text) if TEXTS.contains(&name) => self.tokens += self.counter.count(text) as u64,
            Value::Array(values) => values.iter().for_each(|value| self.member(name, value)),
            Value::Object(object) => self.object(object),
            _ => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>) {
        let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
        if SKIPPED.contains(&kind) {
            return;
        }
        if matches!(kind, "input_image" | "image_url" | "image") {
            self.tokens += image(self.wire, object);
            return;
        }
        for (name, value) in object {
            self.member(name, value);
        }
    }
}

/// The least that an image costs.
fn image(wire: WireApi, part: &Map<String, Value>) -> u64 {
    let url = part.get("image_url");
    let inner = url.and_then(|url| url.get("url")).or(url).and_then(Value::as_str);
    let data = match inner {
        Some(url) => url.split_once(";base64,").map(|(_, data)| data),
        None => part.get("source").and_then(|source| source.get("data")?.as_str()),
    };
    let detail = part.get("detail").or_else(|| url.and_then(|url| url.get("detail"))).and_then(Value::as_str);
    let size = data.and_then(|data| size(&head(data)));
    match (wire, size) {
        (_, None) => 1,
        (WireApi::Messages, Some(size)) => by_area(size),
        (WireApi::Responses | WireApi::Chat, Some(size)) => by_tiles(size, detail == Some("low")).min(by_patches(size)),
    }
    .max(1)
}

/// Anthropic's rule: the area by 750, of an image that was made to fit 1568 pixels and 1.15 megapixels.
fn by_area((width, height): (u32, u32)) -> u64 {
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let edge = (1568.0 / width.max(height)).min(1.0);
    let area = (width * edge) * (height * edge);
    (area.min(1_150_000.0) / 750.0) as u64
}

/// OpenAI's rule of tiles, with the smallest figures of all models: 65, and 129 for each tile of 512 pixels.
fn by_tiles((width, height): (u32, u32), is_low: bool) -> u64 {
    if is_low {
        return 65;
    }
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let fit = (2048.0 / width.max(height)).min(1.0);
    let fit = fit.min(768.0 / width.min(height)).min(1.0);
    let tiles = |edge: f64| ((edge * fit) / 512.0).ceil().max(1.0) as u64;
    65 + 129 * tiles(width) * tiles(height)
}

/// OpenAI's rule of patches: one token for each of 32 pixels, 1,536 at most. Models multiply it by more than one.
fn by_patches((width, height): (u32, u32)) -> u64 {
    let patches = |edge: u32| u64::from(edge.max(1).div_ceil(32));
    // A larger image is made to fit, which may cost a row and a column.
    (patches(width) * patches(height)).min(1_400)
}

/// Width and height of a PNG, GIF or JPEG.
fn size(data: &[u8]) -> Option<(u32, u32)> {
    let short = |at: usize| Some(u32::from(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?)));
    if data.starts_with(b"\x89PNG\r\n\x1a\n") {
        let long = |at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
        return Some((long(16)?, long(20)?));
    }
    if data.starts_with(b"GIF8") {
        let little = |at: usize| Some(u32::from(u16::from_le_bytes(data.get(at..at + 2)?.try_into().ok()?)));
        return Some((little(6)?, little(8)?));
    }
    if !data.starts_with(b"\xff\xd8") {
        return None;
    }
    let mut at = 2;
    loop {
        let (mark, kind) = (*data.get(at)?, *data.get(at + 1)?);
        match (mark, kind) {
            (0xff, 0xff) => at += 1,
            (0xff, 0xc0..=0xcf) if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                return Some((short(at + 7)?, short(at + 5)?));
            }
            (0xff, _) => at += 2 + short(at + 2)? as usize,
            _ => return None,
        }
    }
}

/// The beginning of what a text in base64 says.
fn head(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut n_bits) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes().take(HEAD_CHARS) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = (bits << 6) | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
            bits &= (1 << n_bits) - 1;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Counts one token for each word.
    struct Words;

    impl Counter for Words {
        fn name(&self) -> &str {
            "words"
        }

        fn count(&self, text: &str) -> usize {
            text.split_whitespace().count()
        }
    }

    #[track_caller]
    fn check_least(wire: WireApi, body: &Value, expected: u64) {
        assert_eq!(least_tokens(wire, body.to_string().as_bytes(), &Words), expected);
    }

    /// The first bytes of a PNG of this size, as a data URL.
    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([0; 3]);
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let text: String = bytes
            .chunks_exact(3)
            .flat_map(|it| {
                let bits = u32::from(it[0]) << 16 | u32::from(it[1]) << 8 | u32::from(it[2]);
                [18, 12, 6, 0].map(|shift| LETTERS[(bits >> shift & 63) as usize] as char)
            })
            .collect();
        text
    }

    #[test]
    fn each_wire_counts_its_texts_and_nothing_around_them() {
        check_least(
            WireApi::Responses,
            &json!({
                "model": "m m m", "instructions": "be good",
                "input": [
                    { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "one two three" }] },
                    { "type": "function_call", "name": "f", "arguments": "a b", "call_id": "c c" },
                    { "type": "function_call_output", "call_id": "c", "output": "d e f" },
                    { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "x x" }], "encrypted_content": "y y" },
                    { "type": "custom_tool_call", "name": "p", "input": "g" },
                ],
                "tools": [{ "type": "function", "name": "t t", "description": "h i", "parameters": { "type": "object" } }],
                "text": { "format": { "description": "z z z" } },
            }),
            2 + 3 + 2 + 3 + 1 + 2,
        );
        check_least(
            WireApi::Chat,
            &json!({
                "messages": [
                    { "role": "system", "content": "be good" },
                    { "role": "user", "content": [{ "type": "text", "text": "one two" }] },
                    { "role": "assistant", "tool_calls": [{ "function": { "name": "f", "arguments": "a" } }] },
                ],
                "tools": [{ "type": "function", "function": { "name": "t", "description": "h i" } }],
            }),
            2 + 2 + 1 + 2,
        );
        check_least(
            WireApi::Messages,
            &json!({
                "system": [{ "type": "text", "text": "be good" }],
                "messages": [{ "role": "user", "content": [
                    { "type": "tool_result", "content": [{ "type": "text", "text": "a b" }] },
                    { "type": "thinking", "thinking": "x", "text": "x" },
                ] }],
            }),
            2 + 2,
        );
    }

    #[test]
    fn an_image_counts_by_its_size_not_by_its_data() {
        let noise = "A".repeat(1 << 20);
        let openai = |data: &str, detail: &str| {
            json!({ "input": [{ "type": "message", "content": [{
                "type": "input_image", "image_url": format!("data:image/png;base64,{data}"), "detail": detail,
            }] }] })
        };
        check_least(WireApi::Responses, &openai(&(png(1024, 1024) + &noise), "auto"), 65 + 4 * 129);
        check_least(WireApi::Responses, &openai(&png(1024, 1024), "low"), 65);
        check_least(WireApi::Responses, &openai(&png(32, 32), "auto"), 1);
        check_least(WireApi::Responses, &openai(&noise, "auto"), 1);
        let anthropic = |data: &str| json!({ "messages": [{ "content": [{ "type": "image", "source": { "type": "base64", "data": data } }] }] });
        check_least(WireApi::Messages, &anthropic(&png(750, 1000)), 1000);
        check_least(WireApi::Messages, &anthropic(&png(8000, 8000)), 1533);
    }

    #[test]
    fn sizes_are_read_from_three_formats() {
        assert_eq!(size(b"GIF89a\x10\x00\x20\x00"), Some((16, 32)));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x20\x00\x10";
        assert_eq!(size(jpeg), Some((16, 32)));
        assert_eq!(size(b"\xff\xd8\xff\xe0"), None);
        assert_eq!(size(b"BM"), None);
    }

    #[test]
    fn what_is_no_json_costs_nothing_that_is_known() {
        assert_eq!(least_tokens(WireApi::Chat, b"{", &Words), 0);
    }
}
