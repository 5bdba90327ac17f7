//! Tools of MCP servers: how the model calls them, and what it sees of their answers.
//!
//! Names of servers and tools are free; those that models may call are not. A name that does not fit is
//! cleaned, one that is too long ends in a hash, and one that is taken already is left out.
//!
//! Not here: servers. What they say arrives as values.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write;

use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::number;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use sha1::Digest;
use sha1::Sha1;

use crate::approval::app::Risk;
use crate::apps::ToolApp;

/// The prefix of the names of all these tools.
pub const PREFIX: &str = "mcp__";

/// The longest name that a model may call.
const NAME_MAX: usize = 64;

/// The number of characters of a long name that are kept before its hash.
const NAME_HEAD: usize = 24;

/// The text in place of an image, for a model that cannot see images.
const IMAGE_OMITTED: &str = "<image content omitted because you do not support image input>";

/// A tool of an MCP server that is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTool {
    /// The name for the model.
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The name of the tool on the server.
    pub tool: String,
    /// The description for the model.
    pub description: String,
    /// A JSON schema of its arguments.
    pub input_schema: Value,
    /// The name for people, if the server gives one.
    pub title: Option<String>,
    /// What the server says that a call may do, if a person is to be asked about it.
    pub risk: Option<Risk>,
    /// The connected app that the tool belongs to.
    pub app: Option<ToolApp>,
}

/// The tools of a server that are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// These alone, or all.
    pub enabled: Option<BTreeSet<String>>,
    /// But none of these.
    pub disabled: BTreeSet<String>,
}

impl ToolFilter {
    /// Whether a tool is offered.
    pub fn allows(&self, tool: &str) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled.contains(tool)) && !self.disabled.contains(tool)
    }
}

/// Whether a server can have this name.
pub fn is_server_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain)
}

/// The tools of all servers, each server with its name, sorted by the names that models call.
pub fn offered(servers: &[(String, Vec<McpTool>)]) -> Vec<ServerTool> {
    let (mut raw_names, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mut tools = Vec::new();
    for (server, tool) in servers.iter().flat_map(|(server, tools)| tools.iter().map(move |tool| (server, tool))) {
        let raw = format!("{PREFIX}{server}__{}", tool.name);
        let name = qualified(&raw);
        if raw_names.insert(raw) && names.insert(name.clone()) {
            tools.push(ServerTool {
                name,
                server: server.clone(),
                tool: tool.name.clone(),
                description: tool.description.clone().unwrap_or_default(),
                input_schema: with_properties(&tool.input_schema),
                title: tool.title.clone(),
                risk: tool.annotations.as_ref().and_then(Risk::of),
                app: ToolApp::of(server, tool),
            });
        }
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// What becomes of the tools of a session when its servers offer others.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolChange {
    /// The tools that requests offer from now on: those of now, and those that are gone, a call of which fails.
    pub tools: Vec<ServerTool>,
    /// What came and went, in a line for people; absent if nothing did.
    pub message: Option<String>,
}

/// How many names of tools a line for people has.
const NAMES_MAX: usize = 5;

impl ToolChange {
    /// What changes from the tools of before to those of now, both sorted by name.
    pub fn between(before: &[ServerTool], now: &[ServerTool]) -> Self {
        let of = |tools: &[ServerTool]| -> BTreeMap<String, ServerTool> {
            tools.iter().map(|tool| (tool.name.clone(), tool.clone())).collect()
        };
        let (before, now) = (of(before), of(now));
        let new = now.keys().filter(|name| !before.contains_key(*name));
        let gone = before.keys().filter(|name| !now.contains_key(*name));
        let other = now.iter().filter(|(name, tool)| before.get(*name).is_some_and(|it| it != *tool));
        let groups = [
            ("new", some_names(new)),
            ("gone", some_names(gone)),
            ("described in other words", some_names(other.map(|(name, _)| name))),
        ];
        let said: Vec<String> =
            groups.into_iter().filter_map(|(what, names)| Some(format!("{what}: {}", names?))).collect();
        let message = (!said.is_empty()).then(|| format!("the tools of MCP servers have changed; {}", said.join("; ")));
        let mut all = before;
        all.extend(now);
        Self { tools: all.into_values().collect(), message }
    }
}

/// Names in a row, the first few of many.
fn some_names<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        n if n > NAMES_MAX => Some(format!("{shown} and {} more", n - NAMES_MAX)),
        _ => Some(shown),
    }
}

/// The name that models call.
fn qualified(raw: &str) -> String {
    let clean = plain_name(raw);
    if clean.len() <= NAME_MAX {
        return clean;
    }
    let mut short = clean[..NAME_HEAD].to_owned();
    for byte in Sha1::digest(raw.as_bytes()) {
        // Writing to a text cannot fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

/// A name with `_` in place of what models cannot call.
pub(crate) fn plain_name(name: &str) -> String {
    name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect()
}

fn is_plain(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '-'
}

/// Adds an empty `properties` to a schema that has none.
fn with_properties(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(table) = &mut schema
        && table.get("properties").is_none_or(Value::is_null)
    {
        table.insert("properties".to_owned(), Value::Object(Map::new()));
    }
    schema
}

/// A result without images, for a model that cannot see them.
pub fn without_images(mut result: McpToolResult) -> McpToolResult {
    for part in &mut result.content {
        if is_image(part) {
            *part = json!({ "type": "text", "text": IMAGE_OMITTED });
        }
    }
    result
}

/// The answer to the model for a result.
pub fn output(result: &McpToolResult) -> ToolOutput {
    match &result.structured_content {
        Some(structured) if !structured.is_null() => ToolOutput::Text(structured.to_string()),
        _ if result.content.iter().any(is_image) => ToolOutput::Parts(result.content.iter().map(part).collect()),
        _ => ToolOutput::Text(Value::from(result.content.clone()).to_string()),
    }
}

fn is_image(part: &Value) -> bool {
    part["type"] == "image" && part["data"].is_string()
}

fn part(part: &Value) -> ContentPart {
    let text = |key: &str| part[key].as_str();
    match (text("type"), text("text"), text("data")) {
        (Some("text"), Some(text), _) => ContentPart::InputText { text: text.to_owned() },
        (Some("image"), _, Some(data)) if data.starts_with("data:") => {
            ContentPart::InputImage { image_url: data.to_owned() }
        }
        (Some("image"), _, Some(data)) => {
            let kind = text("mimeType").unwrap_or("application/octet-stream");
            ContentPart::InputImage { image_url: format!("data:{kind};base64,{data}") }
        }
        _ => ContentPart::InputText { text: part.to_string() },
    }
}

/// The error message to the user for a failed call.
pub fn call_failure(failure: &McpFailure) -> String {
    let mut text = "tool call error: ".to_owned();
    let Some((what, causes)) = failure.causes.split_first() else { return text };
    text.push_str(what);
    if !causes.is_empty() {
        text.push_str("\n\nCaused by:");
    }
    for (n, cause) in causes.iter().enumerate() {
        let (head, indent) = if causes.len() > 1 { (format!("{n:>5}: "), 7) } else { (" ".repeat(4), 4) };
        let lines: Vec<&str> = cause.lines().collect();
        text.push('\n');
        text.push_str(&head);
        text.push_str(&lines.join(&format!("\n{}", " ".repeat(indent))));
    }
    text
}

/// The answer to the model for a failed call.
pub fn failure_output(message: &str) -> ToolOutput {
    ToolOutput::Text(format!("err: {message:?}"))
}

/// The arguments of a call, if it has any.
///
/// # Errors
/// The arguments as JSON. `Err` has the answer to the model when they are not JSON.
pub fn arguments(text: &str) -> Result<Option<Value>, ToolOutput> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let arguments = serde_json::from_str(text).map_err(|error| ToolOutput::Text(format!("err: {error}")))?;
    Ok(Some(number::as_doubles(arguments)))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn tool(name: &str, schema: &str) -> McpTool {
        serde_json::from_value(json!({ "name": name, "inputSchema": serde_json::from_str::<Value>(schema).unwrap() }))
            .unwrap()
    }

    /// Checks which names tools get, by their servers.
    #[track_caller]
    fn check_names(servers: &[(&str, &[&str])], expected: &Expect) {
        let servers: Vec<(String, Vec<McpTool>)> = servers
            .iter()
            .map(|(server, names)| ((*server).to_owned(), names.iter().map(|name| tool(name, "{}")).collect()))
            .collect();
        let lines = offered(&servers).into_iter().map(|it| format!("{} = {} of {}\n", it.name, it.tool, it.server));
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn names_are_cleaned_and_sorted() {
        check_names(
            &[("yard", &["open"]), ("depot", &["store", "list.all items", "überall"])],
            &expect![[r#"
                mcp__depot___berall = überall of depot
                mcp__depot__list_all_items = list.all items of depot
                mcp__depot__store = store of depot
                mcp__yard__open = open of yard
            "#]],
        );
    }

    #[test]
    fn the_first_of_several_names_stays() {
        check_names(
            &[("s", &["echo.tool", "echo_tool", "echo.tool"])],
            &expect![[r#"
                mcp__s__echo_tool = echo.tool of s
            "#]],
        );
    }

    #[test]
    fn long_names_end_in_a_hash() {
        check_names(
            &[("a_rather_long_server_name_for_a_depot", &["an_even_longer_tool_name_that_will_not_fit", "short"])],
            &expect![[r#"
                mcp__a_rather_long_serve793370c23851e02851ef85c12aedccecd3b38bd8 = an_even_longer_tool_name_that_will_not_fit of a_rather_long_server_name_for_a_depot
                mcp__a_rather_long_server_name_for_a_depot__short = short of a_rather_long_server_name_for_a_depot
            "#]],
        );
    }

    #[test]
    fn tools_that_are_gone_stay_and_new_ones_join() {
        let tools = |names: &[(&str, &str)]| {
            let tools = names.iter().map(|(name, schema)| tool(name, schema)).collect();
            offered(&[("s".to_owned(), tools)])
        };
        let before = tools(&[("a", "{}"), ("b", "{}"), ("c", "{}")]);
        let change = ToolChange::between(&before, &tools(&[("d", "{}"), ("b", r#"{"type":"object"}"#), ("a", "{}")]));
        let names: Vec<&str> = change.tools.iter().map(|tool| tool.tool.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(change.tools[1].input_schema["type"], "object");
        expect!["the tools of MCP servers have changed; new: mcp__s__d; gone: mcp__s__c; described in other words: mcp__s__b"]
            .assert_eq(&change.message.unwrap());
        assert_eq!(ToolChange::between(&before, &before).message, None);
        let many: Vec<String> = (0..7).map(|n| format!("t{n}")).collect();
        let many = tools(&many.iter().map(|name| (name.as_str(), "{}")).collect::<Vec<_>>());
        expect!["the tools of MCP servers have changed; new: mcp__s__t0, mcp__s__t1, mcp__s__t2, mcp__s__t3, mcp__s__t4 and 2 more"]
            .assert_eq(&ToolChange::between(&[], &many).message.unwrap());
    }

    #[test]
    fn filters_allow_what_is_named_and_not_refused() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert!(ToolFilter::default().allows("a"));
        let filter = ToolFilter { enabled: Some(set(&["a", "b"])), disabled: set(&["b"]) };
        assert_eq!(["a", "b", "c"].map(|name| filter.allows(name)), [true, false, false]);
        assert_eq!(["a-b_1", "", "a b", "a.b"].map(is_server_name), [true, false, false, false]);
    }

    #[track_caller]
    fn check_output(result: &str, expected: &Expect) {
        let result: McpToolResult = serde_json::from_str(result).unwrap();
        expected.assert_eq(&serde_json::to_string(&output(&result)).unwrap());
    }

    #[test]
    fn texts_are_shown_as_a_list() {
        check_output(
            r#"{"content":[{"type":"text","text":"t1"}]}"#,
            &expect![[r#""[{\"type\":\"text\",\"text\":\"t1\"}]""#]],
        );
        check_output(r#"{"content":[],"isError":true}"#, &expect![[r#""[]""#]]);
    }

    #[test]
    fn structured_content_is_shown_alone() {
        check_output(
            r#"{"content":[{"type":"text","text":"no"}],"structuredContent":{"b":2,"a":[1,null]}}"#,
            &expect![[r#""{\"b\":2,\"a\":[1,null]}""#]],
        );
        check_output(
            r#"{"content":[{"type":"text","text":"yes"}],"structuredContent":null}"#,
            &expect![[r#""[{\"type\":\"text\",\"text\":\"yes\"}]""#]],
        );
    }

    #[test]
    fn images_are_shown_among_the_parts() {
        check_output(
            r#"{"content":[{"type":"text","text":"Look:"},{"type":"image","data":"QQ==","mimeType":"image/png"},{"type":"image","data":"data:image/gif;base64,QQ==","mimeType":"image/gif"},{"type":"image","data":"QQ=="},{"type":"resource_link","uri":"a:b","name":"n"}]}"#,
            &expect![[
                r#"[{"type":"input_text","text":"Look:"},{"type":"input_image","image_url":"data:image/png;base64,QQ=="},{"type":"input_image","image_url":"data:image/gif;base64,QQ=="},{"type":"input_image","image_url":"data:application/octet-stream;base64,QQ=="},{"type":"input_text","text":"{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\"}"}]"#
            ]],
        );
    }

    #[test]
    fn a_model_without_eyes_is_told_what_is_missing() {
        let result = r#"{"content":[{"type":"image","data":"QQ==","mimeType":"image/png"}]}"#;
        let shown = output(&without_images(serde_json::from_str(result).unwrap()));
        expect![[
            r#""[{\"type\":\"text\",\"text\":\"<image content omitted because you do not support image input>\"}]""#
        ]]
        .assert_eq(&serde_json::to_string(&shown).unwrap());
    }

    #[test]
    fn failures_are_told_with_their_causes() {
        let failure = McpFailure::new("timed out awaiting tools/call after 1s").of("tool call failed for `s/t`");
        expect![[r#"err: "tool call error: tool call failed for `s/t`\n\nCaused by:\n    timed out awaiting tools/call after 1s""#]]
            .assert_eq(serde_json::to_value(failure_output(&call_failure(&failure))).unwrap().as_str().unwrap());
        let failure = McpFailure { causes: vec!["a".to_owned(), "b\nc".to_owned(), "d".to_owned()] };
        expect!["tool call error: a\n\nCaused by:\n    0: b\n       c\n    1: d"].assert_eq(&call_failure(&failure));
    }

    #[test]
    fn arguments_are_json_or_nothing() {
        assert_eq!(arguments(" "), Ok(None));
        assert_eq!(arguments("[1]"), Ok(Some(json!([1]))));
        let wrong = arguments("{oops").unwrap_err();
        assert_eq!(wrong, ToolOutput::Text("err: key must be a string at line 1 column 2".to_owned()));
    }
}
