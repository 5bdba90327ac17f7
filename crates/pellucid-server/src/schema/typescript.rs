//! TypeScript made from schemas, one type to a file.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::Map;
use serde_json::Value;

use super::places;

const NOTE: &str = "// Generated from the types of the app-server; changes are lost.\n";
const JSON_VALUE: &str = "JsonValue";
const JSON_VALUE_TYPE: &str = "number | string | boolean | Array<JsonValue> | { [key in string]?: JsonValue } | null";

/// The TypeScript files of all types, by path.
pub(super) fn files(schemas: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let (mut top, mut second) = (Vec::new(), Vec::new());
    for (name, schema) in schemas {
        // Frames belong to the transport; code for messages does not need them.
        if name.starts_with("JSONRPC") {
            continue;
        }
        let (folder, list) = if places::is_at_top(name) { ("", &mut top) } else { ("v2/", &mut second) };
        list.push(name.as_str());
        files.insert(format!("{folder}{name}.ts"), file(name, schema));
    }
    let exports = |names: &[&str]| -> String {
        names.iter().map(|name| format!("export type {{ {name} }} from \"./{name}\";\n")).collect()
    };
    files.insert("v2/index.ts".to_owned(), format!("{NOTE}\n{}", exports(&second)));
    files.insert("index.ts".to_owned(), format!("{NOTE}\n{}export * as v2 from \"./v2\";\n", exports(&top)));
    let json_value = format!("{NOTE}\nexport type {JSON_VALUE} = {JSON_VALUE_TYPE};\n");
    files.insert(format!("serde_json/{JSON_VALUE}.ts"), json_value);
    files
}

fn file(name: &str, schema: &Value) -> String {
    let mut writer = Writer::default();
    let text = writer.of(schema);
    writer.needed.remove(name);
    let up = if places::is_at_top(name) { "." } else { ".." };
    let imports = writer.needed.iter().map(|needed| {
        let from = match (needed.as_str(), places::is_at_top(needed)) {
            (JSON_VALUE, _) => format!("{up}/serde_json/{JSON_VALUE}"),
            (_, true) => format!("{up}/{needed}"),
            (_, false) if places::is_at_top(name) => format!("./v2/{needed}"),
            (_, false) => format!("./{needed}"),
        };
        format!("import type {{ {needed} }} from \"{from}\";\n")
    });
    let about = schema.get("description").and_then(Value::as_str);
    let about = about.map(|about| format!("/** {} */\n", about.replace("*/", "* /").replace('\n', " ")));
    format!("{NOTE}{}\n{}export type {name} = {text};\n", imports.collect::<String>(), about.unwrap_or_default())
}

/// Writes types, and notes which other types they refer to.
#[derive(Default)]
struct Writer {
    needed: BTreeSet<String>,
}

impl Writer {
    fn of(&mut self, schema: &Value) -> String {
        let Value::Object(members) = schema else { return self.any() };
        if let Some(name) = super::name_in(schema) {
            self.needed.insert(name.to_owned());
            return name.to_owned();
        }
        if let Some(value) = members.get("const") {
            return value.to_string();
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return union(values.iter().map(Value::to_string));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(parts)) = members.get(key) {
                let parts: Vec<String> = parts.iter().map(|part| self.of(part)).collect();
                let own = members.contains_key("properties").then(|| self.object(members));
                let parts = union(parts.into_iter());
                return own.map_or_else(|| parts.clone(), |own| format!("{own} & ({parts})"));
            }
        }
        if let Some(Value::Array(parts)) = members.get("allOf") {
            let parts: Vec<String> = parts.iter().map(|part| self.of(part)).collect();
            return parts.join(" & ");
        }
        match members.get("type") {
            Some(Value::String(word)) => self.of_word(word, members),
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                let types: Vec<String> = words.into_iter().map(|word| self.of_word(word, members)).collect();
                union(types.into_iter())
            }
            _ => self.any(),
        }
    }

    fn of_word(&mut self, word: &str, members: &Map<String, Value>) -> String {
        match word {
            "string" => "string".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => match members.get("items") {
                Some(items) => format!("Array<{}>", self.of(items)),
                None => format!("Array<{}>", self.any()),
            },
            "object" => self.object(members),
            _ => self.any(),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) -> String {
        let Some(Value::Object(properties)) = members.get("properties") else {
            return match members.get("additionalProperties") {
                None | Some(Value::Bool(false)) => "Record<string, never>".to_owned(),
                Some(of) => format!("{{ [key in string]?: {} }}", self.of(of)),
            };
        };
        let required = members.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let mut text = "{ ".to_owned();
        for (name, schema) in properties {
            let mark = if is_required(name) { "" } else { "?" };
            let key = if name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_') {
                name.clone()
            } else {
                format!("{name:?}")
            };
            text += &format!("{key}{mark}: {}, ", self.of(schema));
        }
        text + "}"
    }

    fn any(&mut self) -> String {
        self.needed.insert(JSON_VALUE.to_owned());
        JSON_VALUE.to_owned()
    }
}

fn union(parts: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for part in parts {
        if !seen.contains(&part) {
            seen.push(part);
        }
    }
    seen.join(" | ")
}
