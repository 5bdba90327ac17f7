//! Bad input: each error names the thing and what to do.

use expect_test::Expect;
use expect_test::expect;

use crate::World;
use crate::steady::after_settings;

/// Runs with this configuration and shows status and standard error.
#[track_caller]
fn check_error(config: &str, args: &[&str], expected: &Expect) {
    let world = World::new("//- work/bad.toml\n[[reply]]\nsing = 1\n");
    world.files.write("home/config.toml", config);
    let ran = world.run(args);
    expected.assert_eq(&format!("{} {}", ran.status, ran.stderr));
    assert_eq!(ran.out(), "");
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    check_error(
        "model = \"oops\nx = 1\n",
        &["exec", "hi"],
        &expect![[r#"
        1 error: config.toml cannot be loaded:
        ROOT/home/config.toml:1:14: invalid basic string, expected `"`
          |
        1 | model = "oops
          |              ^
    "#]],
    );
}

#[test]
fn a_wrong_type_is_shown_where_it_stands() {
    check_error(
        "model = 5\n",
        &["prompt"],
        &expect![[r#"
        1 error: config.toml cannot be loaded:
        ROOT/home/config.toml:1:9: invalid type: integer `5`, expected a string
          |
        1 | model = 5
          |         ^
    "#]],
    );
    check_error(
        "",
        &["exec", "-c", "model=5", "hi"],
        &expect![[r#"
        1 error: config.toml cannot be loaded: invalid type: integer `5`, expected a string
        in `model`
    "#]],
    );
}

#[test]
fn names_that_do_not_exist_are_named() {
    check_error(
        "model_provider = \"nowhere\"\n",
        &["context"],
        &expect![[r#"
            1 error: Model provider `nowhere` not found; write it as [model_providers.nowhere] in config.toml, or choose another one
        "#]],
    );
    check_error(
        "",
        &["exec", "-p", "nobody", "hi"],
        &expect![[r#"
            1 error: config profile `nobody` not found; write it as [profiles.nobody] in config.toml, or choose another one
        "#]],
    );
    check_error(
        "",
        &["exec", "--enable", "warp", "hi"],
        &expect![[r#"
            1 error: Unknown feature flag: warp
            hint: `pellucid features list` shows those that exist
        "#]],
    );
    check_error(
        "pack = \"mystery\"\n",
        &["prompt"],
        &expect![[r#"
            1 error: there is no pack `mystery`; known: ads, agentcore, codex, openclaw, pellucid, risuai
        "#]],
    );
}

#[test]
fn an_unknown_key_only_warns() {
    let world = World::new("//- work/x\n");
    world.files.write("home/config.toml", "modle = \"x\"\n");
    let id = "019a0000-0000-7000-8000-000000000001";
    let ran = world.run(&["prompt", "--session-id", id, "hi"]);
    assert_eq!(ran.status, 0);
    expect![[r#"
        warning: unknown key `modle` in ROOT/home/config.toml:1 (did you mean `model`?)
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn paths_and_ids_that_do_not_work_are_named() {
    check_error(
        "",
        &["prompt", "--cd", "missing"],
        &expect![[r#"
            1 error: --cd missing: No such file or directory (os error 2)
        "#]],
    );
    check_error(
        "",
        &["prompt", "--cd", "bad.toml"],
        &expect![[r#"
            1 error: --cd bad.toml: not a directory
        "#]],
    );
    check_error(
        "",
        &["prompt", "--session-id", "seven"],
        &expect![[r#"
            1 error: --session-id seven: this is not a UUID
        "#]],
    );
    check_error(
        "",
        &["exec", "--output-schema", "none.json", "hi", "--script", "bad.toml"],
        &expect![[r#"
        1 error: the script cannot be loaded: bad.toml:2:1: unknown field `sing`, expected one of `think`, `sealed`, `say`, `call`, `items`, `events`, `compact`, `usage`, `error`, `contains`, `delay_ms`, `deltas`
    "#]],
    );
    check_error(
        "",
        &["exec", "--output-schema", "bad.toml", "hi"],
        &expect![[r#"
            1 error: Output schema file bad.toml is not valid JSON: expected value at line 1 column 3
        "#]],
    );
}

#[test]
fn scripts_that_do_not_work_are_explained() {
    check_error(
        "",
        &["exec", "--script", "bad.toml", "hi"],
        &expect![[r#"
        1 error: the script cannot be loaded: bad.toml:2:1: unknown field `sing`, expected one of `think`, `sealed`, `say`, `call`, `items`, `events`, `compact`, `usage`, `error`, `contains`, `delay_ms`, `deltas`
    "#]],
    );
    check_error(
        "",
        &["exec", "--script", "missing.toml", "hi"],
        &expect![[r#"
        1 error: the script cannot be loaded: could not read the script missing.toml: No such file or directory (os error 2)
    "#]],
    );
    check_error(
        "",
        &["exec", "--provider", "scripted", "hi"],
        &expect![[r#"
            1 error: --provider scripted needs --script FILE
        "#]],
    );
    check_error(
        "",
        &["exec", "--oss", "hi"],
        &expect![[r#"
            1 error: --oss needs to know the local model server: add --local-provider ollama or lmstudio, or write oss_provider in config.toml
        "#]],
    );
    check_error(
        "oss_provider = \"llamafile\"\n",
        &["exec", "--oss", "hi"],
        &expect![[r#"
            1 error: oss_provider `llamafile` is not a local model server: write lmstudio or ollama
        "#]],
    );
}

#[test]
fn a_local_server_that_is_not_there_is_named_before_the_turn() {
    let world = World::new("//- home/config.toml\noss_provider = \"ollama\"\n//- home/.env\n");
    // A port that was free a moment ago and has no listener.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let base_url = format!("http://127.0.0.1:{port}/v1");
    let ran = world.run_in(&["exec", "--oss", "hi"], &[("CODEX_OSS_BASE_URL", &base_url)]);
    assert_eq!((ran.status, ran.out()), (1, ""));
    let shown = ran.stderr.replace(&base_url, "BASE");
    assert!(shown.starts_with("error: no Ollama server answers at BASE (error sending request"), "{shown}");
    assert!(shown.contains("\nhint: start it with `ollama serve`"), "{shown}");
}

#[test]
fn exec_stays_out_of_folders_that_are_no_repository() {
    let world = World::new("//- work/x\n");
    world.files.folder("plain");
    let plain = world.files.path("plain");
    let ran = world.run(&["exec", "--cd", plain.to_str().unwrap(), "hi"]);
    assert_eq!(ran.status, 1);
    expect![[r#"
        error: not inside a trusted directory, and --skip-git-repo-check was not given
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn wrong_usage_has_status_two() {
    let world = World::new("//- work/x\n");
    let mut said = String::new();
    for args in [&["exec", "-s", "sideways", "hi"][..], &["exec", "--no-such-flag"], &["sesions"]] {
        let ran = world.run(args);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        said.push_str(&ran.stderr);
    }
    expect![[r#"
        error: invalid value 'sideways' for '--sandbox <SANDBOX>'
          [possible values: read-only, workspace-write, danger-full-access]

        For more information, try '--help'.
        error: unexpected argument '--no-such-flag' found

          tip: to pass '--no-such-flag' as a value, use '-- --no-such-flag'

        Usage: pellucid exec [OPTIONS] [PROMPT] [COMMAND]

        For more information, try '--help'.
        error: `sesions` is no command
        hint: did you mean `pellucid sessions`? To say the word to the model: pellucid exec sesions
    "#]]
    .assert_eq(&said);
}

#[test]
fn numbers_that_are_none_are_explained() {
    check_error(
        "",
        &["sessions", "list", "--limit", "0"],
        &expect![[r#"
        2 error: invalid value '0' for '--limit <N>': a whole number from 1 on is needed

        For more information, try '--help'.
    "#]],
    );
    check_error(
        "",
        &["fork", "--last", "--at", "two"],
        &expect![[r#"
        2 error: invalid value 'two' for '--at <N>': a whole number is needed

        For more information, try '--help'.
    "#]],
    );
    check_error(
        "",
        &["sessions", "list", "--cursor", "second"],
        &expect![[r#"
            2 error: --cursor second: invalid cursor; the line below a page has the one of the next page
        "#]],
    );
}

/// A full standard error does not interrupt the turn.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_does_not_stop_a_turn() {
    let world = World::new("//- work/answer.toml\n[[reply]]\ncall = { name = \"sing\" }\n[[reply]]\nsay = \"Done.\"\n");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut turn = world.command(&["exec", "--script", "answer.toml", "hi"]);
    let output = turn.stderr(full()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"Done.\n".as_slice()));
    for words in [&["completion", "bash"][..], &["features", "list"], &["context", "hi"]] {
        let mut command = world.command(words);
        let output = command.stdout(full()).stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        let expected = "error: standard output cannot be written: No space left on device (os error 28)\n";
        assert_eq!(said, expected, "{words:?}");
    }
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let world = World::new("//- work/x\n");
    for words in [&["completion", "bash"][..], &["features", "list"], &["context", "hi"], &["sessions", "list"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(words);
        let output = command.stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn settings_that_name_nothing_are_told_before_anything_is_sent() {
    let world = World::new("//- home/config.toml\n[reinject_turns]\nnobody = 3\n");
    let ran = world.run(&["context", "hi"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    expect![[r#"
        warning: reinject_turns: the pack `codex` has no slot nobody; it has base, permissions, developer_instructions, memory, collaboration, personality, apps, commit_trailer, user_instructions, environment, injected, preamble
    "#]].assert_eq(&ran.stderr);
}

#[test]
fn an_image_that_cannot_be_read_is_told() {
    let world = World::new("//- work/answer.toml\n[[reply]]\nsay = \"Done.\"\n");
    let ran = world.run(&["exec", "--script", "answer.toml", "--image", "none.png", "--", "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "the model gets the error instead");
    expect![[r#"
        warning: failed to read image at none.png: No such file or directory (os error 2)
        Pellucid VERSION
        --------
        workdir: ROOT/work
        model: gpt-5.2-codex
        provider: scripted
        approval: never
        sandbox: read-only
        reasoning effort: medium
        reasoning summaries: auto
        session id: ID
        --------
        user
        hi
        pellucid
        Done.
    "#]]
    .assert_eq(&world.steady(&ran.stderr));
}

#[test]
fn options_of_a_turn_may_stand_behind_resume() {
    let world = World::new("//- work/answer.toml\n[[reply]]\nsay = \"Done.\"\n");
    assert_eq!(world.run(&["exec", "--script", "answer.toml", "hi"]).status, 0);
    let words = ["exec", "resume", "--last", "-m", "gpt-5.2-codex", "--full-auto", "--script", "answer.toml", "go on"];
    let ran = world.run(&words);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
}

#[test]
fn a_call_that_is_refused_is_told() {
    let script = "
        [[reply]]
        call = [{ name = \"exec_command\", args = { cmd = \"rm -rf x\" } }, { name = \"sing\", args = {} }]
        [[reply]]
        say = \"Done.\"
        ";
    let world = World::new("//- work/x\n");
    world.files.write("work/answer.toml", script);
    let ran = world.run(&["exec", "--script", "answer.toml", "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    expect![[r#"
        hi
        error: a call of `exec_command` failed; the model got the reason
        error: a call of `sing` failed; there is no such tool
        pellucid
        Done.
    "#]]
    .assert_eq(after_settings(&ran.stderr));
}

/// What a person may get wrong at first: each is answered by one error that names it, and by what to do where there is
/// something.
#[test]
fn every_wrong_word_is_named_with_what_to_do() {
    let world = World::new("//- work/s.toml\n[[reply]]\nsay = \"Done.\"\n//- home/sessions/x\n");
    let (named, hinted) = ("named", "hinted");
    for (args, name, how) in [
        (&["sessions", "show", "nosuch"][..], "nosuch", hinted),
        (&["sessions", "export", "nosuch"], "nosuch", hinted),
        (&["sessions", "fsck", "nosuch"], "nosuch", hinted),
        (&["sessions", "output", "nosuch"], "nosuch", hinted),
        (&["sessions", "rename", "nosuch", "x"], "nosuch", hinted),
        (&["sessions", "archive", "nosuch"], "nosuch", hinted),
        (&["sessions", "list", "--cursor", "nosuch"], "nosuch", named),
        (&["sessions", "list", "--limit", "nosuch"], "nosuch", named),
        (&["replay", "nosuch"], "nosuch", hinted),
        (&["replay", "--last"], "ROOT/work", hinted),
        (&["replay"], "SESSION", hinted),
        (&["resume"], "--last", hinted),
        (&["resume", "nosuch", "hi"], "nosuch", hinted),
        (&["fork", "nosuch"], "nosuch", hinted),
        (&["compact"], "<SESSION>", hinted),
        (&["cache"], "<SESSION>", hinted),
        (&["cost"], "<SESSION>", hinted),
        (&["sessions", "show"], "<SESSION>", hinted),
        (&["sessions", "capsule", "-o", "x.html"], "<SESSION[#N]>", hinted),
        (&["compact", "nosuch"], "nosuch", hinted),
        (&["apply", "nosuch"], "nosuch", hinted),
        (&["prompt", "nosuch#2"], "nosuch", hinted),
        (&["prompt", "--session", "nosuch"], "nosuch", hinted),
        (&["prompt", "now@nosuch"], "nosuch", hinted),
        (&["context", "file:nosuch"], "nosuch", named),
        (&["context", "--form", "nosuch"], "nosuch", named),
        (&["prompt", "--format", "nosuch"], "nosuch", named),
        (&["prompt", "--pack", "nosuch", "hi"], "nosuch", named),
        (&["prompt", "--pack", "./nosuch", "hi"], "work/nosuch", hinted),
        (&["pack", "check", "nosuch"], "nosuch", named),
        (&["prompt", "-c", "nosuch", "hi"], "nosuch", hinted),
        (&["prompt", "-c", "sandbox_mode=\"nosuch\"", "hi"], "nosuch", named),
        (&["prompt", "-c", "model_provider=\"nosuch\"", "hi"], "nosuch", named),
        (&["exec", "-p", "nosuch", "hi"], "nosuch", named),
        (&["exec", "-C", "nosuch", "hi"], "nosuch", named),
        (&["exec", "-s", "nosuch", "hi"], "nosuch", named),
        (&["exec", "--enable", "nosuch", "hi"], "nosuch", hinted),
        (&["exec", "--max-tokens", "nosuch", "hi"], "a whole number is needed", named),
        (&["exec", "--script", "nosuch.toml", "hi"], "nosuch.toml", named),
        (&["exec", "-o", "nosuch/x", "--script", "s.toml", "hi"], "nosuch/x", named),
        (&["exec", "--output-schema", "nosuch.json", "--script", "s.toml", "hi"], "nosuch.json", named),
        (&["exec", "--session-id", "nosuch", "--script", "s.toml", "hi"], "nosuch", named),
        (&["review", "--commit", "nosuch", "--script", "s.toml"], "nosuch", named),
        (&["features", "enable", "nosuch"], "nosuch", hinted),
        (&["mcp", "get", "nosuch"], "nosuch", hinted),
        (&["trust", "accept", "nosuch"], "nosuch", named),
        (&["trust", "revoke", "nosuch"], "nosuch", hinted),
        (&["nosuch"], "nosuch", hinted),
        (&["exec", "--nosuch"], "nosuch", named),
        (&["completion", "nosuch"], "nosuch", named),
    ] {
        let ran = world.run(args);
        assert!(matches!(ran.status, 1 | 2), "{args:?} ended with {}: {}", ran.status, ran.stderr);
        assert_eq!(ran.out(), "", "{args:?}");
        let first = ran.stderr.split("\nhint: ").next().unwrap();
        assert!(first.starts_with("error: ") && first.contains(name), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("\nhint: "), how == hinted, "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_home_that_cannot_be_used_is_named() {
    let world = World::new("//- work/x\n//- file\nx\n");
    for (home, why) in [
        ("file", "but that path is not a directory"),
        ("nosuch", "but that path does not exist; make that folder, or change the variable"),
    ] {
        let path = world.files.path(home);
        for args in [&["prompt", "hi"][..], &["exec", "hi"], &["sessions", "list"], &["context", "hi"]] {
            let ran = world.run_in(args, &[("PELLUCID_HOME", path.to_str().unwrap())]);
            assert_eq!((ran.status, ran.out()), (1, ""), "{args:?}: {}", ran.stderr);
            let said =
                format!("error: the home folder cannot be found: PELLUCID_HOME points to \"ROOT/{home}\", {why}\n");
            assert_eq!(ran.stderr, said, "{args:?}");
        }
    }
}
