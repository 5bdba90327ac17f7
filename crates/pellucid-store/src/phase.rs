//! The phase of work that a session or a workspace is in: one small file for each.
//!
//! Each file has one value and is replaced as a whole, so commands and clients can set a phase while a session runs, and
//! the last one counts. What a phase means is the pack's business.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::requests::chain::sha256;
use crate::side;

/// The folder for workspaces in the home folder.
const WORKSPACES: &str = "workspace_state";

/// How many digits of a path's hash name the file of a workspace.
const HASH_DIGITS: usize = 16;

/// How long such a file may be.
const BYTES_MAX: u64 = 64 << 10;

/// Where the phase of a session or a workspace is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseFile {
    path: PathBuf,
    workspace: Option<String>,
}

/// What a file has.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The real path of the workspace, in the file of a workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    phase: String,
}

impl PhaseFile {
    /// The file of the session with this id.
    pub fn of_session(home: &Path, id: &str) -> Self {
        Self { path: side::phase_path(home, id), workspace: None }
    }

    /// The file of a workspace, by its real path.
    ///
    /// # Errors
    /// The folder does not exist or cannot be read.
    pub fn of_workspace(home: &Path, folder: &Path) -> io::Result<Self> {
        let real = fs::canonicalize(folder)?;
        let hash = sha256(real.as_os_str().as_encoded_bytes());
        let name = hash.get(..HASH_DIGITS).unwrap_or(&hash);
        let path = home.join(WORKSPACES).join(format!("{name}.json"));
        Ok(Self { path, workspace: Some(real.to_string_lossy().into_owned()) })
    }

    /// The path of the file, whether it exists or not.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The real path of the workspace, if the file is that of a workspace.
    pub fn workspace(&self) -> Option<&str> {
        self.workspace.as_deref()
    }

    /// The phase; absent if none is set.
    ///
    /// # Errors
    /// The file exists and cannot be read, or is not what [`PhaseFile::set`] writes.
    pub fn get(&self) -> io::Result<Option<String>> {
        let bytes = match pellucid_files::read(&self.path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(self.about(&error)),
        };
        let kept: Kept = serde_json::from_slice(&bytes).map_err(|error| self.about(&error.into()))?;
        Ok(Some(kept.phase))
    }

    /// Sets the phase.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set(&self, phase: &str) -> io::Result<()> {
        let kept = Kept { workspace: self.workspace.clone(), phase: phase.to_owned() };
        let text = serde_json::to_vec(&kept)?;
        let folder = self.path.parent().map_or(Ok(()), pellucid_files::make_private_folder);
        folder.and_then(|()| pellucid_files::write_private(&self.path, &text)).map_err(|error| self.about(&error))
    }

    /// Sets no phase. Returns whether one was set.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn clear(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(self.about(&error)),
        }
    }

    fn about(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

/// Whether there is no such file, or a file in place of its folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_kept_until_it_is_cleared() {
        let home = tempfile::tempdir().unwrap();
        let files =
            [PhaseFile::of_session(home.path(), "a"), PhaseFile::of_workspace(home.path(), home.path()).unwrap()];
        for file in &files {
            assert_eq!(file.get().unwrap(), None);
            assert!(!file.clear().unwrap());
            file.set("review").unwrap();
            file.set("build").unwrap();
            assert_eq!(file.get().unwrap().as_deref(), Some("build"));
            let others: Vec<_> = files.iter().filter(|other| *other != file).collect();
            assert!(others.iter().all(|other| other.get().unwrap().is_none()), "each has its own file");
            assert!(file.clear().unwrap());
            assert_eq!(file.get().unwrap(), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_workspace_is_known_by_its_real_path_and_its_file_is_private() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(work.path(), &link).unwrap();
        let file = PhaseFile::of_workspace(home.path(), work.path()).unwrap();
        assert_eq!(PhaseFile::of_workspace(home.path(), &link).unwrap(), file);
        file.set("review").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file.path()), mode(file.path().parent().unwrap())), (0o600, 0o700));
        let gone = PhaseFile::of_workspace(home.path(), &home.path().join("gone"));
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = PhaseFile::of_session(home.path(), "a");
        file.set("review").unwrap();
        fs::write(file.path(), "review").unwrap();
        let error = file.get().unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: expected value", file.path().display())), "{error}");
        file.set("build").unwrap();
        assert_eq!(file.get().unwrap().as_deref(), Some("build"), "a broken file is replaced");
    }
}
