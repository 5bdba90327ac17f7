//! Projects: where one begins, whether the user trusts it, and which folders configure it.
//!
//! Git is asked by reading its files: where a worktree's main repository is, is written there.
//!
//! Not here: reading the configuration of a project (`layers`).

use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

use pellucid_protocol::settings::TrustLevel;

use crate::value::Table;

/// The folder in a project's folders that configures it.
pub(crate) const FOLDER: &str = ".codex";

/// The nearest folder from `cwd` upwards that has one of the markers in it, or `cwd`.
fn root(cwd: &Path, markers: &[String]) -> PathBuf {
    cwd.ancestors()
        .find(|folder| markers.iter().any(|marker| folder.join(marker).symlink_metadata().is_ok()))
        .unwrap_or(cwd)
        .to_owned()
}

/// The folders from `root` down to `cwd`.
fn folders_between<'p>(root: &Path, cwd: &'p Path) -> Vec<&'p Path> {
    let mut folders: Vec<_> = cwd.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    folders.reverse();
    folders
}

/// The folder of the main repository that `cwd` is in, for worktrees too.
fn main_repository(cwd: &Path) -> Option<PathBuf> {
    let git_folder = cwd.ancestors().find_map(|folder| git_folder(&folder.join(".git")))?;
    let common = match std::fs::read_to_string(git_folder.join("commondir")) {
        Ok(common) => git_folder.join(common.trim_end()),
        Err(_) => git_folder,
    };
    common.canonicalize().ok()?.parent().map(Path::to_owned)
}

/// The folder with a repository's data: `.git` itself, or what a file of this name points to.
fn git_folder(dot_git: &Path) -> Option<PathBuf> {
    // Git passes over a folder without a head, and so do we.
    if dot_git.join("HEAD").symlink_metadata().is_ok() {
        return Some(dot_git.to_owned());
    }
    let pointer = std::fs::read_to_string(dot_git).ok()?;
    let target = pointer.strip_prefix("gitdir:")?.trim();
    Some(dot_git.parent()?.join(target))
}

/// A project, as its folders and the user's decisions about them see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Project {
    root: PathBuf,
    cwd: PathBuf,
    /// Cache: found on the disk when a decision is first looked for.
    repository: OnceLock<Option<PathBuf>>,
}

/// A decision: which folder it was made for, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The folder under which it is or would be written.
    pub key: PathBuf,
    /// The decision, if there is one.
    pub level: Option<TrustLevel>,
}

impl Project {
    /// The project that `cwd` is in.
    pub(crate) fn new(cwd: &Path, markers: &[String]) -> Self {
        Self { root: root(cwd, markers), cwd: cwd.to_owned(), repository: OnceLock::new() }
    }

    /// Its top folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folders from its top to the working directory.
    pub(crate) fn folders(&self) -> Vec<&Path> {
        folders_between(&self.root, &self.cwd)
    }

    /// The decision about one of its folders: that folder's, the top's, or the main repository's.
    pub(crate) fn trust_in(&self, folder: &Path, merged: &Table) -> Decision {
        self.decision(&[folder, &self.root], merged).unwrap_or_else(|| Decision { key: self.root.clone(), level: None })
    }

    /// The decision that permissions depend on: the working directory's or the main repository's.
    pub(crate) fn trust(&self, merged: &Table) -> Option<TrustLevel> {
        self.decision(&[&self.cwd], merged)?.level
    }

    fn decision(&self, folders: &[&Path], merged: &Table) -> Option<Decision> {
        let projects = merged.get("projects")?.as_table()?;
        let decided = |folder: &Path| {
            let level = level(projects, folder)?;
            Some(Decision { key: folder.to_owned(), level: Some(level) })
        };
        folders.iter().find_map(|folder| decided(folder)).or_else(|| decided(self.repository()?))
    }

    fn repository(&self) -> Option<&Path> {
        self.repository.get_or_init(|| main_repository(&self.cwd)).as_deref()
    }
}

fn level(projects: &Table, folder: &Path) -> Option<TrustLevel> {
    let project = projects.get(&folder.to_string_lossy())?.as_table()?;
    TrustLevel::from_word(project.get("trust_level")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[track_caller]
    fn check_main_repository(files: &[(&str, &str)], cwd: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (path, text) in files {
            write(&root, path, &text.replace("$R", root.to_str().unwrap()));
        }
        std::fs::create_dir_all(root.join(cwd)).unwrap();
        let found = main_repository(&root.join(cwd));
        assert_eq!(found.as_deref(), expected.map(|expected| root.join(expected)).as_deref());
    }

    #[test]
    fn the_main_repository_is_found_from_any_folder_and_worktree() {
        let head = ("main/.git/HEAD", "ref: x\n");
        check_main_repository(&[head], "main/a/b", Some("main"));
        check_main_repository(&[head], "other", None);
        let worktree =
            [head, ("main/.git/worktrees/w/commondir", "../..\n"), ("w/.git", "gitdir: $R/main/.git/worktrees/w\n")];
        check_main_repository(&worktree, "w/sub", Some("main"));
        let relative =
            [head, ("main/.git/worktrees/w/commondir", "../..\n"), ("w/.git", "gitdir: ../main/.git/worktrees/w")];
        check_main_repository(&relative, "w", Some("main"));
        check_main_repository(&[head, ("main/sub/.git/config", "")], "main/sub", Some("main"));
        check_main_repository(&[head, ("main/sub/.git", "nonsense")], "main/sub", Some("main"));
    }

    #[test]
    fn the_root_has_a_marker_or_is_the_working_directory() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        write(top, "p/.hg/x", "");
        write(top, "p/a/.mark", "");
        std::fs::create_dir_all(top.join("p/a/b")).unwrap();
        let cwd = top.join("p/a/b");
        let root_with =
            |markers: &[&str]| root(&cwd, &markers.iter().map(|marker| (*marker).to_owned()).collect::<Vec<_>>());
        assert_eq!(root_with(&[".hg"]), top.join("p"));
        assert_eq!(root_with(&[".hg", ".mark"]), top.join("p/a"));
        assert_eq!(root_with(&[]), cwd);
        assert_eq!(root_with(&[".none-of-these"]), cwd);
        assert_eq!(folders_between(&top.join("p"), &cwd), [top.join("p"), top.join("p/a"), cwd.clone()]);
    }
}
