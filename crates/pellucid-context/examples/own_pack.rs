//! A pack of one's own in a folder, with a text, a condition and a token counter of the program.
//!
//! Run it with `cargo run -p pellucid-context --example own_pack`.

#![allow(clippy::print_stdout, reason = "an example shows what it makes")]

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use pellucid_context::Counter;
use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::Fragment;
use pellucid_context::ModelInfo;
use pellucid_context::SessionId;
use pellucid_context::SourceAsk;
use pellucid_context::SourceOutput;
use pellucid_context::TextSource;
use pellucid_context::WireSettings;

/// The changes since the last release, which a program would read from its version control.
struct Changes(Vec<&'static str>);

impl TextSource for Changes {
    fn give(&self, ask: &SourceAsk<'_>) -> SourceOutput {
        if self.0.is_empty() {
            return SourceOutput::nothing();
        }
        let line =
            |change: &&str| Fragment::provided(&format!("log of {}", ask.facts.settings.cwd), format!("{change}\n"));
        SourceOutput::text(self.0.iter().map(line).collect())
    }
}

/// Counts words.
struct Words;

impl Counter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }
}

pub fn run() -> Result<String, Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/release-notes");
    let engine = Engine::from_folder(Path::new(folder))?
        .with_source("changes", Changes(vec!["lamps can be dimmed", "the page of an order loads faster", "typo"]))
        .with_gate("quiet", |facts: &Facts| facts.settings.cwd == "/quiet")
        .with_counter(Words);

    let mut shown = String::new();
    for cwd in ["/shop", "/quiet"] {
        let facts = Facts::plain(cwd, ModelInfo::named("gpt-5.2-codex"));
        let request = engine.begin(facts, WireSettings::new(SessionId::new("example")))?.request();
        writeln!(shown, "in {cwd}:")?;
        for (row, text) in request.report().rows.iter().zip(request.texts()) {
            let is_ours = row.origin.detail().starts_with(folder) || row.origin.kind() == "provided";
            if is_ours {
                writeln!(shown, "  {} from {}: {} words, {text:?}", row.part, row.origin.kind(), row.tokens)?;
            }
        }
        for omission in &request.report().omissions {
            writeln!(shown, "  left out of {}: {:?}", omission.slot, omission.why)?;
        }
    }
    Ok(shown)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
