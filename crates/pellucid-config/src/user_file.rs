//! Writes a configuration file: as a whole or not at all, one writer at a time.
//!
//! Not here: what is written ([`crate::edit`]), and whether it is valid ([`crate::verify`]).

use std::fs;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use crate::files;

/// Why a file was not changed.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserFileError {
    /// The file exists and cannot be read.
    #[error("failed to read {path}: {source}", path = .path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file cannot be written.
    #[error("failed to write {path}: {source}", path = .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Whether a file was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The file has a new text.
    Written,
    /// The file is unchanged, because the change had no effect.
    Unchanged,
}

/// Replaces the text of a file by one made from it; a missing file has an empty text.
///
/// The new text replaces the old one in one step, and only its owner can read it. If the path is a link, the link stays
/// and its target is replaced. Other processes of this program that write in the same folder wait.
///
/// # Errors
/// When the change fails, and when the file cannot be read or written. Then the file is unchanged.
pub fn rewrite<E: From<UserFileError>>(
    path: &Path,
    change: impl FnOnce(&str) -> Result<String, E>,
) -> Result<WriteOutcome, E> {
    let write_error = |source| UserFileError::Write { path: path.to_owned(), source };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    pellucid_files::make_private_folder(folder).map_err(write_error)?;
    let _lock = lock(folder);
    let old = match files::read_text(&target) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(UserFileError::Read { path: path.to_owned(), source }.into()),
    };
    let new = change(&old)?;
    if new == old {
        return Ok(WriteOutcome::Unchanged);
    }
    replace(&target, folder, &new).map_err(write_error)?;
    Ok(WriteOutcome::Written)
}

fn replace(target: &Path, folder: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".config-").suffix(".tmp").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

/// Locks a folder for as long as the value lives. On systems without such locks, the last writer wins.
fn lock(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn append(path: &Path, line: &str) -> Result<WriteOutcome, UserFileError> {
        rewrite(path, |text| Ok(format!("{text}{line}\n")))
    }

    #[test]
    fn a_file_is_made_with_its_folder_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home/config.toml");
        assert_eq!(append(&path, "a = 1").unwrap(), WriteOutcome::Written);
        assert_eq!(fs::read_to_string(&path).unwrap(), "a = 1\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_written_where_nothing_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let outcome = rewrite(&path, |text| Ok::<_, UserFileError>(text.to_owned())).unwrap();
        assert_eq!((outcome, path.exists()), (WriteOutcome::Unchanged, false));
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("config.toml"), folder.path().join("real/c.toml"));
        fs::create_dir(target.parent().unwrap()).unwrap();
        fs::write(&target, "a = 1\n").unwrap();
        symlink(&target, &path).unwrap();
        append(&path, "b = 2").unwrap();
        assert!(path.is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "a = 1\nb = 2\n");
    }

    #[test]
    fn writers_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || (0..10).for_each(|_| assert!(append(path, &writer.to_string()).is_ok())));
            }
        });
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 40);
    }

    #[test]
    fn a_failed_change_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "a = 1\n").unwrap();
        let failed: Result<_, UserFileError> =
            rewrite(&path, |_| Err(UserFileError::Write { path: path.clone(), source: io::ErrorKind::Other.into() }));
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a = 1\n");
    }
}
