//! The examples of the pages about questions run as printed, and what they show is what the program prints.
//!
//! Figures, ids and widths of columns depend on the folder of a test, so they are not compared; words, paths and signs are.

use std::fmt::Write;

use crate::World;

const PAGES: [(&str, &str); 10] = [
    ("first-hour.md", include_str!("../../../../docs/first-hour.md")),
    ("zh/first-hour.md", include_str!("../../../../docs/zh/first-hour.md")),
    ("questions.md", include_str!("../../../../docs/questions.md")),
    ("zh/questions.md", include_str!("../../../../docs/zh/questions.md")),
    ("zh/packs.md", include_str!("../../../../docs/zh/packs.md")),
    ("zh/safety.md", include_str!("../../../../docs/zh/safety.md")),
    ("context.md", include_str!("../../../../docs/context.md")),
    ("cost.md", include_str!("../../../../docs/cost.md")),
    ("ci.md", include_str!("../../../../docs/ci.md")),
    ("prices.md", include_str!("../../../../docs/prices.md")),
];

const ID: &str = "019a0000-0000-7000-8000-000000000001";

/// How many commits there are behind the first one.
const N_COMMITS: usize = 17;

/// The rules of the project at a commit: twelve lines or more, of which one is dropped.
fn rules(number: usize) -> String {
    let lost = if number < 9 { "Never push.\n" } else { "" };
    let more: String = (1..=12).map(|n| format!("Rule {n:02} of the project, in a line of its own.\n")).collect();
    format!("# rules\nversion {number}\n{lost}{more}")
}

/// A project with a history, a session of three requests in it, and a price for its model.
fn world() -> World {
    let world = World::new(
        "//- first.toml
[[reply]]
say = \"on it\"
call = [{ name = \"shell_command\", args = { command = \"echo never push\", login = false } }]
usage = { input = 3000, output = 10 }
[[reply]]
say = \"done\"
usage = { input = 3100, cached = 2900, output = 10 }
//- more.toml
[[reply]]
say = \"more\"
usage = { input = 3200, cached = 3000, output = 10 }
",
    );
    // The built-in price may not count yet on the day of the test.
    world.files.write(
        "home/prices.toml",
        "[[price]]\nmodel = \"gpt-*\"\nfrom = 2020-01-01\ncurrency = \"USD\"\ninput = 1.75\ncached_read = 0.175\noutput = 14\n\
         source = \"litellm 1.108.4\"\n",
    );
    let mut history = String::new();
    for number in 0..=N_COMMITS {
        let title = if number == 9 { "docs: shorten the rules" } else { "rules: count" };
        let who = format!("A <a@example.test> {} +0100", 1_767_600_000 + number * 60);
        let (text, sub) = (rules(number), "One.\nTwo.\nThree.\n");
        write!(history, "commit refs/heads/main\nmark :{}\nauthor {who}\ncommitter {who}\n", number + 1).unwrap();
        write!(history, "data {}\n{title}\n", title.len()).unwrap();
        for (path, text) in [("AGENTS.md", text.as_str()), ("sub/AGENTS.md", sub)] {
            write!(history, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).unwrap();
        }
    }
    history += "reset refs/tags/v1\nfrom :1\n\n";
    let git = |words: &[&str], input: Option<&[u8]>| {
        let ran = world.finish(world.command_of("git", words), input);
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    };
    git(&["fast-import", "--quiet"], Some(history.as_bytes()));
    git(&["symbolic-ref", "HEAD", "refs/heads/main"], None);
    git(&["reset", "-q", "--hard"], None);
    for words in [
        vec!["exec", "--script", "../first.toml", "--session-id", ID, "explain this repository"],
        vec!["exec", "--script", "../more.toml", "resume", ID, "go on"],
    ] {
        let ran = world.run(&words);
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    }
    world
}

/// The words of a command as a shell reads them, without its comment.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" #").next().unwrap_or_default().replace('\'', "\"");
    let pieces = line.split('"').enumerate().flat_map(|(n, piece)| {
        if n % 2 == 1 { vec![piece.to_owned()] } else { piece.split_whitespace().map(str::to_owned).collect() }
    });
    pieces.collect()
}

/// A line without figures, ids, bars and widths of columns.
fn shape(line: &str) -> String {
    // The backend of the sandbox is what the machine has.
    let line = if line.starts_with("sandbox: ") { "sandbox" } else { line };
    let is_bar = |it: char| ('\u{2580}'..='\u{259f}').contains(&it);
    let mut shape = String::new();
    for word in line.replace(is_bar, " ").replace("<$", "$").split_whitespace() {
        let is_id = word.len() >= 7 && word.bytes().all(|it| it.is_ascii_hexdigit() || it == b'@');
        let word: String = word.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
        let mut short = word.replace(",0", "0").replace(".0", "0");
        while short.contains("00") {
            short = short.replace("00", "0");
        }
        let name = word.split_once('@').map(|(name, _)| format!("{name}@ID"));
        let is_revision = name.is_some() && !word.ends_with("HEAD");
        shape += &match (is_id, is_revision) {
            (true, _) => "ID".to_owned(),
            (_, true) => name.unwrap_or_default(),
            _ => short,
        };
        shape.push(' ');
    }
    shape.trim_end().to_owned()
}

/// A command of a page, with the lines that the page shows under it.
struct Example<'a> {
    page: &'a str,
    command: &'a str,
    /// Absent where the page shows no output.
    output: Option<Vec<&'a str>>,
}

/// Every command of the blocks of a page, and of the table of questions.
fn examples<'a>(page: &'a str, text: &'a str) -> Vec<Example<'a>> {
    let mut found: Vec<Example<'a>> = Vec::new();
    for block in text.split("\n```").skip(1).step_by(2) {
        let (kind, lines) = block.split_once('\n').unwrap_or((block, ""));
        for line in lines.lines() {
            match (kind, line.strip_prefix("$ "), found.last_mut()) {
                ("sh", _, _) => found.push(Example { page, command: line, output: None }),
                ("text", Some(command), _) => found.push(Example { page, command, output: Some(Vec::new()) }),
                ("text", None, Some(Example { output: Some(output), .. })) => output.push(line),
                ("text", None, _) => panic!("{page}: the block that begins with {line:?} names no command"),
                _ => {}
            }
        }
    }
    if page.ends_with("questions.md") {
        for row in text.lines().filter(|line| line.starts_with("| ")) {
            // `inspect` serves until a person stops it; its tests start and stop it.
            let is_run = |it: &&str| it.starts_with("pellucid ") && !it.starts_with("pellucid inspect");
            let spans = row.split('`').skip(1).step_by(2);
            found.extend(spans.filter(is_run).map(|command| Example { page, command, output: None }));
        }
    }
    found
}

#[test]
fn the_examples_of_the_pages_run_as_printed() {
    let world = world();
    let mut wrong = String::new();
    let mut n = 0;
    for (page, text) in PAGES {
        for Example { page, command, output } in examples(page, text) {
            n += 1;
            // The page shows what a change of the file that is not committed yet does.
            let text = rules(N_COMMITS);
            let is_changed = command.contains("diff now@HEAD");
            let changed = if is_changed { text.replacen("# rules\n", "# rules\nBe kind.\n", 1) } else { text };
            world.files.write("work/AGENTS.md", changed);
            let words = words(&command.replace("SESSION", ID));
            assert_eq!(words[0], "pellucid", "{page}: {command}");
            let ran = world.run(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
            // A difference and something that is not provable are answers.
            if !matches!(ran.status, 0 | 1 | 3) || ran.stderr.contains("error: ") {
                wrong += &format!("{page}: {command}\nended with {}: {}{}\n", ran.status, ran.out(), ran.stderr);
            }
            let Some(output) = output else { continue };
            let folder = world.files.path("work").display().to_string();
            let printed = ran.out().replace(&folder, "/home/ada/proj");
            let printed: Vec<String> = printed.lines().map(shape).collect();
            let is_whole = output.last() != Some(&"...");
            let shown: Vec<String> = output.iter().filter(|line| **line != "...").map(|line| shape(line)).collect();
            let is_same = if is_whole { printed == shown } else { printed.starts_with(&shown) };
            if !is_same {
                wrong += &format!("{page}: {command}\nprints\n{}{}\n", ran.out(), ran.stderr);
            }
        }
    }
    assert_eq!(wrong, "");
    assert!(n > 25, "{n}");
}
