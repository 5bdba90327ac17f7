//! `exec_command`: a command in a terminal that may continue after the call.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pellucid_engine::exec_output::with_heading;
use pellucid_engine::tokens::BYTES_PER_TOKEN;
use pellucid_exec::environment::add_terminal;
use pellucid_exec::process::Command;
use pellucid_exec::summary::summary;
use pellucid_exec::terminal;
use pellucid_exec::terminal::ProcessStreams;
use pellucid_exec::terminal::Terminal;
use pellucid_exec::terminal::TerminalEvent;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use pellucid_protocol::exec::OutputStream;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_tasks::Task;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::desk::Desk;
use crate::desk::FromTool;
use crate::desk::Notice;
use crate::patch;
use crate::permit;
use crate::permit::After;
use crate::permit::Permit;
use crate::permit::Refused;
use crate::permit::Rights;
use crate::script_argv::Login;
use crate::script_argv::script_argv;
use crate::terminal_failure::TerminalFailure;

pub(crate) const TOOL: Tool = Tool {
    name: "exec_command",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Commands,
    asks: Asks::Decision,
    run: |call, job| Box::pin(run(call, job)),
};

/// How many tokens of output the model sees if it does not say.
pub(crate) const OUTPUT_TOKENS: usize = terminal::DEFAULT_OUTPUT_TOKENS;

/// How many reports of a terminal may wait.
const REPORTS_WAITING: usize = 16;

#[derive(Deserialize)]
struct Arguments {
    cmd: String,
    workdir: Option<String>,
    shell: Option<String>,
    #[serde(default)]
    login: Login,
    #[serde(default)]
    tty: bool,
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<usize>,
    sandbox_permissions: Option<SandboxPermissions>,
    justification: Option<String>,
    prefix_rule: Option<Vec<String>>,
}

impl Arguments {
    fn rights(&self) -> Rights {
        Rights {
            sandbox_permissions: self.sandbox_permissions,
            justification: self.justification.clone(),
            prefix_rule: self.prefix_rule.clone(),
        }
    }
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = arguments(call)?;
    let reservation = job.toolbox.terminals.reserve();
    let argv = script_argv(&shell(job, wanted.shell.as_deref()), wanted.login, &wanted.cmd);
    let cwd = job.situation.folder(wanted.workdir.as_deref());
    if let Some(text) = permit::escalation_refusal(job, &wanted.rights()) {
        return Err(Failed::Answered(text.replace("you should not ask", "you cannot ask")));
    }
    if let Some(patched) = patch::intercept(job, &call.name, &call.call_id, &argv, &cwd).await {
        return patched;
    }
    let started = start(job, call, &wanted, &argv, &cwd).await;
    // The permit is held until the answer: a command that continues after that does so beside the others.
    let Started { terminal, has_ended, permit: _permit } =
        started.map_err(|failure| Failed::Answered(failure.text()))?;

    let number = reservation.number();
    let begin = ExecCommandBegin {
        call_id: call.call_id.clone(),
        process_id: Some(number.to_string()),
        turn_id: job.situation.turn_id.clone(),
        parsed_cmd: summary(&argv),
        command: argv,
        cwd,
        source: ExecSource::UnifiedExecStartup,
        interaction_input: None,
    };
    job.desk.tell(EventMessage::ExecCommandBegin(begin.clone())).await;
    let shown = Shown { begin, tokens: wanted.max_output_tokens.unwrap_or(OUTPUT_TOKENS) };
    let limit = terminal::yield_start(wanted.yield_time_ms);
    let mut telling = None;
    let chunk = if has_ended {
        let chunk = terminal.collect(limit).await;
        let end = shown.end(chunk.exit_code.unwrap_or(-1), &chunk.text(), chunk.wall_time);
        job.desk.tell(EventMessage::ExecCommandEnd(Box::new(end))).await;
        chunk
    } else {
        let (sender, reports) = mpsc::channel(REPORTS_WAITING);
        terminal.watch(sender);
        let task = telling.insert(Telling(Task::spawn("reporting a terminal", tell(job.desk.clone(), shown, reports))));
        let chunk = terminal.collect(limit).await;
        if chunk.exit_code.is_some() {
            // The end event comes before the answer. A task that panicked has no further events.
            let _told = (&mut task.0).await;
        }
        chunk
    };
    let text =
        terminal::answer(&terminal::chunk_id(), &chunk, number, wanted.max_output_tokens.unwrap_or(OUTPUT_TOKENS));
    if let Some(exit_code) = chunk.exit_code {
        job.notes.ran(exit_code);
    } else {
        let sandbox = job.notes.sandbox();
        let keeping = job.toolbox.keep_terminal(reservation, terminal, call.call_id.clone(), telling, sandbox);
        if keeping.is_crowded() {
            job.desk
                .say(FromTool::Notice(Notice::ManyTerminals { n: keeping.n_open, max: terminal::TERMINALS_WARN }))
                .await;
        }
    }
    Ok(text.into())
}

/// The shell that the model names, or the person's. One that is not where it should be is looked for
/// under its name; one that is no shell is the system's.
fn shell(job: &CallContext, named: Option<&str>) -> PathBuf {
    let Some(named) = named else { return job.situation.children.shell.clone() };
    let path = Path::new(named);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    match &*name {
        "bash" | "zsh" | "sh" | "pwsh" | "powershell" | "cmd" => {
            let is_there = path.is_absolute() && path.exists();
            let usual = || ["/bin", "/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(&*name));
            if is_there {
                path.to_owned()
            } else {
                usual().into_iter().find(|path| path.exists()).unwrap_or_else(|| "/bin/sh".into())
            }
        }
        _ => "/bin/sh".into(),
    }
}

/// A command in its terminal.
struct Started {
    terminal: Terminal,
    /// Whether the process has ended already.
    has_ended: bool,
    permit: Permit,
}

/// Starts the command, and once more outside of the sandbox if the sandbox stopped it at once and the user allows it.
async fn start(
    job: &CallContext,
    call: &ToolCall,
    wanted: &Arguments,
    argv: &[String],
    cwd: &Path,
) -> Result<Started, TerminalFailure> {
    let rights = wanted.rights();
    let request = permit::Request { call_id: &call.call_id, argv, cwd, rights: &rights, tty: Some(wanted.tty) };
    let mut permit = permit::permit(job, &request).await?;
    loop {
        let mut env = job.situation.children.environment.clone();
        add_terminal(&mut env);
        let argv = permit.argv(job, &request, &mut env).await?;
        let command = Command { argv, arg0: None, cwd: cwd.to_owned(), env };
        let kind = if wanted.tty { ProcessStreams::Terminal } else { ProcessStreams::Pipes };
        permit.check(job).await?;
        let tokens = wanted.max_output_tokens.unwrap_or(OUTPUT_TOKENS);
        let listening = job.toolbox.listen(&call.call_id, tokens.saturating_mul(BYTES_PER_TOKEN));
        let terminal = Terminal::start_heard(&command, kind, listening).await.map_err(TerminalFailure::NotStarted)?;
        let Some((exit_code, output)) = terminal.ended_early().await else {
            return Ok(Started { terminal, has_ended: false, permit });
        };
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        match permit::after(job, &request, &permit, exit_code, &[&text]).await {
            After::NotDenied => return Ok(Started { terminal, has_ended: true, permit }),
            After::Denied => return Err(TerminalFailure::Denied { exit_code, text }),
            After::Again(outside) => permit = outside,
            After::Refused(refused) => return Err(refused.into()),
        }
    }
}

impl From<Refused> for TerminalFailure {
    fn from(refused: Refused) -> Self {
        Self::Rejected(match refused {
            Refused::ByPolicy(text) => text,
            Refused::ByPerson => "rejected by user".to_owned(),
        })
    }
}

/// A command that people see.
struct Shown {
    begin: ExecCommandBegin,
    /// The maximum tokens of its output in the answer.
    tokens: usize,
}

impl Shown {
    fn end(&self, exit_code: i32, output: &str, duration: Duration) -> ExecCommandEnd {
        let limit = i64::try_from(self.tokens).unwrap_or(i64::MAX);
        let cut = with_heading(output, TruncationPolicy { mode: TruncationMode::Tokens, limit });
        ExecCommandEnd {
            begin: self.begin.clone(),
            stdout: cut.clone(),
            stderr: String::new(),
            aggregated_output: cut.clone(),
            exit_code,
            duration,
            formatted_output: cut,
            status: if exit_code == 0 { ExecStatus::Completed } else { ExecStatus::Failed },
        }
    }
}

/// A task that reports a terminal's output to clients. It is stopped when it is dropped: an interrupted call reports
/// nothing more.
#[derive(Debug)]
pub(crate) struct Telling(Task<()>);

impl Telling {
    /// Whether everything is reported.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits until everything is reported.
    pub(crate) async fn over(mut self) {
        // A task that panicked reports nothing more.
        let _told = (&mut self.0).await;
    }
}

/// Emits events for the reports of a terminal until its process ends, which may be long after the call.
async fn tell(desk: Desk, shown: Shown, mut reports: mpsc::Receiver<TerminalEvent>) {
    while let Some(report) = reports.recv().await {
        let event = match report {
            TerminalEvent::Output { bytes } => EventMessage::ExecCommandOutputDelta {
                call_id: shown.begin.call_id.clone(),
                stream: OutputStream::Stdout,
                chunk: STANDARD.encode(&bytes),
            },
            TerminalEvent::Ended { exit_code, output, duration, .. } => {
                let text = String::from_utf8_lossy(&output.bytes);
                EventMessage::ExecCommandEnd(Box::new(shown.end(exit_code, &text, duration)))
            }
        };
        desk.tell(event).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::expect;

    use super::*;
    use crate::bench::Bench;
    use crate::bench::function;
    use crate::notes::CallNotes;
    use crate::queue::Receiver;

    /// Replaces values that differ from run to run.
    fn steady(shown: &str) -> String {
        let mut lines = Vec::new();
        for line in shown.lines().filter(|line| line.starts_with("=> ") || !line.starts_with('{')) {
            let line = if line.contains("Chunk ID: ") { "=> Chunk ID: N" } else { line };
            lines.push(if line.starts_with("Wall time: ") { "Wall time: N" } else { line });
        }
        lines.join("\n")
    }

    #[test]
    fn a_command_that_ends_is_answered_with_its_end() {
        let bench = Bench::new();
        let shown = bench.show(&function("exec_command", r#"{"cmd":"echo hi; exit 3","login":false}"#));
        expect![[r#"
            => Chunk ID: N
            Wall time: N
            Process exited with code 3
            Original token count: 1
            Output:
            hi
        "#]]
        .assert_eq(&steady(&shown));
        let ends = shown.lines().filter(|line| line.contains("exec_command_end")).count();
        assert_eq!(ends, 1, "{shown}");
    }

    /// Receives until an event of a kind arrives, or until all senders are gone.
    async fn hear(heard: &mut Receiver<FromTool>, is_it: impl Fn(&EventMessage) -> bool) -> bool {
        while let Some(message) = heard.recv().await {
            if matches!(&message, FromTool::Event(event) if is_it(event)) {
                return true;
            }
        }
        false
    }

    fn is_end(event: &EventMessage) -> bool {
        matches!(event, EventMessage::ExecCommandEnd(_))
    }

    /// A call on a bench, with what it says.
    fn job(bench: &Bench) -> (CallContext, Receiver<FromTool>) {
        let (desk, heard) = Desk::open();
        let notes = CallNotes::new("c", "exec_command", || "T".to_owned());
        (CallContext { situation: Arc::new(bench.situation.clone()), toolbox: bench.toolbox(), desk, notes }, heard)
    }

    #[tokio::test]
    async fn a_call_that_is_interrupted_tells_of_no_end() {
        let bench = Bench::new();
        let (job, mut heard) = job(&bench);
        let call = function("exec_command", r#"{"cmd":"sleep 60","login":false,"yield_time_ms":30000}"#);
        let running = tokio::spawn(async move { crate::run(&call, &job).await });
        assert!(hear(&mut heard, |event| matches!(event, EventMessage::ExecCommandBegin(_))).await);
        running.abort();
        assert!(!hear(&mut heard, is_end).await);
    }

    #[tokio::test]
    async fn terminals_that_are_ended_have_told_of_it() {
        let bench = Bench::new();
        let (job, mut heard) = job(&bench);
        let call = function("exec_command", r#"{"cmd":"sleep 60","login":false,"yield_time_ms":250}"#);
        let _kept = crate::run(&call, &job).await;
        job.toolbox.end_terminals().await;
        let mut is_told = false;
        while let Ok(message) = heard.try_recv() {
            is_told |= matches!(&message, FromTool::Event(event) if is_end(event));
        }
        assert!(is_told);
    }

    #[test]
    fn a_shell_that_is_none_is_the_systems() {
        let bench = Bench::new();
        let call = function("exec_command", r#"{"cmd":"echo $0","login":false,"shell":"/usr/bin/env"}"#);
        assert!(bench.show(&call).contains("\n/bin/sh\n"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_said() {
        let bench = Bench::new();
        let shown = bench.show(&function("exec_command", r#"{"cmd":"true","workdir":"none"}"#));
        expect![[r#"=> exec_command failed: CreateProcess { message: "Rejected(\"Failed to create unified exec process: No such file or directory (os error 2)\")" }"#]].assert_eq(&steady(&shown));
    }

    #[test]
    fn a_mistake_in_the_rights_is_placed_where_it_stands() {
        for (tool, command) in [
            ("exec_command", r#""cmd":"ls""#),
            ("shell", r#""command":["ls"]"#),
            ("shell_command", r#""command":"ls""#),
        ] {
            let before = format!(r#"{{{command},"sandbox_permissions":"bogus""#);
            let shown = Bench::new().show(&function(tool, &format!("{before}}}")));
            let failed = format!(
                r#"{{"type":"tool_call_failed","call_id":"c","name":"{tool}","why":"the model got the reason"}}"#
            );
            let known = "`use_default` or `require_escalated`";
            let place = format!("line 1 column {}", before.len());
            let why = format!("unknown variant `bogus`, expected {known} at {place}");
            assert_eq!(shown, format!("{failed}\n=> failed to parse function arguments: {why}\n"));
        }
    }
}
