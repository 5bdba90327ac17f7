//! Cutting the output of tools when it is recorded.
//!
//! Tools cut their own text to the model's policy; what is recorded may be a fifth longer, for the
//! notation around it.

use std::borrow::Cow;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use crate::cut::middle::byte_limit;
use crate::cut::middle::truncate_middle;
use crate::tokens::tokens_of_bytes;

/// An item whose output, if it is one, fits the policy.
pub fn cut_output(item: &Item, policy: TruncationPolicy) -> Cow<'_, Item> {
    let policy = with_room(policy);
    match item {
        Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) } => match cut(text, policy) {
            Some(text) => {
                Cow::Owned(Item::FunctionCallOutput { call_id: call_id.clone(), output: ToolOutput::Text(text) })
            }
            None => Cow::Borrowed(item),
        },
        Item::FunctionCallOutput { call_id, output: ToolOutput::Parts(parts) } => {
            let parts = cut_parts(parts, policy);
            Cow::Owned(Item::FunctionCallOutput { call_id: call_id.clone(), output: ToolOutput::Parts(parts) })
        }
        Item::CustomToolCallOutput { call_id, output } => match cut(output, policy) {
            Some(output) => Cow::Owned(Item::CustomToolCallOutput { call_id: call_id.clone(), output }),
            None => Cow::Borrowed(item),
        },
        _ => Cow::Borrowed(item),
    }
}

/// Whether a text of so many bytes stays whole.
pub(crate) fn fits(n_bytes: usize, policy: TruncationPolicy) -> bool {
    let budget = byte_limit(with_room(policy));
    n_bytes == 0 || (budget > 0 && n_bytes <= budget)
}

/// The policy with a fifth on top, rounded up.
fn with_room(policy: TruncationPolicy) -> TruncationPolicy {
    TruncationPolicy {
        limit: policy.limit.saturating_mul(6).div_euclid(5) + i64::from(policy.limit % 5 != 0),
        ..policy
    }
}

fn cut(text: &str, policy: TruncationPolicy) -> Option<String> {
    let cut = truncate_middle(text, policy);
    (cut != text).then_some(cut)
}

/// One budget for all texts, in order; images are kept and cost nothing.
fn cut_parts(parts: &[ContentPart], policy: TruncationPolicy) -> Vec<ContentPart> {
    let mut left = policy.limit.max(0);
    let mut kept = Vec::new();
    let mut n_omitted = 0;
    for part in parts {
        let (ContentPart::InputText { text } | ContentPart::OutputText { text }) = part else {
            kept.push(part.clone());
            continue;
        };
        let cost = match policy.mode {
            TruncationMode::Bytes => text.len(),
            TruncationMode::Tokens => tokens_of_bytes(text.len()),
        };
        let cost = i64::try_from(cost).unwrap_or(i64::MAX);
        if left == 0 {
            n_omitted += 1;
        } else if cost <= left {
            left -= cost;
            kept.push(part.clone());
        } else {
            let text = truncate_middle(text, TruncationPolicy { limit: left, ..policy });
            left = 0;
            if text.is_empty() {
                n_omitted += 1;
            } else {
                kept.push(ContentPart::InputText { text });
            }
        }
    }
    if n_omitted > 0 {
        kept.push(ContentPart::InputText { text: format!("[omitted {n_omitted} text items ...]") });
    }
    kept
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_cut(output: &serde_json::Value, mode: TruncationMode, limit: i64, expected: &Expect) {
        let item = json!({ "type": "function_call_output", "call_id": "c", "output": output });
        let item: Item = serde_json::from_value(item).unwrap();
        let cut = cut_output(&item, TruncationPolicy { mode, limit });
        let value = serde_json::to_value(cut.as_ref()).unwrap();
        expected.assert_eq(&value["output"].to_string());
    }

    #[test]
    fn a_text_may_be_a_fifth_longer() {
        check_cut(&json!("x".repeat(12)), TruncationMode::Bytes, 10, &expect![[r#""xxxxxxxxxxxx""#]]);
        check_cut(
            &json!("x".repeat(13)),
            TruncationMode::Bytes,
            10,
            &expect![[r#""xxxxxx…1 chars truncated…xxxxxx""#]],
        );
        check_cut(&json!("x".repeat(9)), TruncationMode::Tokens, 1, &expect![[r#""xxxx…1 tokens truncated…xxxx""#]]);
    }

    #[test]
    fn parts_share_one_budget_and_images_are_free() {
        let text = |text: &str| json!({ "type": "input_text", "text": text });
        let image = json!({ "type": "input_image", "image_url": "u" });
        check_cut(
            &json!([text("abcd"), image, text("efghijklmnop"), text("later"), image, text("last")]),
            TruncationMode::Bytes,
            10,
            &expect![[
                r#"[{"type":"input_text","text":"abcd"},{"type":"input_image","image_url":"u"},{"type":"input_text","text":"efgh…4 chars truncated…mnop"},{"type":"input_image","image_url":"u"},{"type":"input_text","text":"[omitted 2 text items ...]"}]"#
            ]],
        );
    }

    #[test]
    fn only_outputs_are_cut() {
        let policy = TruncationPolicy { mode: TruncationMode::Bytes, limit: 1 };
        for json in [
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "long text" }] }),
            json!({ "type": "function_call", "name": "n", "arguments": "long text", "call_id": "c" }),
            json!({ "type": "custom_tool_call", "call_id": "c", "name": "n", "input": "long text" }),
            json!({ "type": "reasoning", "summary": [], "encrypted_content": "long text" }),
        ] {
            let item: Item = serde_json::from_value(json).unwrap();
            assert_eq!(cut_output(&item, policy).as_ref(), &item);
        }
        let custom: Item =
            serde_json::from_value(json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "long text" }))
                .unwrap();
        let cut = serde_json::to_value(cut_output(&custom, policy).as_ref()).unwrap();
        assert_eq!(cut["output"], "l…7 chars truncated…t");
    }

    #[test]
    fn a_text_that_fits_is_left_as_it_is_and_one_that_does_not_is_cut() {
        for mode in [TruncationMode::Bytes, TruncationMode::Tokens] {
            for limit in [0, 1, 4, 5, 6, 100, i64::MAX] {
                let policy = TruncationPolicy { mode, limit };
                for n in 0..40 {
                    let item = Item::CustomToolCallOutput { call_id: "c".to_owned(), output: "x".repeat(n) };
                    let is_same = *cut_output(&item, policy) == item;
                    assert_eq!(is_same, fits(n, policy), "{n} bytes, {policy:?}");
                }
            }
        }
    }
}
