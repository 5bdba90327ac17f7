//! Every command that can be seen in a script: in control flow, substitutions and functions, behind wrappers
//! and in scripts for other shells.
//!
//! Used to stop things only. Where a script cannot be read for sure, every word of it may begin a command.
//! How deep it looks and how much it parses is bounded by the text's length.

use pellucid_engine::approval::part::Begins;
use pellucid_engine::approval::part::Seen;
use pellucid_engine::approval::wrapper;
use pellucid_engine::approval::wrapper::Started;
use tree_sitter::Node;
use tree_sitter::Tree;

use super::given::given;
use super::scan::scan;
use super::tree;

/// Scripts in scripts, and wrappers in wrappers. Deeper ones are scanned word by word.
const SCRIPTS_MAX: usize = 6;
const WRAPPERS_MAX: usize = 8;
/// The mark that continues a line.
const CONTINUED: &str = "\\\n";

/// Nodes beside the words of a command.
const ATTACHMENTS: &[&str] =
    &["variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment"];

/// The commands that can be seen in a script.
pub(super) fn in_script(script: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    read(script, 0, &mut seen);
    seen
}

/// The commands that can be seen in an argument list.
pub(super) fn in_words(words: &[String]) -> Vec<Seen> {
    let mut seen = vec![Seen::command(words.to_vec())];
    if follow(words, Depth::default(), &mut seen) {
        seen.extend(scan(&words.join(" ")));
    }
    seen
}

/// The commands that can be seen in each command of a plain script, in its order.
pub(super) fn by_command(tree: &Tree, script: &str) -> Vec<Vec<Seen>> {
    let commands = tree::walk(tree.root_node()).filter(|node| node.is_named() && node.kind() == "command");
    let mut is_scanned = false;
    let mut all: Vec<Vec<Seen>> = Vec::new();
    for node in commands {
        let (words, begins) = words(node, script);
        let mut seen = Vec::new();
        if follow(&words, Depth::default(), &mut seen) && !is_scanned {
            is_scanned = true;
            seen.extend(scan(script));
        }
        seen.push(Seen { words, begins });
        all.push(seen);
    }
    if let Some(first) = all.first_mut().filter(|_| script.contains(CONTINUED)) {
        read(script, 0, first);
    }
    all
}

#[derive(Clone, Copy, Default)]
struct Depth {
    scripts: usize,
    wrappers: usize,
}

fn read(script: &str, depth: usize, seen: &mut Vec<Seen>) {
    // A line that continues is one word to a shell, and two to the grammar.
    let script = &script.replace(CONTINUED, "");
    let Some(tree) = (depth <= SCRIPTS_MAX).then(|| tree::parse_whole(script)).flatten() else {
        return seen.extend(scan(script));
    };
    let mut takes_input = false;
    for node in tree::walk(tree.root_node()) {
        if !matches!(node.kind(), "command" | "declaration_command" | "unset_command") || !node.is_named() {
            continue;
        }
        let (words, begins) = words(node, script);
        if words.is_empty() {
            continue;
        }
        takes_input |= follow(&words, Depth { scripts: depth, wrappers: 0 }, seen);
        seen.push(Seen { words, begins });
    }
    if takes_input {
        seen.extend(scan(script));
    }
}

/// The words of a command as its program would be given them.
fn words(command: Node<'_>, script: &str) -> (Vec<String>, Begins) {
    let mut begins = Begins::First;
    let mut words = Vec::new();
    for child in command.children(&mut command.walk()) {
        if ATTACHMENTS.contains(&child.kind()) && !(words.is_empty() && command.kind() != "command") {
            continue;
        }
        let Some(text) = tree::text(child, script) else { continue };
        let alternatives = braced(text);
        for text in &alternatives {
            let word = given(text);
            if words.is_empty() && word.is_pattern {
                begins = Begins::Pattern;
            }
            words.push(word.text);
        }
    }
    (words, begins)
}

/// The words that `{a,b}` expands to; any other word is returned unchanged.
fn braced(text: &str) -> Vec<&str> {
    let inside = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).filter(|it| it.contains(','));
    match inside {
        Some(inside) => inside.split(',').filter(|it| !it.is_empty()).collect(),
        None => vec![text],
    }
}

/// Adds what a command would start. Says whether it reads commands from elsewhere in the script.
fn follow(words: &[String], depth: Depth, seen: &mut Vec<Seen>) -> bool {
    let mut takes_input = false;
    for started in wrapper::started(words) {
        match started {
            Started::Command(words) if words.is_empty() => {}
            Started::Command(words) if depth.wrappers >= WRAPPERS_MAX => seen.extend(scan(&words.join(" "))),
            Started::Command(words) => {
                let deeper = Depth { wrappers: depth.wrappers + 1, ..depth };
                takes_input |= follow(&words, deeper, seen);
                seen.push(Seen::command(words));
            }
            Started::Script(script) => read(&script, depth.scripts + 1, seen),
            Started::Anywhere(words) => seen.extend(scan(&words.join(" "))),
            Started::Input => takes_input = true,
        }
    }
    takes_input
}
