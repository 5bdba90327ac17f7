//! Refuses keys of a layout that could never have an effect, and missing roles without which a text would never be
//! sent.
//!
//! Only what the file itself says is checked; what it takes from beneath was checked there.

use pellucid_protocol::settings::McpOffer;
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
use crate::computed::EXTENSION;
use crate::deferred;
use crate::prompt_sizes::ReportLayout;
use crate::source::SourceKind;
use crate::update;

/// Sources whose text is the user's and the project's instruction files.
const INSTRUCTION_FILES: [&str; 2] = ["home_document", "project_docs"];

pub(super) fn check(raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    let own_slots = own_slots(raw, layout);
    for (own, at) in &own_slots {
        check_slot(own, &layout.slots[*at], reader)?;
        check_place(own, raw, reader)?;
        check_same(own, *at, &own_slots, layout, reader)?;
    }
    check_roles(raw, &own_slots, layout, reader)?;
    check_tools(raw, layout, reader)?;
    check_deferred(raw, layout, reader)?;
    check_tables(raw, layout, reader)
}

/// A slot of the file with its place in the layout.
type OwnSlot<'a> = (&'a RawSlot, usize);

/// The slots that the file itself has.
fn own_slots<'a>(raw: &'a RawLayout, layout: &Layout) -> Vec<OwnSlot<'a>> {
    let is_one = |slot: &Slot| layout.slots.iter().filter(|it| it.id == slot.id).count() == 1;
    // Only slots that replace those beneath can have the same id, and they are in the order of the file.
    let is_by_id = layout.slots.iter().all(is_one);
    let place = |(n, own): (usize, &'a RawSlot)| {
        let found = layout.slots.iter().position(|slot| is_by_id && *slot.id == **own.id.get_ref());
        (own, found.unwrap_or(n))
    };
    raw.slot.iter().enumerate().map(place).collect()
}

/// Checks where a slot goes.
fn check_place(own: &RawSlot, raw: &RawLayout, reader: &Reader<'_>) -> Result<(), PackError> {
    let id = own.id.get_ref();
    if let (Some(from), None) = (&own.from, &own.depth) {
        return Err(reader.refused(from, format!("slot `{id}`: `from` has no effect without `depth`")));
    }
    let Some(place) = own.before.as_ref().or(own.after.as_ref()) else {
        return Ok(());
    };
    let refused = |message: &str| Err(reader.refused(place, format!("slot `{id}`: {message}")));
    if own.depth.is_some() || (own.before.is_some() && own.after.is_some()) {
        return refused("a slot has one of `before`, `after` and `depth`");
    }
    if raw.from.is_none() {
        return refused("`before` and `after` name a slot of the pack beneath, and this pack has none; add `from`");
    }
    if !raw.adds_slots() {
        return refused(
            "another slot has no `before`, `after` or `depth`, so the slots of this file replace those beneath, in their order",
        );
    }
    Ok(())
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
    if let Some(depth) = &own.depth {
        let refused = |message: &str| Err(reader.refused(depth, format!("slot `{}`: {message}", slot.id)));
        if slot.target == SlotTarget::Instructions {
            return refused("`depth` needs target `developer`, `user` or `messages`");
        }
        if own.again_turns.is_some() {
            return refused("a text with `depth` is placed again in every turn, so `again_turns` has no effect");
        }
        if own.role.is_some() {
            return refused("a text with `depth` is made again in every turn, so `role` has no effect");
        }
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
fn check_same(
    own: &RawSlot,
    at: usize,
    own_slots: &[OwnSlot<'_>],
    layout: &Layout,
    reader: &Reader<'_>,
) -> Result<(), PackError> {
    let slot = &layout.slots[at];
    if layout.slots[..at].iter().any(|it| it.id == slot.id) {
        return Err(reader.refused(&own.id, format!("a slot before this one has the id `{}` too", slot.id)));
    }
    let is_beneath = |place: usize| !own_slots.iter().any(|(_, own)| *own == place);
    let mut others = layout.slots.iter().enumerate().filter(|(place, _)| *place < at || is_beneath(*place));
    let same = others.find(|(_, it)| it.role.is_some() && it.role == slot.role).map(|(_, same)| same);
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
fn check_roles(
    raw: &RawLayout,
    own_slots: &[OwnSlot<'_>],
    layout: &Layout,
    reader: &Reader<'_>,
) -> Result<(), PackError> {
    let own_slots = || own_slots.iter().map(|(own, at)| (own, &layout.slots[*at]));
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
    for (own, slot) in own_slots() {
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
        if let Some((own, slot)) = own_slots().find(|(_, slot)| reads_files(slot)) {
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

/// Refuses rules for deferred tools that nothing would follow.
fn check_deferred(raw: &RawLayout, layout: &Layout, reader: &Reader<'_>) -> Result<(), PackError> {
    let is_deferred = layout.given_tools.mcp == McpOffer::Deferred;
    if let Some(tokens) = raw.given_tools.direct_tokens.as_ref().filter(|_| !is_deferred) {
        let message = "`direct_tokens` has no effect unless `mcp = \"deferred\"`";
        return Err(reader.refused(tokens, message.to_owned()));
    }
    let missing = deferred::missing_tools(layout);
    if is_deferred && !missing.is_empty() {
        let message = format!(
            "`mcp = \"deferred\"` needs the tools `{}` and `{}`, and this layout does not list {}; add them as [[tool]] with \
             gate = [\"mcp:deferred\"]",
            deferred::FIND,
            deferred::CALL,
            missing.join(" and ")
        );
        return Err(match &raw.given_tools.mcp {
            Some(mcp) => reader.refused(mcp, message),
            None => reader.refused(&whole_file(), message),
        });
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
    let has_sections = reads("injected_sections") || reads("injected_items");
    for own in &raw.section {
        let file = own.file.get_ref();
        if !has_sections {
            let message = "[[section]] has no effect without a slot of source `injected_sections` or `injected_items`";
            return Err(reader.refused(&own.file, message.to_owned()));
        }
        if raw.section.iter().filter(|other| other.file.get_ref() == file).count() > 1 {
            return Err(reader.refused(&own.file, format!("two [[section]] have the file `{file}`")));
        }
        if let Some(join) = own.join.as_ref().filter(|_| file.ends_with(EXTENSION)) {
            let message = "a template writes between recalled texts by itself, so `join` has no effect";
            return Err(reader.refused(join, message.to_owned()));
        }
    }
    if let Some(texts) = raw.source_texts.as_ref().filter(|_| !reads("injected_")) {
        return Err(reader.refused(texts, "[source_texts] has no effect without a slot of injected items".to_owned()));
    }
    if layout.compaction.strategy == CompactionStrategy::Summarise
        && let Some((key, place)) = raw.compaction.of_window().next()
    {
        return Err(reader.refused(&place, format!("`{key}` has no effect unless `strategy = \"window\"`")));
    }
    if let Some(own) = &raw.instructions.report {
        let ReportLayout { files_heading, next_heading, skills, tools } = own.get_ref();
        if files_heading.is_none() && next_heading.is_some() {
            let message = "`next_heading` of [instructions.report] has no effect without `files_heading`";
            return Err(reader.refused(own, message.to_owned()));
        }
        for list in skills.iter().chain(tools) {
            if !layout.has_file(&list.section) {
                let message =
                    format!("[instructions.report]: no slot has the file `{}`, so it is not measured", list.section);
                return Err(reader.refused(own, message));
            }
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
