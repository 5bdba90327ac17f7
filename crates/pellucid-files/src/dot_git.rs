//! `.git`: a folder, or a file that names one; and whether what it names agrees.
//!
//! Any user who makes a folder can make a `.git` in it that names another user's repository. A decision about that
//! repository holds for the folder only if the repository names the folder too, which only its owner can have
//! written: a further work tree is listed in `worktrees` of its main repository, a submodule in its configuration.
//!
//! Not here: what is in a repository, and what follows from a tie.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use crate::git_config;
use crate::read_text;

/// The entry that makes a folder a work tree.
pub const DOT_GIT: &str = ".git";

/// A file that only names a folder has no more bytes.
const POINTER_BYTES_MAX: u64 = 16 * 1024;

/// A configuration that is longer is not read.
const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How a work tree and the folder with its repository's data belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// The data is in the `.git` folder itself.
    Own,
    /// A further work tree, which its main repository lists.
    Worktree,
    /// The data is elsewhere, and its configuration names this work tree, as that of a submodule does.
    Named,
    /// Nothing but the work tree itself says so.
    Unconfirmed,
}

/// The data folders of a work tree's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotGit {
    /// The folder of data that belongs to this work tree alone, such as `HEAD`.
    pub git_dir: PathBuf,
    /// The folder of data that all work trees share. The same folder, unless this is a further work tree.
    pub common_dir: PathBuf,
    /// Whether the other side agrees.
    pub tie: Tie,
}

impl DotGit {
    /// The repository that the `.git` entry of a folder leads to. Absent without such an entry, or if it leads
    /// nowhere.
    ///
    /// Whether there is a repository is not looked at, only where it would be.
    pub fn read(folder: &Path) -> Option<Self> {
        let entry = folder.join(DOT_GIT);
        let metadata = entry.metadata().ok()?;
        if metadata.is_dir() {
            let common_dir = common_dir(&entry);
            let is_own = common_dir.is_none() && is_real(folder, &entry);
            let tie = if is_own { Tie::Own } else { Tie::Unconfirmed };
            return Some(Self { common_dir: common_dir.unwrap_or_else(|| entry.clone()), git_dir: entry, tie });
        }
        let git_dir = named_folder(&entry)?;
        let common_dir = common_dir(&git_dir);
        let tie = match &common_dir {
            Some(common_dir) if is_listed(&entry, &git_dir, common_dir) => Tie::Worktree,
            None if is_named(folder, &entry, &git_dir) => Tie::Named,
            _ => Tie::Unconfirmed,
        };
        Some(Self { common_dir: common_dir.unwrap_or_else(|| git_dir.clone()), git_dir, tie })
    }
}

/// The folder that a `.git` file names, whether it exists or not.
pub fn named_folder(file: &Path) -> Option<PathBuf> {
    let text = read_text(file, POINTER_BYTES_MAX).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim_start_matches(' ').trim_end_matches(['\r', '\n']);
    if target.is_empty() { None } else { Some(file.parent()?.join(target)) }
}

/// The folder that a work tree's own folder shares with others, whether it exists or not. Absent if it shares none.
pub fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let text = read_text(&git_dir.join("commondir"), POINTER_BYTES_MAX).ok()?;
    Some(git_dir.join(text.trim_end_matches(['\r', '\n'])))
}

/// Whether a `.git` folder is no link to the one of another folder.
fn is_real(folder: &Path, entry: &Path) -> bool {
    let real = || Ok::<_, io::Error>(entry.canonicalize()? == folder.canonicalize()?.join(DOT_GIT));
    real().unwrap_or(false)
}

/// Whether the main repository lists a work tree: its folder is in `worktrees`, shares with the main repository and
/// names this very `.git` file.
fn is_listed(entry: &Path, git_dir: &Path, common_dir: &Path) -> bool {
    let listed = || {
        let (main, own) = (common_dir.canonicalize()?, git_dir.canonicalize()?);
        if own.parent() != Some(&main.join("worktrees")) {
            return Ok::<_, io::Error>(false);
        }
        // A link there would make the folder look like one of the main repository's own.
        let back = own.join("gitdir");
        if !back.symlink_metadata()?.is_file() || !entry.symlink_metadata()?.is_file() {
            return Ok(false);
        }
        let named = read_text(&back, POINTER_BYTES_MAX)?;
        Ok(own.join(named.trim_end_matches(['\r', '\n'])).canonicalize()? == entry.canonicalize()?)
    };
    listed().unwrap_or(false)
}

/// Whether the configuration of a repository that is elsewhere names the work tree.
fn is_named(folder: &Path, entry: &Path, git_dir: &Path) -> bool {
    let named = || {
        if !entry.symlink_metadata()?.is_file() {
            return Ok::<_, io::Error>(false);
        }
        let text = read_text(&git_dir.join("config"), CONFIG_BYTES_MAX)?;
        let entries = git_config::parse(&text).unwrap_or_default();
        let is_it = |entry: &&git_config::GitConfigEntry| {
            (entry.section.as_str(), entry.subsection.as_deref(), entry.key.as_str()) == ("core", None, "worktree")
        };
        match entries.iter().rev().find(is_it).and_then(|entry| entry.value.as_deref()) {
            Some(named) => Ok(git_dir.join(named).canonicalize()? == folder.canonicalize()?),
            None => Ok(false),
        }
    };
    named().unwrap_or(false)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use super::*;

    /// Draws files, `a -> b` for a link, with `$R` for the folder above all, and shows what `work/.git` leads to.
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for (path, text) in files {
            let text = text.replace("$R", top.to_str().unwrap());
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match text.strip_prefix("-> ") {
                Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
                None => fs::write(path, text).unwrap(),
            }
        }
        let found = DotGit::read(&top.join("work")).map_or_else(
            || "nothing".to_owned(),
            |found| {
                let short = |path: &Path| path.strip_prefix(&top).unwrap().display().to_string();
                format!("{:?} {} {}", found.tie, short(&found.git_dir), short(&found.common_dir))
            },
        );
        assert_eq!(found, expected);
    }

    const MAIN: (&str, &str) = ("main/.git/HEAD", "x");
    const SHARED: (&str, &str) = ("main/.git/worktrees/w/commondir", "../..\n");
    const BACK: (&str, &str) = ("main/.git/worktrees/w/gitdir", "$R/work/.git\n");
    const TO_MAIN: (&str, &str) = ("work/.git", "gitdir: $R/main/.git/worktrees/w\n");

    #[test]
    fn a_folder_is_its_own_unless_it_shares_or_is_a_link() {
        check(&[("work/.git/HEAD", "x")], "Own work/.git work/.git");
        check(&[("work/a", "x")], "nothing");
        check(
            &[MAIN, ("work/.git/HEAD", "x"), ("work/.git/commondir", "$R/main/.git")],
            "Unconfirmed work/.git main/.git",
        );
        check(&[MAIN, ("work/.git", "-> ../main/.git")], "Unconfirmed work/.git work/.git");
    }

    #[test]
    fn a_work_tree_is_listed_by_its_repository() {
        let there = "Worktree main/.git/worktrees/w main/.git/worktrees/w/../..";
        let forged = "Unconfirmed main/.git/worktrees/w main/.git/worktrees/w/../..";
        check(&[MAIN, SHARED, BACK, TO_MAIN], there);
        check(&[MAIN, SHARED, ("main/.git/worktrees/w/gitdir", "../../../../work/.git"), TO_MAIN], there);
        // The repository lists nothing, another work tree, or the folder only by a link.
        check(&[MAIN, SHARED, TO_MAIN], forged);
        check(&[MAIN, SHARED, ("other/.git", "x"), ("main/.git/worktrees/w/gitdir", "$R/other/.git"), TO_MAIN], forged);
        check(
            &[MAIN, SHARED, ("evil", "$R/work/.git"), ("main/.git/worktrees/w/gitdir", "-> $R/evil"), TO_MAIN],
            forged,
        );
        // The pointer names the main repository, or a folder elsewhere that says it shares with it.
        check(&[MAIN, ("work/.git", "gitdir: $R/main/.git")], "Unconfirmed main/.git main/.git");
        check(
            &[
                MAIN,
                ("evil/worktrees/w/commondir", "$R/main/.git"),
                ("evil/worktrees/w/gitdir", "$R/work/.git"),
                ("work/.git", "gitdir: ../evil/worktrees/w"),
            ],
            "Unconfirmed work/../evil/worktrees/w main/.git",
        );
        // The pointer itself is a link.
        check(&[MAIN, SHARED, BACK, ("work/.git", "-> $R/evil"), ("evil", TO_MAIN.1)], forged);
    }

    #[test]
    fn a_submodule_is_named_by_its_configuration() {
        let pointer = ("work/.git", "gitdir: ../.git/modules/m");
        let named = ".git/modules/m";
        check(
            &[(".git/modules/m/config", "[core]\n\tworktree = ../../../work\n"), pointer],
            &format!("Named work/../{named} work/../{named}"),
        );
        for config in ["[core]\n\tworktree = ../../../other\n", "[core]\n\tbare = false\n", "[core"] {
            check(
                &[(".git/modules/m/config", config), pointer],
                &format!("Unconfirmed work/../{named} work/../{named}"),
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_never_answers_leads_nowhere() {
        use rustix::fs::CWD;
        use rustix::fs::FileType;
        use rustix::fs::Mode;
        use rustix::fs::mknodat;

        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join(DOT_GIT);
        mknodat(CWD, &entry, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(DotGit::read(folder.path()), None);
        fs::remove_file(&entry).unwrap();
        fs::create_dir(&entry).unwrap();
        mknodat(CWD, entry.join("commondir"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(DotGit::read(folder.path()).unwrap().tie, Tie::Own);
    }
}
