//! Budgets in bytes: head, marker and tail, never within a character.
//!
//! A budget is an `Option`: a number that could not be read keeps nothing, like zero. What a cut
//! frees because a character would have been split is not given to the other side, so a result may
//! be shorter than its budget and is never longer.

use std::borrow::Cow;

use crate::cut::first;
use crate::cut::last;
use crate::fragment::Fragment;
use crate::fragment::Origin;

/// The text in place of the part that was cut out.
pub const DEFAULT_MARKER: &str = "\n...\n";

/// Bytes as text; every maximal run that is no UTF-8 becomes U+FFFD.
pub fn normalize(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The longest beginning of at most `max` bytes.
pub fn head(text: &str, max: Option<i64>) -> &str {
    first(text, size(max))
}

/// The longest end of at most `max` bytes.
pub fn tail(text: &str, max: Option<i64>) -> &str {
    last(text, size(max))
}

/// Beginning and end with a marker between them, together at most `max` bytes. An empty marker is
/// the default one; a marker that leaves no room is left out with the end.
pub fn head_marker_tail(text: &str, max: Option<i64>, marker: &str) -> String {
    let kept = Kept::of(text.len(), size(max), marker);
    match kept {
        Kept::All => text.to_owned(),
        Kept::Head(n) => first(text, n).to_owned(),
        Kept::Ends { head, marker, tail } => [first(text, head), marker, last(text, tail)].concat(),
    }
}

/// The same for a text in fragments: what is kept keeps its origin.
pub fn head_marker_tail_of(fragments: Vec<Fragment>, max: Option<i64>, marker: &str) -> Vec<Fragment> {
    cut_of(fragments, max, marker).0
}

/// How many bytes a cut kept at both ends, and how many its marker has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptEnds {
    /// The bytes of the beginning.
    pub head: usize,
    /// The bytes of the end.
    pub tail: usize,
    /// The bytes of the marker between them.
    pub marker: usize,
}

/// The same, with what was kept if the text was cut.
pub fn cut_of(fragments: Vec<Fragment>, max: Option<i64>, marker: &str) -> (Vec<Fragment>, Option<KeptEnds>) {
    let len = length(&fragments);
    match Kept::of(len, size(max), marker) {
        Kept::All => (fragments, None),
        Kept::Head(n) => {
            let kept = head_of(&fragments, n);
            let ends = KeptEnds { head: length(&kept), ..KeptEnds::default() };
            (kept, Some(ends))
        }
        Kept::Ends { head, marker, tail } => {
            let (mut kept, last) = (head_of(&fragments, head), tail_of(&fragments, tail));
            let ends = KeptEnds { head: length(&kept), tail: length(&last), marker: marker.len() };
            kept.push(Fragment::layout(marker));
            kept.extend(last);
            (kept, Some(ends))
        }
    }
}

/// The longest beginning of at most `n` bytes.
pub fn head_of(fragments: &[Fragment], n: usize) -> Vec<Fragment> {
    let mut left = n;
    let mut kept = Vec::new();
    for fragment in fragments {
        let end = fragment.text.floor_char_boundary(left);
        kept.extend(part_of(fragment, 0, end));
        if end < fragment.text.len() {
            break;
        }
        left -= end;
    }
    kept
}

/// The longest end of at most `n` bytes.
pub fn tail_of(fragments: &[Fragment], n: usize) -> Vec<Fragment> {
    let mut left = n;
    let mut kept = Vec::new();
    for fragment in fragments.iter().rev() {
        let len = fragment.text.len();
        let start = fragment.text.ceil_char_boundary(len.saturating_sub(left));
        kept.extend(part_of(fragment, start, len));
        if start > 0 {
            break;
        }
        left -= len;
    }
    kept.reverse();
    kept
}

/// How many bytes the fragments have together.
pub fn length(fragments: &[Fragment]) -> usize {
    fragments.iter().map(|fragment| fragment.text.len()).sum()
}

/// A part of a fragment, with the part of its file that it came from.
fn part_of(fragment: &Fragment, start: usize, end: usize) -> Option<Fragment> {
    if start >= end {
        return None;
    }
    let origin = match &fragment.origin {
        // If the text differs from the file's bytes, the offset within the file is not known.
        Origin::File { path, range, size } if range.end - range.start == fragment.text.len() as u64 => {
            let range = range.start + start as u64..range.start + end as u64;
            Origin::File { path: path.clone(), range, size: *size }
        }
        other => other.clone(),
    };
    Some(Fragment { origin, text: fragment.text[start..end].to_owned() })
}

/// The part of a text that is kept within a budget.
enum Kept<'a> {
    All,
    Head(usize),
    Ends { head: usize, marker: &'a str, tail: usize },
}

impl<'a> Kept<'a> {
    fn of(len: usize, max: usize, marker: &'a str) -> Self {
        if len <= max && max > 0 {
            return Self::All;
        }
        let marker = if marker.is_empty() { DEFAULT_MARKER } else { marker };
        if marker.len() >= max {
            return Self::Head(max);
        }
        let rest = max - marker.len();
        Self::Ends { head: rest / 2, marker, tail: rest - rest / 2 }
    }
}

fn size(max: Option<i64>) -> usize {
    usize::try_from(max.unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fragment::concat;

    proptest! {
        #[test]
        fn a_budget_is_never_exceeded_and_no_character_split(
            text in "\\PC{0,60}", max in -3i64..80, marker in "\\PC{0,6}",
        ) {
            let cut = head_marker_tail(&text, Some(max), &marker);
            prop_assert!(cut.len() <= usize::try_from(max).unwrap_or(0));
            if text.len() <= usize::try_from(max).unwrap_or(0) {
                prop_assert_eq!(&cut, &text);
            }
        }

        #[test]
        fn fragments_are_cut_like_the_text_they_make(
            parts in proptest::collection::vec("\\PC{0,12}", 0..6), max in -3i64..60, marker in "\\PC{0,4}",
        ) {
            let fragments: Vec<_> = parts.iter().map(|text| Fragment::fact("part", text.as_str())).collect();
            let cut = head_marker_tail_of(fragments, Some(max), &marker);
            prop_assert_eq!(concat(&cut), head_marker_tail(&parts.concat(), Some(max), &marker));
        }
    }

    #[test]
    fn what_is_kept_of_a_file_knows_its_bytes() {
        let origin = Origin::File { path: "a".into(), range: 0..10, size: 10 };
        let file = vec![Fragment { origin, text: "0123456789".to_owned() }];
        let cut = head_marker_tail_of(file, Some(9), "");
        let ranges: Vec<_> = cut.iter().map(|fragment| fragment.origin.clone()).collect();
        assert_eq!(ranges[0], Origin::File { path: "a".into(), range: 0..2, size: 10 });
        assert_eq!(ranges[1], Origin::Layout);
        assert_eq!(ranges[2], Origin::File { path: "a".into(), range: 8..10, size: 10 });
    }
}
