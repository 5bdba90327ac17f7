//! The texts of an injection: files as they are, and texts of the pack around skills and the soul.

use super::Injection;
use super::PartKind;
use super::ReinjectState;
use super::StandingPart;
use super::files::FileRole;
use super::files::InjectionInput;
use super::files::StandingSkill;
use super::settings::ReinjectSettings;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::Template;
use crate::template::TemplatePlace;
use crate::template::Trim;
use crate::utf16;

/// How many skills may be asked for at once.
const REQUESTED_MAX: usize = 6;

/// The text between two parts.
const GAP: &str = "\n\n\n";

/// The place for the number of skills.
const COUNT: &str = "{{ count }}";
/// The place for a text: the soul's, or a skill's.
const TEXT: &str = "{{ text }}";
/// The place for the name of a skill.
const NAME: &str = "{{ name }}";
/// The place for the skills that were asked for.
const SKILLS: &str = "{{ skills }}";

const NOTICE: &str = "reinject/workspace_notice.md";
const SKILL_SYSTEM: &str = "reinject/skill_system.md";
const SKILL_SYSTEM_NONE: &str = "reinject/skill_system_none.md";
const REQUESTED: &str = "reinject/requested_skills.md";
const REQUESTED_SKILL: &str = "reinject/requested_skill.md";
const MISSING_SKILL: &str = "reinject/missing_skill.md";
const SOUL: &str = "reinject/soul.md";

const fn words(places: &'static [TemplatePlace]) -> Shape {
    Shape { trim: Trim::Newline, places }
}

/// The texts of the pack that each kind of part needs.
const TEMPLATES: &[(PartKind, &str, Shape)] = &[
    (PartKind::Notice, NOTICE, words(&[])),
    (PartKind::Skills, SKILL_SYSTEM, words(&[TemplatePlace::may(COUNT)])),
    (PartKind::Skills, SKILL_SYSTEM_NONE, words(&[])),
    (PartKind::RequestedSkills, REQUESTED, words(&[TemplatePlace::must(SKILLS)])),
    (PartKind::RequestedSkills, REQUESTED_SKILL, words(&[TemplatePlace::may(NAME), TemplatePlace::must(TEXT)])),
    (PartKind::RequestedSkills, MISSING_SKILL, words(&[TemplatePlace::must(NAME)])),
    (PartKind::Soul, SOUL, words(&[TemplatePlace::must(TEXT)])),
];

/// The texts of the pack that parts need, with their shapes.
pub(super) fn templates(parts: &[PartKind]) -> impl Iterator<Item = (&'static str, Shape)> {
    TEMPLATES.iter().filter(|(kind, ..)| parts.contains(kind)).map(|(_, file, shape)| (*file, *shape))
}

/// The texts of a pack that its parts need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartTexts {
    templates: Vec<(&'static str, Template)>,
}

impl PartTexts {
    /// The texts that a pack has for these settings.
    pub fn of(pack: &Pack, settings: &ReinjectSettings) -> Self {
        let template = |(file, _): (&'static str, Shape)| (file, pack.template(file).clone());
        Self { templates: templates(&settings.parts).map(template).collect() }
    }

    fn render(&self, file: &str, values: &[(&str, Vec<Fragment>)]) -> Vec<Fragment> {
        let template = self.templates.iter().find(|(known, _)| *known == file);
        template.map(|(_, template)| template.render(values)).unwrap_or_default()
    }

    /// The text about skills.
    fn skills(&self, n_skills: usize) -> Vec<Fragment> {
        let file = if n_skills == 0 { SKILL_SYSTEM_NONE } else { SKILL_SYSTEM };
        self.render(file, &[(COUNT, vec![Fragment::layout(n_skills.to_string())])])
    }

    /// The requested skills, or notes that they do not exist.
    fn requested(&self, names: &[String], skills: &[StandingSkill]) -> Vec<Fragment> {
        let mut rows = Vec::new();
        for (n, name) in names.iter().enumerate() {
            if n > 0 {
                rows.push(Fragment::layout("\n"));
            }
            let named = (NAME, vec![Fragment::layout(name.as_str())]);
            match skills.iter().find(|skill| skill.name.to_lowercase() == *name) {
                Some(skill) => {
                    let origin = Origin::Skill { path: skill.source.as_str().into() };
                    let text = Fragment { origin, text: utf16::trim(&skill.text).to_owned() };
                    rows.extend(self.render(REQUESTED_SKILL, &[named, (TEXT, vec![text])]));
                }
                None => rows.extend(self.render(MISSING_SKILL, &[named])),
            }
        }
        self.render(REQUESTED, &[(SKILLS, rows)])
    }
}

impl ReinjectState {
    /// The parts of an injection, in the order of the layout. Blank ones are left out, unless the layout sends them.
    pub(super) fn parts(
        &self,
        settings: &ReinjectSettings,
        files: &InjectionInput,
        words: &PartTexts,
        is_rules_only: bool,
    ) -> Vec<StandingPart> {
        let of_file = |role: FileRole| role.of(files).text().map(|text| vec![text.trimmed()]);
        let part = |kind: &PartKind| {
            let text = match kind {
                PartKind::Notice => files.uninitialised.as_ref().map(|_| words.render(NOTICE, &[])),
                PartKind::Instructions if is_rules_only => None,
                PartKind::Instructions => of_file(FileRole::Instructions),
                PartKind::Rules => of_file(FileRole::Rules),
                PartKind::Skills => Some(words.skills(files.skills.len())),
                PartKind::RequestedSkills if self.requested_skills.is_empty() => None,
                PartKind::RequestedSkills => Some(words.requested(&self.requested_skills, &files.skills)),
                PartKind::Soul => {
                    let soul = files.soul.as_ref().filter(|soul| !soul.is_blank());
                    soul.map(|soul| words.render(SOUL, &[(TEXT, vec![soul.trimmed()])]))
                }
            };
            let may_be_blank = kind.role().is_some_and(|role| settings.blank.contains(&role));
            let is_said = |text: &Vec<Fragment>| may_be_blank || text.iter().any(|it| !utf16::is_blank(&it.text));
            Some(StandingPart { kind: *kind, text: text.filter(is_said)? })
        };
        settings.parts.iter().filter_map(part).collect()
    }

    /// Asks for skills with the next input. Earlier wishes are replaced; none changes nothing.
    pub fn request_skills(&mut self, names: &[String]) {
        let mut wanted: Vec<String> = Vec::new();
        for name in names {
            let name = utf16::trim(name).to_lowercase();
            if !name.is_empty() && !wanted.contains(&name) {
                wanted.push(name);
            }
        }
        wanted.truncate(REQUESTED_MAX);
        if !wanted.is_empty() {
            self.requested_skills = wanted;
            self.set_pending("skills-requested");
        }
    }
}

impl PartKind {
    /// The file that the part is, if it is one.
    fn role(self) -> Option<FileRole> {
        match self {
            Self::Instructions => Some(FileRole::Instructions),
            Self::Rules => Some(FileRole::Rules),
            Self::Notice | Self::Skills | Self::RequestedSkills | Self::Soul => None,
        }
    }
}

impl Injection {
    /// The parts with the gaps between them.
    pub fn fragments(&self) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                fragments.push(Fragment::layout(GAP));
            }
            fragments.extend(part.text.iter().cloned());
        }
        fragments
    }

    /// The parts and gaps as one text.
    pub fn text(&self) -> String {
        concat(&self.fragments())
    }
}
