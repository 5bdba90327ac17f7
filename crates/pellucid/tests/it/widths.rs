//! Reports at terminals of every width, with content that is hostile or huge: no line is wider than the terminal, nothing of
//! the content commands it, and nothing panics.
//!
//! Every command of the program is in one of two tables, so a new one has to be added to the right one.

use std::collections::BTreeSet;
use std::fmt::Write;

use pellucid_testkit::run_at_terminal;
use unicode_width::UnicodeWidthChar;

use crate::World;
use crate::session_refs::commands;

const ID: &str = "019a0000-0000-7000-8000-000000000001";
const OTHER: &str = "019b0000-0000-7000-8000-000000000002";
const LONG: &str = "019c0000-0000-7000-8000-000000000003";

/// Commands that print a report. `_` is a space within a word, `ID` and `OTHER` are sessions, `NAME` is a hostile name,
/// `DEEP` is a folder whose path has some 4000 characters.
const REPORTS: &[&str] = &[
    "context NAME",
    "context -v NAME",
    "context -vv NAME",
    "context -C NAME hi",
    "context -v -C NAME hi",
    "context -C DEEP hi",
    "context -v -C DEEP hi",
    "context -vv -C DEEP hi",
    "context --session ID hi",
    "context -v --session ID hi",
    "context -vv --session ID hi",
    "context ID#1",
    "context --form map hi",
    "context --form list hi",
    "context --form detail hi",
    "context diff now ID#1",
    "context diff --all --bytes ID#1 ID#2",
    "context diff ID OTHER",
    "context lock -C NAME",
    "context check",
    "context check --explain",
    "context why AGENTS.md:1",
    "context why NAME/AGENTS.md",
    "context why -C DEEP AGENTS.md:1",
    "context why --text NAME",
    "context why --tool apply_patch ID",
    "context seen ID",
    "context packs NAME",
    "context packs --only-differences -C DEEP",
    "context bisect --sessions ID OTHER",
    "cache ID",
    "cache ID --explain 2",
    "cost ID",
    "cost ID --by part",
    "cost ID --by source",
    "cost ID --by tool",
    "cost ID --as ttl=1h --as without=tools --as model=NAME",
    "replay ID",
    "sessions list --all",
    "sessions show ID",
    "sessions calls ID",
    "sessions calls ID c1",
    "sessions output ID",
    "sessions grep B",
    "sessions fsck",
    "sessions delete --dry-run ID",
    "undo ID --dry-run",
    "doctor",
    "doctor -C DEEP",
    "mcp list",
    "mcp get s",
    "trust list",
    "models list",
    "features list",
    "pack list",
    "pack show",
    "pack check NAME",
    "memory list --session ID",
    "memory status",
    "skills list",
    "skills check",
    "prompts list",
    "approvals explain -- echo NAME",
    "schema",
];

/// Commands that act and print a line or two, or whose output is a text or data of its own.
const OTHERS: &[&str] = &[
    "acp",
    "app-server generate-json-schema",
    "app-server generate-ts",
    "apply",
    "apply-patch",
    "capsule open",
    "compact",
    "completion",
    "demo",
    "exec",
    "exec resume",
    "exec review",
    "execpolicy check",
    "features disable",
    "features enable",
    "fork",
    "inspect",
    "login",
    "login status",
    "logout",
    "mcp add",
    "mcp login",
    "mcp logout",
    "mcp prompts",
    "mcp remove",
    "mcp resources",
    "mcp tools",
    "mcp-server",
    "memory edit",
    "memory forget",
    "memory forget-session",
    "memory merge",
    "phase clear",
    "phase next",
    "phase set",
    "phase show",
    "man",
    "memory pin",
    "memory run",
    "memory show",
    "pack import",
    "pack new",
    "pack use",
    "prompt",
    "redo",
    "resume",
    "review",
    "sandbox linux",
    "sandbox macos",
    "sandbox windows",
    "sessions archive",
    "sessions capsule",
    "sessions certify",
    "sessions export",
    "sessions rename",
    "sessions unarchive",
    "trust accept",
    "trust revoke",
    "watch",
];

/// Commands of a terminal, a link, hidden and turned around text, a tab, wide characters, a word that no line holds.
fn hostile() -> String {
    let long = "n".repeat(180);
    format!("A\u{1b}[8mB\u{1b}]0;t\u{7}C\u{8}\u{9b}31m\u{202e}E\u{200b}F\u{2066}\u{e0041}\tG\u{540d}\u{540d} {long}")
}

/// A name of a file that tries the same, with a line break.
const NAME: &str = "n\u{1b}[8m\u{202e}a\nwarning: forged\u{540d}";

fn deep() -> String {
    vec!["d".repeat(250); 15].join("/")
}

fn toml(text: &str) -> String {
    serde_json::to_string(text).unwrap().replace('\u{7f}', "\\u007f")
}

fn world() -> World {
    let world = World::new("");
    let hostile = hostile();
    let text = format!("{hostile}\n{}\n", "words ".repeat(200));
    for path in ["work/AGENTS.md".to_owned(), format!("work/{NAME}/AGENTS.md"), format!("work/{}/AGENTS.md", deep())] {
        world.files.write(path, &text);
    }
    world.files.write("home/prompts/p.md", format!("---\ndescription: d{hostile}\n---\n{hostile}\n"));
    let skill = format!("---\nname: s\ndescription: {}\n---\nx\n", toml(&hostile.replace('\u{9b}', "")));
    world.files.write("work/.agents/skills/s/SKILL.md", skill);
    let server = format!("[mcp_servers.s]\ncommand = {}\nargs = [{}]\n", toml("/no/such"), toml(&hostile));
    world.files.write("home/config.toml", server);
    let patch = format!("*** Begin Patch\n*** Add File: made/{NAME}\n+{hostile}\n*** End Patch")
        .replace("\nwarning", " warning");
    let script = format!(
        "[[reply]]\nthink = {}\ncall = [\n{{ name = \"shell_command\", id = \"c1\", args = {{ login = false, command = {} }} }},\n\
         {{ name = \"apply_patch\", id = \"c2\", input = {} }},\n]\nusage = {{ input = 3000, output = 10 }}\n\
         [[reply]]\nsay = {}\nusage = {{ input = 3100, output = 10 }}\n",
        toml(&hostile),
        toml(&format!("printf '%s' '{hostile}'; yes '{hostile}' | head -c 10000000")),
        toml(&patch),
        toml(&hostile),
    );
    world.files.write("answer.toml", script);
    for (id, said) in [(OTHER, "hi"), (ID, hostile.as_str())] {
        let options = ["exec", "-s", "danger-full-access", "--script", "../answer.toml", "--session-id", id, said];
        let ran = world.run(&options);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    assert_eq!(world.run(&["sessions", "rename", OTHER, &hostile]).status, 0);
    let ran = world.run(&["context", "lock"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    world.files.write("work/AGENTS.md", format!("Other. {text}"));
    world
}

fn words(line: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "NAME" => NAME.to_owned(),
        "DEEP" => deep(),
        word => word.replace("OTHER", OTHER).replace("LONG", LONG).replace("ID", ID).replace("NAME", NAME),
    };
    line.split(' ').map(word).collect()
}

/// What a terminal of a width gets on standard output, without our own colours and links.
fn seen(world: &World, line: &str, columns: usize, no_colour: bool) -> Result<String, String> {
    let program = crate::program();
    let words = words(line);
    let mut args = vec!["-c", "exec \"$0\" \"$@\" 2>../messages", program];
    args.extend(words.iter().map(String::as_str));
    let mut command = world.command_of("/bin/sh", &args);
    command.env("TERM", "xterm").env("COLUMNS", columns.to_string());
    if no_colour {
        command.env("NO_COLOR", "1");
    }
    let (seen, status) = run_at_terminal(command, b"");
    let messages = String::from_utf8_lossy(&std::fs::read(world.files.path("messages")).unwrap()).into_owned();
    let seen = String::from_utf8(seen).map_err(|error| format!("no text: {error}"))?;
    if !(0..=3).contains(&status) || messages.contains("panicked") {
        return Err(format!("ended with {status}: {messages}"));
    }
    if seen.is_empty() && messages.is_empty() {
        return Err("says nothing".to_owned());
    }
    if no_colour && seen.contains("\u{1b}[") {
        return Err(format!("has colours with NO_COLOR: {seen:?}"));
    }
    let mut rest = seen;
    while let Some((before, after)) = rest.split_once("\u{1b}]8;;") {
        let (_, after) = after.split_once("\u{1b}\\").ok_or("an open link")?;
        rest = format!("{before}{after}");
    }
    for colour in ["0", "1", "2", "31", "32", "33", "34", "36", "3;35"] {
        rest = rest.replace(&format!("\u{1b}[{colour}m"), "");
    }
    Ok(rest)
}

fn width(line: &str) -> usize {
    line.chars().fold(0, |column, it| match it {
        '\t' => column + 8 - column % 8,
        it => column + it.width().unwrap_or(0),
    })
}

/// What is wrong with a report, if something is.
fn fault(world: &World, line: &str, columns: usize, no_colour: bool) -> Option<String> {
    let text = match seen(world, line, columns, no_colour) {
        Ok(text) => text,
        Err(why) => return Some(why),
    };
    let hides = |it: char| {
        (it.is_control() && !matches!(it, '\n' | '\t'))
            || matches!(it, '\u{202e}' | '\u{200b}' | '\u{2066}' | '\u{e0041}')
    };
    if let Some(at) = text.find(hides) {
        let around: String = text[at..].chars().take(40).collect();
        return Some(format!("gives the terminal {around:?}"));
    }
    if let Some(line) = text.lines().find(|line| width(line) > columns) {
        return Some(format!("has a line of {} cells: {:?}", width(line), line.chars().take(300).collect::<String>()));
    }
    text.lines().find(|line| line.starts_with("warning: forged")).map(|line| format!("has a forged line: {line}"))
}

#[test]
fn every_command_is_in_a_table() {
    let mut found = Vec::new();
    commands(&World::new(""), &[], &mut found);
    let has_commands = |help: &str| help.lines().any(|line| line == "Commands:");
    let all: BTreeSet<String> = found
        .iter()
        .filter(|(path, help)| !path.is_empty() && (!has_commands(help) || !help.contains("<COMMAND>")))
        .map(|(path, _)| path.join(" "))
        .collect();
    let named =
        |line: &str| all.iter().filter(|it| line == it.as_str() || line.starts_with(&format!("{it} "))).max().cloned();
    let reports: BTreeSet<String> = REPORTS.iter().filter_map(|line| named(line)).collect();
    let others: BTreeSet<String> = OTHERS.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(reports.intersection(&others).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(reports.union(&others).cloned().collect::<BTreeSet<_>>(), all);
}

#[test]
fn reports_fit_every_terminal_whatever_they_show() {
    let world = world();
    let mut wrong = String::new();
    for line in REPORTS {
        for (columns, no_colour) in [(40, false), (80, true), (140, false)] {
            if let Some(why) = fault(&world, line, columns, no_colour) {
                writeln!(wrong, "{line} at {columns}: {why}").unwrap();
            }
        }
    }
    assert_eq!(wrong, "");
}

/// Ten thousand messages and an output of ten megabytes, as another program may have stored them.
#[test]
fn a_huge_session_is_shown_at_a_narrow_terminal() {
    let world = World::new("");
    let line = |kind: &str, payload: serde_json::Value| {
        serde_json::json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}).to_string()
            + "\n"
    };
    let cwd = world.files.path("work");
    let meta = serde_json::json!({"id": LONG, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd, "originator": "o", "cli_version": "v"});
    let mut text = line("session_meta", meta);
    let hostile = hostile();
    for n in 0..10_000 {
        let (role, kind) = if n % 2 == 0 { ("user", "input_text") } else { ("assistant", "output_text") };
        let content = serde_json::json!([{"type": kind, "text": format!("{n} {hostile}")}]);
        text += &line("response_item", serde_json::json!({"type": "message", "role": role, "content": content}));
    }
    let arguments = serde_json::json!({"command": hostile}).to_string();
    text += &line(
        "response_item",
        serde_json::json!({"type": "function_call", "name": "shell_command", "arguments": arguments, "call_id": "c"}),
    );
    let output = "x".repeat(10 << 20);
    text +=
        &line("response_item", serde_json::json!({"type": "function_call_output", "call_id": "c", "output": output}));
    world.files.write(format!("home/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{LONG}.jsonl"), text);
    let mut wrong = String::new();
    for line in
        ["context --session LONG hi", "sessions show LONG", "sessions list", "replay LONG", "sessions grep 9999"]
    {
        if let Some(why) = fault(&world, line, 40, false) {
            writeln!(wrong, "{line}: {why}").unwrap();
        }
    }
    assert_eq!(wrong, "");
}
