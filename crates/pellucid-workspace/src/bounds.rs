//! The folders in which an instruction file of a project may be, all links followed.
//!
//! A repository of another author must not choose which of the user's files are sent to a model: a link to a key or a
//! login would do. So a file is opened first, and then its real path is checked; the open file is the one that is
//! read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::digest::Digest;
use pellucid_files::LocatedFile;

/// Folders of the user's that hold configuration of agents, from their own folder.
const OWN_FOLDERS: [&str; 4] = [".codex", ".pellucid", ".agents", ".config"];

/// Folders that instruction files may be in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionFolders {
    /// The project's, links followed.
    project: Vec<PathBuf>,
    /// The user's folders, links followed. Only Markdown files in them count: logins and keys are there too.
    own: Vec<PathBuf>,
    /// The texts that the user accepted, by path; absent if the user accepted none of the project, and all count.
    accepted: Option<AcceptedTexts>,
}

/// The SHA-256 of instruction files that a user accepted, by path.
pub type AcceptedTexts = BTreeMap<PathBuf, String>;

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The file is outside of the bounds.
    Outside {
        /// The path with all links resolved.
        target: PathBuf,
    },
    /// The user accepted instruction files of the project, and not this text.
    NotAccepted {
        /// Whether the user accepted another text of the file.
        is_changed: bool,
    },
    /// The file cannot be opened.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl InstructionFolders {
    /// The bounds of a project with this top folder, for a user with this home folder of the program and this
    /// personal folder.
    pub fn new(project: &Path, home: &Path, user_home: Option<&Path>) -> Self {
        let own = user_home.into_iter().flat_map(|user| OWN_FOLDERS.map(|name| user.join(name)));
        let own = own.chain([home.to_owned()]).filter_map(|folder| fs::canonicalize(folder).ok());
        Self { project: Vec::new(), own: own.collect(), accepted: None }.with(project)
    }

    /// With a further folder of the project.
    #[must_use]
    pub fn with(mut self, folder: &Path) -> Self {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        // The root of the file system is no project.
        if real.parent().is_some() && !self.project.contains(&real) {
            self.project.push(real);
        }
        self
    }

    /// With the texts that count, all others being left out; absent if all count.
    #[must_use]
    pub fn accepting(self, accepted: Option<AcceptedTexts>) -> Self {
        Self { accepted, ..self }
    }

    /// Whether a text may be used that was read from a path of the project.
    pub(crate) fn check_text(&self, path: &str, bytes: &[u8], sha256: Option<Digest>) -> Result<(), Refused> {
        let Some(accepted) = &self.accepted else { return Ok(()) };
        // As reports name it: of the whole file, or of what was read of one that is too long.
        let hash = sha256.unwrap_or_else(|| Digest::of([bytes])).to_string();
        match accepted.get(Path::new(path)) {
            Some(known) if *known == hash => Ok(()),
            known => Err(Refused::NotAccepted { is_changed: known.is_some() }),
        }
    }

    /// Whether a file may be at this real path.
    fn allow(&self, real: &Path) -> bool {
        let is_markdown = real.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"));
        self.project.iter().any(|folder| real.starts_with(folder))
            || (is_markdown && self.own.iter().any(|folder| real.starts_with(folder)))
    }

    /// Opens a file within the bounds, and returns its real path. `expected` is that path if nothing was exchanged,
    /// for a file that was not a link a moment ago.
    pub(crate) fn open(&self, path: &Path, expected: Option<&Path>) -> Result<LocatedFile, Refused> {
        let found = match expected {
            Some(expected) => LocatedFile::open_expected(path, expected)?,
            None => LocatedFile::open(path)?,
        };
        if self.allow(&found.real) { Ok(found) } else { Err(Refused::Outside { target: found.real }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[track_caller]
    fn check_open(path: &str, expected: &str) {
        let fixture = Fixture::new(
            "
            secret: S.
            notes.md: N.
            w/in.md: I.
            w/a/deep.md: D.
            w/out -> ../secret
            w/chain -> link
            w/link -> ../notes.md
            w/inside -> a/deep.md
            w/own -> ../user/.codex/AGENTS.md
            w/login -> ../user/.codex/auth.json
            w/folder -> ../elsewhere
            elsewhere/x.md: X.
            user/.codex/AGENTS.md: U.
            user/.codex/auth.json: {}
            ",
        );
        let bounds = InstructionFolders::new(&fixture.path("w"), &fixture.path("home"), Some(&fixture.path("user")));
        let path = fixture.path(path);
        for wanted in [None, Some(path.as_path())] {
            let found = match bounds.open(&path, wanted) {
                Ok(found) => format!("{}", found.real.display()),
                Err(Refused::Outside { target }) => format!("outside: {}", target.display()),
                Err(Refused::NotAccepted { .. }) => "not accepted".to_owned(),
                Err(Refused::Io(error)) => format!("{:?}", error.kind()),
            };
            assert_eq!(fixture.shown(found), expected, "{}", path.display());
        }
    }

    #[test]
    fn files_lie_in_the_project_or_are_texts_of_the_user() {
        check_open("w/in.md", "$/w/in.md");
        check_open("w/inside", "$/w/a/deep.md");
        check_open("w/own", "$/user/.codex/AGENTS.md");
        check_open("w/login", "outside: $/user/.codex/auth.json");
        check_open("w/out", "outside: $/secret");
        check_open("w/chain", "outside: $/notes.md");
        check_open("w/folder/x.md", "outside: $/elsewhere/x.md");
        check_open("w/../secret", "outside: $/secret");
        check_open("w/none", "NotFound");
    }
}
