//! The content of a commit: its files and their bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use crate::private::Access;
use crate::private::Private;
use crate::run::Ask;
use crate::run::GitError;
use crate::status::path;

/// How long a list of files may be.
const LIST_BYTES_MAX: u64 = 1 << 30;

/// How much is read of blobs at once, and how large one may be.
pub(crate) const GROUP_BYTES: u64 = 64 << 20;
pub(crate) const BLOB_BYTES_MAX: u64 = 2 << 30;

/// How long that may take.
const LIMIT: Duration = Duration::from_secs(300);

/// The kind of an entry in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The entry is a regular file.
    File,
    /// A file that can be run.
    Program,
    /// A symbolic link; its bytes say where it leads.
    Link,
    /// The commit of a submodule.
    Submodule,
}

impl Mode {
    /// The mode in git's notation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "100755" => Some(Self::Program),
            "120000" => Some(Self::Link),
            "160000" => Some(Self::Submodule),
            // Old commits have files with other permissions.
            _ => word.starts_with("100").then_some(Self::File),
        }
    }
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub mode: Mode,
    /// The object with its bytes.
    pub id: String,
    /// The number of bytes of the file.
    pub n_bytes: u64,
}

/// The files of a commit at or below these paths, or all if no path is given, by paths relative to its top. Entries
/// that git itself would not write are left out.
pub(crate) fn files(
    private: &Private<'_>,
    commit: &str,
    paths: &[&Path],
) -> Result<BTreeMap<PathBuf, Listed>, GitError> {
    let words = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--"];
    let mut ask = Ask { limit: LIMIT, n_bytes_max: LIST_BYTES_MAX, ..Ask::new(&words) };
    ask.words.extend(paths.iter().filter(|path| !path.as_os_str().is_empty()).map(Into::into));
    let said = private.bytes(ask, Access::Read, None)?;
    let mut files = BTreeMap::new();
    for row in said.split(|byte| *byte == 0) {
        // Mode, kind, id and size, then the path behind a tab.
        let Some(at) = row.iter().position(|byte| *byte == b'\t') else { continue };
        let about = String::from_utf8_lossy(&row[..at]);
        let mut about = about.split_ascii_whitespace();
        let (Some(mode), _, Some(id)) = (about.next(), about.next(), about.next()) else { continue };
        let n_bytes = about.next().and_then(|size| size.parse().ok()).unwrap_or_default();
        let path = path(&row[at + 1..]);
        if let Some(mode) = Mode::from_word(mode)
            && is_plain(&path)
        {
            files.insert(path, Listed { mode, id: id.to_owned(), n_bytes });
        }
    }
    Ok(files)
}

/// Whether a path stays in the work tree and out of the repository, on every file system.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.components().all(|part| match part {
        std::path::Component::Normal(name) => {
            let name = name.to_string_lossy().to_ascii_lowercase();
            // Characters that some file systems ignore are removed.
            let seen: String = name.chars().filter(char::is_ascii).collect();
            let seen = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
            seen != ".git" && !seen.starts_with("git~")
        }
        _ => false,
    })
}

/// The bytes of blobs, in the order of their ids.
pub(crate) fn blobs(private: &Private<'_>, listed: &[&Listed]) -> Result<Vec<Vec<u8>>, GitError> {
    let n_bytes: u64 = listed.iter().map(|it| it.n_bytes + 256).sum();
    if let Some(large) = listed.iter().find(|it| it.n_bytes > BLOB_BYTES_MAX) {
        let said = format!("the object {} is larger than {} GiB", large.id, BLOB_BYTES_MAX >> 30);
        return Err(GitError::Failed { command: "cat-file".to_owned(), said });
    }
    let input: String = listed.iter().map(|it| format!("{}\n", it.id)).collect();
    let words = ["cat-file", "--batch"];
    let ask = Ask { input: input.as_bytes(), limit: LIMIT, n_bytes_max: n_bytes, ..Ask::new(&words) };
    let said = private.bytes(ask, Access::Read, None)?;
    let broken = |it: &Listed| GitError::Failed {
        command: "cat-file".to_owned(),
        said: format!("the object {} cannot be read", it.id),
    };
    let mut rest = said.as_slice();
    let mut found = Vec::with_capacity(listed.len());
    for it in listed {
        // Id, kind and size, then the bytes, then a newline.
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| broken(it))?;
        let about = String::from_utf8_lossy(&rest[..end]).into_owned();
        let expected = format!("{} blob {}", it.id, it.n_bytes);
        let n_bytes = usize::try_from(it.n_bytes).map_err(|_| broken(it))?;
        rest = &rest[end + 1..];
        if about != expected || rest.len() <= n_bytes {
            return Err(broken(it));
        }
        found.push(rest[..n_bytes].to_vec());
        rest = &rest[n_bytes + 1..];
    }
    Ok(found)
}

/// Groups of files whose bytes fit into memory.
pub(crate) fn groups<T>(files: Vec<(T, Listed)>) -> Vec<Vec<(T, Listed)>> {
    let mut groups: Vec<Vec<(T, Listed)>> = Vec::new();
    let mut n_bytes = u64::MAX;
    for file in files {
        if n_bytes.saturating_add(file.1.n_bytes) > GROUP_BYTES {
            groups.push(Vec::new());
            n_bytes = 0;
        }
        n_bytes += file.1.n_bytes;
        if let Some(group) = groups.last_mut() {
            group.push(file);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_would_not_write_is_not_plain() {
        for path in ["a", "a/b", ".gitignore", "a/.github/x", "git", "..a"] {
            assert!(is_plain(Path::new(path)), "{path}");
        }
        for path in [
            ".git",
            "a/.git/hooks/x",
            ".GIT/config",
            ".git /x",
            ".git./x",
            "git~1/x",
            ".g\u{200c}it/x",
            "../a",
            "/a",
            ".git::$INDEX_ALLOCATION/x",
        ] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }
}
