//! What people see of each kind of item.

use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use super::*;

fn shown(json: &Value) -> String {
    let item: Item = serde_json::from_value(json.clone()).unwrap();
    let visible = visible(&item, || "fresh".to_owned());
    visible.map_or_else(|| "-".to_owned(), |it| serde_json::to_string(&it).unwrap())
}

#[test]
fn what_the_model_said_thought_and_searched_is_seen() {
    let all = [
        json!({ "type": "message", "role": "assistant", "id": "m", "phase": "commentary", "content": [
            { "type": "output_text", "text": "a" }, { "type": "input_text", "text": "x" }, { "type": "output_text", "text": "b" } ] }),
        json!({ "type": "message", "role": "assistant", "content": [] }),
        json!({ "type": "reasoning", "id": "r", "summary": [{ "type": "summary_text", "text": "s" }], "content": [
            { "type": "reasoning_text", "text": "t" }, { "type": "text", "text": "u" } ] }),
        json!({ "type": "reasoning", "summary": [] }),
        json!({ "type": "web_search_call", "id": "w", "action": { "type": "search", "query": "q" } }),
        json!({ "type": "web_search_call" }),
    ];
    let lines: Vec<String> = all.iter().map(shown).collect();
    expect![[r#"
        {"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"a"},{"type":"Text","text":"b"}],"phase":"commentary"}
        {"type":"AgentMessage","id":"fresh","content":[]}
        {"type":"Reasoning","id":"r","summary_text":["s"],"raw_content":["t","u"]}
        {"type":"Reasoning","id":"fresh","summary_text":[],"raw_content":[]}
        {"type":"WebSearch","id":"w","query":"q","action":{"type":"search","query":"q"}}
        {"type":"WebSearch","id":"","query":"","action":{"type":"other"}}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn other_items_are_not_seen() {
    for json in [
        json!({ "type": "message", "role": "user", "content": [] }),
        json!({ "type": "message", "role": "developer", "content": [] }),
        json!({ "type": "function_call", "name": "n", "arguments": "{}", "call_id": "c" }),
        json!({ "type": "function_call_output", "call_id": "c", "output": "o" }),
        json!({ "type": "compaction", "encrypted_content": "e" }),
        json!({ "type": "telepathy" }),
    ] {
        assert_eq!(shown(&json), "-", "{json}");
    }
}

#[test]
fn a_search_is_named_by_what_it_looked_for() {
    let detail = |action: Value| {
        let item = json!({ "type": "web_search_call", "action": action });
        match visible(&serde_json::from_value(item).unwrap(), String::new) {
            Some(TurnItem::WebSearch { query, .. }) => query,
            other => panic!("{other:?}"),
        }
    };
    for (action, expected) in [
        (json!({ "type": "search", "query": "q", "queries": ["a", "b"] }), "q"),
        (json!({ "type": "search", "query": "", "queries": ["a", "b"] }), "a ..."),
        (json!({ "type": "search", "queries": ["", "b"] }), ""),
        (json!({ "type": "search", "queries": ["a"] }), "a"),
        (json!({ "type": "search", "queries": [] }), ""),
        (json!({ "type": "search" }), ""),
        (json!({ "type": "open_page", "url": "u" }), "u"),
        (json!({ "type": "open_page" }), ""),
        (json!({ "type": "find_in_page", "url": "u", "pattern": "p" }), "'p' in u"),
        (json!({ "type": "find_in_page", "pattern": "p" }), "'p'"),
        (json!({ "type": "find_in_page", "url": "u" }), "u"),
        (json!({ "type": "find_in_page" }), ""),
        (json!({ "type": "dream" }), ""),
    ] {
        assert_eq!(detail(action.clone()), expected, "{action}");
    }
}

#[test]
fn only_texts_of_the_model_are_what_it_said() {
    let parts = |role: &str| {
        let part = |text: &str| ContentPart::OutputText { text: text.to_owned() };
        Item::message(role, vec![part("a"), ContentPart::InputText { text: "x".to_owned() }, part("b")])
    };
    assert_eq!((said(&parts("assistant")).as_deref(), said(&parts("user"))), (Some("ab"), None));
    assert_eq!(said(&Item::message("assistant", Vec::new())).as_deref(), Some(""));
}
