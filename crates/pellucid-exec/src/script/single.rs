//! Scripts with a single command that has more than words: redirections, assignments, a here-document.
//!
//! The command's words are returned, and its attachments are ignored. Such a command can be matched by rules, but it
//! is never known to be safe.

use tree_sitter::Node;
use tree_sitter::Tree;

use super::tree;

/// Nodes that may be beside the words.
const ATTACHMENTS: &[&str] = &[
    "variable_assignment",
    "comment",
    "heredoc_body",
    "simple_heredoc_body",
    "heredoc_redirect",
    "herestring_redirect",
    "file_redirect",
    "redirected_statement",
];

/// The words of the only command.
pub(super) fn command(tree: &Tree, script: &str) -> Option<Vec<String>> {
    let mut commands = tree::walk(tree.root_node()).filter(|node| node.is_named() && node.kind() == "command");
    let command = commands.next()?;
    if commands.next().is_some() {
        return None;
    }
    let mut words = Vec::new();
    for child in tree::named_children(command) {
        match child.kind() {
            "command_name" => words.push(literal(child.named_child(0)?, script)?),
            "word" | "number" => words.push(literal(child, script)?),
            kind if ATTACHMENTS.contains(&kind) => {}
            _ => return None,
        }
    }
    (!words.is_empty()).then_some(words)
}

fn literal(node: Node<'_>, script: &str) -> Option<String> {
    let is_literal = matches!(node.kind(), "word" | "number") && node.named_child_count() == 0;
    tree::text(node, script).filter(|_| is_literal).map(str::to_owned)
}
