//! The report of a prompt, and how it is shown.

use pellucid_engine::bootstrap::{BootstrapFile, ContextFile};
use pellucid_engine::pack::Pack;
use pellucid_engine::prompt_sizes::reply::{ReplyKind, SessionTokens, reply};
use pellucid_engine::prompt_sizes::{AssistantSandboxReport, Measured, PromptReport, ToolFacts, tokens};
use pellucid_engine::utf16;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bootstrap::{self, GivenFile};
use super::sections::{self, Params, RuntimeInfo};
use super::text::{Part, made};
use crate::golden::Verdict;
use crate::golden::cases::{self, same};

/// The lines around our list of tools, as the pack has them.
const NO_LIST: (&str, &str) = ("", "");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuildCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "note")]
    _note: String,
    input: BuildInput,
    expect: Value,
    key_order: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BuildInput {
    generated_at: i64,
    source: String,
    #[serde(rename = "system_prompt")]
    system_prompt: Option<Vec<Part>>,
    #[serde(alias = "params", alias = "promptParams", alias = "system_prompt_params")]
    prompt_params: Option<Params>,
    session_id: Option<String>,
    session_key: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    workspace_dir: Option<String>,
    max: Option<usize>,
    total: Option<usize>,
    sandbox: Option<AssistantSandboxReport>,
    #[serde(default)]
    files: Vec<GivenFile>,
    #[serde(default)]
    injected: Vec<InjectedFile>,
    #[serde(default)]
    skills: Vec<Part>,
    #[serde(default)]
    tools: Vec<ToolFacts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InjectedFile {
    path: String,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RenderCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "note")]
    _note: String,
    command: String,
    report: PromptReport,
    session_entry: SessionEntry,
    context_tokens: Option<i64>,
    workspace_dir: String,
    expect: Rendered,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SessionEntry {
    total_tokens: Option<i64>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rendered {
    utf16_len: usize,
    #[serde(rename = "sha256_utf8")]
    _sha256_utf8: String,
    lines: Option<Vec<RenderedLine>>,
    line_count: Option<usize>,
    json: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum RenderedLine {
    Exact(String),
    /// A line of prose.
    Slot {
        #[serde(rename = "slot")]
        _slot: String,
        #[serde(rename = "utf16_len")]
        _utf16_len: usize,
        #[serde(rename = "sha256_utf8")]
        _sha256_utf8: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Misc {
    token_estimate: Vec<TokenCase>,
    runtime_line: Vec<RuntimeCase>,
    sanitize_literal: Vec<LiteralCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenCase {
    chars: i64,
    tokens: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeCase {
    runtime_info: RuntimeInfo,
    channel: Option<String>,
    capabilities: Option<Vec<String>>,
    think_level: Option<String>,
    line: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LiteralCase {
    #[serde(rename = "in")]
    given: String,
    out: String,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    let Some(fields) = file.as_object() else {
        return vec![Verdict::failed("the file", "is no map")];
    };
    let mut verdicts = cases::unknown_fields(fields, &[super::ABOUT, &["misc", "build", "render"]].concat());
    verdicts.extend(cases::each(file, "build", build));
    verdicts.extend(cases::each(file, "render", |case: RenderCase| render(&case)));
    if let Some(rows) = fields.get("misc") {
        verdicts.extend(misc(rows));
    }
    verdicts
}

fn build(case: BuildCase) -> Result<(), String> {
    let input = case.input;
    let is_built = input.prompt_params.is_some();
    let (prompt, list_between) = match (&input.system_prompt, input.prompt_params) {
        (Some(parts), None) => (made(parts), None),
        (None, Some(params)) => (sections::prompt(params)?, Some(delimiters()?)),
        _ => return Err("a prompt is given or built".to_owned()),
    };
    let files: Vec<BootstrapFile> = input.files.iter().map(GivenFile::read).collect::<Result<_, _>>()?;
    let injected: Vec<ContextFile> =
        input.injected.iter().map(|file| ContextFile::new(&file.path, &made(&file.parts))).collect();
    let skills = made(&input.skills);
    let between = list_between.as_ref().map_or(NO_LIST, |(before, after)| (before.as_str(), after.as_str()));
    let layout = sections::pack().layout.instructions.report.as_ref().ok_or("the pack says what is measured")?;
    let mut report = PromptReport::measure(Measured {
        prompt: &prompt,
        files: &files,
        injected: &injected,
        skills: &skills,
        tools: &input.tools,
        list_between: between,
        headings: (layout.files_heading.as_deref(), layout.next_heading.as_deref()),
    });
    report.source = input.source;
    report.generated_at = input.generated_at;
    report.session_id = input.session_id;
    report.session_key = input.session_key;
    report.provider = input.provider;
    report.model = input.model;
    report.workspace_dir = input.workspace_dir;
    report.bootstrap_max_chars = Some(input.max.unwrap_or(bootstrap::max()));
    report.bootstrap_total_max_chars = input.total;
    report.sandbox = input.sandbox;
    let mut found = serde_json::to_value(&report).map_err(|error| error.to_string())?;
    if is_built && case.expect.get("systemPrompt").is_none() {
        found.as_object_mut().ok_or("a report is a map")?.shift_remove("systemPrompt");
    }
    same("report", &found, &case.expect)?;
    let keys: Vec<&String> = found.as_object().ok_or("a report is a map")?.keys().collect();
    let expected: Vec<&String> =
        case.key_order.iter().filter(|key| !is_built || *key != "systemPrompt" || found.get(*key).is_some()).collect();
    same("keys", &keys, &expected)
}

/// The lines around the list of tools in a prompt that our pack makes.
fn delimiters() -> Result<(String, String), String> {
    let files = Pack::builtin_files("openclaw").ok_or("the pack is built in")?;
    let text = files.get("sections/tooling.jinja").ok_or("the pack has the section")?;
    let (before, after) =
        text.split_once("\n{% include \"sections/tool_list.jinja\" %}\n").ok_or("the section has no list")?;
    let last = before.rsplit('\n').next().unwrap_or_default();
    let first = after.split('\n').next().unwrap_or_default();
    Ok((last.to_owned(), first.to_owned()))
}

fn render(case: &RenderCase) -> Result<(), String> {
    let session = SessionTokens {
        total: case.session_entry.total_tokens,
        input: case.session_entry.input_tokens,
        output: case.session_entry.output_tokens,
        context: case.context_tokens,
    };
    let found = reply(ReplyKind::of_command(&case.command), &case.report, session, &case.workspace_dir);
    let lines: Vec<&str> = found.split('\n').collect();
    match (&case.expect.lines, &case.expect.json, case.expect.line_count) {
        (Some(expected), None, None) => {
            same("lines", &lines.len(), &expected.len())?;
            for (found, expected) in lines.iter().zip(expected) {
                match expected {
                    RenderedLine::Exact(expected) => same("line", found, &expected.as_str())?,
                    RenderedLine::Slot { .. } => same("prose", &found.is_empty(), &false)?,
                }
            }
            Ok(())
        }
        (None, Some(expected), None) => {
            let value: Value = serde_json::from_str(&found).map_err(|error| error.to_string())?;
            same("json", &value, expected)?;
            same("units", &utf16::len(&found), &case.expect.utf16_len)?;
            same("layout", &found, &format!("{expected:#}"))
        }
        (None, None, Some(n_lines)) => same("lines", &lines.len(), &n_lines),
        _ => Err("a reply is lines or JSON".to_owned()),
    }
}

fn misc(rows: &Value) -> Vec<Verdict> {
    let misc: Misc = match serde_json::from_value(rows.clone()) {
        Ok(misc) => misc,
        Err(error) => return vec![Verdict::failed("misc", error.to_string())],
    };
    let mut verdicts = Vec::new();
    for (n, case) in misc.token_estimate.iter().enumerate() {
        verdicts.push(Verdict::new(format!("token_estimate[{n}]"), same("tokens", &tokens(case.chars), &case.tokens)));
    }
    for (n, case) in misc.runtime_line.iter().enumerate() {
        let mut runtime = case.runtime_info.read();
        runtime.extend(sections::known(json!({ "channel": case.channel, "capabilities": case.capabilities })));
        let given = sections::known(json!({ "runtime": runtime, "think_level": case.think_level }));
        let line = sections::line(Params::default(), given, "Runtime: ").map(|line| format!("Runtime: {line}"));
        let verdict = line.and_then(|line| same("line", &line, &case.line));
        verdicts.push(Verdict::new(format!("runtime_line[{n}]"), verdict));
    }
    for (n, case) in misc.sanitize_literal.iter().enumerate() {
        let params = Params::in_folder(&case.given);
        let found = sections::line(params, Map::new(), "Your working directory is: ");
        let verdict = found.and_then(|found| same("text", &found, &case.out));
        verdicts.push(Verdict::new(format!("sanitize_literal[{n}]"), verdict));
    }
    verdicts
}
