//! Cutting one file, and all files from the disk into the prompt.

use std::fs;
use std::path::Path;

use pellucid_engine::bootstrap::{self, BootstrapFile, FileListChange, FileSetLayout, Fitted};
use pellucid_engine::computed::usual_mode;
use pellucid_engine::prompt_sizes::{self, FileReport};
use pellucid_engine::utf16;
use pellucid_protocol::settings::PromptMode;
use pellucid_workspace::bootstrap_files::{self, ExtraFiles, May};
use serde::Deserialize;
use serde_json::Value;

use super::sections;
use super::text::{Output, Part, made};
use crate::golden::Verdict;
use crate::golden::cases::{self, same};
use crate::golden::text::sha256;
use crate::scratch::Scratch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrimCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "note")]
    _note: String,
    file_name: String,
    input: Input,
    max_chars: usize,
    expect: Trimmed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    parts: Vec<Part>,
    utf16_len: usize,
    sha256_utf8: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trimmed {
    truncated: bool,
    max_chars: usize,
    original_length: usize,
    head_chars: Option<usize>,
    tail_chars: Option<usize>,
    output: Output,
}

/// The files that the pack begins with.
fn set() -> &'static FileSetLayout {
    sections::pack().layout.bootstrap.as_ref().expect("the pack begins with files")
}

/// The limit of one file.
pub fn max() -> usize {
    set().rules.per_file.unwrap_or_default()
}

fn total_max() -> usize {
    set().rules.total.unwrap_or_default()
}

pub fn trim(file: &Value) -> Vec<Verdict> {
    let Some(fields) = file.as_object() else {
        return vec![Verdict::failed("the file", "is no map")];
    };
    let mut verdicts = cases::unknown_fields(fields, &[super::ABOUT, &["cases"]].concat());
    verdicts.extend(cases::each(file, "cases", |case: TrimCase| {
        let text = made(&case.input.parts);
        check_input(&text, case.input.utf16_len, &case.input.sha256_utf8)?;
        let placed = set().trim(&text, &case.file_name, case.max_chars);
        same("truncated", &placed.is_cut, &case.expect.truncated)?;
        same("max", &placed.max, &Some(case.expect.max_chars))?;
        same("original", &placed.original, &case.expect.original_length)?;
        let shares = case.expect.head_chars.zip(case.expect.tail_chars);
        if shares.is_some() {
            same("shares", &placed.shares, &shares)?;
        }
        case.expect.output.check(&placed.units)
    }));
    verdicts
}

fn check_input(text: &str, utf16_len: usize, sha256_utf8: &str) -> Result<(), String> {
    same("generated units", &utf16::len(text), &utf16_len)?;
    same("generated hash", &sha256(text.as_bytes()).as_str(), &sha256_utf8)
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Case {
    Pure(Box<PureCase>),
    Disk(Box<DiskCase>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PureCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "note")]
    _note: String,
    files: Vec<GivenFile>,
    bootstrap_max_chars: Option<f64>,
    bootstrap_total_max_chars: Option<f64>,
    expect: Expected,
}

/// A file of a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenFile {
    name: String,
    path: String,
    parts: Option<Vec<Part>>,
    #[serde(default)]
    missing: bool,
    #[serde(default)]
    content_absent: bool,
    utf16_len: Option<usize>,
    sha256_utf8: Option<String>,
}

impl GivenFile {
    pub fn read(&self) -> Result<BootstrapFile, String> {
        if self.missing {
            return Ok(BootstrapFile::missing(&self.name, &self.path));
        }
        let text = match &self.parts {
            Some(parts) => made(parts),
            None if self.content_absent => String::new(),
            None => return Err(format!("{} has no content", self.path)),
        };
        if let (Some(len), Some(hash)) = (self.utf16_len, &self.sha256_utf8) {
            check_input(&text, len, hash)?;
        }
        let mut file = BootstrapFile::read(&self.name, &self.path, text.as_bytes());
        if self.content_absent {
            file.content = None;
        }
        Ok(file)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    loaded: Option<Vec<Loaded>>,
    context_files: Vec<ExpectedFile>,
    injected_total_utf16: Option<usize>,
    warnings: Vec<String>,
    report_files: Vec<FileReport>,
}

#[derive(Deserialize)]
struct ExpectedFile {
    path: String,
    #[serde(flatten)]
    output: Value,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Loaded {
    name: String,
    path: String,
    missing: bool,
    utf16_len: Option<usize>,
    sha256_utf8: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiskCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "note")]
    _note: String,
    tree: Vec<TreeRow>,
    session_key: Option<String>,
    session_id: Option<String>,
    #[serde(default)]
    bootstrap_max_chars: Value,
    #[serde(default)]
    bootstrap_total_max_chars: Value,
    hook: Option<HookCase>,
    order: Option<String>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeRow {
    path: String,
    parts: Option<Vec<Part>>,
    hex: Option<String>,
    #[serde(default)]
    dir: bool,
    symlink: Option<String>,
    #[serde(default)]
    outside: bool,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum HookCase {
    Replace {
        event: Option<String>,
        name: String,
        parts: Vec<Part>,
    },
    Append {
        event: Option<String>,
        name: String,
        rel: String,
        parts: Vec<Part>,
    },
    Throw,
    Clear,
    /// The hook replaces the list by something else.
    #[serde(alias = "not_a_list", alias = "not-a-list", alias = "drop")]
    NotAList,
    #[serde(rename = "two_appends")]
    TwoAppends,
    ExtraFiles {
        entry: Value,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NumberCase {
    value: Value,
    max: usize,
    total: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyCase {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "group")]
    _group: String,
    session_key: Option<String>,
    filtered: bool,
    names: Vec<String>,
}

pub fn run(file: &Value) -> Vec<Verdict> {
    let Some(fields) = file.as_object() else {
        return vec![Verdict::failed("the file", "is no map")];
    };
    let known = [super::ABOUT, &["config_numbers", "session_filter", "cases"]].concat();
    let mut verdicts = cases::unknown_fields(fields, &known);
    verdicts.extend(cases::each(file, "cases", |case: Case| match case {
        Case::Pure(case) => pure(&case),
        Case::Disk(case) => disk(&case),
    }));
    if fields.contains_key("config_numbers") {
        verdicts.extend(cases::each(file, "config_numbers", |case: NumberCase| {
            // A word in parentheses represents a value that JSON lacks.
            let value = match case.value.as_str() {
                Some("(unset)" | "(NaN)" | "(Infinity)" | "(-Infinity)") => Value::Null,
                _ => case.value,
            };
            same("max", &bootstrap::limit(&value, max()), &case.max)?;
            same("total", &bootstrap::limit(&value, total_max()), &case.total)
        }));
    }
    if fields.contains_key("session_filter") {
        verdicts.extend(cases::each(file, "session_filter", |case: KeyCase| {
            let all =
                set().names.iter().chain(&set().optional).map(|name| BootstrapFile::missing(name, name)).collect();
            let left = set().for_session(all, is_minimal(case.session_key.as_deref())?);
            let names: Vec<String> = left.iter().map(|file| file.name.clone()).collect();
            same("names", &names, &case.names)?;
            same("filtered", &(names.len() < set().names.len() + set().optional.len()), &case.filtered)
        }));
    }
    verdicts
}

/// Whether the session with this key is one for which the layout makes a small prompt.
fn is_minimal(session_key: Option<&str>) -> Result<bool, String> {
    let mut facts = sections::facts(sections::Params::in_folder("/"))?;
    facts.system.given.insert("session_key".to_owned(), session_key.unwrap_or_default().into());
    let mode = usual_mode(sections::pack(), &facts).map_err(|error| error.to_string())?;
    Ok(mode == PromptMode::Minimal)
}

fn pure(case: &PureCase) -> Result<(), String> {
    let files: Vec<BootstrapFile> = case.files.iter().map(GivenFile::read).collect::<Result<_, _>>()?;
    // A negative limit counts as zero.
    let limit = |limit: Option<f64>| limit.map(|limit| limit.floor() as usize);
    let fitted = set().fit(&files, limit(case.bootstrap_max_chars), limit(case.bootstrap_total_max_chars));
    check(&files, fitted, &case.expect, false)
}

fn check(files: &[BootstrapFile], fitted: Fitted, expected: &Expected, is_unordered: bool) -> Result<(), String> {
    let rows = prompt_sizes::files(files, &fitted.files);
    let mut found = fitted.files;
    let mut wanted: Vec<&ExpectedFile> = expected.context_files.iter().collect();
    let mut rows: Vec<&FileReport> = rows.iter().collect();
    let mut wanted_rows: Vec<&FileReport> = expected.report_files.iter().collect();
    if is_unordered {
        found.sort_by(|a, b| a.path.cmp(&b.path));
        wanted.sort_by(|a, b| a.path.cmp(&b.path));
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        wanted_rows.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
    same("paths", &paths, &wanted.iter().map(|file| file.path.as_str()).collect())?;
    for (found, expected) in found.iter().zip(wanted) {
        let output: Output = serde_json::from_value(expected.output.clone()).map_err(|error| error.to_string())?;
        output.check(&found.units).map_err(|problem| format!("{}: {problem}", found.path))?;
    }
    if let Some(total) = expected.injected_total_utf16 {
        same("total", &found.iter().map(|file| file.n_units).sum::<usize>(), &total)?;
    }
    same("warnings", &fitted.warnings, &expected.warnings)?;
    same("rows", &rows, &wanted_rows)
}

fn disk(case: &DiskCase) -> Result<(), String> {
    let scratch = Scratch::new().map_err(|error| error.to_string())?;
    let failed = |error: anyhow::Error| error.to_string();
    let (workspace, outside) = (scratch.folder("ws").map_err(failed)?, scratch.folder("out").map_err(failed)?);
    for row in &case.tree {
        plant(row, &workspace, &outside)?;
    }
    let place =
        |text: &str| text.replace(&*workspace.to_string_lossy(), "{WS}").replace(&*outside.to_string_lossy(), "{OUT}");
    let loaded = bootstrap_files::load(set(), &workspace, &May::All).0;
    if let Some(expected) = &case.expect.loaded {
        let found: Vec<Loaded> = loaded.iter().map(|file| as_loaded(file, &place)).collect();
        same("loaded", &found, expected)?;
    }
    let key = case.session_key.as_deref().filter(|key| !key.is_empty()).or(case.session_id.as_deref());
    let filtered = set().for_session(loaded, is_minimal(key)?);
    let filtered = match &case.hook {
        Some(HookCase::ExtraFiles { entry }) => {
            let extra = extra(entry).load(set(), &workspace, &May::All).0;
            set().with_extra(filtered, extra, is_minimal(case.session_key.as_deref())?)
        }
        _ => filtered,
    };
    let changes = changes(case.hook.as_ref(), &filtered, &workspace)?;
    let (files, _) = bootstrap::changed(filtered, &changes);
    // Paths are compared with the placeholders of the folders, and no budget applies to such a text.
    let placed: Vec<BootstrapFile> =
        files.into_iter().map(|file| BootstrapFile { path: place(&file.path), ..file }).collect();
    let max = bootstrap::limit(&case.bootstrap_max_chars, max());
    let total = bootstrap::limit(&case.bootstrap_total_max_chars, total_max());
    let fitted = set().fit(&placed, Some(max), Some(total));
    check(&placed, fitted, &case.expect, case.order.is_some())
}

fn as_loaded(file: &BootstrapFile, place: &impl Fn(&str) -> String) -> Loaded {
    Loaded {
        name: file.name.clone(),
        path: place(&file.path),
        missing: file.missing,
        utf16_len: file.content.as_deref().map(utf16::len),
        sha256_utf8: file.content.as_deref().map(|text| sha256(text.as_bytes())),
    }
}

/// The changes of the list that a hook makes. Those for every event of agents come first.
fn changes(case: Option<&HookCase>, files: &[BootstrapFile], workspace: &Path) -> Result<Vec<FileListChange>, String> {
    let read = |name: &str, rel: &str, text: &str| {
        Box::new(BootstrapFile::read(name, &workspace.join(rel).to_string_lossy(), text.as_bytes()))
    };
    let known = |event: &Option<String>| match event.as_deref() {
        None | Some("agent:bootstrap" | "agent") => Ok(()),
        Some(other) => Err(format!("unknown event {other}")),
    };
    Ok(match case {
        // A list that is replaced by something else has no effect.
        None | Some(HookCase::NotAList | HookCase::ExtraFiles { .. }) => Vec::new(),
        Some(HookCase::Replace { event, name, parts }) => {
            known(event)?;
            vec![FileListChange::Swap { name: name.clone(), by: read(name, name, &made(parts)) }]
        }
        Some(HookCase::Append { event, name, rel, parts }) => {
            known(event)?;
            vec![FileListChange::Add(read(name, rel, &made(parts)))]
        }
        Some(HookCase::Throw) => {
            vec![FileListChange::Failed { what: "hook".to_owned(), reason: "it fails".to_owned() }]
        }
        Some(HookCase::Clear) => {
            files.iter().map(|file| FileListChange::LeaveOut { name: file.name.clone() }).collect()
        }
        Some(HookCase::TwoAppends) => {
            ["a/USER.md", "b/USER.md"].map(|rel| FileListChange::Add(read("USER.md", rel, rel))).to_vec()
        }
    })
}

/// The further files that an entry of the original's configuration names: the first of its lists that has a text.
fn extra(entry: &Value) -> ExtraFiles {
    let is_on = entry.get("enabled") != Some(&Value::Bool(false));
    let lists = ["paths", "patterns", "files"].map(|name| -> Vec<String> {
        let list = entry.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    });
    let mut used = lists.iter().filter(|list| is_on && list.iter().any(|text| !utf16::is_blank(text)));
    ExtraFiles::new(used.next().into_iter().flatten())
}

fn plant(row: &TreeRow, workspace: &Path, outside: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", row.path);
    let path = if row.outside { outside } else { workspace }.join(&row.path);
    fs::create_dir_all(path.parent().ok_or("no folder")?).map_err(failed)?;
    match row {
        TreeRow { dir: true, .. } => fs::create_dir_all(&path).map_err(failed)?,
        TreeRow { symlink: Some(target), .. } => {
            let target =
                target.replace("{WS}", &workspace.to_string_lossy()).replace("{OUT}", &outside.to_string_lossy());
            link(&target, &path).map_err(failed)?;
        }
        TreeRow { hex: Some(hex), .. } => {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|error| error.to_string());
            let bytes: Result<Vec<u8>, String> = (0..hex.len()).step_by(2).map(byte).collect();
            fs::write(&path, bytes?).map_err(failed)?;
        }
        TreeRow { parts: Some(parts), .. } => fs::write(&path, made(parts)).map_err(failed)?,
        _ => return Err(format!("{} is nothing that is known", row.path)),
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_target: &str, _path: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("links are made on Unix only"))
}
