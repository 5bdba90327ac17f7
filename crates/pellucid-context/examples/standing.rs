//! A loop in the manner of ADS: standing instructions and the workspace's rules go before the first message, again when
//! the rules changed, and again when the window fills.
//!
//! Run it with `cargo run -p pellucid-context --example standing`.

#![allow(clippy::print_stdout, reason = "an example shows what it makes")]

use std::error::Error;
use std::fmt::Write;

use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::FoundFile;
use pellucid_context::HashedText;
use pellucid_context::InjectionInput;
use pellucid_context::Item;
use pellucid_context::ModelInfo;
use pellucid_context::SessionId;
use pellucid_context::WireSettings;

pub fn run() -> Result<String, Box<dyn Error>> {
    let facts = Facts::plain("/home/ada/shop", ModelInfo::named("gpt-5.2-codex"));
    let mut session = Engine::builtin("ads")?.begin(facts, WireSettings::new(SessionId::new("example")))?;
    // What a person says, the rules on disk at that time, and how full the window is.
    let turns = [
        ("add a basket", "Never delete data.\n", 0.05),
        ("and a button", "Never delete data.\n", 0.10),
        ("now the price", "Never delete data. Log every change.\n", 0.15),
        ("and taxes", "Never delete data. Log every change.\n", 0.30),
    ];
    let mut shown = String::new();
    for (said, rules, occupancy) in turns {
        let rules = FoundFile::Text(HashedText::on_disk("/home/ada/shop/.ads/rules.md", rules));
        let files = InjectionInput { rules, ..InjectionInput::default() };
        let why = session.say_standing(said, &files, Some(occupancy))?;
        let request = session.request();
        let rules = request.report().rows.iter().filter(|row| row.origin.detail().ends_with(".ads/rules.md"));
        let kept = request.report().continuity.as_ref().is_none_or(|it| it.broken.is_none());
        writeln!(
            shown,
            "{said}: {}; places with the rules in the request: {}; it {} the one before",
            why.as_deref().unwrap_or("nothing is said again"),
            rules.count(),
            if kept { "extends" } else { "does not extend" },
        )?;
        session.record(&Item::text("assistant", "Done."));
    }
    Ok(shown)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
