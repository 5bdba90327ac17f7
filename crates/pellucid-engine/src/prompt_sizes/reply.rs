//! The report of the sizes of a prompt as text, in the forms of a command `/context`.

use serde_json::Value;
use serde_json::json;

use super::FileReport;
use super::PromptReport;
use super::tokens;

const SKILLS_SHOWN: usize = 20;
const TOOLS_SHOWN: usize = 30;
const LARGEST_SHOWN: usize = 30;

/// The form of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// The list of forms.
    Help,
    /// A short breakdown by part.
    List,
    /// A long breakdown by file, skill and tool.
    Detail,
    /// The whole report as JSON.
    Json,
    /// The word names no form.
    Unknown,
}

impl ReplyKind {
    /// The form that a command asks for by its first word, in any case.
    pub fn of_command(command: &str) -> Self {
        let mut words = command.split_whitespace();
        let _ = words.next();
        let word = words.find(|word| *word != ":").unwrap_or_default();
        match word.to_lowercase().as_str() {
            "" | "help" => Self::Help,
            "list" | "show" => Self::List,
            "detail" | "deep" => Self::Detail,
            "json" => Self::Json,
            _ => Self::Unknown,
        }
    }
}

/// The token counts of the session, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionTokens {
    /// All tokens of the session.
    pub total: Option<i64>,
    /// The tokens of requests.
    pub input: Option<i64>,
    /// The tokens of answers.
    pub output: Option<i64>,
    /// The context window of the model.
    pub context: Option<i64>,
}

/// The reply to a command.
pub fn reply(form: ReplyKind, report: &PromptReport, session: SessionTokens, workspace_dir: &str) -> String {
    match form {
        ReplyKind::Help => HELP.join("\n"),
        ReplyKind::Unknown => UNKNOWN.join("\n"),
        ReplyKind::List => breakdown(report, session, workspace_dir).join("\n"),
        ReplyKind::Detail => {
            let lines = detailed(report, session, workspace_dir);
            lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        }
        ReplyKind::Json => {
            let value = json!({
                "report": report,
                "session": {
                    "totalTokens": session.total,
                    "inputTokens": session.input,
                    "outputTokens": session.output,
                    "contextTokens": session.context,
                },
            });
            pretty(&value)
        }
    }
}

const HELP: [&str; 10] = [
    "🧠 /context",
    "",
    "Shows what the system prompt is made of, and how much of the window it takes.",
    "",
    "Try:",
    "- /context list   (files, skills and tools with their sizes)",
    "- /context detail (the largest skills and tools as well)",
    "- /context json   (all of it, for programs)",
    "",
    SHORTCUTS,
];

const UNKNOWN: [&str; 2] =
    ["There is no such form of /context.", "Use: /context, /context list, /context detail or /context json"];

const SHORTCUTS: &str = "A command inside of a message that the assistant handles by itself never reaches the model, so it is not in these figures.";

const TIP: &str = "To let more in, raise bootstrap.max_chars and bootstrap.total_max_chars.";

fn breakdown(report: &PromptReport, session: SessionTokens, workspace_dir: &str) -> Vec<String> {
    let mut lines = head("🧠 Context breakdown", report, workspace_dir);
    lines.push(String::new());
    lines.extend(skill_lines(report));
    lines.extend(tool_lines(report));
    lines.push(String::new());
    lines.push(session_line(session));
    lines.push(String::new());
    lines.push(SHORTCUTS.to_owned());
    lines
}

fn detailed(report: &PromptReport, session: SessionTokens, workspace_dir: &str) -> Vec<String> {
    let mut lines = head("🧠 Context breakdown (detailed)", report, workspace_dir);
    lines.extend(skill_lines(report));
    let skills = report.skills.entries.iter().map(|skill| (skill.name.as_str(), skill.block_chars));
    if !report.skills.entries.is_empty() {
        lines.push("Top skills (prompt entry size):".to_owned());
        lines.extend(largest(skills, "skills"));
    }
    lines.extend(tool_lines(report));
    let tools = &report.tools.entries;
    lines.push("Top tools (schema size):".to_owned());
    lines.extend(largest(tools.iter().map(|tool| (tool.name.as_str(), tool.schema_chars)), "tools"));
    lines.push("Top tools (summary text size):".to_owned());
    lines.extend(largest(tools.iter().map(|tool| (tool.name.as_str(), tool.summary_chars)), "tools"));
    let mut counts: Vec<_> = tools.iter().filter_map(|tool| Some((&tool.name, tool.properties_count?))).collect();
    if !counts.is_empty() {
        counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        lines.push("Tools (param count):".to_owned());
        lines.extend(counts.iter().take(LARGEST_SHOWN).map(|(name, n)| format!("- {name}: {} params", number(*n))));
    }
    lines.push(session_line(session));
    lines.push(SHORTCUTS.to_owned());
    lines
}

/// From the title to the last file.
fn head(title: &str, report: &PromptReport, workspace_dir: &str) -> Vec<String> {
    let limit = |limit: Option<usize>| limit.map_or_else(|| "?".to_owned(), number);
    let sandbox = report.sandbox.clone().unwrap_or_default();
    let mut lines = vec![
        title.to_owned(),
        format!("Workspace: {}", report.workspace_dir.as_deref().unwrap_or(workspace_dir)),
        format!("Bootstrap max/file: {} chars", limit(report.bootstrap_max_chars)),
        format!("Bootstrap max/total: {} chars", limit(report.bootstrap_total_max_chars)),
        format!(
            "Sandbox: mode={} sandboxed={}",
            sandbox.mode.as_deref().unwrap_or("unknown"),
            sandbox.sandboxed.unwrap_or(false)
        ),
        format!(
            "System prompt ({}): {} (Project Context {})",
            report.source,
            sized(report.system_prompt.chars),
            sized(report.system_prompt.project_context_chars)
        ),
    ];
    lines.extend(warning(report));
    lines.push(String::new());
    lines.push("Injected workspace files:".to_owned());
    lines.extend(report.injected_workspace_files.iter().map(file_line));
    lines
}

fn warning(report: &PromptReport) -> Vec<String> {
    let there: Vec<&FileReport> = report.injected_workspace_files.iter().filter(|file| !file.missing).collect();
    let n_cut = there.iter().filter(|file| file.truncated).count();
    if n_cut == 0 {
        return Vec::new();
    }
    let raw: usize = there.iter().map(|file| file.raw_chars).sum();
    let injected: usize = there.iter().map(|file| file.injected_chars).sum();
    let mut lines = vec![
        String::new(),
        format!(
            "⚠ Bootstrap context is over configured limits: {n_cut} file(s) truncated ({} raw chars -> {} injected chars).",
            number(raw),
            number(injected)
        ),
    ];
    let mut causes = Vec::new();
    if let Some(max) = report.bootstrap_max_chars {
        let n_over = there.iter().filter(|file| file.raw_chars > max).count();
        if n_over > 0 {
            causes.push(format!("{n_over} file(s) exceeded max/file"));
        }
    }
    if report.bootstrap_total_max_chars.is_some_and(|total| raw > total) {
        causes.push("raw total exceeded max/total".to_owned());
    }
    if !causes.is_empty() {
        lines.push(format!("Causes: {}.", causes.join("; ")));
    }
    lines.push(TIP.to_owned());
    lines
}

fn file_line(file: &FileReport) -> String {
    if file.missing {
        return format!("- {}: MISSING | raw 0 | injected 0", file.name);
    }
    let word = if file.truncated { "TRUNCATED" } else { "OK" };
    format!("- {}: {word} | raw {} | injected {}", file.name, sized(file.raw_chars), sized(file.injected_chars))
}

fn skill_lines(report: &PromptReport) -> [String; 2] {
    let mut names: Vec<&str> = Vec::new();
    for skill in &report.skills.entries {
        if !names.contains(&skill.name.as_str()) {
            names.push(&skill.name);
        }
    }
    let size = sized(report.skills.prompt_chars);
    [
        format!("Skills list (system prompt text): {size} ({} skills)", names.len()),
        format!("Skills: {}", listed(&names, SKILLS_SHOWN)),
    ]
}

fn tool_lines(report: &PromptReport) -> [String; 3] {
    let names: Vec<&str> = report.tools.entries.iter().map(|tool| tool.name.as_str()).collect();
    [
        format!("Tool list (system prompt text): {}", sized(report.tools.list_chars)),
        format!("Tool schemas (JSON): {} (counts toward context; not shown as text)", sized(report.tools.schema_chars)),
        format!("Tools: {}", listed(&names, TOOLS_SHOWN)),
    ]
}

fn listed(names: &[&str], shown: usize) -> String {
    match names.len() {
        0 => "(none)".to_owned(),
        n if n > shown => format!("{}, … (+{} more)", names[..shown].join(", "), n - shown),
        _ => names.join(", "),
    }
}

/// The largest of some, and how many are not shown.
fn largest<'a>(all: impl Iterator<Item = (&'a str, usize)>, what: &str) -> Vec<String> {
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let mut lines: Vec<String> =
        all.iter().take(LARGEST_SHOWN).map(|(name, size)| format!("- {name}: {}", sized(*size))).collect();
    if all.len() > LARGEST_SHOWN {
        lines.push(format!("… (+{} more {what})", all.len() - LARGEST_SHOWN));
    }
    lines
}

fn session_line(session: SessionTokens) -> String {
    let total = session.total.map_or_else(|| "unknown".to_owned(), |total| format!("{} total", grouped(total)));
    let context = session.context.map_or_else(|| "?".to_owned(), |context| context.to_string());
    format!("Session tokens (cached): {total} / ctx={context}")
}

fn sized(units: usize) -> String {
    let units = i64::try_from(units).unwrap_or(i64::MAX);
    format!("{} chars (~{} tok)", grouped(units), grouped(tokens(units)))
}

fn number(n: usize) -> String {
    grouped(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A number with a comma before every three digits.
fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if n < 0 { format!("-{text}") } else { text }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_says_the_form() {
        for (command, form) in [
            ("/context", ReplyKind::Help),
            ("/context: list", ReplyKind::List),
            ("/CONTEXT  LIST more", ReplyKind::List),
            ("/context show", ReplyKind::List),
            ("/context deep\nmore", ReplyKind::Detail),
            ("/context json", ReplyKind::Json),
            ("/context foo", ReplyKind::Unknown),
        ] {
            assert_eq!(ReplyKind::of_command(command), form, "{command}");
        }
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(-1_000), "-1,000");
    }
}
