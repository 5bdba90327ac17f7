//! A text made of parts of another, so that a large file with small changes is not copied.

use std::io;
use std::io::IoSlice;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// As many as Linux takes at once.
const N_SLICES_MAX: usize = 1024;

/// Parts of a base and what stands between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    base: Arc<String>,
    fresh: String,
    /// Invariant: none of them is empty.
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Base(Range<usize>),
    Fresh(Range<usize>),
}

impl Text {
    /// Nothing yet, to be made of parts of `base`.
    pub fn from_parts_of(base: Arc<String>) -> Self {
        Self { base, ..Self::default() }
    }

    /// All of `base`.
    pub fn whole(base: Arc<String>) -> Self {
        let parts = if base.is_empty() { Vec::new() } else { vec![Part::Base(0..base.len())] };
        Self { base, fresh: String::new(), parts }
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

    /// Gives a last line its newline.
    pub fn close_line(&mut self) {
        self.push_fresh_line("");
    }

    /// Takes the last newline away if the line before it is empty, or there is none.
    pub fn drop_empty_last_line(&mut self) {
        if !self.has_empty_last_line() {
            return;
        }
        if let Some(Part::Base(range) | Part::Fresh(range)) = self.parts.last_mut() {
            range.end -= 1;
            if range.start == range.end {
                self.parts.pop();
            }
        }
    }

    fn has_empty_last_line(&self) -> bool {
        let mut ends = self.slices().rev().flat_map(|slice| slice.bytes().rev());
        ends.next() == Some(b'\n') && ends.next().is_none_or(|byte| byte == b'\n')
    }

    /// Its parts in order.
    pub fn slices(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.parts.iter().map(|part| match part {
            Part::Base(range) => &self.base[range.clone()],
            Part::Fresh(range) => &self.fresh[range.clone()],
        })
    }

    /// In one piece.
    pub fn flat(&self) -> Arc<String> {
        match self.parts.as_slice() {
            [Part::Base(range)] if range.len() == self.base.len() => Arc::clone(&self.base),
            _ => Arc::new(self.slices().collect()),
        }
    }

    /// Writes it without putting it together first.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut slices: Vec<_> = self.slices().map(|slice| IoSlice::new(slice.as_bytes())).collect();
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

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::whole(Arc::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[&str]) -> Text {
        let mut text = Text::from_parts_of(Arc::new("base\n\n".to_owned()));
        for part in parts {
            match *part {
                "BASE" => text.push_base(0..6),
                line => text.push_fresh_line(line),
            }
        }
        text
    }

    #[test]
    fn parts_are_one_text() {
        let text = text(&["a", "b", "BASE", "c"]);
        assert_eq!(text.slices().collect::<Vec<_>>(), ["a\nb\n", "base\n\n", "c\n"]);
        assert_eq!(*text.flat(), "a\nb\nbase\n\nc\n");
        let mut written = Vec::new();
        text.write_to(&mut written).unwrap();
        assert_eq!(written, text.flat().as_bytes());
    }

    #[test]
    fn more_parts_than_can_be_written_at_once_are_written() {
        let mut text = Text::from_parts_of(Arc::new("x".to_owned()));
        (0..5000).for_each(|_| text.push_base(0..1));
        let mut written = Vec::new();
        text.write_to(&mut written).unwrap();
        assert_eq!(written, [b'x'; 5000]);
    }

    #[test]
    fn one_empty_last_line_is_dropped() {
        for (parts, expected) in [
            (&["BASE"][..], "base\n"),
            (&["a", ""], "a\n"),
            (&["BASE", ""], "base\n\n"),
            (&["a"], "a\n"),
            (&[""], ""),
            (&[], ""),
        ] {
            let mut text = text(parts);
            text.drop_empty_last_line();
            assert_eq!(*text.flat(), expected, "{parts:?}");
        }
    }
}
