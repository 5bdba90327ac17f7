//! Ways of working together that a person can choose by name.
//!
//! A preset is a mode with its instructions, which are texts of the pack, and an effort. Clients list them, and
//! complete a mode that comes without instructions.
//!
//! Not here: what a mode does to a turn (`turn`), and the message about a change (`update`).

use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::ReasoningEffort;

use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;

const PLAN: &str = "collaboration/plan.md";
const DEFAULT: &str = "collaboration/default.md";
const CANNOT_ASK: &str = "collaboration/rui_unavailable.md";

const MODE_NAMES: &str = "{{KNOWN_MODE_NAMES}}";
const ASKING: &str = "{{REQUEST_USER_INPUT_AVAILABILITY}}";
const MODE: &str = "{mode}";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (PLAN, Shape::VERBATIM),
    (DEFAULT, Shape::with(&[TemplatePlace::may(MODE_NAMES), TemplatePlace::may(ASKING)])),
    (CANNOT_ASK, Shape::with(&[TemplatePlace::may(MODE)])),
];

/// A mode that can be chosen by name.
#[derive(Debug, Clone, PartialEq)]
pub struct ModePreset {
    /// The name for people.
    pub name: &'static str,
    /// The collaboration mode of the preset.
    pub mode: CollaborationModeKind,
    /// How long the model may think in it, if the mode has a say in that.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The instructions for the model.
    pub instructions: Vec<Fragment>,
}

/// The presets of a pack, in the order in which they are listed.
pub fn presets(pack: &Pack) -> Vec<ModePreset> {
    vec![
        ModePreset {
            name: name(CollaborationModeKind::Plan),
            mode: CollaborationModeKind::Plan,
            reasoning_effort: Some(ReasoningEffort::Medium),
            instructions: instructions(pack, CollaborationModeKind::Plan),
        },
        ModePreset {
            name: name(CollaborationModeKind::Default),
            mode: CollaborationModeKind::Default,
            reasoning_effort: None,
            instructions: instructions(pack, CollaborationModeKind::Default),
        },
    ]
}

/// A mode with the instructions of its preset, unless it has its own. An empty text is its own.
pub fn completed(pack: &Pack, mut mode: CollaborationMode) -> CollaborationMode {
    let own = mode.settings.developer_instructions.take();
    let text = own.unwrap_or_else(|| concat(&instructions(pack, mode.mode)));
    mode.settings.developer_instructions = Some(text);
    mode
}

/// The instructions of a mode's preset.
pub(crate) fn instructions(pack: &Pack, mode: CollaborationModeKind) -> Vec<Fragment> {
    match mode {
        CollaborationModeKind::Plan => pack.template(PLAN).text(),
        CollaborationModeKind::Default => {
            let names = [CollaborationModeKind::Default, CollaborationModeKind::Plan].map(name).join(" and ");
            let names = Fragment::fact("collaboration modes", names);
            let mode = vec![Fragment::fact("collaboration modes", name(mode))];
            let asking = pack.template(CANNOT_ASK).render(&[(MODE, mode)]);
            pack.template(DEFAULT).render(&[(MODE_NAMES, vec![names]), (ASKING, asking)])
        }
    }
}

fn name(mode: CollaborationModeKind) -> &'static str {
    match mode {
        CollaborationModeKind::Plan => "Plan",
        CollaborationModeKind::Default => "Default",
    }
}

#[cfg(test)]
mod tests;
