//! Tools of servers that are offered by name: which they are, what the request has of them, and that each can be found.

use std::collections::BTreeSet;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::deferred::DeferredTools;
use pellucid_engine::deferred::list;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::concat;
use pellucid_engine::mcp::offered;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_engine::tool_list::callable;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::McpOffer;
use serde_json::Value;
use serde_json::json;

use crate::facts;
use crate::requests::body;
use crate::requests::session_with;
use crate::session_id;

const WIRES: [WireApi; 3] = [WireApi::Responses, WireApi::Chat, WireApi::Messages];

fn tool(name: &str, description: &str) -> McpTool {
    let properties = json!({ "path": { "type": "string", "description": "Where to look." } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["path"] });
    serde_json::from_value(json!({ "name": name, "description": description, "inputSchema": schema })).unwrap()
}

/// Facts with these servers.
fn with_servers(servers: &[(String, Vec<McpTool>)]) -> Facts {
    let mut facts = facts();
    facts.tools.has_mcp_servers = true;
    facts.tools.mcp_tools = offered(servers).into();
    facts
}

/// Two servers with three tools.
fn two_servers() -> Facts {
    let depot = vec![tool("store", "Stores a thing. It stays."), tool("load.all", "Loads\nall things.")];
    with_servers(&[("depot".to_owned(), depot), ("yard".to_owned(), vec![tool("open", "")])])
}

/// A server with so many tools, each with a long description, beside one with few.
fn many(n: usize) -> Facts {
    let purpose = "Looks up the entries of a table of the warehouse. It has pages and filters, and says what is left.";
    let tools = (0..n).map(|n| tool(&format!("look_up_table_{n}"), purpose)).collect();
    with_servers(&[("warehouse".to_owned(), tools), ("yard".to_owned(), vec![tool("open", "Opens the gate.")])])
}

fn pack_with(keys: &str) -> Pack {
    let layout = format!("name = \"mine\"\nfrom = \"codex\"\n[given_tools]\n{keys}\n");
    Pack::load_user(&PackFiles::from([("pack.toml".to_owned(), layout)]), "/packs/mine").unwrap()
}

fn names(pack: &Pack, facts: &Facts) -> Vec<String> {
    DeferredTools::of(pack, facts).iter().map(|it| it.name.to_owned()).collect()
}

#[test]
fn the_layout_defers_and_the_configuration_decides() {
    let (codex, mine) = (Pack::builtin("codex").unwrap(), pack_with("mcp = \"deferred\""));
    let mut facts = two_servers();
    let all = ["depot/load_all", "depot/store", "yard/open"];
    assert_eq!(names(&codex, &facts), [""; 0]);
    assert_eq!(names(&mine, &facts), all);
    facts.tools.mcp_offers.all = Some(McpOffer::Direct);
    assert_eq!(names(&mine, &facts), [""; 0]);
    facts.tools.mcp_offers.all = Some(McpOffer::Deferred);
    assert_eq!(names(&codex, &facts), all);
    facts.tools.mcp_offers.servers.insert("depot".to_owned(), McpOffer::Direct);
    assert_eq!(names(&codex, &facts), ["yard/open"]);
    assert_eq!(callable(&codex, &facts, WireApi::Responses).given, ["mcp__depot__load_all", "mcp__depot__store"]);
}

#[test]
fn a_few_tools_stay_direct() {
    let of = |tokens: usize| pack_with(&format!("mcp = \"deferred\"\ndirect_tokens = {tokens}"));
    let mut facts = two_servers();
    let smallest = (0..1000).find(|tokens| names(&of(*tokens), &facts).is_empty()).unwrap();
    assert!((80..200).contains(&smallest), "{smallest}");
    assert_eq!(names(&of(smallest - 1), &facts).len(), 3);
    // What the configuration decides about does not count.
    facts.tools.mcp_offers.servers.insert("depot".to_owned(), McpOffer::Deferred);
    assert_eq!(names(&of(smallest - 1), &facts), ["depot/load_all", "depot/store"]);
}

#[track_caller]
fn check_list(pack: &Pack, facts: &Facts, expected: &Expect) {
    let list = list(pack, facts);
    let omissions = list.omissions.iter().map(|it| format!("{}: {}\n", it.what, it.why.kind()));
    expected.assert_eq(&format!("{}--\n{}", concat(&list.fragments), omissions.collect::<String>()));
}

#[test]
fn the_list_gives_way_by_degrees() {
    let of = |tokens: usize| pack_with(&format!("mcp = \"deferred\"\nlist_tokens = {tokens}"));
    check_list(
        &of(2000),
        &two_servers(),
        &expect![[r#"
            depot:
            - load_all: Loads
            - store: Stores a thing
            yard:
            - open
            --
            the schemas of the MCP server depot: by_pack
            the schemas of the MCP server yard: by_pack
        "#]],
    );
    check_list(
        &of(12),
        &two_servers(),
        &expect![[r#"
            depot:
            - load_all
            - store
            yard:
            - open
            --
            what the tools do of the MCP server depot: by_pack
            the schemas of the MCP server depot: by_pack
            what the tools do of the MCP server yard: by_pack
            the schemas of the MCP server yard: by_pack
        "#]],
    );
    check_list(
        &of(9),
        &two_servers(),
        &expect![[r#"
            depot:
            depot: 2 more
            yard:
            - open
            --
            mcp__depot__load_all: by_pack
            mcp__depot__store: by_pack
            what the tools do of the MCP server depot: by_pack
            the schemas of the MCP server depot: by_pack
            what the tools do of the MCP server yard: by_pack
            the schemas of the MCP server yard: by_pack
        "#]],
    );
}

#[test]
fn of_three_hundred_tools_nothing_is_lost() {
    let (facts, pack) = (many(300), pack_with("mcp = \"deferred\""));
    let list = list(&pack, &facts);
    let text = concat(&list.fragments);
    assert!(tokens_of_bytes(text.len()) <= 2000, "{}", text.len());
    assert!(text.contains("yard:\n- open\n"), "every server has a share: {text}");
    let listed: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let left_out: BTreeSet<&str> = list.omissions.iter().map(|it| it.what.as_str()).collect();
    let tools = DeferredTools::of(&pack, &facts);
    assert_eq!(tools.iter().count(), 301);
    for it in tools.iter() {
        let is_listed = listed.contains(it.tool.tool.as_str());
        assert_ne!(is_listed, left_out.contains(it.tool.name.as_str()), "{}", it.name);
        assert_eq!(tools.named(it.name).unwrap().tool, it.tool);
        assert_eq!(tools.search(it.name, 1)[0].name, it.name);
    }
    assert!(listed.len() > 200, "{}", listed.len());
}

#[test]
fn a_name_may_be_written_in_several_ways() {
    let pack = pack_with("mcp = \"deferred\"");
    let same = |server: &str| (server.to_owned(), vec![tool("open", ""), tool(&format!("only {server}"), "")]);
    let tools = DeferredTools::of(&pack, &with_servers(&[same("a"), same("b")]));
    let meant = |name: &str| tools.named(name).map(|it| it.name).map_err(|near| near.join(" "));
    for (name, is_meant) in [
        ("a/open", Ok("a/open")),
        (" mcp__b__open ", Ok("b/open")),
        ("only a", Ok("a/only_a")),
        ("a/only a", Ok("a/only_a")),
        ("open", Err("a/open b/open")),
        ("a/opne", Err("a/open b/open")),
        ("weather", Err("")),
    ] {
        assert_eq!(meant(name), is_meant.map_err(str::to_owned), "{name}");
    }
    // Two names that become one.
    let twins = vec![tool(&"x".repeat(60), ""), tool(&format!("{}.", "x".repeat(60)), ""), tool("a.b", "")];
    let tools = DeferredTools::of(&pack, &with_servers(&[("s".to_owned(), twins)]));
    let names: BTreeSet<&str> = tools.iter().map(|it| it.name).collect();
    assert_eq!(names.len(), tools.iter().count());
}

#[test]
fn requests_have_the_names_on_every_wire_and_no_schema() {
    let pack = pack_with("mcp = \"deferred\"");
    for wire in WIRES {
        let settings = WireSettings { wire, ..WireSettings::new(session_id()) };
        let of = |facts: &Facts| -> Value {
            serde_json::from_slice(&body(&mut session_with(&pack, facts, &settings, "Hello."))).unwrap()
        };
        let request = of(&two_servers());
        let tools = request["tools"].as_array().unwrap();
        let function =
            |tool: &Value| if tool["function"].is_object() { tool["function"].clone() } else { tool.clone() };
        let named = |name: &str| tools.iter().map(function).find(|tool| tool["name"] == name);
        let find = named("find_tools").unwrap();
        assert!(
            find["description"]
                .as_str()
                .unwrap()
                .ends_with("depot:\n- load_all: Loads\n- store: Stores a thing\nyard:\n- open\n")
        );
        let call = named("call_tool").unwrap();
        let schema = if wire == WireApi::Messages { &call["input_schema"] } else { &call["parameters"] };
        assert_eq!(
            schema["properties"]["arguments"],
            json!({ "type": "object", "properties": {}, "additionalProperties": true }),
            "{wire}"
        );
        assert!(!request.to_string().contains("mcp__"), "{wire}");
        // Without servers neither tool is there.
        assert!(!of(&facts()).to_string().contains("find_tools"), "{wire}");
    }
}

#[test]
fn a_frame_says_what_is_sent_on_demand() {
    let pack = pack_with("mcp = \"deferred\"");
    for wire in WIRES {
        let settings = WireSettings { wire, ..WireSettings::new(session_id()) };
        let frame = Frame::new(&pack, &two_servers(), &[], &settings);
        let whats: Vec<&str> = frame.omissions().iter().map(|it| it.what.as_str()).collect();
        assert!(whats.contains(&"the schemas of the MCP server depot"), "{wire}: {whats:?}");
        assert!(frame.omissions().iter().all(|it| !it.why.is_loss() || !it.what.contains("MCP")), "{wire}");
    }
}
