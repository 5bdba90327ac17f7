//! `shell`, `container.exec` and `local_shell`: a program with its arguments runs to its end.

use std::time::Duration;

use pellucid_exec::process::DEFAULT_TIMEOUT;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::command;
use crate::command::Form;
use crate::command::Wanted;
use crate::permit::Rights;

pub(crate) const SHELL: Tool = tool("shell");
pub(crate) const CONTAINER_EXEC: Tool = tool("container.exec");
pub(crate) const LOCAL_SHELL: Tool = tool("local_shell");

const fn tool(name: &'static str) -> Tool {
    Tool {
        name,
        takes: &[Takes::Function, Takes::LocalShell],
        when: When::ShellIsOn,
        effect: Effect::Commands,
        asks: Asks::Decision,
        run: |call, job| Box::pin(run(call, job)),
    }
}

#[derive(Deserialize)]
struct Arguments {
    command: Vec<String>,
    workdir: Option<String>,
    #[serde(alias = "timeout")]
    timeout_ms: Option<u64>,
    sandbox_permissions: Option<SandboxPermissions>,
    justification: Option<String>,
    prefix_rule: Option<Vec<String>>,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = match &call.payload {
        Payload::LocalShell(LocalShellAction::Exec { command, working_directory, timeout_ms, .. }) => Arguments {
            command: command.clone(),
            workdir: working_directory.clone(),
            timeout_ms: *timeout_ms,
            sandbox_permissions: None,
            justification: None,
            prefix_rule: None,
        },
        _ => arguments(call)?,
    };
    let Arguments { command, workdir, timeout_ms, sandbox_permissions, justification, prefix_rule } = wanted;
    let wanted = Wanted {
        tool: call.name.clone(),
        call_id: call.call_id.clone(),
        argv: command,
        cwd: job.situation.folder(workdir.as_deref()),
        timeout: timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
        rights: Rights { sandbox_permissions, justification, prefix_rule },
        form: Form::Json,
    };
    command::run(job, &wanted).await
}
