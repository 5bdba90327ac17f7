//! Whether arguments are what a schema wants, as far as that is certain. A keyword that is not known here decides nothing:
//! the server has the last word.

use serde_json::Value;

/// How deep schemas are looked at.
const DEPTH_MAX: usize = 32;

/// How many problems are named.
const PROBLEMS_MAX: usize = 5;

/// What is wrong with arguments, each with its place.
pub fn problems(schema: &Value, arguments: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    check(schema, arguments, "arguments", 0, &mut problems);
    problems.truncate(PROBLEMS_MAX);
    problems
}

fn check(schema: &Value, value: &Value, place: &str, depth: usize, problems: &mut Vec<String>) {
    if depth > DEPTH_MAX || problems.len() >= PROBLEMS_MAX {
        return;
    }
    if schema == &Value::Bool(false) {
        problems.push(format!("`{place}` is not allowed"));
        return;
    }
    let Value::Object(rules) = schema else { return };
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
        problems.push(format!("`{place}` should be {}, not {}", types.join(" or "), type_name(value)));
        return;
    }
    if let Some(Value::Array(allowed)) = rules.get("enum")
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        problems.push(format!("`{place}` should be one of {}", allowed.join(", ")));
    }
    if let Some(only) = rules.get("const").filter(|only| *only != value) {
        problems.push(format!("`{place}` should be {only}"));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = rules.get(key)
            && !branches.is_empty()
            && branches.iter().all(|branch| !is_valid(branch, value, place, depth + 1))
        {
            problems.push(format!("`{place}` fits none of the forms in `{key}`"));
        }
    }
    for branch in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(branch, value, place, depth + 1, problems);
    }
    match value {
        Value::Object(_) => check_members(schema, value, place, depth, problems),
        Value::Array(elements) => {
            if let Some(items) = rules.get("items").filter(|_| !rules.contains_key("prefixItems")) {
                for (n, element) in elements.iter().enumerate() {
                    check(items, element, &format!("{place}[{n}]"), depth + 1, problems);
                }
            }
        }
        _ => {}
    }
}

fn check_members(schema: &Value, value: &Value, place: &str, depth: usize, problems: &mut Vec<String>) {
    let Value::Object(members) = value else { return };
    let known = schema.get("properties").and_then(Value::as_object);
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            let wanted = known.and_then(|known| known.get(name)).map(types).unwrap_or_default();
            let wanted = if wanted.is_empty() { String::new() } else { format!(" ({})", wanted.join(" or ")) };
            problems.push(format!("`{place}.{name}`{wanted} is missing"));
        }
    }
    let has_patterns = schema.get("patternProperties").is_some();
    for (name, member) in members {
        let inner = format!("{place}.{name}");
        match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) => check(schema, member, &inner, depth + 1, problems),
            (None, Some(Value::Bool(false))) if !has_patterns => {
                let names: Vec<String> = known.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
                let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                problems.push(format!("`{inner}` is not known; `{place}` takes {names}"));
            }
            (None, Some(schema @ Value::Object(_))) if !has_patterns => {
                check(schema, member, &inner, depth + 1, problems);
            }
            (None, _) => {}
        }
    }
}

fn is_valid(schema: &Value, value: &Value, place: &str, depth: usize) -> bool {
    let mut problems = Vec::new();
    check(schema, value, place, depth, &mut problems);
    problems.is_empty()
}

/// The types that a schema allows; empty if it does not say. A type that is not one of JSON's allows everything.
fn types(schema: &Value) -> Vec<&str> {
    const KNOWN: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if names.iter().all(|name| KNOWN.contains(name)) { names } else { Vec::new() }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        name => type_name(value) == name,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_problems(schema: &Value, arguments: &Value, expected: &[&str]) {
        assert_eq!(problems(schema, arguments), expected, "{schema} {arguments}");
    }

    #[test]
    fn what_a_schema_wants_is_named() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "depth": { "type": ["integer", "null"] },
                "mode": { "enum": ["r", "w"] },
                "tags": { "type": "array", "items": { "type": "string" } },
                "at": { "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"] },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        check_problems(
            &schema,
            &json!({ "path": "a", "depth": 2.0, "mode": "r", "tags": ["t"], "at": { "x": 1 } }),
            &[],
        );
        check_problems(&schema, &json!({}), &["`arguments.path` (string) is missing"]);
        check_problems(&schema, &json!([1]), &["`arguments` should be object, not array"]);
        check_problems(
            &schema,
            &json!({ "path": 7, "depth": 1.5, "mode": "x", "tags": [1], "at": {} }),
            &[
                "`arguments.path` should be string, not number",
                "`arguments.depth` should be integer or null, not number",
                "`arguments.mode` should be one of \"r\", \"w\"",
                "`arguments.tags[0]` should be string, not number",
                "`arguments.at.x` (number) is missing",
            ],
        );
        let others = "`path`, `depth`, `mode`, `tags`, `at`";
        let unknown = format!("`arguments.file` is not known; `arguments` takes {others}");
        check_problems(&schema, &json!({ "path": "a", "file": "b" }), &[&unknown]);
    }

    #[test]
    fn forms_and_constants_are_looked_at() {
        let schema = json!({ "anyOf": [{ "type": "string" }, { "const": 5 }] });
        check_problems(&schema, &json!("a"), &[]);
        check_problems(&schema, &json!(5), &[]);
        check_problems(&schema, &json!(6), &["`arguments` fits none of the forms in `anyOf`"]);
        let all = json!({ "allOf": [{ "required": ["a"] }, { "additionalProperties": { "type": "boolean" } }] });
        check_problems(
            &all,
            &json!({ "b": 1 }),
            &["`arguments.a` is missing", "`arguments.b` should be boolean, not number"],
        );
        check_problems(&json!({ "properties": { "a": false } }), &json!({ "a": 1 }), &["`arguments.a` is not allowed"]);
        check_problems(
            &json!({ "additionalProperties": false }),
            &json!({ "a": 1 }),
            &["`arguments.a` is not known; `arguments` takes nothing"],
        );
    }

    #[test]
    fn what_is_not_known_decides_nothing() {
        for schema in [
            json!(true),
            json!({ "$ref": "#/$defs/a" }),
            json!({ "type": "thing" }),
            json!({ "type": 7, "minLength": 9 }),
            json!({ "patternProperties": { "^a": {} }, "additionalProperties": false }),
        ] {
            check_problems(&schema, &json!({ "a": [1, "x"] }), &[]);
        }
        let mut deep = json!({ "type": "string" });
        for _ in 0..60 {
            deep = json!({ "properties": { "a": deep } });
        }
        let mut arguments = json!(1);
        for _ in 0..60 {
            arguments = json!({ "a": arguments });
        }
        check_problems(&deep, &arguments, &[]);
    }
}
