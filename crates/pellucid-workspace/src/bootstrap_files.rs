//! Reads the bootstrap files of a workspace, and the further ones that a configuration names.
//!
//! The standard files are read wherever links lead, unless bounds are given. Further files must be in the workspace,
//! by name and with links followed, and have one of the names of the set.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::FileSetLayout;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Fate;
use pellucid_engine::utf16;
use pellucid_files::normal;
use serde_json::Value;

use crate::bounds::InstructionFolders;
use crate::bounds::Refused;
use crate::glob;

/// How long a file may be.
const BYTES_MAX: u64 = 64 << 20;

/// Which of the standard files may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum May<'b> {
    /// All, wherever links lead.
    All,
    /// The files within these bounds.
    Within(&'b InstructionFolders),
    /// None, as the user does not trust the project.
    None,
}

/// Reads the files of a set. Files that cannot or may not be read count as missing; optional files that do not exist
/// are left out, and so is one that is another by a link. Also returns the existing files that may not be read.
pub fn load(set: &FileSetLayout, workspace: &Path, may: &May<'_>) -> (Vec<BootstrapFile>, Vec<Candidate>) {
    let mut paths: Vec<(&String, PathBuf)> = set.names.iter().map(|name| (name, workspace.join(name))).collect();
    let mut optional: Vec<PathBuf> = Vec::new();
    for name in &set.optional {
        let path = workspace.join(name);
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if path.exists() && !optional.contains(&real) {
            optional.push(real);
            paths.push((name, path));
        }
    }
    let mut left_out = Vec::new();
    let mut files = Vec::with_capacity(paths.len());
    for (name, path) in paths {
        let shown = path.to_string_lossy();
        let mut leave_out = |fate| left_out.push(Candidate { path: shown.clone().into_owned(), fate });
        let file = match may {
            May::All => pellucid_files::open(&path).ok(),
            May::Within(bounds) => match bounds.open(&path, None) {
                Ok(found) => Some(found.file),
                Err(Refused::Outside { target }) => {
                    leave_out(Fate::Outside { target: target.to_string_lossy().into_owned() });
                    None
                }
                Err(Refused::NotAccepted { .. } | Refused::Io(_)) => None,
            },
            May::None => {
                if path.is_file() {
                    leave_out(Fate::Untrusted);
                }
                None
            }
        };
        let mut bytes = Vec::new();
        let read = file.and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes).ok());
        let is_refused = match (read, may) {
            (Some(_), May::Within(bounds)) => match bounds.check_text(&shown, &bytes, None) {
                Err(Refused::NotAccepted { is_changed }) => {
                    leave_out(Fate::NotAccepted { is_changed });
                    true
                }
                _ => false,
            },
            _ => false,
        };
        let read = read.filter(|_| !is_refused);
        files.push(match read {
            // The hash of a file that is longer is not known.
            Some(n) if n as u64 >= BYTES_MAX => {
                BootstrapFile { sha256: None, ..BootstrapFile::read(name, &shown, &bytes) }
            }
            Some(_) => BootstrapFile::read(name, &shown, &bytes),
            None => BootstrapFile::missing(name, &shown),
        });
    }
    (files, left_out)
}

/// Further files: paths and patterns, as a configuration has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraFiles {
    patterns: Vec<String>,
}

impl ExtraFiles {
    /// These paths and patterns.
    pub fn new(patterns: Vec<String>) -> Self {
        Self { patterns }
    }

    /// Reads a table with `enabled` and one of `paths`, `patterns` and `files`: the first of them
    /// that has a text in it.
    pub fn from_options(options: &Value) -> Self {
        if options.get("enabled") == Some(&Value::Bool(false)) {
            return Self::default();
        }
        let texts = |name: &str| -> Vec<String> {
            let list = options.get(name).and_then(Value::as_array).into_iter().flatten();
            let texts = list.filter_map(Value::as_str).map(utf16::trim).filter(|text| !text.is_empty());
            texts.map(str::to_owned).collect()
        };
        let lists = ["paths", "patterns", "files"].map(texts);
        Self { patterns: lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default() }
    }

    /// Reads them; what cannot be used is left out.
    pub fn load(&self, set: &FileSetLayout, workspace: &Path) -> Vec<BootstrapFile> {
        let mut paths: Vec<String> = Vec::new();
        for pattern in &self.patterns {
            let found =
                if glob::is_pattern(pattern) { glob::expand(workspace, pattern) } else { vec![pattern.clone()] };
            for path in found {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
        paths.iter().filter_map(|path| extra(set, workspace, path)).collect()
    }
}

fn extra(set: &FileSetLayout, workspace: &Path, path: &str) -> Option<BootstrapFile> {
    let full = normal(&workspace.join(path));
    if !full.starts_with(normal(workspace)) {
        return None;
    }
    if !fs::canonicalize(&full).ok()?.starts_with(fs::canonicalize(workspace).ok()?) {
        return None;
    }
    let name = full.file_name()?.to_str()?;
    if !set.has(name) {
        return None;
    }
    Some(BootstrapFile::read(
        name,
        &full.to_string_lossy(),
        &pellucid_files::read(&full, pellucid_files::TEXT_BYTES_MAX).ok()?,
    ))
}
