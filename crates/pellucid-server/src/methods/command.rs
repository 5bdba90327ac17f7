//! `command/exec`: runs one command for the client, without a thread and without approval.
//!
//! The command runs in the configured sandbox unless the client names another one.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use pellucid_agent::login;
use pellucid_agent::sandbox;
use pellucid_config::Config;
use pellucid_exec::environment;
use pellucid_exec::environment::NetworkReach;
use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::DEFAULT_TIMEOUT;
use pellucid_exec::process::ProcessEnd;
use pellucid_exec::process::Variables;
use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::current;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::types::settings;

/// The variable with the id of the session, which a command without a session does not have.
const SESSION_VARIABLE: &str = "CODEX_THREAD_ID";

/// The parameters of `command/exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecParams {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long the command may run, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<i64>,
    /// The working directory; by default the server's.
    #[serde(default)]
    pub cwd: Option<String>,
    /// What the command may touch; by default what the configuration says.
    #[serde(default)]
    pub sandbox_policy: Option<settings::SandboxPolicy>,
}

/// The result of `command/exec`. At most 1 MiB of each stream is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResponse {
    pub exit_code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// Handles `command/exec`.
///
/// # Errors
/// When the command cannot be run as requested, exceeds its timeout, or is killed by a signal.
pub async fn exec(server: &Server, params: CommandExecParams) -> Result<CommandExecResponse, RpcError> {
    if params.command.is_empty() {
        return Err(RpcError::invalid("command must not be empty"));
    }
    let ground = &server.ground;
    let config = current(server, None)?;
    let cwd = params.cwd.map_or_else(|| ground.cwd.clone(), |cwd| ground.cwd.join(cwd));
    let policy = policy(&config, params.sandbox_policy)?;
    let argv = confined(server, &config, &policy, params.command, &cwd).map_err(|reason| failed(&reason))?;
    let command = Command { argv, arg0: None, cwd, env: variables(server, &config, &policy) };
    let limit =
        params.timeout_ms.and_then(|limit| u64::try_from(limit).ok()).map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let finished = process::run(&command, Some(limit), None).await.map_err(|error| failed(&error.to_string()))?;
    match finished.end {
        ProcessEnd::Exited(exit_code) => {
            Ok(CommandExecResponse { exit_code, stdout: finished.stdout.text(), stderr: finished.stderr.text() })
        }
        ProcessEnd::TimedOut => Err(failed("sandbox error: command timed out")),
        ProcessEnd::Signalled(_) => Err(failed("sandbox error: command was killed by a signal")),
    }
}

/// The client's sandbox policy, or the configured one, if the administrator allows it.
fn policy(config: &Config, wanted: Option<settings::SandboxPolicy>) -> Result<SandboxPolicy, RpcError> {
    let Some(wanted) = wanted else { return Ok(config.permissions.sandbox_policy.clone()) };
    let invalid = |reason: String| RpcError::invalid(format!("invalid sandbox policy: {reason}"));
    let policy = SandboxPolicy::try_from(wanted).map_err(|error| invalid(error.to_string()))?;
    let mode = match &policy {
        SandboxPolicy::DangerFullAccess => Some(SandboxMode::DangerFullAccess),
        SandboxPolicy::ReadOnly => Some(SandboxMode::ReadOnly),
        SandboxPolicy::WorkspaceWrite { .. } => Some(SandboxMode::WorkspaceWrite),
        SandboxPolicy::ExternalSandbox { .. } => None,
    };
    match (&config.requirements.sandbox_modes, mode) {
        (Some(allowed), Some(mode)) if !allowed.values().contains(&mode) => {
            Err(invalid(format!("an administrator does not allow {mode}")))
        }
        _ => Ok(policy),
    }
}

fn confined(
    server: &Server,
    config: &Config,
    policy: &SandboxPolicy,
    command: Vec<String>,
    cwd: &Path,
) -> Result<Vec<String>, String> {
    let made = server.sandbox.get_or_init(|| sandbox::of(config));
    let confinement = sandbox::confinement(made, config, &server.ground.env, policy, cwd);
    let argv =
        confinement.and_then(|confinement| confinement.wrap(command.into_iter().map(OsString::from).collect(), cwd));
    let argv = argv.map_err(|error| error.to_string())?;
    let text = |word: OsString| word.into_string().map_err(|_| "a path of the sandbox is not Unicode".to_owned());
    argv.into_iter().map(text).collect()
}

fn variables(server: &Server, config: &Config, policy: &SandboxPolicy) -> Variables {
    let network = match policy {
        SandboxPolicy::DangerFullAccess
        | SandboxPolicy::ExternalSandbox { network_access: NetworkAccess::Enabled }
        | SandboxPolicy::WorkspaceWrite { network_access: true, .. } => NetworkReach::Full,
        _ => NetworkReach::Limited,
    };
    let ours = server.ground.env.variables().iter().map(|(name, value)| (name.clone(), value.clone()));
    let withheld = login::key_variables(config, &server.ground.env);
    let mut variables = environment::variables(&config.shell_environment, ours, &withheld, "", network);
    variables.remove(std::ffi::OsStr::new(SESSION_VARIABLE));
    variables
}

fn failed(reason: &str) -> RpcError {
    RpcError::internal(format!("exec failed: {reason}"))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::Value;
    use serde_json::json;

    use super::*;
    use crate::methods::fixture::World;
    use crate::methods::fixture::world;

    fn unconfined() -> World {
        world(&[("work/sub/file", "")], &["sandbox_mode=danger-full-access"])
    }

    async fn answer(world: &World, params: Value) -> String {
        let params = serde_json::from_str(&world.filled(&params.to_string())).unwrap();
        world.answer(exec(&world.server, params).await)
    }

    async fn check_exec(params: Value, expected: &Expect) {
        expected.assert_eq(&answer(&unconfined(), params).await);
    }

    #[tokio::test]
    async fn a_command_ends_by_itself() {
        check_exec(
            json!({"command": ["bash", "-c", "echo out; echo err >&2; exit 3"]}),
            &expect![[r#"
            {
              "exitCode": 3,
              "stdout": "out\n",
              "stderr": "err\n"
            }"#]],
        )
        .await;
        check_exec(
            json!({"command": ["pwd"], "cwd": "$R/work/sub"}),
            &expect![[r#"
            {
              "exitCode": 0,
              "stdout": "$R/work/sub\n",
              "stderr": ""
            }"#]],
        )
        .await;
        check_exec(
            json!({"command": ["cat"]}),
            &expect![[r#"
            {
              "exitCode": 0,
              "stdout": "",
              "stderr": ""
            }"#]],
        )
        .await;
        check_exec(
            json!({"command": ["bash", "-c", "echo $CODEX_THREAD_ID"]}),
            &expect![[r#"
            {
              "exitCode": 0,
              "stdout": "\n",
              "stderr": ""
            }"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_run_is_an_error() {
        check_exec(json!({"command": []}), &expect!["-32600: command must not be empty"]).await;
        check_exec(
            json!({"command": ["no-such-program-here"]}),
            &expect!["-32603: exec failed: No such file or directory (os error 2)"],
        )
        .await;
        let restricted = json!({"type": "readOnly", "access": {"type": "restricted"}});
        check_exec(
            json!({"command": ["true"], "sandboxPolicy": restricted}),
            &expect![[
                r#"-32600: invalid sandbox policy: restricted read access is not supported; use {"type":"fullAccess"}"#
            ]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_violent_end_is_an_error() {
        check_exec(
            json!({"command": ["sleep", "60"], "timeoutMs": 50}),
            &expect!["-32603: exec failed: sandbox error: command timed out"],
        )
        .await;
        check_exec(
            json!({"command": ["bash", "-c", "kill -9 $$"]}),
            &expect!["-32603: exec failed: sandbox error: command was killed by a signal"],
        )
        .await;
    }

    #[tokio::test]
    async fn output_is_bounded() {
        let world = unconfined();
        let script = "head -c 3000000 /dev/zero | tr '\\0' x";
        let params = serde_json::from_value(json!({"command": ["bash", "-c", script]})).unwrap();
        assert_eq!(exec(&world.server, params).await.unwrap().stdout.len(), 1 << 20);
    }

    #[tokio::test]
    async fn the_client_may_name_the_sandbox() {
        let world = world(&[], &[]);
        let params =
            json!({"command": ["bash", "-c", "echo x > w.txt"], "sandboxPolicy": {"type": "dangerFullAccess"}});
        answer(&world, params).await;
        assert_eq!(world.read("work/w.txt"), "x\n");
    }
}
