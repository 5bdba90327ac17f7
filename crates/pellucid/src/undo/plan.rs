//! What an undo would write: the patches of some turns, reversed from the newest to the oldest.
//!
//! A file is reversed step by step, and each step must find the text that its patch wrote. A file for which that is not so
//! is kept as it is, with the reason.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::patches::Applied;
use pellucid_patch::FoundText;
use pellucid_patch::TextExchange;
use pellucid_patch::VerifiedPatch;
use pellucid_patch::Writable;
use pellucid_patch::is_executable_file;
use pellucid_patch::make_executable;
use pellucid_patch::normal;
use pellucid_patch::parse;
use pellucid_patch::parse::Hunk;
use pellucid_patch::reverse;
use pellucid_protocol::change::Changes;
use pellucid_tools::edits::EarlierText;
use pellucid_tools::edits::FileEdit;
use pellucid_tools::edits::PatchEdits;
use pellucid_tools::edits::UndoneFile;
use pellucid_tools::edits::digest;
use serde::Serialize;

use crate::style;

const CHANGED: &str = "it changed since the session wrote it";
const NOT_KEPT: &str = "the session did not keep its text from before the patch";
const NOT_TEXT: &str = "it is not a text file any more";
const MOVED_WITH: &str = "another file of the same patch is kept, and the patch moved files";

/// A patch to be undone.
#[derive(Debug, Clone)]
pub enum PastPatch {
    /// The session kept what the patch found.
    Kept(PatchEdits),
    /// Only the text of the patch is known.
    Text(Applied),
}

/// What would be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoPlan {
    /// The files that change.
    pub files: Vec<PlannedFile>,
    /// The files that stay as they are, although patches changed them.
    pub kept: Vec<KeptFile>,
}

/// A file that an undo changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: PathBuf,
    /// The only path that may be written for it.
    pub target: PathBuf,
    /// The text that is there now.
    pub now: Option<String>,
    /// The text that it gets.
    pub then: Option<String>,
    /// Whether the text is the earlier one to the byte; otherwise it was rebuilt from the lines of patches.
    pub is_exact: bool,
    /// Whether the file may be run as a program: now, or once it is there again.
    pub is_executable: bool,
}

/// A file that cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptFile {
    pub path: PathBuf,
    pub reason: String,
}

impl PlannedFile {
    /// What happens to the file, in a word.
    pub fn action(&self) -> &'static str {
        match (&self.now, &self.then) {
            (_, None) => "delete",
            (None, Some(_)) => "create",
            (Some(_), Some(_)) => "restore",
        }
    }
}

impl UndoPlan {
    /// The plan that undoes these patches, given from the oldest to the newest. `cwd` is the folder of the session.
    pub fn of(patches: &[PastPatch], cwd: &Path) -> Self {
        let mut files =
            Files { cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()), from: cwd, files: BTreeMap::new() };
        let mut moves: Vec<BTreeSet<PathBuf>> = Vec::new();
        for patch in patches.iter().rev() {
            let paths = match patch {
                PastPatch::Kept(edits) => files.reverse_kept(edits),
                PastPatch::Text(applied) => files.reverse_text(applied),
            };
            moves.extend(paths);
        }
        files.keep_moves_together(&moves);
        let mut plan = Self::default();
        for (path, file) in files.files {
            match file.kept {
                Some(reason) => plan.kept.push(KeptFile { path, reason }),
                None if file.disk == file.text => {}
                None => plan.files.push(PlannedFile {
                    path,
                    target: file.target,
                    now: file.disk,
                    then: file.text,
                    is_exact: file.is_exact,
                    is_executable: file.is_executable,
                }),
            }
        }
        plan
    }

    /// The texts to be exchanged.
    pub fn exchanges(&self) -> Vec<UndoneFile> {
        let exchange = |file: &PlannedFile| UndoneFile {
            path: file.path.clone(),
            target: file.target.clone(),
            replaced: file.now.clone(),
            written: file.then.clone(),
            is_executable: file.is_executable,
        };
        self.files.iter().map(exchange).collect()
    }

    /// How the files change, to be shown.
    ///
    /// # Errors
    /// Names the file that changed while the plan was made.
    pub fn changes(&self) -> Result<Changes, String> {
        let texts = texts(&self.exchanges());
        VerifiedPatch::exchange(&texts).map(|patch| patch.changes()).map_err(|error| error.to_string())
    }
}

/// The texts of files, as they have to be and as they become.
fn texts(files: &[UndoneFile]) -> BTreeMap<PathBuf, TextExchange> {
    let text = |file: &UndoneFile| TextExchange { expected: file.replaced.clone(), then: file.written.clone() };
    files.iter().map(|file| (file.path.clone(), text(file))).collect()
}

/// Exchanges the texts of files: all of them, or none. A link that leads elsewhere since is refused.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn write(files: &[UndoneFile]) -> Result<(), String> {
    let targets = files.iter().map(|file| file.target.clone()).collect();
    VerifiedPatch::exchange(&texts(files))
        .and_then(|patch| patch.apply(&Writable::Only(targets)))
        .map_err(|error| error.to_string())?;
    for file in files {
        if file.is_executable && file.replaced.is_none() && file.written.is_some() {
            // The text is there again, which counts more than its mode.
            if let Err(error) = make_executable(&file.target) {
                style::line(&format!("warning: {} cannot be made executable: {error}", file.path.display()));
            }
        }
    }
    Ok(())
}

/// The files so far.
struct Files<'a> {
    /// The folder of the session with links followed, and as the session names it.
    cwd: PathBuf,
    from: &'a Path,
    files: BTreeMap<PathBuf, FileSoFar>,
}

struct FileSoFar {
    target: PathBuf,
    disk: Option<String>,
    text: Option<String>,
    is_exact: bool,
    is_executable: bool,
    kept: Option<String>,
}

impl Files<'_> {
    /// Reverses a patch whose files were kept. Gives its paths if it moved files.
    fn reverse_kept(&mut self, edits: &PatchEdits) -> Option<BTreeSet<PathBuf>> {
        for FileEdit { path, target, before, was_executable, after } in &edits.files {
            self.step(path, target, |text| {
                if text.map(digest).as_ref() != after.as_ref() {
                    return Err(CHANGED.to_owned());
                }
                before.restored(text).ok_or_else(|| NOT_KEPT.to_owned())
            });
            if let Some(file) = self.files.get_mut(path).filter(|_| after.is_none()) {
                file.is_executable = *was_executable;
            }
        }
        let appears = edits.files.iter().any(|file| file.before == EarlierText::Nothing);
        let vanishes = edits.files.iter().any(|file| file.after.is_none());
        (appears && vanishes).then(|| edits.files.iter().map(|file| file.path.clone()).collect())
    }

    /// Reverses a patch of which only the text is known. Gives its paths if it moved files.
    fn reverse_text(&mut self, applied: &Applied) -> Option<BTreeSet<PathBuf>> {
        let patch = parse(&applied.text).ok()?;
        let absolute = |path: &str| normal(&applied.cwd.join(path));
        let mut moved = BTreeSet::new();
        for hunk in patch.hunks.iter().rev() {
            match hunk {
                Hunk::Add { path, lines } => {
                    let added: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
                    let is_added = |text: Option<&str>| text == Some(added.as_str());
                    self.step_by_lines(&absolute(path), |text| {
                        if is_added(text) { Ok(None) } else { Err(CHANGED.to_owned()) }
                    });
                }
                Hunk::Delete { path } => self.step_by_lines(&absolute(path), |_| Err(NOT_KEPT.to_owned())),
                Hunk::Update { path, move_to, chunks } => {
                    let (from, to) = (absolute(path), absolute(move_to.unwrap_or(path)));
                    let mut earlier = None;
                    self.step_by_lines(&to, |text| {
                        let text = text.ok_or_else(|| CHANGED.to_owned())?;
                        let reversed = reverse(text, chunks).map_err(|error| error.to_string())?;
                        earlier = Some(reversed.clone());
                        Ok(if from == to { Some(reversed) } else { None })
                    });
                    if from != to {
                        self.step_by_lines(&from, |text| match (text, earlier) {
                            (None, Some(earlier)) => Ok(Some(earlier)),
                            _ => Err(CHANGED.to_owned()),
                        });
                        moved.extend([from, to]);
                    }
                }
            }
        }
        (!moved.is_empty()).then_some(moved)
    }

    /// A step without digests: the file may be written below the session's folder.
    fn step_by_lines(&mut self, path: &Path, change: impl FnOnce(Option<&str>) -> Result<Option<String>, String>) {
        let target = path.strip_prefix(self.from).map_or_else(|_| path.to_owned(), |below| self.cwd.join(below));
        self.step(path, &target, change);
        if let Some(file) = self.files.get_mut(path) {
            file.is_exact = false;
        }
    }

    /// Changes the text of a file, unless the file is kept.
    fn step(
        &mut self,
        path: &Path,
        target: &Path,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, String>,
    ) {
        let file = self.files.entry(path.to_owned()).or_insert_with(|| FileSoFar::read(path, target));
        if file.kept.is_none() {
            match change(file.text.as_deref()) {
                Ok(text) => file.text = text,
                Err(reason) => file.kept = Some(reason),
            }
        }
    }

    /// Keeps all files of a patch that moved files if one of them is kept: otherwise a text could get lost.
    fn keep_moves_together(&mut self, moves: &[BTreeSet<PathBuf>]) {
        loop {
            let is_kept = |path: &PathBuf| self.files.get(path).is_some_and(|file| file.kept.is_some());
            let torn = moves.iter().find(|paths| paths.iter().any(is_kept) && !paths.iter().all(is_kept));
            let Some(torn) = torn else { return };
            for path in torn {
                if let Some(file) = self.files.get_mut(path) {
                    file.kept.get_or_insert_with(|| MOVED_WITH.to_owned());
                }
            }
        }
    }
}

impl FileSoFar {
    fn read(path: &Path, target: &Path) -> Self {
        let (disk, kept) = match FoundText::read(path) {
            Ok(FoundText::Nothing) => (None, None),
            Ok(FoundText::Text(text)) => (Some(text.as_ref().clone()), None),
            Ok(FoundText::NotText) => (None, Some(NOT_TEXT.to_owned())),
            Err(error) => (None, Some(format!("it cannot be read: {error}"))),
        };
        Self {
            target: target.to_owned(),
            text: disk.clone(),
            disk,
            is_exact: true,
            is_executable: is_executable_file(path),
            kept,
        }
    }
}
