//! The project's files of a git revision, for requests that are shown and never sent.
//!
//! The files that a first context may be made of are read as git objects and put into a private folder of the home
//! folder, where they are found as those of a project are. Whatever is said of them has the names that they have in the
//! project. The folder is removed when this is dropped.

use std::fs;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Fate;
use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillProblem;
use pellucid_engine::skills::Skills;
use pellucid_git::Git;
use pellucid_git::revision;
use pellucid_git::revision::Revision;
use pellucid_git::revision::RevisionFile;
use pellucid_workspace::cache::DocumentCache;
use pellucid_workspace::documents;
use pellucid_workspace::documents::DocumentOptions;
use pellucid_workspace::documents::ProjectDocuments;
use pellucid_workspace::skills::SkillSearch;

/// How names of these folders begin.
const PREFIX: &str = "revision-";

/// The folder of skills, wherever it lies.
const SKILLS: &str = "skills";

/// The project's files of a revision.
#[derive(Debug)]
pub struct ProjectAt {
    /// The project's top folder, links followed.
    root: PathBuf,
    /// The id of the commit that the revision names.
    commit: String,
    /// Where the files are, links followed.
    folder: PathBuf,
}

impl ProjectAt {
    /// Reads the files of a revision that the instructions and skills of a session in `cwd` may be made of.
    ///
    /// # Errors
    /// When git does not give them, or they cannot be put into place.
    pub fn read(git: &Git, home: &Path, cwd: &Path, revision: &str, names: &[String]) -> Result<Self, String> {
        let wants = |path: &Path| is_wanted(path, names);
        let Revision { commit, root, files } =
            revision::read(git, cwd, revision, &wants).map_err(|error| error.to_string())?;
        let root = root.canonicalize().unwrap_or(root);
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let made = || -> std::io::Result<Self> {
            let folder = home.join("tmp").join(format!("{PREFIX}{}", uuid::Uuid::new_v4()));
            pellucid_files::make_private_folder(&folder)?;
            // From here on it is removed again, whatever happens.
            let this = Self { root, commit, folder: folder.canonicalize()? };
            pellucid_files::make_private_folder(&this.folder.join(".git"))?;
            pellucid_files::make_private_folder(&this.place(&cwd))?;
            for file in files {
                this.put(&file)?;
            }
            Ok(this)
        };
        made().map_err(|error| format!("the files of the revision cannot be put into place: {error}"))
    }

    /// The id of the commit that the revision names.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    fn put(&self, file: &RevisionFile) -> std::io::Result<()> {
        let place = self.folder.join(&file.path);
        if let Some(parent) = place.parent() {
            pellucid_files::make_private_folder(parent)?;
        }
        if file.is_link {
            return self.put_link(file, &place);
        }
        pellucid_files::write_private(&place, &file.bytes)
    }

    /// A link within the project leads to the file of the revision, any other to where it would lead.
    #[cfg(unix)]
    fn put_link(&self, file: &RevisionFile, place: &Path) -> std::io::Result<()> {
        use std::os::unix::ffi::OsStrExt;
        let target = Path::new(std::ffi::OsStr::from_bytes(&file.bytes));
        let above = file.path.parent().unwrap_or(Path::new(""));
        let target = match inside(&above.join(target)) {
            Some(_) if target.is_relative() => target.to_owned(),
            _ => self.root.join(above).join(target),
        };
        std::os::unix::fs::symlink(target, place)
    }

    #[cfg(not(unix))]
    fn put_link(&self, _file: &RevisionFile, _place: &Path) -> std::io::Result<()> {
        Ok(())
    }

    /// Where a file of the project lies; others lie where they are.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(path) => self.folder.join(path),
            Err(_) => path.to_owned(),
        }
    }

    /// The name that a file has in the project.
    pub(crate) fn name(&self, place: &str) -> String {
        match Path::new(place).strip_prefix(&self.folder) {
            Ok(path) => self.root.join(path).to_string_lossy().into_owned(),
            Err(_) => place.to_owned(),
        }
    }

    /// The project's instruction files.
    pub(crate) fn documents(&self, cwd: &Path, options: &DocumentOptions) -> ProjectDocuments {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let options = DocumentOptions {
            work_tree: Some(self.folder.clone()),
            bounds: options.bounds.clone().with(&self.folder),
            ..options.clone()
        };
        let mut found = documents::project_documents(&self.place(&cwd), &options, &mut DocumentCache::default());
        found.root = found.root.map(|_| self.root.clone());
        for document in &mut found.documents {
            document.path = self.name(&document.path);
        }
        found.candidates = found.candidates.into_iter().map(|it| self.candidate(it)).collect();
        found.links = found.links.iter().map(|(path, target)| (self.name(path), self.name(target))).collect();
        found.error =
            found.error.map(|error| error.replace(&*self.folder.to_string_lossy(), &self.root.to_string_lossy()));
        found
    }

    /// A candidate by its name in the project.
    pub(crate) fn candidate(&self, candidate: Candidate) -> Candidate {
        let fate = match candidate.fate {
            Fate::Shadowed { by } => Fate::Shadowed { by: self.name(&by) },
            Fate::Outside { target } => Fate::Outside { target: self.name(&target) },
            fate => fate,
        };
        Candidate { path: self.name(&candidate.path), fate }
    }

    /// The skills of a search, those of the project as the revision has them.
    pub(crate) fn skills(&self, search: &SkillSearch) -> Skills {
        let mut search = search.clone();
        for root in &mut search.roots {
            root.path = self.place(&root.path.canonicalize().unwrap_or_else(|_| root.path.clone()));
        }
        for (path, _) in &mut search.switches {
            *path = self.place(&path.canonicalize().unwrap_or_else(|_| path.clone()));
        }
        let found = search.load();
        let all = found.all().iter().map(|skill| Skill { path: self.name(&skill.path), ..skill.clone() });
        let problem = |it: &SkillProblem| SkillProblem { path: self.name(&it.path), ..it.clone() };
        Skills::new(all.collect(), found.problems.iter().map(problem).collect())
    }
}

impl Drop for ProjectAt {
    fn drop(&mut self) {
        // What stays is private, and of no use to anybody.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a first context may be made of a file: an instruction file, one that configuration or pack name, or a file of
/// a skill.
fn is_wanted(path: &Path, names: &[String]) -> bool {
    let name = path.file_name().unwrap_or_default();
    let is_named = |known: &str| name == known;
    documents::FILE_NAMES.iter().copied().any(is_named)
        || names.iter().any(|known| name == known.trim())
        || path.components().any(|part| part.as_os_str() == SKILLS)
}

/// A path without dots, if it stays below its beginning.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !inside.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(inside)
}
