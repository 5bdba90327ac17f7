//! Selects the skills that an input asks for.
//!
//! Skills chosen by hand come first, then those that texts link to, then those that texts name.
//! A name that several skills have asks for none of them, unless the layout lets the first one win.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

use pellucid_protocol::input::UserInput;

use super::Skill;
use super::Skills;
use super::mention::Mention;
use super::mention::mentions;
use crate::pack::SameName;

/// The skills and settings that decide besides the input.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selecting<'a> {
    /// The meaning of a name that several skills have.
    pub same_name: SameName,
    /// The slugs of available connectors: a plain name that is one of them means the connector.
    pub connectors: &'a [String],
}

/// The skills that an input asks for, each once.
pub fn select<'s>(skills: &'s Skills, inputs: &[UserInput], selecting: &Selecting<'_>) -> Vec<&'s Skill> {
    let mut selection = Selection::new(skills, selecting);
    for input in inputs {
        if let UserInput::Skill { name, path } = input {
            selection.choose(name, path);
        }
    }
    for input in inputs {
        if let UserInput::Text { text, .. } = input {
            selection.mention(&mentions(text));
        }
    }
    selection.selected
}

/// Whether an input may mention skills at all; if not, skills need not be loaded.
pub fn may_select(inputs: &[UserInput]) -> bool {
    inputs.iter().any(|input| match input {
        UserInput::Skill { .. } => true,
        UserInput::Text { text, .. } => text.contains('$'),
        UserInput::Image { .. } | UserInput::LocalImage { .. } | UserInput::Mention { .. } => false,
    })
}

struct Selection<'s, 'a> {
    skills: &'s Skills,
    selecting: &'a Selecting<'a>,
    /// How many enabled skills have a name.
    counts: BTreeMap<&'s str, usize>,
    /// Names that were chosen by hand; a plain mention of them adds nothing.
    blocked: BTreeSet<String>,
    names: BTreeSet<&'s str>,
    selected: Vec<&'s Skill>,
}

impl<'s, 'a> Selection<'s, 'a> {
    fn new(skills: &'s Skills, selecting: &'a Selecting<'a>) -> Self {
        let mut counts = BTreeMap::new();
        for skill in skills.enabled() {
            *counts.entry(skill.name.as_str()).or_default() += 1;
        }
        Self { skills, selecting, counts, blocked: BTreeSet::new(), names: BTreeSet::new(), selected: Vec::new() }
    }

    /// A skill chosen by hand. Its name is taken even if nothing is at its path.
    fn choose(&mut self, name: &str, path: &Path) {
        self.blocked.insert(name.to_owned());
        let skills = self.skills;
        if let Some(skill) = skills.enabled().find(|skill| Path::new(&skill.path) == path) {
            self.add(skill);
        }
    }

    /// Selects the skills that one text mentions: links first.
    fn mention(&mut self, mentions: &[Mention<'_>]) {
        if mentions.is_empty() {
            return;
        }
        let skills = self.skills;
        let links: BTreeSet<&str> = mentions.iter().filter_map(|mention| mention.link.as_ref()?.skill_path()).collect();
        for skill in skills.enabled().filter(|skill| links.contains(skill.path.as_str())) {
            self.add(skill);
        }
        let plain: BTreeSet<&str> =
            mentions.iter().filter(|mention| mention.link.is_none()).map(|mention| mention.name).collect();
        for skill in skills.enabled().filter(|skill| plain.contains(skill.name.as_str())) {
            if self.is_clear(&skill.name) {
                self.add(skill);
            }
        }
    }

    /// Whether a plain name means one skill and is not used up.
    fn is_clear(&self, name: &str) -> bool {
        let is_one = match self.selecting.same_name {
            SameName::All => self.counts.get(name) == Some(&1),
            SameName::First => true,
        };
        let slug = name.to_ascii_lowercase();
        is_one
            && !self.blocked.contains(name)
            && !self.names.contains(name)
            && !self.selecting.connectors.contains(&slug)
    }

    fn add(&mut self, skill: &'s Skill) {
        if !self.selected.iter().any(|other| other.path == skill.path) {
            self.names.insert(&skill.name);
            self.selected.push(skill);
        }
    }
}
