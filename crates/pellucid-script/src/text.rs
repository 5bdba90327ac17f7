//! Texts whose bytes know where they come from.
//!
//! A piece shares the text that it was cut from, so cutting copies nothing, and the origin of a piece is worked out only
//! when it is written: the origin of the whole text, narrowed to the range of the piece.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// The origin of bytes, as this crate needs to know it.
pub trait Provenance: Clone + PartialEq {
    /// The origin of `whole[range]`, if this is the origin of `whole`.
    fn narrowed(&self, whole: &str, range: Range<usize>) -> Self;

    /// The origin of bytes that were made from bytes of this origin and differ from them.
    fn rewritten(&self) -> Self;

    /// Whether neighbours of this origin are one piece. Ranges of a file are not: one range may come twice.
    fn joins(&self) -> bool;
}

/// A text in pieces, each with its origin.
#[derive(Debug, Clone)]
pub struct Text<O> {
    pieces: Vec<Piece<O>>,
}

#[derive(Debug, Clone)]
struct Piece<O> {
    origin: O,
    whole: Arc<str>,
    range: Range<usize>,
}

impl<O> Piece<O> {
    fn as_str(&self) -> &str {
        &self.whole[self.range.clone()]
    }
}

impl<O> Default for Text<O> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<O: Provenance> Text<O> {
    /// A text of one origin.
    pub fn new(origin: O, text: impl Into<Arc<str>>) -> Self {
        let whole: Arc<str> = text.into();
        let range = 0..whole.len();
        Self::part(origin, whole, range)
    }

    /// A part of a text of one origin.
    pub(crate) fn part(origin: O, whole: Arc<str>, range: Range<usize>) -> Self {
        if range.is_empty() {
            return Self::default();
        }
        Self { pieces: vec![Piece { origin, whole, range }] }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.range.len()).sum()
    }

    /// Whether the text has no bytes.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The text without its origins.
    pub fn plain(&self) -> String {
        let mut text = String::with_capacity(self.len());
        for piece in &self.pieces {
            text.push_str(piece.as_str());
        }
        text
    }

    /// The pieces with their origins, neighbours of one origin joined.
    pub fn into_pieces(self) -> Vec<(O, String)> {
        let mut pieces: Vec<(O, String)> = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            let origin = piece.origin.narrowed(&piece.whole, piece.range.clone());
            match pieces.last_mut() {
                Some((last, text)) if *last == origin && origin.joins() => text.push_str(piece.as_str()),
                _ => pieces.push((origin, piece.as_str().to_owned())),
            }
        }
        pieces
    }

    /// The text without the newline at its end, if there is one.
    pub(crate) fn without_last_newline(self) -> Self {
        let ends_line = self.pieces.last().is_some_and(|piece| piece.as_str().ends_with('\n'));
        if ends_line { self.slice(0..self.len() - 1) } else { self }
    }

    /// Adds a text at the end.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.pieces {
            match self.pieces.last_mut() {
                Some(last)
                    if Arc::ptr_eq(&last.whole, &piece.whole)
                        && last.range.end == piece.range.start
                        && last.origin == piece.origin =>
                {
                    last.range.end = piece.range.end;
                }
                _ => self.pieces.push(piece.clone()),
            }
        }
    }

    /// The bytes of a range, which begins and ends between characters.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut cut = Self::default();
        let mut at = 0;
        for piece in &self.pieces {
            let end = at + piece.range.len();
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from < to {
                let within = piece.range.start + (from - at)..piece.range.start + (to - at);
                cut.pieces.push(Piece { origin: piece.origin.clone(), whole: piece.whole.clone(), range: within });
            }
            at = end;
        }
        cut
    }

    /// How many pieces there are, which is what a copy costs.
    pub(crate) fn n_pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The text between the occurrences of a separator, which is not empty.
    pub(crate) fn split(&self, separator: &str) -> Vec<Self> {
        let plain = self.plain();
        let mut ends: Vec<(usize, usize)> =
            plain.match_indices(separator).map(|(at, found)| (at, at + found.len())).collect();
        ends.push((plain.len(), plain.len()));
        let mut parts = Vec::with_capacity(ends.len());
        // Parts are in order, so the pieces are gone through once.
        let (mut from, mut first, mut first_at) = (0, 0, 0);
        for (end, next) in ends {
            while let Some(piece) = self.pieces.get(first).filter(|piece| first_at + piece.range.len() <= from) {
                first_at += piece.range.len();
                first += 1;
            }
            let (mut part, mut at) = (Self::default(), first_at);
            for piece in self.pieces.get(first..).unwrap_or_default() {
                let here = at;
                if here >= end {
                    break;
                }
                at += piece.range.len();
                let (start, stop) = (from.max(here), end.min(at));
                if start < stop {
                    let within = piece.range.start + (start - here)..piece.range.start + (stop - here);
                    part.pieces.push(Piece { origin: piece.origin.clone(), whole: piece.whole.clone(), range: within });
                }
            }
            parts.push(part);
            from = next;
        }
        parts
    }

    /// The text with every occurrence of `old`, which is not empty, replaced by `new`.
    pub(crate) fn replace(&self, old: &str, new: &Self) -> Self {
        let mut replaced = Self::default();
        for (n, part) in self.split(old).iter().enumerate() {
            if n > 0 {
                replaced.push(new);
            }
            replaced.push(part);
        }
        replaced
    }

    /// The text without the characters at both ends for which `is_dropped` holds.
    pub(crate) fn trim(&self, is_dropped: impl Fn(char) -> bool) -> Self {
        let plain = self.plain();
        let start = plain.len() - plain.trim_start_matches(&is_dropped).len();
        let end = plain.trim_end_matches(&is_dropped).len();
        if start >= end { Self::default() } else { self.slice(start..end) }
    }

    /// The text with every character replaced by what `make` returns for it. Characters that stay keep their origin.
    pub(crate) fn map_chars<I: Iterator<Item = char>>(&self, make: impl Fn(char) -> I) -> Self {
        let mut mapped = Self::default();
        for piece in &self.pieces {
            let mut changed = String::new();
            let flush = |changed: &mut String, mapped: &mut Self| {
                if !changed.is_empty() {
                    mapped.push(&Self::new(piece.origin.rewritten(), std::mem::take(changed)));
                }
            };
            for (at, old) in piece.as_str().char_indices() {
                let before = changed.len();
                changed.extend(make(old));
                if changed[before..].chars().eq([old]) {
                    changed.truncate(before);
                    flush(&mut changed, &mut mapped);
                    let from = piece.range.start + at;
                    mapped.push(&Self::part(piece.origin.clone(), piece.whole.clone(), from..from + old.len_utf8()));
                }
            }
            flush(&mut changed, &mut mapped);
        }
        mapped
    }

    /// The parts with a text between each two.
    pub(crate) fn joined(parts: impl IntoIterator<Item = Self>, between: &Self) -> Self {
        let mut joined = Self::default();
        for (n, part) in parts.into_iter().enumerate() {
            if n > 0 {
                joined.push(between);
            }
            joined.push(&part);
        }
        joined
    }

    /// How two texts compare, whatever their origins.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let bytes = |text: &Self| text.pieces.iter().flat_map(|piece| piece.as_str().bytes()).collect::<Vec<u8>>();
        bytes(self).cmp(&bytes(other))
    }
}
