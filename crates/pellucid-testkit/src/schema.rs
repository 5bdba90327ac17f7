//! Checks values against JSON Schemas, as far as the project's own schemas go.

use serde_json::Value;

/// Checks a value against a schema. A schema with a keyword that this check does not know does not fit either, so that no
/// rule of a schema is passed over.
///
/// # Errors
/// When the value does not fit: its place and the rule.
pub fn fits_schema(schema: &Value, value: &Value) -> Result<(), String> {
    Check { root: schema }.fits(schema, value, "")
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn fits(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        if let Value::Bool(is_open) = schema {
            return if *is_open { Ok(()) } else { Err(format!("{place}: nothing may be here")) };
        }
        let rules = schema.as_object().ok_or_else(|| format!("{place}: the schema {schema} is no object"))?;
        for (key, wanted) in rules {
            if !self.fits_rule(schema, key, wanted, value, place)? {
                return Err(format!("{place}: {value} does not fit {key} {wanted}"));
            }
        }
        Ok(())
    }

    fn fits_rule(&self, schema: &Value, key: &str, wanted: &Value, value: &Value, place: &str) -> Result<bool, String> {
        let n_items = || value.as_array().map(|it| it.len() as u64);
        let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
        Ok(match key {
            "$schema" | "$id" | "$defs" | "title" | "x-method" | "x-side" => true,
            "const" => value == wanted,
            "enum" => list(wanted).contains(value),
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is_kind(value, kind)),
                kind => is_kind(value, kind),
            },
            "minimum" => value.as_i64().is_none_or(|it| Some(it) >= wanted.as_i64()),
            "maximum" => value.as_i64().is_none_or(|it| Some(it) <= wanted.as_i64()),
            "minLength" => value.as_str().is_none_or(|it| Some(it.chars().count() as u64) >= wanted.as_u64()),
            "not" => self.fits(wanted, value, place).is_err(),
            "allOf" => {
                for schema in list(wanted) {
                    self.fits(&schema, value, place)?;
                }
                true
            }
            "oneOf" => {
                let fitting = list(wanted).iter().filter(|schema| self.fits(schema, value, place).is_ok()).count();
                if fitting != 1 {
                    return Err(format!("{place}: {value} fits {fitting} of the alternatives"));
                }
                true
            }
            "minItems" => n_items().is_none_or(|it| Some(it) >= wanted.as_u64()),
            "maxItems" => n_items().is_none_or(|it| wanted.as_u64().is_some_and(|most| it <= most)),
            "pattern" if wanted == "^[0-9a-f]{64}$" => {
                value.as_str().is_none_or(|it| it.len() == 64 && it.bytes().all(|it| it.is_ascii_hexdigit()))
            }
            "required" => list(wanted).iter().all(|it| it.as_str().is_some_and(|it| value.get(it).is_some())),
            "properties" => {
                for (name, schema) in wanted.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        self.fits(schema, value, &format!("{place}/{name}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if *wanted == Value::Bool(false) {
                        return Err(format!("{place}/{name} is not in the schema"));
                    }
                    self.fits(wanted, value, &format!("{place}/{name}"))?;
                }
                true
            }
            "items" => {
                for (n, value) in value.as_array().into_iter().flatten().enumerate() {
                    self.fits(wanted, value, &format!("{place}/{n}"))?;
                }
                true
            }
            "anyOf" => {
                let faults: Vec<String> =
                    list(wanted).iter().filter_map(|schema| self.fits(schema, value, place).err()).collect();
                if faults.len() == list(wanted).len() {
                    return Err(faults.join("\n"));
                }
                true
            }
            "$ref" => {
                let path = wanted.as_str().and_then(|it| it.strip_prefix('#')).unwrap_or_default();
                let schema = self.root.pointer(path).ok_or_else(|| format!("{place}: there is no {wanted}"))?;
                self.fits(schema, value, place)?;
                true
            }
            key => return Err(format!("{place}: the schema has `{key}`, which this check does not know")),
        })
    }
}

fn is_kind(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, good: &Value, bad: &Value) {
        assert_eq!(fits_schema(schema, good), Ok(()));
        assert!(fits_schema(schema, bad).is_err(), "{bad} fits {schema}");
    }

    #[test]
    fn every_rule_finds_what_does_not_fit() {
        check(&json!({ "const": 1 }), &json!(1), &json!(2));
        check(&json!({ "enum": ["a"] }), &json!("a"), &json!("b"));
        check(&json!({ "type": ["string", "null"] }), &json!(null), &json!(1));
        check(&json!({ "type": "integer", "minimum": 0 }), &json!(0), &json!(-1));
        check(&json!({ "minItems": 1, "maxItems": 2 }), &json!([1, 2]), &json!([]));
        check(&json!({ "minItems": 1, "maxItems": 2 }), &json!([1]), &json!([1, 2, 3]));
        check(&json!({ "pattern": "^[0-9a-f]{64}$" }), &json!("0".repeat(64)), &json!("0"));
        check(&json!({ "required": ["a"] }), &json!({ "a": null }), &json!({ "b": 1 }));
        check(&json!({ "properties": { "a": { "type": "string" } } }), &json!({ "b": 1 }), &json!({ "a": 1 }));
        let closed = json!({ "properties": { "a": {} }, "additionalProperties": false });
        check(&closed, &json!({ "a": 1 }), &json!({ "a": 1, "b": 1 }));
        check(&json!({ "additionalProperties": { "type": "string" } }), &json!({ "b": "" }), &json!({ "b": 1 }));
        check(&json!({ "items": { "type": "boolean" } }), &json!([true]), &json!([true, 1]));
        check(&json!({ "anyOf": [{ "const": 1 }, { "const": 2 }] }), &json!(2), &json!(3));
        check(&json!({ "$ref": "#/$defs/a", "$defs": { "a": { "const": 1 } } }), &json!(1), &json!(2));
        check(&json!({ "maximum": 1 }), &json!(1), &json!(2));
        check(&json!({ "minLength": 2 }), &json!("äö"), &json!("ä"));
        check(&json!({ "not": { "const": 1 } }), &json!(2), &json!(1));
        check(&json!({ "allOf": [{ "type": "number" }, { "minimum": 1 }] }), &json!(1), &json!(0));
        check(&json!({ "oneOf": [{ "type": "number" }, { "const": 1 }] }), &json!(2), &json!(1));
        check(&json!({ "properties": { "a": false, "b": true } }), &json!({ "b": 1 }), &json!({ "a": 1 }));
        assert!(fits_schema(&json!({ "maxLength": 1 }), &json!(1)).is_err());
        assert!(fits_schema(&json!({ "pattern": "a" }), &json!("a")).is_err());
        assert!(fits_schema(&json!({ "$ref": "#/$defs/b" }), &json!(1)).is_err());
    }
}
