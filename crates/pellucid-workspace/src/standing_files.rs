//! Texts that go before the user's input: their paths, and their content when they were read last.
//!
//! A file is read again only when the file system says that it may be another: where a layout asks no more than its time, a
//! change that keeps the time is not seen.
//!
//! Not here: when the texts are said (`pellucid_engine::reinject`).

mod state_folder;

use std::fs;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use pellucid_engine::reinject::files::FileRole;
use pellucid_engine::reinject::files::FoundFile;
use pellucid_engine::reinject::files::HashedText;
use pellucid_engine::reinject::files::InjectionInput;
use pellucid_engine::reinject::files::StandingSkill;
use pellucid_engine::reinject::layout::ReinjectLayout;
use pellucid_engine::reinject::layout::WorkspaceRoot;
use pellucid_engine::skills::front_matter;

pub use state_folder::state_folder;

/// At most this many folders above the start are searched for a repository.
const PARENTS_MAX: usize = 9;

/// A file that was written this shortly before it was read is read again next time, because a
/// second write within one tick of the file system's clock leaves no trace.
const UNSETTLED: Duration = Duration::from_secs(2);

/// The sources of the texts.
#[derive(Debug, Clone)]
pub struct StandingSources {
    /// Which files there are, where, and how closely they are watched. The variant must be chosen.
    pub layout: ReinjectLayout,
    /// The source of the product's instructions.
    pub instructions: Instructions,
    /// The folder with the states of workspaces, in place of the layout's.
    pub states: Option<PathBuf>,
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
    is_strict: bool,
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
        let is_strict = sources.layout.files.is_strict();
        Self { sources, is_strict, workspace, cached: Vec::new(), n_reads: 0 }
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
        // The layout is put back below, so that nothing is copied for it.
        let layout = std::mem::take(&mut self.sources.layout);
        let workspace = self.workspace.clone();
        let (folder, top, is_ready) = match &layout.files.state {
            None => (workspace.clone(), workspace, true),
            Some(state) => {
                let top = self.sources.states.clone().unwrap_or_else(|| workspace.join(&state.folder));
                let own = state_folder(&top, &workspace);
                let is_ready = state_folder::prepare(state, &workspace, &own, self.sources.now);
                (own, top, is_ready)
            }
        };
        let (instructions, instructions_wanted) = self.instructions(&layout, &folder);
        let refuses_rules = layout.files.refused().contains(&FileRole::Rules);
        let rules = match &layout.rules {
            Some(files) if !files.is_empty() => self.first(files, &folder, refuses_rules),
            _ => FoundFile::NotWanted,
        };
        let soul = layout.files.soul.as_ref().and_then(|soul| self.found(&folder.join(soul)).text().cloned());
        let skills = layout.skills.as_ref().map(|skills| skills_of(&top.join(&skills.folder)));
        let (skills, unusable_skills) = skills.unwrap_or_default();
        let uninitialised = (!is_ready).then(|| shown(&self.workspace));
        self.sources.layout = layout;
        InjectionInput { instructions, instructions_wanted, rules, soul, skills, uninitialised, unusable_skills }
    }

    /// The instructions: the workspace's, or those of the product, with the path of the missing file that they stand in for.
    fn instructions(&mut self, layout: &ReinjectLayout, folder: &Path) -> (FoundFile, Option<String>) {
        let own = match &layout.files.instructions {
            Some(files) if !files.is_empty() => {
                let refuses = layout.files.refused().contains(&FileRole::Instructions);
                let found = self.first(files, folder, refuses);
                if refuses || found.text().is_some() {
                    return (found, None);
                }
                Some(found.path().to_owned())
            }
            _ => None,
        };
        let product = match self.sources.instructions.clone() {
            Instructions::None => FoundFile::NotWanted,
            Instructions::Text(text) => FoundFile::Text(text),
            Instructions::File(path) => self.found(&path),
        };
        match own {
            None => (product, None),
            Some(path) if product.text().is_some() => (product, Some(path)),
            Some(path) => (FoundFile::Missing { path }, None),
        }
    }

    /// The first of some files that is there. If files must be readable, one that is not counts as there; else all that
    /// cannot be read is missing.
    fn first(&mut self, files: &[String], folder: &Path, must_be_readable: bool) -> FoundFile {
        for file in files {
            match self.found(&folder.join(file)) {
                FoundFile::Missing { .. } | FoundFile::NotWanted => {}
                found if must_be_readable || found.text().is_some() => return found,
                _ => {}
            }
        }
        let first = files.first().map(|file| shown(&folder.join(file)));
        FoundFile::Missing { path: first.unwrap_or_default() }
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
        let is_strict = self.is_strict;
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
    match sources.layout.files.workspace.unwrap_or_default() {
        WorkspaceRoot::Folder => start.to_owned(),
        WorkspaceRoot::Repository => workspace_root(start).to_owned(),
    }
}

/// The root of the repository around a folder, or the folder if there is none.
pub fn workspace_root(start: &Path) -> &Path {
    let around = start.ancestors().take(PARENTS_MAX + 1).find(|folder| folder.join(".git").exists());
    around.unwrap_or(start)
}

/// The skills of a folder, by the names of their folders, and those that cannot be used with why not.
fn skills_of(folder: &Path) -> (Vec<StandingSkill>, Vec<(String, String)>) {
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
    use pellucid_engine::pack::Pack;

    use super::*;
    use crate::fixture::Fixture;

    fn sources() -> StandingSources {
        StandingSources {
            layout: ReinjectLayout { rules: Some(vec![".notes/rules.md".to_owned()]), ..ReinjectLayout::default() },
            instructions: Instructions::Text(HashedText::in_pack(&"templates/instructions.md".into(), "I")),
            states: None,
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
        let folder = Fixture::new(".git/\n.notes/rules.md: R\\n\na/b/\n");
        let rules = folder.path(".notes/rules.md");
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
        let folder = Fixture::new(".git/\n.notes/rules.md/\n");
        let mut files = StandingFiles::new(sources(), folder.root());
        assert!(matches!(files.read().rules, FoundFile::Unreadable { .. }));
        fs::remove_dir_all(folder.path(".notes/rules.md")).unwrap();
        assert!(matches!(files.read().rules, FoundFile::Missing { .. }));
        fs::write(folder.path(".notes/rules.md"), [0xff, 0xfe]).unwrap();
        assert!(matches!(files.read().rules, FoundFile::Corrupt { .. }));
    }

    /// A layout of one's own: a state with other names, several places for a file, a soul and skills.
    fn own() -> ReinjectLayout {
        let layout = r#"
            name = "mine"
            from = "codex"
            [reinject]
            rules = ["first.md", "second.md"]
            parts = ["rules", "soul", "skills"]
            [reinject.files]
            instructions = ["mine.md"]
            soul = "me.md"
            refuse = []
            strict = false
            [reinject.files.state]
            folder = ".kit"
            marker = "here.json"
            take_over = ["first.md", ["old.md", "mine.md"]]
            take_over_folders = ["more"]
            [reinject.skills]
            folder = "skills"
        "#;
        let pack = Pack::load_user(&[("pack.toml".to_owned(), layout.to_owned())].into(), "/packs/mine").unwrap();
        pack.layout.reinject.unwrap().chosen()
    }

    #[test]
    fn a_state_takes_over_what_an_older_place_has_and_keeps_what_it_has() {
        let folder = Fixture::new(
            ".git/\n.kit/here.json: x\n.kit/first.md: R\n.kit/old.md: I\n.kit/more/a.md: A\n.kit/more/b/c.md: C\n.kit/secret.md: S\n",
        );
        let layout = own();
        let sources = StandingSources { layout, now: || "NOW".to_owned(), ..sources() };
        let mut files = StandingFiles::new(sources, folder.root());
        let read = files.read();
        let text = |found: &FoundFile| found.text().map(|text| text.text.to_string());
        assert_eq!((text(&read.instructions), text(&read.rules)), (Some("I".to_owned()), Some("R".to_owned())));
        assert_eq!((read.soul, read.uninitialised, read.skills.len()), (None, None, 0));
        let state = state_folder(&folder.path(".kit"), folder.root());
        assert!(state.join("more/b/c.md").is_file() && !state.join("secret.md").exists());
        fs::write(folder.path(".kit/first.md"), "later").unwrap();
        assert_eq!(text(&files.read().rules).as_deref(), Some("R"), "what the state has stays");
    }

    #[test]
    fn a_new_state_is_made_and_the_pack_stands_in_for_its_files() {
        let folder =
            Fixture::new(".git/\n.kit/skills/mend/SKILL.md: ---\\nname: mend\\ndescription: Mends.\\n---\\n\n");
        let sources = StandingSources { layout: own(), now: || "NOW".to_owned(), ..sources() };
        let mut files = StandingFiles::new(sources, folder.root());
        let state = state_folder(&folder.path(".kit"), folder.root());
        let read = files.read();
        assert!(fs::read_to_string(state.join("here.json")).unwrap().contains("\"created_at\": \"NOW\""));
        assert_eq!(read.instructions.text().map(|text| &*text.text), Some("I"), "the pack's");
        assert_eq!(read.instructions_wanted, Some(shown(&state.join("mine.md"))));
        assert_eq!(read.rules, FoundFile::Missing { path: shown(&state.join("first.md")) });
        assert_eq!(read.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["mend"]);
        fs::write(state.join("second.md"), [b'R', 0xff]).unwrap();
        fs::write(state.join("me.md"), "Kind.").unwrap();
        let read = files.read();
        assert_eq!(read.rules.text().map(|text| &*text.text), Some("R\u{fffd}"), "bytes that are no text are replaced");
        assert_eq!(read.soul.map(|soul| soul.text.to_string()).as_deref(), Some("Kind."));
    }

    #[test]
    fn the_working_directory_is_the_workspace_if_a_layout_says_so() {
        let folder = Fixture::new(".git/\na/rules.md: R\n");
        let mut layout = ReinjectLayout { rules: Some(vec!["rules.md".to_owned()]), ..ReinjectLayout::default() };
        let read = |layout: &ReinjectLayout| {
            let sources = StandingSources { layout: layout.clone(), ..sources() };
            StandingFiles::new(sources, &folder.path("a")).read().rules.text().is_some()
        };
        assert!(!read(&layout));
        layout.files.workspace = Some(WorkspaceRoot::Folder);
        assert!(read(&layout));
    }
}
