//! What expressions are evaluated to.

use std::sync::Arc;

use serde_json::Number;

use crate::text::Provenance;
use crate::text::Text;

/// A value, whose texts and numbers carry their origin.
#[derive(Debug, Clone)]
pub enum Value<O> {
    /// Nothing: a fact that is not known.
    None,
    /// A name that the value before the dot does not have; an error unless `is defined` or `default` looks at it.
    Missing(Arc<str>),
    /// Yes or no. It has no origin, since it cannot be written.
    Bool(bool),
    /// A whole number or a fraction.
    Number(Number, O),
    /// A text in pieces.
    Text(Text<O>),
    /// Values in their order.
    List(Arc<[Self]>),
    /// Values by name, in the order in which they were given, and the origin of the names.
    Map(Arc<[(Arc<str>, Self)]>, O),
    /// A namespace of the evaluation that is under way, by its number.
    Namespace(usize),
}

impl<O: Provenance> Value<O> {
    /// A text of one origin.
    pub fn text(origin: O, text: impl Into<Arc<str>>) -> Self {
        Self::Text(Text::new(origin, text))
    }

    /// A text that may not be known.
    pub fn optional(origin: &O, text: Option<&str>) -> Self {
        text.map_or(Self::None, |text| Self::text(origin.clone(), text))
    }

    /// A list of values.
    pub fn list(values: impl IntoIterator<Item = Self>) -> Self {
        Self::List(values.into_iter().collect())
    }

    /// Values by name, and the origin of the names.
    pub fn map<'n>(origin: &O, values: impl IntoIterator<Item = (&'n str, Self)>) -> Self {
        Self::Map(values.into_iter().map(|(name, value)| (name.into(), value)).collect(), origin.clone())
    }

    /// A whole number.
    pub fn count(origin: O, n: usize) -> Self {
        Self::Number(n.into(), origin)
    }

    /// A value of JSON, all of one origin.
    pub fn json(origin: &O, value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::None,
            serde_json::Value::Bool(is_true) => Self::Bool(*is_true),
            serde_json::Value::Number(number) => Self::Number(number.clone(), origin.clone()),
            serde_json::Value::String(text) => Self::text(origin.clone(), text.as_str()),
            serde_json::Value::Array(values) => Self::list(values.iter().map(|value| Self::json(origin, value))),
            serde_json::Value::Object(values) => {
                Self::map(origin, values.iter().map(|(name, value)| (name.as_str(), Self::json(origin, value))))
            }
        }
    }

    /// How many steps it takes to go through the value once.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.n_pieces() / 16 + text.len() / 256,
            Self::List(values) => values.len(),
            Self::Map(values, _) => values.len(),
            _ => 0,
        }
    }

    /// The kind as people call it, for errors.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Missing(_) => "a missing name",
            Self::Bool(_) => "a boolean",
            Self::Number(..) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(..) => "a map",
            Self::Namespace(_) => "a namespace",
        }
    }

    /// Whether a condition takes the value for true: not none, false, zero or empty.
    pub(crate) fn truth(&self) -> Result<bool, String> {
        Ok(match self {
            Self::None => false,
            Self::Missing(name) => return Err(missing(name)),
            Self::Bool(is_true) => *is_true,
            Self::Number(number, _) => number.as_f64() != Some(0.0),
            Self::Text(text) => !text.is_empty(),
            Self::List(values) => !values.is_empty(),
            Self::Map(values, _) => !values.is_empty(),
            Self::Namespace(_) => true,
        })
    }

    /// The value of a name in a map.
    pub(crate) fn named(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(values, _) => values.iter().find(|(known, _)| **known == *name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// What is written for the value.
    pub(crate) fn written(&self) -> Result<Text<O>, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Number(number, origin) => Ok(Text::new(origin.clone(), number.to_string())),
            Self::Missing(name) => Err(missing(name)),
            Self::None => Err("none cannot be written; say what to write instead: `default(\"…\")`".to_owned()),
            Self::Bool(_) => Err("a boolean cannot be written; say the word: `\"yes\" if … else \"no\"`".to_owned()),
            Self::List(_) => Err("a list cannot be written; use `join` or a loop".to_owned()),
            Self::Map(..) => Err("a map cannot be written; name one of its values, or use `json`".to_owned()),
            Self::Namespace(_) => Err("a namespace cannot be written; name one of its values".to_owned()),
        }
    }

    /// Whether two values are equal, whatever their origins.
    pub(crate) fn equals(&self, other: &Self) -> Result<bool, String> {
        Ok(match (self, other) {
            (Self::Missing(name), _) | (_, Self::Missing(name)) => return Err(missing(name)),
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a, _), Self::Number(b, _)) => a.as_f64() == b.as_f64(),
            (Self::Text(a), Self::Text(b)) => a.len() == b.len() && a.compare(b).is_eq(),
            (Self::List(a), Self::List(b)) => a.len() == b.len() && all(a.iter().zip(b.iter()), Self::equals)?,
            (Self::Map(a, _), Self::Map(b, _)) => {
                let pairs = a.iter().map(|(name, value)| (value, other.named(name)));
                a.len() == b.len() && all(pairs, |value, other| other.map_or(Ok(false), |other| value.equals(other)))?
            }
            _ => false,
        })
    }
}

/// The error for a name that nothing has.
pub(crate) fn missing(name: &str) -> String {
    format!("`{name}` is not defined; test it with `is defined`, or give a value with `default`")
}

fn all<A, B>(
    pairs: impl IntoIterator<Item = (A, B)>,
    holds: impl Fn(A, B) -> Result<bool, String>,
) -> Result<bool, String> {
    for (a, b) in pairs {
        if !holds(a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}
