//! What stays read-only under a writable root: the repository's and the agents' own folders.
//!
//! Writing there would reach beyond the command: a hook or a filter of git's configuration, an
//! agent's settings or skills run later, without a sandbox.
//!
//! Not here: enforcing it. A backend does, and the check of patches does for itself.

use std::path::Path;
use std::path::PathBuf;

/// Folders of agents, protected if they are folders.
const FOLDERS: [&str; 3] = [".agents", ".codex", ".pellucid"];

/// The repository: a folder, or a file that names one.
const GIT: &str = ".git";

/// What is read-only below these roots: what is there now, without repetition, in order of roots.
pub fn paths(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for root in roots {
        for path in below(root) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

fn below(root: &Path) -> Vec<PathBuf> {
    let git = root.join(GIT);
    let mut found = Vec::new();
    if git.is_dir() {
        found.push(git);
    } else if git.is_file() {
        let elsewhere = pointed_to(&git);
        found.push(git);
        if let Some(folder) = elsewhere {
            // The hooks and the configuration of a work tree are those of its main repository.
            let common = common_folder(&folder);
            found.push(folder);
            found.extend(common);
        }
    }
    found.extend(FOLDERS.iter().map(|name| root.join(name)).filter(|path| path.is_dir()));
    found
}

/// The folder that a `.git` file names, if it is there.
fn pointed_to(file: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    existing(&file.parent()?.join(named))
}

/// The folder that a work tree's own folder shares with its repository.
fn common_folder(folder: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(folder.join("commondir")).ok()?;
    existing(&folder.join(text.trim()))
}

fn existing(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(make: impl Fn(&Path), expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let root = top.join("root");
        fs::create_dir(&root).unwrap();
        make(&root);
        let found = paths(&[root.clone(), root]);
        let found: Vec<_> = found.iter().map(|it| it.strip_prefix(&top).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_is_there_and_each_once() {
        check(|_| (), &[]);
        check(
            |root| {
                for name in [".pellucid", ".git", ".codex", "src"] {
                    fs::create_dir(root.join(name)).unwrap();
                }
                fs::write(root.join(".agents"), "a file").unwrap();
            },
            &["root/.git", "root/.codex", "root/.pellucid"],
        );
    }

    #[test]
    fn a_work_tree_protects_its_repository() {
        check(
            |root| {
                let own = root.join("../main/.git/worktrees/w");
                fs::create_dir_all(&own).unwrap();
                fs::write(own.join("commondir"), "../..\n").unwrap();
                fs::write(root.join(".git"), "gitdir: ../main/.git/worktrees/w\n").unwrap();
            },
            &["root/.git", "main/.git/worktrees/w", "main/.git"],
        );
    }

    #[test]
    fn a_pointer_to_nothing_is_protected_itself() {
        check(|root| fs::write(root.join(".git"), "gitdir: /nowhere/at/all\n").unwrap(), &["root/.git"]);
    }
}
