//! Bootstrap files: the standard files of a workspace that an assistant begins with.
//!
//! Seven files are always there, as a line if they are missing; one or two memory files only if
//! they exist. Sessions of sub-agents and scheduled jobs see two of them. Sizes are counted in
//! UTF-16 units, and each file is brought within its own budget and one for all.
//!
//! Not here: reading the files, and the text around them in a prompt.

pub mod hooks;

use std::sync::Arc;

use serde_json::Value;
use serde_json::json;

use crate::cut::files;
use crate::cut::files::FileContent;
use crate::cut::files::FileEntry;
use crate::cut::files::FileRules;
use crate::cut::files::Placed;
use crate::cut::files::Placing;
use crate::cut::files::Spending;
use crate::cut::files::Unit;
use crate::digest::Digest;
use crate::file_chunks::FileChunks;
use crate::file_chunks::is_replacement;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::not_utf8::NotUtf8;
use crate::not_utf8::TextEnd;
use crate::utf16;

/// The files that are always looked for, in order.
pub const NAMES: [&str; 7] =
    ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md"];

/// The files that are listed only if they exist, in order.
pub const MEMORY_NAMES: [&str; 2] = ["MEMORY.md", "memory.md"];

/// The files that sub-agents and scheduled jobs see.
pub const MINIMAL_NAMES: [&str; 2] = ["AGENTS.md", "TOOLS.md"];

/// How much of one file goes in, in units.
pub const MAX: usize = 20_000;

/// How much of all files goes in, in units.
pub const TOTAL_MAX: usize = 150_000;

/// With less than this left, an existing file ends the list.
const MIN_REMAINING: usize = 64;

const HEAD_RATIO: f64 = 0.7;
const TAIL_RATIO: f64 = 0.2;

const MARKER: &str = "\n\n[...truncated, read {{name}} for full content...]\n…(truncated {{name}}: kept {{kept_head}}+{{kept_tail}} chars of {{total}})…\n\n";

const MISSING: &str = "[MISSING] Expected at: {{path}}";

/// The name of this list of files for `file_set`.
pub const PRESET: &str = "openclaw";

/// A file of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapFile {
    /// The base name of the file.
    pub name: String,
    /// The absolute path of the file.
    pub path: String,
    /// The text of the file; absent if the file is missing.
    pub content: Option<String>,
    /// Whether the file is missing.
    pub missing: bool,
    /// How many bytes the file has.
    pub size: u64,
    /// The bytes of the file that `content` was read from.
    pub chunks: FileChunks,
    /// The bytes that are not UTF-8, if there are any.
    pub not_utf8: Option<NotUtf8>,
    /// The hash of the whole file, if it exists.
    pub sha256: Option<Digest>,
}

impl BootstrapFile {
    /// A file that was read.
    pub fn read(name: &str, path: &str, bytes: &[u8]) -> Self {
        let content = Some(String::from_utf8_lossy(bytes).into_owned());
        let (chunks, not_utf8) = (FileChunks::of(bytes, 0), NotUtf8::find(bytes, TextEnd::OfFile));
        let (name, path, size) = (name.to_owned(), path.to_owned(), bytes.len() as u64);
        let sha256 = Some(Digest::of([bytes]));
        Self { name, path, content, missing: false, size, chunks, not_utf8, sha256 }
    }

    /// A bootstrap file that does not exist.
    pub fn missing(name: &str, path: &str) -> Self {
        let (name, path, chunks) = (name.to_owned(), path.to_owned(), FileChunks::default());
        Self { name, path, content: None, missing: true, size: 0, chunks, not_utf8: None, sha256: None }
    }
}

/// A bootstrap file within its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// The path in the heading above the file.
    pub path: String,
    /// The text, with a marker where the middle was cut.
    pub content: Vec<Fragment>,
    /// How many units it has, halves of characters included.
    pub n_units: usize,
    /// The text in UTF-16 units.
    pub units: Vec<u16>,
}

impl ContextFile {
    /// A file with this text.
    pub fn new(path: &str, text: &str) -> Self {
        let units = utf16::units(text);
        let content = vec![Fragment::provided(path, text)];
        Self { path: path.to_owned(), content, n_units: units.len(), units }
    }
}

/// The files of a layout's `[bootstrap]`, before and within their budgets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedFiles {
    /// The files as they were read.
    pub read: Vec<BootstrapFile>,
    /// The files within their budgets.
    pub placed: Vec<ContextFile>,
    /// The budgets in UTF-16 units, for one file and for all files.
    pub limits: Option<(usize, usize)>,
}

impl LoadedFiles {
    /// Files that are cut or left out, in bytes.
    pub(crate) fn omissions(&self, slot: &Arc<str>) -> Vec<Omission> {
        let omission = |file: &BootstrapFile| {
            let text = utf16::trim_end(file.content.as_deref().filter(|_| !file.missing)?);
            let of = text.len() as u64;
            let why = match self.placed.iter().find(|it| it.path == file.path) {
                None if text.is_empty() => Why::Blank,
                None => Why::OverBudget { of },
                Some(placed) => {
                    let is_own = |fragment: &&Fragment| {
                        matches!(fragment.origin, Origin::File { .. }) || is_replacement(fragment)
                    };
                    let kept = placed.content.iter().filter(is_own).map(|it| it.text.len() as u64).sum();
                    (kept < of).then_some(Why::Cut { kept, of })?
                }
            };
            Some(Omission { slot: slot.clone(), what: file.path.clone(), why })
        };
        self.read.iter().filter_map(omission).collect()
    }
}

/// The files within their budgets, and warnings for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fitted {
    /// The files, in the order of the prompt.
    pub files: Vec<ContextFile>,
    /// A warning for each file that was cut or left out.
    pub warnings: Vec<String>,
    /// Files that were cut, with what is kept and what they had, in units.
    pub cut: Vec<(String, usize, usize)>,
    /// Files that were left out, with what they had.
    pub left_out: Vec<(String, usize)>,
}

/// Brings files within the budgets; absent ones are the standard ones.
pub fn fit(files: &[BootstrapFile], max: Option<usize>, total: Option<usize>) -> Fitted {
    let rules = rules(max, total);
    let mut spending = Spending::new(&rules);
    let mut fitted = Fitted::default();
    for (n, file) in files.iter().enumerate() {
        let text = file.content.as_deref().unwrap_or_default();
        let content = (!file.missing).then_some(FileContent::Whole(text));
        match spending.place(&FileEntry { name: &file.name, path: &file.path, content, max: None }) {
            Placing::Placed(placed) => {
                // A text that lost its marker to the total budget was cut before that.
                if let Some(max) = placed.max.filter(|_| placed.is_cut) {
                    fitted.warnings.push(format!(
                        "workspace bootstrap file {} is {} chars (limit {max}); truncating in injected context",
                        file.name, placed.original
                    ));
                    fitted.cut.push((file.path.clone(), placed.units.len(), placed.original));
                }
                fitted.files.push(context_file(file, placed));
            }
            Placing::Empty => {}
            Placing::TooLittle { remaining } => {
                fitted.warnings.push(format!(
                    "remaining bootstrap budget is {remaining} chars (<{MIN_REMAINING}); skipping additional bootstrap files"
                ));
                fitted.leave_out(&files[n..]);
                break;
            }
            Placing::Spent => {
                fitted.leave_out(&files[n..]);
                break;
            }
        }
    }
    fitted
}

impl Fitted {
    fn leave_out(&mut self, files: &[BootstrapFile]) {
        let len = |file: &BootstrapFile| file.content.as_deref().map_or(0, |text| utf16::len(utf16::trim_end(text)));
        self.left_out.extend(files.iter().map(|file| (file.path.clone(), len(file))));
    }
}

fn context_file(file: &BootstrapFile, placed: Placed) -> ContextFile {
    let path = FileVersion::new(&file.path, file.sha256);
    let content = placed.fragments(&path, file.size, &file.chunks, &file.chunks);
    ContextFile { path: file.path.clone(), content, n_units: placed.units.len(), units: placed.units }
}

/// The rules by which the budgets are spent.
pub fn rules(max: Option<usize>, total: Option<usize>) -> FileRules {
    let max = max.unwrap_or(MAX);
    FileRules {
        unit: Unit::Utf16,
        per_file: Some(max),
        total: Some(total.unwrap_or_else(|| max.max(TOTAL_MAX)).max(1)),
        min_remaining: MIN_REMAINING,
        head_ratio: HEAD_RATIO,
        tail_ratio: TAIL_RATIO,
        marker: MARKER.to_owned(),
        marker_counts: false,
        trims_end: true,
        missing: MISSING.to_owned(),
    }
}

/// Brings one text within a budget.
pub fn trim(content: &str, name: &str, max: usize) -> Placed {
    files::trim(&rules(Some(max), None), name, name, FileContent::Whole(content), Some(max))
}

/// A limit as a configuration has it: a number above nothing, rounded down, else the standard one.
pub fn limit(value: &Value, standard: usize) -> usize {
    match value.as_f64() {
        Some(number) if number.is_finite() && number > 0.0 => number.floor() as usize,
        _ => standard,
    }
}

/// Leaves the files that a session with this key sees. Blank files and missing ones stay.
pub fn for_session(mut files: Vec<BootstrapFile>, key: Option<&str>) -> Vec<BootstrapFile> {
    if key.is_some_and(|key| SessionKey::of(key).is_some()) {
        files.retain(|file| MINIMAL_NAMES.contains(&file.name.as_str()));
    }
    files
}

/// A key of a session that works for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKey {
    /// The key of a sub-agent's session.
    SubAgent,
    /// Of a scheduled job.
    Cron,
}

impl SessionKey {
    /// The kind of a session key that names no ordinary session.
    pub fn of(key: &str) -> Option<Self> {
        let key = utf16::trim(key);
        if key.to_lowercase().starts_with("subagent:") {
            return Some(Self::SubAgent);
        }
        let parts: Vec<&str> = key.split(':').filter(|part| !part.is_empty()).collect();
        let [agent, name, rest @ ..] = parts.as_slice() else {
            return None;
        };
        if *agent != "agent" || utf16::is_blank(name) || rest.is_empty() {
            return None;
        }
        let rest = rest.join(":").to_lowercase();
        if rest.starts_with("subagent:") {
            Some(Self::SubAgent)
        } else if rest.starts_with("cron:") {
            Some(Self::Cron)
        } else {
            None
        }
    }
}

/// The files as entries of a `file_set`.
pub(crate) fn preset_files() -> impl Iterator<Item = Value> {
    let modes = |name: &&str| if MINIMAL_NAMES.contains(name) { json!(["full", "minimal"]) } else { json!(["full"]) };
    let files = NAMES.iter().map(move |name| json!({ "path": name, "prompt_modes": modes(name) }));
    let memory = |name: &&str| json!({ "path": name, "prompt_modes": ["full"], "only_if_there": true });
    files.chain(MEMORY_NAMES.iter().map(memory))
}

#[cfg(test)]
mod tests;
