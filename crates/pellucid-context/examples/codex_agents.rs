//! The message with a project's `AGENTS.md` files, as Codex sends it, and which bytes of which file it has.
//!
//! Run it with `cargo run -p pellucid-context --example codex_agents`.

#![allow(clippy::print_stdout, reason = "an example shows what it makes")]

use std::error::Error;
use std::fmt::Write;

use pellucid_context::Document;
use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::ModelInfo;
use pellucid_context::SessionId;
use pellucid_context::WireSettings;

pub fn run() -> Result<String, Box<dyn Error>> {
    let mut facts = Facts::plain("/home/ada/shop/web", ModelInfo::named("gpt-5.2-codex"));
    // What is read of all files together. The second file does not fit.
    facts.settings.project_document_bytes_max = 45;
    facts.world.project_documents = vec![
        Document::whole("/home/ada/shop/AGENTS.md", "Prices are integers, in cents.\n"),
        Document::whole("/home/ada/shop/web/AGENTS.md", "Pages work without JavaScript.\n"),
    ];
    let mut session = Engine::builtin("codex")?.begin(facts, WireSettings::new(SessionId::new("example")))?;
    session.say("add a basket");
    let request = session.request();

    let mut shown = String::new();
    let texts = request.texts();
    let part = request.row_with("Prices are integers").ok_or("the request has no AGENTS message")?.part.clone();
    for (row, text) in request.report().rows.iter().zip(&texts).filter(|(row, _)| row.part == part) {
        let range = row.file_range().map(|range| format!(" {}..{}", range.start, range.end)).unwrap_or_default();
        writeln!(shown, "{:8} {}{range}: {text:?}", row.origin.kind(), row.origin.detail())?;
    }
    for omission in &request.report().omissions {
        writeln!(shown, "left out of {}: {:?}", omission.what, omission.why)?;
    }
    Ok(shown)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
