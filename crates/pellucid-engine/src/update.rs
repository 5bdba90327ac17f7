//! Messages about settings that changed between turns.
//!
//! The layout says in which order. Each update is a named rule here: it compares the facts of the
//! turn before with those of the coming turn, and only if its part changed it fills the slot that has its role again.
//! Documents and skills are never sent again.

use crate::assemble;
use crate::assemble::LayoutMessage;
use crate::assemble::SlotAgain;
use crate::facts::Facts;
use crate::fragment::Omission;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::pack::SlotRole;
use crate::template::Shape;
use crate::template::TemplatePlace;

const MODEL_SWITCH: &str = "model_switch.md";
const MODEL_SWITCH_INTRO: &str = "model_switch/intro.md";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (MODEL_SWITCH, Shape::with(&[TemplatePlace::may("{{ intro }}"), TemplatePlace::must("{{ instructions }}")])),
    (MODEL_SWITCH_INTRO, Shape::VERBATIM),
];

/// A rule for one kind of change.
#[derive(Debug)]
pub struct Update {
    /// The name of the update in layouts.
    pub name: &'static str,
    /// The role of the slot that it sends again.
    pub role: SlotRole,
    /// Whether the change concerns this rule.
    is_due: fn(&FactsChange<'_>) -> bool,
    /// Computes the message about the change.
    render: fn(&FactsChange<'_>, SlotRole) -> Option<SlotAgain>,
}

impl PartialEq for Update {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The facts before and after.
#[derive(Debug, Clone, Copy)]
pub struct FactsChange<'a> {
    /// The pack with the texts.
    pub pack: &'a Pack,
    /// The facts of the last turn that began, or of the session's start.
    pub before: &'a Facts,
    /// The facts of the coming turn.
    pub after: &'a Facts,
    /// The model of the last task that ended, where there was one.
    pub previous_model: Option<&'a str>,
}

/// All updates that a layout can name.
static UPDATES: [Update; 5] = [
    Update { name: "environment", role: SlotRole::Environment, is_due: has_moved, render: slot },
    Update { name: "permissions", role: SlotRole::Permissions, is_due: is_permitted_otherwise, render: slot },
    Update { name: "collaboration", role: SlotRole::Collaboration, is_due: is_in_another_mode, render: slot },
    Update { name: "model_switch", role: SlotRole::Base, is_due: is_another_model, render: model_switch },
    Update { name: "personality", role: SlotRole::Personality, is_due: has_another_tone, render: slot },
];

/// Finds a rule by its name.
pub fn find(name: &str) -> Option<&'static Update> {
    UPDATES.iter().find(|update| update.name == name)
}

/// The rule that sends the slot with a role again; absent for a role that has another use.
pub(crate) fn of_role(role: SlotRole) -> Option<&'static Update> {
    UPDATES.iter().find(|update| update.role == role)
}

/// The names of all rules.
pub fn names() -> Vec<String> {
    UPDATES.iter().map(|update| update.name.to_owned()).collect()
}

/// The messages about a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Updates {
    /// The messages, in the layout's order.
    pub messages: Vec<LayoutMessage>,
    /// The content that budgets cut from the messages.
    pub omissions: Vec<Omission>,
}

/// The messages about a change, in the layout's order.
pub fn updates(change: &FactsChange<'_>) -> Updates {
    let due = change.pack.layout.updates.iter().filter(|update| (update.is_due)(change));
    let mut collected = Updates::default();
    for SlotAgain { message, omissions } in due.filter_map(|update| (update.render)(change, update.role)) {
        collected.messages.push(message);
        collected.omissions.extend(omissions);
    }
    collected
}

fn slot(change: &FactsChange<'_>, role: SlotRole) -> Option<SlotAgain> {
    assemble::again(change.pack, change.before, change.after, role)
}

fn has_moved(FactsChange { before, after, .. }: &FactsChange<'_>) -> bool {
    before.settings.cwd != after.settings.cwd || before.settings.network != after.settings.network
}

fn is_permitted_otherwise(FactsChange { before, after, .. }: &FactsChange<'_>) -> bool {
    before.settings.sandbox_policy != after.settings.sandbox_policy
        || before.settings.approval_policy != after.settings.approval_policy
}

fn is_in_another_mode(FactsChange { before, after, .. }: &FactsChange<'_>) -> bool {
    before.settings.collaboration_mode != after.settings.collaboration_mode
}

fn is_another_model(FactsChange { before, after, previous_model, .. }: &FactsChange<'_>) -> bool {
    previous_model.unwrap_or(&before.settings.model.slug) != after.settings.model.slug
}

fn has_another_tone(FactsChange { before, after, .. }: &FactsChange<'_>) -> bool {
    before.settings.model.slug == after.settings.model.slug && before.settings.personality != after.settings.personality
}

/// The instructions of the new model, whatever instructions the session was given.
fn model_switch(change: &FactsChange<'_>, role: SlotRole) -> Option<SlotAgain> {
    let FactsChange { pack, before, after, .. } = change;
    let mut own = (*after).clone();
    own.settings.base_instructions = None;
    own.world.recorded_instructions = None;
    let SlotAgain { message: LayoutMessage { fragments: instructions, .. }, omissions } =
        assemble::again(pack, before, &own, role)?;
    if concat(&instructions).is_empty() {
        return None;
    }
    let intro = pack.template(MODEL_SWITCH_INTRO).text();
    let values = [("{{ intro }}", intro), ("{{ instructions }}", instructions)];
    let fragments = pack.template(MODEL_SWITCH).render(&values);
    let message = LayoutMessage { slot: "model_switch".into(), role: "developer", fragments, inside: None };
    Some(SlotAgain { message, omissions })
}
