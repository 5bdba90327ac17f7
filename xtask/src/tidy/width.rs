//! Width: a type with more than [`N_MEMBERS_MAX`] fields or variants holds more than one idea.
//!
//! Past the limit ask which members are written together and live equally long, and group those in a type.

use crate::tidy::{Problem, except};
use crate::tree::Tree;

const N_MEMBERS_MAX: usize = 20;

/// Files with types whose members are named by another program: messages and models of the reference, the command line,
/// commands and keys of the reference's terminal client, cases of golden vectors. May only shrink.
const EXCEPTIONS: &[&str] = &[
    "crates/pellucid-protocol/src/event.rs",
    "crates/pellucid-protocol/src/model.rs",
    "crates/pellucid-server/src/methods/config/effective.rs",
    "crates/pellucid-tui/src/commands.rs",
    "crates/pellucid-tui/src/keymap/table.rs",
    "crates/pellucid/src/args.rs",
    "xtask/src/golden/openclaw/sections.rs",
    "xtask/src/golden/risuai/window.rs",
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    except(wide_types(tree), EXCEPTIONS)
}

fn wide_types(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(|path| path.ends_with(".rs")) {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = type_name(line) else { continue };
            let n_members = n_members(&lines[at..]);
            if n_members > N_MEMBERS_MAX {
                let what = format!("`{name}` has {n_members} fields or variants; {N_MEMBERS_MAX} are allowed");
                problems.push(Problem::at_line(path, at + 1, what));
            }
        }
    }
    problems
}

/// The name of the type that a line begins, if its members are on lines of their own.
fn type_name(line: &str) -> Option<&str> {
    if line.ends_with([';', '}', '(']) {
        return None;
    }
    let mut words = line.split_whitespace();
    let word = words.find(|word| !word.starts_with("pub"))?;
    let name = words.next().filter(|_| matches!(word, "struct" | "enum"))?;
    name.split('<').next()
}

/// How many members the type has whose first line comes first.
fn n_members(lines: &[&str]) -> usize {
    let indent = lines[0].len() - lines[0].trim_start().len();
    let body = lines.iter().skip_while(|line| !line.ends_with('{')).skip(1);
    let body = body.take_while(|line| line.trim() != "}" || line.len() != indent + 1);
    let is_member = |line: &&&str| {
        let (before, member) = line.split_at_checked(indent + 4).unwrap_or_default();
        before.trim().is_empty() && member.starts_with(|it: char| it.is_alphabetic() || it == '_')
    };
    body.filter(is_member).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing;

    #[test]
    fn holds_here() {
        testing::check_holds_here(check);
    }

    #[test]
    fn a_wide_type_is_found() {
        let field = "    /// A field.\n    pub a: Option<\n        u8,\n    >,\n";
        let variant = "        #[serde(skip)]\n        A {\n            b: u8,\n            c: u8,\n        },\n";
        let (allowed, fields) = (field.repeat(N_MEMBERS_MAX), field.repeat(N_MEMBERS_MAX + 1));
        let variants = variant.repeat(N_MEMBERS_MAX + 1);
        testing::check_finds(
            wide_types,
            &format!(
                "== a.rs\npub struct Fits {{\n{allowed}}}\npub struct Unit;\npub(crate) struct Wide<T>\nwhere\n    T: Copy,\n{{\n{fields}}}\n\
                 == b.rs\nmod inner {{\n    enum Many {{\n{variants}    }}\n}}\n"
            ),
            "a.rs:84: `Wide` has 21 fields or variants; 20 are allowed\nb.rs:2: `Many` has 21 fields or variants; 20 are allowed",
        );
    }
}
