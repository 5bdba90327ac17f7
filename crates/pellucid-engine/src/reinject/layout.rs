//! `[reinject]` of a layout: which files are standing texts, what is sent of them, and how often. A layout may have several
//! sets of these keys, its variants; one of them lies over the table.

use std::collections::BTreeMap;

use pellucid_protocol::settings::ReinjectTrigger;
use serde::Deserialize;
use serde::Deserializer;

use super::PartKind;
use super::files::FileRole;
use super::parts;
use super::phases::PhaseFiles;
use super::settings::DEFAULT_TRIGGER;
use super::settings::Look;
use super::settings::ReinjectOverrides;
use super::settings::ReinjectSettings;
use crate::template::Shape;
use crate::template::Trim;

/// The shape of a text of the pack without places.
pub(super) const WORDS: Shape = Shape { trim: Trim::Newline, places: &[] };

/// `[reinject]` of a layout.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReinjectLayout {
    /// Which of [`Self::variants`] lies over this table.
    pub variant: Option<String>,
    /// The instructions: a file of the pack, or of `assets_dir` where that is set.
    pub instructions: Option<String>,
    /// A folder with the product's files, in place of the pack.
    pub assets_dir: Option<String>,
    /// The rules: files of the workspace, of which the first that is there is used.
    #[serde(deserialize_with = "one_or_more")]
    pub rules: Option<Vec<String>>,
    /// Whether anything is said again that did not change.
    pub enabled: Option<bool>,
    /// After how many turns.
    pub turns: Option<f64>,
    /// After how many turns all but the instructions.
    pub rules_turns: Option<f64>,
    /// The event that makes texts be repeated; absent for the default.
    pub trigger: Option<ReinjectTrigger>,
    /// Shares of the window.
    pub thresholds: Option<Vec<f64>>,
    /// Whether a reason that comes before or with an injection fires again with the next input.
    pub keep_pending: Option<bool>,
    /// The parts of an injection, in order.
    pub parts: Option<Vec<PartKind>>,
    /// A text of the pack before an injection.
    pub before: Option<String>,
    /// A text of the pack between an injection and the input.
    pub after: Option<String>,
    /// The beginnings of the names of variables that override these settings.
    pub env: Option<Vec<String>>,
    /// Where files are, and what is demanded of them.
    pub files: StandingFilesLayout,
    /// Skills that inputs may ask for.
    pub skills: Option<StandingSkillsLayout>,
    /// Prompts for phases of work.
    pub phases: PhaseFiles,
    /// Other values for these keys, by name.
    pub variants: BTreeMap<String, ReinjectLayout>,
}

/// `[reinject.files]`: where files are, and what is demanded of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StandingFilesLayout {
    /// Instructions of the workspace, of which the first that is there is used. The pack's stand in for them, unless
    /// `refuse` has the instructions.
    pub instructions: Option<Vec<String>>,
    /// The file with the agent's character.
    pub soul: Option<String>,
    /// The folder that counts as the workspace.
    pub workspace: Option<WorkspaceRoot>,
    /// A folder for each workspace that its files are in, in place of the workspace.
    pub state: Option<StateLayout>,
    /// When files are looked at.
    pub look: Option<Look>,
    /// Whether a file that keeps its time is read again if its size changed, and must be UTF-8.
    pub strict: Option<bool>,
    /// Files that hold an input back if they cannot be used.
    pub refuse: Option<Vec<FileRole>>,
    /// Files that are sent even if they are blank.
    pub blank: Option<Vec<FileRole>>,
}

/// The folder that counts as the workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceRoot {
    /// The root of the repository around the working directory, or that folder.
    #[default]
    Repository,
    /// The working directory.
    Folder,
}

/// `[reinject.files.state]`: a folder for each workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateLayout {
    /// The folder of the workspace that has the state, unless a variable names another one.
    pub folder: String,
    /// The variable that names the folder.
    pub env: Option<String>,
    /// The file that says that a workspace is set up. It is made if it is not there.
    pub marker: String,
    /// Files that are copied from `folder` of a workspace that has the marker there, if the state lacks them.
    #[serde(default)]
    pub take_over: Vec<TakenOver>,
    /// Folders that are copied in the same way.
    #[serde(default)]
    pub take_over_folders: Vec<String>,
}

/// A file of an older place: its path there, and its path in the state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrTwo")]
pub struct TakenOver {
    /// The path in the older place.
    pub from: String,
    /// The path in the state.
    pub to: String,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a file, or a list of a file and its new place")]
enum OneOrTwo {
    Same(String),
    Renamed([String; 2]),
}

impl From<OneOrTwo> for TakenOver {
    fn from(files: OneOrTwo) -> Self {
        match files {
            OneOrTwo::Same(file) => Self { to: file.clone(), from: file },
            OneOrTwo::Renamed([from, to]) => Self { from, to },
        }
    }
}

/// `[reinject.skills]`: skills that inputs may ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingSkillsLayout {
    /// The folder with a folder for each skill: of the workspace, or of the folder that has the states.
    pub folder: String,
    /// How many skills are guessed from the words of an input.
    #[serde(default)]
    pub guessed: usize,
}

impl StateLayout {
    /// The paths that files are read from and written to.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.take_over.iter().flat_map(|file| [&file.from, &file.to]);
        let all = [&self.folder, &self.marker].into_iter().chain(files).chain(&self.take_over_folders);
        all.map(String::as_str)
    }
}

/// Whether a path leads to a place within the folder that it is joined to.
fn is_inside(path: &str) -> bool {
    let is_step = |step: &str| !step.is_empty() && step != "..";
    !path.contains(':') && path.split(['/', '\\']).all(is_step)
}

fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a file or a list of files")]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    Ok(Some(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(file) => vec![file],
        OneOrMore::More(files) => files,
    }))
}

/// For every named field: takes it from the second value if the first has none.
macro_rules! fill {
    ($own:expr, $base:expr, $($field:ident)+) => {
        $(if $own.$field.is_none() {
            $own.$field.clone_from(&$base.$field);
        })+
    };
}

/// For every named field: forgets it if the second value has one.
macro_rules! forget {
    ($own:expr, $other:expr, $($field:ident)+) => {
        $(if $other.$field.is_some() {
            $own.$field = None;
        })+
    };
}

impl StandingFilesLayout {
    fn complete(&mut self, base: &Self) {
        fill!(self, base, instructions soul workspace state look strict refuse blank);
    }

    fn forget(&mut self, other: &Self) {
        forget!(self, other, instructions soul workspace state look strict refuse blank);
    }

    /// The files that hold an input back if they cannot be used.
    pub fn refused(&self) -> Vec<FileRole> {
        self.refuse.clone().unwrap_or_else(|| vec![FileRole::Instructions, FileRole::Rules])
    }

    /// Whether changes are looked for closely, and files must be UTF-8.
    pub fn is_strict(&self) -> bool {
        self.strict.unwrap_or(true)
    }
}

impl ReinjectLayout {
    /// Takes from the layout beneath whatever this one does not say. What this one says also precedes the variants beneath.
    pub(crate) fn complete(&mut self, base: &Self) {
        for (name, beneath) in &base.variants {
            let mut beneath = beneath.clone();
            beneath.forget(self);
            match self.variants.get_mut(name) {
                Some(own) => own.fill(&beneath),
                None => drop(self.variants.insert(name.clone(), beneath)),
            }
        }
        self.fill(base);
    }

    fn fill(&mut self, base: &Self) {
        fill!(self, base, variant instructions assets_dir rules enabled turns rules_turns trigger thresholds);
        fill!(self, base, keep_pending parts before after env skills);
        self.files.complete(&base.files);
        self.phases.complete(&base.phases);
    }

    fn forget(&mut self, other: &Self) {
        forget!(self, other, instructions assets_dir rules enabled turns rules_turns trigger thresholds);
        forget!(self, other, keep_pending parts before after env skills);
        self.files.forget(&other.files);
    }

    /// The layout with its variant over it.
    #[must_use]
    pub fn chosen(&self) -> Self {
        let over = self.variant.as_ref().and_then(|name| self.variants.get(name));
        let mut chosen = over.cloned().unwrap_or_default();
        chosen.fill(self);
        chosen
    }

    /// The layout with another variant over it, if it has it.
    pub fn with_variant(&self, name: &str) -> Option<Self> {
        self.variants.get(name)?;
        Some(Self { variant: Some(name.to_owned()), ..self.clone() }.chosen())
    }

    /// Why a key of this table could never have an effect in the whole layout, if there is one.
    pub(crate) fn without_effect(&self, whole: &Self) -> Option<String> {
        if let Some(name) = whole.variant.as_ref().filter(|name| !whole.variants.contains_key(*name)) {
            let known: Vec<&str> = whole.variants.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Some(format!("`variant`: there is no [reinject.variants.{name}]; known: {known}"));
        }
        let of_table = |own: &Self, chosen: &Self| own.without_effect_beside(chosen);
        let of_variant = |(name, own): (&String, &Self)| {
            if own.variant.is_some() || !own.variants.is_empty() || !own.phases.is_empty() {
                return Some("a variant has neither phases nor variants".to_owned());
            }
            of_table(own, &whole.with_variant(name)?).map(|problem| format!("[reinject.variants.{name}]: {problem}"))
        };
        of_table(self, &whole.chosen()).or_else(|| self.variants.iter().find_map(of_variant))
    }

    /// The same for one table, beside the keys that hold with it.
    fn without_effect_beside(&self, whole: &Self) -> Option<String> {
        let turns = [("turns", self.turns), ("rules_turns", self.rules_turns)];
        if let Some((key, _)) =
            turns.into_iter().find(|(_, turns)| turns.is_some_and(|turns| turns.is_nan() || turns < 1.0))
        {
            return Some(format!("`{key}` must be at least 1"));
        }
        if let Some(path) = self.files.state.iter().flat_map(StateLayout::paths).find(|path| !is_inside(path)) {
            return Some(format!("`files.state`: {path:?} is not a path within a folder"));
        }
        let trigger = whole.trigger.unwrap_or(DEFAULT_TRIGGER);
        let parts = whole.settings(ReinjectOverrides::default()).parts;
        let has = |kind: PartKind| parts.contains(&kind);
        let by_window = matches!(trigger, ReinjectTrigger::Auto | ReinjectTrigger::Occupancy | ReinjectTrigger::Both);
        let has_skills = has(PartKind::Skills) || has(PartKind::RequestedSkills);
        let keys = [
            ("thresholds", self.thresholds.is_some(), by_window, "a `trigger` by window"),
            ("turns", self.turns.is_some(), trigger != ReinjectTrigger::Occupancy, "a `trigger` by turns"),
            ("assets_dir", self.assets_dir.is_some(), whole.instructions.is_some(), "`instructions`"),
            ("files.soul", self.files.soul.is_some(), has(PartKind::Soul), "the part `soul`"),
            ("skills", self.skills.is_some(), has_skills, "the part `skills` or `requested_skills`"),
        ];
        let dead = keys.into_iter().find(|(_, is_said, has_effect, _)| *is_said && !has_effect);
        dead.map(|(key, .., needs)| format!("`{key}` has no effect without {needs}"))
    }

    /// How texts are decided about, with what is given before what the layout says. The variant must be chosen.
    pub fn settings(&self, given: ReinjectOverrides) -> ReinjectSettings {
        ReinjectSettings::new(self, given)
    }

    /// The templates that it needs. The variant must be chosen.
    pub(crate) fn templates(&self) -> Vec<(String, Shape)> {
        let settings = self.settings(ReinjectOverrides::default());
        let parts = parts::templates(&settings.parts);
        let mut templates: Vec<(String, Shape)> = parts.map(|(file, shape)| (file.to_owned(), shape)).collect();
        templates.extend(self.instructions.iter().map(|file| (file.clone(), Shape::VERBATIM)));
        let words = self.before.iter().chain(&self.after).map(String::as_str).chain(self.phases.files());
        templates.extend(words.map(|file| (file.to_owned(), WORDS)));
        templates
    }
}
