//! What a program brings: sources, gates, stores, counters. No code of the engine is changed for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;

use expect_test::Expect;
use expect_test::expect;
use pellucid_context::Counter;
use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::Fragment;
use pellucid_context::ModelInfo;
use pellucid_context::PackFiles;
use pellucid_context::SessionId;
use pellucid_context::SourceAsk;
use pellucid_context::SourceOutput;
use pellucid_context::TextLookup;
use pellucid_context::WireSettings;
use serde_json::json;

const LAYOUT: &str = r#"
name = "mine"
from = "codex"

[[slot]]
id = "weather"
target = "developer"
source = "host"

[[slot]]
id = "alarm"
target = "developer"
file = "alarm.md"
gate = ["host:storm"]
"#;

fn engine() -> Engine {
    let files = [("pack.toml", LAYOUT), ("alarm.md", "Stay inside.\n")];
    let files: PackFiles = files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    Engine::from_files(&files, "/mine").unwrap()
}

fn facts(cwd: &str) -> Facts {
    Facts::plain(cwd, ModelInfo::named("gpt-5.2-codex"))
}

fn wire() -> WireSettings {
    WireSettings::new(SessionId::new("s"))
}

fn weather(ask: &SourceAsk<'_>) -> SourceOutput {
    let text = format!("{}: the sun shines in {}", ask.slot, ask.facts.settings.cwd);
    SourceOutput::text(vec![Fragment::provided("weather service", text)])
}

fn is_storm(facts: &Facts) -> bool {
    facts.settings.cwd == "/north"
}

#[test]
fn a_source_of_the_program_fills_its_slot_and_is_the_origin_of_its_bytes() {
    let engine = engine().with_source("weather", weather).with_gate("storm", is_storm);
    let request = engine.begin(facts("/south"), wire()).unwrap().request();
    let row = request.row_with("weather: the sun shines in /south").unwrap();
    assert_eq!((&*row.part, row.origin.kind(), row.origin.detail()), ("weather", "provided", "weather service"));
    assert_eq!(row.role.as_deref(), Some("developer"));
}

#[test]
fn a_gate_of_the_program_looks_at_facts() {
    let engine = engine().with_source("weather", weather).with_gate("storm", is_storm);
    let has_alarm = |cwd| engine.begin(facts(cwd), wire()).unwrap().request().row_with("Stay inside.").is_some();
    assert_eq!((has_alarm("/south"), has_alarm("/north")), (false, true));
}

#[track_caller]
fn check_refused(engine: &Engine, expected: &Expect) {
    expected.assert_eq(&engine.begin(facts("/"), wire()).unwrap_err().to_string());
}

#[test]
fn a_session_does_not_begin_without_what_the_layout_asks_for() {
    check_refused(
        &engine().with_gate("storm", is_storm),
        &expect!["the pack `mine` asks the program for the slot `weather`, and the program does not give it"],
    );
    check_refused(
        &engine().with_source("weather", weather),
        &expect!["the pack `mine` asks the program for the gate `storm`, and the program does not give it"],
    );
    let whole = engine().with_source("weather", weather).with_gate("storm", is_storm);
    check_refused(
        &whole.clone().with_source("wether", weather),
        &expect!["the program gives the slot `wether`, and the pack `mine` does not ask for it; it asks for: weather"],
    );
    check_refused(
        &whole.with_gate("rain", is_storm),
        &expect!["the program gives the gate `rain`, and the pack `mine` does not ask for it; it asks for: storm"],
    );
    check_refused(
        &Engine::builtin("codex").unwrap().with_gate("rain", is_storm),
        &expect!["the program gives the gate `rain`, and the pack `codex` does not ask for it; it asks for: nothing"],
    );
}

#[test]
fn a_text_that_no_program_gives_is_an_omission() {
    let pack = engine().pack().clone();
    let context = pellucid_engine::assemble::assemble(&pack, &facts("/"));
    let omission = &context.omissions[0];
    assert_eq!((&*omission.slot, omission.why.kind()), ("weather", "unusable"));
}

/// Remembers the keys that it was asked for.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<BTreeSet<String>>>>);

impl TextLookup for Asked {
    fn look_up(&self, keys: &BTreeSet<String>) -> Vec<(String, String)> {
        self.0.lock().unwrap().push(keys.clone());
        vec![("a".to_owned(), "text of a".to_owned()), ("unasked".to_owned(), "never sent".to_owned())]
    }
}

#[test]
fn a_store_is_asked_once_and_only_for_the_keys_that_are_wanted() {
    let (store, mut facts) = (Asked::default(), facts("/"));
    facts.system.injection.sources = pellucid_engine::injection::sources(&json!([
        { "type": "text_store", "entries": [
            { "key": "a", "target": "system_section" },
            { "key": "gone", "target": "preamble_message" },
            { "key": "without a target" },
        ] },
        { "type": "text_store", "entries": [{ "key": "a", "target": "system_section" }] },
    ]));
    let engine = Engine::builtin("agentcore").unwrap().with_store(store.clone());
    let session = engine.begin(facts, wire()).unwrap();
    let keys = ["a", "gone"].map(str::to_owned).into();
    assert_eq!(*store.0.lock().unwrap(), [keys]);
    let kept = session.facts().system.injection.store.as_ref().unwrap();
    assert_eq!(kept.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_store_is_not_asked_when_nothing_is_wanted() {
    let store = Asked::default();
    Engine::builtin("codex").unwrap().with_store(store.clone()).begin(facts("/"), wire()).unwrap();
    assert!(store.0.lock().unwrap().is_empty());
}

/// Calls every character a token.
struct Characters;

impl Counter for Characters {
    fn name(&self) -> &str {
        "characters"
    }

    fn count(&self, text: &str) -> usize {
        text.chars().count()
    }
}

#[test]
fn a_counter_changes_the_report_and_no_byte() {
    let plain = Engine::builtin("codex").unwrap();
    let counted = plain.clone().with_counter(Characters);
    let request = |engine: &Engine| engine.begin(facts("/"), wire()).unwrap().request();
    let (plain, counted) = (request(&plain), request(&counted));
    assert_eq!(plain.body(), counted.body());
    assert_eq!((&*plain.report().counted_by, &*counted.report().counted_by), ("estimate", "characters"));
    let texts = counted.texts();
    assert_eq!(counted.report().tokens(), texts.iter().map(|text| text.chars().count()).sum::<usize>());
}
