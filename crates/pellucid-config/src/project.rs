//! Projects: where one begins, whether the user trusts it, and which folders configure it.
//!
//! Git's files are read directly: a worktree's files name its main repository.
//!
//! Not here: reading the configuration of a project (`layers`).

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

use pellucid_files::dot_git::DOT_GIT;
use pellucid_files::dot_git::DotGit;
use pellucid_files::dot_git::Tie;
use pellucid_protocol::settings::TrustLevel;

use crate::value::Table;

/// The folder with the configuration of a project folder.
pub(crate) const FOLDER: &str = ".codex";

/// A folder at or above the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Above<'p> {
    /// The absolute path of the folder.
    pub path: &'p Path,
    /// A path by which the folder is accessed. From the process's working directory, a few steps upward are faster to
    /// look up than a long path.
    reach: Cow<'p, Path>,
}

impl Above<'_> {
    /// Whether the folder contains a folder of this name. A placeholder that only reserves the name does not count.
    pub(crate) fn has_folder(&self, name: &str) -> bool {
        let path = self.reach.join(name);
        path.is_dir() && !pellucid_files::is_placeholder(&path)
    }

    /// Whether the folder has an entry of this name, wherever a link leads.
    fn has(&self, name: &str) -> io::Result<bool> {
        match self.reach.join(name).symlink_metadata() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The folders from `cwd` upwards.
fn upward(cwd: &Path, is_here: bool) -> impl Iterator<Item = Above<'_>> {
    let n_levels = cwd.as_os_str().as_encoded_bytes().iter().filter(|byte| **byte == b'/').count();
    cwd.ancestors().enumerate().map(move |(n_steps, path)| {
        let is_near = is_here && 2 * n_steps < n_levels;
        let reach = if is_near { Cow::Owned(PathBuf::from("../".repeat(n_steps))) } else { Cow::Borrowed(path) };
        Above { path, reach }
    })
}

/// Whether `folder` is the process's working directory by its real name.
fn is_here(folder: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| here.as_os_str() == folder.as_os_str())
}

/// The folder whose trust decision applies to the repository that contains `cwd`: the main repository's for a linked
/// work tree, if the main repository lists that work tree.
fn main_repository(cwd: &Path) -> Option<PathBuf> {
    let found = cwd.ancestors().find_map(|folder| {
        let found = DotGit::read(folder)?;
        // Git skips a folder without a `HEAD`, and so does this search.
        let is_passed_over = folder.join(DOT_GIT).is_dir() && found.git_dir.join("HEAD").symlink_metadata().is_err();
        (!is_passed_over).then_some((folder, found))
    });
    let (folder, found) = found?;
    match found.tie {
        Tie::Own => folder.canonicalize().ok(),
        Tie::Worktree | Tie::Named => found.common_dir.canonicalize().ok()?.parent().map(Path::to_owned),
        Tie::Unconfirmed => None,
    }
}

/// A project, with its folders and the user's decisions about them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Project {
    root: PathBuf,
    cwd: PathBuf,
    /// The nearest folder with a `.git` entry, if it is known for sure.
    work_tree: Option<PathBuf>,
    is_here: bool,
    /// Cache: found on the disk when a decision is first looked up.
    repository: OnceLock<Option<PathBuf>>,
}

/// A trust decision, and the folder that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The folder under which the decision is or would be written.
    pub key: PathBuf,
    /// The decision, if there is one.
    pub level: Option<TrustLevel>,
}

impl Project {
    /// The project that contains `cwd`.
    pub(crate) fn new(cwd: &Path, markers: &[String]) -> Self {
        let is_here = is_here(cwd);
        // Whether the nearest folder with a marker is also the nearest one with `.git`.
        let mut is_same = is_here && markers.iter().all(|marker| marker == DOT_GIT);
        let mut has = |folder: &Above<'_>, marker: &String| {
            let has = folder.has(marker);
            is_same &= has.is_ok();
            has.unwrap_or(false)
        };
        let marked = upward(cwd, is_here).find(|folder| markers.iter().any(|marker| has(folder, marker)));
        let work_tree = marked.as_ref().filter(|root| is_same && root.reach.join(DOT_GIT).exists());
        Self {
            work_tree: work_tree.map(|root| root.path.to_owned()),
            root: marked.map_or(cwd, |root| root.path).to_owned(),
            cwd: cwd.to_owned(),
            is_here,
            repository: OnceLock::new(),
        }
    }

    /// The nearest folder at or above the working directory with a `.git` entry, if the search for the top folder found
    /// it and the working directory is its real path.
    pub(crate) fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// The top folder of the project.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folders from the top folder to the working directory.
    pub(crate) fn folders(&self) -> Vec<Above<'_>> {
        let n_bytes = self.root.as_os_str().len();
        let inside = |folder: &Above<'_>| folder.path.as_os_str().len() >= n_bytes;
        let mut folders: Vec<_> = upward(&self.cwd, self.is_here).take_while(inside).collect();
        folders.reverse();
        folders
    }

    /// The decision about one of the project's folders: that folder's, the top folder's, or the main repository's.
    pub(crate) fn trust_in(&self, folder: &Path, merged: &Table) -> Decision {
        self.decision(&[folder, &self.root], merged).unwrap_or_else(|| Decision { key: self.root.clone(), level: None })
    }

    /// The decision that permissions depend on: the working directory's or the main repository's.
    pub(crate) fn trust(&self, merged: &Table) -> Option<TrustLevel> {
        self.decision(&[&self.cwd], merged)?.level
    }

    /// The folder that a decision about trust is stored for.
    pub(crate) fn trust_folder(&self) -> PathBuf {
        self.repository().unwrap_or(&self.cwd).to_owned()
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
        let shared = ("main/.git/worktrees/w/commondir", "../..\n");
        let back = ("main/.git/worktrees/w/gitdir", "$R/w/.git\n");
        let pointer = ("w/.git", "gitdir: $R/main/.git/worktrees/w\n");
        check_main_repository(&[head, shared, back, pointer], "w/sub", Some("main"));
        let relative = ("w/.git", "gitdir: ../main/.git/worktrees/w");
        check_main_repository(&[head, shared, back, relative], "w", Some("main"));
        check_main_repository(&[head, ("main/sub/.git/config", "")], "main/sub", Some("main"));
        check_main_repository(&[head, ("main/sub/.git", "nonsense")], "main/sub", Some("main"));
    }

    #[test]
    fn a_repository_that_does_not_know_a_folder_says_nothing_about_it() {
        let head = ("main/.git/HEAD", "ref: x\n");
        let shared = ("main/.git/worktrees/w/commondir", "../..\n");
        let pointer = ("w/.git", "gitdir: $R/main/.git/worktrees/w\n");
        check_main_repository(&[head, shared, pointer], "w", None);
        check_main_repository(&[head, ("w/.git", "gitdir: $R/main/.git\n")], "w", None);
        check_main_repository(&[head, ("w/.git/HEAD", ""), ("w/.git/commondir", "$R/main/.git\n")], "w", None);
        // The work tree may be in a folder that has a decision.
        check_main_repository(&[head, ("main/w/.git", "gitdir: $R/main/.git\n")], "main/w", None);
    }

    #[test]
    fn the_root_has_a_marker_or_is_the_working_directory() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        write(top, "p/.hg/x", "");
        write(top, "p/a/.mark", "");
        std::fs::create_dir_all(top.join("p/a/b")).unwrap();
        let cwd = top.join("p/a/b");
        let project = |markers: &[&str]| {
            let markers: Vec<String> = markers.iter().map(|marker| (*marker).to_owned()).collect();
            Project::new(&cwd, &markers)
        };
        let root_with = |markers: &[&str]| project(markers).root;
        assert_eq!(root_with(&[".hg"]), top.join("p"));
        assert_eq!(root_with(&[".hg", ".mark"]), top.join("p/a"));
        assert_eq!(root_with(&[]), cwd);
        assert_eq!(root_with(&[".none-of-these"]), cwd);
        let project = project(&[".hg"]);
        let folders: Vec<&Path> = project.folders().iter().map(|folder| folder.path).collect();
        assert_eq!(folders, [top.join("p"), top.join("p/a"), cwd.clone()]);
    }
}
