//! Every command of the program that a page shows in a block is one that the program takes: a flag that was renamed is found
//! on all pages.
//!
//! Not here: running them (`tests/it/doc_examples.rs` runs those of the guide).

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use clap::Parser as _;
use clap::error::ErrorKind;

use super::Args;

/// Words of a shell that end a command.
const ENDS: [&str; 8] = ["|", "||", "&&", ";", ">", ">>", "<", "2>/dev/null"];

/// All pages of the project, in a stable order.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("README.zh-CN.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The commands of the program in the blocks of a page, as their words.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for block in text.split("\n```").skip(1).step_by(2) {
        let (kind, lines) = block.split_once('\n').unwrap_or((block, ""));
        let joined = lines.replace("\\\n", " ");
        for line in joined.lines() {
            let command = match (kind, line.strip_prefix("$ ")) {
                ("sh", _) => line,
                ("text" | "console", Some(command)) => command,
                _ => continue,
            };
            commands.extend(words(command));
        }
    }
    commands
}

/// The words of the program's command in a line, without its variables, its comment and what a shell does with its output.
fn words(line: &str) -> Option<Vec<String>> {
    // Brackets mark what may be left out.
    let words = shlex::split(line)?.into_iter().map(|word| word.trim_matches(['[', ']']).to_owned());
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|it| it.is_ascii_uppercase() || it == '_'))
    };
    let words: Vec<String> = words.skip_while(is_variable).take_while(|word| !ENDS.contains(&word.as_str())).collect();
    (words.first().map(String::as_str) == Some("pellucid")).then_some(words)
}

#[test]
fn every_command_of_a_page_is_taken() {
    let (mut wrong, mut n) = (String::new(), 0);
    for page in pages() {
        for words in commands(&fs::read_to_string(&page).unwrap()) {
            n += 1;
            match Args::try_parse_from(&words) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {}
                Err(error) => wrong += &format!("{}: {}\n{error}\n", page.display(), words.join(" ")),
            }
        }
    }
    assert_eq!(wrong, "");
    assert!(n > 100, "{n} commands were found");
}
