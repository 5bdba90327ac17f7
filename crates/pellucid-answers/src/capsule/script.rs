//! The answers of a session as a script for the embedded model, so that a conversation can be played again without a
//! network.

use pellucid_engine::pack::Pack;
use serde_json::Value;
use serde_json::json;

/// The kinds of items that a model makes, besides its messages.
const OF_MODEL: [&str; 5] = ["reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"];

/// A script (JSON Lines) with one reply for each answer and each summary in a session file, in order.
pub fn script(session: &str) -> String {
    let mut replies: Vec<Value> = Vec::new();
    let mut is_open = false;
    for line in session.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let payload = &line["payload"];
        match line["type"].as_str() {
            Some("response_item") if is_of_model(payload) => {
                if !is_open {
                    replies.push(json!({ "items": [] }));
                }
                is_open = true;
                let mut item = payload.clone();
                if let Some(table) = item.as_object_mut() {
                    table.shift_remove("id");
                }
                if let Some(items) = replies.last_mut().and_then(|reply| reply["items"].as_array_mut()) {
                    items.push(item);
                }
            }
            Some("response_item" | "turn_context") => is_open = false,
            Some("compacted") => {
                is_open = false;
                replies.push(summary(payload));
            }
            Some("event_msg") if payload["type"] == "token_count" => {
                let usage = &payload["info"]["last_token_usage"];
                if let (Some(last), true) = (replies.last_mut(), usage.is_object())
                    && last.get("items").is_some()
                    && last.get("usage").is_none()
                {
                    last["usage"] = json!({
                        "input": usage["input_tokens"], "cached": usage["cached_input_tokens"],
                        "output": usage["output_tokens"], "reasoning": usage["reasoning_output_tokens"],
                    });
                }
            }
            _ => {}
        }
    }
    replies.iter().map(|reply| format!("{reply}\n")).collect()
}

fn is_of_model(item: &Value) -> bool {
    let kind = item["type"].as_str().unwrap_or_default();
    (kind == "message" && item["role"] == "assistant") || OF_MODEL.contains(&kind)
}

/// The reply that a summary was: the text behind what packs put before it, or the items of the provider.
fn summary(compacted: &Value) -> Value {
    if compacted["replacement_history"].is_array() {
        return json!({ "compact": compacted["replacement_history"] });
    }
    let text = compacted["message"].as_str().unwrap_or_default();
    let packs = Pack::builtin_names().into_iter().filter_map(Pack::builtin_files);
    let before: Vec<String> = packs.flat_map(|files| files.into_values().collect::<Vec<_>>()).collect();
    let behind = |before: &String| text.strip_prefix(before.trim()).filter(|_| !before.trim().is_empty());
    let text = before.iter().find_map(behind).map_or(text, |rest| rest.strip_prefix('\n').unwrap_or(rest));
    json!({ "items": [{ "say": text }] })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_answer_and_each_summary_is_a_reply() {
        let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
        let said = |role: &str, text: &str| {
            item(
                json!({ "type": "message", "id": "m", "role": role, "content": [{ "type": "output_text", "text": text }] }),
            )
        };
        let count = json!({ "type": "event_msg", "payload": { "type": "token_count", "info": { "last_token_usage": {
            "input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2, "reasoning_output_tokens": 1 } } } });
        let lines = [
            said("user", "hi"),
            json!({ "type": "turn_context", "payload": {} }),
            said("assistant", "one"),
            item(json!({ "type": "function_call", "name": "x", "arguments": "{}", "call_id": "c" })),
            count.clone(),
            count,
            item(json!({ "type": "function_call_output", "call_id": "c", "output": "o" })),
            said("assistant", "two"),
            json!({ "type": "compacted", "payload": { "message": "all of it" } }),
            said("assistant", "three"),
        ];
        let session: String = lines.iter().map(|line| format!("{line}\n")).collect();
        expect![[r#"
            {"items":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]},{"type":"function_call","name":"x","arguments":"{}","call_id":"c"}],"usage":{"input":10,"cached":4,"output":2,"reasoning":1}}
            {"items":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}]}
            {"items":[{"say":"all of it"}]}
            {"items":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"three"}]}]}
        "#]]
        .assert_eq(&script(&session));
        assert_eq!(script("{\"torn"), "");
    }
}
