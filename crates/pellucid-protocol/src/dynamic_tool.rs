//! Tools that the program which drives a session runs itself.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::id::TurnId;

/// Such a tool, as that program describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DynamicToolSpec"))]
#[serde(rename_all = "camelCase")]
pub struct DynamicTool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// A JSON schema of its arguments.
    pub input_schema: Value,
}

/// The model calls such a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCall {
    /// The call.
    pub call_id: String,
    /// In which turn.
    pub turn_id: TurnId,
    /// Which tool.
    pub tool: String,
    /// With what.
    pub arguments: Value,
}

/// What the program answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolResponse {
    /// Texts and pictures.
    pub content_items: Vec<DynamicContent>,
    /// Whether it worked.
    pub success: bool,
}

/// Part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DynamicContent {
    /// A text.
    InputText {
        /// The text.
        text: String,
    },
    /// A picture.
    #[serde(rename_all = "camelCase")]
    InputImage {
        /// A URL or a `data:` URL.
        image_url: String,
    },
}
