//! Requests that are made again.

use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::Item;
use pellucid_context::ModelInfo;
use pellucid_context::Recording;
use pellucid_context::Replayed;
use pellucid_context::SessionId;
use pellucid_context::ToolOutput;
use pellucid_context::WireApi;
use pellucid_context::WireSettings;

fn facts(cwd: &str) -> Facts {
    Facts::plain(cwd, ModelInfo::named("gpt-5.2-codex"))
}

fn wire(api: WireApi) -> WireSettings {
    WireSettings { wire: api, ..WireSettings::new(SessionId::new("s")) }
}

/// A session of four requests, with a call, a long output and a change of folder.
fn recorded(engine: &Engine, api: WireApi) -> Recording {
    let mut session = engine.begin(facts("/a"), wire(api)).unwrap();
    session.say("look");
    session.request();
    let call = || "call_1".to_owned();
    let arguments = r#"{"cmd":"ls"}"#.to_owned();
    session.record(&Item::FunctionCall { id: None, name: "exec_command".to_owned(), arguments, call_id: call() });
    session.request();
    session.record(&Item::FunctionCallOutput { call_id: call(), output: ToolOutput::Text("x".repeat(100_000)) });
    session.request();
    session.record(&Item::text("assistant", "There is nothing."));
    session.change_facts(facts("/b"));
    session.say("and here?");
    session.request();
    session.recording().clone()
}

#[test]
fn every_request_is_the_same_on_every_api() {
    for api in WireApi::ALL {
        let engine = Engine::builtin("codex").unwrap();
        let recording = recorded(&engine, *api);
        let kept: Recording = serde_json::from_str(&serde_json::to_string(&recording).unwrap()).unwrap();
        assert_eq!(kept, recording);
        let again = engine.replay(&kept, &[facts("/a"), facts("/b")], &wire(*api)).unwrap();
        assert_eq!(again.iter().map(Replayed::is_same).collect::<Vec<_>>(), [true; 4], "{api}");
    }
}

#[test]
fn another_fact_is_found_from_its_request_on() {
    let engine = Engine::builtin("codex").unwrap();
    let recording = recorded(&engine, WireApi::Responses);
    let mut other = facts("/b");
    other.settings.model.supports_parallel_tool_calls = !other.settings.model.supports_parallel_tool_calls;
    let again = engine.replay(&recording, &[facts("/a"), other], &wire(WireApi::Responses)).unwrap();
    assert_eq!(again.iter().map(Replayed::is_same).collect::<Vec<_>>(), [true, true, true, false]);
}

#[test]
fn a_replay_needs_the_facts_of_every_state() {
    let engine = Engine::builtin("codex").unwrap();
    let recording = recorded(&engine, WireApi::Responses);
    let error = engine.replay(&recording, &[facts("/a")], &wire(WireApi::Responses)).unwrap_err();
    assert_eq!(error.to_string(), "the recording needs the facts of 2 states of the session, and 1 were given");
    let newer = Recording { version: 2, ..recording };
    let error = engine.replay(&newer, &[facts("/a"), facts("/b")], &wire(WireApi::Responses)).unwrap_err();
    assert_eq!(error.to_string(), "the recording has format 2, and this version reads 1");
}
