//! `shell_command`: a script runs in the person's shell to its end.

use std::time::Duration;

use pellucid_exec::process::DEFAULT_TIMEOUT;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::call::ToolCall;
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
use crate::script_argv::Login;
use crate::script_argv::script_argv;

pub(crate) const TOOL: Tool = Tool {
    name: "shell_command",
    takes: &[Takes::Function],
    when: When::ShellIsOn,
    effect: Effect::Commands,
    asks: Asks::Decision,
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    command: String,
    workdir: Option<String>,
    #[serde(default)]
    login: Login,
    #[serde(alias = "timeout")]
    timeout_ms: Option<u64>,
    sandbox_permissions: Option<SandboxPermissions>,
    justification: Option<String>,
    prefix_rule: Option<Vec<String>>,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { command, workdir, login, timeout_ms, sandbox_permissions, justification, prefix_rule } =
        arguments(call)?;
    let wanted = Wanted {
        tool: call.name.clone(),
        call_id: call.call_id.clone(),
        argv: script_argv(&job.situation.children.shell, login, &command),
        cwd: job.situation.folder(workdir.as_deref()),
        timeout: timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis),
        rights: Rights { sandbox_permissions, justification, prefix_rule },
        form: Form::Lines,
    };
    command::run(job, &wanted).await
}
