//! A text made of parts of another, so that a large file with small changes is not copied.
//!
//! Not here: what the parts are parts of when that stays on the disk (`base`).

use std::fs::File;
use std::io;
use std::io::IoSlice;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use crate::base::Base;

/// As many as Linux takes at once.
const N_SLICES_MAX: usize = 1024;

/// Parts of a base text, which is stored elsewhere, and the new text between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextParts {
    fresh: String,
    /// Invariant: no part is empty.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Base(Range<usize>),
    Fresh(Range<usize>),
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece<'a> {
    /// These bytes of the base.
    Base(Range<usize>),
    /// New text of the patch.
    Fresh(&'a [u8]),
}

impl TextParts {
    /// All of a base of this length.
    pub fn whole(n_bytes: usize) -> Self {
        let parts = if n_bytes == 0 { Vec::new() } else { vec![Part::Base(0..n_bytes)] };
        Self { fresh: String::new(), parts }
    }

    pub fn push_base(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.parts.push(Part::Base(range));
        }
    }

    pub fn push_fresh_line(&mut self, line: &str) {
        let begin = self.fresh.len();
        self.fresh.push_str(line);
        self.fresh.push('\n');
        match self.parts.last_mut() {
            Some(Part::Fresh(range)) => range.end = self.fresh.len(),
            _ => self.parts.push(Part::Fresh(begin..self.fresh.len())),
        }
    }

    /// Adds the newline of a last line that has none.
    pub fn close_line(&mut self) {
        self.push_fresh_line("");
    }

    /// Removes the last newline if the line before it is empty, or there is no such line. `base` returns the byte at
    /// an offset.
    pub fn drop_empty_last_line(&mut self, base: impl Fn(usize) -> Option<u8>) {
        if !self.has_empty_last_line(base) {
            return;
        }
        if let Some(Part::Base(range) | Part::Fresh(range)) = self.parts.last_mut() {
            range.end -= 1;
            if range.start == range.end {
                self.parts.pop();
            }
        }
    }

    fn has_empty_last_line(&self, base: impl Fn(usize) -> Option<u8>) -> bool {
        let places = self.parts.iter().rev().flat_map(|part| {
            let (Part::Base(range) | Part::Fresh(range)) = part;
            range.clone().rev().map(move |at| (part, at))
        });
        let mut bytes = places.map(|(part, at)| match part {
            Part::Base(_) => base(at),
            Part::Fresh(_) => self.fresh.as_bytes().get(at).copied(),
        });
        bytes.next() == Some(Some(b'\n')) && bytes.next().is_none_or(|byte| byte == Some(b'\n'))
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = TextPiece<'_>> {
        self.parts.iter().map(|part| match part {
            Part::Base(range) => TextPiece::Base(range.clone()),
            Part::Fresh(range) => TextPiece::Fresh(&self.fresh.as_bytes()[range.clone()]),
        })
    }

    /// The pieces in order.
    pub fn slices<'a>(&'a self, base: &'a str) -> impl Iterator<Item = &'a str> {
        self.parts.iter().map(|part| match part {
            Part::Base(range) => &base[range.clone()],
            Part::Fresh(range) => &self.fresh[range.clone()],
        })
    }

    /// Writes the parts without joining them first.
    pub fn write_to(&self, base: &[u8], out: &mut impl Write) -> io::Result<()> {
        let slices = self.pieces().map(|piece| match piece {
            TextPiece::Base(range) => IoSlice::new(&base[range]),
            TextPiece::Fresh(bytes) => IoSlice::new(bytes),
        });
        let mut slices: Vec<_> = slices.collect();
        let mut rest = slices.as_mut_slice();
        while !rest.is_empty() {
            let n_slices = rest.len().min(N_SLICES_MAX);
            match out.write_vectored(&rest[..n_slices]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n_bytes) => IoSlice::advance_slices(&mut rest, n_bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Parts with their base.
#[derive(Debug, Clone)]
pub struct PatchedText {
    base: Base,
    parts: TextParts,
}

impl PatchedText {
    pub fn new(base: Base, parts: TextParts) -> Self {
        Self { base, parts }
    }

    /// A text that is all of `base`.
    pub fn whole(base: Arc<String>) -> Self {
        let parts = TextParts::whole(base.len());
        Self { base: Base::Held(base), parts }
    }

    /// The text in one piece.
    ///
    /// # Errors
    ///
    /// If the base is on the disk, and cannot be read or was changed.
    pub fn flat(&self) -> io::Result<Arc<String>> {
        let base = self.base.held()?;
        Ok(match self.parts.parts.as_slice() {
            [Part::Base(range)] if range.len() == base.len() => base,
            _ => Arc::new(self.parts.slices(&base).collect()),
        })
    }

    /// Writes it without putting it together first.
    ///
    /// # Errors
    ///
    /// As of [`Self::flat`], and what writing may meet.
    pub fn write_to(&self, out: &mut File) -> io::Result<()> {
        match &self.base {
            Base::Held(base) => self.parts.write_to(base.as_bytes(), out),
            Base::OnDisk(base) => base.copy(&self.parts, out),
        }
    }
}

impl From<String> for PatchedText {
    fn from(text: String) -> Self {
        Self::whole(Arc::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "base\n\n";

    fn parts(of: &[&str]) -> TextParts {
        let mut parts = TextParts::default();
        for part in of {
            match *part {
                "BASE" => parts.push_base(0..6),
                line => parts.push_fresh_line(line),
            }
        }
        parts
    }

    #[test]
    fn parts_are_one_text() {
        let parts = parts(&["a", "b", "BASE", "c"]);
        assert_eq!(parts.slices(BASE).collect::<Vec<_>>(), ["a\nb\n", "base\n\n", "c\n"]);
        let mut written = Vec::new();
        parts.write_to(BASE.as_bytes(), &mut written).unwrap();
        assert_eq!(written, b"a\nb\nbase\n\nc\n");
        let text = PatchedText::new(Base::Held(Arc::new(BASE.to_owned())), parts);
        assert_eq!(text.flat().unwrap().as_bytes(), written);
    }

    #[test]
    fn more_parts_than_can_be_written_at_once_are_written() {
        let mut parts = TextParts::default();
        (0..5000).for_each(|_| parts.push_base(0..1));
        let mut written = Vec::new();
        parts.write_to(b"x", &mut written).unwrap();
        assert_eq!(written, [b'x'; 5000]);
    }

    #[test]
    fn one_empty_last_line_is_dropped() {
        for (of, expected) in [
            (&["BASE"][..], "base\n"),
            (&["a", ""], "a\n"),
            (&["BASE", ""], "base\n\n"),
            (&["a"], "a\n"),
            (&[""], ""),
            (&[], ""),
        ] {
            let mut parts = parts(of);
            parts.drop_empty_last_line(|at| BASE.as_bytes().get(at).copied());
            assert_eq!(parts.slices(BASE).collect::<String>(), expected, "{of:?}");
        }
    }
}
