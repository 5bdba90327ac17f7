//! Instruction files beyond those of the chain: what they import, and those of folders that a tool goes to.
//!
//! Files that a project's files import must be in the project, links followed: a repository of another author does
//! not choose which of the user's files are sent. Files that the user's file imports may be anywhere.
//!
//! Not here: which parts of a text are imports, and which files the model knows already (`pellucid-engine`).

use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::documents::imports;
use pellucid_engine::documents::imports::ImportFault;
use pellucid_engine::documents::imports::ImportLimits;
use pellucid_engine::documents::imports::Imported;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Fate;
use pellucid_files::LocatedFile;

use crate::bounds::InstructionFolders;
use crate::bounds::Refused;
use crate::documents;
use crate::whole_hash::whole_hash;

/// Folders whose instruction files were not written for this project.
const NOT_ENTERED: [&str; 2] = [".git", "node_modules"];

/// A project, as far as its instruction files are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The top folder, links followed.
    pub root: PathBuf,
    /// The folder that is worked in, links followed.
    pub cwd: PathBuf,
    /// Further names of instruction files.
    pub fallback_names: Vec<String>,
    /// How many bytes of a file are read.
    pub bytes_max: usize,
    /// The folders in which its files may be, links followed.
    pub bounds: InstructionFolders,
}

/// Instruction files of folders that a tool goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnTheWay {
    /// The files that were read.
    pub documents: Vec<Document>,
    /// The files that must not be used, with the reason: links out of the project, and texts that were not accepted.
    pub left_out: Vec<Candidate>,
}

impl Surroundings {
    /// The surroundings of a working directory: up to the nearest folder with a `.git` entry, or the directory alone.
    pub fn of(cwd: &Path, fallback_names: &[String], bytes_max: usize, bounds: &InstructionFolders) -> Self {
        let cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        let root = cwd.ancestors().find(|folder| folder.parent().is_some() && folder.join(".git").exists());
        let root = root.unwrap_or(&cwd).to_owned();
        let bounds = bounds.clone().with(&root);
        Self { root, cwd, fallback_names: fallback_names.to_vec(), bytes_max, bounds }
    }

    /// The files that instruction files import, `depth` steps far.
    pub fn imports(&self, own: Option<&Document>, project: &[Document], depth: usize, home: &Path) -> Vec<Imported> {
        if depth == 0 || self.bytes_max == 0 {
            return Vec::new();
        }
        let home = home.to_string_lossy();
        let limits = ImportLimits { depth, home: &home };
        let mut any = |path: &str| self.read(Path::new(path));
        let mut found = imports::follow(own.map_or(&[], std::slice::from_ref), limits, &mut any);
        let mut inside = |path: &str| {
            let found = LocatedFile::open(Path::new(path)).map_err(|error| fault(&error))?;
            if !found.real.starts_with(&self.root) {
                return Err(ImportFault::Outside);
            }
            let document = beginning(found.file, &found.real, self.bytes_max).map_err(|error| fault(&error))?;
            match self.bounds.check_text(&document.path, &document.bytes, document.sha256) {
                Err(Refused::NotAccepted { is_changed }) => Err(ImportFault::NotAccepted { is_changed }),
                _ => Ok(document),
            }
        };
        found.extend(imports::follow(project, limits, &mut inside));
        found
    }

    fn read(&self, path: &Path) -> Result<Document, ImportFault> {
        let file = pellucid_files::open(path).map_err(|error| fault(&error))?;
        beginning(file, path, self.bytes_max).map_err(|error| fault(&error))
    }

    /// The instruction files of the folders that paths lead through, those nearer to the root first. Folders from the
    /// root to the working directory are left out: theirs are in the chain.
    pub fn on_the_way(&self, paths: &[String]) -> OnTheWay {
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in paths {
            let path = Path::new(path);
            let is_entered = path.components().all(|part| NOT_ENTERED.iter().all(|name| part.as_os_str() != *name));
            if !path.starts_with(&self.root) || !is_entered {
                continue;
            }
            let folder = if path.is_dir() { Some(path) } else { path.parent() };
            let inside = folder.into_iter().flat_map(Path::ancestors).take_while(|it| it.starts_with(&self.root));
            let own = inside.filter(|it| !self.cwd.starts_with(it));
            folders.extend(own.map(Path::to_owned));
        }
        folders.sort_by(|a, b| a.components().count().cmp(&b.components().count()).then_with(|| a.cmp(b)));
        folders.dedup();
        let names = documents::names(&self.fallback_names);
        let mut found = OnTheWay::default();
        for folder in folders {
            let Some(file) = names.iter().map(|name| folder.join(name)).find(|file| file.is_file()) else { continue };
            let fate = match self.within(&file) {
                Ok(document) => {
                    found.documents.extend(document);
                    continue;
                }
                Err(Refused::Outside { target }) => Fate::Outside { target: target.to_string_lossy().into_owned() },
                Err(Refused::NotAccepted { is_changed }) => Fate::NotAccepted { is_changed },
                Err(Refused::Io(_)) => continue,
            };
            found.left_out.push(Candidate { path: file.to_string_lossy().into_owned(), fate });
        }
        found
    }

    /// A file that was read before, with its current content.
    pub fn again(&self, path: &Path) -> Option<Document> {
        self.within(path).ok().flatten()
    }

    /// A file of the project, unless it is blank.
    fn within(&self, path: &Path) -> Result<Option<Document>, Refused> {
        let file = self.bounds.open(path, None)?.file;
        let document = beginning(file, path, self.bytes_max)?;
        if String::from_utf8_lossy(&document.bytes).trim().is_empty() {
            return Ok(None);
        }
        self.bounds.check_text(&document.path, &document.bytes, document.sha256)?;
        Ok(Some(document))
    }
}

/// The first bytes of a file.
fn beginning(mut file: File, path: &Path, bytes_max: usize) -> io::Result<Document> {
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.by_ref().take(bytes_max as u64).read_to_end(&mut bytes)?;
    let size = metadata.len().max(bytes.len() as u64);
    let sha256 = whole_hash(&bytes, &mut file, metadata.len());
    Ok(Document { path: path.to_string_lossy().into_owned(), bytes, size, sha256 })
}

fn fault(error: &io::Error) -> ImportFault {
    match error.kind() {
        io::ErrorKind::NotFound => ImportFault::Missing,
        _ => ImportFault::Unreadable { error: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::fixture::Fixture;

    fn surroundings(fixture: &Fixture, cwd: &str) -> Surroundings {
        Surroundings::of(&fixture.path(cwd), &["TEAM.md".to_owned()], 100, &InstructionFolders::default())
    }

    #[track_caller]
    fn check_imports(entries: &str, depth: usize, expected: &Expect) {
        let fixture = Fixture::new(entries);
        let read = |path: &str| {
            let path = fixture.path(path);
            beginning(pellucid_files::open(&path).unwrap(), &path, 100).unwrap()
        };
        let (own, project) = (read("home/AGENTS.md"), [read("w/AGENTS.md")]);
        let found = surroundings(&fixture, "w").imports(Some(&own), &project, depth, &fixture.path("home"));
        let lines: Vec<String> = found
            .iter()
            .map(|it| match &it.outcome {
                Ok(document) => format!("{} {:?}", it.path, String::from_utf8_lossy(&document.bytes)),
                Err(fault) => format!("{} {fault}", it.path),
            })
            .collect();
        expected.assert_eq(&fixture.shown(lines.join("\n")));
    }

    #[test]
    fn a_project_imports_what_is_in_it_and_its_user_what_they_like() {
        check_imports(
            "
            secret.md: S.
            home/AGENTS.md: @../secret.md @~/mine.md
            home/mine.md: M.
            w/.git/
            w/AGENTS.md: @docs/a.md @../secret.md @link.md @docs @~/mine.md
            w/docs/a.md: A. @b.md
            w/docs/b.md: B.
            w/link.md -> ../secret.md
            ",
            1,
            &expect![[r#"
                $/secret.md "S."
                $/home/mine.md "M."
                $/w/docs/a.md "A. @b.md"
                $/w/docs/b.md it is more than 1 imports away
                $/secret.md it is outside of the project
                $/w/link.md it is outside of the project
                $/home/mine.md it is outside of the project"#]],
        );
        check_imports("home/AGENTS.md: @x.md\nw/AGENTS.md: @y.md", 0, &expect![[""]]);
    }

    #[track_caller]
    fn check_way(entries: &str, cwd: &str, paths: &[&str], expected: &Expect) {
        let fixture = Fixture::new(entries);
        let paths: Vec<String> = paths.iter().map(|it| fixture.path(it).to_string_lossy().into_owned()).collect();
        let found = surroundings(&fixture, cwd).on_the_way(&paths);
        let outside = found.left_out.iter().map(|it| match &it.fate {
            Fate::Outside { target } => format!("{} outside: {target}", it.path),
            fate => format!("{} {fate:?}", it.path),
        });
        let lines: Vec<String> = found.documents.iter().map(|it| it.path.clone()).chain(outside).collect();
        expected.assert_eq(&fixture.shown(lines.join("\n")));
    }

    #[test]
    fn folders_on_the_way_have_a_say_and_those_of_the_chain_had_it() {
        check_way(
            "
            AGENTS.md: Above.
            w/.git/
            w/AGENTS.md: Root.
            w/a/AGENTS.md: A.
            w/a/b/TEAM.md: B.
            w/a/b/c/x.rs: x
            w/a/d/AGENTS.md:  \\n
            w/e/AGENTS.override.md: E.
            w/e/AGENTS.md: not this
            w/node_modules/n/AGENTS.md: N.
            w/f/AGENTS.md -> ../../AGENTS.md
            ",
            "w/a",
            &[
                "w/f/x",
                "w/a/b/c/x.rs",
                "w/a/b/new/y.rs",
                "w/a/d/z",
                "w/e",
                "w/node_modules/n/i.js",
                "AGENTS.md",
                "w/AGENTS.md",
            ],
            &expect![[r#"
                $/w/e/AGENTS.override.md
                $/w/a/b/TEAM.md
                $/w/f/AGENTS.md outside: $/AGENTS.md"#]],
        );
    }
    #[test]
    fn texts_that_were_not_accepted_are_left_out_wherever_they_come_from() {
        let fixture = Fixture::new(
            "
            w/.git/
            w/AGENTS.md: @docs/a.md @docs/b.md
            w/docs/a.md: A.
            w/docs/b.md: B.
            w/one/AGENTS.md: One.
            w/two/AGENTS.md: Two.
            ",
        );
        let read = |path: &str| {
            let path = fixture.path(path);
            beginning(pellucid_files::open(&path).unwrap(), &path, 100).unwrap()
        };
        let hash = |document: &Document| document.sha256.unwrap().to_string();
        let accepted = ["w/docs/a.md", "w/one/AGENTS.md"].map(|path| (fixture.path(path), hash(&read(path))));
        let changed = (fixture.path("w/two/AGENTS.md"), hash(&read("w/docs/b.md")));
        let accepted = accepted.into_iter().chain([changed]).collect();
        let bounds = InstructionFolders::default().accepting(Some(accepted));
        let surroundings = Surroundings::of(&fixture.path("w"), &[], 100, &bounds);
        let found = surroundings.imports(None, &[read("w/AGENTS.md")], 1, &fixture.path("home"));
        let outcomes: Vec<bool> = found.iter().map(|it| it.outcome.is_ok()).collect();
        assert_eq!(outcomes, [true, false]);
        assert_eq!(found[1].outcome, Err(ImportFault::NotAccepted { is_changed: false }));
        let paths = ["w/one/x", "w/two/x"].map(|it| fixture.path(it).to_string_lossy().into_owned());
        let way = surroundings.on_the_way(&paths);
        assert_eq!(way.documents.len(), 1);
        assert_eq!(way.left_out[0].fate, Fate::NotAccepted { is_changed: true });
        assert_eq!(surroundings.again(&fixture.path("w/two/AGENTS.md")), None);
    }
}
