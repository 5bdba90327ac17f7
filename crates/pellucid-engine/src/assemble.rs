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
use crate::not_utf8;
use crate::pack::Pack;
use crate::pack::Part;
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
    /// `developer`, `user` or `assistant`.
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
        if slot.target == Target::Messages {
            let messages = own_messages(slot, pack, facts, &mut context.omissions);
            let fragments = messages.iter().flat_map(|message| &message.fragments);
            context.omissions.extend(not_utf8::omissions(facts, &slot.id, fragments));
            context.messages.extend(messages);
            continue;
        }
        let Some((fragments, inside)) = fill(slot, pack, facts, &mut context.omissions) else {
            continue;
        };
        context.omissions.extend(not_utf8::omissions(facts, &slot.id, &fragments));
        let role = match slot.target {
            Target::Instructions => {
                context.instruct(fragments, &pack.layout.join);
                continue;
            }
            Target::Developer => "developer",
            Target::User | Target::Messages => "user",
        };
        context.messages.push(ContextMessage { slot: slot.id.clone(), role, fragments, inside });
    }
    context
}

impl Context {
    /// Adds to the instructions; what is empty adds nothing.
    fn instruct(&mut self, fragments: Vec<Fragment>, join: &str) {
        let is_empty = |fragments: &[Fragment]| fragments.iter().all(|fragment| fragment.text.is_empty());
        if !is_empty(&self.instructions) && !is_empty(&fragments) && !join.is_empty() {
            self.instructions.push(Fragment::layout(join));
        }
        self.instructions.extend(fragments);
    }
}

/// The messages that a slot's sources give by themselves.
fn own_messages(slot: &Slot, pack: &Pack, facts: &Facts, omissions: &mut Vec<Omission>) -> Vec<ContextMessage> {
    if !gate::all_open(&slot.gates, facts) {
        return Vec::new();
    }
    let mut messages = Vec::new();
    for part in slot.parts.iter().filter(|part| gate::all_open(&part.gates, facts)) {
        let given = (part.source.give)(&ask(part, slot, pack, facts));
        omissions.extend(given.omissions);
        messages.extend(given.messages.into_iter().map(|message| ContextMessage {
            slot: slot.id.clone(),
            role: message.role,
            fragments: message.fragments,
            inside: None,
        }));
    }
    messages
}

fn ask<'a>(part: &'a Part, slot: &'a Slot, pack: &'a Pack, facts: &'a Facts) -> Ask<'a> {
    Ask { facts, pack, slot: &slot.id, budget: part.budget, file: part.file.as_deref() }
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
        let given = (part.source.give)(&ask(part, slot, pack, facts));
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
