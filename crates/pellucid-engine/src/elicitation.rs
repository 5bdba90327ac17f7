//! The form of an MCP server: from its JSON schema to questions for a person, and from the answers to values.
//!
//! The schema of a form has one level: texts, numbers, yes or no, and choices. Other properties are asked for as text.

use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::question::UserAnswers;
use pellucid_protocol::question::UserChoice;
use pellucid_protocol::question::UserQuestion;
use serde_json::Map;
use serde_json::Value;

/// What precedes free text in an answer, as the format has it.
const NOTE: &str = "user_note: ";

/// Why an answer is no value of the form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableAnswer {
    /// The server cannot do without this value.
    #[error("the server needs `{0}`")]
    Missing(String),
    /// The answer is no number of the kind that the server wants.
    #[error("`{name}` is to be {wanted}, not `{given}`")]
    NotA {
        /// The name of the value.
        name: String,
        /// The kind of value, with its article.
        wanted: &'static str,
        /// What the person wrote.
        given: String,
    },
}

/// One value of a form.
struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

/// The questions of a form, one for each value, in the order of the schema. None if the server only wants a yes or a no.
pub fn questions(schema: &Value) -> Vec<UserQuestion> {
    fields(schema).map(|field| field.question()).collect()
}

/// The values of a form. A value without an answer has the default of its schema, or is left out.
///
/// # Errors
/// If a value is missing that the server needs, or has the wrong kind.
pub fn content(schema: &Value, answers: &UserAnswers) -> Result<Value, UnusableAnswer> {
    let mut values = Map::new();
    for field in fields(schema) {
        let answered = answers.answers.get(field.name).map(|answer| answer.answers.as_slice()).unwrap_or_default();
        let given = answered.iter().map(|text| text.strip_prefix(NOTE).unwrap_or(text)).rfind(|text| !text.is_empty());
        let value = given.map(|given| field.value(given)).transpose()?;
        match value.or_else(|| field.default()) {
            Some(value) => drop(values.insert(field.name.to_owned(), value)),
            None if field.is_required => return Err(UnusableAnswer::Missing(field.name.to_owned())),
            None => {}
        }
    }
    Ok(Value::Object(values))
}

/// The values of a form that are known before it is shown; a value that is not has the default of its schema, or is left out.
///
/// # Errors
/// If a value is missing that the server needs.
pub fn known(schema: &Value, values: &Map<String, Value>) -> Result<Value, UnusableAnswer> {
    let mut content = Map::new();
    for field in fields(schema) {
        match values.get(field.name).cloned().or_else(|| field.default()) {
            Some(value) => drop(content.insert(field.name.to_owned(), value)),
            None if field.is_required => return Err(UnusableAnswer::Missing(field.name.to_owned())),
            None => {}
        }
    }
    Ok(Value::Object(content))
}

/// The answer that a server gets: values that an accepted form leaves out have the defaults of its schema, and other
/// answers have no values.
pub fn completed(schema: &Value, answer: ElicitationAnswer) -> ElicitationAnswer {
    if answer.action != ElicitationAction::Accept {
        return ElicitationAnswer { content: None, ..answer };
    }
    let mut values = match answer.content {
        Some(Value::Object(values)) => values,
        Some(other) => return ElicitationAnswer { content: Some(other), ..answer },
        None => Map::new(),
    };
    for field in fields(schema) {
        if let Some(default) = field.default() {
            values.entry(field.name).or_insert(default);
        }
    }
    ElicitationAnswer { content: Some(Value::Object(values)), ..answer }
}

fn fields(schema: &Value) -> impl Iterator<Item = Field<'_>> {
    let required = schema["required"].as_array();
    let is_required = move |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(move |(name, schema)| Field { name, schema, is_required: is_required(name) })
}

impl Field<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.schema[key].as_str().filter(|text| !text.trim().is_empty())
    }

    fn kind(&self) -> &str {
        self.text("type").unwrap_or("string")
    }

    fn default(&self) -> Option<Value> {
        self.schema.get("default").filter(|default| !default.is_null()).cloned()
    }

    /// The values to choose from, with their names for people.
    fn choices(&self) -> Vec<(String, Value)> {
        if self.kind() == "boolean" {
            return vec![("Yes".to_owned(), Value::Bool(true)), ("No".to_owned(), Value::Bool(false))];
        }
        let list = |key: &str| self.schema[key].as_array().into_iter().flatten();
        if let Some(names) = self.schema["enumNames"].as_array() {
            let name = |(value, name): (&Value, &Value)| (plain(name), value.clone());
            return list("enum").zip(names).map(name).collect();
        }
        let titled = |key: &'static str| {
            list(key).filter_map(|choice| Some((plain(choice.get("title")?), choice.get("const")?.clone())))
        };
        let plain_values = list("enum").map(|value| (plain(value), value.clone()));
        plain_values.chain(titled("oneOf")).chain(titled("anyOf")).collect()
    }

    fn question(&self) -> UserQuestion {
        let name = self.text("title").unwrap_or(self.name);
        let mut question = match self.text("description") {
            Some(description) => format!("{name}: {description}"),
            None => name.to_owned(),
        };
        let choices = self.choices();
        match self.default() {
            Some(default) => {
                let named = choices.iter().find(|(_, value)| *value == default).map(|(name, _)| name.clone());
                question += &format!(" (without an answer: {})", named.unwrap_or_else(|| plain(&default)));
            }
            None if !self.is_required => question += " (may stay open)",
            None => {}
        }
        let choice = |(label, _): (String, Value)| UserChoice { label, description: String::new() };
        UserQuestion {
            id: self.name.to_owned(),
            header: name.to_owned(),
            question,
            is_other: false,
            is_secret: self.text("format") == Some("password"),
            options: (!choices.is_empty()).then(|| choices.into_iter().map(choice).collect()),
        }
    }

    /// The value that an answer means.
    fn value(&self, given: &str) -> Result<Value, UnusableAnswer> {
        if let Some((_, value)) = self.choices().into_iter().find(|(name, _)| name == given) {
            return Ok(value);
        }
        let not_a = |wanted| UnusableAnswer::NotA { name: self.name.to_owned(), wanted, given: given.to_owned() };
        match self.kind() {
            "integer" => given.trim().parse::<i64>().map(Value::from).map_err(|_| not_a("a whole number")),
            "number" => given.trim().parse::<f64>().map(Value::from).map_err(|_| not_a("a number")),
            "boolean" => Err(not_a("yes or no")),
            "array" => Ok(given.split(',').map(|part| Value::from(part.trim())).collect()),
            _ => Ok(Value::from(given)),
        }
    }
}

/// A value as people read it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::question::UserAnswer;
    use serde_json::json;

    use super::*;

    fn form() -> Value {
        json!({
            "type": "object",
            "required": ["name", "size"],
            "properties": {
                "name": {"type": "string", "title": "Name", "description": "of the branch"},
                "count": {"type": "integer", "default": 3},
                "share": {"type": "number"},
                "force": {"type": "boolean", "default": false},
                "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
                "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
        })
    }

    #[test]
    fn every_value_becomes_a_question() {
        let mut text = String::new();
        for question in questions(&form()) {
            let labels: Vec<_> = question.options.into_iter().flatten().map(|choice| choice.label).collect();
            text += &format!("{}: {} {labels:?}\n", question.id, question.question);
        }
        expect![[r#"
            name: Name: of the branch []
            count: count (without an answer: 3) []
            share: share (may stay open) []
            force: force (without an answer: No) ["Yes", "No"]
            size: size ["Small", "Large"]
            colour: colour (may stay open) ["Red", "Blue"]
            tags: tags (may stay open) []
        "#]]
        .assert_eq(&text);
        assert_eq!(questions(&json!({"type": "object", "properties": {}})), []);
        assert_eq!(questions(&Value::Null), []);
    }

    /// Checks the values, or why there are none, of answers by the names of values.
    #[track_caller]
    fn check_content(answers: &[(&str, &str)], expected: &Expect) {
        let answer = |text: &str| UserAnswer { answers: vec![text.to_owned()] };
        let answers = answers.iter().map(|(name, text)| ((*name).to_owned(), answer(text))).collect();
        let content = content(&form(), &UserAnswers { answers });
        expected.assert_eq(&content.map_or_else(|error| error.to_string(), |it| it.to_string()));
    }

    #[test]
    fn answers_become_values_of_their_kinds() {
        check_content(
            &[
                ("name", "user_note: main"),
                ("count", "user_note: 12"),
                ("share", "user_note: 0.5"),
                ("force", "Yes"),
                ("size", "Large"),
                ("colour", "Blue"),
                ("tags", "user_note: a, b"),
            ],
            &expect![[
                r#"{"name":"main","count":12,"share":0.5,"force":true,"size":"l","colour":"b","tags":["a","b"]}"#
            ]],
        );
    }

    #[test]
    fn open_values_have_their_defaults_or_are_left_out() {
        check_content(
            &[("name", "user_note: main"), ("size", "Small")],
            &expect![[r#"{"name":"main","count":3,"force":false,"size":"s"}"#]],
        );
    }

    #[test]
    fn what_the_server_cannot_use_is_named() {
        check_content(&[("name", "user_note: main")], &expect!["the server needs `size`"]);
        check_content(
            &[("name", "user_note: main"), ("size", "Small"), ("count", "user_note: many")],
            &expect!["`count` is to be a whole number, not `many`"],
        );
    }

    #[test]
    fn known_values_come_before_defaults() {
        let schema = json!({
            "properties": { "a": {"type": "string", "default": "x"}, "b": {"type": "number"}, "c": {"type": "boolean"} },
            "required": ["a", "b"],
        });
        let values = |values: Value| values.as_object().cloned().unwrap();
        assert_eq!(known(&schema, &values(json!({"b": 2, "z": 1}))), Ok(json!({"a": "x", "b": 2})));
        assert_eq!(known(&schema, &values(json!({"a": "y", "b": 2}))), Ok(json!({"a": "y", "b": 2})));
        assert_eq!(known(&schema, &Map::new()), Err(UnusableAnswer::Missing("b".to_owned())));
        assert_eq!(known(&Value::Null, &Map::new()), Ok(json!({})));
    }

    #[test]
    fn an_accepted_form_has_defaults_and_other_answers_have_no_values() {
        let answer = |action, content| completed(&form(), ElicitationAnswer { action, content });
        let accept = ElicitationAction::Accept;
        assert_eq!(answer(accept, None).content, Some(json!({"count": 3, "force": false})));
        assert_eq!(answer(accept, Some(json!({"count": 5}))).content, Some(json!({"count": 5, "force": false})));
        assert_eq!(answer(ElicitationAction::Decline, Some(json!({"count": 5}))).content, None);
        let empty = completed(&Value::Null, ElicitationAnswer::without_content(accept));
        assert_eq!(empty.content, Some(json!({})));
    }
}
