//! The open terminals by number, and the choice of one to close when there are too many.
//!
//! Pure: the caller provides numbers, and time is the order of uses.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// How many terminals are kept.
pub const TERMINALS_MAX: usize = 64;

/// From how many on the model is warned.
pub const TERMINALS_WARN: usize = 60;

/// How many of those that were used last never have to go.
const PROTECTED: usize = 8;

/// The range of terminal numbers.
pub(super) const NUMBERS: std::ops::Range<u32> = 1_000..100_000;

#[derive(Debug)]
pub(super) struct Store<T> {
    entries: BTreeMap<u32, Entry<T>>,
    reserved: BTreeSet<u32>,
    n_uses: u64,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    last_use: u64,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), reserved: BTreeSet::new(), n_uses: 0 }
    }
}

impl<T> Store<T> {
    /// Reserves the first of these numbers that is free.
    pub(super) fn reserve(&mut self, mut numbers: impl FnMut() -> u32) -> u32 {
        loop {
            let number = numbers();
            if !self.entries.contains_key(&number) && self.reserved.insert(number) {
                return number;
            }
        }
    }

    pub(super) fn release(&mut self, number: u32) {
        self.reserved.remove(&number);
    }

    /// Puts something under a reserved number. Who has to go for it is returned.
    pub(super) fn insert(&mut self, number: u32, value: T, has_ended: impl Fn(&T) -> bool) -> Option<(u32, T)> {
        let evicted = match self.least_needed(has_ended) {
            Some(evicted) if self.entries.len() >= TERMINALS_MAX => self.remove(evicted).map(|it| (evicted, it)),
            _ => None,
        };
        self.reserved.remove(&number);
        self.n_uses += 1;
        self.entries.insert(number, Entry { value, last_use: self.n_uses });
        evicted
    }

    /// Gives what has this number, and counts that as a use.
    pub(super) fn touch(&mut self, number: u32) -> Option<&T> {
        let entry = self.entries.get_mut(&number)?;
        self.n_uses += 1;
        entry.last_use = self.n_uses;
        Some(&entry.value)
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        self.entries.remove(&number).map(|entry| entry.value)
    }

    pub(super) fn remove_all(&mut self) -> Vec<T> {
        std::mem::take(&mut self.entries).into_values().map(|entry| entry.value).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Of all but the few that were used last: the one that ended and was not used for longest,
    /// else the one that was not used for longest.
    fn least_needed(&self, has_ended: impl Fn(&T) -> bool) -> Option<u32> {
        let mut by_use: Vec<_> = self.entries.iter().collect();
        by_use.sort_by_key(|(_, entry)| entry.last_use);
        by_use.truncate(by_use.len().saturating_sub(PROTECTED));
        let ended = by_use.iter().find(|(_, entry)| has_ended(&entry.value));
        ended.or(by_use.first()).map(|(number, _)| **number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a store with 0, 1, 2, ... and inserts one more. Returns who had to go.
    #[track_caller]
    fn check_evicted(n_before: u32, used: &[u32], ended: &[u32], expected: Option<u32>) {
        let mut store = Store::default();
        for number in 0..n_before {
            assert_eq!(store.insert(number, number, |_| false), None);
        }
        for number in used {
            assert!(store.touch(*number).is_some());
        }
        let evicted = store.insert(5_000, 5_000, |number| ended.contains(number));
        assert_eq!(evicted, expected.map(|it| (it, it)));
        assert_eq!(store.len(), TERMINALS_MAX.min(n_before as usize + 1));
        assert_eq!(store.touch(5_000), Some(&5_000));
    }

    #[test]
    fn nobody_has_to_go_while_there_is_room() {
        check_evicted(0, &[], &[], None);
        check_evicted(63, &[], &[5], None);
    }

    #[test]
    fn the_one_not_used_for_longest_has_to_go() {
        check_evicted(64, &[], &[], Some(0));
        check_evicted(64, &[0, 1, 3], &[], Some(2));
    }

    #[test]
    fn those_that_ended_go_first_unless_they_were_used_just_now() {
        check_evicted(64, &[], &[20, 10], Some(10));
        check_evicted(64, &[10], &[20, 10], Some(20));
        check_evicted(64, &[], &[55, 60], Some(55));
        check_evicted(64, &[], &[56, 63], Some(0));
    }

    #[test]
    fn numbers_are_given_once() {
        let mut store = Store::default();
        let mut numbers = [7, 7, 8, 7, 8, 9].into_iter();
        let mut next = || numbers.next().unwrap();
        assert_eq!(store.reserve(&mut next), 7);
        store.insert(7, (), |()| false);
        assert_eq!(store.reserve(&mut next), 8);
        assert_eq!(store.reserve(&mut next), 9);
        store.release(9);
        assert_eq!(store.reserve(|| 9), 9);
        assert_eq!((store.remove(7), store.remove(7)), (Some(()), None));
        assert_eq!(store.reserve(|| 7), 7);
    }
}
