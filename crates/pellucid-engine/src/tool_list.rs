//! The list of tools that a request offers.
//!
//! The layout decides which tools are listed, and their order; their schemas are files of the pack. Keys are written
//! in a fixed order and properties sorted by name, so the same facts give the same bytes.

use std::sync::Arc;

use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::McpSchemas;
use pellucid_protocol::settings::WebSearchMode;
use serde::Serialize;

use crate::apps;
use crate::deferred;
use crate::deferred::Deferral;
use crate::deferred::DeferredTools;
use crate::encode::Encoder;
use crate::encode::to_json;
use crate::facts::AgentRole;
use crate::facts::Facts;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::gate;
use crate::pack::GivenToolForm;
use crate::pack::Pack;
use crate::pack::Parameter;
use crate::pack::ParameterType;
use crate::pack::ToolFile;
use crate::pack::ToolKind;
use crate::pack::ToolSlot;
use crate::schema::Schema;
use crate::template::Shape;
use crate::wire;
use crate::wire::messages;

/// Roles for other agents that every pack describes.
pub const BUILT_IN_ROLES: [(&str, &str); 3] = [
    ("default", "agents/role_default.md"),
    ("explorer", "agents/role_explorer.md"),
    ("worker", "agents/role_worker.md"),
];

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    ("agents/role_default.md", Shape::VERBATIM),
    ("agents/role_explorer.md", Shape::VERBATIM),
    ("agents/role_worker.md", Shape::VERBATIM),
];

/// A tool that is offered.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool<'a> {
    /// The entry of the tool in the layout.
    pub slot: &'a ToolSlot,
    /// The file that defines the tool.
    pub file: &'a ToolFile,
}

/// The tools that these facts call for.
pub fn offered<'a>(pack: &'a Pack, facts: &Facts) -> Vec<OfferedTool<'a>> {
    let only = only(pack, facts);
    let mut tools = called_for(pack, facts);
    tools.retain(|tool| only.is_none_or(|only| only.contains(&tool.slot.file)));
    tools
}

/// The tools that can be called after a request: those that it offers, and those that the offered tools can call.
#[derive(Debug, Clone)]
pub struct Callable<'a> {
    /// Tools of the pack.
    pub tools: Vec<OfferedTool<'a>>,
    /// The names of tools that others run and that the request describes.
    pub given: Vec<String>,
    /// The tools of MCP servers that the request offers by name.
    pub deferred: DeferredTools,
    /// The names of the only tools that the model itself may call, if it may not call all.
    pub only: Option<Vec<String>>,
}

/// The tools that can be called after a request in this API format.
pub fn callable<'a>(pack: &'a Pack, facts: &Facts, wire: WireApi) -> Callable<'a> {
    let facts = &*wire::facts_on(wire, facts);
    let mut tools = called_for(pack, facts);
    // The request reports what is left out.
    let _reported = wire::leave_out_tools(wire, &mut tools);
    let given = usable(pack, facts).0.into_iter().map(|tool| tool.name).collect();
    let only = only(pack, facts);
    let only = only.map(|files| files.iter().map(|file| pack.tool_file(file).name.clone()).collect());
    Callable { tools, given, deferred: DeferredTools::of(pack, facts), only }
}

/// The tools that these facts call for, those included that only other tools can call.
fn called_for<'a>(pack: &'a Pack, facts: &Facts) -> Vec<OfferedTool<'a>> {
    let open = |slot: &&ToolSlot| gate::all_open(&slot.gates, pack, facts);
    let slots = pack.layout.tools.iter().filter(open);
    slots.map(|slot| OfferedTool { slot, file: pack.tool_file(&slot.file) }).collect()
}

/// The files of the only tools that the model itself may call, if it may not call all.
fn only<'a>(pack: &'a Pack, facts: &Facts) -> Option<&'a [Arc<str>]> {
    let only = pack.layout.tools_only.as_ref().filter(|only| gate::all_open(&only.gates, pack, facts));
    only.map(|only| only.tools.as_slice())
}

/// The origin of tools of clients.
const CLIENTS: &str = "dynamic_tools";

/// The prefix of the origin of an MCP server's tools; the server's name follows.
pub const MCP_SERVERS: &str = "mcp_servers.";

/// A tool that an MCP server or a client describes and runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenTool {
    /// The name for the model.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The schema of the arguments.
    pub schema: GivenSchema,
    /// The origin: the server's key or `dynamic_tools`.
    pub place: Arc<str>,
}

/// The schema of a given tool, as requests write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum GivenSchema {
    /// In the form that every model understands.
    Reduced(Schema),
    /// As its server wrote it, with sorted keys.
    Whole(serde_json::Value),
}

/// The largest schema that is written whole, in bytes.
const WHOLE_MAX: usize = 64 * 1024;

impl GivenSchema {
    /// The schema of an MCP server's tool.
    fn of_server(schema: &serde_json::Value, rule: McpSchemas) -> Result<Self, String> {
        match rule {
            McpSchemas::Reduced => Schema::read(schema).map(Self::Reduced).map_err(|error| error.to_string()),
            McpSchemas::Whole => {
                let mut schema = schema.clone();
                schema.sort_all_objects();
                let bytes = to_json(&schema).len();
                if bytes > WHOLE_MAX {
                    return Err(format!("its schema has {bytes} bytes, and the limit is {WHOLE_MAX}"));
                }
                Ok(Self::Whole(schema))
            }
        }
    }

    /// Sorts what has no order in a schema of the reduced form.
    fn sort(&mut self) {
        if let Self::Reduced(schema) = self {
            schema.sort();
        }
    }
}

/// The tools that others run and that a request describes, and what it leaves out: tools whose schema no model would
/// understand, and what is sent on demand.
pub fn given(pack: &Pack, facts: &Facts) -> (Vec<GivenTool>, Vec<Omission>) {
    if only(pack, facts).is_some() {
        return (Vec::new(), Vec::new());
    }
    let (mut tools, mut omissions) = usable(pack, facts);
    omissions.extend(deferred::list(pack, facts).omissions);
    if pack.layout.given_tools.form == GivenToolForm::Canonical {
        tools.iter_mut().for_each(|tool| tool.schema.sort());
        // Servers come before clients, so that a client's tool does not move those of servers.
        let is_clients = |tool: &GivenTool| tool.place.as_ref() == CLIENTS;
        tools.sort_by(|a, b| (is_clients(a), &a.name).cmp(&(is_clients(b), &b.name)));
    }
    (tools, omissions)
}

/// The tools that others run and that a request describes, as they come, and those whose schema no model would
/// understand.
fn usable(pack: &Pack, facts: &Facts) -> (Vec<GivenTool>, Vec<Omission>) {
    let (mut tools, mut omissions) = (Vec::new(), Vec::new());
    let deferral = Deferral::of(pack, facts);
    let direct = facts.tools.mcp_tools.iter().filter(|tool| facts.tools.apps.offers(tool) && !deferral.has(tool));
    for tool in direct {
        match GivenSchema::of_server(&tool.input_schema, pack.layout.given_tools.schemas) {
            Ok(schema) => tools.push(GivenTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema,
                place: format!("{MCP_SERVERS}{}", tool.server).into(),
            }),
            Err(error) => {
                omissions.push(Omission { slot: part(), what: tool.name.clone(), why: Why::Unusable { error } });
            }
        }
    }
    for DynamicTool { name, description, input_schema } in &facts.tools.dynamic_tools {
        match Schema::read(input_schema) {
            Ok(schema) => tools.push(GivenTool {
                name: name.clone(),
                description: description.clone(),
                schema: GivenSchema::Reduced(schema),
                place: CLIENTS.into(),
            }),
            Err(error) => omissions.push(Omission {
                slot: part(),
                what: name.clone(),
                why: Why::Unusable { error: error.to_string() },
            }),
        }
    }
    (tools, omissions)
}

/// The tools to write, and the values of their descriptions' placeholders.
#[derive(Debug, Clone, Copy)]
pub struct ToolList<'a> {
    /// The tools of the layout.
    pub tools: &'a [OfferedTool<'a>],
    /// The tools of servers and clients; they come last.
    pub given: &'a [GivenTool],
    /// The pack with the texts.
    pub pack: &'a Pack,
    /// The facts of the turn.
    pub facts: &'a Facts,
}

impl ToolList<'_> {
    /// Whether no tool is offered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.given.is_empty()
    }

    /// Writes the list as a JSON array.
    pub fn encode(self, encoder: &mut Encoder, wire: WireApi) {
        let Self { tools, given, pack, facts } = self;
        let n_tools = tools.len() + given.len();
        encoder.reserve(n_tools * TOOL_BYTES);
        encoder.wire("[");
        for (n, tool) in tools.iter().enumerate() {
            if n > 0 {
                encoder.wire(",");
            }
            encoder.set_part(&format!("tools/{}", tool.file.name).into());
            let origin = Origin::Pack { file: tool.file.file.clone() };
            let mut writer = Writer { encoder, origin, pack, facts };
            match wire {
                WireApi::Responses => writer.tool(tool.file),
                WireApi::Chat => writer.chat_tool(tool.file),
                WireApi::Messages => writer.messages_tool(tool.file, n + 1 == n_tools),
            }
            encoder.set_part(&part());
        }
        for (n, tool) in given.iter().enumerate() {
            let n = tools.len() + n;
            if n > 0 {
                encoder.wire(",");
            }
            encoder.set_part(&format!("tools/{}", tool.name).into());
            tool.encode(encoder, wire, n + 1 == n_tools);
            encoder.set_part(&part());
        }
        encoder.wire("]");
    }
}

impl GivenTool {
    /// Writes the tool. The last one of a list ends what a server of Messages may cache.
    fn encode(&self, encoder: &mut Encoder, wire: WireApi, is_last: bool) {
        let origin = Origin::Provided { place: self.place.clone() };
        let (before, between, after) = match wire {
            WireApi::Responses => ("{\"type\":\"function\",\"name\":", ",\"strict\":false,\"parameters\":", "}"),
            WireApi::Chat => {
                ("{\"type\":\"function\",\"function\":{\"name\":", ",\"strict\":false,\"parameters\":", "}}")
            }
            WireApi::Messages => ("{\"name\":", ",\"input_schema\":", "}"),
        };
        encoder.wire(before);
        encoder.value(&self.name, &origin);
        encoder.wire(",\"description\":\"");
        encoder.escaped(&self.description, &origin);
        encoder.wire("\"");
        encoder.wire(between);
        encoder.value(&self.schema, &origin);
        if wire == WireApi::Messages && is_last {
            encoder.wire(messages::BREAKPOINT);
        }
        encoder.wire(after);
    }
}

/// About how many bytes a tool has, and what follows the list.
const TOOL_BYTES: usize = 1200;

/// Writes one tool. Its bytes come from its file, except the values of placeholders.
struct Writer<'a> {
    encoder: &'a mut Encoder,
    origin: Origin,
    pack: &'a Pack,
    facts: &'a Facts,
}

impl Writer<'_> {
    fn tool(&mut self, tool: &ToolFile) {
        match tool.kind {
            ToolKind::Function => {
                self.notation("{\"type\":\"function\",");
                self.member("name", &tool.name);
                self.described(&tool.name, tool.description.as_deref(), tool.description_file.as_ref());
                self.notation(",\"strict\":false,\"parameters\":");
                self.object(&tool.name, &tool.parameters, false);
                self.notation("}");
            }
            ToolKind::Custom => {
                self.notation("{\"type\":\"custom\",");
                self.member("name", &tool.name);
                self.described(&tool.name, tool.description.as_deref(), tool.description_file.as_ref());
                self.notation(",\"format\":{\"type\":\"grammar\",\"syntax\":\"lark\",");
                self.string("definition");
                self.notation(":");
                if let Some(grammar) = &tool.grammar {
                    self.encoder.value(&grammar.text, &Origin::Pack { file: grammar.shown.clone() });
                } else {
                    self.string("");
                }
                self.notation("}}");
            }
            ToolKind::LocalShell => self.notation("{\"type\":\"local_shell\"}"),
            ToolKind::WebSearch => {
                let live = self.facts.settings.web_search == WebSearchMode::Live;
                self.notation("{\"type\":\"web_search\",\"external_web_access\":");
                self.encoder.value(&live, &Origin::fact("web_search"));
                self.notation("}");
            }
        }
    }

    /// A function in the notation of Chat Completions.
    fn chat_tool(&mut self, tool: &ToolFile) {
        self.notation("{\"type\":\"function\",\"function\":{");
        self.member("name", &tool.name);
        self.described(&tool.name, tool.description.as_deref(), tool.description_file.as_ref());
        self.notation(",\"strict\":false,\"parameters\":");
        self.object(&tool.name, &tool.parameters, false);
        self.notation("}}");
    }

    /// A function in the notation of Messages. The last one ends what the server may cache.
    fn messages_tool(&mut self, tool: &ToolFile, is_last: bool) {
        self.notation("{");
        self.member("name", &tool.name);
        self.described(&tool.name, tool.description.as_deref(), tool.description_file.as_ref());
        self.notation(",\"input_schema\":");
        self.object(&tool.name, &tool.parameters, false);
        if is_last {
            self.encoder.wire(messages::BREAKPOINT);
        }
        self.notation("}");
    }

    fn object(&mut self, path: &str, parameters: &[Parameter], is_open: bool) {
        let mut sorted: Vec<&Parameter> = parameters.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        self.notation("{\"type\":\"object\",\"properties\":{");
        for (n, parameter) in sorted.iter().enumerate() {
            if n > 0 {
                self.notation(",");
            }
            self.string(&parameter.name);
            self.notation(":");
            self.schema(&format!("{path}.{}", parameter.name), parameter);
        }
        self.notation("}");
        let required: Vec<&str> = parameters.iter().filter(|it| it.required).map(|it| it.name.as_str()).collect();
        if !required.is_empty() {
            self.notation(",\"required\":");
            self.encoder.value(&required, &self.origin);
        }
        self.notation(",\"additionalProperties\":");
        self.encoder.value(&is_open, &self.origin);
        self.notation("}");
    }

    fn schema(&mut self, path: &str, parameter: &Parameter) {
        match parameter.kind {
            ParameterType::Object => self.object(path, &parameter.properties, parameter.open),
            ParameterType::Array => {
                self.notation("{\"type\":\"array\",\"items\":");
                match parameter.items.unwrap_or(ParameterType::String) {
                    ParameterType::Object => self.object(path, &parameter.properties, false),
                    kind => {
                        self.notation("{");
                        self.member("type", kind.as_str());
                        self.notation("}");
                    }
                }
                self.described(path, parameter.description.as_deref(), parameter.description_file.as_ref());
                self.notation("}");
            }
            kind => {
                self.notation("{");
                self.member("type", kind.as_str());
                self.described(path, parameter.description.as_deref(), parameter.description_file.as_ref());
                self.notation("}");
            }
        }
    }

    fn described(&mut self, path: &str, description: Option<&str>, own_file: Option<&FileVersion>) {
        let Some(description) = description else {
            return;
        };
        let origin = own_file.map_or_else(|| self.origin.clone(), |file| Origin::Pack { file: file.clone() });
        self.notation(",\"description\":\"");
        for fragment in fill(&origin, description, &places(path, self.pack, self.facts)) {
            self.encoder.text(&fragment);
        }
        self.notation("\"");
    }

    fn member(&mut self, key: &str, value: &str) {
        self.string(key);
        self.notation(":");
        self.string(value);
    }

    fn string(&mut self, text: &str) {
        self.encoder.value(&text, &self.origin);
    }

    fn notation(&mut self, notation: &str) {
        self.encoder.raw(notation.as_bytes(), &self.origin);
    }
}

/// The value of a placeholder in a description.
type Value = (&'static str, Vec<Fragment>);

fn places(path: &str, pack: &Pack, facts: &Facts) -> Vec<Value> {
    let limit = |mark, milliseconds: &str| (mark, vec![Fragment::fact("wait limits", milliseconds)]);
    match path {
        "request_user_input" => vec![("{modes}", vec![Fragment::fact("collaboration modes", "Plan mode")])],
        "wait.timeout_ms" => vec![limit("{default}", "30000"), limit("{min}", "10000"), limit("{max}", "300000")],
        "spawn_agent.agent_type" => vec![("{roles}", roles(pack, facts))],
        deferred::FIND => vec![("{tools}", deferred::list(pack, facts).fragments)],
        apps::SEARCH => vec![("{{app_names}}", app_names(facts))],
        _ => Vec::new(),
    }
}

/// The names of the connected apps, in a row.
fn app_names(facts: &Facts) -> Vec<Fragment> {
    let names = apps::names(&facts.tools.mcp_tools).join(", ");
    if names.is_empty() { Vec::new() } else { vec![Fragment::provided(&format!("{MCP_SERVERS}{APPS_SERVER}"), names)] }
}

/// The roles for other agents with their descriptions: the user's, then the pack's that the user did not redefine.
fn roles(pack: &Pack, facts: &Facts) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    let mut role = |name: &str, description: Option<Vec<Fragment>>| {
        if !fragments.is_empty() {
            fragments.push(Fragment::layout("\n"));
        }
        match description {
            Some(description) => {
                fragments.push(Fragment::layout(format!("{name}: {{\n")));
                fragments.extend(description);
                fragments.push(Fragment::layout("\n}"));
            }
            None => fragments.push(Fragment::layout(format!("{name}: no description"))),
        }
    };
    for AgentRole { name, description } in &facts.tools.agent_roles {
        let place = format!("agents.{name}.description");
        role(name, description.as_ref().map(|text| vec![Fragment::provided(&place, text.as_str())]));
    }
    for (name, file) in BUILT_IN_ROLES {
        if !facts.tools.agent_roles.iter().any(|role| role.name == name) {
            role(name, Some(pack.template(file).text()));
        }
    }
    fragments
}

fn fill(origin: &Origin, text: &str, values: &[Value]) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    let mut rest = text;
    let first = |text: &str| {
        values.iter().filter_map(|value| text.find(value.0).map(|at| (at, value))).min_by_key(|(at, _)| *at)
    };
    while let Some((at, (mark, value))) = first(rest) {
        fragments.push(Fragment { origin: origin.clone(), text: rest[..at].to_owned() });
        fragments.extend(value.iter().cloned());
        rest = &rest[at + mark.len()..];
    }
    fragments.push(Fragment { origin: origin.clone(), text: rest.to_owned() });
    fragments
}

/// The part that the brackets of the list belong to.
pub fn part() -> Arc<str> {
    "tools".into()
}
