//! The callable tools are those that the request offers.

use std::collections::BTreeSet;

use pellucid_engine::facts::Facts;
use pellucid_engine::facts::OutsideTools;
use pellucid_engine::mcp::offered;
use pellucid_engine::request::WireSettings;
use pellucid_engine::tool_list::callable;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::model::ApplyPatchType;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::McpOffer;
use serde_json::Value;
use serde_json::json;

use crate::facts;
use crate::pack;
use crate::requests::body;
use crate::requests::session;
use crate::session_id;

/// Tools of servers and clients, one of each with a schema that cannot be offered.
fn given() -> Facts {
    let tool = |name: &str, schema: Value| -> McpTool {
        serde_json::from_value(json!({ "name": name, "inputSchema": schema })).unwrap()
    };
    let dynamic = |name: &str, input_schema: Value| DynamicTool {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        input_schema,
    };
    let (good, bad) = (json!({ "type": "object" }), json!({ "type": "object", "required": [1] }));
    let tools = vec![tool("good", good.clone()), tool("bad", bad.clone())];
    let tools = OutsideTools {
        mcp_tools: offered(&[("s".to_owned(), tools)]).into(),
        dynamic_tools: vec![dynamic("mine", good), dynamic("wrong", bad)],
        has_mcp_servers: true,
        ..OutsideTools::default()
    };
    Facts { tools, ..facts() }
}

/// The names of the tools in a request.
fn in_request(facts: &Facts, wire: WireApi) -> BTreeSet<String> {
    let settings = WireSettings { wire, ..WireSettings::new(session_id()) };
    let body: Value = serde_json::from_slice(&body(&mut session(facts, &settings, "Hello."))).unwrap();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| -> String {
        let name = [&tool["name"], &tool["function"]["name"], &tool["type"]].into_iter().find_map(Value::as_str);
        name.unwrap().to_owned()
    };
    tools.iter().map(name).collect()
}

#[track_caller]
fn check(facts: &Facts) {
    for wire in [WireApi::Responses, WireApi::Chat, WireApi::Messages] {
        let callable = callable(pack(), facts, wire);
        let names = callable.tools.iter().map(|tool| tool.file.name.clone()).chain(callable.given);
        let direct = names.filter(|name| callable.only.as_ref().is_none_or(|only| only.contains(name)));
        assert_eq!(direct.collect::<BTreeSet<_>>(), in_request(facts, wire), "{wire}");
    }
}

#[test]
fn what_can_be_called_is_what_the_request_offers() {
    let facts = given();
    check(&facts);
    assert!(in_request(&facts, WireApi::Responses).contains("mcp__s__good"));
    let mut deferred = facts.clone();
    deferred.tools.mcp_offers.all = Some(McpOffer::Deferred);
    check(&deferred);
    for &feature in Feature::ALL {
        let mut flipped = facts.clone();
        flipped.settings.features.set(feature, !flipped.settings.features.is_on(feature));
        check(&flipped);
    }
    for shell in
        [ShellType::Default, ShellType::Local, ShellType::UnifiedExec, ShellType::ShellCommand, ShellType::Disabled]
    {
        for patch in [None, Some(ApplyPatchType::Freeform), Some(ApplyPatchType::Function)] {
            let mut other = facts.clone();
            other.settings.model.shell_type = shell;
            other.settings.model.apply_patch_tool_type = patch;
            check(&other);
        }
    }
}

#[test]
fn a_tool_with_a_schema_that_cannot_be_offered_cannot_be_called() {
    let facts = given();
    let callable = callable(pack(), &facts, WireApi::Responses);
    assert_eq!(callable.given, ["mcp__s__good", "mine"]);
}
