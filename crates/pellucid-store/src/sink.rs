//! A destination of lines: whole lines in, whole lines kept.
//!
//! A line that could only be written in part is taken back, so that a full disk leaves no half lines behind. A line
//! that a crash left incomplete is kept; the next line begins after a line end.

use std::fmt::Debug;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;

use crate::lock;

/// A destination of lines.
pub trait Sink: Debug + Send {
    /// Takes a line, which ends with a newline. When this returns it survives the end of the
    /// process.
    ///
    /// # Errors
    /// When it cannot be kept. Nothing of it is kept then.
    fn append(&mut self, line: &[u8]) -> io::Result<()>;

    /// How many bytes are kept.
    fn len(&self) -> u64;

    /// Whether nothing is kept.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A file that only we write.
#[derive(Debug)]
pub struct FileSink {
    file: File,
    len: u64,
}

/// Whether a file has to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The file has to exist.
    Needed,
    /// The file is created if it does not exist, with the folders above it.
    Welcome,
}

impl FileSink {
    /// Opens a file to add lines to it. It is only readable for its owner if it is new.
    ///
    /// # Errors
    /// When it cannot be opened, or another process of ours writes it.
    pub fn open(path: &Path, existing: Existing) -> io::Result<Self> {
        let mut file = match existing {
            Existing::Needed => OpenOptions::new().read(true).append(true).open(path)?,
            Existing::Welcome => {
                if let Some(folder) = path.parent() {
                    pellucid_files::make_private_folder(folder)?;
                }
                pellucid_files::append_private(path)?
            }
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if !lock::is_ours(&file)? {
            let why = "another process is writing to this session";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        let len = file.seek(SeekFrom::End(0))?;
        let mut sink = Self { file, len };
        if !sink.ends_with_newline()? {
            sink.append(b"\n")?;
        }
        Ok(sink)
    }

    fn ends_with_newline(&mut self) -> io::Result<bool> {
        if self.len == 0 {
            return Ok(true);
        }
        self.file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        self.file.read_exact(&mut last)?;
        Ok(last == *b"\n")
    }
}

impl Sink for FileSink {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            // Best effort: a reader sets a half line aside, too.
            let _ = self.file.set_len(self.len);
            return Err(error);
        }
        self.len += line.len() as u64;
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }
}

#[cfg(test)]
mod tests;
