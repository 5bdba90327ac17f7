//! What only a running session reads of a pack: every key of it, changed, changes a request, an omission or a decision, or
//! the pack is refused; and so does every text.
//!
//! Not here: what is assembled from facts alone. The tests of the engine answer for it.

#[path = "../../../pellucid-engine/tests/common/mutations.rs"]
mod mutations;

use std::cell::Cell;
use std::fmt::Write as _;

use mutations::Files;
use mutations::Home;
use mutations::Mutant;
use mutations::Verdict;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::why_text;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::RecordedRequest;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::run_for_events;
use crate::setup_with;

/// A session that packs are played in.
struct Stage {
    files: Workspace,
    config: String,
    wire: &'static str,
    reply: fn(usize) -> MockReply,
    operations: Vec<Operation>,
}

impl Stage {
    fn new(files: &str, config: &str, reply: fn(usize) -> MockReply, operations: Vec<Operation>) -> Self {
        let files = Workspace::new(files);
        files.write("home/words.md", "Be brief.");
        files.folder("work");
        // Little surrounds the conversation, so that windows can be small.
        let words = files.folder("home").join("words.md");
        let config = format!(
            "model_instructions_file = {words:?}\nweb_search = \"disabled\"\n{config}\n[features]\nshell_tool = false\nunified_exec = false\n"
        );
        Self { files, config, wire: "responses", reply, operations }
    }

    /// Plays a pack: what is sent, what is left out, and what people hear.
    fn play(&self, pack: &Pack) -> String {
        let server = MockServer::start((0..60).map(self.reply));
        let provider = format!(
            "model_provider = \"mock\"\n{}\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{}\"\nstream_max_retries = 0\nrequest_max_retries = 0\n",
            self.config,
            server.base_url(),
            self.wire
        );
        self.files.write("home/config.toml", provider);
        let model = |provider: &_| Model::http(Transport::default(), provider, None, &|_| None);
        let mut setup = setup_with(&self.files, |_| pack.clone(), model);
        setup.session_id = SessionId::new("019a0000-0000-7000-8000-000000000001");
        let session = Session::open(setup, Recorder::none(), Beginning::Nothing).unwrap();
        let (session, events) = run_for_events(session, self.operations.clone());
        let mut played = String::new();
        for request in server.requests() {
            played += &String::from_utf8_lossy(&request.body);
            played.push('\n');
        }
        for event in events {
            match event {
                EventMessage::Error { message, .. } | EventMessage::Warning { message } => {
                    writeln!(played, "{message}").unwrap();
                }
                _ => {}
            }
        }
        for omission in session.omissions() {
            writeln!(played, "{}: {}", omission.what, why_text(&omission.why)).unwrap();
        }
        played
    }
}

fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

fn greetings(n: usize) -> Vec<Operation> {
    (0..n).map(|n| say(&format!("Hello {n}."))).collect()
}

/// Messages of some hundred tokens, by the estimate.
fn talk(n: usize, words: usize) -> Vec<Operation> {
    let about = ["the dragon of the north", "the ship in the harbour", "the tower at the ford"];
    (0..n).map(|n| say(&format!("Message {n}, about {}. {}", about[n % 3], "word ".repeat(words)))).collect()
}

fn answer(n: usize) -> MockReply {
    let about = ["a dragon sleeps", "a ship sails", "a tower stands"];
    MockReply::say(&format!("Answer {n}: {}.", about[n % 3]))
}

/// An answer that says how many tokens were used, if any.
fn using(tokens: Option<u64>) -> MockReply {
    let usage = tokens.map(|tokens| json!({ "input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens }));
    let item = json!({ "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] });
    MockReply::events([
        json!({ "type": "response.created", "response": { "id": "r" } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": usage } }),
    ])
}

fn unmetered(_: usize) -> MockReply {
    using(None)
}

/// A window that fills up.
fn filling(n: usize) -> MockReply {
    using(Some([1_000, 3_000, 5_500, 8_000][n.min(3)]))
}

/// A window that is used a little.
fn steady(_: usize) -> MockReply {
    using(Some(100))
}

const RULES: &str = "//- work/.ads/rules.md\nUse tabs.\n//- work/other.md\nUse spaces.\n";

/// Standing texts: by turns, by the window, in each phase.
fn standing() -> Vec<Stage> {
    let mut stages = vec![
        Stage::new(RULES, "", unmetered, greetings(18)),
        Stage::new(RULES, "model_context_window = 10000\n", filling, greetings(6)),
        Stage::new(RULES, "model_context_window = 10000\n", steady, greetings(18)),
    ];
    for phase in ["requirements", "implementation", "review"] {
        stages.push(Stage::new(RULES, &format!("phase = \"{phase}\"\n"), unmetered, greetings(1)));
    }
    stages
}

/// Standing texts of the variant `current`, without and with skills.
fn current() -> Vec<Stage> {
    let skilled =
        format!("{RULES}//- work/.ads/.agent/skills/mend/SKILL.md\n---\nname: mend\ndescription: Mends.\n---\nMend.\n");
    vec![
        Stage::new(RULES, "", unmetered, greetings(8)),
        // A file where the folder of the state would be, so that none can be made.
        Stage::new("//- work/.ads\nNo folder.\n", "", unmetered, greetings(1)),
        Stage::new(&skilled, "", unmetered, greetings(2)),
    ]
}

/// Conversations that outgrow the window, one with calls of a tool, and one that is taken back.
fn remembering() -> Vec<Stage> {
    let config = "model_context_window = 5000\n";
    let mut taken_back = talk(12, 250);
    taken_back.push(Operation::ThreadRollback { num_turns: 10 });
    taken_back.extend(talk(10, 250));
    vec![
        Stage::new("", config, answer, talk(12, 250)),
        Stage::new("", config, |_| MockReply::made_from(calling), talk(12, 250)),
        Stage::new("", config, answer, taken_back),
        Stage::new("", "", answer, talk(4, 1_000)),
    ]
}

/// Answers what a person says with a call, and everything else with words.
fn calling(request: &RecordedRequest) -> MockReply {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let items = body["input"].as_array().cloned().unwrap_or_default();
    let last = items.last().cloned().unwrap_or_default();
    if has_tools && last["role"] == "user" {
        let arguments = json!({ "plan": [{ "step": "x".repeat(400), "status": "pending" }] }).to_string();
        let call = json!({ "type": "function_call", "name": "update_plan", "call_id": format!("c{}", items.len()), "arguments": arguments });
        return MockReply::items([call]);
    }
    MockReply::say(&format!("Answer of {} bytes: a tower stands.", request.body.len() / 1000))
}

/// Turns that leave the window, documents and items.
fn windowed() -> Vec<Stage> {
    let notes = r#"[{ "target": "preamble_message", "role": "user", "content": "The build is red." }]"#;
    let files = format!("//- work/AGENTS.md\nUse tabs, always and everywhere.\n//- work/notes.json\n{notes}\n");
    let config = "model_context_window = 5200\ninject = [\"notes.json\"]\n";
    let long = || (0..5).map(|n| say(&format!("{n}\n{}", "x".repeat(4_000)))).collect();
    let mut stage = Stage::new(&files, config, answer, long());
    stage.config = stage.config.replace("notes.json", &stage.files.folder("work").join("notes.json").to_string_lossy());
    let mut other = Stage::new(&files, "model_context_window = 5200\n", on_messages, long());
    other.wire = "messages";
    // Turns with calls of a tool leave the window more than once.
    let many = (0..12).map(|n| say(&format!("{n}\n{}", "x".repeat(4_000)))).collect();
    let called = Stage::new(&files, "model_context_window = 5200\n", |_| MockReply::made_from(calling), many);
    vec![stage, other, called]
}

fn on_messages(n: usize) -> MockReply {
    let text = format!("Answer {n}.");
    MockReply::messages([
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }),
    ])
}

/// The files that an assistant begins with.
fn begun() -> Vec<Stage> {
    let files = format!("//- work/AGENTS.md\n{}\n//- work/SOUL.md\n{}\n", "Rules. ".repeat(90), "Kind. ".repeat(90));
    let numbered: String = (0..3_000).map(|n| format!("Rule {n}. ")).collect();
    let long = format!("//- work/AGENTS.md\n{numbered}\n");
    // 60 units are left when the second file comes.
    let tight = format!("//- work/AGENTS.md\n{}\n//- work/SOUL.md\n{}\n", "x".repeat(940), "Kind. ".repeat(90));
    vec![
        Stage::new(&files, "", answer, greetings(1)),
        Stage::new(&long, "", answer, greetings(1)),
        Stage::new(&tight, "assistant.bootstrap_total_max_chars = 1000\n", answer, greetings(1)),
    ]
}

/// The packs of the corpus with the sessions that they are played in.
fn packs() -> Vec<(&'static str, Files, Vec<Stage>)> {
    let builtin = |name: &str| Pack::builtin_files(name).unwrap();
    let over = |name: &str, layout: &str| {
        let mut files = builtin(name);
        files.insert("pack.toml".to_owned(), layout.to_owned());
        files
    };
    let current_layout = "name = \"x\"\nfrom = \"codex\"\n[reinject]\nvariant = \"current\"\ninstructions = \"templates/instructions.md\"\nturns = 3\nrules_turns = 2\nenabled = true\n";
    let running = "name = \"x\"\nfrom = \"codex\"\n[memory]\nstrategy = \"running_summary\"\nmax_context = 100000\nchunk_tokens = 300\nremove_punctuation = true\n";
    let fragments =
        "name = \"x\"\nfrom = \"codex\"\n[memory]\nstrategy = \"summary_and_fragments\"\nchunk_tokens = 300\n";
    let details = "name = \"x\"\nfrom = \"codex\"\n[memory]\nstrategy = \"summaries_and_details\"\nchunk_tokens = 600\nallocated_tokens = 400\ndepth = 2\nfrom = \"start\"\n";
    vec![
        ("ads", builtin("ads"), standing()),
        ("ads, current", over("ads", current_layout), current()),
        ("agentcore", builtin("agentcore"), windowed()),
        ("openclaw", builtin("openclaw"), begun()),
        ("risuai", builtin("risuai"), remembering()),
        ("risuai, running", over("risuai", running), remembering()),
        ("risuai, fragments", over("risuai", fragments), remembering()),
        ("risuai, details", over("risuai", details), remembering()),
    ]
}

/// Judges changes of one pack by playing it until something is different.
fn check(name: &str, files: &Files, stages: &[Stage], mutants: &[Mutant]) -> Vec<String> {
    let pack = Pack::load(files).unwrap();
    let usual: Vec<String> = stages.iter().map(|stage| stage.play(&pack)).collect();
    let first = Cell::new(0);
    let judge = |files: &Files| {
        let Ok(changed) = Pack::load(files) else {
            return Verdict::Refused;
        };
        let n = stages.len();
        let mut order = (0..n).map(|step| (first.get() + step) % n);
        match order.find(|stage| stages[*stage].play(&changed) != usual[*stage]) {
            Some(stage) => {
                first.set(stage);
                Verdict::Changed
            }
            None if changed.layout == pack.layout => Verdict::Equal,
            None => Verdict::Unnoticed,
        }
    };
    mutations::without_effect(name, files, mutants, judge)
}

#[test]
fn every_key_that_sessions_read_has_an_effect_or_is_refused() {
    let (mut dead, mut n) = (Vec::new(), 0);
    for (name, files, stages) in packs() {
        let mutants = mutations::sample(mutations::of_tables(&files, Home::Agent), 4);
        n += mutants.len();
        dead.extend(check(name, &files, &stages, &mutants));
    }
    assert!(n > 20, "only {n} changes were tried");
    assert!(dead.is_empty(), "{} of {n} changes have no effect:\n{}", dead.len(), dead.join("\n"));
}

#[test]
fn every_text_that_sessions_read_is_sent() {
    // A text may be for one of several ways, so it counts in any of them.
    let mut dead: Vec<(String, usize)> = Vec::new();
    let mut lives: Vec<String> = Vec::new();
    for (name, files, stages) in packs() {
        let texts = mutations::of_texts(&files, Home::Agent);
        let home = name.split(',').next().unwrap_or(name);
        for line in check(home, &files, &stages, &texts) {
            match dead.iter_mut().find(|(known, _)| *known == line) {
                Some((_, n)) => *n += 1,
                None => dead.push((line, 1)),
            }
        }
        lives.push(home.to_owned());
    }
    let n_ways = |line: &str| lives.iter().filter(|home| line.starts_with(&format!("{home}/"))).count();
    dead.retain(|(line, n)| *n == n_ways(line));
    assert!(dead.is_empty(), "texts that no way sends: {dead:#?}");
}
