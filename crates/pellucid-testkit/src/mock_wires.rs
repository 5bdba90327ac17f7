//! Replies of the mock server on the Chat Completions and Messages wires.
//!
//! Both take items in the notation of the Responses wire and stream them in small pieces, as real servers do.

use serde_json::Value;
use serde_json::json;

use crate::mock_server::MockReply;

/// How long pieces of texts and arguments are, in characters.
const PIECE_CHARS: usize = 5;

impl MockReply {
    /// A complete Chat Completions response with these items.
    pub fn chat(items: impl IntoIterator<Item = Value>) -> Self {
        let chunk = |choices: Value, usage: Value| {
            json!({
                "id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": 1, "model": "mock",
                "choices": choices, "usage": usage,
            })
        };
        let delta = |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
        let mut chunks = vec![delta(json!({ "role": "assistant", "content": "" }))];
        let mut n_calls = 0;
        for item in items {
            match item["type"].as_str() {
                Some("message") => {
                    chunks.extend(pieces(&text(&item["content"])).map(|it| delta(json!({ "content": it }))));
                }
                Some("reasoning") => {
                    chunks.extend(pieces(&text(&item["content"])).map(|it| delta(json!({ "reasoning": it }))));
                }
                Some("function_call") => {
                    let call = |call: Value| delta(json!({ "tool_calls": [call] }));
                    let function = json!({ "name": item["name"], "arguments": "" });
                    chunks.push(call(
                        json!({ "index": n_calls, "id": item["call_id"], "type": "function", "function": function }),
                    ));
                    let arguments = item["arguments"].as_str().unwrap_or_default();
                    chunks.extend(
                        pieces(arguments).map(|it| call(json!({ "index": n_calls, "function": { "arguments": it } }))),
                    );
                    n_calls += 1;
                }
                _ => {}
            }
        }
        let reason = if n_calls > 0 { "tool_calls" } else { "stop" };
        chunks.push(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null));
        let usage = json!({
            "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
            "prompt_tokens_details": { "cached_tokens": 60 },
        });
        chunks.push(chunk(json!([]), usage));
        let frames = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
        Self::frames(frames.chain(["data: [DONE]\n\n".to_owned()]))
    }

    /// A complete Messages response with these items. The encrypted content of reasoning is its signature.
    pub fn messages(items: impl IntoIterator<Item = Value>) -> Self {
        let usage = json!({
            "input_tokens": 30, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 60, "output_tokens": 1,
        });
        let message = json!({
            "id": "msg_mock", "type": "message", "role": "assistant", "model": "mock", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        let mut events = vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
        let mut has_calls = false;
        for (index, item) in items.into_iter().enumerate() {
            let (block, deltas) = match item["type"].as_str() {
                Some("reasoning") => {
                    let deltas = pieces(&text(&item["summary"]))
                        .map(|it| json!({ "type": "thinking_delta", "thinking": it }))
                        .chain([json!({ "type": "signature_delta", "signature": item["encrypted_content"] })])
                        .collect();
                    (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
                }
                Some("function_call") => {
                    has_calls = true;
                    let deltas = pieces(item["arguments"].as_str().unwrap_or_default())
                        .map(|it| json!({ "type": "input_json_delta", "partial_json": it }))
                        .collect();
                    (json!({ "type": "tool_use", "id": item["call_id"], "name": item["name"], "input": {} }), deltas)
                }
                _ => {
                    let deltas: Vec<Value> =
                        pieces(&text(&item["content"])).map(|it| json!({ "type": "text_delta", "text": it })).collect();
                    (json!({ "type": "text", "text": "" }), deltas)
                }
            };
            events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
            events.extend(
                deltas.into_iter().map(|it| json!({ "type": "content_block_delta", "index": index, "delta": it })),
            );
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        let reason = if has_calls { "tool_use" } else { "end_turn" };
        events.push(json!({
            "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": 10 },
        }));
        events.push(json!({ "type": "message_stop" }));
        Self::events(events)
    }
}

/// The texts of a list of parts, joined.
fn text(parts: &Value) -> String {
    parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
}

fn pieces(text: &str) -> impl Iterator<Item = String> + use<> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
