//! The repositories under a writable root: the one at its top whole, others by the parts that run programs.
//!
//! A file that names another folder (`.git` files, `commondir`, `.gitmodules`) is a short regular file, and counts
//! only if it belongs to the user: in a folder that every user may write, any user can leave one.
//!
//! Not here: what else is protected.

use std::fs;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::dot_git;
use pellucid_files::git_config;

use super::GIT;
use super::Protected;

/// Files that name a folder are short.
const POINTER_BYTES_MAX: u64 = 64 << 10;

/// A list of submodules can be long.
const MODULES_BYTES_MAX: u64 = 1 << 20;

/// How many submodules, and how many work trees, are looked at.
const KNOWN_MAX: usize = 256;

/// The files of a repository that can make git run programs.
const PARTS: [&str; 2] = ["config", "config.worktree"];

/// The same, where a missing one is as good a place.
const FOLDERS_OF_PARTS: [&str; 2] = ["hooks", "info"];

/// The repository at the top of a root, whole, with the one that it belongs to.
pub(super) fn add(root: &Path, found: &mut Protected) {
    let git = root.join(GIT);
    found.add_existing(&git);
    if let Some(folder) = pointed_to(&git) {
        // The hooks and the configuration of a work tree are those of its main repository.
        let common = common_folder(&folder);
        found.there.push(folder);
        found.there.extend(common);
    }
}

/// The parts of a repository further down that make git run programs. Everything else can be worked with.
pub(super) fn add_parts(git: &Path, found: &mut Protected) {
    let Ok(metadata) = git.symlink_metadata() else { return };
    if !metadata.is_dir() {
        found.add(git);
        if let Some(folder) = pointed_to(git) {
            let common = common_folder(&folder);
            add_parts_of(&folder, found);
            if let Some(common) = common {
                add_parts_of(&common, found);
            }
        }
        return;
    }
    add_parts_of(git, found);
    let mut folders = vec![git.join("modules")];
    let mut n_seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            n_seen += 1;
            if n_seen > KNOWN_MAX || !entry.file_type().is_ok_and(|it| it.is_dir()) {
                continue;
            }
            let module = entry.path();
            // The name of a submodule may have several parts, and a submodule may have submodules.
            if module.join("HEAD").exists() {
                add_parts_of(&module, found);
                folders.push(module.join("modules"));
            } else {
                folders.push(module);
            }
        }
    }
}

fn add_parts_of(folder: &Path, found: &mut Protected) {
    // Git ignores a folder without `HEAD`, so its files need no protection.
    if !folder.join("HEAD").exists() {
        return;
    }
    for name in PARTS {
        found.add_existing(&folder.join(name));
    }
    for name in FOLDERS_OF_PARTS {
        found.add(&folder.join(name));
    }
}

/// The repositories that a folder's own one knows: its submodules and its other work trees.
pub(super) fn add_known(folder: &Path, found: &mut Protected) {
    for path in submodules(folder) {
        add_parts(&path.join(GIT), found);
    }
    let work_trees = fs::read_dir(folder.join(GIT).join("worktrees")).into_iter().flatten().flatten();
    for entry in work_trees.take(KNOWN_MAX) {
        let named = own_text(&entry.path().join("gitdir"), POINTER_BYTES_MAX);
        if let Some(git) = named.and_then(|text| existing(Path::new(text.trim()))) {
            found.add(&git);
        }
    }
}

/// The paths of submodules in `.gitmodules`, as far as they are below the folder and lead through no link.
fn submodules(folder: &Path) -> Vec<PathBuf> {
    let text = own_text(&folder.join(".gitmodules"), MODULES_BYTES_MAX).unwrap_or_default();
    // Git takes nothing from a file that it cannot read.
    let entries = git_config::parse(&text).unwrap_or_default().into_iter();
    let paths = entries.filter(|entry| entry.section == "submodule" && entry.key == "path").filter_map(|entry| {
        let path = PathBuf::from(entry.value?);
        path.components().all(|it| matches!(it, Component::Normal(_))).then(|| folder.join(path))
    });
    paths.take(KNOWN_MAX).filter(|path| existing(path).as_ref() == Some(path)).collect()
}

/// The folder that a `.git` file names, if it exists.
fn pointed_to(file: &Path) -> Option<PathBuf> {
    is_own(file).then(|| existing(&dot_git::named_folder(file)?)).flatten()
}

/// The folder that a work tree's own folder shares with its repository.
fn common_folder(folder: &Path) -> Option<PathBuf> {
    is_own(&folder.join("commondir")).then(|| existing(&dot_git::common_dir(folder)?)).flatten()
}

/// The text of a short file that this user or the superuser owns.
fn own_text(path: &Path, n_bytes_max: u64) -> Option<String> {
    is_own(path).then(|| pellucid_files::read_text(path, n_bytes_max).ok()).flatten()
}

#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = fs::metadata(path).map(|metadata| metadata.uid());
    owner.is_ok_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn is_own(_: &Path) -> bool {
    true
}

fn existing(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}
