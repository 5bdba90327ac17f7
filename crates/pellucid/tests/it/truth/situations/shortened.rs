//! Histories that are made shorter: summaries, windows, memories.

use pellucid_testkit::MockReply;
use pellucid_testkit::RecordedRequest;
use serde_json::Value;
use serde_json::json;

use super::Config;
use super::Situation;
use super::ensure;
use super::plain;
use super::possible;
use crate::truth::cell::Cell;
use crate::truth::cell::Pack;
use crate::truth::cell::plan;
use crate::truth::stage::Foresight;
use crate::truth::stage::Stage;
use crate::truth::stage::Step;
use crate::truth::stage::Turn;

/// A message that fills much of a small window.
fn long(n: usize) -> String {
    let about = ["the dragon of the north", "the ship in the harbour", "the tower at the ford"][n % 3];
    format!("Message {n}, about {about}. {}", "word ".repeat(1500).trim_end())
}

/// A window that one long message fits into and two do not, in packs that drop what does not fit.
const SMALL_WINDOW: &[&str] = &["-c", "model_context_window=5000"];

/// A turn with a call, and with a long message where a window is to be filled.
fn begin(cell: Cell) -> Vec<Step> {
    let replies = [cell.wire.reply([plan("c1")]), cell.wire.say("First.")];
    match cell.pack {
        Pack::Agentcore => {
            let second = Turn::new(long(2), [cell.wire.say("Second.")]);
            vec![Turn::new(long(1), replies).step(), second.step()]
        }
        _ => vec![Turn::new("One.", replies).step()],
    }
}

pub const BY_HAND: Situation = Situation {
    name: "compaction by hand",
    about: "`compact` asks the model for a summary, then the session continues",
    impossible: possible,
    config: plain,
    steps: |cell| {
        let mut steps = begin(cell);
        let options = if cell.pack == Pack::Agentcore { SMALL_WINDOW } else { &[] };
        steps.push(Step::Compact(options, cell.wire.say("SUMMARY: all is well.")));
        steps.push(Turn::new("Go on.", [cell.wire.say("Done.")]).step());
        steps
    },
    n_requests: |pack| if pack == Pack::Agentcore { 5 } else { 4 },
    happened: |stage| {
        let last = stage.bodies().pop().unwrap_or_default();
        ensure(last.contains("SUMMARY: all is well."), "the summary was not sent")?;
        ensure(!last.contains("Plan updated"), "the history was not summarised")
    },
};

/// Where a summary is due at once, as every reply of the server counts more tokens.
const DUE: &[&str] = &["-c", "model_auto_compact_token_limit=100"];

pub const BY_ITSELF: Situation = Situation {
    name: "compaction by itself",
    about: "a summary is due before a turn and, where the whole history is summarised, again between two requests of it",
    impossible: |pack| {
        (pack == Pack::Risuai)
            .then_some("its memory makes the conversation fit; nothing summarises all of it by itself")
    },
    config: plain,
    steps: |cell| {
        let mut steps = begin(cell);
        let due = match cell.pack {
            Pack::Agentcore => {
                Turn::new("Go on.", [cell.wire.say("SUMMARY one."), cell.wire.say("On it.")]).with(SMALL_WINDOW)
            }
            _ => {
                let replies = [
                    cell.wire.say("SUMMARY one."),
                    cell.wire.reply([plan("c2")]),
                    cell.wire.say("SUMMARY two."),
                    cell.wire.say("On it."),
                ];
                Turn::new("Go on.", replies).with(DUE)
            }
        };
        steps.push(due.step());
        steps.push(Turn::new("And on.", [cell.wire.say("Done.")]).step());
        steps
    },
    n_requests: |pack| if pack == Pack::Agentcore { 6 } else { 7 },
    happened: |stage| {
        let bodies = stage.bodies();
        let summaries = if stage.cell.pack == Pack::Agentcore { 1 } else { 2 };
        let last = if summaries == 1 { "SUMMARY one." } else { "SUMMARY two." };
        ensure(bodies.iter().any(|body| body.contains("SUMMARY one.")), "the first summary was not sent")?;
        ensure(bodies[bodies.len() - 1].contains(last), "the last summary was not sent")?;
        ensure(stage.n_events("context.compaction") == summaries, "the history was not summarised as often")
    },
};

pub const MEMORY: Situation = Situation {
    name: "memory chosen again",
    about: "what is remembered is other in a later turn: cards by likeness with vectors of the provider (`risuai`), \
            memories of the caller (`agentcore`), the file of memories (others)",
    impossible: possible,
    config: memory_config,
    steps: memory_steps,
    n_requests: |pack| if pack == Pack::Risuai { 11 } else { 2 },
    happened: |stage| {
        if stage.cell.pack == Pack::Risuai {
            return cards_were_chosen_again(stage);
        }
        let bodies = stage.bodies();
        ensure(bodies[0].contains("The ship is called Argo."), "the first memory was not sent")?;
        ensure(bodies[1].contains("The tower is white."), "the second memory was not sent")
    },
};

fn memory_config(stage: &Stage) -> Config {
    let files = &stage.world.files;
    match stage.cell.pack {
        Pack::Codex | Pack::Ads => {
            files.write("home/memories/memory_summary.md", "The ship is called Argo.\n");
            let tables = "[features]\nmemory_tool = true\n[memories]\nscope = \"all\"\n";
            Config { tables: tables.to_owned(), ..Config::default() }
        }
        Pack::Openclaw => {
            files.write("work/MEMORY.md", "The ship is called Argo.\n");
            Config::default()
        }
        Pack::Agentcore => {
            files.write("work/memory.json", json!({ "memory": ["The ship is called Argo."] }).to_string());
            Config::default()
        }
        Pack::Risuai => small_memory(stage, "vectors = \"provider\"\nvector_model = \"vec\"\n"),
    }
}

/// A pack with risuai's memory and a window that three long messages fit into and four do not, on every wire.
fn small_memory(stage: &Stage, more: &str) -> Config {
    let layout = format!(
        "name = \"small\"\nfrom = \"risuai\"\n[memory]\nmax_context = 10400\nmax_response = 0\n{more}\
         [memory.preset]\nmaxChatsPerSummary = 2\nmemoryTokensRatio = 0.05\nrecentMemoryRatio = 0\nsimilarMemoryRatio = 1\n"
    );
    stage.world.files.write("small/pack.toml", layout);
    Config { pack: Some(stage.world.files.path("small").display().to_string()), ..Config::default() }
}

fn memory_steps(cell: Cell) -> Vec<Step> {
    if cell.pack == Pack::Risuai {
        return card_steps(cell, Some(&MockReply::made_from(vectors)));
    }
    let (path, text) = match cell.pack {
        Pack::Openclaw => ("work/MEMORY.md", "The tower is white.\n".to_owned()),
        Pack::Agentcore => ("work/memory.json", json!({ "memory": ["The tower is white."] }).to_string()),
        _ => ("home/memories/memory_summary.md", "The tower is white.\n".to_owned()),
    };
    let options: &[&str] = if cell.pack == Pack::Agentcore { &["--inject", "memory.json"] } else { &[] };
    let turn = |prompt: &str| Turn::new(prompt, [cell.wire.say("Done.")]).with(options).step();
    vec![turn("One."), Step::Write(path, text), turn("Two.")]
}

/// Vectors for the texts of a request, each other than the one before.
fn vectors(request: &RecordedRequest) -> MockReply {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let n_texts = body["input"].as_array().map_or(0, Vec::len);
    let rows: Vec<Value> = (0..n_texts).map(|at| json!({ "index": at, "embedding": [1.0, at] })).collect();
    MockReply::status(200, &json!({ "data": rows }).to_string())
}

/// Long messages, one in each turn; from the fourth on, cards are made of what leaves the window.
fn card_steps(cell: Cell, vectors: Option<&MockReply>) -> Vec<Step> {
    let mut steps = Vec::new();
    for n in 1..=5 {
        let mut replies = Vec::new();
        if n >= 4 {
            replies.push(cell.wire.say(&format!("CARD {n}.")));
            replies.extend(vectors.into_iter().chain(vectors).cloned());
        }
        replies.push(cell.wire.say(&format!("Answer {n}.")));
        let foresight = if n >= 4 { Foresight::Open } else { Foresight::Whole };
        steps.push(Turn::new(long(n), replies).foreseen(foresight).step());
    }
    steps
}

fn cards_were_chosen_again(stage: &Stage) -> Result<(), String> {
    let paths: Vec<String> = stage.server.requests().into_iter().map(|request| request.path).collect();
    ensure(paths.iter().any(|path| path.ends_with("/embeddings")), "no vectors were asked for")?;
    let bodies = stage.bodies();
    let blocks: Vec<&str> = bodies.iter().filter_map(|body| body.split("Past Events Summary").nth(1)).collect();
    ensure(blocks.len() >= 2, "no cards came back")?;
    ensure(blocks[blocks.len() - 1] != blocks[blocks.len() - 2], "the same cards came back")
}

pub const WINDOW: Situation = Situation {
    name: "window summaries",
    about: "the oldest turns leave the window, a model summarises them, and the summary comes before the others, twice",
    impossible: |pack| {
        matches!(pack, Pack::Codex | Pack::Openclaw | Pack::Ads)
            .then_some("its histories have no window: a summary takes the place of all of it")
    },
    config: |stage| match stage.cell.pack {
        Pack::Risuai => small_memory(stage, ""),
        _ => Config { top: "model_context_window = 9000\n".to_owned(), ..Config::default() },
    },
    steps: |cell| match cell.pack {
        Pack::Risuai => card_steps(cell, None),
        _ => {
            let mut steps = Vec::new();
            for n in 1..=5 {
                let summary = (n >= 4).then(|| cell.wire.say(&format!("SUMMARY {n}.")));
                let replies = summary.into_iter().chain([cell.wire.say(&format!("Answer {n}."))]);
                steps.push(Turn::new(long(n), replies).step());
            }
            steps
        }
    },
    n_requests: |_| 7,
    happened: |stage| {
        let word = if stage.cell.pack == Pack::Risuai { "CARD" } else { "SUMMARY" };
        let last = stage.bodies().pop().unwrap_or_default();
        ensure(last.contains(&format!("{word} 5.")), "the last summary was not sent")?;
        ensure(!last.contains("Message 1,"), "nothing left the window")
    },
};
