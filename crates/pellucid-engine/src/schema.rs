//! Schemas that others write for their tools, brought into the form that every model understands.
//!
//! A schema may say the same thing in many ways, and much that no model heeds. What is kept is the
//! type, what it is for, and what it is made of.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

/// Types that a model understands.
const TYPES: [&str; 6] = ["object", "array", "string", "number", "integer", "boolean"];

/// Keys that imply a type where none is given; the first that fits counts.
const IMPLYING: [(&str, &[&str]); 4] = [
    ("object", &["properties", "required", "additionalProperties"]),
    ("array", &["items", "prefixItems"]),
    ("string", &["enum", "const", "format"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
];

/// A schema in that form. Its keys are written in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Schema {
    /// A value that is true or false.
    Boolean {
        /// The description for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A text (`string`) value.
    String {
        /// The description for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A numeric (`number`) value.
    #[serde(alias = "integer")]
    Number {
        /// The description for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A list of values.
    Array {
        /// The schema of the elements.
        items: Box<Self>,
        /// The description for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A table with named values.
    Object {
        /// The schemas of the known properties, by name.
        properties: BTreeMap<String, Self>,
        /// The names of required properties.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        required: Option<Vec<String>>,
        /// The rule for other properties.
        #[serde(rename = "additionalProperties", default, skip_serializing_if = "Option::is_none")]
        additional: Option<Additional>,
    },
}

/// The rule for properties that are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Additional {
    /// Whether any other property is allowed.
    Any(bool),
    /// Other properties have to match this schema.
    Schema(Box<Schema>),
}

impl Schema {
    /// Reads a schema of a server or client.
    ///
    /// # Errors
    /// When it says something that has no such form.
    pub fn read(value: &Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(simplified(value))
    }

    /// Sorts what has no order: the names that are required. Everything else has an order already.
    pub fn sort(&mut self) {
        match self {
            Self::Boolean { .. } | Self::String { .. } | Self::Number { .. } => {}
            Self::Array { items, .. } => items.sort(),
            Self::Object { properties, required, additional } => {
                properties.values_mut().for_each(Self::sort);
                if let Some(required) = required {
                    required.sort();
                    required.dedup();
                }
                if let Some(Additional::Schema(schema)) = additional {
                    schema.sort();
                }
            }
        }
    }
}

fn simplified(value: &Value) -> Value {
    match value {
        Value::Bool(_) => Value::Object(of_type("string")),
        Value::Array(values) => values.iter().map(simplified).collect(),
        Value::Object(table) => Value::Object(simplified_table(table)),
        other => other.clone(),
    }
}

fn simplified_table(table: &Map<String, Value>) -> Map<String, Value> {
    let kind = kind(table);
    let mut simple = of_type(kind);
    if let Some(description) = table.get("description") {
        simple.insert("description".to_owned(), description.clone());
    }
    match kind {
        "object" => {
            let properties = match table.get("properties") {
                None | Some(Value::Null) => Value::Object(Map::new()),
                Some(Value::Object(properties)) => {
                    properties.iter().map(|(name, value)| (name.clone(), simplified(value))).collect()
                }
                Some(other) => other.clone(),
            };
            simple.insert("properties".to_owned(), properties);
            if let Some(required) = table.get("required") {
                simple.insert("required".to_owned(), required.clone());
            }
            match table.get("additionalProperties") {
                Some(Value::Bool(any)) => _ = simple.insert("additionalProperties".to_owned(), (*any).into()),
                Some(other) => _ = simple.insert("additionalProperties".to_owned(), simplified(other)),
                None => {}
            }
        }
        "array" => {
            let items = table.get("items").map_or_else(|| Value::Object(of_type("string")), simplified);
            simple.insert("items".to_owned(), items);
        }
        _ => {}
    }
    simple
}

fn of_type(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), kind.into())])
}

/// The type: the given one, the first known one of several, or the one that other keys imply.
fn kind(table: &Map<String, Value>) -> &str {
    let given = match table.get("type") {
        Some(Value::String(kind)) => Some(kind.as_str()),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| TYPES.contains(kind)),
        _ => None,
    };
    let implied = || IMPLYING.iter().find(|(_, keys)| keys.iter().any(|key| table.contains_key(*key)));
    given.or_else(|| implied().map(|(kind, _)| *kind)).unwrap_or("string")
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_schema(written: &str, expected: &Expect) {
        let schema = Schema::read(&serde_json::from_str(written).unwrap());
        expected.assert_eq(
            &schema.map_or_else(|error| format!("refused: {error}"), |schema| serde_json::to_string(&schema).unwrap()),
        );
    }

    #[test]
    fn what_no_model_heeds_goes() {
        check_schema(
            r#"{"$schema":"x","type":"object","title":"T","description":"d","properties":{"b":{"type":"integer","minimum":1},"a":{"type":"string","description":"A.","enum":["x"]}},"required":["a"],"additionalProperties":false}"#,
            &expect![[
                r#"{"type":"object","properties":{"a":{"type":"string","description":"A."},"b":{"type":"number"}},"required":["a"],"additionalProperties":false}"#
            ]],
        );
    }

    #[test]
    fn types_are_told_by_other_keys() {
        check_schema(
            r#"{"properties":{"any":true,"e":{"enum":[1]},"l":{"items":{}},"m":{"maximum":3},"n":{"type":["null","boolean"]},"o":{"required":["x"]},"x":{}}}"#,
            &expect![[
                r#"{"type":"object","properties":{"any":{"type":"string"},"e":{"type":"string"},"l":{"type":"array","items":{"type":"string"}},"m":{"type":"number"},"n":{"type":"boolean"},"o":{"type":"object","properties":{},"required":["x"]},"x":{"type":"string"}}}"#
            ]],
        );
    }

    #[test]
    fn what_is_missing_is_added() {
        check_schema(r#"{"type":"object","properties":null}"#, &expect![[r#"{"type":"object","properties":{}}"#]]);
        check_schema(r#"{"type":"array"}"#, &expect![[r#"{"type":"array","items":{"type":"string"}}"#]]);
        check_schema(
            r#"{"type":"object","additionalProperties":{"type":"integer"}}"#,
            &expect![[r#"{"type":"object","properties":{},"additionalProperties":{"type":"number"}}"#]],
        );
    }

    #[test]
    fn what_has_no_such_form_is_refused() {
        check_schema(
            r#""text""#,
            &expect![[r#"refused: invalid type: string "text", expected internally tagged enum Schema"#]],
        );
        check_schema(
            r#"{"type":"null"}"#,
            &expect![
                "refused: unknown variant `null`, expected one of `boolean`, `string`, `integer`, `number`, `array`, `object`"
            ],
        );
    }

    #[test]
    fn a_schema_in_that_form_stays_as_it_is() {
        for written in [
            r#"{"type":"string"}"#,
            r#"{"type":"boolean","description":"d"}"#,
            r#"{"type":"array","items":{"type":"number"},"description":"d"}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}"#,
            r#"{"type":"object","properties":{},"additionalProperties":{"type":"array","items":{"type":"string"}}}"#,
        ] {
            let schema = Schema::read(&serde_json::from_str(written).unwrap()).unwrap();
            assert_eq!(serde_json::to_string(&schema).unwrap(), written);
            assert_eq!(Schema::read(&serde_json::to_value(&schema).unwrap()).unwrap(), schema);
        }
    }

    #[test]
    fn wrong_values_in_a_schema_are_refused() {
        check_schema(
            r#"{"type":"object","properties":[]}"#,
            &expect!["refused: invalid type: sequence, expected a map"],
        );
        check_schema(
            r#"{"type":"object","required":"a"}"#,
            &expect![[r#"refused: invalid type: string "a", expected a sequence"#]],
        );
        check_schema(
            r#"{"type":"object","properties":{"a":7}}"#,
            &expect!["refused: invalid type: integer `7`, expected internally tagged enum Schema"],
        );
        check_schema(
            r#"{"type":"string","description":7}"#,
            &expect!["refused: invalid type: integer `7`, expected a string"],
        );
        check_schema(
            r#""text""#,
            &expect![[r#"refused: invalid type: string "text", expected internally tagged enum Schema"#]],
        );
        check_schema("7", &expect!["refused: invalid type: integer `7`, expected internally tagged enum Schema"]);
        check_schema("null", &expect!["refused: invalid type: null, expected internally tagged enum Schema"]);
        check_schema("[]", &expect!["refused: missing field `type`"]);
    }

    #[test]
    fn odd_types_become_the_nearest_that_a_model_understands() {
        check_schema("true", &expect![[r#"{"type":"string"}"#]]);
        check_schema("{}", &expect![[r#"{"type":"string"}"#]]);
        check_schema(
            r#"{"type":"any"}"#,
            &expect![
                "refused: unknown variant `any`, expected one of `boolean`, `string`, `integer`, `number`, `array`, `object`"
            ],
        );
        check_schema(r#"{"type":["null"]}"#, &expect![[r#"{"type":"string"}"#]]);
        check_schema(
            r#"{"type":7,"items":{"type":"integer"}}"#,
            &expect![[r#"{"type":"array","items":{"type":"number"}}"#]],
        );
        check_schema(r#"{"anyOf":[{"type":"string"},{"type":"number"}]}"#, &expect![[r#"{"type":"string"}"#]]);
        check_schema(
            r#"{"type":"array","items":[{"type":"string"},{"type":"number"}]}"#,
            &expect!["refused: invalid type: map, expected variant identifier"],
        );
        check_schema(
            r#"{"type":"object","properties":null,"additionalProperties":{"type":"integer"}}"#,
            &expect![[r#"{"type":"object","properties":{},"additionalProperties":{"type":"number"}}"#]],
        );
    }

    #[test]
    fn names_that_are_required_have_an_order_and_come_once() {
        let written = r#"{"type":"object","properties":{"o":{"type":"array","items":{"type":"object","required":["z","y","z"]}}},
            "required":["b","a","b"],"additionalProperties":{"type":"object","required":["d","c"]}}"#;
        let mut schema = Schema::read(&serde_json::from_str(written).unwrap()).unwrap();
        schema.sort();
        let sorted = serde_json::to_string(&schema).unwrap();
        expect![[r#"{"type":"object","properties":{"o":{"type":"array","items":{"type":"object","properties":{},"required":["y","z"]}}},"required":["a","b"],"additionalProperties":{"type":"object","properties":{},"required":["c","d"]}}"#]].assert_eq(&sorted);
        schema.sort();
        assert_eq!(serde_json::to_string(&schema).unwrap(), sorted);
    }
}
