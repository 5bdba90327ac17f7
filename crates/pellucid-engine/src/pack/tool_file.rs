//! A tool as a pack describes it: `tools/NAME.toml`.
//!
//! Schema and descriptions of one tool in one file. The subset of JSON Schema is what models are
//! offered; the encoder writes it in canonical order.

use serde::Deserialize;

use super::PackError;
use super::syntax_error;

/// A tool's schema and descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFile {
    /// Its name; the file's name unless given.
    #[serde(default)]
    pub name: String,
    /// Its kind on the wire.
    pub kind: ToolKind,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The file with the grammar of a custom tool.
    #[serde(default, rename = "grammar")]
    pub grammar_file: Option<String>,
    /// The grammar itself.
    #[serde(skip)]
    pub grammar: Option<String>,
    /// Parameters of a function, in the order in which required ones are listed.
    #[serde(default, rename = "parameter")]
    pub parameters: Vec<Parameter>,
}

/// Kinds of tools on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Called with JSON arguments.
    Function,
    /// Called with raw text under a grammar.
    Custom,
    /// The wire's own shell.
    LocalShell,
    /// The provider's own search.
    WebSearch,
}

/// A parameter, or a property of one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// The type of an array's elements.
    #[serde(default)]
    pub items: Option<ParameterType>,
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
    /// What it means.
    #[serde(default)]
    pub description: Option<String>,
    /// Properties of an object, or of an array's elements.
    #[serde(default, rename = "property")]
    pub properties: Vec<Self>,
}

/// Types of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    /// Text.
    String,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// Several.
    Array,
    /// Properties.
    Object,
}

impl ParameterType {
    /// The word in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl ToolFile {
    pub(super) fn parse(file: &str, default_name: &str, text: &str) -> Result<Self, PackError> {
        let mut tool: Self = toml::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
        if tool.name.is_empty() {
            default_name.clone_into(&mut tool.name);
        }
        Ok(tool)
    }
}
