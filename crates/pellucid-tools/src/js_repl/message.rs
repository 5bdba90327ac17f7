//! The messages between us and the kernel: JSON, one message on each line.

use pellucid_protocol::item::Item;
use serde::Deserialize;
use serde::Serialize;

/// The messages to the kernel.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ToKernel<'a> {
    /// Runs a piece of code.
    Exec { id: &'a str, code: &'a str, timeout_ms: u64 },
    /// A tool that a piece called has ended.
    RunToolResult { id: &'a str, ok: bool, response: Option<&'a Item>, error: Option<&'a str> },
}

/// The messages of the kernel.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum FromKernel {
    /// A piece has ended.
    ExecResult {
        id: String,
        ok: bool,
        #[serde(default)]
        output: String,
        error: Option<String>,
    },
    /// A piece calls a tool.
    RunTool { id: String, exec_id: String, tool_name: String, arguments: String },
}

impl ToKernel<'_> {
    pub(super) fn line(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| format!("failed to serialize kernel message: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::item::ToolOutput;

    use super::*;

    #[test]
    fn our_lines_are_these() {
        let item = Item::FunctionCallOutput { call_id: "e-tool-0".into(), output: ToolOutput::Text("hi".into()) };
        let lines = [
            ToKernel::Exec { id: "e", code: "let x\n", timeout_ms: 30_000 },
            ToKernel::RunToolResult { id: "e-tool-0", ok: true, response: Some(&item), error: None },
            ToKernel::RunToolResult { id: "e-tool-0", ok: false, response: None, error: Some("no") },
        ];
        let lines = lines.map(|message| message.line().unwrap());
        expect![[r#"
            {"type":"exec","id":"e","code":"let x\n","timeout_ms":30000}
            {"type":"run_tool_result","id":"e-tool-0","ok":true,"response":{"type":"function_call_output","call_id":"e-tool-0","output":"hi"},"error":null}
            {"type":"run_tool_result","id":"e-tool-0","ok":false,"response":null,"error":"no"}"#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn its_lines_are_understood() {
        let read = |line: &str| serde_json::from_str::<FromKernel>(line).unwrap();
        assert_eq!(
            read(r#"{"type":"exec_result","id":"e","ok":false,"output":"","error":"boom"}"#),
            FromKernel::ExecResult { id: "e".into(), ok: false, output: String::new(), error: Some("boom".into()) }
        );
        assert_eq!(
            read(r#"{"type":"run_tool","id":"e-tool-0","exec_id":"e","tool_name":"shell","arguments":"{}"}"#),
            FromKernel::RunTool {
                id: "e-tool-0".into(),
                exec_id: "e".into(),
                tool_name: "shell".into(),
                arguments: "{}".into()
            }
        );
    }
}
