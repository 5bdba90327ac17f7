//! A destination of lines: whole lines in, whole lines kept.
//!
//! A line that could only be written in part is taken back, so that a full disk leaves no half lines behind. A line
//! that a crash left incomplete is kept; the next line begins after a line end.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use pellucid_files::Disk;
use pellucid_files::Existing;
use pellucid_files::PartlyWritten;

use crate::lock;

/// A file of lines that only we write.
#[derive(Debug)]
pub struct FileSink {
    disk: Arc<dyn Disk>,
    file: File,
    len: u64,
}

impl FileSink {
    /// Opens a file to add lines to it. It is only readable for its owner if it is new.
    ///
    /// # Errors
    /// When it cannot be opened, or another process of ours writes it.
    pub fn open(disk: Arc<dyn Disk>, path: &Path, existing: Existing) -> io::Result<Self> {
        let mut sink = Self::locked(disk, path, existing)?;
        if !pellucid_files::ends_with_newline(&sink.file)? {
            sink.append(b"\n")?;
        }
        Ok(sink)
    }

    /// Locks a file that exists, so that no other process writes it, and leaves an interrupted line at its end as it is.
    ///
    /// # Errors
    /// When it cannot be opened, or another process of ours writes it.
    pub fn hold(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        Self::locked(disk, path, Existing::Needed)
    }

    fn locked(disk: Arc<dyn Disk>, path: &Path, existing: Existing) -> io::Result<Self> {
        let file = disk.open_to_append(path, existing)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if !lock::is_ours(&file)? {
            let why = "another process is writing to this session";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        let len = file.metadata()?.len();
        Ok(Self { disk, file, len })
    }

    /// Takes a line, which ends with a newline. When this returns it survives the end of the
    /// process.
    ///
    /// # Errors
    /// When it cannot be kept. Nothing of it is kept then.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        match pellucid_files::append_all(&*self.disk, &self.file, line) {
            Ok(()) => {
                self.len += line.len() as u64;
                Ok(())
            }
            Err(PartlyWritten { n_bytes, error }) => {
                self.take_back(n_bytes as u64);
                Err(error)
            }
        }
    }

    /// Cuts off the part of a line that was written. Other programs write session files without asking for the lock,
    /// so if the file is longer than what we wrote, its end is not ours and stays. A reader sets a half line aside.
    fn take_back(&self, n_bytes: u64) {
        let is_our_end = || self.file.metadata().is_ok_and(|metadata| metadata.len() == self.len + n_bytes);
        if n_bytes > 0 && is_our_end() {
            // Best effort: the next writer begins on a new line.
            let _ = self.disk.shorten(&self.file, self.len);
        }
    }

    /// How many bytes are kept.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        lock::release(&self.file);
    }
}

#[cfg(test)]
mod tests;
