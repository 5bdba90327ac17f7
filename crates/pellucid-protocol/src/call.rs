//! A call of a tool, whatever API format it came in.

use crate::item::LocalShellAction;

/// A call that the model made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id of the call; its output has the same.
    pub call_id: String,
    /// The name of the tool.
    pub name: String,
    /// The input of the tool.
    pub payload: Payload,
}

/// The input of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// The input of a function tool: text that should be JSON.
    Function {
        /// The text, exactly as the model wrote it.
        arguments: String,
    },
    /// The input of a freeform tool: any text.
    Custom {
        /// The text, exactly as the model wrote it.
        input: String,
    },
    /// The shell call that is part of the Responses API.
    LocalShell(LocalShellAction),
}
