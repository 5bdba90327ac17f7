//! Scripts as trees, by the grammar of bash.
//!
//! If marks do not match, the parser reads the same text again and again, and its work grows with the square of the
//! length. So scripts are bounded, and the amount that may be read is counted and not timed: the same script always
//! has the same answer.

use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::Node;
use tree_sitter::ParseOptions;
use tree_sitter::Parser;
use tree_sitter::Tree;

/// Longer scripts are not taken apart. A command rarely has more, and then it is a document.
const SCRIPT_BYTES_MAX: usize = 16 << 10;
/// A pipeline that does not end right costs the square of its length.
const PIPES_MAX: usize = 512;
/// The parser gets a script in pieces of so many bytes.
const PIECE_BYTES: usize = 64;
/// How many pieces it may ask for: so many at least, and each of the script so many times. Scripts without mistakes
/// take two to three.
const PIECES_MIN: usize = 64;
const READS_PER_PIECE: usize = 12;

/// The tree of a script of any length, whatever is wrong in it; absent if it takes too much work.
pub(super) fn parse(script: &str) -> Option<Tree> {
    counted(script).0
}

/// How many pieces of a script the parser may ask for.
fn budget(script: &str) -> usize {
    PIECES_MIN + script.len().div_ceil(PIECE_BYTES) * READS_PER_PIECE
}

/// The tree, and how many pieces the parser asked for.
fn counted(script: &str) -> (Option<Tree>, usize) {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return (None, 0);
    }
    let (budget, n_pieces) = (budget(script), Cell::new(0));
    let mut go_on = |_: &tree_sitter::ParseState| {
        if n_pieces.get() > budget { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let mut read = |at: usize, _| {
        n_pieces.set(n_pieces.get() + 1);
        // Until it asks whether to continue it may read any number of pieces, so the script ends for it here. No
        // piece ends within a character: the parser would ask for the rest of the character, and crash without it.
        let end = if n_pieces.get() > budget { at } else { script.ceil_char_boundary(at + PIECE_BYTES) };
        script.as_bytes().get(at..end).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    (tree.filter(|_| n_pieces.get() <= budget), n_pieces.get())
}

/// Whether a script is short and simple enough to be read in proportion to its length.
fn is_bounded(script: &str) -> bool {
    script.len() <= SCRIPT_BYTES_MAX && has_few_pipes(script)
}

/// Whether a text has no more pipes than the parser manages.
pub(super) fn has_few_pipes(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'|').nth(PIPES_MAX).is_none()
}

/// The tree of a script that has no errors; absent also if it is too long.
pub(super) fn parse_whole(script: &str) -> Option<Tree> {
    is_bounded(script).then(|| parse(script)).flatten().filter(|tree| !tree.root_node().has_error())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs that make the parser backtrack: different marks in each, so that none is forgotten.
    const PIECES: &[&str] = &[
        "(",
        "((($(`{[<&|;",
        "(((((\"'",
        "<",
        "`",
        "${",
        "[[ ( ",
        "a|",
        "a <<X\n$(",
        "<<X ",
        "if a; then ",
        "\"$(",
        "${a:-",
        "$((",
        "a=(",
        "&",
        "! ",
        ";",
        "while a; do ",
        "case x in a) ",
        "f() ( ",
        "echo $(",
        "a&&",
    ];

    #[test]
    fn broken_scripts_are_read_a_bounded_number_of_times() {
        for piece in PIECES {
            let script = piece.repeat(SCRIPT_BYTES_MAX / piece.len());
            if is_bounded(&script) {
                let (_, n_pieces) = counted(&script);
                // The parser may look at the end a few times before it asks whether to continue.
                assert!(n_pieces <= 2 * budget(&script), "{piece}: {n_pieces} of {}", budget(&script));
            }
        }
    }

    #[test]
    fn long_scripts_are_not_read_at_all() {
        for piece in PIECES {
            for n_bytes in [74_000, 1 << 20] {
                assert!(!is_bounded(&piece.repeat(n_bytes / piece.len())), "{piece}");
            }
        }
        assert!(!is_bounded(&"a|".repeat(PIPES_MAX + 1)));
        assert!(parse_whole(&format!("{}a", "a|".repeat(PIPES_MAX))).is_some());
    }

    #[test]
    fn long_scripts_without_mistakes_are_within_the_budget() {
        for piece in [
            "ls -la && git status; ",
            "git commit -m 'a b' && rg \"x y\" -g '*.rs'\n",
            "for i in 1 2 3; do if [ -f $i ]; then echo \"$i: $(cat $i)\"; fi; done\n",
            "f() { local a=$1; case $a in x) echo ${a%%y} ;; *) return 1;; esac; }\n",
            "a ",
            "echo $((1+2*(3-x)))\n",
        ] {
            let script = piece.repeat(SCRIPT_BYTES_MAX / piece.len());
            assert!(parse_whole(&script).is_some(), "{piece}");
        }
        let lines = "+line $x (((\n".repeat(20_000);
        assert!(parse(&format!("apply_patch <<'EOF'\n{lines}EOF")).is_some());
    }
}
