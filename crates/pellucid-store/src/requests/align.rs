//! Two lists of short digests, line by line: which lines stayed, and what happened to the others.
//!
//! Nearly every line of a session file is the only one of its kind, because it has a time. So lines that both lists
//! have exactly once are matched first, in the longest order that they share; the gaps between them are small.

use std::collections::HashMap;

use super::damage::DamageKind;
use super::seal::LineMark;

/// The difference between two lists at one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The line is unchanged: its places in both lists.
    Kept(usize, usize),
    /// The line was changed: its places in both lists.
    Changed(usize, usize),
    /// The line is missing: its place before, and where it would be now.
    Missing(usize, usize),
    /// The line is new or was moved: where it would have been before, and its place now.
    New(usize, usize, DamageKind),
}

/// The differences between two lists of lines, in the order of the new list.
pub(super) fn align(before: &[LineMark], now: &[LineMark]) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut b, mut n) = (0, 0);
    for (kept_b, kept_n) in shared(before, now).into_iter().chain([(before.len(), now.len())]) {
        gap(before, now, (b, kept_b), (n, kept_n), &mut steps);
        if kept_b < before.len() && kept_n < now.len() {
            steps.push(Step::Kept(kept_b, kept_n));
        }
        (b, n) = (kept_b + 1, kept_n + 1);
    }
    let steps = with_moves(before, now, steps);
    pair(steps)
}

/// The longest list of places, rising in both lists, of lines that each list has exactly once.
fn shared(before: &[LineMark], now: &[LineMark]) -> Vec<(usize, usize)> {
    let unique = |marks: &[LineMark]| {
        let mut places: HashMap<LineMark, Option<usize>> = HashMap::new();
        for (at, mark) in marks.iter().enumerate() {
            places.entry(*mark).and_modify(|place| *place = None).or_insert(Some(at));
        }
        places
    };
    let (before_at, now_at) = (unique(before), unique(now));
    let place = |(at, mark): (usize, &LineMark)| {
        (*before_at.get(mark)?)?;
        Some((at, (*now_at.get(mark)?)?))
    };
    let pairs: Vec<(usize, usize)> = before.iter().enumerate().filter_map(place).collect();
    // The longest rising list: for each length the pair with the least end, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, now)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|end| pairs[*end].1 < *now);
        previous.push(len.checked_sub(1).map(|len| ends[len]));
        match ends.get_mut(len) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut kept = Vec::with_capacity(ends.len());
    let mut last = ends.last().copied();
    while let Some(at) = last {
        kept.push(pairs[at]);
        last = previous[at];
    }
    kept.reverse();
    kept
}

/// Compares the lines between two unchanged lines: equal lines at both ends are unchanged as well.
fn gap(
    before: &[LineMark],
    now: &[LineMark],
    (mut b, b_end): (usize, usize),
    (mut n, n_end): (usize, usize),
    steps: &mut Vec<Step>,
) {
    while b < b_end && n < n_end && before[b] == now[n] {
        steps.push(Step::Kept(b, n));
        (b, n) = (b + 1, n + 1);
    }
    let mut n_same = 0;
    while b + n_same < b_end && n + n_same < n_end && before[b_end - 1 - n_same] == now[n_end - 1 - n_same] {
        n_same += 1;
    }
    let (b_rest, n_rest) = (b_end - n_same, n_end - n_same);
    steps.extend((b..b_rest).map(|b| Step::Missing(b, n)));
    steps.extend((n..n_rest).map(|n| Step::New(b_rest, n, DamageKind::New)));
    steps.extend((0..n_same).map(|at| Step::Kept(b_rest + at, n_rest + at)));
}

/// A line that is missing in one place and new in another was moved.
fn with_moves(before: &[LineMark], now: &[LineMark], steps: Vec<Step>) -> Vec<Step> {
    let mut missing: HashMap<LineMark, usize> = HashMap::new();
    for step in &steps {
        if let Step::Missing(b, _) = step {
            *missing.entry(before[*b]).or_default() += 1;
        }
    }
    let mut moved: HashMap<LineMark, usize> = HashMap::new();
    let mut found = Vec::with_capacity(steps.len());
    for step in steps {
        found.push(match step {
            Step::New(b, n, _) if missing.get(&now[n]).is_some_and(|left| *left > 0) => {
                missing.entry(now[n]).and_modify(|left| *left -= 1);
                *moved.entry(now[n]).or_default() += 1;
                Step::New(b, n, DamageKind::Moved)
            }
            step => step,
        });
    }
    found.retain(|step| match step {
        Step::Missing(b, _) => match moved.get_mut(&before[*b]) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        },
        _ => true,
    });
    found
}

/// Between lines that stayed, missing and new lines are the same lines, changed, as far as there are enough of both.
fn pair(steps: Vec<Step>) -> Vec<Step> {
    let mut paired = Vec::with_capacity(steps.len());
    let mut missing: Vec<Step> = Vec::new();
    let mut new: Vec<Step> = Vec::new();
    let flush = |missing: &mut Vec<Step>, new: &mut Vec<Step>, paired: &mut Vec<Step>| {
        let n = missing.len().min(new.len());
        let (changed, rest) = (missing.drain(..n).collect::<Vec<_>>(), new.split_off(n));
        for (was, is) in changed.into_iter().zip(new.drain(..)) {
            if let (Step::Missing(b, _), Step::New(_, n, _)) = (was, is) {
                paired.push(Step::Changed(b, n));
            }
        }
        // Lines that are missing after a changed line are missing after its new place.
        let behind = paired.last().map(|step| match step {
            Step::Changed(_, n) | Step::Kept(_, n) | Step::New(_, n, _) => n + 1,
            Step::Missing(_, n) => *n,
        });
        paired.extend(missing.drain(..).map(|step| match step {
            Step::Missing(b, n) => Step::Missing(b, behind.map_or(n, |behind| behind.max(n))),
            step => step,
        }));
        paired.extend(rest);
    };
    for step in steps {
        match step {
            Step::Missing(..) => missing.push(step),
            Step::New(_, _, DamageKind::New) => new.push(step),
            Step::Kept(..) | Step::Changed(..) | Step::New(..) => {
                flush(&mut missing, &mut new, &mut paired);
                paired.push(step);
            }
        }
    }
    flush(&mut missing, &mut new, &mut paired);
    paired
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    /// Each letter is a line. What stayed is not shown.
    #[track_caller]
    fn check_align(before: &str, now: &str, expected: &Expect) {
        let marks = |text: &str| text.bytes().map(|byte| LineMark::of(&[byte])).collect::<Vec<_>>();
        let steps = align(&marks(before), &marks(now));
        let shown: Vec<String> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Kept(..) => None,
                Step::Changed(b, n) => Some(format!("{} changed at {n}", &before[*b..=*b])),
                Step::Missing(b, n) => Some(format!("{} missing at {n}", &before[*b..=*b])),
                Step::New(_, n, DamageKind::Moved) => Some(format!("{} moved to {n}", &now[*n..=*n])),
                Step::New(_, n, _) => Some(format!("{} new at {n}", &now[*n..=*n])),
            })
            .collect();
        expected.assert_eq(&shown.join(", "));
    }

    #[test]
    fn one_thing_at_a_time_is_named_as_it_is() {
        check_align("abcdef", "abcdef", &expect![""]);
        check_align("abcdef", "abxdef", &expect!["c changed at 2"]);
        check_align("abcdef", "abdef", &expect!["c missing at 2"]);
        check_align("abcdef", "abcxdef", &expect!["x new at 3"]);
        check_align("abcdef", "abdcef", &expect!["c moved to 3"]);
        check_align("abcdef", "xbcdef", &expect!["a changed at 0"]);
        check_align("abcdef", "bcdef", &expect!["a missing at 0"]);
        check_align("abcdef", "abcdex", &expect!["f changed at 5"]);
        check_align("abcdef", "abc", &expect!["d missing at 3, e missing at 3, f missing at 3"]);
        check_align("abcdef", "abcdefgh", &expect!["g new at 6, h new at 7"]);
        check_align("", "a", &expect!["a new at 0"]);
        check_align("a", "", &expect!["a missing at 0"]);
    }

    #[test]
    fn lines_that_are_there_twice_are_no_trouble() {
        check_align("aabab", "aabb", &expect!["a missing at 3"]);
        check_align("aaaa", "aaa", &expect!["a missing at 3"]);
        check_align("xaaay", "xabay", &expect!["a changed at 2"]);
        check_align("abcabc", "abcabcx", &expect!["x new at 6"]);
    }

    #[test]
    fn several_things_at_once_are_all_named() {
        check_align(
            "abcdefgh",
            "xbdehfgyz",
            &expect!["a changed at 0, c missing at 2, h moved to 4, y new at 7, z new at 8"],
        );
        check_align("abcd", "axd", &expect!["b changed at 1, c missing at 2"]);
    }
}
