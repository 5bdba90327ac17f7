//! A smallest set of parts that keeps an outcome, by delta debugging.

use std::collections::BTreeMap;

/// What came of a minimisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinimisedSet<E> {
    /// The smallest set that is known to keep the outcome, in ascending order.
    pub kept: Vec<usize>,
    /// Why the search ended early; then a smaller set may exist. Absent if the outcome goes away without any one part of
    /// `kept`.
    pub stopped: Option<E>,
}

/// Reduces the parts `0..n`, with all of which the outcome is there, to a set that still has it and from which no part can be
/// removed.
///
/// `keeps` says whether a set in ascending order keeps the outcome, and is asked at most once about each set. The same answers
/// give the same set.
pub fn minimise<E>(n: usize, keeps: &mut impl FnMut(&[usize]) -> Result<bool, E>) -> MinimisedSet<E> {
    let mut known: BTreeMap<Vec<usize>, bool> = BTreeMap::new();
    let mut asked = |set: Vec<usize>| match known.get(&set) {
        Some(is_kept) => Ok(*is_kept),
        None => {
            let is_kept = keeps(&set)?;
            known.insert(set, is_kept);
            Ok(is_kept)
        }
    };
    let mut kept: Vec<usize> = (0..n).collect();
    let stopped = reduce(&mut kept, &mut asked).err();
    MinimisedSet { kept, stopped }
}

fn reduce<E>(kept: &mut Vec<usize>, keeps: &mut impl FnMut(Vec<usize>) -> Result<bool, E>) -> Result<(), E> {
    let mut n_chunks = 2;
    while kept.len() >= 2 {
        let size = kept.len().div_ceil(n_chunks);
        if let Some(chunk) = first(kept.chunks(size).map(<[usize]>::to_vec), keeps)? {
            *kept = chunk;
            n_chunks = 2;
            continue;
        }
        let rest = |at: usize| [&kept[..at], &kept[kept.len().min(at + size)..]].concat();
        let rests: Vec<_> = (0..kept.len()).step_by(size).map(rest).collect();
        if let Some(rest) = first(rests.into_iter(), keeps)? {
            *kept = rest;
            n_chunks = (n_chunks - 1).max(2);
            continue;
        }
        if size == 1 {
            return Ok(());
        }
        n_chunks = kept.len().min(n_chunks * 2);
    }
    if kept.len() == 1 && keeps(Vec::new())? {
        kept.clear();
    }
    Ok(())
}

/// The first of the sets that keeps the outcome.
fn first<E>(
    sets: impl Iterator<Item = Vec<usize>>,
    keeps: &mut impl FnMut(Vec<usize>) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    for set in sets {
        if keeps(set.clone())? {
            return Ok(Some(set));
        }
    }
    Ok(None)
}
