//! The program and the library make the same request, and the examples of `docs/library.md` run as printed.

use pellucid_context::RequestInput;
use pellucid_engine::pack::Pack;
use serde_json::Value;
use serde_json::json;

use crate::World;

const PAGE: &str = include_str!("../../../../docs/library.md");

const ID: &str = "019a0000-0000-7000-8000-000000000001";

/// The first block of a language on the page behind a text.
fn block(language: &str, behind: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(behind).unwrap();
    let (_, rest) = rest.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// The message texts of a request.
fn messages(body: &Value) -> Value {
    body["input"].clone()
}

#[test]
fn items_of_standard_input_are_in_the_request() {
    let (command, items) = block("sh", "## In any language").split_once(" <<'JSON'\n").unwrap();
    let words = shlex::split(command).unwrap();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let items = items.strip_suffix("JSON\n").unwrap();
    let world = World::new("//- work/README.md\nx\n");
    let ran = world.run_with(&words, Some(items.as_bytes()));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let body: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let expected: Value = serde_json::from_str(block("json", "The answer has these messages")).unwrap();
    assert_eq!(messages(&body), expected);
    assert!(
        body["instructions"].as_str().unwrap().ends_with("\n\nAnswer in two sentences."),
        "{}",
        body["instructions"]
    );
    assert_eq!(body["prompt_cache_key"], ID);
    let report =
        world.run_with(&["context", "--json", "--pack", "agentcore", "--inject", "-", "x"], Some(items.as_bytes()));
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let origins = report["rows"].as_array().unwrap().iter().map(|row| row["origin"].as_str().unwrap());
    assert!(origins.clone().any(|origin| origin == "standard input[0]"), "{:?}", origins.collect::<Vec<_>>());
}

#[test]
fn the_example_in_python_runs() {
    let world = World::new("//- work/README.md\nx\n");
    let program = std::path::Path::new(crate::program()).parent().unwrap().to_string_lossy().into_owned();
    let mut command = world.command_of("python3", &["-c", block("python", "The same in Python")]);
    command.env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap()));
    let ran = world.finish(command, None);
    assert_eq!((ran.status, ran.out()), (0, "Answer in French.\n"), "{}", ran.stderr);
}

/// A layout without sources once lost the items of a caller who also had sources.
#[test]
fn items_are_injected_beside_sources_with_every_pack() {
    let world = World::new("//- work/README.md\nx\n");
    let given = r#"{
        "items": [{ "target": "preamble_message", "role": "user", "content": "Said by an item." }],
        "sources": [{ "type": "text_store", "entries": [
            { "key": "k", "target": "preamble_message", "role": "user" }
        ] }],
        "store": { "k": "Said by a source." }
    }"#;
    for pack in Pack::builtin_names() {
        let ran = world.run_with(&["prompt", "--pack", pack, "--inject", "-", "x"], Some(given.as_bytes()));
        assert_eq!(ran.status, 0, "{pack}: {}", ran.stderr);
        for text in ["Said by an item.", "Said by a source."] {
            assert_eq!(ran.out().matches(text).count(), 1, "{pack} sends `{text}` once: {}", ran.out());
        }
    }
}

#[test]
fn standard_input_that_is_no_list_of_items_is_refused() {
    let world = World::new("//- work/README.md\nx\n");
    let run = |args: &[&str], input: &str| {
        let ran = world.run_with(args, Some(input.as_bytes()));
        (ran.status, ran.stderr.lines().next().unwrap_or_default().to_owned())
    };
    let one = ["prompt", "--pack", "agentcore", "--inject", "-", "x"];
    let (status, error) = run(&one, "{ \"itms\": [] }");
    assert_eq!(status, 1);
    assert!(error.starts_with("error: standard input: unknown field `itms`"), "{error}");
    let twice = ["prompt", "--pack", "agentcore", "--inject", "-", "--inject", "-", "x"];
    let expected = "error: `--inject -` reads standard input, and can be given once";
    assert_eq!(run(&twice, "[]"), (2, expected.to_owned()));
}

/// The facts of the test's folder, as another program would give them.
fn facts(world: &World, shell: &str, more: &Value) -> Value {
    let mut facts = json!({
        "model": "gpt-5.2-codex",
        "cwd": world.files.path("work"),
        "shell": shell,
        "project_documents": [{ "path": world.files.path("work/AGENTS.md"), "text": "Use \"tabs\".\n" }],
        "web_search": "cached",
        "personality": "pragmatic",
    });
    facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    facts
}

/// Checks that the program and the library make the same bytes.
#[track_caller]
fn check_same(config: &str, api: &str, more: &Value) {
    let world = World::new("//- work/AGENTS.md\nUse \"tabs\".\n");
    world.files.write("home/config.toml", config);
    let ran = world.run(&["prompt", "--format", "body", "-m", "gpt-5.2-codex", "--session-id", ID, "hello"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // The user's shell is a fact of this machine.
    let (_, shell) = ran.out().split_once("<shell>").unwrap();
    let (shell, _) = shell.split_once("</shell>").unwrap();
    let input: RequestInput = serde_json::from_value(json!({
        "pack": { "builtin": "codex" },
        "facts": facts(&world, shell, more),
        "wire": { "api": api, "session_id": ID },
        "messages": ["hello"],
    }))
    .unwrap();
    let body = input.build().unwrap().body();
    let same = body.iter().zip(&ran.stdout).take_while(|(a, b)| a == b).count();
    let from =
        |bytes: &[u8]| String::from_utf8_lossy(&bytes[same.saturating_sub(60)..]).chars().take(200).collect::<String>();
    assert!(body == ran.stdout, "{api}: the library has {:?}, and the program {:?}", from(&body), from(&ran.stdout));
}

#[test]
fn the_library_makes_the_bytes_of_the_program() {
    check_same("", "responses", &json!({}));
    let told =
        "developer_instructions = \"Be kind.\"\nmodel_reasoning_effort = \"high\"\n[features]\nshell_tool = false\n";
    let more = json!({ "developer_instructions": "Be kind.", "effort": "high", "features": { "shell_tool": false } });
    check_same(told, "responses", &more);
    for api in ["chat", "messages"] {
        let config = format!(
            "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"http://127.0.0.1:9\"\nwire_api = \"{api}\"\n"
        );
        check_same(&config, api, &json!({}));
    }
}
