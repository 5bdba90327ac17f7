//! Skills: instructions for a kind of task, kept on disk and used on demand.
//!
//! - `front_matter`, `metadata`: the head of a skill's file, and the metadata file beside it
//! - `format_check`: whether a skill keeps to the format that other agents read
//! - `mention`: `$name` and `[$name](path)` in what a person says
//! - `select`: selects the skills that an input asks for
//! - `inject`: a skill's text as a message
//!
//! Not here: finding and reading the files (`pellucid-workspace`), and the list that the model is
//! given (`source::skills_list`).

pub mod format_check;
pub mod front_matter;
pub mod inject;
pub mod mention;
pub mod metadata;
pub mod select;
pub mod variables;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use front_matter::SkillError;
pub use metadata::SkillManifest;

/// The skills of a working directory, and what went wrong with others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// Every skill, switched off ones too.
    ///
    /// Invariant: in load order (scope, name, path), each path once. [`Skills::new`] sees to it.
    all: Arc<[Skill]>,
    /// The skills that could not be loaded.
    pub problems: Vec<SkillProblem>,
}

/// A skill that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name, on one line.
    pub name: String,
    /// The description, on one line.
    pub description: String,
    /// The same in fewer words, for people.
    pub short_description: Option<String>,
    /// The tools that the skill asks for, as its head lists them.
    pub allowed_tools: Vec<String>,
    /// The canonical path of its `SKILL.md`.
    pub path: String,
    /// The owner of the skill.
    pub scope: SkillOwner,
    /// Whether the user has switched the skill off.
    pub switch: Switch,
    /// The content of the metadata file beside it, if there is one.
    pub metadata: Option<Box<SkillManifest>>,
}

/// The owner of a skill, in the order in which skills are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillOwner {
    /// A skill of the project.
    Repo,
    /// A skill of the user.
    User,
    /// A skill that Pellucid brings along.
    System,
    /// A skill of the administrator.
    Admin,
}

impl SkillOwner {
    /// The word for the scope in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repo => "repo",
            Self::User => "user",
            Self::System => "system",
            Self::Admin => "admin",
        }
    }
}

/// Whether a skill may be used at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Switch {
    /// The skill may be used.
    #[default]
    On,
    /// The configuration says no.
    Off,
}

impl Skill {
    /// Whether the skill can be used.
    pub fn is_enabled(&self) -> bool {
        self.switch == Switch::On
    }

    /// Whether the model may choose the skill without a mention.
    pub fn is_implicit(&self) -> bool {
        self.metadata.as_ref().and_then(|metadata| metadata.allow_implicit_invocation).unwrap_or(true)
    }
}

/// A file or folder among the skills that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProblem {
    /// The path of the file or folder.
    pub path: String,
    /// The problem with it.
    pub fault: SkillFault,
}

/// The problems of files and folders of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFault {
    /// This `SKILL.md` is no skill.
    Skill(SkillError),
    /// This file beside a skill has nothing that can be used; the skill itself is loaded.
    Metadata {
        /// The error of the parser.
        error: String,
    },
    /// This folder cannot be listed.
    Folder {
        /// The error of the operating system.
        error: String,
    },
    /// This folder has more folders in it than are searched.
    TooManyFolders {
        /// The maximum number of folders.
        max: usize,
    },
}

impl fmt::Display for SkillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skill(error) => error.fmt(f),
            Self::Metadata { error } => write!(f, "not used: {error}"),
            Self::Folder { error } => write!(f, "failed to list folder: {error}"),
            Self::TooManyFolders { max } => write!(f, "only the first {max} folders in it are searched"),
        }
    }
}

impl Skills {
    /// Puts what was found in order. Of several finds of one path the first counts.
    pub fn new(found: Vec<Skill>, problems: Vec<SkillProblem>) -> Self {
        let mut all = found;
        // The sort is stable, so that the first find of a path comes first and stays.
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all.dedup_by(|later, first| later.path == first.path);
        all.sort_by(|a, b| (a.scope, &a.name, &a.path).cmp(&(b.scope, &b.name, &b.path)));
        Self { all: all.into(), problems }
    }

    /// Every skill, in load order.
    pub fn all(&self) -> &[Skill] {
        &self.all
    }

    /// The skills that can be used, in load order.
    pub fn enabled(&self) -> impl Iterator<Item = &Skill> {
        self.all.iter().filter(|skill| skill.is_enabled())
    }

    /// Of every name the first skill that can be used.
    pub fn first_by_name(&self) -> BTreeMap<&str, &Skill> {
        let mut first = BTreeMap::new();
        for skill in self.enabled() {
            first.entry(skill.name.as_str()).or_insert(skill);
        }
        first
    }
}

#[cfg(test)]
mod tests;
