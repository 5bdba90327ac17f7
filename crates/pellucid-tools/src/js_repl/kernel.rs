//! The kernel's process, and a piece of JavaScript from its start to its end.
//!
//! The kernel is started like any command of the turn: with the same variables and behind the same
//! sandbox. Tools that a piece calls run here, side by side with the piece.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_engine::call;
use pellucid_exec::dialogue::Dialogue;
use pellucid_exec::dialogue::ProcessStatus;
use pellucid_exec::dialogue::Silence;
use pellucid_exec::process::Command;
use pellucid_files::Folder;
use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_tasks::contained;
use serde::Serialize;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio::time::sleep_until;

use super::NAME;
use super::RESET_NAME;
use super::message::FromKernel;
use super::message::ToKernel;
use super::node;
use crate::CallContext;
use crate::Caller;
use crate::NoOutcome;
use crate::noted;
use crate::situation::Situation;
use crate::toolbox::Confined;

/// The source of the kernel.
const PROGRAM: &str = include_str!("kernel.mjs");

/// The options of Node, besides the program. Packages are looked for from the working folder, which the second option
/// is for.
const OPTIONS: [&str; 3] =
    ["--experimental-vm-modules", "--experimental-import-meta-resolve", "--disable-warning=ExperimentalWarning"];

/// The limits of a kernel. A kernel that was started under other limits is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits {
    sandbox_policy: SandboxPolicy,
    writable_roots: Vec<PathBuf>,
}

impl Limits {
    pub(super) fn of(situation: &Situation) -> Self {
        let Situation { sandbox_policy, writable_roots, .. } = situation;
        Self { sandbox_policy: sandbox_policy.clone(), writable_roots: writable_roots.clone() }
    }
}

/// A running kernel. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Kernel {
    dialogue: Dialogue,
    limits: Limits,
    /// The sandbox that confines the kernel.
    pub(super) sandbox: HeldSandbox,
    /// The folder with the kernel's program and files of pieces. Removed with the kernel.
    _folder: TempDir,
}

/// Why a piece did not run to its end.
#[derive(Debug)]
pub(super) enum Trouble {
    TimedOut,
    Silent(Silence),
}

/// Details about the end of a kernel, for debugging.
#[derive(Serialize)]
struct Diagnostics<'a> {
    reason: &'a str,
    stream_error: Option<String>,
    kernel_pid: Option<u32>,
    kernel_status: String,
    kernel_stderr_tail: String,
}

/// Commands may write where temporary folders are: what was put in the place of this one is not followed.
fn write_program(folder: &Path, program: &Path) -> io::Result<()> {
    let (Some(above), Some(name), Some(file)) = (folder.parent(), folder.file_name(), program.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let folder = Folder::open(above, None)?.folder(Path::new(name))?;
    folder.create(file, 0o600)?.write_all(PROGRAM.as_bytes())
}

impl Kernel {
    /// Starts a kernel. The error text is sent to the model.
    pub(super) async fn start(job: &CallContext, limits: Limits) -> Result<Self, String> {
        let situation = &job.situation;
        let mut env = situation.children.environment.clone();
        let node = node::find(job.toolbox.node_paths(), env.get(OsStr::new("PATH")).map(OsString::as_os_str));
        let node = node.map_err(|error| error.to_string())?;
        let folder = tempfile::tempdir().map_err(|error| format!("failed to create js_repl temp dir: {error}"))?;
        let program = folder.path().join("kernel.mjs");
        write_program(folder.path(), &program).map_err(|error| format!("failed to write js_repl kernel: {error}"))?;
        env.insert("CODEX_JS_TMP_DIR".into(), folder.path().into());
        env.insert("CODEX_JS_REPL_HOME".into(), job.toolbox.home().join(NAME).into());

        // If commands may write at all, the kernel may write in its folder too.
        let mut confined = (**situation).clone();
        confined.writable_roots.push(folder.path().to_owned());
        let made = job.toolbox.roots().made(folder.path());
        made.map_err(|error| format!("failed to create js_repl temp dir: {error}"))?;
        let command = |arguments: &[&str]| {
            let text = |path: &Path| path.to_string_lossy().into_owned();
            let argv: Vec<String> =
                [text(&node)].into_iter().chain(arguments.iter().map(|it| (*it).to_owned())).collect();
            let argv = job.toolbox.confine(&argv, &situation.cwd, &confined);
            let confined = argv.map_err(|error| format!("failed to configure sandbox for js_repl: {error}"))?;
            let Confined { argv, sandbox } = confined;
            Ok::<_, String>((Command { argv, arg0: None, cwd: situation.cwd.clone(), env: env.clone() }, sandbox))
        };
        node::check(&node, &command(&["--version"])?.0).await.map_err(|error| error.to_string())?;
        let program = program.to_string_lossy();
        let arguments: Vec<&str> = OPTIONS.into_iter().chain([&*program]).collect();
        let (command, sandbox) = command(&arguments)?;
        let dialogue = Dialogue::start(&command).await;
        let dialogue = dialogue.map_err(|error| format!("failed to start Node runtime: {error}"))?;
        Ok(Self { dialogue, limits, sandbox, _folder: folder })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Runs a piece. What it printed, or what it threw.
    pub(super) async fn execute(
        &mut self,
        job: &CallContext,
        code: &str,
        timeout: Duration,
    ) -> Result<Result<String, String>, Trouble> {
        let exec = uuid::Uuid::new_v4().to_string();
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        match (ToKernel::Exec { id: &exec, code, timeout_ms }).line() {
            Ok(line) => self.dialogue.say(&line),
            Err(error) => return Ok(Err(error)),
        }
        // A deadline that cannot be represented counts as none.
        let over = Instant::now().checked_add(timeout);
        let mut calls: JoinSet<(String, Result<Item, String>)> = JoinSet::new();
        let mut result: Option<Result<String, String>> = None;
        loop {
            // Calls that the piece did not await still belong to the piece.
            if let Some(result) = result.take_if(|_| calls.is_empty()) {
                return Ok(result);
            }
            tokio::select! {
                () = at(over) => return Err(Trouble::TimedOut),
                Some(ended) = calls.join_next() => {
                    if let Ok((id, outcome)) = ended {
                        self.answer(&id, &outcome);
                    }
                }
                line = self.dialogue.hear() => match serde_json::from_str(&line.map_err(Trouble::Silent)?) {
                    Ok(FromKernel::ExecResult { id, ok, output, error }) if id == exec => {
                        result = Some(if ok { Ok(output) } else { Err(error.unwrap_or_default()) });
                    }
                    Ok(FromKernel::ExecResult { .. }) => {}
                    Ok(FromKernel::RunTool { id, exec_id, .. }) if exec_id != exec => {
                        self.answer(&id, &Err("js_repl exec context not found".to_owned()));
                    }
                    Ok(FromKernel::RunTool { id, tool_name, arguments, .. }) => {
                        // Noted here, in the order in which the piece calls them.
                        let job = CallContext { notes: job.notes.inner(&id, &tool_name), ..job.clone() };
                        calls.spawn(async move {
                            let ran = contained("js_repl call", run_tool(&job, id.clone(), tool_name, arguments)).await;
                            (id, ran.unwrap_or_else(|failed| Err(failed.to_string())))
                        });
                    }
                    Err(error) => tracing::warn!(%error, "js_repl kernel sent invalid json"),
                }
            }
        }
    }

    /// Sends the result of a tool to the kernel.
    fn answer(&mut self, id: &str, outcome: &Result<Item, String>) {
        let (response, error) = match outcome {
            Ok(item) => (Some(item), None),
            Err(error) => (None, Some(error.as_str())),
        };
        let line = ToKernel::RunToolResult { id, ok: outcome.is_ok(), response, error }.line();
        match line {
            Ok(line) => self.dialogue.say(&line),
            Err(error) => tracing::warn!(%error, "a tool's answer does not reach the kernel"),
        }
    }

    /// Ends the kernel, and waits for its end.
    pub(super) async fn end(self) {
        self.dialogue.end().await;
    }

    /// The text for the model about a kernel that fell silent. The kernel is ended if it still runs.
    pub(super) async fn post_mortem(self, silence: &Silence) -> String {
        let (text, reason, stream_error) = match silence {
            Silence::Ended => ("js_repl kernel exited unexpectedly".to_owned(), "stdout_eof", None),
            Silence::Deaf(error) => {
                let text = format!("failed to write to kernel: {error}");
                (text.clone(), "write_failed", Some(text))
            }
            Silence::Unreadable(error) => {
                ("js_repl kernel exited unexpectedly".to_owned(), "stdout_read_error", Some(error.to_string()))
            }
        };
        let remains = self.dialogue.remains().await;
        let diagnostics = Diagnostics {
            reason,
            stream_error,
            kernel_pid: remains.id,
            kernel_status: match remains.status {
                ProcessStatus::Running => "running".to_owned(),
                ProcessStatus::Exited(code) => format!("exited(code={code})"),
                ProcessStatus::Signalled(signal) => format!("exited(signal={signal})"),
            },
            kernel_stderr_tail: remains.stderr.join(" | "),
        };
        let diagnostics = serde_json::to_string(&diagnostics).unwrap_or_default();
        format!("{text}\n\njs_repl diagnostics: {diagnostics}")
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Runs a tool for a piece. The error is what the piece's promise is rejected with.
async fn run_tool(job: &CallContext, call_id: String, name: String, arguments: String) -> Result<Item, String> {
    if name == NAME || name == RESET_NAME {
        job.notes.begin().end::<()>(&Err(NoOutcome::Unknown));
        return Err("js_repl cannot invoke itself".to_owned());
    }
    let takes_text = job.situation.tools.offered.iter().any(|tool| tool.name == name && tool.takes_text);
    let payload = if takes_text { Payload::Custom { input: arguments } } else { Payload::Function { arguments } };
    let tool_call = ToolCall { call_id, name, payload };
    match noted(&tool_call, job, Caller::Tool).await {
        Ok(output) => Ok(call::answer(&tool_call, output)),
        Err(NoOutcome::Unknown) => Ok(call::answer(&tool_call, call::unsupported(&tool_call))),
        Err(NoOutcome::Fatal(error)) => Err(error),
    }
}
