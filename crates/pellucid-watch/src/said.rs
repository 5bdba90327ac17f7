//! The conversation in the form of a session file, for people: messages, calls and outputs of every API format.
//!
//! A session file has the items of the Responses format. Items of other formats are translated; what has no counterpart, such
//! as an image, is left out here and is in the record as it was sent.

use pellucid_engine::watched::WatchedFormat;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use serde_json::Value;

/// What an item of a request says.
pub fn items(format: WatchedFormat, item: &Value) -> Vec<Item> {
    match format {
        WatchedFormat::Responses => of_responses(item).into_iter().collect(),
        WatchedFormat::Chat => of_chat(item),
        WatchedFormat::Messages => of_messages(item),
        WatchedFormat::Gemini => of_gemini(item),
        WatchedFormat::Raw => Vec::new(),
    }
}

/// Whether the model made an item.
pub fn is_models(item: &Item) -> bool {
    match item {
        Item::Message { role, .. } => role == "assistant",
        Item::FunctionCallOutput { .. } | Item::CustomToolCallOutput { .. } => false,
        _ => true,
    }
}

/// The text of a message of a person, as far as its form shows it: no tag encloses it.
pub fn said_by_person(item: &Item) -> Option<String> {
    let Item::Message { role, content, .. } = item else {
        return None;
    };
    let texts = content.iter().filter_map(|part| match part {
        ContentPart::InputText { text } => Some(text.as_str()),
        _ => None,
    });
    let text = texts.filter(|text| !is_programs(text)).collect::<Vec<_>>().join("\n");
    (role == "user" && !text.trim().is_empty()).then_some(text)
}

fn is_programs(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('<') || text.starts_with("# AGENTS.md instructions")
}

fn of_responses(item: &Value) -> Option<Item> {
    if item.get("type").is_none() && item.get("role").is_some() {
        return Some(Item::text(item["role"].as_str()?, text(&item["content"])));
    }
    match serde_json::from_value(item.clone()) {
        Ok(Item::Other) | Err(_) => None,
        Ok(item) => Some(item),
    }
}

fn call(id: &Value, name: &Value, arguments: String) -> Item {
    Item::FunctionCall {
        id: None,
        name: name.as_str().unwrap_or_default().to_owned(),
        arguments,
        call_id: id.as_str().unwrap_or_default().to_owned(),
    }
}

fn output(id: &Value, content: &Value) -> Item {
    let call_id = id.as_str().unwrap_or_default().to_owned();
    Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text(content)) }
}

fn of_chat(message: &Value) -> Vec<Item> {
    let role = message["role"].as_str().unwrap_or_default();
    if matches!(role, "tool" | "function") {
        return vec![output(&message["tool_call_id"], &message["content"])];
    }
    let said = text(&message["content"]);
    let mut items: Vec<Item> = (!said.is_empty()).then(|| Item::text(role, said)).into_iter().collect();
    for made in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &made["function"];
        let arguments = function["arguments"].as_str().unwrap_or_default().to_owned();
        items.push(call(&made["id"], &function["name"], arguments));
    }
    items
}

fn of_messages(message: &Value) -> Vec<Item> {
    let role = message["role"].as_str().unwrap_or_default();
    let Some(blocks) = message["content"].as_array() else {
        return vec![Item::text(role, text(&message["content"]))];
    };
    let item = |block: &Value| match block["type"].as_str()? {
        "text" => Some(Item::text(role, block["text"].as_str()?)),
        "tool_use" => Some(call(&block["id"], &block["name"], block["input"].to_string())),
        "tool_result" => Some(output(&block["tool_use_id"], &block["content"])),
        _ => None,
    };
    blocks.iter().filter_map(item).collect()
}

fn of_gemini(content: &Value) -> Vec<Item> {
    let role = if content["role"].as_str() == Some("model") { "assistant" } else { "user" };
    let item = |part: &Value| {
        let (made, answered) = (&part["functionCall"], &part["functionResponse"]);
        // Calls have no ids of their own in this format; a call and its output share the tool's name.
        let id = |value: &Value| if value["id"].is_string() { value["id"].clone() } else { value["name"].clone() };
        if made.is_object() {
            Some(call(&id(made), &made["name"], made["args"].to_string()))
        } else if answered.is_object() {
            Some(output(&id(answered), &answered["response"]))
        } else {
            Some(Item::text(role, part["text"].as_str().filter(|_| part["thought"] != Value::Bool(true))?))
        }
    };
    content["parts"].as_array().into_iter().flatten().filter_map(item).collect()
}

/// The texts of a value that is a text, a list of blocks, or something else in JSON.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_items(format: WatchedFormat, item: &Value, expected: &Value) {
        let items: Vec<Value> = items(format, item).iter().map(|it| serde_json::to_value(it).unwrap()).collect();
        assert_eq!(Value::Array(items), *expected);
    }

    #[test]
    fn items_of_every_format_become_those_of_a_session_file() {
        let said = |role: &str, kind: &str, text: &str| json!({"type":"message","role":role,"content":[{"type":kind,"text":text}]});
        let called = json!({"type":"function_call","name":"ls","arguments":"{\"a\":1}","call_id":"c"});
        let answered = json!({"type":"function_call_output","call_id":"c","output":"out"});
        check_items(
            WatchedFormat::Responses,
            &said("user", "input_text", "hi"),
            &json!([said("user", "input_text", "hi")]),
        );
        check_items(
            WatchedFormat::Responses,
            &json!({"role":"user","content":"hi"}),
            &json!([said("user", "input_text", "hi")]),
        );
        check_items(WatchedFormat::Responses, &json!({"type":"hologram"}), &json!([]));
        check_items(
            WatchedFormat::Chat,
            &json!({"role":"assistant","content":"ok","tool_calls":[{"id":"c","function":{"name":"ls","arguments":"{\"a\":1}"}}]}),
            &json!([said("assistant", "output_text", "ok"), called]),
        );
        check_items(
            WatchedFormat::Chat,
            &json!({"role":"tool","tool_call_id":"c","content":"out"}),
            &json!([answered]),
        );
        check_items(
            WatchedFormat::Messages,
            &json!({"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"c","name":"ls","input":{"a":1}},{"type":"thinking","thinking":"x"}]}),
            &json!([said("assistant", "output_text", "ok"), called]),
        );
        check_items(
            WatchedFormat::Messages,
            &json!({"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"out"}]}]}),
            &json!([answered]),
        );
        check_items(
            WatchedFormat::Gemini,
            &json!({"role":"model","parts":[{"text":"ok"},{"functionCall":{"id":"c","name":"ls","args":{"a":1}}}]}),
            &json!([said("assistant", "output_text", "ok"), called]),
        );
    }
}
