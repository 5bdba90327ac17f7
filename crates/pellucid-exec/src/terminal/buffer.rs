//! The beginning and the end of something that may be long.

use std::collections::VecDeque;

/// Keeps the first half and the last half of what fits.
#[derive(Debug, Clone)]
pub(super) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    n_omitted: u64,
}

/// The kept part of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BufferContent {
    /// The beginning and the end.
    pub bytes: Vec<u8>,
    /// The number of bytes missing between the two.
    pub n_omitted: u64,
}

impl HeadTail {
    pub(super) fn new(room: usize) -> Self {
        let head_room = room / 2;
        Self { head: Vec::new(), tail: VecDeque::new(), head_room, tail_room: room - head_room, n_omitted: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(head);
        let too_long = rest.len().saturating_sub(self.tail_room);
        let rest = &rest[too_long..];
        let n_pushed_out = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..n_pushed_out);
        self.tail.extend(rest);
        self.n_omitted += (too_long + n_pushed_out) as u64;
    }

    pub(super) fn kept(&self) -> BufferContent {
        let (tail, more) = self.tail.as_slices();
        BufferContent { bytes: [&self.head, tail, more].concat(), n_omitted: self.n_omitted }
    }

    /// Takes the kept output and begins again.
    pub(super) fn take(&mut self) -> BufferContent {
        let kept = self.kept();
        *self = Self::new(self.head_room + self.tail_room);
        kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_kept(room: usize, pushed: &[&str], expected: &str, n_omitted: u64) {
        let mut buffer = HeadTail::new(room);
        for bytes in pushed {
            buffer.push(bytes.as_bytes());
        }
        let kept = buffer.take();
        assert_eq!((String::from_utf8(kept.bytes).unwrap().as_str(), kept.n_omitted), (expected, n_omitted));
        assert_eq!(buffer.take(), BufferContent::default());
    }

    #[test]
    fn what_fits_is_whole() {
        check_kept(6, &["abc", "", "def"], "abcdef", 0);
        check_kept(6, &[], "", 0);
    }

    #[test]
    fn the_middle_is_left_out() {
        check_kept(6, &["abcdefghij"], "abchij", 4);
        check_kept(6, &["ab", "cd", "efghi", "j"], "abchij", 4);
        check_kept(5, &["abcdefghij"], "abhij", 5);
        check_kept(0, &["abc"], "", 3);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(pieces in prop::collection::vec("[a-z]{0,9}", 0..9), room in 0..20_usize) {
            let whole = pieces.concat();
            let mut by_piece = HeadTail::new(room);
            for piece in &pieces {
                by_piece.push(piece.as_bytes());
            }
            let mut at_once = HeadTail::new(room);
            at_once.push(whole.as_bytes());
            prop_assert_eq!(by_piece.kept(), at_once.kept());
            let kept = at_once.kept();
            prop_assert_eq!(kept.bytes.len(), whole.len().min(room));
            prop_assert_eq!(kept.bytes.len() as u64 + kept.n_omitted, whole.len() as u64);
        }
    }
}
