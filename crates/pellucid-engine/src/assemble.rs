//! Assembly: facts and a pack in, the first context out.
//!
//! Walks the layout's slots in order, asks their sources, cuts what they give to the layout's budgets, and returns what the
//! model will see together with everything that was left out. It cannot fail: what could go wrong was found when
//! the pack was loaded.
//!
//! Not here: the transcript, wires, and where facts come from.

use std::sync::Arc;

use pellucid_protocol::item::Item;

use crate::cut::slot::Purse;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::fragment::concat;
use crate::gate;
use crate::gate::Gate;
use crate::not_utf8;
use crate::pack::Depth;
use crate::pack::Layout;
use crate::pack::Pack;
use crate::pack::Slot;
use crate::pack::SlotPart;
use crate::pack::SlotRole;
use crate::pack::SlotTarget;
use crate::source::SourceInput;
use crate::source::SourceKind;

/// The first context of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The text of the base instructions, in fragments.
    pub instructions: Vec<Fragment>,
    /// The messages before the conversation, in order.
    pub messages: Vec<LayoutMessage>,
    /// The messages with a place within the conversation, in the order of their slots.
    pub placed: Vec<PlacedMessage>,
    /// The content that was cut or left out, with the reason.
    pub omissions: Vec<Omission>,
}

/// A message that the layout makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutMessage {
    /// The id of the slot that the message was made from.
    pub slot: Arc<str>,
    /// `developer`, `user` or `assistant`.
    pub role: &'static str,
    /// The text of the message, in fragments.
    pub fragments: Vec<Fragment>,
    /// The text of the slot's sources, without the template around it.
    pub inside: Option<String>,
}

/// A message of the layout with a place within the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedMessage {
    /// The message as the slot made it.
    pub message: LayoutMessage,
    /// The place of the message.
    pub depth: Depth,
}

impl LayoutMessage {
    /// The item that it will be.
    pub fn item(&self) -> Item {
        Item::text(self.role, concat(&self.fragments))
    }
}

/// Puts the first context together.
pub fn assemble(pack: &Pack, facts: &Facts) -> Context {
    let ground = Ground { pack, facts, before: None };
    let mut context = Context::default();
    for slot in &pack.layout.slots {
        context.take(slot, ground);
    }
    let of_tools = pack.layout.tools.iter().map(|tool| (&tool.gates, &tool.file));
    for (gates, file) in of_tools {
        context.omissions.extend(gate::failures(gates, pack, facts, file));
    }
    context
}

/// The messages with a place within the conversation, and what they lack.
pub fn placed(pack: &Pack, facts: &Facts) -> (Vec<PlacedMessage>, Vec<Omission>) {
    let ground = Ground { pack, facts, before: None };
    let mut context = Context::default();
    for slot in pack.layout.slots.iter().filter(|slot| slot.depth.is_some()) {
        context.take(slot, ground);
    }
    (context.placed, context.omissions)
}

impl Context {
    /// Takes what a slot gives.
    fn take(&mut self, slot: &Slot, ground: Ground<'_>) {
        let Ground { pack, facts, .. } = ground;
        if slot.target == SlotTarget::Messages {
            let messages = own_messages(slot, ground, &mut self.omissions);
            let fragments = messages.iter().flat_map(|message| &message.fragments);
            self.omissions.extend(not_utf8::omissions(facts, &slot.id, fragments));
            messages.into_iter().for_each(|message| self.add(message, slot.depth));
            return;
        }
        let Some((fragments, inside)) = fill(slot, ground, &mut self.omissions) else {
            return;
        };
        self.omissions.extend(not_utf8::omissions(facts, &slot.id, &fragments));
        let role = match slot.target {
            SlotTarget::Instructions => return self.instruct(fragments, &pack.layout.instructions.join),
            SlotTarget::Developer => "developer",
            SlotTarget::User | SlotTarget::Messages => "user",
        };
        self.add(LayoutMessage { slot: slot.id.clone(), role, fragments, inside }, slot.depth);
    }

    fn add(&mut self, message: LayoutMessage, depth: Option<Depth>) {
        match depth {
            Some(depth) => self.placed.push(PlacedMessage { message, depth }),
            None => self.messages.push(message),
        }
    }

    /// The text of the slot with a role, without its template.
    pub fn inside(&self, layout: &Layout, role: SlotRole) -> Option<String> {
        let slot = layout.slot_with(role)?;
        let message = self.messages.iter().find(|message| message.slot == slot.id)?;
        Some(message.inside.clone().unwrap_or_else(|| concat(&message.fragments)))
    }

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
fn own_messages(slot: &Slot, ground: Ground<'_>, omissions: &mut Vec<Omission>) -> Vec<LayoutMessage> {
    if !ground.opens(&slot.gates, &slot.id, omissions) {
        return Vec::new();
    }
    let mut messages = Vec::new();
    let mut of_slot = Purse::new(slot.budget, &slot.id, &slot.id);
    for part in &slot.parts {
        if !ground.opens(&part.gates, &slot.id, omissions) {
            continue;
        }
        let given = (part.source.give)(&ground.ask(part, slot));
        omissions.extend(given.omissions);
        let mut of_part = Purse::new(part.budget, &slot.id, part.name());
        for message in given.messages {
            let fragments = of_part.cut(message.fragments, omissions);
            let fragments = of_slot.cut(fragments, omissions);
            if !fragments.is_empty() {
                messages.push(LayoutMessage { slot: slot.id.clone(), role: message.role, fragments, inside: None });
            }
        }
    }
    messages
}

/// The values that slots are filled from.
#[derive(Debug, Clone, Copy)]
struct Ground<'a> {
    pack: &'a Pack,
    facts: &'a Facts,
    /// The facts at the time when the slot was sent before; absent for the first time.
    before: Option<&'a Facts>,
}

impl<'a> Ground<'a> {
    /// Whether all gates are open. What keeps one closed by failing is an omission.
    fn opens(self, gates: &[Gate], slot: &Arc<str>, omissions: &mut Vec<Omission>) -> bool {
        let is_open = gate::all_open(gates, self.pack, self.facts);
        if !is_open {
            omissions.extend(gate::failures(gates, self.pack, self.facts, slot));
        }
        is_open
    }

    fn ask(self, part: &'a SlotPart, slot: &'a Slot) -> SourceInput<'a> {
        let Self { pack, facts, before } = self;
        SourceInput { facts, pack, slot: &slot.id, budget: part.budget, before, file: part.file.as_deref() }
    }
}

/// A slot that is sent again, with what its budget takes from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotAgain {
    pub message: LayoutMessage,
    pub omissions: Vec<Omission>,
}

/// The slot with a role alone, sent because facts changed; absent when the layout does not have it, or it is closed or
/// empty now.
pub(crate) fn again(pack: &Pack, before: &Facts, after: &Facts, role: SlotRole) -> Option<SlotAgain> {
    let slot = pack.layout.slot_with(role)?;
    let mut omissions = Vec::new();
    let ground = Ground { pack, facts: after, before: Some(before) };
    let (fragments, inside) = fill(slot, ground, &mut omissions)?;
    let role = match slot.target {
        SlotTarget::Developer | SlotTarget::Instructions => "developer",
        SlotTarget::User | SlotTarget::Messages => "user",
    };
    // Omissions of sources were reported when the session began.
    omissions.retain(|omission| matches!(omission.why, Why::Cut { .. } | Why::OverBudget { .. }));
    Some(SlotAgain { message: LayoutMessage { slot: slot.id.clone(), role, fragments, inside }, omissions })
}

/// The text of a slot, and the part of it inside the template. Absent when its gates are closed, no source has a
/// text, or the budget leaves nothing.
fn fill(slot: &Slot, ground: Ground<'_>, omissions: &mut Vec<Omission>) -> Option<(Vec<Fragment>, Option<String>)> {
    let Ground { pack, facts, .. } = ground;
    if !ground.opens(&slot.gates, &slot.id, omissions) {
        return None;
    }
    let mut text: Option<Vec<Fragment>> = None;
    for part in &slot.parts {
        if !ground.opens(&part.gates, &slot.id, omissions) {
            continue;
        }
        let given = (part.source.give)(&ground.ask(part, slot));
        omissions.extend(given.omissions);
        let Some(fragments) = given.fragments else {
            continue;
        };
        let budget = part.budget.filter(|_| part.source.kind != SourceKind::Entries);
        let Some(fragments) = kept(fragments, Purse::new(budget, &slot.id, part.name()), omissions) else {
            continue;
        };
        let text = text.get_or_insert_default();
        if !text.is_empty() && !part.before.is_empty() {
            text.push(Fragment::layout(part.before.as_str()));
        }
        text.extend(fragments);
    }
    let text = kept(text?, Purse::new(slot.budget, &slot.id, &slot.id), omissions)?;
    let Some(template) = &slot.template else {
        return Some((text, None));
    };
    let inside = Some(concat(&text));
    let directory = vec![Fragment::fact("cwd", facts.settings.cwd.as_str())];
    Some((pack.template(template).render(&[("{{ text }}", text), ("{{ directory }}", directory)]), inside))
}

/// The part of a text that fits the budget; absent if nothing is left of a text that is not blank.
fn kept(fragments: Vec<Fragment>, mut purse: Purse<'_>, omissions: &mut Vec<Omission>) -> Option<Vec<Fragment>> {
    let was_empty = fragments.iter().all(|fragment| fragment.text.is_empty());
    let fragments = purse.cut(fragments, omissions);
    (was_empty || !fragments.is_empty()).then_some(fragments)
}
