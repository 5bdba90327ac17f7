//! Completions, manual and `--version --verbose`: what packages contain and shells ask for.

use std::fs;

use crate::World;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

/// A home folder with a session that has a name, and a pack.
fn world() -> World {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"done\"\n");
    for args in [
        &["exec", "--script", "script.toml", "--session-id", SESSION, "go"][..],
        &["sessions", "rename", SESSION, "fix-login"],
        &["pack", "new", "mine"],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    }
    world
}

/// What fish is answered for a line: a value and what is said about it, a line each.
fn answered(world: &World, words: &[&str]) -> String {
    let words = [&["--", "pellucid"], words].concat();
    let ran = world.run_in(&words, &[("PELLUCID_COMPLETE", "fish")]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.out().to_owned()
}

#[track_caller]
fn check_answer(world: &World, words: &[&str], expected: &str) {
    let answer = answered(world, words);
    assert!(answer.lines().any(|line| line.split('\t').next() == Some(expected)), "{words:?}: {answer}");
}

#[test]
fn every_shell_has_completions() {
    let world = World::new("");
    for shell in SHELLS {
        let ran = world.run(&["completion", shell]);
        assert_eq!(ran.status, 0, "{shell}: {}", ran.stderr);
        assert!(ran.out().contains("PELLUCID_COMPLETE") && ran.out().contains("pellucid"), "{shell}: {}", ran.out());
        let words = ["--", "pellucid", "sess"];
        let ran = world.run_in(&words, &[("PELLUCID_COMPLETE", shell), ("_CLAP_COMPLETE_INDEX", "1")]);
        assert!(ran.out().contains("sessions"), "{shell}: {}", ran.out());
    }
}

#[test]
fn commands_options_and_fixed_values_are_completed() {
    let world = World::new("");
    check_answer(&world, &["mem"], "memory");
    check_answer(&world, &["memory", "forget-s"], "forget-session");
    check_answer(&world, &["exec", "--jso"], "--json");
    check_answer(&world, &["exec", "--sandbox", "work"], "workspace-write");
}

#[test]
fn sessions_packs_models_features_and_schemas_are_completed() {
    let world = world();
    check_answer(&world, &["resume", "fix"], "fix-login");
    check_answer(&world, &["sessions", "show", "019a"], SESSION);
    check_answer(&world, &["fork", "019a"], SESSION);
    check_answer(&world, &["context", "--session", "fix"], "fix-login");
    check_answer(&world, &["context", "no"], "now");
    check_answer(&world, &["--pack", "mi"], "mine");
    check_answer(&world, &["pack", "use", "open"], "openclaw");
    check_answer(&world, &["exec", "--model", "gpt-5.2-c"], "gpt-5.2-codex");
    check_answer(&world, &["-m", "gpt-5.2-c"], "gpt-5.2-codex");
    check_answer(&world, &["features", "enable", "memory_"], "memory_tool");
    check_answer(&world, &["--disable", "memory_"], "memory_tool");
    check_answer(&world, &["schema", "rec"], "record");
}

#[test]
fn a_name_that_a_shell_would_read_otherwise_is_not_offered() {
    let world = world();
    let ran = world.run(&["sessions", "rename", SESSION, "$(touch x) now"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let answer = answered(&world, &["resume", ""]);
    assert!(answer.contains(SESSION) && !answer.lines().any(|line| line.starts_with('$')), "{answer}");
}

#[test]
fn an_answer_writes_nothing() {
    let world = World::new("");
    answered(&world, &["resume", ""]);
    let left: Vec<_> = fs::read_dir(world.files.path("home")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn another_value_of_the_variable_changes_nothing() {
    let ran = World::new("").run_in(&["--version"], &[("PELLUCID_COMPLETE", "1")]);
    assert_eq!(ran.out().trim(), concat!("pellucid ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let world = World::new("//- pages/x\n");
    let pages = world.files.path("pages");
    let ran = world.run(&["man", "--to", pages.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for page in ["pellucid", "pellucid-exec", "pellucid-sessions-list", "pellucid-pack-import", "pellucid-man"] {
        let text = fs::read_to_string(pages.join(format!("{page}.1"))).unwrap();
        let words: Vec<&str> = page.split_once('-').map(|(_, it)| it.split('-').collect()).unwrap_or_default();
        let printed = world.run(&[&["man"], &words[..]].concat());
        assert_eq!(printed.out(), text, "{page}");
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{text}");
    }
    let ran = world.run(&["man", "sessions", "lits"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("`pellucid sessions` has no command `lits`"), "{}", ran.stderr);
}

#[test]
fn the_long_version_names_every_part() {
    let world = World::new("");
    let first = concat!("pellucid ", env!("CARGO_PKG_VERSION"));
    for args in [["--version", "--verbose"], ["--verbose", "--version"], ["-V", "--verbose"]] {
        let ran = world.run(&args);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let lines: Vec<&str> = ran.out().lines().collect();
        assert_eq!(lines[0], first);
        for part in ["commit:", "target:", "compiler:", "allocator:", "packs:", "tls:", "sqlite:"] {
            let line = lines.iter().find(|it| it.starts_with(part)).unwrap_or_else(|| panic!("{part} in {lines:?}"));
            assert!(line.len() > part.len() + 4 && !line.contains("unknown "), "{line}");
        }
        assert!(!ran.out().contains(" unknown"), "{}", ran.out());
    }
    assert_eq!(world.run(&["--version"]).out().trim(), first);
    let ran = world.run(&["--verbose"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}
