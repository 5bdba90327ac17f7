//! The sections of the system prompt, made by the pack from the inputs of the cases.

use std::sync::LazyLock;

use pellucid_engine::assemble::assemble;
use pellucid_engine::bootstrap::{ContextFile, LoadedFiles};
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::concat;
use pellucid_engine::pack::Pack;
use pellucid_engine::utf16;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::settings::PromptMode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::golden::Verdict;
use crate::golden::cases::{self, same};
use crate::golden::text::sha256;

/// What a prompt is built from.
#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    workspace_dir: String,
    default_think_level: Option<String>,
    reasoning_level: Option<String>,
    extra_system_prompt: Option<String>,
    owner_numbers: Vec<String>,
    reasoning_tag_hint: bool,
    tool_names: Vec<String>,
    tool_summaries: Map<String, Value>,
    model_alias_lines: Vec<String>,
    user_timezone: Option<String>,
    #[serde(rename = "userTime")]
    _user_time: Option<String>,
    #[serde(rename = "userTimeFormat")]
    _user_time_format: Option<String>,
    context_files: Vec<Value>,
    skills_prompt: Option<String>,
    heartbeat_prompt: Option<String>,
    docs_path: Option<String>,
    workspace_notes: Vec<String>,
    tts_hint: Option<String>,
    runtime_info: Option<RuntimeInfo>,
    message_tool_hints: Vec<String>,
    sandbox_info: Option<SandboxInfo>,
    reaction_guidance: Option<ReactionGuidance>,
    memory_citations_mode: Option<String>,
    prompt_mode: Option<String>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RuntimeInfo {
    agent_id: Option<String>,
    host: Option<String>,
    os: Option<String>,
    arch: Option<String>,
    node: Option<String>,
    model: Option<String>,
    default_model: Option<String>,
    shell: Option<String>,
    channel: Option<String>,
    capabilities: Option<Vec<String>>,
    repo_root: Option<String>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SandboxInfo {
    enabled: bool,
    workspace_dir: Option<String>,
    container_workspace_dir: Option<String>,
    workspace_access: Option<String>,
    agent_workspace_mount: Option<String>,
    browser_bridge_url: Option<String>,
    browser_no_vnc_url: Option<String>,
    host_browser_allowed: Option<bool>,
    elevated: Option<Elevated>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Elevated {
    allowed: bool,
    default_level: String,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct ReactionGuidance {
    level: String,
    channel: String,
}

impl RuntimeInfo {
    pub fn read(&self) -> Map<String, Value> {
        let it = self.clone();
        known(json!({
            "agent": it.agent_id.unwrap_or_default(),
            "host": it.host,
            "repo": it.repo_root,
            "os": it.os,
            "arch": it.arch,
            "node": it.node,
            "model": it.model,
            "default_model": it.default_model,
            "shell": it.shell,
            "channel": it.channel,
            "capabilities": it.capabilities,
        }))
    }
}

/// The values of a table that are not null.
pub fn known(table: Value) -> Map<String, Value> {
    match table {
        Value::Object(values) => values.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

pub fn pack() -> &'static Pack {
    static PACK: LazyLock<Pack> = LazyLock::new(|| Pack::builtin("openclaw").expect("it is built in"));
    &PACK
}

/// The facts that parameters represent.
pub fn facts(params: Params) -> Result<Facts, String> {
    let model: ModelInfo = serde_json::from_value(json!({
        "slug": "m", "display_name": "m", "shell_type": "default", "visibility": "list",
        "truncation_policy": { "mode": "tokens", "limit": 10_000 },
        "context_window": 200_000,
    }))
    .map_err(|error| error.to_string())?;
    let mut facts = Facts::plain(&params.workspace_dir, model);
    // The cases name it where there is one.
    facts.world.shell.clear();
    facts.system.prompt_mode = match params.prompt_mode.as_deref() {
        None => PromptMode::Full,
        Some(word) => PromptMode::from_word(word).ok_or(format!("unknown mode {word}"))?,
    };
    // A path that is not a text gives no file.
    let file = |value: &Value| Some(ContextFile::new(value["path"].as_str()?, value["content"].as_str()?));
    let sandbox = params.sandbox_info.map(|it| {
        known(json!({
            "enabled": it.enabled,
            "workspace_dir": it.workspace_dir,
            "container_dir": it.container_workspace_dir,
            "workspace_access": it.workspace_access,
            "agent_mount": it.agent_workspace_mount,
            "browser_url": it.browser_bridge_url,
            "observer_url": it.browser_no_vnc_url,
            "host_browser_allowed": it.host_browser_allowed,
            "elevated_level": it.elevated.filter(|it| it.allowed).map(|it| it.default_level),
        }))
    });
    let reactions =
        params.reaction_guidance.map(|it| json!({ "is_minimal": it.level == "minimal", "channel": it.channel }));
    // A summary that is not a text is none.
    let summaries: Map<String, Value> = params.tool_summaries.into_iter().filter(|(_, it)| it.is_string()).collect();
    facts.system.files =
        LoadedFiles { placed: params.context_files.iter().filter_map(file).collect(), ..LoadedFiles::default() };
    facts.system.given = known(json!({
        "tools": params.tool_names,
        "tool_summaries": summaries,
        "skills_prompt": params.skills_prompt.unwrap_or_default(),
        "memory_citations": params.memory_citations_mode,
        "model_aliases": params.model_alias_lines,
        "time_zone": params.user_timezone,
        "workspace_notes": params.workspace_notes,
        "docs_path": params.docs_path,
        "sandbox": sandbox,
        "owner_numbers": params.owner_numbers,
        "message_tool_hints": params.message_tool_hints,
        "voice_hint": params.tts_hint,
        "reactions": reactions,
        "heartbeat_prompt": params.heartbeat_prompt,
        "extra_prompt": params.extra_system_prompt,
        "reasoning_tags": params.reasoning_tag_hint,
        "think_level": params.default_think_level,
        "reasoning_level": params.reasoning_level,
        "runtime": params.runtime_info.unwrap_or_default().read(),
    }));
    Ok(facts)
}

impl Params {
    /// Parameters with nothing but a folder.
    pub fn in_folder(folder: &str) -> Self {
        Self { workspace_dir: folder.to_owned(), ..Self::default() }
    }
}

/// The rest of the only line of a prompt that begins so, with further values given.
pub fn line(params: Params, given: Map<String, Value>, begins: &str) -> Result<String, String> {
    let mut facts = facts(params)?;
    facts.system.given.extend(given);
    let prompt = concat(&assemble(pack(), &facts).instructions);
    let mut lines = prompt.lines().filter_map(|line| line.strip_prefix(begins));
    lines.next().map(str::to_owned).ok_or_else(|| format!("no line begins with {begins:?}"))
}

/// The prompt that the pack makes of parameters.
pub fn prompt(params: Params) -> Result<String, String> {
    Ok(concat(&assemble(pack(), &facts(params)?).instructions))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "note")]
    _note: String,
    params: Params,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    // Length and hash of the whole prompt belong to the prose of the original.
    #[serde(rename = "utf16_len")]
    _utf16_len: usize,
    #[serde(rename = "sha256_utf8")]
    _sha256_utf8: String,
    sections: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    heading: Option<String>,
    utf16_len: usize,
    sha256_utf8: String,
    lines: usize,
    from_inputs: bool,
    #[serde(default)]
    data_lines: Vec<String>,
}

/// A text of the original that ours replaces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slot {
    slot: String,
    #[serde(rename = "where")]
    _place: String,
    #[serde(rename = "utf16_len")]
    _utf16_len: usize,
    #[serde(rename = "sha256_utf8")]
    _sha256_utf8: String,
}

/// The file with our words for each text.
const FILES: &[(&str, &str)] = &[
    ("identity", "sections/identity.md"),
    ("project_context_intro", "sections/project_context.jinja"),
    ("soul_hint", "sections/project_context.jinja"),
    ("workspace_files_note", "sections/workspace_files.md"),
    ("time_lookup_line", "sections/time_lookup.md"),
    ("reasoning_line", "sections/runtime.jinja"),
    ("tool_list_before", "sections/tooling.jinja"),
    ("tool_list_after", "sections/tooling.jinja"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "len")]
    _len: usize,
    #[serde(rename = "sha256")]
    _sha256: String,
    heading: Option<String>,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    let Some(fields) = file.as_object() else {
        return vec![Verdict::failed("the file", "is no map")];
    };
    let known = [super::ABOUT, &["cases", "slots", "line_table_full_rich", "line_table_full_bare"]].concat();
    let mut verdicts = cases::unknown_fields(fields, &known);
    verdicts.extend(cases::each(file, "cases", |case: Case| {
        let prompt = prompt(case.params)?;
        let found = split(&prompt);
        let headings: Vec<_> = found.iter().map(|section| heading(section)).collect();
        let expected: Vec<_> = case.expect.sections.iter().map(|section| section.heading.as_deref()).collect();
        same("headings", &headings, &expected)?;
        for (found, expected) in found.iter().zip(&case.expect.sections) {
            check(found, expected).map_err(|problem| format!("{:?}: {problem}", expected.heading))?;
        }
        Ok(())
    }));
    if fields.contains_key("slots") {
        let files = Pack::builtin_files("openclaw").expect("it is built in");
        verdicts.extend(cases::each(file, "slots", |slot: Slot| {
            let (_, ours) = FILES.iter().find(|(name, _)| *name == slot.slot).ok_or("unknown slot")?;
            same("our words", &files.get(*ours).is_none_or(|text| text.trim().is_empty()), &false)
        }));
    }
    for (table, id) in [("line_table_full_rich", "sec-01"), ("line_table_full_bare", "sec-04")] {
        if let Some(rows) = fields.get(table) {
            verdicts.push(Verdict::new(table, line_table(file, rows, id)));
        }
    }
    verdicts
}

fn check(found: &[&str], expected: &Section) -> Result<(), String> {
    if expected.from_inputs {
        let text = found.join("\n");
        same("units", &utf16::len(&text), &expected.utf16_len)?;
        same("hash", &sha256(text.as_bytes()), &expected.sha256_utf8)?;
    }
    same("lines", &found.len(), &expected.lines)?;
    let mut from = 0;
    for line in &expected.data_lines {
        let at = found[from..].iter().position(|it| it == line).ok_or(format!("{line:?} is not in {found:?}"))?;
        from += at + 1;
    }
    Ok(())
}

/// Splits a prompt at its headings; the lines before the first are a section without one.
fn split(prompt: &str) -> Vec<Vec<&str>> {
    let mut sections: Vec<Vec<&str>> = vec![Vec::new()];
    for line in prompt.split('\n') {
        if is_heading(line) {
            sections.push(Vec::new());
        }
        sections.last_mut().expect("there is one").push(line);
    }
    sections.retain(|section| !section.is_empty());
    sections
}

fn heading<'a>(section: &[&'a str]) -> Option<&'a str> {
    section.first().copied().filter(|line| is_heading(line))
}

fn is_heading(line: &str) -> bool {
    ["# ", "## ", "### "].iter().any(|mark| line.starts_with(mark))
}

/// The prompt must have as many lines as the original, with the headings at the same places.
fn line_table(file: &Value, rows: &Value, id: &str) -> Result<(), String> {
    let rows: Vec<Line> = serde_json::from_value(rows.clone()).map_err(|error| error.to_string())?;
    let cases = file["cases"].as_array().ok_or("no cases")?;
    // The table's case may be withheld; then there is nothing to build it from.
    let Some(case) = cases.iter().find(|case| case["id"] == id) else {
        return Ok(());
    };
    let params: Params = serde_json::from_value(case["params"].clone()).map_err(|error| error.to_string())?;
    let prompt = prompt(params)?;
    let found: Vec<_> = prompt.split('\n').map(|line| is_heading(line).then_some(line)).collect();
    same("lines", &found, &rows.iter().map(|row| row.heading.as_deref()).collect())
}
