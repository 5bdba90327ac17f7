//! Names of folders whose content runs later, without a sandbox: a repository's hooks and configuration, an agent's
//! settings, rules and skills.
//!
//! Not here: what is at a path. Names are compared without regard to case, because a file system may treat `.Git` and
//! `.git` as one.

use std::path::Path;

/// Folders with the settings of agents.
pub const AGENT_FOLDERS: [&str; 3] = [".agents", ".codex", ".pellucid"];

/// A git repository: a folder, or a file that names one.
pub const GIT: &str = ".git";

/// Whether git repositories may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitAccess {
    /// Repositories may be written like anything else.
    Writable,
    /// Neither the content of a repository nor a new repository may be written.
    Protected,
}

impl GitAccess {
    /// Whether this allows writing a path, given relative to a writable folder.
    pub fn lets_write(self, below: &Path) -> bool {
        match self {
            Self::Writable => true,
            Self::Protected => !has_git(below),
        }
    }
}

/// Whether a path is the folder or below it.
pub fn is_at_or_below(path: &Path, folder: &Path) -> bool {
    let mut parts = path.components();
    folder
        .components()
        .all(|expected| parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(expected.as_os_str())))
}

fn has_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(GIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_in_whatever_case() {
        let folder = Path::new("/w/.codex");
        for (path, expected) in [
            ("/w/.codex", true),
            ("/w/.Codex/rules/x", true),
            ("/W/.CODEX/", true),
            ("/w/.codex2", false),
            ("/w", false),
            ("/w/a/.codex", false),
        ] {
            assert_eq!(is_at_or_below(Path::new(path), folder), expected, "{path}");
        }
    }

    #[test]
    fn the_name_of_a_repository_is_a_whole_part() {
        for (path, expected) in
            [(".git", true), ("a/.GIT/config", true), ("a/.git", true), (".gitignore", false), ("a.git/b", false)]
        {
            assert_eq!(GitAccess::Protected.lets_write(Path::new(path)), !expected, "{path}");
            assert!(GitAccess::Writable.lets_write(Path::new(path)));
        }
    }
}
