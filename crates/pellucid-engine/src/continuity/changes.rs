//! Compares two lists of parts: added, removed, changed, moved.

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_protocol::cache::CacheChangeKind;

use crate::reading::Place;
use crate::reading::ReadPart;

/// A change, with the part before and after it.
pub(super) type Change<'a> = (CacheChangeKind, Option<&'a ReadPart>, Option<&'a ReadPart>);

/// The first thing that differs.
pub(super) enum Difference {
    /// An item of the conversation differs.
    Item {
        /// The index of the item, from zero.
        n: usize,
        /// The offset of the item, from the first byte of the items.
        at: usize,
    },
    /// A part around the items.
    Part {
        kind: CacheChangeKind,
        name: Arc<str>,
        old: Option<ReadPart>,
        /// The part after the change; absent if it was removed.
        new: Option<ReadPart>,
        /// The place of the first difference, if the part has one.
        place: Option<Place>,
        /// How many bytes what begins there has; none if something was removed there.
        n_bytes: usize,
    },
}

impl Difference {
    pub fn of_item(n: usize, at: usize) -> Self {
        Self::Item { n, at }
    }

    pub fn of_model(old: &ReadPart, new: &ReadPart) -> Self {
        let (kind, name, place) = (CacheChangeKind::Changed, new.name.clone(), Some(new.place));
        Self::Part { kind, name, old: Some(old.clone()), new: Some(new.clone()), place, n_bytes: new.text.len() }
    }

    /// The change that makes two lists differ behind so many equal parts: what was taken out there, else what was put
    /// in there, else what has another text, else what moved.
    ///
    /// A server that comes or goes brings or takes tools of the pack with it, which may be read before its own. The
    /// difference begins there, but a tool of the server says what happened, so that one is named.
    pub fn of_parts(
        old: &[&ReadPart],
        new: &[&ReadPart],
        n_same: usize,
        is_servers: impl Fn(&Change<'_>) -> bool,
    ) -> Self {
        let here = |list: &[&ReadPart]| list.get(n_same).map(|part| part.name.clone());
        let (old_here, new_here) = (here(old), here(new));
        let changes = between(old, new);
        let is_here = |change: &&Change<'_>| match change {
            (CacheChangeKind::Removed, Some(part), _) => Some(&part.name) == old_here.as_ref(),
            (_, _, Some(part)) => Some(&part.name) == new_here.as_ref(),
            _ => false,
        };
        let moved = |change: &&Change<'_>| change.0 == CacheChangeKind::Moved;
        let change = changes.iter().find(is_here).or_else(|| changes.iter().find(moved)).or(changes.first());
        let place = new.get(n_same).map(|part| part.place);
        let behind = n_same.checked_sub(1).and_then(|n| new.get(n)).map(|part| part.place.after(part.text.len()));
        let (kind, was, is) = change.copied().unwrap_or((CacheChangeKind::Changed, None, None));
        let place = if kind == CacheChangeKind::Removed { place.or(behind) } else { is.map(|part| part.place) };
        let n_bytes = is.map_or(0, |part| part.text.len());
        let comes_or_goes = matches!(kind, CacheChangeKind::Removed | CacheChangeKind::Added);
        let of_server = changes.iter().find(|it| it.0 == kind && comes_or_goes && is_servers(it)).copied();
        let (_, was, is) = of_server.unwrap_or((kind, was, is));
        let name = is.or(was).map_or_else(|| "".into(), |part| part.name.clone());
        Self::Part { kind, name, old: was.cloned(), new: is.cloned(), place, n_bytes }
    }
}

/// The differences of two lists: removed parts in their old order, then all others in their new order.
pub(super) fn between<'a>(old: &[&'a ReadPart], new: &[&'a ReadPart]) -> Vec<Change<'a>> {
    let was: BTreeMap<&str, usize> = old.iter().enumerate().map(|(n, part)| (&*part.name, n)).collect();
    let is: BTreeMap<&str, &ReadPart> = new.iter().map(|part| (&*part.name, *part)).collect();
    let removed = old.iter().filter(|part| !is.contains_key(&*part.name));
    let mut changes: Vec<Change<'a>> = removed.map(|part| (CacheChangeKind::Removed, Some(*part), None)).collect();
    let places: Vec<usize> = new.iter().filter_map(|part| was.get(&*part.name).copied()).collect();
    let stayed = rising(&places);
    for part in new {
        let Some(place) = was.get(&*part.name) else {
            changes.push((CacheChangeKind::Added, None, Some(part)));
            continue;
        };
        let before = old[*place];
        if before.text != part.text {
            changes.push((CacheChangeKind::Changed, Some(before), Some(part)));
        } else if stayed.binary_search(place).is_err() {
            changes.push((CacheChangeKind::Moved, Some(before), Some(part)));
        }
    }
    changes
}

/// The longest run of rising numbers that is left when the others are taken out.
fn rising(numbers: &[usize]) -> Vec<usize> {
    // The place of the number that ends the best run of each length, and which number precedes each number in its run.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::with_capacity(numbers.len()));
    for (n, number) in numbers.iter().enumerate() {
        let len = ends.partition_point(|end| numbers[*end] < *number);
        before.push(len.checked_sub(1).map(|last| ends[last]));
        match ends.get_mut(len) {
            Some(end) => *end = n,
            None => ends.push(n),
        }
    }
    let mut run: Vec<usize> = std::iter::successors(ends.last().copied(), |n| before[*n]).map(|n| numbers[n]).collect();
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rising(numbers: &[usize], expected: &[usize]) {
        assert_eq!(rising(numbers), expected);
    }

    #[test]
    fn the_longest_rising_run_is_found() {
        check_rising(&[], &[]);
        check_rising(&[0, 1, 2], &[0, 1, 2]);
        check_rising(&[3, 0, 1, 2], &[0, 1, 2]);
        check_rising(&[1, 2, 3, 0], &[1, 2, 3]);
        check_rising(&[2, 1, 0], &[0]);
        check_rising(&[0, 4, 1, 5, 2, 6], &[0, 1, 2, 6]);
    }

    fn part(name: &str, text: &str, at: usize) -> ReadPart {
        let text = bytes::Bytes::copy_from_slice(text.as_bytes());
        let section = pellucid_protocol::provider::ReadSection::Tools;
        ReadPart { section, name: name.into(), text, place: Place::Head(at) }
    }

    /// The parts of a list: each letter is a name, and a digit behind it is its text.
    fn list(words: &str) -> Vec<ReadPart> {
        let words = words.split_whitespace().enumerate();
        words.map(|(n, word)| part(&word[..1], word.get(1..).unwrap_or_default(), 10 * n)).collect()
    }

    fn shown(change: &Change<'_>) -> String {
        let (kind, old, new) = change;
        let text = |part: &Option<&ReadPart>| {
            part.map_or_else(|| "-".to_owned(), |it| String::from_utf8_lossy(&it.text).into_owned())
        };
        format!("{} {} {}→{}", kind.as_str(), new.or(*old).map_or("", |it| &it.name), text(old), text(new))
    }

    #[track_caller]
    fn check_between(old: &str, new: &str, expected: &[&str]) {
        let (old, new) = (list(old), list(new));
        let (old, new): (Vec<&ReadPart>, Vec<&ReadPart>) = (old.iter().collect(), new.iter().collect());
        assert_eq!(between(&old, &new).iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_happened_to_each_part_is_named() {
        check_between("", "", &[]);
        check_between("a1 b1", "a1 b1", &[]);
        check_between("a1", "a1 b1", &["added b -→1"]);
        check_between("a1 b1", "b1", &["removed a 1→-"]);
        check_between("a1 b1", "a2 b1", &["changed a 1→2"]);
        check_between("a1 b1 c1", "b1 c1 a1", &["moved a 1→1"]);
        check_between("a1 b1 c1", "c1 a1 b1", &["moved c 1→1"]);
        check_between("a1 b1", "b2 a1", &["changed b 1→2"]);
        check_between("a1 b1 c1 d1", "d1 x1 b2 a1", &["removed c 1→-", "moved d 1→1", "added x -→1", "changed b 1→2"]);
        check_between("", "a1 b1", &["added a -→1", "added b -→1"]);
    }

    /// The first difference of two lists: what is named, where it begins and how long it is.
    #[track_caller]
    fn check_first(old: &str, new: &str, servers: &str, expected: &str) {
        let (old, new) = (list(old), list(new));
        let (old, new): (Vec<&ReadPart>, Vec<&ReadPart>) = (old.iter().collect(), new.iter().collect());
        let n_same = old.iter().zip(&new).take_while(|(old, new)| old.is(new)).count();
        let is_servers = |(_, was, is): &Change<'_>| is.or(*was).is_some_and(|it| servers.contains(&*it.name));
        match Difference::of_parts(&old, &new, n_same, is_servers) {
            Difference::Part { kind, name, place, n_bytes, .. } => {
                let at = place.map_or_else(|| "nowhere".to_owned(), |place| place.in_body(0, 0).to_string());
                assert_eq!(format!("{} {name} at {at} +{n_bytes}", kind.as_str()), expected);
            }
            Difference::Item { .. } => panic!("parts are no items"),
        }
    }

    #[test]
    fn the_first_difference_is_what_was_taken_out_put_in_changed_or_moved_there() {
        check_first("a1 b1", "a1 x123 b1", "", "added x at 10 +3");
        check_first("a1 b1 c1", "a1 c1", "", "removed b at 10 +0");
        check_first("a1 b1", "a1", "", "removed b at 1 +0");
        check_first("a1", "", "", "removed a at nowhere +0");
        check_first("a1 b1", "a1 b22", "", "changed b at 10 +2");
        check_first("a1 b1 c1", "b1 c1 a1", "", "moved a at 20 +1");
    }

    #[test]
    fn a_tool_of_a_server_that_came_or_went_names_the_change() {
        check_first("a1", "m1 a1 s1", "", "added m at 0 +1");
        check_first("a1", "m1 a1 s1", "s", "added s at 0 +1");
        check_first("m1 a1 s1", "a1", "s", "removed s at 0 +0");
        check_first("a1 s1", "a2 s1", "s", "changed a at 0 +1");
    }
}
