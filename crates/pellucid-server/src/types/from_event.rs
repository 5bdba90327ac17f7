//! Items that are made from events of tools.

use pellucid_engine::command_line::joined;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::change::Changes;
use pellucid_protocol::change::PatchApplyEnd;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpToolCallBegin;
use pellucid_protocol::mcp::McpToolCallEnd;

use super::change::PatchApplyStatus;
use super::change::updates;
use super::command::CommandExecutionStatus;
use super::command::actions;
use super::item::ThreadItem;
use super::mcp::McpToolCallError;
use super::mcp::McpToolCallResult;
use super::mcp::McpToolCallStatus;

impl ThreadItem {
    /// The item of a patch in this state.
    pub fn patch(call_id: &str, changes: &Changes, status: PatchApplyStatus) -> Self {
        Self::FileChange { id: call_id.to_owned(), changes: updates(changes), status }
    }

    /// The item of a call of an MCP server's tool, without its result.
    fn server_call(call_id: &str, invocation: &McpInvocation, status: McpToolCallStatus) -> Self {
        Self::McpToolCall {
            id: call_id.to_owned(),
            server: invocation.server.clone(),
            tool: invocation.tool.clone(),
            status,
            arguments: invocation.arguments.clone().unwrap_or_default(),
            result: None,
            error: None,
            duration_ms: None,
        }
    }

    /// The item of a command that waits for approval or was declined.
    pub fn unrun(request: &ExecApprovalRequest, status: CommandExecutionStatus) -> Self {
        Self::CommandExecution {
            id: request.call_id.clone(),
            command: joined(&request.command),
            cwd: request.cwd.clone(),
            process_id: None,
            status,
            command_actions: actions(&request.parsed_cmd),
            aggregated_output: None,
            exit_code: None,
            duration_ms: None,
        }
    }
}

impl From<&ExecCommandBegin> for ThreadItem {
    fn from(begin: &ExecCommandBegin) -> Self {
        Self::CommandExecution {
            id: begin.call_id.clone(),
            command: joined(&begin.command),
            cwd: begin.cwd.clone(),
            process_id: begin.process_id.clone(),
            status: CommandExecutionStatus::InProgress,
            command_actions: actions(&begin.parsed_cmd),
            aggregated_output: None,
            exit_code: None,
            duration_ms: None,
        }
    }
}

impl From<&ExecCommandEnd> for ThreadItem {
    fn from(end: &ExecCommandEnd) -> Self {
        let output = &end.aggregated_output;
        Self::CommandExecution {
            id: end.begin.call_id.clone(),
            command: joined(&end.begin.command),
            cwd: end.begin.cwd.clone(),
            process_id: end.begin.process_id.clone(),
            status: end.status.into(),
            command_actions: actions(&end.begin.parsed_cmd),
            aggregated_output: (!output.is_empty()).then(|| output.clone()),
            exit_code: Some(end.exit_code),
            duration_ms: Some(i64::try_from(end.duration.as_millis()).unwrap_or(i64::MAX)),
        }
    }
}

impl From<&McpToolCallBegin> for ThreadItem {
    fn from(begin: &McpToolCallBegin) -> Self {
        Self::server_call(&begin.call_id, &begin.invocation, McpToolCallStatus::InProgress)
    }
}

impl From<&McpToolCallEnd> for ThreadItem {
    fn from(end: &McpToolCallEnd) -> Self {
        let status = if end.is_success() { McpToolCallStatus::Completed } else { McpToolCallStatus::Failed };
        let mut item = Self::server_call(&end.call_id, &end.invocation, status);
        if let Self::McpToolCall { result, error, duration_ms, .. } = &mut item {
            match &end.result {
                Ok(answer) => {
                    let (content, structured_content) = (answer.content.clone(), answer.structured_content.clone());
                    *result = Some(McpToolCallResult { content, structured_content });
                }
                Err(message) => *error = Some(McpToolCallError { message: message.clone() }),
            }
            *duration_ms = Some(i64::try_from(end.duration.as_millis()).unwrap_or(i64::MAX));
        }
        item
    }
}

impl From<&PatchApplyEnd> for ThreadItem {
    fn from(end: &PatchApplyEnd) -> Self {
        Self::patch(&end.call_id, &end.changes, end.status.into())
    }
}
