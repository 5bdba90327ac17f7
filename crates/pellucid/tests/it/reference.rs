//! Sessions that the Codex CLI and Pellucid share. These run where `PELLUCID_REFERENCE_CODEX`
//! names a Codex CLI 0.104.0; elsewhere they say that they are skipped. The one about token totals
//! also needs `PELLUCID_CCUSAGE`, the program of the npm package `@ccusage/codex`.

use std::fs;
use std::path::PathBuf;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;

use crate::World;

/// The reference, if there is one.
fn codex(test: &str) -> Option<String> {
    let found = std::env::var("PELLUCID_REFERENCE_CODEX").ok();
    if found.is_none() {
        skipped(test, "PELLUCID_REFERENCE_CODEX names no Codex CLI");
    }
    found
}

/// Says that a test is not run.
#[expect(clippy::print_stdout, reason = "a test that is skipped must say so")]
fn skipped(test: &str, why: &str) {
    println!("{test}: skipped, {why}");
}

fn world(server: &MockServer) -> World {
    let world = World::new("//- work/AGENTS.md\nUse tabs.\n");
    world.files.folder("user");
    let config = format!(
        "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
    world
}

fn run(world: &World, program: &str, args: &[&str]) -> String {
    let output = world.command_of(program, args).stderr(std::process::Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lists of items of all requests.
fn inputs(server: &MockServer) -> Vec<Vec<Value>> {
    let body = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    server.requests().iter().map(|request| body(&request.body)["input"].as_array().unwrap().clone()).collect()
}

fn texts(input: &[Value]) -> Vec<String> {
    input.iter().filter_map(|item| item["content"][0]["text"].as_str()).map(str::to_owned).collect()
}

fn file(world: &World) -> PathBuf {
    let mut folder = world.files.path("home/sessions");
    while folder.is_dir() {
        folder = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    }
    folder
}

/// Begins a session with one program, continues it with the other, and again with the first.
fn check_exchange(first: &str, second: &str) {
    let server = MockServer::start(["one", "two", "three"].map(MockReply::say));
    let world = world(&server);
    run(&world, first, &["exec", "--skip-git-repo-check", "first"]);
    let before = fs::read_to_string(file(&world)).unwrap();
    run(&world, second, &["exec", "--skip-git-repo-check", "resume", "--last", "second"]);
    run(&world, first, &["exec", "--skip-git-repo-check", "resume", "--last", "third"]);
    let after = fs::read_to_string(file(&world)).unwrap();
    assert!(after.starts_with(&before), "what was there stays");
    let inputs = inputs(&server);
    assert_eq!(inputs.len(), 3);
    for (n, said) in [(1, ["first", "one", "second"].as_slice()), (2, &["first", "one", "second", "two", "third"])] {
        let texts = texts(&inputs[n]);
        let found: Vec<&str> = texts.iter().map(String::as_str).filter(|text| said.contains(text)).collect();
        assert_eq!(found, said, "every message is there, in order");
    }
    assert!(inputs[1].starts_with(&inputs[0]), "a resumed session extends its last request");
    assert!(inputs[2].starts_with(&inputs[1]), "a resumed session extends its last request");
    let ran = world.run(&["sessions", "list", "--json"]);
    let page: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(page["sessions"][0]["first_message"], "first", "{}", ran.stderr);
}

#[test]
fn codex_goes_on_with_our_sessions_and_we_with_its() {
    if let Some(codex) = codex("codex_goes_on_with_our_sessions_and_we_with_its") {
        check_exchange(crate::program(), &codex);
        check_exchange(&codex, crate::program());
    }
}

#[test]
fn requests_of_codex_are_not_provable_and_ours_are() {
    let Some(codex) = codex("requests_of_codex_are_not_provable_and_ours_are") else {
        return;
    };
    let server = MockServer::start(["one", "two"].map(MockReply::say));
    let world = world(&server);
    run(&world, &codex, &["exec", "--skip-git-repo-check", "first"]);
    run(&world, crate::program(), &["exec", "resume", "--last", "second"]);
    let name = file(&world).file_stem().unwrap().to_str().unwrap().to_owned();
    let ran = world.run(&["replay", "--json", &name[name.len() - 36..]]);
    let replay: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let verdicts: Vec<&str> =
        replay["requests"].as_array().unwrap().iter().map(|it| it["verdict"].as_str().unwrap()).collect();
    assert_eq!((ran.status, verdicts), (3, vec!["not_provable", "equal"]), "{}", ran.out());
}

/// What another program says that the only session of a home folder has cost.
fn totals(world: &World, ccusage: &str) -> Vec<Value> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = world.command_of(ccusage, &["session", "--json", "--offline"]).env("PATH", path).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let session = &said["sessions"][0];
    ["inputTokens", "cachedInputTokens", "outputTokens", "totalTokens"].map(|key| session[key].clone()).to_vec()
}

#[test]
fn others_count_the_same_tokens_in_our_sessions_as_in_those_of_codex() {
    let name = "others_count_the_same_tokens_in_our_sessions_as_in_those_of_codex";
    let Some(codex) = codex(name) else {
        return;
    };
    let Ok(ccusage) = std::env::var("PELLUCID_CCUSAGE") else {
        skipped(name, "PELLUCID_CCUSAGE names no program");
        return;
    };
    let counted = [crate::program(), codex.as_str()].map(|program| {
        let server = MockServer::start(["one", "two"].map(MockReply::say));
        let world = world(&server);
        run(&world, program, &["exec", "--skip-git-repo-check", "first"]);
        run(&world, program, &["exec", "--skip-git-repo-check", "resume", "--last", "second"]);
        totals(&world, &ccusage)
    });
    assert!(counted[0].iter().all(|count| count.as_u64().is_some()), "{counted:?}");
    assert_eq!(counted[0], counted[1]);
}
