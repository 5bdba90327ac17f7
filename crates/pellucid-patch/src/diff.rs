//! Differences of texts, and what a whole turn changed.
//!
//! A [`TurnDiff`] remembers what files were before the turn touched them and compares that with what they are now, in
//! the notation of git. Only files that it was given are compared.
//!
//! Not here: when to compare. The code that runs the turn calls it before each patch and asks afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_files::FileIdentity;
use sha1::Digest;
use sha1::Sha1;
use similar::TextDiff;

use crate::verify::VerifiedPatch;

/// Context around changes of a turn.
const N_CONTEXT_LINES: usize = 3;
/// Git's id for a missing blob.
const NO_BLOB: &str = "0000000000000000000000000000000000000000";
const DEV_NULL: &str = "/dev/null";
/// Texts that have almost nothing in common are compared for this long, then what is left is shown
/// as replaced.
const SEARCH_MAX: Duration = Duration::from_secs(1);

/// The hunks that lead from one text to another, without names of files above them.
pub fn unified(old: &str, new: &str, n_context_lines: usize) -> String {
    difference(old, new).unified_diff().context_radius(n_context_lines).to_string()
}

fn difference<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, 'a, str> {
    TextDiff::configure().timeout(SEARCH_MAX).diff_lines(old, new)
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSnapshot {
    /// The content; of a link, its target.
    pub bytes: Vec<u8>,
    /// The kind of the file.
    pub mode: FileMode,
}

/// A file's kind, as git knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// A regular, non-executable file.
    Regular,
    /// A file that can be run.
    Executable,
    /// A symbolic link, not followed.
    Link,
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        })
    }
}

impl FileSnapshot {
    /// The file at this path now. `None` if it is not a file or cannot be read.
    pub fn read(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        if metadata.is_symlink() {
            let target = fs::read_link(path).ok()?;
            return Some(Self { bytes: target.into_os_string().into_encoded_bytes(), mode: FileMode::Link });
        }
        if !metadata.is_file() {
            return None;
        }
        let mode = if is_executable(&metadata) { FileMode::Executable } else { FileMode::Regular };
        let (mut file, status) = pellucid_files::open_with_status(path).ok()?;
        // A file that replaced it in between may be a link to anywhere.
        if status.identity != FileIdentity::from(&metadata) {
            return None;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some(Self { bytes, mode })
    }

    /// The name that git gives to these bytes.
    fn blob_id(&self) -> String {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", self.bytes.len()));
        hash.update(&self.bytes);
        hash.finalize().iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
    }
}

#[cfg(unix)]
pub(crate) fn is_executable(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// The state of the files that a turn touches, before the turn.
#[derive(Debug, Clone, Default)]
pub struct TurnDiff {
    files: Vec<Baseline>,
    /// The index of the baseline that is at a path now.
    by_path: BTreeMap<PathBuf, usize>,
    /// Paths as the first patch that had them wrote them, where that is another spelling.
    written: BTreeMap<PathBuf, PathBuf>,
}

#[derive(Debug, Clone)]
struct Baseline {
    /// The path before the turn.
    path: PathBuf,
    before: Option<FileSnapshot>,
    /// The path of the file now.
    now: PathBuf,
}

impl TurnDiff {
    /// Remembers what is at a path, `None` for nothing. Only the first time counts.
    pub fn remember(&mut self, path: &Path, before: Option<FileSnapshot>) {
        if !self.by_path.contains_key(path) {
            self.by_path.insert(path.to_owned(), self.files.len());
            self.files.push(Baseline { path: path.to_owned(), before, now: path.to_owned() });
        }
    }

    /// Goes with a file that is about to be moved. One that was never seen counts as new.
    pub fn follow(&mut self, from: &Path, to: &Path) {
        self.remember(from, None);
        if let Some(number) = self.by_path.remove(from) {
            to.clone_into(&mut self.files[number].now);
            self.by_path.insert(to.to_owned(), number);
        }
    }

    /// Remembers from the disk all that a patch is about to change, and goes with its moves.
    pub fn begin(&mut self, patch: &VerifiedPatch) {
        let moves: BTreeMap<_, _> = patch.moves().collect();
        for path in patch.paths() {
            let written = patch.written(path);
            // Paths compare by their parts, which leaves `./` and `//` out.
            if written.as_os_str() != path.as_os_str() {
                self.written.entry(path.to_owned()).or_insert(written);
            }
            let is_target = moves.values().any(|target| *target == path);
            if !is_target && !self.by_path.contains_key(path) {
                self.remember(path, FileSnapshot::read(path));
            }
        }
        for (from, to) in moves {
            self.follow(from, to);
        }
    }

    /// The difference between then and now, or `None` if nothing changed.
    ///
    /// `now` returns the file at a path, `name` the name of a path that is spelt as a patch wrote it; files are
    /// sorted by that name.
    pub fn unified(
        &self,
        now: impl Fn(&Path) -> Option<FileSnapshot>,
        name: impl Fn(&Path) -> String,
    ) -> Option<String> {
        let name = |path: &PathBuf| name(self.written.get(path).unwrap_or(path));
        let mut files: Vec<_> = self.files.iter().map(|baseline| (name(&baseline.now), baseline)).collect();
        files.sort_by(|one, other| one.0.cmp(&other.0));
        let mut text = String::new();
        for (new_name, baseline) in files {
            let names = Names { old: name(&baseline.path), new: new_name };
            // Writing to a string does not fail.
            let _ = write_file(&mut text, &names, baseline.before.as_ref(), now(&baseline.now).as_ref());
        }
        (!text.is_empty()).then_some(text)
    }

    /// The same with the current disk and names as git gives them.
    pub fn unified_on_disk(&self) -> Option<String> {
        self.unified(FileSnapshot::read, name_in_repository)
    }
}

struct Names {
    old: String,
    new: String,
}

fn write_file(out: &mut String, names: &Names, old: Option<&FileSnapshot>, new: Option<&FileSnapshot>) -> fmt::Result {
    if old.map(|it| &it.bytes) == new.map(|it| &it.bytes) {
        return Ok(());
    }
    writeln!(out, "diff --git a/{} b/{}", names.old, names.new)?;
    match (old, new) {
        (None, Some(new)) => writeln!(out, "new file mode {}", new.mode)?,
        (Some(old), None) => writeln!(out, "deleted file mode {}", old.mode)?,
        (Some(old), Some(new)) if old.mode != new.mode => {
            writeln!(out, "old mode {}\nnew mode {}", old.mode, new.mode)?;
        }
        _ => {}
    }
    let id = |it: Option<&FileSnapshot>| it.map_or(NO_BLOB.to_owned(), FileSnapshot::blob_id);
    writeln!(out, "index {}..{}", id(old), id(new))?;
    let old_head = old.map_or(DEV_NULL.to_owned(), |_| format!("a/{}", names.old));
    let new_head = new.map_or(DEV_NULL.to_owned(), |_| format!("b/{}", names.new));
    match (text_of(old), text_of(new)) {
        (Some(old), Some(new)) => {
            // For git a carriage return ends no line.
            let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
            let difference = TextDiff::configure().timeout(SEARCH_MAX).newline_terminated(true).diff_slices(&old, &new);
            let mut hunks = difference.unified_diff();
            write!(out, "{}", hunks.context_radius(N_CONTEXT_LINES).header(&old_head, &new_head))?;
        }
        _ => writeln!(out, "--- {old_head}\n+++ {new_head}\nBinary files differ")?,
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(())
}

/// The text of a file, empty for a missing file; `None` if the file is not UTF-8.
fn text_of(snapshot: Option<&FileSnapshot>) -> Option<&str> {
    snapshot.map_or(Some(""), |snapshot| std::str::from_utf8(&snapshot.bytes).ok())
}

/// A path below the nearest folder with a `.git`, else the whole path; with slashes.
fn name_in_repository(path: &Path) -> String {
    let root = path.ancestors().skip(1).find(|folder| folder.join(".git").exists());
    let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
    below.display().to_string().replace('\\', "/")
}

#[cfg(test)]
mod tests;
