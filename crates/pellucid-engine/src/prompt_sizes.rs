//! The sizes of the parts of a system prompt: files before and after their budgets, lists of skills and tools.
//!
//! Any layout has this report; `[instructions.report]` says which lines and files its parts are found by. Sizes are in UTF-16 units,
//! which are called chars here.
//!
//! - `reply`: those sizes as text

pub mod reply;

use pellucid_protocol::settings::SandboxPolicy;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::bootstrap::BootstrapFile;
use crate::bootstrap::ContextFile;
use crate::computed;
use crate::computed::Looking;
use crate::facts::Facts;
use crate::pack::Pack;
use crate::utf16;

/// Which parts of a prompt a report measures. `[instructions.report]` of `pack.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportLayout {
    /// The line above the files of the workspace.
    pub files_heading: Option<String>,
    /// The line above what comes after the files.
    pub next_heading: Option<String>,
    /// The section with the list of skills.
    pub skills: Option<MeasuredList>,
    /// The section with the list of tools.
    pub tools: Option<MeasuredList>,
}

/// A list in a section, by the files of the pack that write them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredList {
    /// The file of the section.
    pub section: String,
    /// The file of the list, which the section includes.
    pub list: String,
}

/// How many units a token has in estimates.
const UNITS_PER_TOKEN: i64 = 4;

/// The sizes of the parts of a system prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptReport {
    /// `run` for a prompt that was sent, `estimate` for one that was not.
    pub source: String,
    /// When, in milliseconds since 1970.
    pub generated_at: i64,
    /// The id of the session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_id: Option<String>,
    /// The key of the session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_key: Option<String>,
    /// The id of the model provider.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The name of the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// The folder that the assistant works in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workspace_dir: Option<String>,
    /// The limit of one file, in characters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bootstrap_max_chars: Option<usize>,
    /// How much of all files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bootstrap_total_max_chars: Option<usize>,
    /// The mode of the sandbox.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sandbox: Option<AssistantSandboxReport>,
    /// The sizes of the whole prompt.
    pub system_prompt: PromptSizes,
    /// The bootstrap files, in order.
    pub injected_workspace_files: Vec<FileReport>,
    /// The list of skills and its size.
    pub skills: SkillsReport,
    /// The list of tools and its size.
    pub tools: ToolsReport,
}

/// The mode of the sandbox, and whether it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssistantSandboxReport {
    /// `off`, `non-main` or `all`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<String>,
    /// Whether this session runs in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sandboxed: Option<bool>,
}

/// How long a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptSizes {
    /// The length of the whole prompt.
    pub chars: usize,
    /// The length of the files and the text between them.
    pub project_context_chars: usize,
    /// The length of everything else.
    pub non_project_context_chars: usize,
}

/// A bootstrap file and how much of it is in the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileReport {
    /// The base name of the file.
    pub name: String,
    /// The path of the file.
    pub path: String,
    /// Whether the file is missing.
    pub missing: bool,
    /// The length of the file.
    pub raw_chars: usize,
    /// The length of the file in the prompt.
    pub injected_chars: usize,
    /// Whether the file was cut for the prompt.
    pub truncated: bool,
}

/// The list of skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillsReport {
    /// The length of the given list.
    pub prompt_chars: usize,
    /// The skills in it.
    pub entries: Vec<SkillReport>,
}

/// A skill of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillReport {
    /// The name of the skill.
    pub name: String,
    /// The length of the skill's entry in the list.
    pub block_chars: usize,
}

/// The tools and the sizes of their list and schemas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolsReport {
    /// How long the list in the prompt is.
    pub list_chars: usize,
    /// The length of all schemas together.
    pub schema_chars: usize,
    /// One entry for each tool.
    pub entries: Vec<ToolReport>,
}

/// A tool and the sizes of its description and schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolReport {
    /// The name of the tool.
    pub name: String,
    /// How long the text on what it is for is.
    pub summary_chars: usize,
    /// The length of the tool's schema.
    pub schema_chars: usize,
    /// How many parameters it has, if it says so.
    pub properties_count: Option<usize>,
}

/// A tool as a report looks at it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFacts {
    /// The name of the tool.
    pub name: String,
    /// The description for the model.
    #[serde(default)]
    pub description: Option<String>,
    /// The same in fewer words.
    #[serde(default)]
    pub label: Option<String>,
    /// The JSON schema of the arguments.
    #[serde(default)]
    pub parameters: Option<Value>,
}

/// The texts that a report measures.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The finished system prompt.
    pub prompt: &'a str,
    /// The files before their budgets.
    pub files: &'a [BootstrapFile],
    /// The files in the prompt.
    pub injected: &'a [ContextFile],
    /// The list of skills, as given.
    pub skills: &'a str,
    /// The tools that are offered.
    pub tools: &'a [ToolFacts],
    /// The lines around the list of tools.
    pub list_between: (&'a str, &'a str),
    /// The lines above the files and above what comes after them.
    pub headings: (Option<&'a str>, Option<&'a str>),
}

impl PromptReport {
    /// Measures a prompt. Who asks, and when, is left to be filled in.
    pub fn measure(measured: Measured<'_>) -> Self {
        let prompt = utf16::trim(measured.prompt);
        let chars = utf16::len(prompt);
        let project_context_chars = project_context(prompt, measured.headings);
        let entries: Vec<ToolReport> = measured.tools.iter().map(tool).collect();
        let (before, after) = measured.list_between;
        Self {
            source: "run".to_owned(),
            generated_at: 0,
            session_id: None,
            session_key: None,
            provider: None,
            model: None,
            workspace_dir: None,
            bootstrap_max_chars: None,
            bootstrap_total_max_chars: None,
            sandbox: None,
            system_prompt: PromptSizes {
                chars,
                project_context_chars,
                non_project_context_chars: chars.saturating_sub(project_context_chars),
            },
            injected_workspace_files: files(measured.files, measured.injected),
            skills: SkillsReport { prompt_chars: utf16::len(measured.skills), entries: skills(measured.skills) },
            tools: ToolsReport {
                list_chars: tool_list(prompt, before, after),
                schema_chars: entries.iter().map(|tool| tool.schema_chars).sum(),
                entries,
            },
        }
    }

    /// Measures a prompt that a pack made of facts.
    pub fn of(pack: &Pack, facts: &Facts, prompt: &str, tools: &[ToolFacts]) -> Self {
        let looking = Looking { pack, facts };
        // A section's texts are counted only if the layout has the section.
        let text = |file: &str, section: &str| match computed::render(file, looking) {
            Ok((text, _)) if pack.layout.has_file(section) => text.plain(),
            _ => String::new(),
        };
        let nothing = ReportLayout::default();
        let layout = pack.layout.instructions.report.as_ref().unwrap_or(&nothing);
        let skills = layout.skills.as_ref().map(|it| text(&it.list, &it.section)).unwrap_or_default();
        let tools_list = layout.tools.as_ref();
        let (section, list) =
            tools_list.map(|it| (text(&it.section, &it.section), text(&it.list, &it.section))).unwrap_or_default();
        let headings = (layout.files_heading.as_deref(), layout.next_heading.as_deref());
        let list_between = if list.is_empty() { ("", "") } else { around(&section, &list) };
        let loaded = &facts.system.files;
        let (files, injected) = (&loaded.read, &loaded.placed);
        let measured = Measured { prompt, files, injected, skills: &skills, tools, list_between, headings };
        let mut report = Self::measure(measured);
        let given = &facts.system.given;
        report.session_key = given.get("session_key").and_then(Value::as_str).map(str::to_owned);
        report.model = Some(facts.settings.model.slug.clone());
        report.workspace_dir = Some(facts.settings.cwd.clone());
        report.bootstrap_max_chars = loaded.limits.map(|(max, _)| max);
        report.bootstrap_total_max_chars = loaded.limits.map(|(_, total)| total);
        let in_container = given.get("sandbox").is_some_and(|sandbox| sandbox["enabled"] == true);
        let sandboxed = in_container || facts.settings.sandbox_policy != SandboxPolicy::DangerFullAccess;
        let mode = if sandboxed { "all" } else { "off" };
        report.sandbox = Some(AssistantSandboxReport { mode: Some(mode.to_owned()), sandboxed: Some(sandboxed) });
        report
    }
}

/// The lines before and after a list in the section that has it.
fn around<'a>(section: &'a str, list: &str) -> (&'a str, &'a str) {
    let (before, after) = section.split_once(list).unwrap_or_default();
    let last = before.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
    let first = after.trim_start_matches('\n').split('\n').next().unwrap_or_default();
    (last, first)
}

/// The tokens of so many units, estimated.
pub fn tokens(units: i64) -> i64 {
    (units.max(0) + UNITS_PER_TOKEN - 1) / UNITS_PER_TOKEN
}

/// From the newline before the heading of the files to the one before the section after them. In a
/// plain search, so lines like these in other texts shift it.
fn project_context(prompt: &str, (heading, next): (Option<&str>, Option<&str>)) -> usize {
    let line = |heading: &str| format!("\n{heading}\n");
    let Some((start, heading)) = heading.map(line).and_then(|line| Some((prompt.find(&line)?, line))) else {
        return 0;
    };
    let after = start + heading.len();
    let end = next.and_then(|next| prompt[after..].find(&line(next))).map_or(prompt.len(), |at| after + at);
    utf16::len(&prompt[start..end])
}

/// A row for each file. Its text in the prompt is looked for by path, by name, then by base name.
pub fn files(files: &[BootstrapFile], injected: &[ContextFile]) -> Vec<FileReport> {
    let base_name = |path: &str| path.replace('\\', "/").rsplit('/').next().unwrap_or_default().to_owned();
    let row = |file: &BootstrapFile| {
        let by_path = |path: &str| injected.iter().rfind(|it| it.path == path);
        let by_base = || injected.iter().find(|it| base_name(&it.path) == file.name);
        let found = by_path(&file.path).or_else(|| by_path(&file.name)).or_else(by_base);
        let raw_chars = match file.content.as_deref().filter(|_| !file.missing) {
            Some(text) => utf16::len(utf16::trim_end(text)),
            None => 0,
        };
        let injected_chars = found.map_or(0, |it| it.n_units);
        FileReport {
            name: file.name.clone(),
            path: file.path.clone(),
            missing: file.missing,
            raw_chars,
            injected_chars,
            truncated: !file.missing && injected_chars < raw_chars,
        }
    };
    files.iter().map(row).collect()
}

/// The skills of a list: every `<skill>` that is closed.
fn skills(text: &str) -> Vec<SkillReport> {
    const OPEN: &str = "<skill>";
    const CLOSE: &str = "</skill>";
    let text = utf16::trim(text);
    let lower = text.to_ascii_lowercase();
    let mut entries = Vec::new();
    let mut from = 0;
    while let Some(start) = lower[from..].find(OPEN).map(|at| from + at) {
        let Some(end) = lower[start..].find(CLOSE).map(|at| start + at + CLOSE.len()) else {
            break;
        };
        let block = &text[start..end];
        entries.push(SkillReport { name: skill_name(block), block_chars: utf16::len(block) });
        from = end;
    }
    entries
}

fn skill_name(block: &str) -> String {
    const OPEN: &str = "<name>";
    let lower = block.to_ascii_lowercase();
    let names = lower.match_indices(OPEN).filter_map(|(at, _)| {
        let start = at + OPEN.len();
        let end = start + block[start..].find('<')?;
        (end > start && lower[end..].starts_with("</name>")).then(|| utf16::trim(&block[start..end]))
    });
    match names.into_iter().next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => "(unknown)".to_owned(),
    }
}

fn tool(tool: &ToolFacts) -> ToolReport {
    let trimmed = |text: &Option<String>| text.as_deref().map(utf16::trim).filter(|it| !it.is_empty()).map(utf16::len);
    let schema = tool.parameters.as_ref().filter(|it| it.is_object() || it.is_array());
    let properties = tool.parameters.as_ref().and_then(|it| it.get("properties"));
    ToolReport {
        name: tool.name.clone(),
        summary_chars: trimmed(&tool.description).or_else(|| trimmed(&tool.label)).unwrap_or(0),
        schema_chars: schema.map_or(0, |schema| utf16::len(&compact(schema))),
        properties_count: properties.and_then(Value::as_object).map(serde_json::Map::len),
    }
}

/// Compact JSON, with whole numbers that are written with a fraction as whole numbers.
fn compact(value: &Value) -> String {
    fn whole(value: &Value) -> Value {
        match value {
            Value::Number(number) if number.is_f64() => match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 9.0e15 => Value::from(float as i64),
                _ => value.clone(),
            },
            Value::Array(values) => values.iter().map(whole).collect(),
            Value::Object(fields) => Value::Object(fields.iter().map(|(key, it)| (key.clone(), whole(it))).collect()),
            other => other.clone(),
        }
    }
    whole(value).to_string()
}

fn tool_list(prompt: &str, before: &str, after: &str) -> usize {
    let Some(start) = prompt.find(&format!("{before}\n")).map(|at| at + before.len() + 1) else {
        return 0;
    };
    match prompt[start..].find(&format!("\n{after}")) {
        Some(len) if !before.is_empty() && !after.is_empty() => utf16::len(utf16::trim(&prompt[start..start + len])),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
