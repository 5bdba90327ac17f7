//! An application in the manner of AgentCore: a system prompt with sections that callers and a store of texts inject, on the
//! Chat Completions API.
//!
//! The store is asked only for the keys that the sources want. Run it with
//! `cargo run -p pellucid-context --example application`.

#![allow(clippy::print_stdout, reason = "an example shows what it makes")]

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;

use pellucid_context::Engine;
use pellucid_context::FactsInput;
use pellucid_context::SessionId;
use pellucid_context::TextLookup;
use pellucid_context::WireApi;
use pellucid_context::WireSettings;

/// A store that would be a database.
struct Templates;

impl TextLookup for Templates {
    fn look_up(&self, keys: &BTreeSet<String>) -> Vec<(String, String)> {
        let text = |key: &String| match key.as_str() {
            "tone" => Some((key.clone(), "Answer in two sentences.".to_owned())),
            _ => None,
        };
        keys.iter().filter_map(text).collect()
    }
}

pub fn run() -> Result<String, Box<dyn Error>> {
    let facts: FactsInput = serde_json::from_str(
        r#"{
            "model": "gpt-5.2",
            "cwd": "/srv/desk",
            "base_instructions": "You answer questions about orders.",
            "injection": {
                "sources": [
                    { "type": "text_store", "entries": [
                        { "key": "tone", "target": "system_section", "order": 300 },
                        { "key": "footer", "target": "system_section" }
                    ] },
                    { "type": "provided", "context_key": "case" }
                ],
                "attributes": { "case": [
                    { "target": "preamble_message", "role": "user", "content": "Order 17: two lamps, not sent yet." }
                ] }
            }
        }"#,
    )?;
    let wire = WireSettings { wire: WireApi::Chat, ..WireSettings::new(SessionId::new("example")) };
    let engine = Engine::builtin("agentcore")?.with_store(Templates);
    let mut session = engine.begin(facts.try_into()?, wire)?;
    session.say("Where is my order?");
    let body: serde_json::Value = serde_json::from_slice(&session.request().body())?;

    let mut shown = String::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        writeln!(shown, "{}: {}", message["role"], message["content"])?;
    }
    Ok(shown)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
