//! `pack show`: the slots of the pack in use, and their texts.

use std::process::ExitCode;

use pellucid_engine::pack::Pack;
use pellucid_engine::pack::SlotText;
use pellucid_engine::template::Trim;
use serde_json::Value;
use serde_json::json;

use super::table::table;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

pub fn run(shared: &Shared, slot: Option<&str>, as_json: bool) -> Result<ExitCode, ProgramFailure> {
    let config = Start::new(shared, &StartArgs::default())?.config;
    let pack = super::selected(&config)?;
    match slot {
        Some(name) => one(&pack, name, as_json)?,
        None => all(&pack, as_json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn one(pack: &Pack, name: &str, as_json: bool) -> Result<(), ProgramFailure> {
    let slot = pack.slot_text(name).map_err(|nearest| {
        let hint = nearest.map_or_else(
            || "`pellucid pack show` lists the slots".to_owned(),
            |nearest| format!("did you mean {nearest}?"),
        );
        ProgramFailure::new(format!("there is no slot `{name}`\nhint: {hint}"))
    })?;
    if as_json {
        return super::print_json(&slot_json(&slot));
    }
    style::line(&about(&slot));
    let Some(text) = &slot.text else {
        return Err(ProgramFailure::new(format!("the pack {} has no text for this slot", pack.name)));
    };
    super::print(text)
}

/// The lines about a slot: its purpose, origin, file and placeholders.
fn about(slot: &SlotText) -> String {
    let mut lines = vec![format!("{}: {}", slot.name, slot.about)];
    if let Some(origin) = &slot.origin {
        lines.push(format!("from: {}{}", if slot.is_users { "" } else { "built in, " }, origin));
    }
    lines.push(format!("to change it: {} in your pack", slot.file));
    if !slot.places.is_empty() {
        lines.push(format!("placeholders: {}", slot.places.join(" ")));
    }
    match slot.trim {
        Trim::Keep => {}
        Trim::End => lines.push("white space at its end is removed".to_owned()),
        Trim::Newline => lines.push("one newline at its end is removed".to_owned()),
    }
    if !slot.upstream.is_empty() {
        lines.push(format!("upstream: {}", slot.upstream));
    }
    lines.join("\n") + "\n"
}

fn all(pack: &Pack, as_json: bool) -> Result<(), ProgramFailure> {
    let slots = pack.slot_texts();
    if as_json {
        let slots: Vec<Value> = slots.iter().map(slot_json).collect();
        return super::print_json(&json!({ "pack": pack.name, "slots": slots }));
    }
    let rows: Vec<Vec<String>> = slots
        .iter()
        .map(|slot| {
            let size = slot.text.as_ref().map_or_else(|| "-".to_owned(), |text| text.len().to_string());
            let origin = match &slot.origin {
                Some(origin) if slot.is_users => origin.to_string(),
                Some(_) => "built in".to_owned(),
                None => "no text".to_owned(),
            };
            vec![slot.name.clone(), size, origin, slot.places.join(" ")]
        })
        .collect();
    super::print(&table(&["slot", "bytes", "from", "placeholders"], &rows))
}

fn slot_json(slot: &SlotText) -> Value {
    json!({
        "slot": slot.name,
        "file": slot.file,
        "about": slot.about,
        "placeholders": slot.places,
        "upstream": slot.upstream,
        "yours": slot.is_users,
        "origin": slot.origin.as_deref(),
        "bytes": slot.text.as_ref().map(|text| text.len()),
        "text": slot.text,
    })
}
