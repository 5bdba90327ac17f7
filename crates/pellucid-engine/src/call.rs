//! Calls of tools, taken from items, and the items that answer them.

use std::time::Duration;

use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;

use crate::mcp;

/// The meaning of an item for the code that runs tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallReading {
    /// A call to run.
    Call(ToolCall),
    /// A call that no tool can answer; this item is the answer.
    Unanswerable(Item),
    /// The item is not a call.
    NoCall,
}

/// Reads an item as a call.
pub fn read(item: &Item) -> CallReading {
    match item {
        Item::FunctionCall { name, arguments, call_id, .. } => CallReading::Call(ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            payload: Payload::Function { arguments: arguments.clone() },
        }),
        Item::CustomToolCall { call_id, name, input, .. } => CallReading::Call(ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            payload: Payload::Custom { input: input.clone() },
        }),
        Item::LocalShellCall { id, call_id, action, .. } => match call_id.as_ref().or(id.as_ref()) {
            Some(call_id) => CallReading::Call(ToolCall {
                call_id: call_id.clone(),
                name: "local_shell".to_owned(),
                payload: Payload::LocalShell(action.clone()),
            }),
            None => CallReading::Unanswerable(Item::FunctionCallOutput {
                call_id: String::new(),
                output: ToolOutput::Text("LocalShellCall without call_id or id".to_owned()),
            }),
        },
        _ => CallReading::NoCall,
    }
}

/// The item that answers a call. Raw calls are answered in raw text: of several parts only the
/// texts that say something.
pub fn answer(call: &ToolCall, output: impl Into<ToolOutput>) -> Item {
    let (call_id, output) = (call.call_id.clone(), output.into());
    match (&call.payload, output) {
        (Payload::Custom { .. }, ToolOutput::Text(output)) => Item::CustomToolCallOutput { call_id, output },
        (Payload::Custom { .. }, ToolOutput::Parts(parts)) => {
            let texts = parts.iter().filter_map(|part| match part {
                ContentPart::InputText { text } if !text.trim().is_empty() => Some(text.as_str()),
                _ => None,
            });
            Item::CustomToolCallOutput { call_id, output: texts.collect::<Vec<_>>().join("\n") }
        }
        (Payload::Function { .. } | Payload::LocalShell(_), output) => Item::FunctionCallOutput { call_id, output },
    }
}

/// The answer to a call of an unknown tool.
pub fn unsupported(call: &ToolCall) -> String {
    match call.payload {
        Payload::Custom { .. } => format!("unsupported custom tool call: {}", call.name),
        Payload::Function { .. } | Payload::LocalShell(_) => format!("unsupported call: {}", call.name),
    }
}

/// The answer to a call that the user interrupted after this time.
pub fn aborted(call: &ToolCall, after: Duration) -> String {
    let seconds = after.as_secs_f64().max(0.1);
    match call.name.as_str() {
        "shell" | "container.exec" | "local_shell" | "shell_command" | "unified_exec" => {
            format!("Wall time: {seconds:.1} seconds\naborted by user")
        }
        // Failures of servers' tools are quoted.
        name if name.starts_with(mcp::PREFIX) => format!("err: \"aborted by user after {seconds:.1}s\""),
        _ => format!("aborted by user after {seconds:.1}s"),
    }
}

#[cfg(test)]
mod tests;
