//! `[reinject]` of a layout: which files are standing texts, and how often they are said again.

use pellucid_protocol::settings::ReinjectTrigger;
use serde::Deserialize;

use super::VariantTexts;
use super::envelope;
use super::phases::PhaseFiles;
use super::settings::DEFAULT_TRIGGER;
use super::settings::ReinjectOverrides;
use super::settings::ReinjectSettings;
use super::settings::Variant;
use crate::fragment::Fragment;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

/// The placeholder for the number of skills.
pub(super) const COUNT: &str = "{{ count }}";

const WORDS: Shape = Shape { trim: Trim::Newline, places: &[] };
const NOTICE: &str = "reinject/workspace_notice.md";
const ALIAS: &str = "reinject/alias.md";
const SEPARATOR: &str = "reinject/separator.md";
const SKILL_SYSTEM: &str = "reinject/skill_system.md";
const SKILL_SYSTEM_NONE: &str = "reinject/skill_system_none.md";

/// The templates that the variant `current` uses.
const TEMPLATES: &[(&str, Shape)] = &[
    (NOTICE, WORDS),
    (ALIAS, WORDS),
    (SEPARATOR, WORDS),
    (SKILL_SYSTEM, Shape { trim: Trim::Newline, places: &[TemplatePlace::may(COUNT)] }),
    (SKILL_SYSTEM_NONE, WORDS),
];

/// `[reinject]` of a layout.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReinjectLayout {
    /// The variant of the decision; absent for the default.
    pub variant: Option<Variant>,
    /// The instructions: a file of the pack, or of `assets_dir` where that is set.
    pub instructions: Option<String>,
    /// A folder with the product's files, in place of the pack.
    pub assets_dir: Option<String>,
    /// The rules: a file of the workspace.
    pub rules: Option<String>,
    /// Whether anything is said again that did not change.
    pub enabled: Option<bool>,
    /// After how many turns.
    pub turns: Option<f64>,
    /// After how many turns the rules alone, in the variant `current`.
    pub rules_turns: Option<f64>,
    /// The event that makes texts be repeated; absent for the default.
    pub trigger: Option<ReinjectTrigger>,
    /// Shares of the window.
    pub thresholds: Option<Vec<f64>>,
    /// Prompts for phases of work.
    #[serde(default)]
    pub phases: PhaseFiles,
}

impl ReinjectLayout {
    /// The variant of the decision, or the default one.
    pub fn variant(&self) -> Variant {
        self.variant.unwrap_or_default()
    }

    /// Takes from the layout beneath whatever this one does not say.
    pub(crate) fn complete(&mut self, base: &Self) {
        fn fill<T: Clone>(own: &mut Option<T>, base: &Option<T>) {
            if own.is_none() {
                own.clone_from(base);
            }
        }
        fill(&mut self.variant, &base.variant);
        fill(&mut self.instructions, &base.instructions);
        fill(&mut self.assets_dir, &base.assets_dir);
        fill(&mut self.rules, &base.rules);
        fill(&mut self.enabled, &base.enabled);
        fill(&mut self.turns, &base.turns);
        fill(&mut self.rules_turns, &base.rules_turns);
        fill(&mut self.trigger, &base.trigger);
        fill(&mut self.thresholds, &base.thresholds);
        self.phases.complete(&base.phases);
    }

    /// Why a key of this table could never have an effect in the whole layout, if there is one.
    pub(crate) fn without_effect(&self, whole: &Self) -> Option<String> {
        let variant = whole.variant();
        let by_window = matches!(
            whole.trigger.unwrap_or(DEFAULT_TRIGGER),
            ReinjectTrigger::Auto | ReinjectTrigger::Occupancy | ReinjectTrigger::Both
        );
        let by_turns = variant != Variant::Design || whole.trigger != Some(ReinjectTrigger::Occupancy);
        let design = variant == Variant::Design;
        let keys = [
            ("rules_turns", self.rules_turns.is_some(), variant == Variant::Current, "`variant = \"current\"`"),
            ("trigger", self.trigger.is_some(), design, "`variant = \"design\"`"),
            (
                "thresholds",
                self.thresholds.is_some(),
                design && by_window,
                "`variant = \"design\"` and a `trigger` by window",
            ),
            ("turns", self.turns.is_some(), by_turns, "a `trigger` by turns"),
            ("phases", !self.phases.is_empty(), variant != Variant::Current, "`variant = \"design\"` or `\"initial\"`"),
            ("assets_dir", self.assets_dir.is_some(), whole.instructions.is_some(), "`instructions`"),
        ];
        let dead = keys.into_iter().find(|(_, is_said, has_effect, _)| *is_said && !has_effect);
        dead.map(|(key, .., needs)| format!("`{key}` has no effect without {needs}"))
    }

    /// How often, with what an environment says before what the layout says.
    pub fn settings(&self, env: ReinjectOverrides) -> ReinjectSettings {
        let own = ReinjectOverrides {
            enabled: self.enabled,
            turns: self.turns,
            rules_turns: self.rules_turns,
            trigger: self.trigger,
            thresholds: self.thresholds.clone(),
        };
        ReinjectSettings::new(self.variant(), &env.or(&own))
    }

    /// The templates that it needs.
    pub(crate) fn templates(&self) -> Vec<(&str, Shape)> {
        let mut templates: Vec<(&str, Shape)> = Vec::new();
        if self.variant() == Variant::Current {
            templates.extend(TEMPLATES.iter().copied());
        }
        templates.extend(self.instructions.iter().map(|file| (file.as_str(), Shape::VERBATIM)));
        templates.extend(self.phases.files().map(|file| (file, WORDS)));
        templates
    }
}

impl VariantTexts {
    /// The texts of a pack; those that its variant does not use are empty.
    pub fn of(pack: &Pack) -> Self {
        let is_current = pack.layout.reinject.as_ref().is_some_and(|it| it.variant() == Variant::Current);
        if !is_current {
            return Self::default();
        }
        Self {
            workspace_notice: text(pack, NOTICE),
            skill_system: counted(pack),
            skill_system_none: text(pack, SKILL_SYSTEM_NONE),
        }
    }
}

impl envelope::EnvelopeTexts {
    /// The texts of a pack; empty where its variant does not use them.
    pub fn of(pack: &Pack) -> Self {
        let is_current = pack.layout.reinject.as_ref().is_some_and(|it| it.variant() == Variant::Current);
        if !is_current {
            return Self::default();
        }
        let mut separator = vec![Fragment::layout("\n\n---\n\n**")];
        separator.extend(text(pack, SEPARATOR));
        separator.push(Fragment::layout("**\n\n"));
        Self { alias: text(pack, ALIAS), separator }
    }
}

fn text(pack: &Pack, file: &str) -> Vec<Fragment> {
    pack.template(file).text()
}

fn counted(pack: &Pack) -> Vec<Fragment> {
    pack.template(SKILL_SYSTEM).render(&[(COUNT, vec![Fragment::layout(COUNT)])])
}
