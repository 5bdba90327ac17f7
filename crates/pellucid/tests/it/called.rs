//! The program called as `codex`: what programs that start the Codex CLI ask of it.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::Value;

use crate::World;

const SCRIPT: &str = "//- work/script.toml\n[[reply]]\nsay = \"Hello.\"\n";

/// The program under this name.
fn called(world: &World, name: &str) -> PathBuf {
    let path = world.files.path(name);
    symlink(env!("CARGO_BIN_EXE_pellucid"), &path).unwrap();
    path
}

#[test]
fn called_as_codex_the_program_answers_with_the_version_that_is_set() {
    let world = World::new(SCRIPT);
    let (codex, other) = (called(&world, "codex"), called(&world, "other"));
    let version = |program: &PathBuf, set: &str| {
        let mut command = world.command_of(program.to_str().unwrap(), &["--version"]);
        command.env("PELLUCID_CODEX_VERSION", set);
        let ran = world.finish(command, None);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.out().to_owned()
    };
    assert_eq!(version(&codex, "0.166.0"), "codex-cli 0.166.0\n");
    assert_eq!(version(&codex, ""), "codex-cli 0.104.0\n");
    assert_eq!(version(&codex, "newest"), "codex-cli 0.104.0\n");
    let own = concat!("pellucid ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version(&other, "0.166.0"), own);
}

#[test]
fn called_as_codex_exec_writes_an_originator_that_usage_counters_know() {
    let world = World::new(SCRIPT);
    let codex = called(&world, "codex");
    for (program, overridden, expected) in [
        (codex.to_str().unwrap(), None, "codex_exec"),
        (env!("CARGO_BIN_EXE_pellucid"), None, "pellucid_exec"),
        (codex.to_str().unwrap(), Some("mine"), "mine"),
    ] {
        let mut command = world.command_of(program, &["exec", "--script", "script.toml", "--json", "Hi."]);
        command.envs(overridden.map(|name| ("CODEX_INTERNAL_ORIGINATOR_OVERRIDE", name)));
        let ran = world.finish(command, None);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let started: Value = serde_json::from_str(ran.out().lines().next().unwrap()).unwrap();
        let file = crate::statuses::file(&world, "home/sessions", started["thread_id"].as_str().unwrap());
        let text = std::fs::read_to_string(file).unwrap();
        let meta: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(meta["payload"]["originator"], expected);
    }
}
