//! Skills on disk: their folders, finding them, and reading their heads.
//!
//! Only heads are kept: a skill's text is read again when it is used. A search costs a listing for
//! each folder and a reading for each skill, and nothing where no folder of skills is.
//!
//! Not here: what a head must say and in which order skills are listed (`pellucid-engine`), and
//! which folders configure a project (`pellucid-config`).

pub mod bundled;
mod find;
mod read;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillOwner;
use pellucid_engine::skills::Skills;
use pellucid_engine::skills::Switch;
use pellucid_files::WorkingFolder;

use crate::skills::find::Finder;

/// The folder with skills in a folder that configures something.
const FOLDER: &str = "skills";

/// The folder with things for agents of all makes.
const AGENTS_FOLDER: &str = ".agents";

/// The folder with the program's own skills, within the user's.
const SYSTEM_FOLDER: &str = ".system";

/// The places that decide which folders are searched for skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillPlaces {
    /// The folders that configure the project, that nearest to the working directory first.
    pub project_configs: Vec<PathBuf>,
    /// The home folder of Pellucid.
    pub home: PathBuf,
    /// The user's own folder.
    pub user_home: Option<PathBuf>,
    /// The folder that configures the machine.
    pub system_config: Option<PathBuf>,
    /// The project's top folder.
    pub project_root: PathBuf,
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// Further folders of skills that a caller names.
    pub extra: Vec<PathBuf>,
}

/// A folder of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    /// The path of the folder.
    pub path: PathBuf,
    /// The owner of the skills there.
    pub scope: SkillOwner,
}

/// How skills are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSearch {
    /// The folders, in this order. Missing folders are skipped.
    pub roots: Vec<SkillRoot>,
    /// `SKILL.md` files that the user switched on or off; the last word on a path counts.
    pub switches: Vec<(PathBuf, Switch)>,
    /// Names of skills that a client switched on or off; they count more than paths, and the last word on a name counts.
    pub names: Vec<(String, Switch)>,
}

impl SkillSearch {
    /// The folders that are searched for skills, each once.
    pub fn new(places: &SkillPlaces, switches: Vec<(PathBuf, Switch)>) -> Self {
        let mut search = Self { roots: Vec::new(), switches, names: Vec::new() };
        for folder in &places.project_configs {
            search.push(folder.join(FOLDER), SkillOwner::Repo);
        }
        search.push(places.home.join(FOLDER), SkillOwner::User);
        if let Some(user_home) = &places.user_home {
            search.push(user_home.join(AGENTS_FOLDER).join(FOLDER), SkillOwner::User);
        }
        search.push(places.home.join(FOLDER).join(SYSTEM_FOLDER), SkillOwner::System);
        if let Some(folder) = &places.system_config {
            search.push(folder.join(FOLDER), SkillOwner::Admin);
        }
        let inside = |folder: &&Path| folder.starts_with(&places.project_root);
        let mut folders: Vec<&Path> = places.cwd.ancestors().take_while(inside).collect();
        folders.reverse();
        for folder in folders {
            search.push(folder.join(AGENTS_FOLDER).join(FOLDER), SkillOwner::Repo);
        }
        for folder in &places.extra {
            search.push(folder.clone(), SkillOwner::User);
        }
        search
    }

    /// Finds and reads the skills.
    pub fn load(&self) -> Skills {
        let mut finder = Finder::default();
        let here = WorkingFolder::find();
        for root in &self.roots {
            finder.search(root, &here);
        }
        let (mut found, problems) = finder.finish();
        if !found.is_empty() {
            self.switch(&mut found);
        }
        Skills::new(found, problems)
    }

    fn push(&mut self, path: PathBuf, scope: SkillOwner) {
        // Compared as they are written: folder by folder would take long for a deep project.
        if !self.roots.iter().any(|root| root.path.as_os_str() == path.as_os_str()) {
            self.roots.push(SkillRoot { path, scope });
        }
    }

    fn switch(&self, found: &mut [Skill]) {
        let switches: BTreeMap<String, Switch> = self
            .switches
            .iter()
            .map(|(path, switch)| (shown(&fs::canonicalize(path).unwrap_or_else(|_| path.clone())), *switch))
            .collect();
        if switches.is_empty() && self.names.is_empty() {
            return;
        }
        for skill in found {
            let by_name = self.names.iter().rfind(|(name, _)| *name == skill.name).map(|(_, switch)| *switch);
            skill.switch = by_name.or_else(|| switches.get(&skill.path).copied()).unwrap_or_default();
        }
    }
}

/// The current text of a skill.
///
/// # Errors
/// If the file cannot be read or is not UTF-8.
pub fn read(skill: &Skill) -> io::Result<String> {
    pellucid_files::read_text(Path::new(&skill.path), pellucid_files::TEXT_BYTES_MAX)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
