//! Tools that others describe: the bytes do not depend on the order in which they come.

use expect_test::expect;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::OutsideTools;
use pellucid_engine::fragment::Why;
use pellucid_engine::mcp::offered;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::tool_list::given;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::mcp::McpTool;
use proptest::prelude::*;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::facts;
use crate::pack;

/// What servers and clients give, in the order in which they give it.
#[derive(Debug, Clone)]
struct Given {
    servers: Vec<(String, Vec<Vec<String>>)>,
    clients: Vec<Vec<String>>,
}

/// The schema of a tool with these arguments, all of them required in this order.
fn schema(arguments: &[String]) -> Value {
    let property = json!({ "enum": ["b", "a"], "type": "string" });
    let properties: Map<String, Value> = arguments.iter().map(|name| (name.clone(), property.clone())).collect();
    json!({ "required": arguments, "type": "object", "properties": properties })
}

/// A tool's name, which its arguments decide.
fn name(arguments: &[String]) -> String {
    let mut sorted = arguments.to_vec();
    sorted.sort();
    format!("t_{}", sorted.join("_"))
}

impl Given {
    fn facts(&self) -> Facts {
        let tool = |arguments: &Vec<String>| -> McpTool {
            serde_json::from_value(json!({ "name": name(arguments), "inputSchema": schema(arguments) })).unwrap()
        };
        let servers: Vec<(String, Vec<McpTool>)> =
            self.servers.iter().map(|(server, tools)| (server.clone(), tools.iter().map(tool).collect())).collect();
        let dynamic = |arguments: &Vec<String>| DynamicTool {
            name: name(arguments),
            description: "A tool.".to_owned(),
            input_schema: schema(arguments),
        };
        let tools = OutsideTools {
            mcp_tools: offered(&servers).into(),
            dynamic_tools: self.clients.iter().map(dynamic).collect(),
            ..OutsideTools::default()
        };
        Facts { tools, ..facts() }
    }
}

fn canonical() -> Pack {
    let layout = "name = \"mine\"\nfrom = \"codex\"\n[given_tools]\nform = \"canonical\"\n";
    Pack::load_user(&PackFiles::from([("pack.toml".to_owned(), layout.to_owned())]), "/packs/mine").unwrap()
}

/// The tools as a request has them.
fn shown(pack: &Pack, facts: &Facts) -> Vec<String> {
    let (tools, omissions) = given(pack, facts);
    assert_eq!(omissions, []);
    let written = |schema| serde_json::to_string(schema).unwrap();
    tools.iter().map(|tool| format!("{} {}", tool.name, written(&tool.schema))).collect()
}

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_layout_may_ask_for_one_order() {
    let given = Given {
        servers: vec![("yard".to_owned(), vec![names(&["z", "a"])]), ("depot".to_owned(), vec![names(&["b"])])],
        clients: vec![names(&["y", "x"]), names(&["c"])],
    };
    let as_given = expect![[r#"
        mcp__depot__t_b {"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}
        mcp__yard__t_a_z {"type":"object","properties":{"a":{"type":"string"},"z":{"type":"string"}},"required":["z","a"]}
        t_x_y {"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["y","x"]}
        t_c {"type":"object","properties":{"c":{"type":"string"}},"required":["c"]}"#]];
    as_given.assert_eq(&shown(pack(), &given.facts()).join("\n"));
    let sorted = expect![[r#"
        mcp__depot__t_b {"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}
        mcp__yard__t_a_z {"type":"object","properties":{"a":{"type":"string"},"z":{"type":"string"}},"required":["a","z"]}
        t_c {"type":"object","properties":{"c":{"type":"string"}},"required":["c"]}
        t_x_y {"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x","y"]}"#]];
    sorted.assert_eq(&shown(&canonical(), &given.facts()).join("\n"));
}

#[test]
fn a_layout_may_write_schemas_as_their_servers_did() {
    let layout = "name = \"mine\"\nfrom = \"codex\"\n[given_tools]\nschemas = \"whole\"\n";
    let files = PackFiles::from([("pack.toml".to_owned(), layout.to_owned())]);
    let whole = Pack::load_user(&files, "/packs/mine").unwrap();
    let schema = json!({
        "type": "object",
        "properties": { "b": { "$ref": "https://x/y", "minimum": 1 }, "a": { "anyOf": [{ "type": "null" }, { "const": 1 }] } },
        "$defs": { "z": true },
    });
    let with = |schema: Value| {
        let tool: McpTool = serde_json::from_value(json!({ "name": "t", "inputSchema": schema })).unwrap();
        let mcp_tools = offered(&[("s".to_owned(), vec![tool])]).into();
        Facts { tools: OutsideTools { mcp_tools, ..OutsideTools::default() }, ..facts() }
    };
    expect![[r#"mcp__s__t {"$defs":{"z":true},"properties":{"a":{"anyOf":[{"type":"null"},{"const":1}]},"b":{"$ref":"https://x/y","minimum":1}},"type":"object"}"#]]
        .assert_eq(&shown(&whole, &with(schema)).join("\n"));
    let large = json!({ "type": "object", "properties": {}, "description": "x".repeat(64 * 1024) });
    let (tools, omissions) = given(&whole, &with(large));
    assert_eq!(tools, []);
    expect!["mcp__s__t: its schema has 65586 bytes, and the limit is 65536"].assert_eq(&match &omissions[0].why {
        Why::Unusable { error } => format!("{}: {error}", omissions[0].what),
        other => format!("{other:?}"),
    });
}

fn any_tools() -> impl Strategy<Value = Vec<Vec<String>>> {
    let arguments = prop::collection::btree_set("[a-d]", 1..4).prop_map(|names| names.into_iter().collect::<Vec<_>>());
    prop::collection::btree_set(arguments, 0..4).prop_map(|tools| tools.into_iter().collect())
}

/// The same things in two orders: all of it, and all but the names that are required.
fn any_given() -> impl Strategy<Value = (Given, Given)> {
    let servers = prop::collection::btree_map("[a-c]", any_tools(), 0..3);
    let sorted =
        (servers, any_tools()).prop_map(|(servers, clients)| Given { servers: servers.into_iter().collect(), clients });
    sorted.prop_flat_map(|given| {
        let shuffled = |tools: Vec<Vec<String>>| {
            let tools: Vec<_> = tools.into_iter().map(|it| Just(it).prop_shuffle()).collect();
            tools.prop_flat_map(|tools| Just(tools).prop_shuffle())
        };
        let of_server = |(name, tools): (String, Vec<Vec<String>>)| (Just(name), shuffled(tools));
        let servers: Vec<_> = given.servers.clone().into_iter().map(of_server).collect();
        let servers = servers.prop_flat_map(|servers| Just(servers).prop_shuffle());
        let other = (servers, shuffled(given.clients.clone()));
        (Just(given), other.prop_map(|(servers, clients)| Given { servers, clients }))
    })
}

proptest! {
    #[test]
    fn the_order_of_servers_and_their_tools_does_not_show((one, other) in any_given()) {
        prop_assert_eq!(shown(&canonical(), &one.facts()), shown(&canonical(), &other.facts()));
        // As the Codex CLI has it, the order of tools of servers does not show either.
        let names = |given: &Given| -> Vec<String> {
            let facts = given.facts();
            facts.tools.mcp_tools.iter().map(|tool| tool.name.clone()).collect()
        };
        prop_assert_eq!(names(&one), names(&other));
    }
}
