//! `cargo xtask adopt DIR`: copies `conformance/`, `tui/` and `golden/` from another folder.
//!
//! The originals are developed beside the project and shared with others. Files are compared by content, so a second
//! run changes nothing.
//!
//! Not here: judging the changes. They are printed, and `git diff` shows the rest.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// The folders that are copies.
const FOLDERS: &[&str] = &["conformance", "tui", "golden"];

/// Files in them that belong to this project and have no original.
const OURS: &[&str] =
    &["conformance/claimed.txt", "tui/claimed.txt", "tui/endings.py", "tui/in_tmux.py", "tui/screens.py"];

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    kind: Kind,
    path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Changed,
    Removed,
}

/// Runs `cargo xtask adopt`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let Some(source) = args.next() else {
        bail!("which folder? usage: cargo xtask adopt DIR");
    };
    args.finish()?;
    let changes = adopt(Path::new(&source), program::root())?;
    for change in &changes {
        println!("{change}");
    }
    match changes.len() {
        0 => println!("nothing has changed"),
        n => println!("{n} files; run `cargo xtask conformance` before you commit them"),
    }
    Ok(Outcome::Good)
}

fn adopt(source: &Path, root: &Path) -> Result<Vec<Change>> {
    let offered: Vec<_> = FOLDERS.iter().filter(|it| source.join(it).is_dir()).collect();
    if offered.is_empty() {
        let folders = FOLDERS.join("/ nor ");
        bail!("{} has neither {folders}/", source.display());
    }
    let mut changes = Vec::new();
    for folder in offered {
        let new = files_below(source, folder)?;
        let old = files_below(root, folder)?;
        for (path, file) in &new {
            let kind = match old.get(path) {
                None => Kind::Added,
                Some(known) if same(known, file)? => continue,
                Some(_) => Kind::Changed,
            };
            copy(file, &root.join(path))?;
            changes.push(Change { kind, path: path.clone() });
        }
        for (path, file) in &old {
            if !new.contains_key(path) && !OURS.contains(&path.as_str()) {
                fs::remove_file(file).with_context(|| format!("could not remove {}", file.display()))?;
                changes.push(Change { kind: Kind::Removed, path: path.clone() });
            }
        }
    }
    Ok(changes)
}

/// Every file of a folder by its path from the root, except hidden and compiled ones.
fn files_below(root: &Path, folder: &str) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_string()];
    while let Some(folder) = folders.pop() {
        let full = root.join(&folder);
        if !full.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&full).with_context(|| format!("could not list {}", full.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || name == "__pycache__" {
                continue;
            }
            let path = format!("{folder}/{name}");
            if entry.path().is_dir() {
                folders.push(path);
            } else {
                files.insert(path, entry.path());
            }
        }
    }
    Ok(files)
}

fn same(a: &Path, b: &Path) -> Result<bool> {
    let read = |path: &Path| -> Result<_> {
        let bytes = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
        Ok((bytes, is_executable(path)?))
    };
    Ok(read(a)? == read(b)?)
}

/// Copies content and executable bit, but not the write protection of the original.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let bytes = fs::read(from).with_context(|| format!("could not read {}", from.display()))?;
    fs::write(to, bytes).with_context(|| format!("could not write {}", to.display()))?;
    set_executable(to, is_executable(from)?)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::metadata(path)?.permissions().mode() & 0o100 != 0)
}

#[cfg(unix)]
fn set_executable(path: &Path, executable: bool) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(())
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> Result<bool> {
    Ok(false)
}

#[cfg(not(unix))]
fn set_executable(_path: &Path, _executable: bool) -> Result<()> {
    Ok(())
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Added => "added",
            Kind::Changed => "changed",
            Kind::Removed => "removed",
        };
        write!(f, "{kind:<8} {}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn write(root: &Scratch, path: &str, text: &str) {
        let full = root.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    fn adopted(source: &Scratch, root: &Scratch) -> String {
        let changes = adopt(source.path(), root.path()).unwrap();
        changes.iter().map(|it| format!("{it}\n")).collect()
    }

    #[test]
    fn takes_over_what_differs_and_keeps_what_is_ours() {
        let (source, root) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        write(&source, "conformance/run.py", "new");
        write(&source, "conformance/goldens/a.json", "a");
        write(&source, "conformance/goldens/b.json", "b");
        write(&source, "conformance/__pycache__/run.pyc", "compiled");
        write(&root, "conformance/run.py", "old");
        write(&root, "conformance/goldens/a.json", "a");
        write(&root, "conformance/goldens/z.json", "z");
        write(&root, "conformance/claimed.txt", "ours");
        write(&root, "golden/peers.py", "not offered, so not touched");
        assert_eq!(
            adopted(&source, &root),
            "added    conformance/goldens/b.json\n\
             changed  conformance/run.py\n\
             removed  conformance/goldens/z.json\n"
        );
        let run = fs::read_to_string(root.path().join("conformance/run.py")).unwrap();
        assert_eq!(run, "new");
        assert!(root.path().join("conformance/claimed.txt").exists());
        assert!(root.path().join("golden/peers.py").exists());
        assert_eq!(adopted(&source, &root), "");
    }

    #[cfg(unix)]
    #[test]
    fn a_script_stays_executable_and_nothing_becomes_read_only() {
        use std::os::unix::fs::PermissionsExt;
        let (source, root) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        write(&source, "golden/a.py", "a");
        write(&source, "golden/b.py", "b");
        let mode = |path: &str, mode| {
            let path = source.path().join(path);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("golden/a.py", 0o555);
        mode("golden/b.py", 0o444);
        adopted(&source, &root);
        let found = |path: &str| {
            let permissions = fs::metadata(root.path().join(path)).unwrap().permissions();
            permissions.mode() & 0o777
        };
        assert_eq!((found("golden/a.py"), found("golden/b.py")), (0o755, 0o644));
    }

    #[test]
    fn a_folder_that_has_neither_is_refused() {
        let (source, root) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        let error = adopt(source.path(), root.path()).unwrap_err().to_string();
        assert!(error.ends_with("has neither conformance/ nor tui/ nor golden/"), "{error}");
    }
}
