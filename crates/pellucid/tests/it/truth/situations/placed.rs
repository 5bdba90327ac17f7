//! Texts at a depth of the conversation.

use super::Config;
use super::Situation;
use super::ensure;
use super::possible;
use crate::truth::cell::plan;
use crate::truth::stage::Turn;

/// Three texts for any pack: one counted from the start, one from the end, one behind everything.
const LAYOUT: &str = r#"
[facts]
mood = "calm"

[[slot]]
id = "note"
target = "developer"
depth = 1
file = "note.jinja"

[[slot]]
id = "opening"
target = "user"
depth = 1
from = "start"
file = "opening.md"

[[slot]]
id = "closing"
target = "developer"
depth = 0
file = "closing.md"
"#;

pub const AT_A_DEPTH: Situation = Situation {
    name: "texts at a depth",
    about: "a user's pack over the cell's adds texts within the conversation, one with a value of the configuration; \
            three turns, a call in the second",
    impossible: possible,
    config: |stage| {
        let files = &stage.world.files;
        let name = stage.cell.pack.name();
        files.write("noted/pack.toml", format!("name = \"noted\"\nfrom = \"{name}\"\n{LAYOUT}"));
        files.write("noted/note.jinja", "The mood is {{ given.mood }}.\n");
        files.write("noted/opening.md", "It began so.\n");
        files.write("noted/closing.md", "Answer in one line.\n");
        Config {
            pack: Some(files.path("noted").display().to_string()),
            tables: "[facts]\nmood = \"tense\"\n".to_owned(),
            ..Config::default()
        }
    },
    steps: |cell| {
        let replies = [cell.wire.reply([plan("c1")]), cell.wire.say("Second answer.")];
        vec![
            Turn::new("First question.", [cell.wire.say("First answer.")]).step(),
            Turn::new("Second question.", replies).step(),
            Turn::new("Third question.", [cell.wire.say("Third answer.")]).step(),
        ]
    },
    n_requests: |_| 4,
    happened: |stage| {
        let (note, opening, closing) = ("The mood is tense.", "It began so.", "Answer in one line.");
        let begun = ["First question.", opening, "First answer."];
        let second = [&begun[..], &[note, "Second question.", closing]].concat();
        let expected = [
            vec![note, "First question.", opening, closing],
            second.clone(),
            [&second[..], &["update_plan"]].concat(),
            [&begun[..], &["Second question.", "Second answer.", note, "Third question.", closing]].concat(),
        ];
        for (n, (body, texts)) in stage.bodies().iter().zip(&expected).enumerate() {
            let mut at = 0;
            for text in texts {
                let found = body[at..].find(text);
                at += found.ok_or_else(|| format!("request {}: {text} is not behind the one before it", n + 1))?;
            }
            for text in [note, opening, closing] {
                ensure(body.matches(text).count() == 1, &format!("request {}: {text} is not there once", n + 1))?;
            }
        }
        let is_note = |event: &&serde_json::Value| {
            event["type"] == "context.cache_break" && event["cause"] == "placed_text" && event["part"] == "note"
        };
        ensure(stage.events().filter(is_note).count() == 2, "the slot that moved was not named in both later turns")
    },
};
