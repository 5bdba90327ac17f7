//! What only a running session reads of a pack: every key of it, changed, changes a request, an omission or a decision, or
//! the pack is refused; and so does every text.
//!
//! Not here: what is assembled from facts alone. The tests of the engine answer for it.

#[path = "../../../pellucid-engine/tests/common/mutations.rs"]
mod mutations;

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mutations::Files;
use mutations::Home;
use mutations::Mutant;
use mutations::Verdict;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_config::env::Env;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::why_text;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::RecordedRequest;
use pellucid_testkit::Workspace;
use pellucid_workspace::standing_files::state_folder;
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
    /// Variables of the environment.
    env: Vec<(&'static str, String)>,
    /// Files in the state of the workspace.
    state: Vec<(&'static str, &'static [u8])>,
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
        Self { files, config, wire: "responses", reply, operations, env: Vec::new(), state: Vec::new() }
    }

    fn with_state(mut self, state: &[(&'static str, &'static [u8])]) -> Self {
        self.state = state.to_vec();
        self
    }

    fn with_env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Takes away what an earlier play left in the states of workspaces, and makes that of the stage.
    fn reset(&self) {
        let work = self.files.folder("work");
        for folder in ["workspaces", "elsewhere"] {
            let _ = fs::remove_dir_all(work.join(".ads").join(folder));
        }
        for (file, bytes) in &self.state {
            let path = state_folder(&work.join(".ads"), &work).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Plays a pack: what is sent, what is left out, and what people hear.
    fn play(&self, pack: &Pack) -> String {
        self.reset();
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
        if !self.env.is_empty() {
            setup.sources.env = Env::from_pairs(self.env.iter().map(|(name, value)| (*name, value.as_str())));
        }
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
        list(&self.files.folder("work"), &mut played);
        played
    }
}

/// Writes down the files of a folder, deep.
fn list(folder: &Path, played: &mut String) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        writeln!(played, "{}", path.display()).unwrap();
        if path.is_dir() {
            list(&path, played);
        }
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
    // Variables, of which one precedes the other.
    stages.push(Stage::new(RULES, "", unmetered, greetings(6)).with_env("ADS_REINJECTION_TURNS", "2"));
    let both = Stage::new(RULES, "", unmetered, greetings(6)).with_env("ADS_REINJECTION_TURNS", "2");
    stages.push(both.with_env("CLI_REINJECTION_TURNS", "3"));
    for phase in ["requirements", "implementation", "review"] {
        stages.push(Stage::new(RULES, &format!("phase = \"{phase}\"\n"), unmetered, greetings(1)));
    }
    stages
}

/// The session goes to another folder.
fn go_to(stage: &Stage, folder: &str) -> Operation {
    let cwd = Some(stage.files.folder(folder));
    Operation::OverrideTurnContext(SettingsChange { cwd, ..SettingsChange::default() })
}

/// Standing texts of the variant `current`: a separate state, skills, a soul, and what is taken over into the state.
fn current() -> Vec<Stage> {
    let skill = |name: &str| {
        format!("//- work/.ads/.agent/skills/{name}/SKILL.md\n---\nname: {name}\ndescription: A skill.\n---\nText.\n")
    };
    let skilled: String = ["mend", "bake", "brew"].map(skill).concat();
    let old = [
        "workspace.json",
        "ads.db",
        "state.db",
        "intake-state.json",
        "context.json",
        "templates/instructions.md",
        "templates/more.md",
        "instructions.md",
        "rules/more.md",
        "commands/more.md",
    ];
    let old = old.map(|file| format!("//- work/.ads/{file}\nOld {file}.\n")).concat();
    let asked = || vec![say("Use $mend and $gone."), say("mend, bake or brew?"), say("Well.")];
    let mut moved = Stage::new(RULES, "", unmetered, greetings(3));
    moved.operations.insert(0, go_to(&moved, "elsewhere"));
    let variable = Stage::new("", "", unmetered, greetings(1));
    let states = variable.files.folder("work/.ads/elsewhere").to_string_lossy().into_owned();
    vec![
        Stage::new(RULES, "", unmetered, greetings(8))
            .with_state(&[("soul.md", b"Kind.\n"), ("rules.md", b"Rules.\n")]),
        Stage::new(RULES, "model_context_window = 10000\n", filling, greetings(6)),
        // A file where the folder of the state would be, so that none can be made.
        Stage::new("//- work/.ads\nNo folder.\n", "", unmetered, greetings(1)),
        Stage::new(&skilled, "", unmetered, asked()),
        Stage::new(&format!("{RULES}{old}"), "", unmetered, greetings(1)),
        Stage::new("", "", unmetered, greetings(1)).with_state(&[("templates/rules.md", b"Rules \xff.\n")]),
        // Instructions that move to another place.
        Stage::new(
            "//- work/.ads/workspace.json\n{}\n//- work/.ads/instructions.md\nOld.\n",
            "",
            unmetered,
            greetings(1),
        ),
        variable.with_env("ADS_STATE_DIR", states),
        moved,
    ]
}

/// Standing texts of the variant `initial`: files of the workspace, looked at late.
fn initial() -> Vec<Stage> {
    let usual = "//- work/.ads/templates/instructions.md\nInstructions.\n";
    let other = "//- elsewhere/.ads/templates/instructions.md\nOthers.\n//- elsewhere/.ads/rules.md\nOther rules.\n";
    let mut moved = Stage::new(&format!("{RULES}{usual}{other}"), "", unmetered, greetings(5));
    moved.operations.insert(1, go_to(&moved, "elsewhere"));
    let raw = Stage::new(usual, "", unmetered, greetings(1));
    fs::write(raw.files.folder("work/.ads").join("rules.md"), b"Rules \xff.\n").unwrap();
    vec![
        Stage::new(&format!("{RULES}{usual}"), "", unmetered, greetings(18)),
        Stage::new(&format!("{RULES}{usual}"), "model_context_window = 10000\n", filling, greetings(6)),
        Stage::new(&format!("{usual}//- work/.ads/templates/rules.md\nRules.\n"), "", unmetered, greetings(1)),
        Stage::new(RULES, "", unmetered, greetings(1)),
        Stage::new(&format!("{RULES}//- work/.ads/templates/instructions.md\n \n"), "", unmetered, greetings(1)),
        Stage::new(&format!("//- .git/HEAD\nref: refs/heads/main\n{RULES}{usual}"), "", unmetered, greetings(1)),
        raw,
        moved,
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
    // The pack's source of items comes before those of the file.
    let ordered = r#"{ "items": [{ "target": "system_section", "content": "Be kind.", "order": 300 }],
        "sources": [{ "type": "text_store", "entries": [{ "key": "tone", "target": "system_section", "order": 300 }] }],
        "store": { "tone": "Be short." } }"#;
    let mut given =
        Stage::new(&format!("//- work/notes.json\n{ordered}\n"), "inject = [\"notes.json\"]\n", answer, greetings(1));
    given.config = given.config.replace("notes.json", &given.files.folder("work").join("notes.json").to_string_lossy());
    vec![stage, other, called, given]
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
    let named = |name: &str| format!("//- work/{name}\n{name} says so.\n");
    let all: String = ["AGENTS.md", "SOUL.md", "TOOLS.md", "MEMORY.md", "memory.md"].map(named).concat();
    let tight = format!("//- work/AGENTS.md\n{}\n//- work/SOUL.md\n{}\n", "x".repeat(940), "Kind. ".repeat(90));
    vec![
        Stage::new(&files, "", answer, greetings(1)),
        Stage::new(&long, "", answer, greetings(1)),
        Stage::new(&all, "", answer, greetings(1)),
        Stage::new(&all, "facts.session_key = \"subagent:1\"\n", answer, greetings(1)),
        Stage::new(&tight, "bootstrap.total_max_chars = 1000\n", answer, greetings(1)),
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
    let variant = |name: &str| {
        let layout = builtin("ads")["pack.toml"].replace("variant = \"design\"", &format!("variant = \"{name}\""));
        over("ads", &layout)
    };
    let running = "name = \"x\"\nfrom = \"codex\"\n[memory]\nstrategy = \"running_summary\"\nmax_context = 100000\nchunk_tokens = 300\nremove_punctuation = true\n";
    let fragments =
        "name = \"x\"\nfrom = \"codex\"\n[memory]\nstrategy = \"summary_and_fragments\"\nchunk_tokens = 300\n";
    let details = "name = \"x\"\nfrom = \"codex\"\n[memory]\nstrategy = \"summaries_and_details\"\nchunk_tokens = 600\nallocated_tokens = 400\ndepth = 2\nfrom = \"start\"\n";
    vec![
        ("ads", builtin("ads"), standing()),
        ("ads, current", variant("current"), current()),
        ("ads, initial", variant("initial"), initial()),
        ("agentcore", builtin("agentcore"), windowed()),
        ("openclaw", builtin("openclaw"), begun()),
        ("risuai", builtin("risuai"), remembering()),
        ("risuai, running", over("risuai", running), remembering()),
        ("risuai, fragments", over("risuai", fragments), remembering()),
        ("risuai, details", over("risuai", details), remembering()),
    ]
}

/// Whether the sessions of a pack answer for a key: those of a variant for its own keys, the others for the rest.
fn answers_for(name: &str, key: &str) -> bool {
    let of_variant = ["current", "initial"].into_iter().find(|it| key.starts_with(&format!("reinject.variants.{it}")));
    match name.strip_prefix("ads, ") {
        Some(variant) => of_variant == Some(variant),
        None => of_variant.is_none(),
    }
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
        let mut mutants = mutations::of_tables(&files, Home::Agent);
        mutants.retain(|mutant| answers_for(name, &mutant.key));
        let mutants = mutations::sample(mutants, 4);
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
