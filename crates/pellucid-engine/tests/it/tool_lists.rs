//! The list of tools of every pack on every wire, tools that others run, and what can be called.

use expect_test::expect;
use pellucid_engine::encode::Encoder;
use pellucid_engine::facts::Facts;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::why_text;
use pellucid_engine::tool_list;
use pellucid_engine::tool_list::ToolList;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;
use serde_json::json;

use crate::facts;
use crate::pack;

/// The list as a request has it.
fn encoded(pack: &Pack, facts: &Facts, wire: WireApi) -> Vec<Value> {
    let tools = tool_list::offered(pack, facts);
    let (given, _) = tool_list::given(pack, facts);
    let mut encoder = Encoder::new(&tool_list::part());
    ToolList { tools: &tools, given: &given, pack, facts }.encode(&mut encoder, wire);
    let encoded = encoder.finish();
    assert_eq!(encoded.spans.iter().map(|span| span.len).sum::<usize>(), encoded.bytes.len());
    serde_json::from_slice(&encoded.bytes).unwrap()
}

fn name(tool: &Value) -> String {
    let name = tool["function"]["name"].as_str().or(tool["name"].as_str()).or(tool["type"].as_str());
    name.unwrap().to_owned()
}

/// The schema of a function's parameters on its wire.
fn schema(tool: &Value) -> &Value {
    ["input_schema", "parameters"].iter().find_map(|key| tool.get(*key)).unwrap_or(&tool["function"]["parameters"])
}

fn with_clients_tools(tools: &[(&str, Value)]) -> Facts {
    let mut facts = facts();
    let tool = |(name, schema): &(&str, Value)| json!({ "name": name, "description": "d", "inputSchema": schema });
    facts.tools.dynamic_tools = tools.iter().map(|it| serde_json::from_value(tool(it)).unwrap()).collect();
    facts
}

#[test]
fn every_pack_has_a_list_on_every_wire_with_sorted_properties() {
    for pack in Pack::builtin_names() {
        let pack = Pack::builtin(pack).unwrap();
        for &wire in WireApi::ALL {
            for tool in encoded(&pack, &facts(), wire) {
                let Some(properties) = schema(&tool)["properties"].as_object() else { continue };
                let keys: Vec<&String> = properties.keys().collect();
                assert!(keys.is_sorted(), "{} {}", pack.name, name(&tool));
                let required = schema(&tool)["required"].as_array().cloned().unwrap_or_default();
                let is_there = |it: &Value| properties.contains_key(it.as_str().unwrap());
                assert!(required.iter().all(is_there), "{} {}", pack.name, name(&tool));
            }
        }
    }
}

#[test]
fn the_same_facts_give_the_same_list_in_each_wires_notation() {
    let names = |wire| encoded(pack(), &facts(), wire).iter().map(name).collect::<Vec<_>>().join(" ");
    expect!["exec_command write_stdin update_plan request_user_input apply_patch web_search view_image"]
        .assert_eq(&names(WireApi::Responses));
    let one = |wire| encoded(pack(), &facts(), wire).iter().find(|it| name(it) == "view_image").unwrap().clone();
    let (responses, chat, messages) = (one(WireApi::Responses), one(WireApi::Chat), one(WireApi::Messages));
    assert_eq!(schema(&responses), schema(&chat));
    assert_eq!(schema(&responses), schema(&messages));
    let keys = |tool: &Value| tool.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        [keys(&responses), keys(&chat), keys(&messages)],
        ["type name description strict parameters", "type function", "name description input_schema cache_control"]
    );
}

#[test]
fn tools_of_clients_come_last_and_those_that_no_model_understands_are_omitted() {
    let facts = with_clients_tools(&[
        (
            "zeta",
            json!({ "type": "object", "properties": { "b": {}, "a": { "type": "integer" } }, "required": ["b", "a"] }),
        ),
        ("alpha", json!({ "type": "object", "properties": 7 })),
        ("beta", json!({})),
    ]);
    let (given, omissions) = tool_list::given(pack(), &facts);
    assert_eq!(given.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["zeta", "beta"]);
    let lines: Vec<String> =
        omissions.iter().map(|it| format!("{} {}: {}", it.slot, it.what, why_text(&it.why))).collect();
    expect!["tools alpha: invalid type: integer `7`, expected a map"].assert_eq(&lines.join("\n"));
    let listed = encoded(pack(), &facts, WireApi::Responses);
    expect![[r#"{"type":"function","name":"zeta","description":"d","strict":false,"parameters":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}},"required":["b","a"]}}"#]].assert_eq(&listed[listed.len() - 2].to_string());
    let callable = tool_list::callable(pack(), &facts, WireApi::Responses);
    assert_eq!(callable.given, ["zeta", "beta"]);
}

#[test]
fn what_is_offered_can_be_called_on_every_wire() {
    for pack in Pack::builtin_names() {
        let pack = Pack::builtin(pack).unwrap();
        for &wire in WireApi::ALL {
            let callable = tool_list::callable(&pack, &facts(), wire);
            let names: Vec<&str> = callable.tools.iter().map(|it| it.file.name.as_str()).collect();
            if wire == WireApi::Responses {
                let offered = tool_list::offered(&pack, &facts());
                let offered: Vec<&str> = offered.iter().map(|it| it.file.name.as_str()).collect();
                assert!(offered.iter().all(|it| names.contains(it)), "{}", pack.name);
            }
            let mut once = names.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), names.len(), "{} {wire}: a name is offered once", pack.name);
        }
    }
}

#[test]
fn a_model_that_may_call_only_some_tools_is_offered_only_those() {
    let mut facts = with_clients_tools(&[("beta", json!({}))]);
    facts.settings.features.set(Feature::JsRepl, true);
    facts.settings.features.set(Feature::JsReplToolsOnly, true);
    let listed: Vec<String> = encoded(pack(), &facts, WireApi::Responses).iter().map(name).collect();
    assert_eq!(listed, ["js_repl", "js_repl_reset"]);
    let callable = tool_list::callable(pack(), &facts, WireApi::Responses);
    assert_eq!(callable.only.as_deref(), Some(["js_repl".to_owned(), "js_repl_reset".to_owned()].as_slice()));
    assert_eq!(callable.given, ["beta"], "what the tool itself may call stays");
}

#[test]
fn a_list_of_nothing_is_empty() {
    let facts = facts();
    let list = ToolList { tools: &[], given: &[], pack: pack(), facts: &facts };
    assert!(list.is_empty());
    let mut encoder = Encoder::new(&tool_list::part());
    list.encode(&mut encoder, WireApi::Messages);
    assert_eq!(encoder.finish().bytes, b"[]");
}
