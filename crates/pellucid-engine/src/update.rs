//! What is told when settings change between turns.
//!
//! The layout says in which order. Each update is a named rule here: it compares the facts of the
//! turn before with those of the coming turn, and says something only if its part changed. Base
//! instructions, documents and skills are never told again.

use crate::assemble;
use crate::assemble::ContextMessage;
use crate::facts::Facts;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::source;
use crate::template::Place;
use crate::template::Shape;

const MODEL_SWITCH: &str = "model_switch.md";
const MODEL_SWITCH_INTRO: &str = "model_switch/intro.md";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (MODEL_SWITCH, Shape::with(&[Place::may("{{ intro }}"), Place::must("{{ instructions }}")])),
    (MODEL_SWITCH_INTRO, Shape::VERBATIM),
];

/// A rule for one kind of change.
#[derive(Debug)]
pub struct Update {
    /// Its name in layouts.
    pub name: &'static str,
    /// Says what changed, if anything did.
    pub tell: fn(&Change<'_>) -> Option<ContextMessage>,
}

impl PartialEq for Update {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The facts before and after.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Where the texts are.
    pub pack: &'a Pack,
    /// Those of the last turn that began, or of the session's start.
    pub before: &'a Facts,
    /// Those of the coming turn.
    pub after: &'a Facts,
    /// The model of the last task that ended, where there was one.
    pub previous_model: Option<&'a str>,
}

/// Every rule.
static UPDATES: [Update; 5] = [
    Update { name: "environment", tell: environment },
    Update { name: "permissions", tell: permissions },
    Update { name: "collaboration", tell: collaboration },
    Update { name: "model_switch", tell: model_switch },
    Update { name: "personality", tell: personality },
];

/// Finds a rule by its name.
pub fn find(name: &str) -> Option<&'static Update> {
    UPDATES.iter().find(|update| update.name == name)
}

/// The names of all rules.
pub fn names() -> Vec<String> {
    UPDATES.iter().map(|update| update.name.to_owned()).collect()
}

/// What is told of a change, in the layout's order.
pub fn updates(change: &Change<'_>) -> Vec<ContextMessage> {
    change.pack.layout.updates.iter().filter_map(|update| (update.tell)(change)).collect()
}

fn environment(change: &Change<'_>) -> Option<ContextMessage> {
    let Change { before, after, .. } = change;
    let has_moved = before.cwd != after.cwd;
    (has_moved || before.network != after.network).then(|| ContextMessage {
        slot: "environment".into(),
        role: "user",
        fragments: source::environment(after, has_moved),
        inside: None,
    })
}

fn permissions(change: &Change<'_>) -> Option<ContextMessage> {
    let Change { before, after, .. } = change;
    let is_same = before.sandbox_policy == after.sandbox_policy && before.approval_policy == after.approval_policy;
    if is_same { None } else { assemble::slot(change.pack, after, "permissions") }
}

fn collaboration(change: &Change<'_>) -> Option<ContextMessage> {
    let is_same = change.before.collaboration_mode == change.after.collaboration_mode;
    if is_same { None } else { assemble::slot(change.pack, change.after, "collaboration") }
}

fn model_switch(change: &Change<'_>) -> Option<ContextMessage> {
    let Change { pack, before, after, previous_model } = change;
    if previous_model.unwrap_or(&before.model.slug) == after.model.slug {
        return None;
    }
    let own = Facts { base_instructions: None, ..(*after).clone() };
    let instructions = source::instructions_for(&own, pack, after.personality);
    if concat(&instructions).is_empty() {
        return None;
    }
    let intro = pack.template(MODEL_SWITCH_INTRO).text();
    let values = [("{{ intro }}", intro), ("{{ instructions }}", instructions)];
    let fragments = pack.template(MODEL_SWITCH).render(&values);
    Some(ContextMessage { slot: "model_switch".into(), role: "developer", fragments, inside: None })
}

fn personality(change: &Change<'_>) -> Option<ContextMessage> {
    let Change { pack, before, after, .. } = change;
    if before.model.slug != after.model.slug || before.personality == after.personality {
        return None;
    }
    source::personality_message(after, pack).map(|fragments| ContextMessage {
        slot: "personality".into(),
        role: "developer",
        fragments,
        inside: None,
    })
}
