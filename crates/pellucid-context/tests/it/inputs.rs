//! Requests from JSON.

use expect_test::Expect;
use expect_test::expect;
use pellucid_context::Engine;
use pellucid_context::Facts;
use pellucid_context::InputError;
use pellucid_context::ModelInfo;
use pellucid_context::RequestInput;
use pellucid_context::SessionId;
use pellucid_context::WireSettings;
use serde_json::Value;
use serde_json::json;

fn body(input: Value) -> Result<Vec<u8>, InputError> {
    Ok(serde_json::from_value::<RequestInput>(input)?.build()?.body())
}

#[test]
fn a_request_from_json_is_the_one_that_the_same_facts_give() {
    let input = json!({
        "pack": { "builtin": "codex" },
        "facts": { "model": "gpt-5.2-codex", "cwd": "/p", "features": { "shell_tool": false } },
        "wire": { "api": "chat", "session_id": "s" },
        "messages": ["hello", { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "hi" }] }],
    });
    let mut facts = Facts::plain("/p", ModelInfo::named("gpt-5.2-codex"));
    facts.settings.project_document_bytes_max = 32_768;
    facts.settings.features.set(pellucid_protocol::feature::Feature::ShellTool, false);
    let wire = WireSettings { wire: pellucid_context::WireApi::Chat, ..WireSettings::new(SessionId::new("s")) };
    let mut session = Engine::builtin("codex").unwrap().begin(facts, wire).unwrap();
    session.say("hello");
    session.record(&pellucid_context::Item::text("assistant", "hi"));
    assert_eq!(String::from_utf8(body(input).unwrap()).unwrap(), String::from_utf8(session.request().body()).unwrap());
}

#[test]
fn a_pack_of_files_gets_texts_and_gates() {
    let layout =
        "name = 'm'\nfrom = 'codex'\n[[slot]]\nid = 'news'\ntarget = 'user'\nsource = 'host'\ngate = ['host:on']\n";
    let input = |on: bool| {
        json!({
            "pack": { "files": { "pack.toml": layout } },
            "facts": { "model": "gpt-5.2-codex", "cwd": "/p" },
            "texts": { "news": "All is well." },
            "gates": { "on": on },
        })
    };
    let has_news = |on| String::from_utf8(body(input(on)).unwrap()).unwrap().contains("All is well.");
    assert_eq!((has_news(true), has_news(false)), (true, false));
}

#[track_caller]
fn check_refused(change: impl FnOnce(&mut Value), expected: &Expect) {
    let mut input = json!({ "pack": { "builtin": "codex" }, "facts": { "model": "m", "cwd": "/" } });
    change(&mut input);
    let error = body(input).unwrap_err().to_string();
    // The list of all keys grows.
    expected.assert_eq(error.split(", expected one of").next().unwrap());
}

#[test]
fn an_input_with_a_mistake_is_refused() {
    check_refused(
        |input| input["pack"]["builtin"] = json!("codecs"),
        &expect!["no built-in pack is named `codecs`; known: ads, agentcore, codex, openclaw, pellucid, risuai"],
    );
    check_refused(
        |input| input["facts"]["modle"] = json!("x"),
        &expect!["the input cannot be read: unknown field `modle`"],
    );
    check_refused(|input| input["facts"]["features"] = json!({ "flying": true }), &expect!["unknown feature `flying`"]);
    check_refused(
        |input| input["pack"] = json!({ "files": { "pack.toml": "name = 1" } }),
        &expect!["pack/pack.toml:1:8: invalid type: integer `1`, expected a string"],
    );
    check_refused(
        |input| input["texts"] = json!({ "news": "x" }),
        &expect!["the program gives the slot `news`, and the pack `codex` does not ask for it; it asks for: nothing"],
    );
}
