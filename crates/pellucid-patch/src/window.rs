//! Chunks found in a file that is read once, a window at a time.
//!
//! A large file with small changes costs most where memory for it has to be got. Chunks are in the order
//! of the file, so nearly always one pass with a small buffer finds all of them as they are. Whatever is
//! not so plain (a chunk that only fits loosely, is tied to the end or overlaps another, bytes that are
//! no text) is left to `edit`, which has the whole text.
//!
//! Not here: rules. Where this finds something, it is what `edit` would find.

use std::fs::File;
use std::io;
use std::io::Read;
use std::ops::Range;

use memchr::memmem;

use crate::base::WINDOW;
use crate::base::read_at;
use crate::edit::Replacement;
use crate::edit::replace;
use crate::parse::PatchChunk;
use crate::text::TextParts;

/// The text after the chunks, or nothing if that is not plain.
pub fn edit(file: &File, buffer: &mut Vec<u8>, chunks: &[PatchChunk<'_>]) -> io::Result<Option<TextParts>> {
    if chunks.iter().any(|chunk| chunk.is_at_end) {
        return Ok(None);
    }
    let mut window = Window::new(file, buffer);
    let mut replacements = Vec::with_capacity(chunks.len());
    let mut cursor = 0;
    for chunk in chunks {
        let mut find = |block: &[&str]| window.find(block, cursor);
        if let Some(context) = chunk.context {
            let Some(found) = find(&[context])? else {
                return Ok(None);
            };
            cursor = found.end;
        }
        if chunk.old.is_empty() {
            replacements.push((None, chunk));
            continue;
        }
        let Some(found) = window.find(&chunk.old, cursor)? else {
            return Ok(None);
        };
        cursor = found.end;
        replacements.push((Some(found), chunk));
    }
    let Some(end) = window.end()? else {
        return Ok(None);
    };
    // Pure additions go to the end, before an empty last line.
    let addition = end.lines - usize::from(end.has_empty_line);
    let mut replacements: Vec<_> = replacements
        .into_iter()
        .map(|(old, chunk)| Replacement { old: old.unwrap_or(addition..addition), new: &chunk.new })
        .collect();
    replacements.sort_by_key(|it| it.old.start);
    if replacements.windows(2).any(|pair| pair[1].old.start < pair[0].old.end) {
        return Ok(None);
    }
    let mut parts = replace(end.bytes, end.lines, &replacements);
    parts.drop_empty_last_line(|at| {
        let mut byte = [0];
        read_at(file, &mut byte, at as u64).ok().map(|()| byte[0])
    });
    Ok(Some(parts))
}

/// The end of a text.
struct End {
    /// The length in bytes.
    bytes: usize,
    /// The same if its last line had a newline.
    lines: usize,
    has_empty_line: bool,
}

/// A part of a text with a newline before its first line and after its last one, so that each line is between two.
struct Window<'a> {
    file: &'a File,
    buffer: &'a mut Vec<u8>,
    /// The offset of the buffer in that text.
    begin: usize,
    n_filled: usize,
    /// How much of it is known to be text.
    n_checked: usize,
    n_read: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    More,
    Done,
    NoText,
}

impl<'a> Window<'a> {
    fn new(file: &'a File, buffer: &'a mut Vec<u8>) -> Self {
        if buffer.is_empty() {
            buffer.resize(WINDOW, 0);
        }
        buffer[0] = b'\n';
        Self { file, buffer, begin: 0, n_filled: 1, n_checked: 1, n_read: 0, state: State::More }
    }

    /// The first place of the block from `from` on, which is the beginning of a line.
    fn find(&mut self, block: &[&str], from: usize) -> io::Result<Option<Range<usize>>> {
        let mut needle = Vec::with_capacity(block.iter().map(|line| line.len() + 1).sum::<usize>() + 1);
        needle.push(b'\n');
        for line in block {
            needle.extend_from_slice(line.as_bytes());
            needle.push(b'\n');
        }
        let finder = memmem::Finder::new(&needle);
        // The newline before a line has the line's offset, because the window adds one before the text.
        let mut at = from - self.begin;
        loop {
            if let Some(found) = finder.find(&self.buffer[at..self.n_filled]) {
                let place = self.begin + at + found;
                return Ok(Some(place..place + needle.len() - 1));
            }
            if self.state != State::More {
                return Ok(None);
            }
            at = at.max((self.n_filled + 1).saturating_sub(needle.len()));
            at -= self.move_on(at)?;
        }
    }

    /// Reads on, and forgets what is before a place in the buffer. Says how far places have moved.
    fn move_on(&mut self, at: usize) -> io::Result<usize> {
        let at = at.min(self.n_checked);
        self.buffer.copy_within(at..self.n_filled, 0);
        self.begin += at;
        self.n_filled -= at;
        self.n_checked -= at;
        if self.n_filled > self.buffer.len() / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        // One byte is reserved for a newline after the last line.
        while self.n_filled + 1 < self.buffer.len() {
            let room = self.buffer.len() - 1;
            match self.file.read(&mut self.buffer[self.n_filled..room]) {
                Ok(0) => {
                    self.state = State::Done;
                    break;
                }
                Ok(n_bytes) => {
                    self.n_filled += n_bytes;
                    self.n_read += n_bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.check();
        if self.state == State::Done && self.n_filled > 0 && self.buffer[self.n_filled - 1] != b'\n' {
            self.buffer[self.n_filled] = b'\n';
            self.n_filled += 1;
        }
        Ok(at)
    }

    /// Whether what was read is text; a character may still be incomplete.
    fn check(&mut self) {
        match std::str::from_utf8(&self.buffer[self.n_checked..self.n_filled]) {
            Ok(_) => self.n_checked = self.n_filled,
            Err(error) if error.error_len().is_none() && self.state == State::More => {
                self.n_checked += error.valid_up_to();
            }
            Err(_) => self.state = State::NoText,
        }
    }

    /// The end of the text, if all of it is text.
    fn end(&mut self) -> io::Result<Option<End>> {
        while self.state == State::More {
            // The last two bytes say how it ends.
            self.move_on(self.n_filled.saturating_sub(2))?;
        }
        let has_empty_line = self.buffer[..self.n_filled].ends_with(b"\n\n");
        let end = End { bytes: self.n_read, lines: self.begin + self.n_filled - 1, has_empty_line };
        Ok((self.state == State::Done).then_some(end))
    }
}

#[cfg(test)]
mod tests;
