//! The syntax of a rules file before it is evaluated: how deep it nests, and whether it only lists rules.
//!
//! A file that only lists rules calls `prefix_rule` with texts and lists. It can neither loop nor compute,
//! so a stranger's file of this kind costs no more than its length.

/// The names that a rules file may use when it only lists rules.
const NAMES: &[&str] = &["prefix_rule", "pattern", "decision", "match", "not_match", "justification"];
const SIGNS: &str = "()[],=";

/// The syntax that a rules file uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How many brackets are open at once.
    pub depth: usize,
    /// Whether the file only lists rules.
    pub is_list: bool,
}

/// Looks at a file.
pub(crate) fn shape(text: &str) -> Shape {
    let (mut depth, mut open, mut is_list) = (0, 0_usize, true);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_length(rest),
            _ if is_word(first) => {
                let length = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
                is_list &= NAMES.contains(&&rest[..length]);
                length
            }
            _ => {
                match first {
                    '(' | '[' | '{' => open += 1,
                    ')' | ']' | '}' => open = open.saturating_sub(1),
                    _ => {}
                }
                depth = depth.max(open);
                is_list &= first.is_ascii_whitespace() || SIGNS.contains(first);
                first.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    Shape { depth, is_list }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// How long the string is that a text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let end = if text.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = end.len();
    while let Some(character) = text[at..].chars().next() {
        if text[at..].starts_with(end) {
            return at + end.len();
        }
        at += character.len_utf8();
        if character == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_shape(text: &str, depth: usize, is_list: bool) {
        assert_eq!(shape(text), Shape { depth, is_list }, "{text}");
    }

    #[test]
    fn a_list_of_rules() {
        check_shape("", 0, true);
        check_shape("# about * and for\nprefix_rule(\n  pattern=[\"a\", ['b', \"c\"]],\n)\n", 3, true);
        check_shape("prefix_rule(['a'], match=[\"for * (((\", '''\n'it''', \"\\\"\"], justification='é')", 2, true);
    }

    #[test]
    fn a_program() {
        for text in [
            "prefix_rule(['a' * 9])",
            "prefix_rule(['a' + 'b'])",
            "x = 'a'",
            "for a in ['b']:\n    prefix_rule([a])",
            "prefix_rule([f'{a}'])",
            "prefix_rule(['a' % 'b'])",
            "[prefix_rule([a]) for a in range(9)]",
            "prefix_rule([3])",
            "load('a', 'b')",
        ] {
            assert!(!shape(text).is_list, "{text}");
        }
        assert_eq!(shape("[[{(").depth, 4);
        assert_eq!(shape("])([").depth, 2);
    }

    proptest! {
        #[test]
        fn any_text_has_a_shape(text in ".*") {
            prop_assert!(shape(&text).depth <= text.len());
        }
    }
}
