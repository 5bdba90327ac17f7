//! Projects: where one begins, whether the user trusts it, and which folders configure it.
//!
//! Git is asked by reading its files: where a worktree's main repository is, is written there.
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

/// The folder in a project's folders that configures it.
pub(crate) const FOLDER: &str = ".codex";

/// A folder at or above the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Above<'p> {
    /// Its whole name.
    pub path: &'p Path,
    /// A name that leads there. From where the process stands, a few steps upward are looked up
    /// faster than a long name.
    reach: Cow<'p, Path>,
}

impl Above<'_> {
    /// Whether it has a folder of this name. One that only keeps the name from being taken is none.
    pub(crate) fn has_folder(&self, name: &str) -> bool {
        let path = self.reach.join(name);
        path.is_dir() && !pellucid_files::is_placeholder(&path)
    }

    /// Whether it has an entry of this name, wherever that leads.
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

/// Whether the process stands in this folder, and this is its real name.
fn is_here(folder: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| here.as_os_str() == folder.as_os_str())
}

/// The folder whose decision holds for the repository that `cwd` is in: that of the main repository for a further work
/// tree, if it lists that one.
fn main_repository(cwd: &Path) -> Option<PathBuf> {
    let found = cwd.ancestors().find_map(|folder| {
        let found = DotGit::read(folder)?;
        // Git passes over a folder without a head, and so do we.
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

/// A project, as its folders and the user's decisions about them see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Project {
    root: PathBuf,
    cwd: PathBuf,
    /// The nearest folder with a `.git` entry, if it is known for sure.
    work_tree: Option<PathBuf>,
    is_here: bool,
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

    /// The nearest folder at or above the working directory with a `.git` entry, if the search for
    /// the top folder found it and the working directory goes by its real name.
    pub(crate) fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Its top folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folders from its top to the working directory.
    pub(crate) fn folders(&self) -> Vec<Above<'_>> {
        let n_bytes = self.root.as_os_str().len();
        let inside = |folder: &Above<'_>| folder.path.as_os_str().len() >= n_bytes;
        let mut folders: Vec<_> = upward(&self.cwd, self.is_here).take_while(inside).collect();
        folders.reverse();
        folders
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
        // Its own folder may lie in one that was decided about.
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
