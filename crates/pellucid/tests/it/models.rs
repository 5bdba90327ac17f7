//! `pellucid models list`: the known models, and the configured one.

use serde_json::Value;
use serde_json::json;

use crate::World;

#[test]
fn the_configured_model_is_marked_and_prices_are_those_of_the_user() {
    let world = World::new(
        r#"//- home/config.toml
model = "gpt-5.2-codex"
model_reasoning_effort = "high"
//- home/prices.toml
[[price]]
model = "gpt-5.2-codex"
from = 2020-01-01
currency = "EUR"
input = 3.5
cached_read = 0.25
output = 20
"#,
    );
    let ran = world.run(&["models", "list", "--json", "--all"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let listed: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(listed["schema"], "pellucid.models/1");
    assert_eq!(
        listed["configured"],
        json!({"model": "gpt-5.2-codex", "provider": "openai", "effort": "high", "in_catalogue": true})
    );
    let models = listed["models"].as_array().unwrap();
    let configured: Vec<&Value> = models.iter().filter(|model| model["is_configured"] == true).collect();
    let [model] = configured[..] else { panic!("{configured:?}") };
    assert_eq!(model["slug"], "gpt-5.2-codex");
    assert_eq!(
        model["price"],
        json!({"currency": "EUR", "tokens": 1_000_000, "input": "3.5", "cached_read": "0.25", "output": "20", "from": "2020-01-01"})
    );
    assert_eq!(models.iter().filter(|model| model["is_default"] == true).count(), 1);
    for model in models {
        let efforts = model["efforts"].as_array().unwrap();
        let default = &model["default_effort"];
        assert!(default.is_null() || efforts.contains(default), "{model}");
        assert!(model["window"].as_i64().is_some_and(|window| window > 0), "{model}");
    }
    let text = world.run(&["models", "list"]);
    assert!(text.out().contains("* configured: gpt-5.2-codex from provider openai, effort high"), "{}", text.out());
}

#[test]
fn an_unknown_model_is_listed_without_a_price() {
    let world = World::new("//- home/config.toml\nmodel = \"my-own\"\n");
    let listed: Value = serde_json::from_slice(&world.run(&["models", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed["configured"]["in_catalogue"], false);
    let first = &listed["models"][0];
    assert_eq!((&first["slug"], &first["price"]), (&json!("my-own"), &Value::Null));
}

#[test]
fn the_limit_of_tool_outputs_is_in_the_report() {
    let world = World::new("//- work/x\n");
    let limit = |more: &[&str]| {
        let ran = world.run(&[&["context", "--json"], more, &["hi"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()["tool_output_limit"].clone()
    };
    assert!(limit(&[])["limit"].as_i64().is_some_and(|limit| limit > 0));
    let set = limit(&["-c", "tool_output_token_limit=50"]);
    let expected = if set["unit"] == "tokens" { 50 } else { 200 };
    assert_eq!(set["limit"], expected, "{set}");
}

/// The ceiling of a request with `prompt_mode = "minimal"` in an empty project, in estimated tokens (docs/packs.md).
const MINIMAL_TOKENS_MAX: u64 = 3_500;

#[test]
fn a_minimal_prompt_has_all_tools_and_stays_below_its_ceiling() {
    let world = World::new("//- work/x\n");
    let packs = world.run(&["pack", "list"]);
    let packs: Vec<&str> =
        packs.out().lines().filter_map(|line| line.trim_start_matches(['*', ' ']).split_once(' ')?.0.into()).collect();
    let mut with_mode = Vec::new();
    for pack in packs.iter().filter(|name| **name != "pack") {
        for wire in ["responses", "chat", "messages"] {
            let wire = format!("model_providers.x={{name='x',base_url='http://127.0.0.1:9/',wire_api='{wire}'}}");
            let report = |mode: &str| {
                let mode = format!("prompt_mode=\"{mode}\"");
                let settings = ["-c", &mode, "-c", "model_provider=x", "-c", &wire];
                let ran = world.run(&[&["context", "--json", "--pack", pack], &settings[..], &["hi"]].concat());
                assert_eq!(ran.status, 0, "{pack}: {}", ran.stderr);
                let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
                let rows = report["rows"].as_array().unwrap().clone();
                let tokens: u64 = rows.iter().map(|row| row["tokens"].as_u64().unwrap()).sum();
                let is_tool = |row: &&Value| row["part"].as_str().unwrap().starts_with("tools");
                (tokens, rows.iter().filter(is_tool).count())
            };
            let ((full, tools), (minimal, tools_of_minimal)) = (report("full"), report("minimal"));
            assert_eq!(tools, tools_of_minimal, "{pack} {wire}");
            if minimal < full {
                assert!(minimal <= MINIMAL_TOKENS_MAX, "{pack} {wire}: {minimal} tokens");
                with_mode.push(*pack);
            }
        }
    }
    assert!(with_mode.contains(&"openclaw"), "{with_mode:?}");
}
