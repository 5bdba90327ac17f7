//! Which row of one request is which row of the other.

use std::collections::BTreeMap;

use similar::Algorithm;
use similar::DiffOp;
use similar::capture_diff_slices;

use super::DiffKind;
use super::DiffStep;
use crate::inspected::InspectedRow;

/// A row of `a` that became a row of `b`.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: usize,
    is_same: bool,
}

/// What became of every row of both requests.
pub fn steps(a: &[InspectedRow], b: &[InspectedRow]) -> Vec<DiffStep> {
    let mut pairs: Vec<Option<Pair>> = vec![None; b.len()];
    let mut is_free = vec![true; a.len()];
    by_part_and_origin(a, b, &mut pairs, &mut is_free);
    by_text(a, b, &mut pairs, &mut is_free);
    ordered(a, b, &pairs, &is_free)
}

/// The numbers of rows of one part and origin, in both requests.
#[derive(Default)]
struct Namesakes {
    a: Vec<usize>,
    b: Vec<usize>,
}

fn by_part_and_origin(a: &[InspectedRow], b: &[InspectedRow], pairs: &mut [Option<Pair>], is_free: &mut [bool]) {
    let mut groups: BTreeMap<(&str, &str, &str), Namesakes> = BTreeMap::new();
    for (n, row) in a.iter().enumerate() {
        groups.entry((&row.part, &row.source, &row.origin)).or_default().a.push(n);
    }
    for (n, row) in b.iter().enumerate() {
        groups.entry((&row.part, &row.source, &row.origin)).or_default().b.push(n);
    }
    for group in groups.into_values().filter(|group| !group.a.is_empty() && !group.b.is_empty()) {
        let texts = Texts::of(group.a.iter().map(|n| &a[*n]), group.b.iter().map(|n| &b[*n]));
        let mut pair = |at_a: usize, at_b: usize, is_same| {
            pairs[group.b[at_b]] = Some(Pair { a: group.a[at_a], is_same });
            is_free[group.a[at_a]] = false;
        };
        for op in capture_diff_slices(Algorithm::Myers, &texts.a, &texts.b) {
            match op {
                DiffOp::Equal { old_index, new_index, len } => {
                    (0..len).for_each(|n| pair(old_index + n, new_index + n, true));
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    (0..old_len.min(new_len)).for_each(|n| pair(old_index + n, new_index + n, false));
                }
                DiffOp::Delete { .. } | DiffOp::Insert { .. } => {}
            }
        }
    }
}

/// Texts as numbers: two rows have the same number if they are the same text.
struct Texts {
    a: Vec<usize>,
    b: Vec<usize>,
}

impl Texts {
    /// Rows of which one lacks its text, such as those of a saved report, are compared by their sizes alone.
    fn of<'r>(
        a: impl Iterator<Item = &'r InspectedRow> + Clone,
        b: impl Iterator<Item = &'r InspectedRow> + Clone,
    ) -> Self {
        // What both begin with is paired in its order whatever it is, so its texts are not read.
        let shares_wire = |(a, b): &(&InspectedRow, &InspectedRow)| match (&a.content, &b.content) {
            (Some(a), Some(b)) => a.shares_wire(b),
            _ => false,
        };
        let n_shared = a.clone().zip(b.clone()).take_while(shares_wire).count();
        let (a, b) = (a.skip(n_shared), b.skip(n_shared));
        let has_texts = a.clone().chain(b.clone()).all(|row| row.content.is_some());
        let mut known: BTreeMap<&str, Vec<&'r InspectedRow>> = BTreeMap::new();
        let mut n_known = n_shared;
        let mut numbers: BTreeMap<(&str, usize), usize> = BTreeMap::new();
        let mut number = |row: &'r InspectedRow| {
            let text = row.content.as_ref().filter(|_| has_texts).map_or("", |content| &*content.text);
            let namesakes = known.entry(text).or_default();
            let at = namesakes.iter().position(|known| known.is_same_text(row)).unwrap_or_else(|| {
                namesakes.push(row);
                namesakes.len() - 1
            });
            *numbers.entry((text, at)).or_insert_with(|| {
                n_known += 1;
                n_known
            })
        };
        let shared = 1..=n_shared;
        let a = shared.clone().chain(a.map(&mut number)).collect();
        Self { a, b: shared.chain(b.map(&mut number)).collect() }
    }
}

/// Pairs what is left by its text: a part that has another name or another origin now.
fn by_text(a: &[InspectedRow], b: &[InspectedRow], pairs: &mut [Option<Pair>], is_free: &mut [bool]) {
    fn text(row: &InspectedRow) -> Option<&str> {
        match &row.content {
            Some(content) if !row.is_notation() && !content.text.trim().is_empty() => Some(&content.text),
            _ => None,
        }
    }
    let mut free: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (n, row) in a.iter().enumerate().rev().filter(|(n, _)| is_free[*n]) {
        if let Some(text) = text(row) {
            free.entry(text).or_default().push(n);
        }
    }
    for (row, pair) in b.iter().zip(pairs).filter(|(_, pair)| pair.is_none()) {
        let Some(found) = text(row).and_then(|text| free.get_mut(text)?.pop()) else { continue };
        *pair = Some(Pair { a: found, is_same: true });
        is_free[found] = false;
    }
}

/// Puts the pairs in order, and marks the rows that moved.
fn ordered(a: &[InspectedRow], b: &[InspectedRow], pairs: &[Option<Pair>], is_free: &[bool]) -> Vec<DiffStep> {
    let in_place = longest_rise(pairs);
    let mut steps: Vec<DiffStep> = Vec::new();
    // Whether the rows of the last step have the same bytes in both requests.
    let mut last_is_verbatim = false;
    let mut removed = is_free.iter().enumerate().filter_map(|(n, is_free)| is_free.then_some(n)).peekable();
    for (at_b, pair) in pairs.iter().enumerate() {
        let Some(pair) = pair else {
            steps.push(DiffStep { kind: DiffKind::Added, a: 0..0, b: at_b..at_b + 1 });
            continue;
        };
        if in_place[at_b] {
            while let Some(n) = removed.next_if(|n| *n < pair.a) {
                steps.push(DiffStep { kind: DiffKind::Removed, a: n..n + 1, b: 0..0 });
            }
        }
        let kind = match pair.is_same {
            false => DiffKind::Changed,
            true if in_place[at_b] => DiffKind::Same,
            true => DiffKind::Moved,
        };
        let is_verbatim = is_verbatim(&a[pair.a], &b[at_b]);
        match steps.last_mut() {
            Some(last)
                if kind == DiffKind::Same
                    && last.kind == DiffKind::Same
                    && is_verbatim
                    && last_is_verbatim
                    && last.a.end == pair.a
                    && last.b.end == at_b =>
            {
                last.a.end += 1;
                last.b.end += 1;
            }
            _ => steps.push(DiffStep { kind, a: pair.a..pair.a + 1, b: at_b..at_b + 1 }),
        }
        last_is_verbatim = is_verbatim;
    }
    steps.extend(removed.map(|n| DiffStep { kind: DiffKind::Removed, a: n..n + 1, b: 0..0 }));
    steps
}

/// Whether two rows have the same bytes, or neither has any.
fn is_verbatim(a: &InspectedRow, b: &InspectedRow) -> bool {
    match (&a.content, &b.content) {
        (Some(a), Some(b)) => a.is_same_wire(b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Which rows of `b` are in the longest run whose rows of `a` are in order too. The others moved.
fn longest_rise(pairs: &[Option<Pair>]) -> Vec<bool> {
    // `ends[n]` is the row of `b` that ends the best run of n + 1 rows.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    let place = |at_b: usize| pairs[at_b].map_or(0, |pair| pair.a);
    for (at_b, pair) in pairs.iter().enumerate() {
        let Some(pair) = pair else { continue };
        let n = ends.partition_point(|end| place(*end) < pair.a);
        before[at_b] = n.checked_sub(1).map(|n| ends[n]);
        if n < ends.len() { ends[n] = at_b } else { ends.push(at_b) }
    }
    let mut in_place = vec![false; pairs.len()];
    let mut next = ends.last().copied();
    while let Some(at_b) = next {
        in_place[at_b] = true;
        next = before[at_b];
    }
    in_place
}
