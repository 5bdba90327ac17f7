//! The lines of a file that another program wrote, each of bounded length.

use std::fs::File;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::path::Path;

/// How long a line may be. A longer one is left out.
pub const LINE_BYTES_MAX: usize = 32 << 20;

/// How long a file may be. The rest of a longer one is left out.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// How much is read in one go.
const BUFFER_BYTES: usize = 256 << 10;

/// Reads lines from a regular file.
#[derive(Debug)]
pub struct TextLines {
    file: io::Take<BufReader<File>>,
    line: Vec<u8>,
    n_too_long: usize,
}

impl TextLines {
    /// Opens a regular file.
    ///
    /// # Errors
    /// When it cannot be opened, or is something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::with_capacity(BUFFER_BYTES, pellucid_files::open(path)?).take(FILE_BYTES_MAX);
        Ok(Self { file, line: Vec::new(), n_too_long: 0 })
    }

    /// The next line that is not blank and not too long; `None` at the end of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let n = self.file.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut self.line)?;
            if n == 0 {
                return Ok(None);
            }
            if n > LINE_BYTES_MAX && self.line.last() != Some(&b'\n') {
                self.n_too_long += 1;
                self.line = Vec::new();
                self.file.skip_until(b'\n')?;
                continue;
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some(self.line.trim_ascii()))
    }

    /// How many lines were too long so far.
    pub fn n_too_long(&self) -> usize {
        self.n_too_long
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\n\n  \n").unwrap();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..(LINE_BYTES_MAX >> 20) + 2 {
            file.write_all(&piece).unwrap();
        }
        file.write_all(b"\ntwo\r\nthree").unwrap();
        let mut lines = TextLines::open(&path).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(String::from_utf8(line.to_vec()).unwrap());
        }
        assert_eq!((found, lines.n_too_long()), (vec!["one".to_owned(), "two".to_owned(), "three".to_owned()], 1));
        assert!(TextLines::open(folder.path()).is_err());
    }
}
