//! The files below a folder that may be sessions: regular files whose names end in `.jsonl`, the newest first.
//!
//! Links are not followed, and nothing is opened. A folder that is too deep or too full is looked at as far as the limits go.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

/// How many folders deep files are looked for.
const DEPTH_MAX: usize = 8;

/// How many entries of folders are looked at.
const N_ENTRIES_MAX: usize = 200_000;

/// A file that may be of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The number of bytes.
    pub bytes: u64,
    /// When it was written last.
    pub modified: SystemTime,
}

impl OtherFile {
    /// The name of the file.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The name without its ending.
    pub fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What a look at a folder found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// The files, the newest first.
    pub files: Vec<OtherFile>,
    /// What could not be looked at, a sentence each.
    pub missing: Vec<String>,
}

/// The files below a folder, or the one that is named.
///
/// # Errors
/// When the folder or the file cannot be looked at.
pub fn files(from: &Path) -> io::Result<FoundFiles> {
    let metadata = fs::metadata(from)?;
    if metadata.is_file() {
        let file = OtherFile { path: from.to_owned(), bytes: metadata.len(), modified: metadata.modified()? };
        return Ok(FoundFiles { files: vec![file], missing: Vec::new() });
    }
    if !metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a folder nor a regular file"));
    }
    let mut found = FoundFiles::default();
    let (mut n_entries, mut n_deep) = (0, 0);
    let mut folders = vec![(from.to_owned(), 0)];
    'folders: while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(error),
            Err(error) => {
                found.missing.push(format!("{} cannot be read: {error}", folder.display()));
                continue;
            }
        };
        for entry in entries.flatten() {
            n_entries += 1;
            if n_entries > N_ENTRIES_MAX {
                found.missing.push(format!("only the first {N_ENTRIES_MAX} entries of folders were looked at"));
                break 'folders;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth < DEPTH_MAX { folders.push((entry.path(), depth + 1)) } else { n_deep += 1 }
            } else if kind.is_file() && entry.path().extension().is_some_and(|ending| ending == "jsonl") {
                let Ok(metadata) = entry.metadata() else { continue };
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.files.push(OtherFile { path: entry.path(), bytes: metadata.len(), modified });
            }
        }
    }
    if n_deep > 0 {
        found.missing.push(format!("{n_deep} folders are more than {DEPTH_MAX} folders deep and were not looked at"));
    }
    found.files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    Ok(found)
}
