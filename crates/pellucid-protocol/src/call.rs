//! A call of a tool, whatever wire it came over.

use crate::item::LocalShellAction;

/// A call that the model made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Pairs the call with its output.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub payload: Payload,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// Text that should be JSON.
    Function {
        /// The text.
        arguments: String,
    },
    /// Raw text.
    Custom {
        /// The text.
        input: String,
    },
    /// The wire's own shell call.
    LocalShell(LocalShellAction),
}
