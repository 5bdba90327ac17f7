//! Tests: what an expression may ask after `is`, and what `select` and `reject` choose by.

use crate::expression::contains;
use crate::filters::Given;
use crate::filters::is_space;
use crate::text::Provenance;
use crate::value::Value;
use crate::value::missing;

/// Every test with what it asks.
pub const TESTS: &[(&str, &str)] = &[
    ("blank", "has no characters but white space"),
    ("defined", "exists"),
    ("endingwith", "ends with the text that is given"),
    ("equalto", "is equal to the value that is given"),
    ("in", "is one of the values that are given"),
    ("none", "is not known"),
    ("number", "is a number"),
    ("startingwith", "begins with the text that is given"),
    ("string", "is a text"),
    ("undefined", "does not exist"),
];

pub(crate) fn known(name: &str) -> Option<&'static str> {
    TESTS.iter().map(|(known, _)| *known).find(|known| *known == name)
}

pub(crate) fn listed() -> String {
    TESTS.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether a test holds.
pub(crate) fn holds<O: Provenance>(name: &str, value: &Value<O>, mut given: Given<O>) -> Result<bool, String> {
    let is_missing = matches!(value, Value::Missing(_));
    let holds = match (name, value) {
        ("defined", _) => !is_missing,
        ("undefined", _) => is_missing,
        (_, Value::Missing(name)) => return Err(missing(name)),
        ("none", _) => matches!(value, Value::None),
        ("number", _) => matches!(value, Value::Number(..)),
        ("string", _) => matches!(value, Value::Text(_)),
        ("blank", Value::Text(text)) => text.plain().chars().all(is_space),
        ("blank", Value::None) => true,
        ("equalto", _) => value.equals(&given.need("other", name)?)?,
        ("in", _) => contains(&given.need("values", name)?, value)?,
        ("startingwith", Value::Text(text)) => text.plain().starts_with(&given.need_text("text", name)?),
        ("endingwith", Value::Text(text)) => text.plain().ends_with(&given.need_text("text", name)?),
        (_, other) => return Err(format!("`{name}` is a test for texts, not for {}", other.kind())),
    };
    given.finish(name)?;
    Ok(holds)
}
