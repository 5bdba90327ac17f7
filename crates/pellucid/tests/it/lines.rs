//! Lines on the screen say what is so, and mistakes are found before a turn is paid for.

use crate::Ran;
use crate::World;
use expect_test::Expect;
use expect_test::expect;

const ANSWER: &str = "//- work/answer.toml\n[[reply]]\nsay = \"Done.\"\n";
const ID: &str = "00000000-0000-7000-8000-000000000009";

fn exec(world: &World, args: &[&str]) -> Ran {
    world.run(&[&["exec", "--script", "answer.toml"], args].concat())
}

/// Checks that a run ends with 1 before anything is sent, and says this.
#[track_caller]
fn check_refused(world: &World, args: &[&str], said: &Expect) {
    check_ended(world, args, 1, said);
}

/// The same with another exit status.
#[track_caller]
fn check_ended(world: &World, args: &[&str], status: i32, said: &Expect) {
    let ran = world.run(args);
    assert_eq!((ran.status, ran.out()), (status, ""), "{args:?}: {}", ran.stderr);
    said.assert_eq(&ran.stderr);
}

#[test]
fn options_after_a_command_are_not_said_to_be_before_it() {
    let world = World::new(ANSWER);
    for options in [&["-m", "gpt-5.1"][..], &["--full-auto"], &["--dangerously-bypass-approvals-and-sandbox"]] {
        let ran = exec(&world, &[options, &["hi"]].concat());
        assert_eq!((ran.status, ran.stderr.contains("options before")), (0, false), "{options:?}: {}", ran.stderr);
    }
    let ran = world.run(&["-m", "gpt-5.1", "exec", "--script", "answer.toml", "hi"]);
    assert_eq!((ran.status, ran.stderr.contains("note: options before the command")), (0, true), "{}", ran.stderr);
}

#[test]
fn the_header_names_the_effort_that_is_sent() {
    let world = World::new(ANSWER);
    for (options, effort) in
        [(&[][..], "medium"), (&["-c", "model_reasoning_effort=high"], "high"), (&["-m", "some-model"], "not sent")]
    {
        let ran = exec(&world, &[options, &["hi"]].concat());
        let line = format!("reasoning effort: {effort}\n");
        assert!(ran.stderr.contains(&line), "{options:?}: {}", ran.stderr);
        let ran = world.run(&[&["prompt", "--format", "body", "--script", "answer.toml"], options, &["hi"]].concat());
        let sent = ran.out().split("\"effort\":\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(sent.unwrap_or("not sent"), effort);
    }
}

#[test]
fn openclaw_says_whether_commands_are_confined() {
    let world = World::new("");
    let sandbox = |options: &[&str]| {
        let ran = world.run(&[&["context", "--pack", "openclaw", "--form", "list"], options].concat());
        ran.out().lines().find(|line| line.starts_with("Sandbox: ")).unwrap_or_default().to_owned()
    };
    assert_eq!(sandbox(&[]), "Sandbox: mode=all sandboxed=true");
    assert_eq!(sandbox(&["-s", "danger-full-access"]), "Sandbox: mode=off sandboxed=false");
}

#[test]
fn a_failed_call_is_named_after_its_own_events() {
    let world = World::new("");
    let script = "
        [[reply]]
        call = [{ name = \"shell_command\", args = { command = \"echo one\" } }]
        [[reply]]
        call = [{ name = \"sing\", args = {} }]
        [[reply]]
        say = \"Done.\"
        ";
    world.files.write("work/answer.toml", script);
    let ran = exec(&world, &["-s", "danger-full-access", "hi"]);
    let place = |text: &str| ran.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", ran.stderr));
    assert!(place("\none\n") < place("error: a call of `sing` failed; there is no such tool\n"), "{}", ran.stderr);
    let ran = exec(&world, &["--json", "-s", "danger-full-access", "hi"]);
    expect![[r#"
        error: a call of `sing` failed; there is no such tool
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn a_session_that_is_not_there_or_not_whole_is_not_replaced_in_silence() {
    let world = World::new(ANSWER);
    let ran = exec(&world, &["resume", "nosuch", "hi"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    expect![[r#"
        warning: no session has the id or name `nosuch`; a new session begins
        hint: there are no stored sessions
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
    for option in ["--typed-exit-codes", "--strict-context"] {
        let args = ["exec", "--script", "answer.toml", option, "resume", "nosuch", "hi"];
        check_ended(
            &world,
            &args,
            2,
            &expect![[r#"
            error: no session has the id or name `nosuch`
            hint: `pellucid sessions list --all` shows those that are stored
        "#]],
        );
    }
    assert_eq!(exec(&world, &["--session-id", ID, "hi"]).status, 0);
    let mut folder = world.files.path("home/sessions");
    for _level in ["year", "month", "day"] {
        folder = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    }
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.to_string_lossy().contains(ID)).unwrap();
    std::fs::write(&file, "").unwrap();
    let ran = exec(&world, &["resume", ID, "hi"]);
    assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
    expect![[r#"
        error: the session file FILE is empty; nothing was sent
    "#]]
    .assert_eq(&ran.stderr.replace(&world.shown(&file.to_string_lossy()), "FILE"));
}

#[test]
fn a_file_for_the_last_message_is_tried_first() {
    let world = World::new(ANSWER);
    for (file, said) in [
        (
            "no/such/last.txt",
            expect![[r#"
        error: --output-last-message no/such/last.txt cannot be written: No such file or directory (os error 2); nothing was sent
    "#]],
        ),
        (
            ".",
            expect![[r#"
        error: --output-last-message . cannot be written: is a directory; nothing was sent
    "#]],
        ),
    ] {
        check_refused(&world, &["exec", "--script", "answer.toml", "-o", file, "hi"], &said);
    }
    assert_eq!(exec(&world, &["-o", "last.txt", "hi"]).status, 0);
    assert_eq!(world.files.read("work/last.txt"), "Done.");
    #[cfg(target_os = "linux")]
    {
        let ran = exec(&world, &["-o", "/dev/full", "hi"]);
        assert_eq!((ran.status, ran.out()), (1, "Done.\n"), "{}", ran.stderr);
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let world = World::new(ANSWER);
    for command in ["exec", "context", "prompt"] {
        let args = [command, "--script", "answer.toml", "-C", "no/such", "hi"];
        check_refused(
            &world,
            &args,
            &expect![[r#"
            error: --cd no/such: No such file or directory (os error 2)
        "#]],
        );
    }
}

#[test]
fn a_prompt_that_an_option_took_is_asked_for_with_a_hint() {
    let world = World::new(ANSWER);
    let args = ["exec", "--script", "answer.toml", "-i", "a.png", "hi"];
    let ran = world.run_with(&args, Some(b""));
    assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
    expect![[r#"
        warning: failed to read image at a.png: No such file or directory (os error 2)
        warning: failed to read image at hi: No such file or directory (os error 2)
        Reading prompt from stdin...
        error: No prompt provided via stdin.
        hint: `-i` takes every word that follows it, so put `--` before the prompt: pellucid exec -i FILE -- PROMPT
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn a_review_is_on_standard_output_and_of_something_that_is_there() {
    let world = World::new(ANSWER);
    let git = |args: &[&str]| {
        let mut command = world.command_of("git", args);
        command.envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "a")]);
        command.env("GIT_COMMITTER_EMAIL", "a@b");
        let ran = world.finish(command, None);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    };
    std::fs::remove_dir_all(world.files.path("work/.git")).unwrap();
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "answer.toml"]);
    git(&["commit", "-q", "-m", "first"]);
    let ran = world.run(&["review", "--script", "answer.toml", "--uncommitted", "-o", "findings.md"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    assert_eq!(world.files.read("work/findings.md"), "Done.");
    let ran = world.run(&["review", "--script", "answer.toml", "--base", "main"]);
    assert_eq!((ran.status, ran.out()), (0, "Done.\n"), "{}", ran.stderr);
    check_refused(
        &world,
        &["review", "--script", "answer.toml", "--base", "nosuch"],
        &expect![[r#"
        error: there is no branch `nosuch`; nothing was sent
    "#]],
    );
    check_refused(
        &world,
        &["review", "--script", "answer.toml", "--commit", "abc"],
        &expect![[r#"
        error: there is no commit `abc`; nothing was sent
    "#]],
    );
    let args = ["exec", "review", "--script", "answer.toml", "--base", "nosuch"];
    let ran = world.run(&args);
    assert_eq!((ran.status, ran.out()), (0, ""), "{}", ran.stderr);
    expect![[r#"
        warning: there is no branch `nosuch`
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
        changes against 'nosuch'
        pellucid
        Done.
    "#]]
    .assert_eq(&world.steady(&ran.stderr));
    check_refused(
        &world,
        &[&args[..], &["--typed-exit-codes"]].concat(),
        &expect![[r#"
        error: there is no branch `nosuch`; nothing was sent
    "#]],
    );
}

#[test]
fn a_summary_that_is_only_tried_is_not_said_to_be_made() {
    let world = World::new(ANSWER);
    assert_eq!(exec(&world, &["--session-id", ID, "hi"]).status, 0);
    let ran = world.run(&["compact", ID, "--dry-run", "--script", "answer.toml"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    expect![[r#"
        note: dry run: the history is unchanged; the request for the summary is in the record (`pellucid replay ID`)
    "#]]
    .assert_eq(&world.steady(&ran.stderr));
}

#[test]
fn an_editor_is_looked_for_before_the_model_is_asked() {
    let world = World::new(ANSWER);
    assert_eq!(exec(&world, &["--session-id", ID, "hi"]).status, 0);
    // A script without replies: the model cannot be asked.
    world.files.write("work/none.toml", "");
    let args = ["compact", ID, "--edit", "--script", "answer.toml"];
    for (editor, said) in [
        (
            "",
            expect![[r#"
        error: --edit: set VISUAL or EDITOR to your editor
    "#]],
        ),
        (
            "no-such-editor -w",
            expect![[r#"
        error: --edit: the editor `no-such-editor` was not found; set VISUAL or EDITOR to your editor
    "#]],
        ),
    ] {
        let ran = world.run_in(&args, &[("EDITOR", editor)]);
        assert_eq!((ran.status, ran.out()), (1, ""), "{}", ran.stderr);
        said.assert_eq(&ran.stderr);
    }
    assert_eq!(world.run_in(&args, &[("EDITOR", "true")]).status, 0);
}

#[test]
fn a_list_without_a_folder_that_cannot_be_read_says_so() {
    let world = World::new(ANSWER);
    let ran = world.run(&["sessions", "list"]);
    assert_eq!((ran.status, ran.out()), (0, "no sessions\n"), "{}", ran.stderr);
    world.files.write("home/sessions", "no folder");
    for options in [&[][..], &["--json"]] {
        let ran = world.run(&[&["sessions", "list"], options].concat());
        assert_eq!((ran.status, ran.out().contains("no sessions")), (1, false), "{}", ran.stderr);
        expect![[r#"
            warning: ROOT/home/sessions cannot be read, so its sessions are missing: Not a directory (os error 20)
        "#]]
        .assert_eq(&ran.stderr);
    }
}

/// An explanation without the path of the user's shell, which its first word is.
fn without_shell(text: &str) -> String {
    let shell = text.split(' ').next().unwrap_or_default();
    text.replace(shell, "SHELL")
}

#[test]
fn an_explanation_says_what_exec_does_where_that_differs() {
    let world = World::new("");
    let ran = world.run(&["approvals", "explain", "rm -rf build"]);
    expect![[r#"
        SHELL -lc 'rm -rf build'
        under approval policy on-request and sandbox read-only
        ask: if allowed, it runs in the sandbox
        taken apart: yes, its script consists of plain commands
          rm -rf build: prompt
            no rule matches; it is dangerous
        rule you could save: prefix_rule(pattern=["rm", "-rf", "build"], decision="allow")
        what would change it:
          - the rule prefix_rule(pattern=["rm", "-rf", "build"], decision="allow")
          - allowing it for the session when asked
        in `pellucid exec`, which never asks: reject: `SHELL -lc 'rm -rf build'` rejected: blocked by policy
    "#]]
    .assert_eq(&without_shell(ran.out()));
    let ran = world.run(&["approvals", "explain", "--json", "rm -rf build"]);
    let value: serde_json::Value = serde_json::from_str(ran.out()).unwrap();
    assert_eq!((&value["outcome"], &value["in_exec"]), (&"ask".into(), &"reject".into()), "{value:#}");
    let ran = world.run(&["approvals", "explain", "ls"]);
    expect![[r#"
        SHELL -lc ls
        under approval policy on-request and sandbox read-only
        run: it runs in the sandbox
        taken apart: yes, its script consists of plain commands
          ls: allow
            no rule matches; it is known to only read
    "#]]
    .assert_eq(&without_shell(ran.out()));
}

#[test]
fn what_a_pack_puts_among_the_messages_is_listed_for_every_pack() {
    let world = World::new("//- work/.ads/rules.md\nBe brief.\n//- work/AGENTS.md\nUse tabs.\n");
    for (pack, part, origin) in [
        ("codex", "user_instructions", "AGENTS.md"),
        ("risuai", "memory", "memory"),
        ("ads", "rules", "rules.md"),
        ("agentcore", "repo_docs", "AGENTS.md"),
    ] {
        let ran = world.run(&["context", "--pack", pack, "--form", "injections", "hi"]);
        let lines: Vec<serde_json::Value> =
            ran.out().lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
        let is_it = |it: &&serde_json::Value| it["item_id"] == part || it["source_type"] == part;
        let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("{pack}: {}", ran.out()));
        assert!(line["origin"].to_string().contains(origin), "{pack}: {line:#}");
        assert!(line["bytes_after"].as_u64() > Some(0), "{pack}: {line:#}");
    }
    let ran = world.run(&["context", "--pack", "openclaw", "--form", "injections", "hi"]);
    assert_eq!(ran.out(), "nothing is injected\n");
}

#[test]
fn words_that_are_no_command_are_answered_with_one() {
    let world = World::new("");
    let mut hints = String::new();
    for (args, status) in
        [(&["fix the bug"][..], 1), (&["tui"], 2), (&["update"], 2), (&["exec", "-a", "on-request", "hi"], 2)]
    {
        let ran = world.run(args);
        let last = ran.stderr.split_inclusive('\n').next_back().unwrap_or_default();
        assert!(ran.status == status && last.starts_with("hint: "), "{args:?}: {}", ran.stderr);
        hints.push_str(last);
    }
    expect![[r#"
        hint: to run one turn without a terminal: pellucid exec 'fix the bug'
        hint: `pellucid` without a command begins a conversation in the terminal
        hint: Pellucid does not update itself; install the new version in place of this one
        hint: `exec` never asks for approval: commands that need it are refused (`pellucid approvals explain COMMAND`)
    "#]]
    .assert_eq(&hints);
    let ran = world.run(&[]);
    assert!(ran.stderr.contains("`pellucid exec PROMPT` runs one turn"), "{}", ran.stderr);
}
