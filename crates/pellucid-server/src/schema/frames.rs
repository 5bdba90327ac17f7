//! Schemas of the JSON-RPC frame: requests, responses, notifications.

use serde_json::Value;
use serde_json::json;

/// The schemas of the frame, by name.
pub(super) fn frames() -> [(String, Value); 8] {
    let id = json!({ "$ref": "#/definitions/RequestId" });
    let any = ["JSONRPCRequest", "JSONRPCNotification", "JSONRPCResponse", "JSONRPCError"];
    [
        ("RequestId", json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "format": "int64" }] })),
        ("JSONRPCMessage", json!({ "anyOf": any.map(|name| json!({ "$ref": format!("#/definitions/{name}") })) })),
        (
            "JSONRPCRequest",
            object(&[("id", id.clone()), ("method", json!({ "type": "string" }))], &[("params", json!(true))]),
        ),
        ("JSONRPCNotification", object(&[("method", json!({ "type": "string" }))], &[("params", json!(true))])),
        ("JSONRPCResponse", object(&[("id", id.clone()), ("result", json!(true))], &[])),
        ("JSONRPCError", object(&[("error", json!({ "$ref": "#/definitions/JSONRPCErrorError" })), ("id", id)], &[])),
        (
            "JSONRPCErrorError",
            object(
                &[("code", json!({ "type": "integer", "format": "int64" })), ("message", json!({ "type": "string" }))],
                &[("data", json!(true))],
            ),
        ),
        (
            "ClientNotification",
            json!({ "oneOf": [object(&[("method", json!({ "type": "string", "enum": ["initialized"] }))], &[])] }),
        ),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
}

/// The union of these requests.
pub(super) fn requests(rows: &[(&str, &Value)]) -> Value {
    let requests = rows.iter().map(|(method, params)| {
        let mut request = object(
            &[
                ("id", json!({ "$ref": "#/definitions/RequestId" })),
                ("method", json!({ "type": "string", "enum": [method] })),
                ("params", (*params).clone()),
            ],
            &[],
        );
        request["title"] = json!(title(method));
        request
    });
    json!({ "oneOf": requests.collect::<Vec<_>>() })
}

/// The name of a request in code that clients generate.
fn title(method: &str) -> String {
    let mut letters = method.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain("Request".chars()).collect()
}

fn object(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let all = required.iter().chain(optional);
    let properties: serde_json::Map<String, Value> = all.map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}
