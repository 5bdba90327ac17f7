//! Scripts of plain commands: words and quoted texts, joined by `&&`, `||`, `;`, `|` or line ends.
//!
//! A single node of any other kind makes the script not plain.

use tree_sitter::Node;
use tree_sitter::Tree;

use super::tree;

const NODES: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "command",
    "command_name",
    "word",
    "string",
    "string_content",
    "raw_string",
    "number",
    "concatenation",
];
const SIGNS: &[&str] = &["&&", "||", ";", "|", "\"", "'"];

/// The commands of a plain script, in its order.
pub(super) fn commands(tree: &Tree, script: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = Vec::new();
    for node in tree::walk(tree.root_node()) {
        let kind = node.kind();
        let is_known =
            if node.is_named() { NODES.contains(&kind) } else { SIGNS.contains(&kind) || kind.trim().is_empty() };
        if !is_known {
            return None;
        }
        if kind == "command" {
            commands.push(words(node, script)?);
        }
    }
    Some(commands)
}

fn words(command: Node<'_>, script: &str) -> Option<Vec<String>> {
    tree::named_children(command).into_iter().map(|child| argument(child, script)).collect()
}

fn argument(node: Node<'_>, script: &str) -> Option<String> {
    match node.kind() {
        // The program's name must be unquoted: quotes there are a disguise more often than a need.
        "command_name" => {
            let name = node.named_child(0).filter(|name| name.kind() == "word")?;
            tree::text(name, script).map(str::to_owned)
        }
        "concatenation" => {
            let pieces: Option<String> = tree::named_children(node).into_iter().map(|it| piece(it, script)).collect();
            pieces.filter(|text| !text.is_empty())
        }
        _ => piece(node, script).map(str::to_owned),
    }
}

fn piece<'s>(node: Node<'_>, script: &'s str) -> Option<&'s str> {
    let text = tree::text(node, script)?;
    match node.kind() {
        "word" | "number" => Some(text),
        "raw_string" => text.strip_prefix('\'')?.strip_suffix('\''),
        "string" => {
            let is_plain = tree::named_children(node).iter().all(|part| part.kind() == "string_content");
            text.strip_prefix('"')?.strip_suffix('"').filter(|_| is_plain)
        }
        _ => None,
    }
}
