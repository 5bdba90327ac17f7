//! Tools that the client of a session runs.

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::id::TurnId;

/// A client's tool, as the client describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DynamicToolSpec"))]
#[serde(rename_all = "camelCase")]
pub struct DynamicTool {
    /// The name by which the model calls the tool.
    pub name: String,
    /// When the model should use the tool.
    pub description: String,
    /// A JSON schema of its arguments.
    pub input_schema: Value,
}

/// The model calls a client's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolCall {
    /// The id of the call; the response names it.
    pub call_id: String,
    /// The turn that waits for the response.
    pub turn_id: TurnId,
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the call, as JSON.
    pub arguments: Value,
}

/// The client's response to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolResponse {
    /// The texts and images for the model, in order.
    pub content_items: Vec<DynamicContent>,
    /// Whether the tool succeeded.
    pub success: bool,
}

/// A text or an image in a client's response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DynamicContent {
    /// A text for the model.
    InputText {
        /// The text that the model reads.
        text: String,
    },
    /// An image for the model.
    #[serde(rename_all = "camelCase")]
    InputImage {
        /// A URL or a `data:` URL.
        image_url: String,
    },
}
