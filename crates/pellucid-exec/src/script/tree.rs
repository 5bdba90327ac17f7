//! Scripts as trees, by the grammar of bash.

use tree_sitter::Node;
use tree_sitter::Parser;
use tree_sitter::Tree;

/// The tree of a script, whatever is wrong in it.
pub(super) fn parse(script: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(script, None)
}

/// The tree of a script that has no errors.
pub(super) fn parse_whole(script: &str) -> Option<Tree> {
    parse(script).filter(|tree| !tree.root_node().has_error())
}

/// The text of a node.
pub(super) fn text<'s>(node: Node<'_>, script: &'s str) -> Option<&'s str> {
    script.get(node.byte_range())
}

/// The children that the grammar names.
pub(super) fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).collect()
}

/// Every node below and including this one, each before what follows it in the script.
pub(super) fn walk(root: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut stack = vec![root];
    std::iter::from_fn(move || {
        let node = stack.pop()?;
        let children: Vec<_> = node.children(&mut node.walk()).collect();
        stack.extend(children.into_iter().rev());
        Some(node)
    })
}
