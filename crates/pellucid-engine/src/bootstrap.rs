//! Bootstrap files: the standard files of a workspace that an assistant begins with.
//!
//! The layout says which files are always there, as a line if they are missing, which only if they exist, and which
//! of them sessions of sub-agents and scheduled jobs see. Each file is brought within its own budget and one for all.
//!
//! Not here: reading the files, and the text around them in a prompt.

mod changes;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

pub use self::changes::ChangeNote;
pub use self::changes::FileChangeKeys;
pub use self::changes::FileListChange;
pub use self::changes::changed;
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

/// The files that a layout begins with: which, for whom, and how much of them. `[bootstrap]` of `pack.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSetLayout {
    /// The files that are always looked for, in order.
    pub names: Vec<String>,
    /// The files that are listed only if they exist, after the others.
    pub optional: Vec<String>,
    /// The files that sub-agents and scheduled jobs see.
    pub minimal: Vec<String>,
    /// How the budgets are spent. Those of the configuration may replace its limits.
    pub rules: FileRules,
    /// Paths and patterns of further files that have one of these names.
    pub extra: Vec<String>,
    /// How the list of files is changed.
    pub changes: FileChangeKeys,
}

/// The keys of `[bootstrap]`; what is absent is as in the pack beneath.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileSetKeys {
    names: Option<Vec<String>>,
    optional: Option<Vec<String>>,
    minimal: Option<Vec<String>>,
    max_chars: Option<usize>,
    total_max_chars: Option<usize>,
    unit: Option<Unit>,
    head_ratio: Option<f64>,
    tail_ratio: Option<f64>,
    min_remaining: Option<usize>,
    marker: Option<String>,
    missing: Option<String>,
    extra: Option<Vec<String>>,
    swap: Option<BTreeMap<String, String>>,
    leave_out: Option<Vec<String>>,
    add: Option<Vec<String>>,
}

impl FileSetKeys {
    /// The keys over those of the pack beneath.
    ///
    /// # Errors
    /// The key that neither has, or a share that is none.
    pub(crate) fn over(&self, beneath: Option<&FileSetLayout>) -> Result<FileSetLayout, String> {
        fn given<T: Clone>(own: Option<&T>, beneath: Option<T>, key: &str) -> Result<T, String> {
            own.cloned().or(beneath).ok_or_else(|| format!("[bootstrap] needs `{key}`"))
        }
        let rules = beneath.map(|beneath| &beneath.rules);
        let ratio = |own: Option<f64>, beneath: Option<f64>, key: &str| match given(own.as_ref(), beneath, key)? {
            ratio if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            ratio => Err(format!("`{key}` is a share from 0 to 1, not {ratio}")),
        };
        let total = self.total_max_chars.or(rules.and_then(|rules| rules.total));
        let max = given(self.max_chars.as_ref(), rules.and_then(|rules| rules.per_file), "max_chars")?;
        let below = beneath.map(|beneath| beneath.changes.clone()).unwrap_or_default();
        let changes = FileChangeKeys {
            swap: self.swap.clone().unwrap_or(below.swap),
            leave_out: self.leave_out.clone().unwrap_or(below.leave_out),
            add: self.add.clone().unwrap_or(below.add),
        };
        let extra = self.extra.clone().or_else(|| beneath.map(|it| it.extra.clone())).unwrap_or_default();
        Ok(FileSetLayout {
            extra,
            changes,
            names: given(self.names.as_ref(), beneath.map(|it| it.names.clone()), "names")?,
            optional: given(self.optional.as_ref(), beneath.map(|it| it.optional.clone()), "optional")
                .unwrap_or_default(),
            minimal: given(self.minimal.as_ref(), beneath.map(|it| it.minimal.clone()), "minimal").unwrap_or_default(),
            rules: FileRules {
                unit: given(self.unit.as_ref(), rules.map(|it| it.unit), "unit")?,
                per_file: Some(max),
                total,
                min_remaining: self.min_remaining.or(rules.map(|it| it.min_remaining)).unwrap_or(0),
                head_ratio: ratio(self.head_ratio, rules.map(|it| it.head_ratio), "head_ratio")?,
                tail_ratio: ratio(self.tail_ratio, rules.map(|it| it.tail_ratio), "tail_ratio")?,
                marker: given(self.marker.as_ref(), rules.map(|it| it.marker.clone()), "marker")?,
                marker_counts: false,
                trims_end: true,
                missing: given(self.missing.as_ref(), rules.map(|it| it.missing.clone()), "missing")?,
            },
        })
    }
}

impl FileSetLayout {
    /// The rules with other limits. Without a limit for all files, one file may have as much as it may.
    pub fn rules(&self, max: Option<usize>, total: Option<usize>) -> FileRules {
        let max = max.or(self.rules.per_file);
        let total = total.or_else(|| self.rules.total.map(|total| total.max(max.unwrap_or_default())));
        FileRules { per_file: max, total: total.map(|total| total.max(1)), ..self.rules.clone() }
    }

    /// Whether the set has a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().chain(&self.optional).any(|known| known == name)
    }

    /// Leaves the files that a session sees for which the layout's `minimal_if` holds, or not. Blank files and missing ones stay.
    pub fn for_session(&self, mut files: Vec<BootstrapFile>, is_minimal: bool) -> Vec<BootstrapFile> {
        if is_minimal {
            files.retain(|file| self.minimal.contains(&file.name));
        }
        files
    }

    /// Brings one text within a budget.
    pub fn trim(&self, content: &str, name: &str, max: usize) -> Placed {
        files::trim(&self.rules(Some(max), None), name, name, FileContent::Whole(content), Some(max))
    }

    /// The files as entries of a `file_set`.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Value> {
        let modes =
            |name: &String| if self.minimal.contains(name) { json!(["full", "minimal"]) } else { json!(["full"]) };
        let files = self.names.iter().map(move |name| json!({ "path": name, "prompt_modes": modes(name) }));
        let optional = |name: &String| json!({ "path": name, "prompt_modes": ["full"], "only_if_there": true });
        files.chain(self.optional.iter().map(optional))
    }

    /// Brings files within the budgets; absent ones are the layout's.
    pub fn fit(&self, files: &[BootstrapFile], max: Option<usize>, total: Option<usize>) -> Fitted {
        let rules = self.rules(max, total);
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
                        "remaining bootstrap budget is {remaining} chars (<{}); skipping additional bootstrap files",
                        rules.min_remaining
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
}

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
    /// The path of the file that the text comes from, if that is another.
    pub text_of: Option<String>,
}

impl BootstrapFile {
    /// A file that was read.
    pub fn read(name: &str, path: &str, bytes: &[u8]) -> Self {
        let content = Some(String::from_utf8_lossy(bytes).into_owned());
        let (chunks, not_utf8) = (FileChunks::of(bytes, 0), NotUtf8::find(bytes, TextEnd::OfFile));
        let (name, path, size) = (name.to_owned(), path.to_owned(), bytes.len() as u64);
        let sha256 = Some(Digest::of([bytes]));
        Self { name, path, content, missing: false, size, chunks, not_utf8, sha256, text_of: None }
    }

    /// The path of the file that the text comes from.
    pub fn text_path(&self) -> &str {
        self.text_of.as_deref().unwrap_or(&self.path)
    }

    /// A bootstrap file that does not exist.
    pub fn missing(name: &str, path: &str) -> Self {
        let (name, path, chunks) = (name.to_owned(), path.to_owned(), FileChunks::default());
        let (content, not_utf8, sha256, text_of) = (None, None, None, None);
        Self { name, path, content, missing: true, size: 0, chunks, not_utf8, sha256, text_of }
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

impl Fitted {
    fn leave_out(&mut self, files: &[BootstrapFile]) {
        let len = |file: &BootstrapFile| file.content.as_deref().map_or(0, |text| utf16::len(utf16::trim_end(text)));
        self.left_out.extend(files.iter().map(|file| (file.path.clone(), len(file))));
    }
}

fn context_file(file: &BootstrapFile, placed: Placed) -> ContextFile {
    let path = FileVersion::new(file.text_path(), file.sha256);
    let content = placed.fragments(&path, file.size, &file.chunks, &file.chunks);
    ContextFile { path: file.path.clone(), content, n_units: placed.units.len(), units: placed.units }
}

/// A limit as a configuration has it: a number above nothing, rounded down, else the standard one.
pub fn limit(value: &Value, standard: usize) -> usize {
    match value.as_f64() {
        Some(number) if number.is_finite() && number > 0.0 => number.floor() as usize,
        _ => standard,
    }
}

#[cfg(test)]
mod tests;
