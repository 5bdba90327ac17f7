//! The report of a request: how many bytes each part has and where they come from, what the next request changed, and
//! whether the requests can be made again.
//!
//! Run it with `cargo run -p pellucid-context --example report`.

#![allow(clippy::print_stdout, reason = "an example shows what it makes")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;

use pellucid_context::Document;
use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::Item;
use pellucid_context::ModelInfo;
use pellucid_context::RowFate;
use pellucid_context::SessionId;
use pellucid_context::WireSettings;

pub fn run() -> Result<String, Box<dyn Error>> {
    let mut facts = Facts::plain("/home/ada/shop", ModelInfo::named("gpt-5.2-codex"));
    facts.settings.project_document_bytes_max = 32_768;
    facts.world.home_document = Some(Document::whole("/home/ada/.codex/AGENTS.md", "Be brief.\n"));
    let (engine, wire) = (Engine::builtin("codex")?, WireSettings::new(SessionId::new("example")));
    let mut session = engine.begin(facts.clone(), wire.clone())?;
    session.say("what is this?");
    let first = session.request();

    let mut shown = String::new();
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &first.report().rows {
        *sources.entry(row.origin.kind()).or_default() += row.bytes;
    }
    let all: usize = sources.values().sum();
    writeln!(shown, "sources: {}", sources.keys().copied().collect::<Vec<_>>().join(", "))?;
    writeln!(shown, "every byte has a source: {}", all == first.body().len())?;

    session.record(&Item::text("assistant", "A shop."));
    let mut moved = facts.clone();
    moved.settings.cwd = "/home/ada/shop/web".to_owned();
    session.change_facts(moved.clone());
    session.say("and here?");
    let second = session.request();
    let (texts, diff) = (second.texts(), second.diff(&first));
    for change in diff.rows.iter().filter(|row| row.fate != RowFate::Same) {
        let n = change.after.unwrap_or_default();
        let text = texts[n].lines().next().unwrap_or_default();
        writeln!(shown, "{} {}: {text}", change.fate.word(), second.report().rows[n].part)?;
    }

    let recording = serde_json::to_string(session.recording())?;
    let again = engine.replay(&serde_json::from_str(&recording)?, &[facts, moved], &wire)?;
    let n_same = again.iter().filter(|request| request.is_same()).count();
    writeln!(shown, "{n_same} of {} requests are the same when they are made again", again.len())?;
    Ok(shown)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
