//! Contents as the conventions write them: messages of parts, as JSON, within a limit.
//!
//! Not here: what counts as a secret, and whether contents are exported at all.

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ReasoningSummaryPart;
use pellucid_protocol::item::ToolOutput;
use serde_json::Value;
use serde_json::json;

use crate::observer::Blanks;

/// How many bytes of contents an attribute has at most.
pub const CONTENT_BYTES_MAX: usize = 64 << 10;

/// The newest messages that fit into the limit, without secrets, as JSON, and how many bytes of older ones were left out.
pub fn messages(items: &[Item], blanks: &dyn Blanks) -> (String, usize) {
    let mut kept: Vec<String> = Vec::new();
    let (mut n_kept, mut omitted) = (0, 0);
    for message in items.iter().rev().filter_map(|item| message(item, blanks)).map(|it| it.to_string()) {
        if omitted == 0 && n_kept + message.len() < CONTENT_BYTES_MAX {
            n_kept += message.len() + 1;
            kept.push(message);
        } else {
            omitted += message.len();
        }
    }
    kept.reverse();
    (format!("[{}]", kept.join(",")), omitted)
}

/// Instructions as JSON, cut at the limit, and how many bytes were cut off.
pub fn instructions(text: &str) -> (String, usize) {
    let (kept, omitted) = cut(text);
    (json!([{ "type": "text", "content": kept }]).to_string(), omitted)
}

/// The beginning of a text that fits into the limit, and how many bytes were cut off.
pub fn cut(text: &str) -> (&str, usize) {
    let mut end = text.len().min(CONTENT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], text.len() - end)
}

/// The texts of an output of a tool.
pub fn output_text(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Text(text) => text.clone(),
        ToolOutput::Parts(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => Some(text.as_str()),
                ContentPart::InputImage { .. } => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

fn message(item: &Item, blanks: &dyn Blanks) -> Option<Value> {
    let call = |id: &str, name: &str, arguments: &str| {
        let arguments = blanks.blanked(arguments);
        let parts = json!([{ "type": "tool_call", "id": id, "name": name, "arguments": arguments }]);
        json!({ "role": "assistant", "parts": parts })
    };
    let response = |id: &str, output: &str| {
        let part = json!({ "type": "tool_call_response", "id": id, "response": blanks.blanked(output) });
        json!({ "role": "tool", "parts": [part] })
    };
    Some(match item {
        Item::Message { role, content, .. } => {
            let parts: Vec<Value> = content.iter().map(|it| part(it, blanks)).collect();
            json!({ "role": role, "parts": parts })
        }
        Item::Reasoning { summary, .. } => {
            let parts: Vec<Value> = summary
                .iter()
                .map(|ReasoningSummaryPart::SummaryText { text }| {
                    json!({ "type": "reasoning", "content": blanks.blanked(text) })
                })
                .collect();
            json!({ "role": "assistant", "parts": parts })
        }
        Item::FunctionCall { name, arguments, call_id, .. } => call(call_id, name, arguments),
        Item::CustomToolCall { name, input, call_id, .. } => call(call_id, name, input),
        Item::FunctionCallOutput { call_id, output } => response(call_id, &output_text(output)),
        Item::CustomToolCallOutput { call_id, output } => response(call_id, output),
        _ => return None,
    })
}

fn part(part: &ContentPart, blanks: &dyn Blanks) -> Value {
    match part {
        ContentPart::InputText { text } | ContentPart::OutputText { text } => {
            json!({ "type": "text", "content": blanks.blanked(text) })
        }
        // The bytes of an image are no text that a person reads in a backend.
        ContentPart::InputImage { .. } => json!({ "type": "uri", "modality": "image" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blanks one word.
    #[derive(Debug)]
    struct Word;

    impl Blanks for Word {
        fn blanked(&self, text: &str) -> String {
            text.replace("hunter2", "***")
        }
    }

    fn said(text: &str) -> Item {
        let content = vec![ContentPart::InputText { text: text.to_owned() }];
        Item::Message { id: None, role: "user".to_owned(), content, end_turn: None, phase: None }
    }

    #[test]
    fn the_newest_messages_are_kept_and_the_rest_is_counted() {
        let long = "x".repeat(CONTENT_BYTES_MAX / 2);
        let (text, omitted) = messages(&[said("first"), said(&long), said(&long), said("last hunter2")], &Word);
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed.as_array().map(Vec::len), Some(2));
        assert_eq!(parsed[1]["parts"][0]["content"], "last ***");
        assert!(text.len() < CONTENT_BYTES_MAX + 2 && omitted > long.len(), "{omitted}");
        assert_eq!(messages(&[], &Word), ("[]".to_owned(), 0));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = format!("a{}", "é".repeat(CONTENT_BYTES_MAX / 2));
        let (kept, omitted) = cut(&text);
        assert_eq!((kept.len(), omitted), (CONTENT_BYTES_MAX - 1, 2));
    }
}
