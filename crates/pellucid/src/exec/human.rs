//! Events as lines for people, on standard error; the answer once more on standard output.

use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use pellucid_agent::identity::VERSION;
use pellucid_agent::session::Session;
use pellucid_engine::command_line::joined;
use pellucid_engine::wire::effort_sent;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::change::PatchApplyEnd;
use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::McpStartupFailure;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::event::StepStatus;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpStartupStatus;
use pellucid_protocol::mcp::McpToolCallEnd;
use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::usage::TokenUsage;

use crate::exec::call_failed;
use crate::exec::collab::CollabCall;
use crate::exec::collab::CollabPhase;
use crate::replay::cache_break_text;
use crate::screen::OutputFormat;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;
use crate::style;
use crate::style::Paint;
use crate::style::thousands;

/// A command's output is cut to this many lines.
const OUTPUT_LINES: usize = 20;

/// Shows events to a person.
#[derive(Debug)]
pub struct Human {
    paint: Paint,
    hide_reasoning: bool,
    prompt: String,
    /// How long the model is asked to think, as the request says it.
    effort: Option<ReasoningEffort>,
    summary: ReasoningSummary,
    usage: Option<TokenUsage>,
    /// Patches that are being applied: call id, whether the patch was approved automatically, start time.
    patches: Vec<(String, bool, Instant)>,
}

impl Human {
    pub fn new(paint: Paint, hide_reasoning: bool, prompt: String, session: &Session) -> Self {
        let facts = session.facts();
        Self {
            paint,
            hide_reasoning,
            prompt,
            effort: effort_sent(session.wire_api(), facts),
            summary: facts.settings.summary,
            usage: None,
            patches: Vec::new(),
        }
    }

    pub fn event(&mut self, event: &EventMessage) {
        let paint = self.paint;
        match event.in_session() {
            EventMessage::SessionConfigured(session) => self.header(session),
            EventMessage::Error { message, failure, .. } => {
                let text = failure.plain.as_ref().unwrap_or(message);
                style::line(&format!("{} {text}", paint.red("error:")));
            }
            EventMessage::ToolCallFailed { name, why, .. } => style::line(&call_failed(paint, name, why)),
            EventMessage::Warning { message } => style::line(&format!("{} {message}", paint.yellow("warning:"))),
            EventMessage::StreamError { .. } => style::line(&paint.dim(&retry_text(event))),
            EventMessage::ContextCutOff { text } => {
                style::line(&format!("{} (interrupted)\n{text}", paint.magenta("pellucid")));
            }
            EventMessage::DeprecationNotice { summary, details } => {
                style::line(&format!("{} {summary}", paint.yellow("deprecated:")));
                if let Some(details) = details {
                    style::line(&paint.dim(details));
                }
            }
            EventMessage::AgentMessage { message } => style::line(&format!("{}\n{message}", paint.magenta("pellucid"))),
            EventMessage::AgentReasoning { text } if !self.hide_reasoning => {
                style::line(&format!("{}\n{text}", paint.magenta("thinking")));
            }
            EventMessage::AgentReasoningRawContent { text } => style::line(text),
            EventMessage::WebSearchBegin { .. } => style::line("🌐 Searching the web..."),
            EventMessage::WebSearchEnd { query, .. } if query.is_empty() => style::line("🌐 Searched the web"),
            EventMessage::WebSearchEnd { query, .. } => style::line(&format!("🌐 Searched: {query}")),
            EventMessage::PlanUpdate(plan) => self.plan(plan),
            EventMessage::ExecCommandBegin(begin) => {
                let command = paint.bold(&joined(&begin.command));
                style::line(&format!("{}\n{command} in {}", paint.magenta("exec"), begin.cwd.display()));
            }
            EventMessage::ExecCommandEnd(end) => self.command_end(end),
            EventMessage::ViewImageToolCall { path, .. } => {
                style::line(&format!("{} {}", paint.magenta("viewed image"), path.display()));
            }
            EventMessage::PatchApplyBegin(begin) => {
                self.patches.push((begin.call_id.clone(), begin.auto_approved, Instant::now()));
                style::line(&paint.magenta("file update"));
                begin.changes.iter().for_each(|(path, change)| self.change(path, change));
            }
            EventMessage::PatchApplyEnd(end) => self.patch_end(end),
            EventMessage::TurnDiff { unified_diff } => {
                style::line(&format!("{}\n{unified_diff}", paint.magenta("file update:")));
            }
            EventMessage::McpStartupUpdate { server, status } => style::line(&server_start(server, status)),
            EventMessage::McpStartupComplete { ready, failed, cancelled } => {
                if let Some(summary) = server_starts(ready, failed, cancelled) {
                    style::line(&summary);
                }
            }
            EventMessage::McpToolCallBegin(begin) => {
                style::line(&format!("{} {}", paint.magenta("tool"), paint.bold(&invocation(&begin.invocation))));
            }
            EventMessage::McpToolCallEnd(end) => self.server_call_end(end),
            EventMessage::ContextCompacted => style::line("context compacted"),
            EventMessage::ContextResumeCost(broken) => {
                style::line(&paint.dim(&format!("this session {}", cache_break_text(broken))));
            }
            EventMessage::ContextFileChanged { message } => style::line(&paint.dim(message)),
            EventMessage::BackgroundEvent { message } => style::line(&paint.dim(message)),
            EventMessage::TurnAborted { reason, .. } => style::line(match reason {
                AbortReason::Interrupted => "task interrupted",
                AbortReason::Replaced => "task aborted: replaced by a new task",
                AbortReason::ReviewEnded => "task aborted: review ended",
            }),
            EventMessage::TokenCount { info: Some(info), .. } => self.usage = Some(info.total_token_usage),
            other => {
                if let Some(call) = CollabCall::of(other) {
                    self.collab(&call);
                }
            }
        }
    }

    /// The token summary, then the answer on standard output.
    pub fn finish(&self, last_message: Option<&str>) -> Result<(), ProgramFailure> {
        if let Some(usage) = &self.usage {
            style::line(&format!("{}\n{}", self.paint.dim("tokens used"), thousands(usage.blended_total())));
        }
        let Some(message) = last_message else {
            return Ok(());
        };
        let newline = if message.ends_with('\n') { "" } else { "\n" };
        StandardStream::Out
            .write(&format!("{message}{newline}"), OutputFormat::People)
            .map_err(|error| ProgramFailure::new(format!("the answer cannot be printed: {error}")))
    }

    fn header(&self, session: &SessionConfigured) {
        let paint = self.paint;
        style::line(&format!("Pellucid v{VERSION}\n--------"));
        for (name, value) in [
            ("workdir:", session.cwd.display().to_string()),
            ("model:", session.model.clone()),
            ("provider:", session.model_provider_id.clone()),
            ("approval:", session.approval_policy.to_string()),
            ("sandbox:", sandbox(&session.sandbox_policy)),
            ("reasoning effort:", effort_text(self.effort).to_owned()),
            ("reasoning summaries:", self.summary.to_string()),
            ("session id:", session.session_id.to_string()),
        ] {
            style::line(&format!("{} {value}", paint.bold(name)));
        }
        style::line(&format!("--------\n{}\n{}", paint.cyan("user"), self.prompt));
    }

    fn command_end(&self, end: &ExecCommandEnd) {
        let duration = duration(end.duration);
        let title = match end.exit_code {
            0 => self.paint.green(&format!(" succeeded in {duration}:")),
            code => self.paint.red(&format!(" exited {code} in {duration}:")),
        };
        style::line(&title);
        let output: Vec<&str> = end.aggregated_output.lines().take(OUTPUT_LINES).collect();
        style::line(&self.paint.dim(&output.join("\n")));
    }

    fn server_call_end(&self, end: &McpToolCallEnd) {
        let (called, duration) = (invocation(&end.invocation), duration(end.duration));
        style::line(&if end.is_success() {
            self.paint.green(&format!("{called} success in {duration}:"))
        } else {
            self.paint.red(&format!("{called} failed in {duration}:"))
        });
        let answer = match &end.result {
            Ok(result) => serde_json::to_string_pretty(result).unwrap_or_default(),
            Err(message) => message.clone(),
        };
        let answer: Vec<&str> = answer.lines().take(OUTPUT_LINES).collect();
        style::line(&self.paint.dim(&answer.join("\n")));
    }

    fn collab(&self, call: &CollabCall) {
        let paint = self.paint;
        let paint_title = |title: &str| match call.phase {
            CollabPhase::Began => paint.magenta(title),
            CollabPhase::Ended if call.is_failure() => paint.red(title),
            CollabPhase::Ended => paint.green(title),
        };
        for (n, line) in call.lines().iter().enumerate() {
            style::line(&if n == 0 { paint_title(line) } else { paint.dim(line) });
        }
    }

    fn change(&self, path: &Path, change: &FileChange) {
        let (paint, path) = (self.paint, path.display());
        match change {
            FileChange::Add { content } => {
                style::line(&paint.green(&format!("A {path}")));
                content.lines().for_each(|line| style::line(&paint.green(line)));
            }
            FileChange::Delete { content } => {
                style::line(&paint.red(&format!("D {path}")));
                content.lines().for_each(|line| style::line(&paint.red(line)));
            }
            FileChange::Update { unified_diff, move_path } => {
                style::line(&match move_path {
                    Some(to) => paint.cyan(&format!("R {path} -> {}", to.display())),
                    None => paint.cyan(&format!("M {path}")),
                });
                for line in unified_diff.lines() {
                    style::line(&match line.as_bytes().first() {
                        Some(b'+') => paint.green(line),
                        Some(b'-') => paint.red(line),
                        _ => line.to_owned(),
                    });
                }
            }
        }
    }

    fn patch_end(&mut self, end: &PatchApplyEnd) {
        let known = self.patches.iter().position(|(call_id, ..)| *call_id == end.call_id);
        let (_, auto_approved, began) = match known {
            Some(at) => self.patches.remove(at),
            None => (String::new(), false, Instant::now()),
        };
        let (code, output) = if end.success { (0, &end.stdout) } else { (1, &end.stderr) };
        let duration = duration(began.elapsed());
        let title = format!("apply_patch(auto_approved={auto_approved}) exited {code} in {duration}:");
        style::line(&if end.success { self.paint.green(&title) } else { self.paint.red(&title) });
        output.lines().for_each(|line| style::line(&self.paint.dim(line)));
    }

    fn plan(&self, update: &PlanUpdate) {
        style::line(&self.paint.magenta("Plan update"));
        if let Some(explanation) = &update.explanation {
            style::line(&self.paint.dim(explanation));
        }
        for step in &update.plan {
            let mark = match step.status {
                StepStatus::Completed => self.paint.green("✓"),
                StepStatus::InProgress => self.paint.cyan("→"),
                StepStatus::Pending => self.paint.dim("•"),
            };
            style::line(&format!("  {mark} {}", step.step));
        }
    }
}

/// The line that reports a retry of the request, with the reason.
pub fn retry_text(event: &EventMessage) -> String {
    let EventMessage::StreamError { message, additional_details, plain, .. } = event else {
        return String::new();
    };
    match plain.as_ref().or(additional_details.as_ref()) {
        Some(why) => format!("{message} ({why})"),
        None => message.clone(),
    }
}

/// One line about the start of an MCP server.
fn server_start(server: &str, status: &McpStartupStatus) -> String {
    match status {
        McpStartupStatus::Starting => format!("mcp: {server} starting"),
        McpStartupStatus::Ready => format!("mcp: {server} ready"),
        McpStartupStatus::Failed { error } => format!("mcp: {server} failed: {error}"),
        McpStartupStatus::Cancelled => format!("mcp: {server} cancelled"),
    }
}

/// One line about the start of all MCP servers; absent if none is configured.
fn server_starts(ready: &[String], failed: &[McpStartupFailure], cancelled: &[String]) -> Option<String> {
    let failed: Vec<String> = failed.iter().map(|failure| failure.server.clone()).collect();
    let groups = [("ready", ready), ("failed", &failed), ("cancelled", cancelled)];
    let said = groups.iter().filter(|(_, servers)| !servers.is_empty());
    let said: Vec<String> = said.map(|(group, servers)| format!("{group}: {}", servers.join(", "))).collect();
    (!said.is_empty()).then(|| format!("mcp startup: {}", said.join("; ")))
}

/// A tool call as `server.tool(arguments)`.
fn invocation(called: &McpInvocation) -> String {
    let arguments = called.arguments.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{}.{}({arguments})", called.server, called.tool)
}

/// A stretch of time, as exact as is useful.
fn duration(duration: Duration) -> String {
    match duration.as_millis() {
        ms @ 0..1000 => format!("{ms}ms"),
        1000..60_000 => format!("{:.2}s", duration.as_secs_f64()),
        _ => format!("{}m {:02}s", duration.as_secs() / 60, duration.as_secs() % 60),
    }
}

/// How much the model is asked to reason, as the request says it.
pub fn effort_text(effort: Option<ReasoningEffort>) -> &'static str {
    effort.map_or("not sent", |effort| effort.as_str())
}

/// A policy in a few words.
pub fn sandbox(policy: &SandboxPolicy) -> String {
    let (mut text, network) = match policy {
        SandboxPolicy::DangerFullAccess => ("danger-full-access".to_owned(), false),
        SandboxPolicy::ReadOnly => ("read-only".to_owned(), false),
        SandboxPolicy::ExternalSandbox { network_access } => {
            ("external-sandbox".to_owned(), *network_access == NetworkAccess::Enabled)
        }
        SandboxPolicy::WorkspaceWrite { writable_roots, network_access, exclude_tmpdir_env_var, exclude_slash_tmp } => {
            let mut roots = vec!["workdir".to_owned()];
            if !exclude_slash_tmp {
                roots.push("/tmp".to_owned());
            }
            if !exclude_tmpdir_env_var {
                roots.push("$TMPDIR".to_owned());
            }
            roots.extend(writable_roots.iter().map(|root| root.display().to_string()));
            (format!("workspace-write [{}]", roots.join(", ")), *network_access)
        }
    };
    if network {
        text += " (network access enabled)";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_exact_as_is_useful() {
        let shown = [5, 999, 1234, 59_999, 61_500].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(shown, ["5ms", "999ms", "1.23s", "60.00s", "1m 01s"]);
    }

    #[test]
    fn servers_are_told_by_how_they_stand() {
        let failed = [McpStartupFailure { server: "c".to_owned(), error: "x".to_owned() }];
        let summary = server_starts(&["a".to_owned(), "b".to_owned()], &failed, &[]);
        assert_eq!(summary.as_deref(), Some("mcp startup: ready: a, b; failed: c"));
        assert_eq!(server_starts(&[], &[], &[]), None);
        let called = McpInvocation { server: "s".to_owned(), tool: "t".to_owned(), arguments: None };
        assert_eq!(invocation(&called), "s.t()");
    }

    #[test]
    fn a_policy_is_named_with_its_roots() {
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: vec!["/opt".into()],
            network_access: true,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: false,
        };
        assert_eq!(sandbox(&policy), "workspace-write [workdir, /tmp, /opt] (network access enabled)");
        assert_eq!(sandbox(&SandboxPolicy::ReadOnly), "read-only");
    }
}
