//! Marks home folders that were made from a capsule.
//!
//! Sessions of a capsule name files of the computer where they ran, and another person may have written every byte of them. So
//! nothing that writes files by the word of a stored session may do so from such a folder. A capsule has no files at the top
//! of the home folder, so it can neither have nor remove the mark.

use std::fs;
use std::io;
use std::path::Path;

/// The file that marks such a home folder.
const MARK: &str = "opened-capsule";

/// Why files are not written for a session of such a home folder.
pub const FOREIGN_PATHS: &str = "this home folder was made by `pellucid capsule open`: its sessions name files of another computer, so none is changed";

/// Marks a home folder as made from the capsule of a session.
///
/// # Errors
/// When the file cannot be written.
pub fn mark(home: &Path, session: &str) -> io::Result<()> {
    let text = format!("from the capsule of session {session}\n");
    pellucid_files::write_private(&home.join(MARK), text.as_bytes())
}

/// Whether a home folder was made from a capsule. A mark that cannot be looked at counts as one.
pub fn is_marked(home: &Path) -> bool {
    match fs::symlink_metadata(home.join(MARK)) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_folder_is_recognised() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_marked(home.path()));
        assert!(!is_marked(&home.path().join("missing")));
        mark(home.path(), "id").unwrap();
        assert!(is_marked(home.path()));
    }
}
