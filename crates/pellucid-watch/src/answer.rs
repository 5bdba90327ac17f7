//! What an answer says: the tokens that it names, and the items of the model.
//!
//! An answer is a stream of events or one JSON value, in the format of the request. An answer that cannot be read says
//! nothing; the command got it all the same.

use std::borrow::Cow;
use std::io::Read;

use bytes::Bytes;
use pellucid_engine::watched::WatchedFormat;
use pellucid_model::chat::ChatDecoder;
use pellucid_model::messages::MessagesDecoder;
use pellucid_model::responses::ResponsesDecoder;
use pellucid_model::sse::SseDecoder;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::usage::TokenUsage;
use serde_json::Value;

use crate::said;

/// The longest answer or body that is decoded.
const DECODED_BYTES_MAX: u64 = 256 << 20;

/// The longest answer that is read as one JSON value. A tree of values takes many times the space of its text.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// What an answer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecodedAnswer {
    /// What the model made.
    pub items: Vec<Item>,
    /// The tokens that the provider counted.
    pub usage: Option<TokenUsage>,
    /// The tokens that were written to the provider's cache.
    pub cache_write: Option<i64>,
    /// The id of the answer.
    pub response_id: Option<String>,
}

/// Undoes an encoding of HTTP; absent if it is not known or the bytes are not encoded like that.
pub fn decoded<'a>(encoding: Option<&str>, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let mut plain = Vec::new();
    let read = match encoding.map(str::trim) {
        None | Some("" | "identity") => return Some(Cow::Borrowed(bytes)),
        Some("gzip" | "x-gzip") => {
            flate2::read::MultiGzDecoder::new(bytes).take(DECODED_BYTES_MAX).read_to_end(&mut plain)
        }
        Some("deflate") => flate2::read::ZlibDecoder::new(bytes).take(DECODED_BYTES_MAX).read_to_end(&mut plain),
        Some("zstd") => zstd::Decoder::new(bytes).ok()?.take(DECODED_BYTES_MAX).read_to_end(&mut plain),
        Some(_) => return None,
    };
    // The beginning of an answer that was cut off can be read, too.
    (read.is_ok() || !plain.is_empty()).then_some(Cow::Owned(plain))
}

/// Reads an answer.
pub fn read(format: WatchedFormat, encoding: Option<&str>, chunks: &[Bytes]) -> DecodedAnswer {
    let joined = match chunks {
        [chunk] => Cow::Borrowed(&chunk[..]),
        chunks => Cow::Owned(chunks.concat()),
    };
    let Some(bytes) = decoded(encoding, &joined) else {
        return DecodedAnswer::default();
    };
    let value = if bytes.len() <= VALUE_BYTES_MAX { serde_json::from_slice::<Value>(&bytes).ok() } else { None };
    match value {
        Some(Value::Array(parts)) if format == WatchedFormat::Gemini => gemini(&parts),
        Some(value) => of_value(format, &value),
        None => of_stream(format, &bytes),
    }
}

fn of_stream(format: WatchedFormat, bytes: &[u8]) -> DecodedAnswer {
    let mut sse = SseDecoder::default();
    sse.push(bytes);
    sse.push(b"\n\n");
    let payloads = std::iter::from_fn(|| sse.next()?.ok());
    match format {
        WatchedFormat::Raw => DecodedAnswer::default(),
        WatchedFormat::Gemini => {
            gemini(&payloads.filter_map(|payload| serde_json::from_slice(&payload).ok()).collect::<Vec<Value>>())
        }
        WatchedFormat::Responses => {
            let (mut decoder, mut events) = (ResponsesDecoder::default(), Vec::new());
            payloads.for_each(|payload| decoder.decode(&payload, &mut events));
            of_events(events)
        }
        WatchedFormat::Chat => {
            let (mut decoder, mut events) = (ChatDecoder::default(), Vec::new());
            // What came before an error is still an answer.
            payloads.for_each(|payload| drop(decoder.decode(&payload, &mut events)));
            drop(decoder.finish(&mut events));
            of_events(events)
        }
        WatchedFormat::Messages => {
            let (mut decoder, mut events) = (MessagesDecoder::default(), Vec::new());
            payloads.for_each(|payload| drop(decoder.decode(&payload, &mut events)));
            drop(decoder.finish(&mut events));
            of_events(events)
        }
    }
}

/// Reads the messages that a WebSocket server sent for one request.
pub fn of_messages(payloads: &[Vec<u8>]) -> DecodedAnswer {
    let (mut decoder, mut events) = (ResponsesDecoder::default(), Vec::new());
    payloads.iter().for_each(|payload| decoder.decode(payload, &mut events));
    of_events(events)
}

fn of_events(events: Vec<ReplyEvent>) -> DecodedAnswer {
    let mut answer = DecodedAnswer::default();
    for event in events {
        match event {
            ReplyEvent::ItemDone(item) if item != Item::Other => answer.items.push(item),
            ReplyEvent::CacheWritten(tokens) => answer.cache_write = Some(tokens),
            ReplyEvent::Completed { response_id, usage } => {
                answer.response_id = Some(response_id).filter(|id| !id.is_empty());
                answer.usage = usage;
            }
            _ => {}
        }
    }
    answer
}

fn of_value(format: WatchedFormat, value: &Value) -> DecodedAnswer {
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let response_id = value["id"].as_str().map(str::to_owned);
    let usage = &value["usage"];
    match format {
        WatchedFormat::Raw => DecodedAnswer::default(),
        WatchedFormat::Gemini => gemini(std::slice::from_ref(value)),
        WatchedFormat::Responses => {
            let items = value["output"].as_array().into_iter().flatten();
            let items = items.flat_map(|item| said::items(format, item)).collect();
            let usage = usage.is_object().then(|| TokenUsage {
                input_tokens: number(&usage["input_tokens"]),
                cached_input_tokens: number(&usage["input_tokens_details"]["cached_tokens"]),
                output_tokens: number(&usage["output_tokens"]),
                reasoning_output_tokens: number(&usage["output_tokens_details"]["reasoning_tokens"]),
                total_tokens: number(&usage["total_tokens"]),
            });
            DecodedAnswer { items, usage, cache_write: None, response_id }
        }
        WatchedFormat::Chat => {
            let items = said::items(format, &value["choices"][0]["message"]);
            let usage = usage.is_object().then(|| TokenUsage {
                input_tokens: number(&usage["prompt_tokens"]),
                cached_input_tokens: number(&usage["prompt_tokens_details"]["cached_tokens"]),
                output_tokens: number(&usage["completion_tokens"]),
                reasoning_output_tokens: number(&usage["completion_tokens_details"]["reasoning_tokens"]),
                total_tokens: number(&usage["total_tokens"]),
            });
            DecodedAnswer { items, usage, cache_write: None, response_id }
        }
        WatchedFormat::Messages => {
            let read = number(&usage["cache_read_input_tokens"]);
            let written = usage["cache_creation_input_tokens"].as_i64();
            let output = number(&usage["output_tokens"]);
            let input = number(&usage["input_tokens"]) + read + written.unwrap_or(0);
            let usage = usage.is_object().then_some(TokenUsage {
                input_tokens: input,
                cached_input_tokens: read,
                output_tokens: output,
                reasoning_output_tokens: 0,
                total_tokens: input + output,
            });
            DecodedAnswer { items: said::items(format, value), usage, cache_write: written, response_id }
        }
    }
}

/// The parts of an answer in Google's format; the last one has the figures of all.
fn gemini(parts: &[Value]) -> DecodedAnswer {
    let mut answer = DecodedAnswer::default();
    let mut text = String::new();
    for part in parts {
        for item in said::items(WatchedFormat::Gemini, &part["candidates"][0]["content"]) {
            match &item {
                Item::Message { content, .. } => content.iter().for_each(|part| {
                    if let ContentPart::OutputText { text: more } = part {
                        text += more;
                    }
                }),
                _ => answer.items.push(item),
            }
        }
        let usage = &part["usageMetadata"];
        if usage.is_object() {
            let number = |key: &str| usage[key].as_i64().unwrap_or(0);
            let thoughts = number("thoughtsTokenCount");
            answer.usage = Some(TokenUsage {
                input_tokens: number("promptTokenCount"),
                cached_input_tokens: number("cachedContentTokenCount"),
                output_tokens: number("candidatesTokenCount") + thoughts,
                reasoning_output_tokens: thoughts,
                total_tokens: number("totalTokenCount"),
            });
        }
        answer.response_id = part["responseId"].as_str().map(str::to_owned).or(answer.response_id);
    }
    if !text.is_empty() {
        answer.items.insert(0, Item::text("assistant", text));
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn usage(input: i64, cached: i64, output: i64) -> Option<TokenUsage> {
        Some(TokenUsage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            reasoning_output_tokens: 0,
            total_tokens: input + output,
        })
    }

    #[track_caller]
    fn check_answer(format: WatchedFormat, text: &str, said: &str, tokens: Option<TokenUsage>, id: &str) {
        let answer = read(format, None, &[Bytes::copy_from_slice(text.as_bytes())]);
        assert_eq!(answer.items, [Item::text("assistant", said)]);
        assert_eq!((answer.usage, answer.response_id.as_deref()), (tokens, Some(id)));
    }

    #[test]
    fn answers_of_every_format_name_their_tokens() {
        check_answer(
            WatchedFormat::Responses,
            r#"{"id":"r","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":2,"total_tokens":11}}"#,
            "ok",
            usage(9, 4, 2),
            "r",
        );
        check_answer(
            WatchedFormat::Chat,
            r#"{"id":"c","choices":[{"message":{"role":"assistant","content":"ok"}}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#,
            "ok",
            usage(9, 0, 2),
            "c",
        );
        check_answer(
            WatchedFormat::Messages,
            r#"{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":2}}"#,
            "ok",
            usage(9, 4, 2),
            "m",
        );
        check_answer(
            WatchedFormat::Gemini,
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"o\"}]}}],\"responseId\":\"g\"}\n\ndata: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"k\"}]}}],\"usageMetadata\":{\"promptTokenCount\":9,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":2,\"totalTokenCount\":11}}\n\n",
            "ok",
            usage(9, 4, 2),
            "g",
        );
        check_answer(
            WatchedFormat::Responses,
            "event: x\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"ok\"}]}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"s\",\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":2,\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":11}}}",
            "ok",
            usage(9, 4, 2),
            "s",
        );
    }

    #[test]
    fn encodings_are_undone_and_what_cannot_be_read_says_nothing() {
        let text = r#"{"id":"c","choices":[{"message":{"role":"assistant","content":"ok"}}]}"#;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
        for (encoding, bytes) in [("gzip", gzip), ("zstd", zstd), ("identity", text.as_bytes().to_vec())] {
            let answer = read(WatchedFormat::Chat, Some(encoding), &[Bytes::from(bytes)]);
            assert_eq!(answer.response_id.as_deref(), Some("c"), "{encoding}");
        }
        for (encoding, bytes) in [("br", "x"), ("gzip", "not gzip"), ("identity", "<html>")] {
            let answer = read(WatchedFormat::Chat, Some(encoding), &[Bytes::from(bytes)]);
            assert_eq!(answer, DecodedAnswer::default(), "{encoding}");
        }
    }
}
