//! The protocol for machines: JSON schemas and TypeScript of every message.
//!
//! The types that read and write messages are the only source. Types and files have the names from which clients
//! generate their code. The rows of [`Method`] list the methods.
//!
//! - `generated`: makes schemas from the types, for the tests that keep `types.json`
//! - `source`: what the program holds of them, compressed
//! - `frames`, `places`, `typescript`: the files that are made of both
//!
//! Not here: writing the files.

mod frames;
#[cfg(test)]
mod generated;
mod method;
mod places;
mod source;
#[cfg(test)]
mod tests;
mod typescript;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use source::Direction;
use source::Source;

#[cfg(test)]
pub(crate) use generated::Typed;
pub use method::Method;
pub use method::MethodStage;

const META: &str = "http://json-schema.org/draft-07/schema#";
const REF: &str = "#/definitions/";

/// JSON schemas of all messages, by file.
pub fn json_schemas(methods: &[Method], stage: MethodStage) -> BTreeMap<String, Value> {
    json_files(&Source::built_in(), methods, stage)
}

/// TypeScript of all messages, by file.
pub fn typescript(methods: &[Method], stage: MethodStage) -> BTreeMap<String, String> {
    typescript_files(&Source::built_in(), methods, stage)
}

fn json_files(source: &Source, methods: &[Method], stage: MethodStage) -> BTreeMap<String, Value> {
    let types = Types::collect(&source.asked, methods, stage);
    let roots = types.schemas.keys().filter(|name| places::is_message(name));
    let mut files: BTreeMap<String, Value> =
        roots.map(|name| (format!("{}.json", places::of_schema(name)), types.file(name))).collect();
    files.insert("codex_app_server_protocol.schemas.json".to_owned(), types.bundle());
    files
}

fn typescript_files(source: &Source, methods: &[Method], stage: MethodStage) -> BTreeMap<String, String> {
    // Clients may omit parameters that have a default; the server always sends every field.
    let sent = Types::collect(&source.sent, methods, stage);
    let mut asked = Types::collect(&source.asked, methods, stage);
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
    /// The types that these methods and all notifications need.
    fn collect(direction: &Direction, methods: &[Method], stage: MethodStage) -> Self {
        let mut roots = vec![&direction.notification];
        let mut client = Vec::new();
        let mut hidden = Vec::new();
        for method in methods.iter().filter(|method| method.is_in(stage)) {
            let Some((params, result)) = direction.client.get(method.name()) else { continue };
            roots.extend([params, result]);
            hidden.extend(name_in(params).map(|name| (name, method.hidden(stage))));
            client.push((method.name(), params));
        }
        let mut server = Vec::new();
        for (method, (params, result)) in &direction.server {
            roots.extend([params, result]);
            server.push((method.as_str(), params));
        }
        let params = client.iter().filter_map(|(_, reference)| name_in(reference)).map(str::to_owned).collect();
        let mut schemas = direction.needed(&roots);
        for (name, fields) in hidden {
            if let Some(Value::Object(schema)) = schemas.get_mut(name) {
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
