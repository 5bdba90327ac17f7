//! The text that a terminal receives from files, models and tools: nothing that controls it or hides.

use pellucid_testkit::run_at_terminal;

use crate::World;

/// Colours of a terminal, its title, a link, hidden and turned around text, a message in tags, an eight-bit command.
const HOSTILE: &str = "A\u{1b}[8mB\u{1b}[0m\u{1b}]0;title\u{7}\u{1b}]8;;http://x\u{1b}\\C\u{8}\u{9b}31mD\u{7f}\
    \u{202e}E\u{200b}F\u{2066}G\u{e0041}H\u{ad}I\u{feff}J";

/// A name of a file that tries the same.
const HOSTILE_NAME: &str = "n\u{1b}[8m\u{202e}ame";

fn world() -> World {
    let world = World::new("");
    let text = format!("{HOSTILE}\n");
    world.files.write("work/AGENTS.md", &text);
    world.files.write(format!("work/{HOSTILE_NAME}/AGENTS.md"), &text);
    let skill = "---\nname: s\ndescription: \"d\\x1b[8mB\\u202eE\"\n---\nx\n";
    world.files.write("work/.agents/skills/s/SKILL.md", skill);
    world.files.write("home/prompts/p.md", format!("---\ndescription: d{HOSTILE}\n---\n{HOSTILE}\n"));
    let escaped = serde_json::to_string(&format!("printf '{HOSTILE}'")).unwrap();
    let say = serde_json::to_string(&format!("Answer {HOSTILE}.")).unwrap();
    let think = serde_json::to_string(&format!("Thought {HOSTILE}.")).unwrap();
    let script = format!(
        "[[reply]]\nthink = {think}\n[[reply.call]]\nname = \"shell_command\"\nargs = {{ command = {escaped} }}\n\n[[reply]]\nsay = {say}\n"
    );
    world.files.write("answer.toml", toml_text(&script));
    world
}

/// JSON strings are TOML strings but for a few characters that TOML wants written out.
fn toml_text(text: &str) -> String {
    text.replace('\u{7f}', "\\u007f")
}

/// Checks that no byte of what a terminal was given commands it, but our own colours, and that what was hidden shows.
#[track_caller]
fn check_terminal(world: &World, args: &[&str]) -> String {
    let mut command = world.command(args);
    command.env("TERM", "xterm");
    let (seen, _) = run_at_terminal(command, b"");
    let seen = String::from_utf8(seen).unwrap();
    let mut rest = without_drawing(&seen);
    for colour in ["0", "1", "2", "31", "32", "33", "34", "36", "3;35"] {
        rest = rest.replace(&format!("\u{1b}[{colour}m"), "");
    }
    // Links to files, whose addresses have no character that could end them.
    while let Some((before, after)) = rest.split_once("\u{1b}]8;;") {
        let (address, after) = after.split_once("\u{1b}\\").unwrap();
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "/:.%-_~".contains(it);
        assert!(address.chars().all(is_plain) && (address.is_empty() || address.starts_with("file:///")), "{address}");
        rest = format!("{before}{after}");
    }
    let hostile = |it: &char| {
        (it.is_control() && !matches!(it, '\n' | '\t'))
            || matches!(it, '\u{202e}' | '\u{200b}' | '\u{2066}' | '\u{e0041}' | '\u{ad}' | '\u{feff}')
    };
    assert_eq!(rest.chars().find(hostile), None, "{args:?}: {rest:?}");
    seen
}

/// A text without the sequences by which a turn is drawn in place: moves in the strip of rows, and its colours.
fn without_drawing(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("\u{1b}[?2026h", "").replace("\u{1b}[?2026l", "").replace('\r', "");
    let mut pieces = text.split("\u{1b}[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|it: char| !it.is_ascii_digit() && it != ';').unwrap_or(piece.len());
        let is_move = end < 3 && piece[end..].starts_with(['A', 'C', 'J', 'K']);
        let is_colour = |code: &str| ["", "1", "2", "3", "4", "22", "23", "24", "31", "32", "36", "39"].contains(&code);
        let is_look = piece[end..].starts_with('m') && piece[..end].split(';').all(is_colour);
        match is_move || is_look {
            true => out += &piece[end + 1..],
            false => out += &format!("\u{1b}[{piece}"),
        }
    }
    out
}

#[track_caller]
fn check_shows(world: &World, args: &[&str]) {
    let seen = check_terminal(world, args);
    assert!(seen.contains("\\u{1b}[8mB"), "{args:?}: {seen}");
    assert!(seen.contains("\\u{202e}E"), "{args:?}: {seen}");
}

#[test]
fn views_of_what_the_model_is_told() {
    let world = world();
    check_shows(&world, &["prompt", "--format", "text", "hi"]);
    check_shows(&world, &["prompts", "list"]);
    for args in [
        &["context", "hi"][..],
        &["context", "-v", "hi"],
        &["context", "-vv", "hi"],
        &["prompt", "--full", "hi"],
        &["context", "--form", "map", HOSTILE],
        &["context", "-C", HOSTILE_NAME, "hi"],
        &["prompt", "-C", HOSTILE_NAME, "hi"],
        &["doctor", "-C", HOSTILE_NAME],
        &["pack", "show"],
        &["skills", "list"],
        &["pack", "check", HOSTILE_NAME],
        &["approvals", "explain", "--", "echo", HOSTILE],
        &["sessions", "show", HOSTILE],
        &["exec", "--profile", HOSTILE, "hi"],
        &["trust", "accept", HOSTILE_NAME],
        &["trust", "revoke", HOSTILE_NAME],
        &["exec", &format!("--{HOSTILE}")],
        &["memory", "show", HOSTILE],
    ] {
        check_terminal(&world, args);
    }
}

#[test]
fn a_name_of_a_file_makes_no_line_of_its_own() {
    let world = World::new("");
    world.files.write("work/a\nwarning: forged/AGENTS.md", "x");
    let seen = check_terminal(&world, &["context", "-v", "-C", "a\nwarning: forged", "hi"]);
    assert!(seen.contains("work/a\\nwarning: forged/AGENTS.md: read"), "{seen}");
    assert!(!seen.lines().any(|line| line.starts_with("warning: forged")), "{seen}");
}

#[test]
fn a_turn_and_the_session_that_it_leaves() {
    let world = world();
    let script = world.files.path("answer.toml");
    let exec = ["exec", "--skip-git-repo-check", "--color", "always", "--script", script.to_str().unwrap(), HOSTILE];
    check_shows(&world, &exec);
    let mut dumb = world.command(&exec);
    dumb.env("TERM", "dumb");
    let (lines, _) = run_at_terminal(dumb, b"");
    assert!(String::from_utf8(lines).unwrap().contains("\\u{202e}E"));
    check_terminal(&world, &["sessions", "list"]);
    let list = world.run(&["sessions", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(list.out()).unwrap();
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    check_shows(&world, &["sessions", "show", &id]);
}

#[test]
fn pipes_and_data_get_the_bytes() {
    let world = world();
    let text = world.run(&["prompt", "--format", "text", "hi"]);
    assert!(text.out().contains(HOSTILE));
    let script = world.files.path("answer.toml");
    let answer = world.run(&["exec", "--skip-git-repo-check", "--script", script.to_str().unwrap(), "hi"]);
    assert_eq!(answer.out(), format!("Answer {HOSTILE}.\n"));
    let data = world.run(&["prompt", "--format", "body", "hi"]);
    assert!(data.out().contains('\u{202e}') && data.out().contains('\u{9b}'));
}

/// JSON on a terminal has the value that a pipe gets, and nothing in it commands or hides.
#[test]
fn json_on_a_terminal_is_escaped_and_has_the_same_value() {
    let world = world();
    let script = world.files.path("answer.toml");
    let turn = ["exec", "--json", "--skip-git-repo-check", "--script", script.to_str().unwrap()];
    let id = "019a0000-0000-7000-8000-000000000001";
    let seen = check_terminal(&world, &[&turn[..], &["--session-id", id, HOSTILE]].concat());
    let said = seen
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let said: Vec<_> = said.filter(|line| line["item"]["type"] == "agent_message").collect();
    assert_eq!(said[0]["item"]["text"], format!("Answer {HOSTILE}."));
    assert!(seen.contains("\\u009b31mD\\u007f\\u202eE\\u200bF\\u2066G\\udb40\\udc41H\\u00adI\\ufeffJ"), "{seen}");
    for args in [
        &["prompt", "--format", "body", "--session-id", id, "hi"][..],
        &["prompt", "--format", "json", "--session-id", id, "hi"],
        &["context", "--json", "--session-id", id, "hi"],
        &["sessions", "show", "--json", id],
        &["sessions", "list", "--json"],
        &["sessions", "fsck", "--json"],
        &["replay", "--json", id],
        &["skills", "list", "--json"],
        &["prompts", "list", "--json"],
        &["approvals", "explain", "--json", "--", "echo", HOSTILE],
    ] {
        let seen = check_terminal(&world, args);
        let lines: Vec<&str> = seen.split_inclusive('\n').skip_while(|line| !line.starts_with(['{', '['])).collect();
        let text = lines.concat();
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
        let at_terminal = values.next().unwrap_or_else(|| panic!("{args:?}: {seen}")).unwrap();
        let piped: serde_json::Value = serde_json::from_slice(&world.run(args).stdout).unwrap();
        assert_eq!(at_terminal, piped, "{args:?}");
    }
}

#[test]
fn the_output_of_a_command_does_not_command_a_terminal() {
    let world = World::new("");
    let id = "019a0000-0000-7000-8000-000000000001";
    let call = "[[reply]]\n[[reply.call]]\nname = \"shell_command\"\nid = \"c1\"\nargs = { command = \"yes $(printf '\\\\033[8mB') | head -c 200000\" }\n\n[[reply]]\nsay = \"Done.\"\n";
    let script = world.files.write("answer.toml", call);
    let ran = world.run(&["exec", "--script", script.to_str().unwrap(), "--session-id", id, "hi"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(world.run(&["sessions", "output", id, "c1"]).out().contains("\u{1b}[8mB"));
    check_shows_escape(&world, &["sessions", "output", id, "c1"]);
}

#[track_caller]
fn check_shows_escape(world: &World, args: &[&str]) {
    let seen = check_terminal(world, args);
    assert!(seen.contains("\\u{1b}[8mB"), "{args:?}: {seen}");
}
