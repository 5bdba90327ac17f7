//! The client for a screen reader, at a real terminal: text, line ends and prompts, and no other byte.

use pellucid_testkit::LiveTerminal;

use crate::World;

const SCRIPT: &str = r#"
//- work/script.toml
[[reply]]
say = "I make the file."
call = [{ name = "shell_command", args = { command = "touch made", sandbox_permissions = "require_escalated", justification = "to try it" } }]
usage = { input = 100, output = 10 }

[[reply]]
say = "It is **made**."
usage = { input = 100, output = 10 }
"#;

#[test]
fn a_conversation_is_plain_lines_from_the_first_question_to_the_end() {
    let world = World::new(SCRIPT);
    let mut command = world.command(&["--screen-reader", "--script", "script.toml"]);
    command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
    let mut terminal = LiveTerminal::start((80, 24), command);
    let mut written = terminal.read_until("Type a number, or esc.\n> ");
    assert!(written.contains("Do you trust what is in this folder?\n"), "{written}");
    terminal.write(b"1\n");
    written += &terminal.read_until("folder ");
    written += &terminal.read_until("> ");
    terminal.write(b"make a file\n");
    written += &terminal.read_until("or the letter of an answer, or esc.\n> ");
    assert!(written.contains("You: make a file\n") && written.contains("Answer: I make the file.\n"), "{written}");
    assert!(written.contains("$ touch made\n1. Yes, run it (y)\n"), "{written}");
    terminal.write(b"1\n");
    written += &terminal.read_until("Answer: It is **made**.\n");
    written += &terminal.read_until("Ready.\n> ");
    terminal.write(b"/exit\n");
    let (rest, code) = terminal.wait();
    written += &rest;
    assert_eq!(code, 0, "{written}");
    assert!(written.contains("run pellucid resume"), "{written}");
    assert!(!written.contains("> >"), "one prompt waits for a line: {written}");
    let strange: Vec<char> = written.chars().filter(|it| it.is_control() && *it != '\n').collect();
    assert!(strange.is_empty(), "{strange:?} in {written:?}");
    assert!(world.files.path("work/made").exists());
}
