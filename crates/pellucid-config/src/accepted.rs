//! The accepted values of project files, and the accepted instruction files of projects: a digest for each file, kept in
//! the home folder.
//!
//! Not here: which values need acceptance ([`crate::guard`]), and showing them to a person.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use toml_edit::DocumentMut;

use crate::guard;
use crate::guard::Acceptance;
use crate::guard::Guarded;
use crate::user_file;
use crate::user_file::UserFileError;
use crate::value::Table;

/// The name of the file in the home folder.
pub const FILE_NAME: &str = "accepted.toml";

/// The first line of the file.
const HEAD: &str = "# Configuration of projects that was shown and accepted: `pellucid trust list`.\n";

/// The name of the table in the file.
const TABLE: &str = "accepted";

/// The name of the table with instruction files.
const INSTRUCTIONS: &str = "instructions";

/// Why the file of accepted values cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    /// The file exists and cannot be read.
    #[error("failed to read {path}: {source}", path = .path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not what this program writes.
    #[error("{path} is damaged: {detail}; remove it and accept again what should count", path = .path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with the text.
        detail: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] UserFileError),
    /// The path of a project file is not Unicode, so it cannot be written.
    #[error("{path} is not UTF-8, so it cannot be accepted", path = .0.display())]
    Name(PathBuf),
}

/// The accepted digests, by project file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    files: BTreeMap<PathBuf, String>,
    /// The SHA-256 of instruction files.
    instructions: BTreeMap<PathBuf, String>,
}

impl Accepted {
    /// Reads the file. Without a file nothing is accepted.
    ///
    /// # Errors
    /// When the file exists and cannot be used. Then no value counts as accepted.
    pub fn read(home: &Path) -> Result<Self, AcceptedError> {
        let path = home.join(FILE_NAME);
        match pellucid_files::read_text(&path, pellucid_files::TEXT_BYTES_MAX) {
            Ok(text) => Self::parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(AcceptedError::Unreadable { path, source }),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, AcceptedError> {
        let damaged = |detail: String| AcceptedError::Damaged { path: path.to_owned(), detail };
        let document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| damaged(error.message().to_owned()))?;
        let file = |(file, digest): (&str, &toml_edit::Item)| {
            let digest = digest.as_str().ok_or_else(|| damaged(format!("`{file}` has no text")))?;
            Ok::<_, AcceptedError>((PathBuf::from(file), digest.to_owned()))
        };
        let files = |name: &str| {
            let Some(table) = document.get(name) else { return Ok(BTreeMap::new()) };
            let table = table.as_table_like().ok_or_else(|| damaged(format!("`{name}` is not a table")))?;
            table.iter().map(file).collect::<Result<_, _>>()
        };
        Ok(Self { files: files(TABLE)?, instructions: files(INSTRUCTIONS)? })
    }

    /// The accepted instruction files of a project, if any was accepted there. Then only these count.
    pub fn texts_of(&self, project: &Path) -> Option<BTreeMap<PathBuf, String>> {
        let real = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let is_here = |file: &Path| file.starts_with(project) || file.starts_with(&real);
        let texts = self.instructions.iter().filter(|(file, _)| is_here(file));
        let texts: BTreeMap<PathBuf, String> = texts.map(|(file, hash)| (file.clone(), hash.clone())).collect();
        (!texts.is_empty()).then_some(texts)
    }

    /// The accepted instruction files and their SHA-256, by path.
    pub fn instructions(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.instructions.iter().map(|(file, hash)| (file.as_path(), hash.as_str()))
    }

    /// Whether values with this digest are accepted for a project file.
    pub fn standing(&self, file: &Path, digest: &str) -> Acceptance {
        match self.files.get(file) {
            Some(accepted) if accepted == digest => Acceptance::Accepted,
            Some(_) => Acceptance::Changed,
            None => Acceptance::New,
        }
    }

    /// The project files and their accepted digests, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(file, digest)| (file.as_path(), digest.as_str()))
    }
}

/// Whether an accepted project file still has the same values; `None` if the file is gone, cannot be read or has no
/// such values any more.
pub fn standing_now(file: &Path, digest: &str) -> Option<Acceptance> {
    let text = pellucid_files::read_text(file, pellucid_files::TEXT_BYTES_MAX).ok()?;
    let guarded = guard::parts(&Table::parse(&text, 0).ok()?).guarded;
    if guarded.is_empty() {
        return None;
    }
    Some(if guard::digest(&guarded) == digest { Acceptance::Accepted } else { Acceptance::Changed })
}

/// Accepts these values, in place of what was accepted of their files before.
///
/// # Errors
/// When the file in the home folder cannot be used or written.
pub fn accept(home: &Path, accepted: &[&Guarded]) -> Result<(), AcceptedError> {
    change(home, |known| {
        for guarded in accepted {
            if guarded.file.to_str().is_none() {
                return Err(AcceptedError::Name(guarded.file.clone()));
            }
            known.files.insert(guarded.file.clone(), guarded.digest.clone());
        }
        Ok(())
    })
}

/// Accepts these instruction files with their SHA-256, beside those that were accepted before.
///
/// # Errors
/// When the file in the home folder cannot be used or written.
pub fn accept_instructions(home: &Path, files: &[(String, String)]) -> Result<(), AcceptedError> {
    change(home, |known| {
        known.instructions.extend(files.iter().map(|(file, hash)| (PathBuf::from(file), hash.clone())));
        Ok(())
    })
}

/// Withdraws the acceptance of a project file, or of all project files in a folder, and returns their paths.
///
/// # Errors
/// When the file in the home folder cannot be used or written.
pub fn revoke(home: &Path, path: &Path) -> Result<Vec<PathBuf>, AcceptedError> {
    let mut revoked = Vec::new();
    change(home, |known| {
        for files in [&mut known.files, &mut known.instructions] {
            revoked.extend(files.keys().filter(|file| file.starts_with(path)).cloned());
            files.retain(|file, _| !file.starts_with(path));
        }
        Ok(())
    })?;
    Ok(revoked)
}

fn change(home: &Path, with: impl FnOnce(&mut Accepted) -> Result<(), AcceptedError>) -> Result<(), AcceptedError> {
    let path = home.join(FILE_NAME);
    user_file::rewrite(&path, |old| {
        let mut accepted = Accepted::parse(&path, old)?;
        with(&mut accepted)?;
        if old.is_empty() && accepted == Accepted::default() {
            return Ok(String::new());
        }
        let mut document = DocumentMut::new();
        for (name, files) in [(TABLE, &accepted.files), (INSTRUCTIONS, &accepted.instructions)] {
            let mut table = toml_edit::Table::new();
            for (file, digest) in files {
                table.insert(&file.to_string_lossy(), toml_edit::value(digest.as_str()));
            }
            if name == TABLE || !files.is_empty() {
                document.insert(name, toml_edit::Item::Table(table));
            }
        }
        Ok::<_, AcceptedError>(format!("{HEAD}\n{document}"))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn guarded(file: &str, digest: &str) -> Guarded {
        Guarded { file: file.into(), values: Vec::new(), digest: digest.to_owned(), standing: Acceptance::New }
    }

    #[test]
    fn what_was_accepted_is_kept_for_its_owner_until_it_is_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        assert_eq!(Accepted::read(home).unwrap(), Accepted::default());
        let odd = "/p/a \"b\"\u{1b}\n.\u{7f}/.codex/config.toml";
        accept(home, &[&guarded("/p/.codex/config.toml", "1"), &guarded(odd, "2")]).unwrap();
        accept(home, &[&guarded("/q/.codex/config.toml", "3")]).unwrap();
        accept(home, &[&guarded("/q/.codex/config.toml", "4")]).unwrap();
        let known = Accepted::read(home).unwrap();
        assert_eq!(known.standing(Path::new(odd), "2"), Acceptance::Accepted);
        assert_eq!(known.standing(Path::new("/q/.codex/config.toml"), "3"), Acceptance::Changed);
        assert_eq!(known.standing(Path::new("/r"), "3"), Acceptance::New);
        assert_eq!(home.join(FILE_NAME).metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(revoke(home, Path::new("/p")).unwrap().len(), 2);
        assert_eq!(revoke(home, Path::new("/p")).unwrap().len(), 0);
        assert_eq!(Accepted::read(home).unwrap().iter().count(), 1);
    }

    #[test]
    fn instruction_files_are_accepted_by_project() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let file = |path: &str, hash: &str| (path.to_owned(), hash.to_owned());
        accept(home, &[&guarded("/p/.codex/config.toml", "1")]).unwrap();
        accept_instructions(home, &[file("/p/AGENTS.md", "a"), file("/pq/AGENTS.md", "b")]).unwrap();
        accept_instructions(home, &[file("/p/x/AGENTS.md", "c"), file("/p/AGENTS.md", "d")]).unwrap();
        let known = Accepted::read(home).unwrap();
        let texts = |project: &str| known.texts_of(Path::new(project)).map(|it| it.into_values().collect::<Vec<_>>());
        assert_eq!(texts("/p"), Some(vec!["d".to_owned(), "c".to_owned()]));
        assert_eq!((texts("/pq").unwrap().len(), texts("/q")), (1, None));
        assert_eq!((known.iter().count(), known.instructions().count()), (1, 3));
        assert_eq!(revoke(home, Path::new("/p/x")).unwrap(), [PathBuf::from("/p/x/AGENTS.md")]);
        assert_eq!(revoke(home, Path::new("/p")).unwrap().len(), 2);
    }

    #[test]
    fn a_damaged_file_accepts_nothing() {
        let home = tempfile::tempdir().unwrap();
        for text in ["accepted = 1", "[accepted]\n\"/p\" = 1", "nonsense", "instructions = 1"] {
            std::fs::write(home.path().join(FILE_NAME), text).unwrap();
            let error = Accepted::read(home.path()).unwrap_err().to_string();
            assert!(error.contains("is damaged"), "{error}");
            assert!(accept(home.path(), &[&guarded("/p", "1")]).is_err());
        }
    }
}
