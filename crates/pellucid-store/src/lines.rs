//! Lines of large files, from either end, without holding more than a piece of them.

use std::fs::File;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use memchr::memchr;
use memchr::memrchr;

/// How much is read in one go from the end of a file, at first.
const CHUNK_BYTES_MIN: usize = 64 * 1024;

/// How much at most.
const CHUNK_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How much is read in one go from the start.
const BUFFER_BYTES: usize = 256 * 1024;

/// A line of a file with its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The offset of its first byte.
    pub start: u64,
    /// The offset behind it and its newline.
    pub end: u64,
    /// The line without its newline.
    pub bytes: &'a [u8],
    /// Whether a newline follows. A line without one is torn, or is still being written.
    pub is_whole: bool,
}

impl Line<'_> {
    /// Whether the line is blank.
    pub fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }
}

/// Reads lines from the end of a file towards its start.
#[derive(Debug)]
pub struct Backwards<R> {
    file: R,
    /// The offset of the first byte of `buffer` in the file.
    base: u64,
    buffer: Vec<u8>,
    /// How much of `buffer` was not given out yet.
    left: usize,
    chunk: usize,
}

impl<R: Read + Seek> Backwards<R> {
    /// Begins at this offset, which is the end of the file or of a line.
    pub fn new(file: R, end: u64) -> Self {
        Self { file, base: end, buffer: Vec::new(), left: 0, chunk: CHUNK_BYTES_MIN }
    }

    /// The line before those that were given.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        if self.left == 0 && !self.read_more()? {
            return Ok(None);
        }
        let is_whole = self.buffer[self.left - 1] == b'\n';
        let inside = self.left - usize::from(is_whole);
        let mut searched = inside;
        let begin = loop {
            if let Some(at) = memrchr(b'\n', &self.buffer[..searched]) {
                break at + 1;
            }
            let before = self.left;
            if !self.read_more()? {
                break 0;
            }
            searched = self.left - before;
        };
        let line_end = self.left - usize::from(is_whole);
        let end = self.base + self.left as u64;
        self.left = begin;
        let bytes = &self.buffer[begin..line_end];
        Ok(Some(Line { start: self.base + begin as u64, end, bytes, is_whole }))
    }

    /// How many bytes were read so far.
    pub fn position(&self) -> u64 {
        self.base
    }

    /// Reads the block before `buffer` and puts it in front. Returns whether there was one.
    fn read_more(&mut self) -> io::Result<bool> {
        if self.base == 0 {
            return Ok(false);
        }
        let n = self.chunk.min(usize::try_from(self.base).unwrap_or(usize::MAX));
        self.chunk = (self.chunk * 2).min(CHUNK_BYTES_MAX);
        let mut buffer = Vec::with_capacity(n + self.left);
        self.file.seek(SeekFrom::Start(self.base - n as u64))?;
        self.file.by_ref().take(n as u64).read_to_end(&mut buffer)?;
        if buffer.len() != n {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        buffer.extend_from_slice(&self.buffer[..self.left]);
        self.base -= n as u64;
        self.left += n;
        self.buffer = buffer;
        Ok(true)
    }
}

/// Reads lines from an offset on.
#[derive(Debug)]
pub struct Forwards {
    file: io::Take<BufReader<File>>,
    at: u64,
    /// A line that does not fit the buffer of `file`.
    buffer: Vec<u8>,
    /// How many bytes of the buffer of `file` were given out last.
    given: usize,
}

impl Forwards {
    /// Begins at `start`, which is the start of a line, and goes no further than `end`.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn new(mut file: File, start: u64, end: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(start))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file).take(end.saturating_sub(start));
        Ok(Self { file, at: start, buffer: Vec::new(), given: 0 })
    }

    /// The next line of the file; `None` at its end.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.file.consume(std::mem::take(&mut self.given));
        self.buffer.clear();
        let start = self.at;
        loop {
            let ready = match self.file.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                ready => ready?,
            };
            let end = memchr(b'\n', ready);
            let n = end.map_or(ready.len(), |at| at + 1);
            self.at += n as u64;
            // Most lines are in the buffer, and are given from there.
            if let Some(at) = end.filter(|_| self.buffer.is_empty()) {
                self.given = n;
                let bytes = &self.file.get_ref().buffer()[..at];
                return Ok(Some(Line { start, end: self.at, bytes, is_whole: true }));
            }
            self.buffer.extend_from_slice(&ready[..n]);
            self.file.consume(n);
            if end.is_some() || n == 0 {
                break;
            }
        }
        let is_whole = self.buffer.last() == Some(&b'\n');
        let bytes = &self.buffer[..self.buffer.len() - usize::from(is_whole)];
        Ok((!self.buffer.is_empty()).then_some(Line { start, end: self.at, bytes, is_whole }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    fn backwards(text: &[u8], chunk: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut lines = Backwards::new(Cursor::new(text), text.len() as u64);
        lines.chunk = chunk;
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            assert_eq!(line.end, line.start + line.bytes.len() as u64 + u64::from(line.is_whole));
            found.push((line.start, line.bytes.to_vec(), line.is_whole));
        }
        found.reverse();
        found
    }

    proptest! {
        #[test]
        fn both_ends_tell_the_same(text in "[ab\n]{0,200}", chunk in 1_usize..20) {
            let files = pellucid_testkit::Workspace::new("");
            let path = files.write("f", &text);
            let mut lines = Forwards::new(File::open(path).unwrap(), 0, u64::MAX).unwrap();
            let mut found = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                found.push((line.start, line.bytes.to_vec(), line.is_whole));
            }
            let joined: Vec<u8> = found.iter().flat_map(|(_, line, is_whole)| {
                line.iter().copied().chain(is_whole.then_some(b'\n'))
            }).collect();
            prop_assert_eq!(joined, text.as_bytes());
            prop_assert_eq!(backwards(text.as_bytes(), chunk), found);
        }
    }
}
