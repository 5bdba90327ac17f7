//! The protocol for machines: JSON schemas and TypeScript of every message.
//!
//! The types that read and write messages are the only source. Types and files have the names from which clients
//! generate their code. The rows of [`Method`] list the methods.
//!
//! Not here: writing the files.

mod frames;
mod method;
mod places;
#[cfg(test)]
mod tests;
mod typescript;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::types::notification::ServerNotification;
use crate::types::request;

pub use method::Method;
pub use method::MethodStage;

/// The requests that the server sends to clients.
const SERVER_REQUESTS: &[Method] = &[
    Method::new::<request::CommandExecutionRequestApprovalParams, request::CommandExecutionRequestApprovalResponse>(
        "item/commandExecution/requestApproval",
    ),
    Method::new::<request::FileChangeRequestApprovalParams, request::FileChangeRequestApprovalResponse>(
        "item/fileChange/requestApproval",
    ),
    Method::new::<request::ToolRequestUserInputParams, request::ToolRequestUserInputResponse>(
        "item/tool/requestUserInput",
    ),
    Method::new::<request::DynamicToolCallParams, request::DynamicToolCallResponse>("item/tool/call"),
    Method::new::<request::McpServerElicitationRequestParams, request::McpServerElicitationRequestResponse>(
        "mcpServer/elicitation/request",
    ),
    Method::new::<request::ChatgptAuthTokensRefreshParams, request::ChatgptAuthTokensRefreshResponse>(
        "account/chatgptAuthTokens/refresh",
    ),
];

/// Types that clients know by other names than ours.
const RENAMED: [(&str, &str); 2] = [("ApprovalPolicy", "AskForApproval"), ("CollaborationModeKind", "ModeKind")];

const META: &str = "http://json-schema.org/draft-07/schema#";
const REF: &str = "#/definitions/";

/// JSON schemas of all messages, by file.
pub fn json_schemas(methods: &[Method], stage: MethodStage) -> BTreeMap<String, Value> {
    let types = Types::collect(SchemaSettings::draft07(), methods, stage);
    let roots = types.schemas.keys().filter(|name| places::is_message(name));
    let mut files: BTreeMap<String, Value> =
        roots.map(|name| (format!("{}.json", places::of_schema(name)), types.file(name))).collect();
    files.insert("codex_app_server_protocol.schemas.json".to_owned(), types.bundle());
    files
}

/// TypeScript of all messages, by file.
pub fn typescript(methods: &[Method], stage: MethodStage) -> BTreeMap<String, String> {
    // Clients may omit parameters that have a default; the server always sends every field.
    let sent = Types::collect(SchemaSettings::draft07().for_serialize(), methods, stage);
    let mut asked = Types::collect(SchemaSettings::draft07().for_deserialize(), methods, stage);
    let mut schemas = sent.schemas;
    for name in &sent.params {
        schemas.extend(asked.schemas.remove_entry(name));
    }
    typescript::files(&schemas)
}

/// Schemas by name; they refer to each other.
struct Types {
    schemas: BTreeMap<String, Value>,
    /// The types that are parameters of clients' requests.
    params: BTreeSet<String>,
}

impl Types {
    fn collect(settings: SchemaSettings, methods: &[Method], stage: MethodStage) -> Self {
        let mut generator = settings.into_generator();
        let methods: Vec<&Method> = methods.iter().filter(|method| method.is_in(stage)).collect();
        let mut params = BTreeSet::new();
        let mut hidden = Vec::new();
        let mut rows = |methods: &mut dyn Iterator<Item = &Method>| -> Vec<(&'static str, Value)> {
            methods
                .map(|method| {
                    method.result(&mut generator);
                    let reference = renamed(method.params(&mut generator));
                    hidden.extend(name_in(&reference).map(|name| (name.to_owned(), method.hidden(stage))));
                    (method.name(), reference)
                })
                .collect()
        };
        let server = rows(&mut SERVER_REQUESTS.iter());
        let client = rows(&mut methods.into_iter());
        params.extend(client.iter().filter_map(|(_, reference)| name_in(reference)).map(str::to_owned));
        generator.subschema_for::<ServerNotification>();
        let mut schemas: BTreeMap<String, Value> = generator
            .take_definitions(true)
            .into_iter()
            .map(|(name, schema)| (new_name(&name).to_owned(), renamed(schema)))
            .collect();
        for (name, fields) in hidden {
            if let Some(Value::Object(schema)) = schemas.get_mut(&name) {
                without(schema, fields);
            }
        }
        schemas.extend(frames::frames());
        schemas.insert("ServerRequest".to_owned(), frames::requests(&server));
        schemas.insert("ClientRequest".to_owned(), frames::requests(&client));
        Self { schemas, params }
    }

    /// A schema with all schemas that it refers to.
    fn file(&self, name: &str) -> Value {
        let mut file = Map::new();
        file.insert("$schema".to_owned(), json!(META));
        file.insert("title".to_owned(), json!(name));
        if let Some(Value::Object(schema)) = self.schemas.get(name) {
            file.extend(schema.iter().filter(|(key, _)| *key != "title").map(|(key, it)| (key.clone(), it.clone())));
        }
        let mut needed = BTreeSet::new();
        self.add_needed(name, &mut needed);
        if !needed.is_empty() {
            let needed = needed.into_iter().filter_map(|name| self.schemas.get_key_value(name));
            let needed: Map<String, Value> = needed.map(|(name, schema)| (name.clone(), schema.clone())).collect();
            file.insert("definitions".to_owned(), Value::Object(needed));
        }
        Value::Object(file)
    }

    fn add_needed<'a>(&'a self, name: &str, needed: &mut BTreeSet<&'a str>) {
        let mut found = Vec::new();
        if let Some(schema) = self.schemas.get(name) {
            references(schema, &mut found);
        }
        for name in found {
            if needed.insert(name) {
                self.add_needed(name, needed);
            }
        }
    }

    /// All schemas in one file; those of protocol version 2 are in a separate section.
    fn bundle(&self) -> Value {
        let (mut first, mut second) = (Map::new(), Map::new());
        for (name, schema) in &self.schemas {
            let mut schema = schema.clone();
            replace_strings(&mut schema, &|text| {
                let name = text.strip_prefix(REF)?;
                places::is_second(name).then(|| format!("{REF}v2/{name}"))
            });
            let place = if places::is_second(name) { &mut second } else { &mut first };
            place.insert(name.clone(), schema);
        }
        first.insert("v2".to_owned(), Value::Object(second));
        json!({ "$schema": META, "title": "CodexAppServerProtocol", "type": "object", "definitions": first })
    }
}

/// The names that a schema refers to.
fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            found.extend(name_in(schema));
            members.values().for_each(|it| references(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| references(it, found)),
        _ => {}
    }
}

/// The name that a schema is a reference to.
fn name_in(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(REF)
}

fn new_name(name: &str) -> &str {
    RENAMED.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, theirs)| theirs)
}

fn renamed(mut schema: Value) -> Value {
    replace_strings(&mut schema, &|text| {
        let name = text.strip_prefix(REF)?;
        Some(format!("{REF}{}", new_name(name)))
    });
    schema
}

fn replace_strings(schema: &mut Value, new: &dyn Fn(&str) -> Option<String>) {
    match schema {
        Value::String(text) => {
            if let Some(new) = new(text) {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| replace_strings(it, new)),
        Value::Object(members) => members.values_mut().for_each(|it| replace_strings(it, new)),
        _ => {}
    }
}

/// Removes members from a schema.
fn without(schema: &mut Map<String, Value>, fields: &[&str]) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !fields.contains(&name.as_str()));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !name.as_str().is_some_and(|name| fields.contains(&name)));
    }
}
