//! A tool as a pack describes it: `tools/NAME.toml`.
//!
//! Schema and descriptions of one tool in one file. The subset of JSON Schema is what models are
//! offered; the encoder writes it in canonical order.
//!
//! A description may also be in a separate file, which takes precedence: `tools/NAME.md` for the tool,
//! `tools/NAME.PARAMETER.md` for a parameter, with further dots for nested parameters.

use serde::Deserialize;

use super::PackError;
use super::PackFile;
use super::shelf::Shelf;
use super::syntax_error;
use crate::file_version::FileVersion;

/// A tool's schema and descriptions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFile {
    /// The name for the model; the file's name unless given.
    #[serde(default)]
    pub name: String,
    /// The kind of the tool in requests.
    pub kind: ToolKind,
    /// The description for the model.
    #[serde(default)]
    pub description: Option<String>,
    /// The file that defines the tool.
    #[serde(skip)]
    pub file: FileVersion,
    /// The separate file of the description, if there is one.
    #[serde(skip)]
    pub description_file: Option<FileVersion>,
    /// The file with the grammar of a custom tool.
    #[serde(default, rename = "grammar")]
    pub grammar_file: Option<String>,
    /// The grammar, for tools that take free text.
    #[serde(skip)]
    pub grammar: Option<PackFile>,
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
    /// The name of the parameter.
    pub name: String,
    /// The type of the parameter.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// The type of an array's elements, `string` unless given.
    #[serde(default)]
    pub items: Option<ParameterType>,
    /// Whether the parameter must be given.
    #[serde(default)]
    pub required: bool,
    /// The description for the model.
    #[serde(default)]
    pub description: Option<String>,
    /// The separate file of the description, if there is one.
    #[serde(skip)]
    pub description_file: Option<FileVersion>,
    /// Whether an object may have properties that are not listed.
    #[serde(default)]
    pub open: bool,
    /// Properties of an object, or of an array's elements.
    #[serde(default, rename = "property")]
    pub properties: Vec<Self>,
}

/// The JSON types of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    /// A text (`string`) value.
    String,
    /// A numeric (`number`) value.
    Number,
    /// A value that is true or false.
    Boolean,
    /// A list of values.
    Array,
    /// A table with named values.
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
    /// The file of this tool in a pack.
    pub(super) fn file_name(name: &str) -> String {
        format!("tools/{name}.toml")
    }

    /// Reads `tools/NAME.toml` and the files beside it.
    pub(super) fn load(shelf: &Shelf, name: &str) -> Result<Self, PackError> {
        let file = Self::file_name(name);
        let Some(found) = shelf.get(&file) else {
            return Err(PackError::MissingFile { file });
        };
        let mut tool: Self =
            toml::from_str(&found.text).map_err(|error| syntax_error(&found.shown, &found.text, &error))?;
        tool.file = found.shown.clone();
        if let Some(message) = tool.without_effect() {
            return Err(PackError::Syntax { file: found.shown.to_string(), line: 1, column: 1, message });
        }
        if tool.name.is_empty() {
            name.clone_into(&mut tool.name);
        }
        if let Some(grammar) = &tool.grammar_file {
            let missing = || PackError::MissingFile { file: grammar.clone() };
            tool.grammar = Some(shelf.get(grammar).ok_or_else(missing)?.clone());
        }
        let slot = format!("tools/{name}");
        if tool.takes_description()
            && let Some(own) = shelf.get(&format!("{slot}.md"))
        {
            tool.description = Some(own.text.to_string());
            tool.description_file = Some(own.shown.clone());
        }
        for parameter in &mut tool.parameters {
            parameter.describe(shelf, &slot);
        }
        Ok(tool)
    }

    /// A key that no request would show, if there is one.
    fn without_effect(&self) -> Option<String> {
        let kind = match self.kind {
            ToolKind::Function => "function",
            ToolKind::Custom => "custom",
            ToolKind::LocalShell => "local_shell",
            ToolKind::WebSearch => "web_search",
        };
        let refused = |key: &str| Some(format!("`{key}` has no effect in a tool of kind `{kind}`"));
        if self.description.is_some() && !self.takes_description() {
            return refused("description");
        }
        if self.grammar_file.is_some() && self.kind != ToolKind::Custom {
            return refused("grammar");
        }
        if !self.parameters.is_empty() && self.kind != ToolKind::Function {
            return refused("parameter");
        }
        if !self.name.is_empty() && !self.takes_description() {
            return refused("name");
        }
        self.parameters.iter().find_map(|parameter| parameter.without_effect(""))
    }

    /// Whether the wire has a description of such a tool.
    fn takes_description(&self) -> bool {
        matches!(self.kind, ToolKind::Function | ToolKind::Custom)
    }

    /// The slots of its descriptions under this name of its file, each with the text, where there
    /// is one, and the file.
    pub(super) fn descriptions(&self, name: &str) -> Vec<Description<'_>> {
        let slot = format!("tools/{name}");
        let mut all = Vec::new();
        if self.takes_description() {
            let file = self.description_file.as_ref().unwrap_or(&self.file);
            all.push(Description { slot: slot.clone(), text: self.description.as_deref(), file });
        }
        for parameter in &self.parameters {
            parameter.descriptions(&slot, &self.file, &mut all);
        }
        all
    }
}

/// A description and its slot.
pub(super) struct Description<'a> {
    pub slot: String,
    pub text: Option<&'a str>,
    pub file: &'a FileVersion,
}

impl Parameter {
    fn describe(&mut self, shelf: &Shelf, outer: &str) {
        let slot = format!("{outer}.{}", self.name);
        if self.kind == ParameterType::Array {
            self.items.get_or_insert(ParameterType::String);
        }
        if self.takes_description()
            && let Some(own) = shelf.get(&format!("{slot}.md"))
        {
            self.description = Some(own.text.to_string());
            self.description_file = Some(own.shown.clone());
        }
        for property in &mut self.properties {
            property.describe(shelf, &slot);
        }
    }

    /// A key that no request would show, if there is one.
    fn without_effect(&self, outer: &str) -> Option<String> {
        let name = format!("{outer}{}", self.name);
        let refused = |key: &str| {
            Some(format!("parameter `{name}`: `{key}` has no effect with `type = \"{}\"`", self.kind.as_str()))
        };
        if self.description.is_some() && !self.takes_description() {
            return refused("description");
        }
        if self.items.is_some() && self.kind != ParameterType::Array {
            return refused("items");
        }
        if self.open && self.kind != ParameterType::Object {
            return refused("open");
        }
        let has_object = self.kind == ParameterType::Object || self.items == Some(ParameterType::Object);
        if !self.properties.is_empty() && !has_object {
            return refused("property");
        }
        self.properties.iter().find_map(|property| property.without_effect(&format!("{name}.")))
    }

    /// Objects have none on the wire.
    fn takes_description(&self) -> bool {
        self.kind != ParameterType::Object
    }

    fn descriptions<'a>(&'a self, outer: &str, tool_file: &'a FileVersion, all: &mut Vec<Description<'a>>) {
        let slot = format!("{outer}.{}", self.name);
        if self.takes_description() {
            let file = self.description_file.as_ref().unwrap_or(tool_file);
            all.push(Description { slot: slot.clone(), text: self.description.as_deref(), file });
        }
        for property in &self.properties {
            property.descriptions(&slot, tool_file, all);
        }
    }
}
