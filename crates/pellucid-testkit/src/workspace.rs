//! A folder tree made from a text, gone when dropped.
//!
//! ```
//! use pellucid_testkit::Workspace;
//!
//! let workspace = Workspace::new(
//!     "
//! //- AGENTS.md
//! Be brief.
//! //- src/
//! ",
//! );
//! assert_eq!(workspace.read("AGENTS.md"), "Be brief.\n");
//! assert!(workspace.path("src").is_dir());
//! ```
//!
//! A line `//- path` opens a file, the lines up to the next one are its content; a path that ends
//! in `/` is an empty folder. Lines before the first mark must be blank.
//!
//! Not here: running git. A `.git` folder is written by hand with as little as git itself accepts.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use tempfile::TempDir;

const MARK: &str = "//- ";

/// A folder tree in a temporary place.
///
/// Every method panics when the file system refuses: a fixture that cannot be built is a broken
/// test.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    // Held for its drop, which removes the tree.
    _dir: TempDir,
}

impl Workspace {
    /// Builds the tree that a fixture describes.
    #[track_caller]
    pub fn new(fixture: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        // Links in the path of the temporary folder would make paths differ from what code under
        // test finds.
        let root = dir.path().canonicalize().expect("the temporary folder has a path");
        let workspace = Self { root, _dir: dir };
        for (path, content) in parse(fixture) {
            if path.ends_with('/') {
                workspace.folder(path);
            } else {
                workspace.write(path, content);
            }
        }
        workspace
    }

    /// A tree without any entries.
    #[track_caller]
    pub fn empty() -> Self {
        Self::new("")
    }

    /// The canonical path of the tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of an entry.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and the folders above it.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        make_parent(&path);
        fs::write(&path, content).unwrap_or_else(|error| panic!("could not write {}: {error}", path.display()));
        path
    }

    /// Reads a file back as text.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("could not read {}: {error}", path.display()))
    }

    /// Makes a folder and those above it.
    #[track_caller]
    pub fn folder(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("could not make {}: {error}", path.display()));
        path
    }

    /// Makes a symbolic link. A relative target is relative to the link, as on the system.
    #[cfg(unix)]
    #[track_caller]
    pub fn symlink(&self, link: impl AsRef<Path>, target: impl AsRef<Path>) -> PathBuf {
        let link = self.path(link);
        make_parent(&link);
        std::os::unix::fs::symlink(target, &link)
            .unwrap_or_else(|error| panic!("could not link {}: {error}", link.display()));
        link
    }

    /// Makes a folder a git repository on branch `main` without a commit.
    #[track_caller]
    pub fn git(&self, folder: impl AsRef<Path>) -> PathBuf {
        let git = self.folder(folder.as_ref().join(".git"));
        for part in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            self.folder(git.join(part));
        }
        self.write(git.join("HEAD"), "ref: refs/heads/main\n");
        self.write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n");
        git
    }

    /// Makes a folder a linked work tree: its `.git` is a file that names another folder.
    #[track_caller]
    pub fn git_file(&self, folder: impl AsRef<Path>, git_folder: &str) -> PathBuf {
        self.write(folder.as_ref().join(".git"), format!("gitdir: {git_folder}\n"))
    }
}

#[track_caller]
fn make_parent(path: &Path) {
    let parent = path.parent().expect("a path in the workspace has a parent");
    fs::create_dir_all(parent).unwrap_or_else(|error| panic!("could not make {}: {error}", parent.display()));
}

#[track_caller]
fn parse(fixture: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        if let Some(path) = line.strip_prefix(MARK) {
            let path = path.trim();
            assert!(!path.is_empty() && !path.starts_with('/'), "a fixture's path must be relative: {line:?}");
            files.push((path, String::new()));
        } else if let Some((_, content)) = files.last_mut() {
            content.push_str(line);
        } else {
            assert!(line.trim().is_empty(), "a fixture begins with a line `{MARK}path`, not with {line:?}");
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_lines_and_folders_may_be_empty() {
        let workspace = Workspace::new("\n//- a/b.txt\none\n\ntwo\n//- c/\n//- empty\n");
        assert_eq!(workspace.read("a/b.txt"), "one\n\ntwo\n");
        assert_eq!(workspace.read("empty"), "");
        assert!(workspace.path("c").is_dir());
    }

    #[test]
    #[should_panic(expected = "begins with a line")]
    fn text_before_the_first_mark_is_refused() {
        Workspace::new("lost\n//- a\n");
    }

    #[test]
    fn repositories_and_links_are_there() {
        let workspace = Workspace::new("//- repo/file\nx\n");
        let git = workspace.git("repo");
        assert!(git.join("HEAD").is_file());
        workspace.git_file("tree", "../repo/.git/worktrees/tree");
        assert_eq!(workspace.read("tree/.git"), "gitdir: ../repo/.git/worktrees/tree\n");
        #[cfg(unix)]
        {
            workspace.symlink("link", "repo/file");
            assert_eq!(workspace.read("link"), "x\n");
        }
    }

    #[test]
    fn the_tree_is_gone_when_dropped() {
        let workspace = Workspace::empty();
        let root = workspace.root().to_owned();
        drop(workspace);
        assert!(!root.exists());
    }
}
