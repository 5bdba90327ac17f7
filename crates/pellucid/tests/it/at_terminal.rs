//! `exec` at a terminal: drawn as it comes, everything once; the same command elsewhere is as it was. And the width for which
//! the client draws what is stored.

use pellucid_testkit::run_at_terminal;
use pellucid_testkit::run_at_terminal_of;

use crate::World;

const FILES: &str = r#"
//- work/a.txt
one
//- work/script.toml
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+second\n*** End Patch" }]
usage = { input = 1200, cached = 200, output = 40 }

[[reply]]
call = [{ name = "shell_command", args = { command = "echo from the command" } }]
usage = { input = 1300, cached = 1200, output = 40 }

[[reply]]
say = "Done."
usage = { input = 1500, cached = 1300, output = 10 }
"#;

/// A frame of rows that the terminal shows at once.
const FRAME: &str = "\u{1b}[?2026h";

const TURN: [&str; 4] = ["exec", "--dangerously-bypass-approvals-and-sandbox", "--script", "script.toml"];

#[track_caller]
fn seen(world: &World, more: &[&str], variables: &[(&str, &str)]) -> String {
    let args = [&TURN[..], more].concat();
    let mut command = world.command(&args);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let (bytes, status) = run_at_terminal(command, b"");
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(status, 0, "{text}");
    text
}

#[test]
fn a_turn_is_drawn_in_place_and_everything_is_shown_once() {
    let world = World::new(FILES);
    let seen = seen(&world, &["go"], &[("NO_COLOR", "1")]);
    assert!(seen.starts_with(FRAME), "{seen:?}");
    for once in ["+second", "-one", "session ", " tokens in "] {
        assert_eq!(seen.matches(once).count(), 1, "{once}: {seen:?}");
    }
    assert!(!seen.contains("tokens used") && !seen.contains("file update"), "{seen:?}");
    // Without colours nothing has one, and the cursor was never hidden.
    let has_colour = (30..38).any(|code| seen.contains(&format!("[{code}m")) || seen.contains(&format!(";{code}m")));
    assert!(!has_colour && !seen.contains("?25"), "{seen:?}");
    assert!(seen.contains("from the command"), "{seen:?}");
    assert!(seen.ends_with("\r\n\u{1b}[?2026l"), "the cursor is at the beginning of a row: {seen:?}");
}

#[test]
fn elsewhere_lines_are_printed_as_before() {
    let world = World::new(FILES);
    let piped = world.run(&[&TURN[..], &["go"]].concat());
    assert_eq!((piped.status, piped.out()), (0, "Done.\n"));
    assert!(!piped.stderr.contains('\u{1b}') && piped.stderr.contains("tokens used"), "{}", piped.stderr);
    for (more, variables) in
        [(&["go"][..], &[("TERM", "dumb")][..]), (&["go"], &[("TERM", "")]), (&["--json", "go"], &[])]
    {
        world.files.write("work/a.txt", "one\n");
        let seen = seen(&world, more, variables);
        assert!(!seen.contains(FRAME) && seen.contains("Done."), "{seen:?}");
    }
}

#[test]
fn a_continued_session_is_drawn_for_the_width_of_the_terminal() {
    let world = World::new("//- work/script.toml\n[[reply]]\nsay = \"Done.\"\n");
    let prompt = "a message of one hundred and ten columns, which fits into one row of this wide terminal, but not of a usual one";
    let config = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", world.files.path("work"));
    world.files.write("home/config.toml", config);
    let ran = world.run(&["exec", "--script", "script.toml", prompt]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut command = world.command(&["resume", "--last", "--script", "script.toml"]);
    command.env("TERM", "xterm");
    // The answers of the terminal to the client's questions, and Ctrl-D.
    let (bytes, status) = run_at_terminal_of(Some((140, 30)), command, b"\x1b[1;1R\x1b[?62c\x04");
    let seen = String::from_utf8(bytes).unwrap();
    assert_eq!(status, 0, "{seen:?}");
    assert!(seen.contains(prompt), "{seen:?}");
}
