//! Reads the bootstrap files of a workspace, and the further ones that a configuration names.
//!
//! The standard files are read wherever links lead, unless bounds are given. Further files must be in the workspace,
//! by name and with links followed, and have one of the names of the set. Files of changes must be in the workspace.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::FileChangeKeys;
use pellucid_engine::bootstrap::FileListChange;
use pellucid_engine::bootstrap::FileSetLayout;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Fate;
use pellucid_engine::utf16;
use pellucid_files::normal;

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
        let (file, candidate) = read_one(name, &path, may);
        files.push(file);
        left_out.extend(candidate);
    }
    (files, left_out)
}

/// Reads one file. A file that cannot or may not be read counts as missing; a file that may not be read is returned too.
fn read_one(name: &str, path: &Path, may: &May<'_>) -> (BootstrapFile, Option<Candidate>) {
    let shown = path.to_string_lossy();
    let left_out = |fate| Some(Candidate { path: shown.clone().into_owned(), fate });
    let missing = || BootstrapFile::missing(name, &shown);
    let file = match may {
        May::All => pellucid_files::open(path).ok(),
        May::Within(bounds) => match bounds.open(path, None) {
            Ok(found) => Some(found.file),
            Err(Refused::Outside { target }) => {
                return (missing(), left_out(Fate::Outside { target: target.to_string_lossy().into_owned() }));
            }
            Err(Refused::NotAccepted { .. } | Refused::Io(_)) => None,
        },
        May::None => return (missing(), path.is_file().then(|| left_out(Fate::Untrusted)).flatten()),
    };
    let mut bytes = Vec::new();
    let Some(n) = file.and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes).ok()) else {
        return (missing(), None);
    };
    if let May::Within(bounds) = may
        && let Err(Refused::NotAccepted { is_changed }) = bounds.check_text(&shown, &bytes, None)
    {
        return (missing(), left_out(Fate::NotAccepted { is_changed }));
    }
    let read = BootstrapFile::read(name, &shown, &bytes);
    // The hash of a file that is longer is not known.
    let is_whole = (n as u64) < BYTES_MAX;
    (if is_whole { read } else { BootstrapFile { sha256: None, ..read } }, None)
}

/// The changes that settings ask for, with the texts of the files in the workspace that they need. Also returns the existing
/// files that may not be read.
pub fn changes(asked: &FileChangeKeys, workspace: &Path, may: &May<'_>) -> (Vec<FileListChange>, Vec<Candidate>) {
    let mut left_out = Vec::new();
    let mut found = |path: &str| {
        let full = normal(&workspace.join(utf16::trim(path)));
        if !full.starts_with(normal(workspace)) {
            return Err("it is not in the workspace");
        }
        let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (file, candidate) = read_one(name, &full, may);
        let is_refused = candidate.is_some();
        left_out.extend(candidate);
        match file.missing {
            true if is_refused => Err("it may not be read"),
            true => Err("it is not there, or cannot be read"),
            false => Ok(Box::new(file)),
        }
    };
    let failed = |what: &str, reason: String| FileListChange::Failed { what: what.to_owned(), reason };
    let mut changes = Vec::new();
    for (name, path) in &asked.swap {
        changes.push(match found(path) {
            Ok(by) => FileListChange::Swap { name: name.clone(), by },
            Err(reason) => failed(name, format!("{path}: {reason}")),
        });
    }
    changes.extend(asked.leave_out.iter().map(|name| FileListChange::LeaveOut { name: name.clone() }));
    for path in &asked.add {
        changes.push(match found(path) {
            Ok(file) => FileListChange::Add(file),
            Err(reason) => failed(path, reason.to_owned()),
        });
    }
    (changes, left_out)
}

/// Further files: paths and patterns, as a configuration has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraFiles {
    patterns: Vec<String>,
}

impl ExtraFiles {
    /// These paths and patterns, without blank ones.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p String>) -> Self {
        let patterns = patterns.into_iter().map(|pattern| utf16::trim(pattern)).filter(|pattern| !pattern.is_empty());
        Self { patterns: patterns.map(str::to_owned).collect() }
    }

    /// Reads them; what cannot be used is left out. Also returns the existing files that may not be read.
    pub fn load(&self, set: &FileSetLayout, workspace: &Path, may: &May<'_>) -> (Vec<BootstrapFile>, Vec<Candidate>) {
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
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for (file, candidate) in paths.iter().filter_map(|path| extra(set, workspace, path, may)) {
            files.extend(Some(file).filter(|file| !file.missing));
            left_out.extend(candidate);
        }
        (files, left_out)
    }
}

fn extra(
    set: &FileSetLayout,
    workspace: &Path,
    path: &str,
    may: &May<'_>,
) -> Option<(BootstrapFile, Option<Candidate>)> {
    let full = normal(&workspace.join(path));
    if !full.starts_with(normal(workspace)) {
        return None;
    }
    if !fs::canonicalize(&full).ok()?.starts_with(fs::canonicalize(workspace).ok()?) {
        return None;
    }
    let name = full.file_name()?.to_str()?;
    set.has(name).then(|| read_one(name, &full, may))
}
