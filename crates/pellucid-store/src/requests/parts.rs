//! Long texts of requests, each kept once under its digest.
//!
//! Instructions and tools are the same in most sessions, so they are files named by their SHA-256
//! that sessions refer to. A part never changes; one whose bytes do not fit its name is damaged.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::Disk;

use crate::name::REQUESTS;
use crate::requests::chain::sha256;
use crate::requests::entry::StoredPiece;
use crate::requests::entry::StoredText;

/// How long a part may be: longer than any request.
const PART_BYTES_MAX: u64 = 1 << 30;

/// From which length on a text is kept by itself.
const PART_BYTES_MIN: usize = 1024;

/// The texts of a home folder.
#[derive(Debug, Clone)]
pub struct PartStore {
    folder: PathBuf,
}

/// Why the text of a part cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The file of the part cannot be read.
    #[error("the part {sha256} cannot be read: {why}")]
    Unreadable {
        /// The digest that names the missing part.
        sha256: String,
        /// The reason, for people.
        why: String,
    },
    /// The file of the part does not exist.
    #[error("the part {sha256} is missing")]
    Missing {
        /// The digest that names the missing part.
        sha256: String,
    },
    /// The part was redacted when the session was exported.
    #[error("the part {sha256} was redacted")]
    Redacted {
        /// The digest that names the missing part.
        sha256: String,
    },
    /// The content has another digest than the file's name.
    #[error("the part {sha256} was changed")]
    Changed {
        /// The digest that names the missing part.
        sha256: String,
    },
}

impl PartStore {
    /// The parts of a home folder.
    pub fn new(home: &Path) -> Self {
        Self { folder: home.join(REQUESTS).join("parts") }
    }

    /// The path of a part.
    pub fn path(&self, sha256: &str) -> PathBuf {
        let folder = sha256.get(..2).unwrap_or("xx");
        self.folder.join(folder).join(sha256)
    }

    /// Keeps a text: here, or by itself if it is long.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, disk: &dyn Disk, part: &str, text: &str) -> io::Result<StoredPiece> {
        let part = part.to_owned();
        if text.len() < PART_BYTES_MIN {
            return Ok(StoredPiece { part, text: StoredText::Here { text: text.to_owned() } });
        }
        let sha256 = sha256(text.as_bytes());
        let path = self.path(&sha256);
        let bytes = text.len() as u64;
        if !fs::metadata(&path).is_ok_and(|metadata| metadata.len() == bytes) {
            write_whole(disk, &path, text.as_bytes())?;
        }
        Ok(StoredPiece { part, text: StoredText::Kept { sha256, bytes } })
    }

    /// The text of a piece.
    ///
    /// # Errors
    /// If the part is missing, or was changed.
    pub fn text(&self, piece: &StoredPiece) -> Result<String, PartError> {
        let (name, bytes) = match &piece.text {
            StoredText::Here { text } => return Ok(text.clone()),
            StoredText::Kept { sha256, bytes } => (sha256, *bytes),
        };
        let unreadable = |why: String| PartError::Unreadable { sha256: name.clone(), why };
        let text = match pellucid_files::read(&self.path(name), PART_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(PartError::Missing { sha256: name.clone() });
            }
            Err(error) => return Err(unreadable(error.to_string())),
        };
        // Bytes that are no text were changed.
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.len() as u64 == bytes && sha256(text.as_bytes()) == *name {
            return Ok(text);
        }
        let sha256 = name.clone();
        let is_redacted = text.contains(crate::redact::MARK);
        Err(if is_redacted { PartError::Redacted { sha256 } } else { PartError::Changed { sha256 } })
    }
}

/// Writes a file that is either there whole or not at all.
fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    pellucid_files::make_private_folder(path.parent().unwrap_or(path))?;
    disk.replace(path, bytes)
}

#[cfg(test)]
mod tests {
    use pellucid_files::RealDisk;
    use pellucid_testkit::Workspace;

    use super::*;

    #[test]
    fn long_texts_are_kept_once_and_changes_are_seen() {
        let home = Workspace::empty();
        let parts = PartStore::new(home.root());
        let long = "x".repeat(PART_BYTES_MIN);
        let short = parts.keep(&RealDisk, "a", "short").unwrap();
        assert_eq!(short.text, StoredText::Here { text: "short".to_owned() });
        let kept = parts.keep(&RealDisk, "base", &long).unwrap();
        assert_eq!(parts.keep(&RealDisk, "base", &long).unwrap(), kept);
        assert_eq!(parts.text(&kept).as_deref(), Ok(long.as_str()));
        let StoredText::Kept { sha256, .. } = &kept.text else { panic!("it is long") };
        fs::write(parts.path(sha256), "changed").unwrap();
        assert_eq!(parts.text(&kept), Err(PartError::Changed { sha256: sha256.clone() }));
        fs::write(parts.path(sha256), [0xff; PART_BYTES_MIN]).unwrap();
        assert_eq!(parts.text(&kept), Err(PartError::Changed { sha256: sha256.clone() }));
        fs::remove_file(parts.path(sha256)).unwrap();
        assert_eq!(parts.text(&kept), Err(PartError::Missing { sha256: sha256.clone() }));
        assert_eq!(parts.keep(&RealDisk, "base", &long).unwrap(), kept, "a damaged part is written again");
        assert_eq!(parts.text(&kept).as_deref(), Ok(long.as_str()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_part_that_is_blanked_or_no_file_is_named_as_what_it_is() {
        let home = Workspace::empty();
        let parts = PartStore::new(home.root());
        let StoredText::Kept { sha256, bytes } = parts.keep(&RealDisk, "a", &"x".repeat(5000)).unwrap().text else {
            panic!("it is long")
        };
        let piece = StoredPiece { part: String::new(), text: StoredText::Kept { sha256: sha256.clone(), bytes } };
        let path = parts.path(&sha256);
        let said = |text: Result<String, PartError>| text.unwrap_err().to_string().replace(&sha256, "X");
        fs::write(&path, "x [redacted:key] x").unwrap();
        assert_eq!(said(parts.text(&piece)), "the part X was redacted");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(said(parts.text(&piece)), "the part X cannot be read: Is a directory (os error 21)");
        fs::remove_dir(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(said(parts.text(&piece)), "the part X cannot be read: it is not a regular file");
    }

    #[test]
    fn a_name_that_is_no_digest_leads_to_nothing() {
        let home = Workspace::empty();
        let parts = PartStore::new(home.root());
        for name in ["", "a", "é", "../../../etc/passwd"] {
            let text = StoredText::Kept { sha256: name.to_owned(), bytes: 1 };
            assert!(parts.text(&StoredPiece { part: String::new(), text }).is_err(), "{name}");
        }
    }

    #[test]
    fn a_text_is_kept_by_itself_from_its_length_in_bytes_on() {
        let home = Workspace::empty();
        let parts = PartStore::new(home.root());
        for (text, is_kept) in [("x".repeat(PART_BYTES_MIN - 1), false), ("é".repeat(PART_BYTES_MIN / 2), true)] {
            let piece = parts.keep(&RealDisk, "p", &text).unwrap();
            assert_eq!(matches!(piece.text, StoredText::Kept { .. }), is_kept);
            assert_eq!((piece.text.len(), parts.text(&piece)), (text.len() as u64, Ok(text)));
        }
    }
}
