//! Refuses keys of a layout that could never have an effect, and missing roles without which a text would never be
//! sent.
//!
//! Only what the file itself says is checked; what it takes from beneath was checked there.

use toml::Spanned;

use super::PackError;
use super::SlotRole;
use super::layout::CompactionStrategy;
use super::layout::Layout;
use super::layout::Slot;
use super::layout::SlotTarget;
use super::layout_file::RawLayout;
use super::layout_file::RawSlot;
use super::layout_file::Reader;
use crate::source::SourceKind;
use crate::update;

/// Sources whose text is the user's and the project's instruction files.
const INSTRUCTION_FILES: [&str; 2] = ["home_document", "project_docs"];

pub(super) fn check(raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    for (n, (own, slot)) in raw.slot.iter().zip(&layout.slots).enumerate() {
        check_slot(own, slot, reader)?;
        check_same(n, raw, layout, reader)?;
    }
    check_roles(raw, layout, reader)?;
    check_tools(raw, layout, reader)?;
    check_tables(raw, layout, reader)
}

/// Checks the keys of one slot.
fn check_slot(own: &RawSlot, slot: &Slot, reader: &Reader<'_>) -> Result<(), PackError> {
    let refused = |message: String| Err(reader.refused(&own.id, format!("slot `{}`: {message}", slot.id)));
    let is_messages = slot.target == SlotTarget::Messages;
    for part in &slot.parts {
        let name = part.source.name;
        match (is_messages, part.source.kind) {
            (true, SourceKind::Text | SourceKind::Entries) => {
                return refused(format!("source `{name}` gives text, which target `messages` has no place for"));
            }
            (false, SourceKind::Messages) => {
                return refused(format!("source `{name}` gives messages; write `target = \"messages\"`"));
            }
            _ => {}
        }
    }
    if is_messages && slot.template.is_some() {
        return refused("target `messages` uses no `template`".to_owned());
    }
    if let Some(turns) = own.again_turns.as_ref().filter(|_| slot.target == SlotTarget::Instructions) {
        let message = "target `instructions` is in every request, so `again_turns` has no effect";
        return Err(reader.refused(turns, format!("slot `{}`: {message}", slot.id)));
    }
    if let Some(before) = own.parts.first().and_then(|part| part.before.as_ref()) {
        let message = "nothing comes before the first part, so its `before` has no effect";
        return Err(reader.refused(before, format!("slot `{}`: {message}", slot.id)));
    }
    match (&own.role, slot.role) {
        (Some(role), Some(_)) if is_messages => {
            let message = "target `messages` cannot have a role; give it to a slot that makes one text";
            Err(reader.refused(role, format!("slot `{}`: {message}", slot.id)))
        }
        (Some(role), Some(SlotRole::UserInstructions)) if slot.target == SlotTarget::Instructions => {
            let message = "role `user_instructions` needs target `developer` or `user`";
            Err(reader.refused(role, format!("slot `{}`: {message}", slot.id)))
        }
        _ => Ok(()),
    }
}

/// Ids and roles that an earlier slot has.
fn check_same(n: usize, raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    let (own, slot, earlier) = (&raw.slot[n], &layout.slots[n], &layout.slots[..n]);
    if earlier.iter().any(|it| it.id == slot.id) {
        return Err(reader.refused(&own.id, format!("a slot before this one has the id `{}` too", slot.id)));
    }
    let same = earlier.iter().find(|it| it.role.is_some() && it.role == slot.role);
    match (&own.role, same) {
        (Some(role), Some(same)) => {
            let message = format!("slot `{}` has the role `{}` already", same.id, role.get_ref());
            Err(reader.refused(role, message))
        }
        _ => Ok(()),
    }
}

/// Refuses updates without a slot that they could describe, roles without an update, and instruction files without a
/// role.
fn check_roles(raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    let order = raw.updates.as_ref().map_or(&[][..], |updates| &updates.order);
    for (n, (name, update)) in order.iter().zip(&layout.updates).enumerate() {
        if order[..n].iter().any(|earlier| earlier.get_ref() == name.get_ref()) {
            return Err(reader.refused(name, format!("the update `{}` is listed twice", update.name)));
        }
        if layout.slot_with(update.role).is_none() {
            let role = update.role.as_str();
            let meant = slot_of_source(layout, role).map_or_else(String::new, |id| format!(", perhaps in slot `{id}`"));
            let message =
                format!("the update `{}` has no slot to describe: write `role = \"{role}\"`{meant}", update.name);
            return Err(reader.refused(name, message));
        }
    }
    for (own, slot) in raw.slot.iter().zip(&layout.slots) {
        let update = slot.role.and_then(update::of_role);
        if let (Some(role), Some(update)) = (&own.role, update)
            && !layout.updates.contains(&update)
        {
            let message = format!(
                "slot `{}`: the role `{}` has no effect; add `{}` to `order` in [updates], or remove the role",
                slot.id,
                role.get_ref(),
                update.name
            );
            return Err(reader.refused(role, message));
        }
    }
    if layout.slot_with(SlotRole::UserInstructions).is_none() {
        let reads_files = |slot: &Slot| slot.parts.iter().any(|part| INSTRUCTION_FILES.contains(&part.source.name));
        if let Some((own, slot)) = raw.slot.iter().zip(&layout.slots).find(|(_, slot)| reads_files(slot)) {
            let message = format!(
                "slot `{}` has instruction files, so it needs `role = \"user_instructions\"`; without it they are not written into the session file",
                slot.id
            );
            return Err(reader.refused(&own.id, message));
        }
    }
    Ok(())
}

/// The slot of the source that is called like a role.
fn slot_of_source<'a>(layout: &'a Layout, role: &str) -> Option<&'a str> {
    let source = if role == SlotRole::Base.as_str() { "base_instructions" } else { role };
    let has_source = |slot: &&Slot| slot.parts.iter().any(|part| part.source.name == source);
    layout.slots.iter().find(has_source).map(|slot| &*slot.id)
}

/// Refuses tools that are named twice, or kept though they do not exist.
fn check_tools(raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    for (n, tool) in raw.tool.iter().enumerate() {
        if raw.tool[..n].iter().any(|earlier| earlier.file.get_ref() == tool.file.get_ref()) {
            return Err(reader.refused(&tool.file, format!("the tool `{}` is listed twice", tool.file.get_ref())));
        }
    }
    for tool in raw.tools_only.iter().flat_map(|only| &only.tools) {
        if !layout.tools.iter().any(|known| *known.file == **tool.get_ref()) {
            let known = layout.tools.iter().map(|known| known.file.to_string()).collect();
            return Err(reader.unknown("tool", tool, known));
        }
    }
    let mut slugs: Vec<&String> = Vec::new();
    for slug in layout.models.iter().flat_map(|texts| &texts.slugs) {
        if slugs.contains(&slug) {
            let message = format!("two [[model]] name `{slug}`, so one of them has no effect");
            return Err(reader.refused(&whole_file(), message));
        }
        slugs.push(slug);
    }
    Ok(())
}

/// Tables that no slot, strategy or variant of the layout reads.
fn check_tables(raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    let reads = |prefix: &str| {
        let mut parts = layout.slots.iter().flat_map(|slot| &slot.parts);
        parts.any(|part| part.source.name.starts_with(prefix))
    };
    if let Some(join) = &raw.instructions.join
        && layout.slots.iter().filter(|slot| slot.target == SlotTarget::Instructions).count() < 2
    {
        let message = "`join` has no effect, since fewer than two slots have target `instructions`";
        return Err(reader.refused(join, message.to_owned()));
    }
    if let Some(injection) = raw.injection.first().filter(|_| !reads("injected_")) {
        let message = "[[injection]] has no effect without a slot of source `injected_sections` or `injected_preamble`";
        return Err(reader.refused(&injection.kind, message.to_owned()));
    }
    if layout.compaction.strategy == CompactionStrategy::Summarise {
        let only_window = |key: &str| format!("`{key}` has no effect unless `strategy = \"window\"`");
        if let Some(tokens) = &raw.compaction.reserved_output_tokens {
            return Err(reader.refused(tokens, only_window("reserved_output_tokens")));
        }
        if let Some(tokens) = &raw.compaction.summary_max_output_tokens {
            return Err(reader.refused(tokens, only_window("summary_max_output_tokens")));
        }
    }
    if let (Some(own), Some(whole)) = (&raw.reinject, &layout.reinject)
        && let Some(message) = own.get_ref().without_effect(whole)
    {
        return Err(reader.refused(own, message));
    }
    if let (Some(own), Some(whole)) = (&raw.memory, &layout.memory)
        && let Some(message) = own.get_ref().without_effect(whole)
    {
        return Err(reader.refused(own, message));
    }
    Ok(())
}

/// The beginning of the file, for an error without a more exact position.
pub(super) fn whole_file() -> Spanned<()> {
    Spanned::new(0..0, ())
}
