//! Texts that go before the user's input: their paths, and their content when they were read last.
//!
//! A file is read again only when the file system says that it may be another: where the rules of
//! the variant ask no more than its time, a change that keeps the time is not seen, as in the
//! program that this comes from.
//!
//! Not here: when the texts are said (`pellucid_engine::reinject`).

mod ads_state;

use std::fs;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_engine::reinject::files::FoundFile;
use pellucid_engine::reinject::files::HashedText;
use pellucid_engine::reinject::files::InjectionInput;
use pellucid_engine::reinject::files::StandingSkill;
use pellucid_engine::reinject::settings::Variant;
use pellucid_engine::skills::front_matter;

pub use ads_state::state_folder;

/// At most this many folders above the start are searched for a repository.
const PARENTS_MAX: usize = 9;

/// A file that was written this shortly before it was read is read again next time, because a
/// second write within one tick of the file system's clock leaves no trace.
const UNSETTLED: Duration = Duration::from_secs(2);

/// The sources of the texts.
#[derive(Debug, Clone)]
pub struct StandingSources {
    /// Which files exist, and how closely they are watched.
    pub variant: Variant,
    /// The source of the product's instructions.
    pub instructions: Instructions,
    /// The rules, from the workspace's root, in the variant `design`.
    pub rules: Option<String>,
    /// The state folder of the variant `current`; `.ads` of the workspace if absent.
    pub ads_state: Option<PathBuf>,
    /// The time, in the form of a new workspace's file.
    pub now: fn() -> String,
}

/// The source of the product's instructions.
#[derive(Debug, Clone)]
pub enum Instructions {
    /// The product has no instructions.
    None,
    /// A text that is always there.
    Text(HashedText),
    /// A file of the product's own folder.
    File(PathBuf),
}

/// The texts of a workspace, with what was read before.
#[derive(Debug, Clone)]
pub struct StandingFiles {
    sources: StandingSources,
    workspace: PathBuf,
    cached: Vec<Cached>,
    n_reads: u64,
}

#[derive(Debug, Clone)]
struct Cached {
    path: PathBuf,
    modified: Option<SystemTime>,
    size: u64,
    is_settled: bool,
    text: HashedText,
}

/// The content of a file.
enum Read {
    Text(HashedText),
    Missing,
    Unreadable(io::Error),
    Corrupt,
}

impl StandingFiles {
    /// The texts of the workspace that a folder belongs to.
    pub fn new(sources: StandingSources, start: &Path) -> Self {
        let workspace = workspace(&sources, start);
        Self { sources, workspace, cached: Vec::new(), n_reads: 0 }
    }

    /// The folder of the workspace.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// How many files have been opened so far.
    pub fn n_reads(&self) -> u64 {
        self.n_reads
    }

    /// Changes to the workspace of another folder; returns whether it is another one.
    pub fn set_workspace(&mut self, start: &Path) -> bool {
        let workspace = workspace(&self.sources, start);
        let is_other = workspace != self.workspace;
        if is_other {
            self.workspace = workspace;
            self.cached.clear();
        }
        is_other
    }

    /// Reads the current texts.
    pub fn read(&mut self) -> InjectionInput {
        match self.sources.variant {
            Variant::Design => self.design(),
            Variant::Initial => self.initial(),
            Variant::Current => self.current(),
        }
    }

    fn design(&mut self) -> InjectionInput {
        let instructions = match self.sources.instructions.clone() {
            Instructions::None => FoundFile::NotWanted,
            Instructions::Text(text) => FoundFile::Text(text),
            Instructions::File(path) => self.found(&path),
        };
        let rules = match &self.sources.rules {
            Some(rules) => self.found(&self.workspace.join(rules)),
            None => FoundFile::NotWanted,
        };
        InjectionInput { instructions, rules, ..InjectionInput::default() }
    }

    fn initial(&mut self) -> InjectionInput {
        let folder = self.workspace.join(".ads");
        let instructions = self.found(&folder.join("templates/instructions.md"));
        if instructions.text().is_none() {
            return InjectionInput { instructions, ..InjectionInput::default() };
        }
        InjectionInput { instructions, rules: self.rules_of(&folder), ..InjectionInput::default() }
    }

    fn current(&mut self) -> InjectionInput {
        let ads = self.sources.ads_state.clone().unwrap_or_else(|| self.workspace.join(".ads"));
        let state = state_folder(&ads, &self.workspace);
        let is_ready = ads_state::prepare(&self.workspace, &state, self.sources.now);
        let own = state.join("templates/instructions.md");
        let (instructions, instructions_wanted) = match self.found(&own) {
            FoundFile::Text(text) => (FoundFile::Text(text), None),
            _ => {
                let stand_in = match self.sources.instructions.clone() {
                    Instructions::None => None,
                    Instructions::Text(text) => Some(text),
                    Instructions::File(path) => self.found(&path).text().cloned(),
                };
                let path = shown(&own);
                match stand_in {
                    Some(text) => (FoundFile::Text(text), Some(path)),
                    None => (FoundFile::Missing { path }, None),
                }
            }
        };
        let rules = self.rules_of(&state);
        let soul = self.found(&state.join("soul.md")).text().cloned();
        let (skills, unusable_skills) = skills(&ads.join(".agent/skills"));
        let uninitialised = (!is_ready).then(|| shown(&self.workspace));
        InjectionInput { instructions, instructions_wanted, rules, soul, skills, uninitialised, unusable_skills }
    }

    /// `rules.md` of a folder, or the one among its templates. Whatever cannot be read is missing.
    fn rules_of(&mut self, folder: &Path) -> FoundFile {
        let own = folder.join("rules.md");
        for path in [own.clone(), folder.join("templates/rules.md")] {
            if let found @ FoundFile::Text(_) = self.found(&path) {
                return found;
            }
        }
        FoundFile::Missing { path: shown(&own) }
    }

    fn found(&mut self, path: &Path) -> FoundFile {
        let at = shown(path);
        match self.read_file(path) {
            Read::Text(text) => FoundFile::Text(text),
            Read::Missing => FoundFile::Missing { path: at },
            Read::Unreadable(error) => FoundFile::Unreadable { path: at, error: error.to_string() },
            Read::Corrupt => FoundFile::Corrupt { path: at },
        }
    }

    fn read_file(&mut self, path: &Path) -> Read {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.cached.retain(|cached| cached.path != path);
                return Read::Missing;
            }
            Err(error) => return Read::Unreadable(error),
        };
        let is_strict = self.sources.variant == Variant::Design;
        let known = self.cached.iter().find(|cached| cached.path == path);
        if let Some(cached) = known.filter(|cached| cached.holds(&metadata, is_strict)) {
            return Read::Text(cached.text.clone());
        }
        if !metadata.is_file() {
            return Read::Unreadable(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        self.n_reads += 1;
        let bytes = match pellucid_files::read(path, pellucid_files::TEXT_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) => return Read::Unreadable(error),
        };
        let text = HashedText::read(&shown(path), &bytes);
        if is_strict && text.not_utf8.is_some() {
            return Read::Corrupt;
        }
        self.cached.retain(|cached| cached.path != path);
        self.cached.push(Cached::new(path, &metadata, text.clone()));
        Read::Text(text)
    }
}

impl Cached {
    fn new(path: &Path, metadata: &Metadata, text: HashedText) -> Self {
        let modified = metadata.modified().ok();
        let age = modified.and_then(|then| SystemTime::now().duration_since(then).ok());
        let is_settled = age.is_some_and(|age| age >= UNSETTLED);
        Self { path: path.to_owned(), modified, size: metadata.len(), is_settled, text }
    }

    fn holds(&self, metadata: &Metadata, is_strict: bool) -> bool {
        let is_same = self.modified.is_some() && self.modified == metadata.modified().ok();
        is_same && (!is_strict || (self.is_settled && self.size == metadata.len()))
    }
}

/// The workspace that a folder belongs to.
fn workspace(sources: &StandingSources, start: &Path) -> PathBuf {
    if sources.variant == Variant::Initial {
        return start.to_owned();
    }
    workspace_root(start).to_owned()
}

/// The root of the repository around a folder, or the folder if there is none.
pub fn workspace_root(start: &Path) -> &Path {
    let around = start.ancestors().take(PARENTS_MAX + 1).find(|folder| folder.join(".git").exists());
    around.unwrap_or(start)
}

/// The skills of a folder, by the names of their folders, and those that cannot be used with why not.
fn skills(folder: &Path) -> (Vec<StandingSkill>, Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return (Vec::new(), Vec::new());
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join("SKILL.md")).collect();
    files.sort();
    let (mut skills, mut unusable) = (Vec::new(), Vec::new());
    for path in files {
        let text = match pellucid_files::read_text(&path, pellucid_files::TEXT_BYTES_MAX) {
            Ok(text) => text,
            // A folder that is no skill.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            Err(error) => {
                unusable.push((shown(&path), error.to_string()));
                continue;
            }
        };
        match front_matter::parse(&text) {
            Ok(head) => {
                let (name, description) = (head.name, head.description);
                skills.push(StandingSkill { name, description, source: shown(&path), text: text.into() });
            }
            Err(error) => unusable.push((shown(&path), error.to_string())),
        }
    }
    (skills, unusable)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn sources() -> StandingSources {
        StandingSources {
            variant: Variant::Design,
            instructions: Instructions::Text(HashedText::in_pack(&"templates/instructions.md".into(), "I")),
            rules: Some(".ads/rules.md".to_owned()),
            ads_state: None,
            now: String::new,
        }
    }

    /// Makes a file look as if it had been written long ago.
    fn age(path: &Path) {
        let then = SystemTime::now() - Duration::from_secs(100);
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn a_file_that_did_not_change_is_not_opened_again() {
        let folder = Fixture::new(".git/\n.ads/rules.md: R\\n\na/b/\n");
        let rules = folder.path(".ads/rules.md");
        age(&rules);
        let mut files = StandingFiles::new(sources(), &folder.path("a/b"));
        for _ in 0..3 {
            assert_eq!(&*files.read().rules.text().unwrap().text, "R\n");
        }
        assert_eq!(files.n_reads(), 1);
        fs::write(&rules, "S\n").unwrap();
        assert_eq!(&*files.read().rules.text().unwrap().text, "S\n");
    }

    #[test]
    fn what_cannot_be_read_is_not_missing() {
        let folder = Fixture::new(".git/\n.ads/rules.md/\n");
        let mut files = StandingFiles::new(sources(), folder.root());
        assert!(matches!(files.read().rules, FoundFile::Unreadable { .. }));
        fs::remove_dir_all(folder.path(".ads/rules.md")).unwrap();
        assert!(matches!(files.read().rules, FoundFile::Missing { .. }));
        fs::write(folder.path(".ads/rules.md"), [0xff, 0xfe]).unwrap();
        assert!(matches!(files.read().rules, FoundFile::Corrupt { .. }));
    }
}
