//! Calls of tools, taken from items, and the items that answer them.

use std::time::Duration;

use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;

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

/// What an item means to whoever runs tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A call to run.
    Call(ToolCall),
    /// A call that nobody can answer; this item says so.
    Unanswerable(Item),
    /// Not a call.
    NoCall,
}

/// Reads an item as a call.
pub fn read(item: &Item) -> Reading {
    match item {
        Item::FunctionCall { name, arguments, call_id, .. } => Reading::Call(ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            payload: Payload::Function { arguments: arguments.clone() },
        }),
        Item::CustomToolCall { call_id, name, input, .. } => Reading::Call(ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            payload: Payload::Custom { input: input.clone() },
        }),
        Item::LocalShellCall { id, call_id, action, .. } => match call_id.as_ref().or(id.as_ref()) {
            Some(call_id) => Reading::Call(ToolCall {
                call_id: call_id.clone(),
                name: "local_shell".to_owned(),
                payload: Payload::LocalShell(action.clone()),
            }),
            None => Reading::Unanswerable(Item::FunctionCallOutput {
                call_id: String::new(),
                output: ToolOutput::Text("LocalShellCall without call_id or id".to_owned()),
            }),
        },
        _ => Reading::NoCall,
    }
}

impl ToolCall {
    /// The item that answers this call with a text.
    pub fn answer(&self, text: String) -> Item {
        let call_id = self.call_id.clone();
        match self.payload {
            Payload::Custom { .. } => Item::CustomToolCallOutput { call_id, output: text },
            Payload::Function { .. } | Payload::LocalShell(_) => {
                Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) }
            }
        }
    }

    /// The answer when there is no such tool.
    pub fn unsupported(&self) -> String {
        match self.payload {
            Payload::Custom { .. } => format!("unsupported custom tool call: {}", self.name),
            Payload::Function { .. } | Payload::LocalShell(_) => format!("unsupported call: {}", self.name),
        }
    }

    /// The answer when a person broke the turn off after this time.
    pub fn aborted(&self, after: Duration) -> String {
        let seconds = after.as_secs_f64().max(0.1);
        match self.name.as_str() {
            "shell" | "container.exec" | "local_shell" | "shell_command" | "unified_exec" => {
                format!("Wall time: {seconds:.1} seconds\naborted by user")
            }
            _ => format!("aborted by user after {seconds:.1}s"),
        }
    }
}
