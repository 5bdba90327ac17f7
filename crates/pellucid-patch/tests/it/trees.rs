//! A patch made from two trees turns the first into the second.
//!
//! The patch is made by a small differ of this file: it cuts chunks out of a longest common
//! subsequence and widens each until its first place is the right one.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;

use crate::Tree;
use crate::ours;

type Files = BTreeMap<&'static str, Vec<&'static str>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Keep(&'static str),
    Remove(&'static str),
    Insert(&'static str),
}

impl Op {
    fn old(self) -> Option<&'static str> {
        match self {
            Self::Keep(line) | Self::Remove(line) => Some(line),
            Self::Insert(_) => None,
        }
    }
}

/// The shortest way from one list of lines to another.
fn ops(old: &[&'static str], new: &[&'static str]) -> Vec<Op> {
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] =
                if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut ops) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            ops.push(Op::Keep(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            ops.push(Op::Remove(old[i]));
            i += 1;
        } else {
            ops.push(Op::Insert(new[j]));
            j += 1;
        }
    }
    ops
}

/// Chunks for a file, each as narrow as it can be.
fn write_chunks(patch: &mut String, old: &[&'static str], new: &[&'static str]) {
    let ops = ops(old, new);
    let line_number = |op: usize| ops[..op].iter().filter(|op| op.old().is_some()).count();
    let mut cursor = 0;
    while let Some(first) = ops[cursor..].iter().position(|op| !matches!(op, Op::Keep(_))) {
        let (mut begin, mut end) = (cursor + first, cursor + first + 1);
        while ops.get(end).is_some_and(|op| !matches!(op, Op::Keep(_))) {
            end += 1;
        }
        loop {
            let block: Vec<_> = ops[begin..end].iter().filter_map(|op| op.old()).collect();
            let rest = &old[line_number(cursor)..];
            let found = rest.windows(block.len().max(1)).position(|window| window == block);
            let is_found = !block.is_empty() && found == Some(line_number(begin) - line_number(cursor));
            if is_found || (begin == cursor && end == ops.len()) {
                break;
            }
            if begin > cursor {
                begin -= 1;
            }
            if end < ops.len() {
                end += 1;
            }
            // Insertions stay with what is before them: alone they would go to the end of the file.
            while ops.get(end).is_some_and(|op| !matches!(op, Op::Keep(_))) {
                end += 1;
            }
        }
        patch.push_str("@@\n");
        for op in &ops[begin..end] {
            let (mark, line) = match op {
                Op::Keep(line) => (' ', line),
                Op::Remove(line) => ('-', line),
                Op::Insert(line) => ('+', line),
            };
            writeln!(patch, "{mark}{line}").unwrap();
        }
        if end == ops.len() && begin < end {
            patch.push_str("*** End of File\n");
        }
        cursor = end;
    }
}

fn write_add(patch: &mut String, path: &str, lines: &[&str]) {
    writeln!(patch, "*** Add File: {path}").unwrap();
    lines.iter().for_each(|line| writeln!(patch, "+{line}").unwrap());
}

/// The patch from one tree to another.
fn patch_between(old: &Files, new: &Files) -> String {
    let mut patch = "*** Begin Patch\n".to_owned();
    let mut gone: Vec<_> = old.iter().filter(|(path, _)| !new.contains_key(*path)).collect();
    let mut fresh: Vec<_> = new.iter().filter(|(path, _)| !old.contains_key(*path)).collect();
    // A file that is gone and one that is new are taken for one that was moved.
    if let (Some((from, before)), Some((to, after))) = (gone.last().copied(), fresh.last().copied())
        && before != after
        && !to.starts_with(from)
        && can_be_updated(after)
    {
        writeln!(patch, "*** Update File: {from}\n*** Move to: {to}").unwrap();
        write_chunks(&mut patch, before, after);
        gone.pop();
        fresh.pop();
    }
    for (path, _) in gone {
        writeln!(patch, "*** Delete File: {path}").unwrap();
    }
    for (path, lines) in fresh {
        write_add(&mut patch, path, lines);
    }
    for (path, before) in old {
        match new.get(path) {
            Some(after) if after == before => {}
            Some(after) if can_be_updated(after) => {
                writeln!(patch, "*** Update File: {path}").unwrap();
                write_chunks(&mut patch, before, after);
            }
            Some(after) => write_add(&mut patch, path, after),
            None => {}
        }
    }
    patch + "*** End Patch\n"
}

/// An update drops an empty line at the end of a file, so such a file is written whole.
fn can_be_updated(lines: &[&str]) -> bool {
    lines.last() != Some(&"")
}

fn tree(files: &Files) -> Tree {
    let text = |lines: &Vec<&str>| lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
    files.iter().map(|(path, lines)| ((*path).to_owned(), text(lines).into_bytes())).collect()
}

/// A path may be a file before and a folder after, but not the other way: folders stay.
fn any_files(paths: &'static [&'static str]) -> impl Strategy<Value = Files> {
    let lines = prop::sample::select(vec![
        "",
        "}",
        "    }",
        "fn a() {",
        "fn b() {",
        "*** End Patch",
        "@@",
        "+",
        "- x",
        "-",
        " ",
        "\u{2013} x",
        "tail  ",
    ]);
    prop::collection::btree_map(prop::sample::select(paths), prop::collection::vec(lines, 0..25), 0..6)
}

proptest! {
    #[test]
    fn a_patch_between_two_trees_leads_to_the_second(
        old in any_files(&["a", "b", "c d", "e/f", "e/g", "h/i/j", "k"]),
        new in any_files(&["a", "b", "c d", "e/f", "e/g", "h/i/j", "k/l"]),
    ) {
        prop_assume!(old != new);
        let patch = patch_between(&old, &new);
        let outcome = ours(&tree(&old), &patch);
        prop_assert_eq!(outcome.status, 0, "{}\n{}", outcome.stderr, patch);
        prop_assert_eq!(outcome.tree, tree(&new), "{}", patch);
    }

    #[test]
    fn a_patch_with_one_hunk_too_many_changes_nothing(
        old in any_files(&["a", "b", "e/f", "k"]),
        new in any_files(&["a", "b", "e/f", "k/l"]),
        bad in prop::sample::select(vec![
            "*** Update File: a\n-not there\n",
            "*** Update File: nowhere\n+x\n",
            "*** Delete File: nowhere\n",
            "*** Delete File: e\n",
            "*** Add File: e/f/g/h\n+x\n",
        ]),
    ) {
        let mut old = old;
        old.insert("e/f", vec!["x"]);
        let mut new = new;
        new.entry("e/f").or_default();
        let whole = patch_between(&old, &new);
        let patch = whole.strip_suffix("*** End Patch\n").unwrap().to_owned() + bad + "*** End Patch\n";
        let outcome = ours(&tree(&old), &patch);
        prop_assert_eq!(outcome.status, 1, "{}", patch);
        prop_assert_eq!(outcome.tree, tree(&old), "{}", patch);
    }
}
