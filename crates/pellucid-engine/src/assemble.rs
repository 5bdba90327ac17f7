//! Assembly: facts and a pack in, the first context out.
//!
//! Walks the layout's slots in order, asks their sources, and returns what the model will see
//! together with everything that was left out. It cannot fail: what could go wrong was found when
//! the pack was loaded.
//!
//! Not here: the transcript, wires, and where facts come from.

use std::sync::Arc;

use pellucid_protocol::item::Item;

use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::concat;
use crate::gate;
use crate::pack::Pack;
use crate::pack::Slot;
use crate::pack::Target;
use crate::source::Ask;

/// The first context of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The base instructions.
    pub instructions: Vec<Fragment>,
    /// The messages before the conversation, in order.
    pub messages: Vec<ContextMessage>,
    /// What was left out.
    pub omissions: Vec<Omission>,
}

/// A message that the layout makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextMessage {
    /// Which slot.
    pub slot: Arc<str>,
    /// `developer` or `user`.
    pub role: &'static str,
    /// Its text.
    pub fragments: Vec<Fragment>,
    /// What its sources gave, before a template was put around it.
    pub inside: Option<String>,
}

impl ContextMessage {
    /// The item that it will be.
    pub fn item(&self) -> Item {
        Item::text(self.role, concat(&self.fragments))
    }
}

/// Puts the first context together.
pub fn assemble(pack: &Pack, facts: &Facts) -> Context {
    let mut context = Context::default();
    for slot in &pack.layout.slots {
        let Some((fragments, inside)) = fill(slot, pack, facts, &mut context.omissions) else {
            continue;
        };
        let role = match slot.target {
            Target::Instructions => {
                context.instructions = fragments;
                continue;
            }
            Target::Developer => "developer",
            Target::User => "user",
        };
        context.messages.push(ContextMessage { slot: slot.id.clone(), role, fragments, inside });
    }
    context
}

/// One slot alone; absent when the layout does not have it, or it is closed or empty now.
pub fn slot(pack: &Pack, facts: &Facts, id: &str) -> Option<ContextMessage> {
    let slot = pack.layout.slots.iter().find(|slot| &*slot.id == id)?;
    let (fragments, inside) = fill(slot, pack, facts, &mut Vec::new())?;
    let role = if slot.target == Target::Developer { "developer" } else { "user" };
    Some(ContextMessage { slot: slot.id.clone(), role, fragments, inside })
}

/// The text of a slot, and what stands inside its template; absent when its gates are closed or
/// nobody has anything to say.
fn fill(
    slot: &Slot,
    pack: &Pack,
    facts: &Facts,
    omissions: &mut Vec<Omission>,
) -> Option<(Vec<Fragment>, Option<String>)> {
    if !gate::all_open(&slot.gates, facts) {
        return None;
    }
    let mut text: Option<Vec<Fragment>> = None;
    for part in slot.parts.iter().filter(|part| gate::all_open(&part.gates, facts)) {
        let given = (part.source.give)(&Ask { facts, pack, slot: &slot.id, budget: part.budget });
        omissions.extend(given.omissions);
        let Some(fragments) = given.fragments else {
            continue;
        };
        let text = text.get_or_insert_default();
        if !text.is_empty() && !part.before.is_empty() {
            text.push(Fragment::layout(part.before.as_str()));
        }
        text.extend(fragments);
    }
    let text = text?;
    let Some(template) = &slot.template else {
        return Some((text, None));
    };
    let inside = Some(concat(&text));
    let directory = vec![Fragment::fact("cwd", facts.cwd.as_str())];
    Some((pack.template(template).render(&[("{{ text }}", text), ("{{ directory }}", directory)]), inside))
}
