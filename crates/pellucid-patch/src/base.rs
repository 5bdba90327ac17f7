//! The base of a text: held in memory, or left on the disk and read again when it is written.
//!
//! Memory costs more than reading a file that was read a moment ago: each page of it has to be got from
//! the system and cleared first. So a program that only applies a patch holds no file, and copies through
//! one small buffer. A file that is not what it was when the patch was verified is refused.

use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_files::FileStatus;

use crate::files::Disk;
use crate::files::PatchFiles;
use crate::files::Stamp;
use crate::text::TextParts;
use crate::text::TextPiece;

/// As much of a file as is looked at or copied at once. It stays in the processor's cache.
pub const WINDOW: usize = 256 * 1024;

/// A text that others are made of.
#[derive(Debug, Clone)]
pub enum Base {
    Held(Arc<String>),
    OnDisk(Arc<OnDisk>),
}

impl Base {
    /// The text, read from the disk if needed.
    ///
    /// # Errors
    ///
    /// If the text is on the disk, and cannot be read or was changed.
    pub fn held(&self) -> io::Result<Arc<String>> {
        match self {
            Self::Held(text) => Ok(Arc::clone(text)),
            Self::OnDisk(file) => file.read().map(Arc::new),
        }
    }
}

/// A file that was read, and was text.
#[derive(Debug)]
pub struct OnDisk {
    pub path: PathBuf,
    pub stamp: Stamp,
}

impl OnDisk {
    fn read(&self) -> io::Result<String> {
        let found = Disk.read(&self.path)?;
        if found.stamp != self.stamp {
            return Err(changed());
        }
        String::from_utf8(found.bytes).map_err(|_| changed())
    }

    /// Writes parts of the file to another.
    pub fn copy(&self, parts: &TextParts, out: &mut File) -> io::Result<()> {
        let mut file = pellucid_files::open_without_waiting(&self.path)?;
        match usize::try_from(self.stamp.n_bytes()) {
            Ok(n_bytes) if n_bytes <= WINDOW => {
                let mut bytes = vec![0; n_bytes];
                file.read_exact(&mut bytes)?;
                self.check(&file)?;
                parts.write_to(&bytes, out)
            }
            _ => {
                let mut copy = Copy { file: &file, out, buffer: vec![0; WINDOW], n_filled: 0 };
                parts.pieces().try_for_each(|piece| copy.push(&piece))?;
                copy.flush()?;
                self.check(&file)
            }
        }
    }

    /// Checks that the file is still the verified one.
    fn check(&self, file: &File) -> io::Result<()> {
        if Stamp::from(&FileStatus::of(file)?) == self.stamp { Ok(()) } else { Err(changed()) }
    }
}

fn changed() -> io::Error {
    io::Error::other("it was changed since the patch was verified")
}

/// Pieces of a file and others on their way into another file.
struct Copy<'a> {
    file: &'a File,
    out: &'a mut File,
    buffer: Vec<u8>,
    n_filled: usize,
}

impl Copy<'_> {
    fn push(&mut self, piece: &TextPiece<'_>) -> io::Result<()> {
        let (mut at, n_bytes) = match piece {
            TextPiece::Base(range) => (range.start, range.len()),
            TextPiece::Fresh(bytes) => (0, bytes.len()),
        };
        let end = at + n_bytes;
        while at < end {
            if self.n_filled == self.buffer.len() {
                self.flush()?;
            }
            let n_bytes = (end - at).min(self.buffer.len() - self.n_filled);
            let room = &mut self.buffer[self.n_filled..self.n_filled + n_bytes];
            match piece {
                TextPiece::Base(_) => read_at(self.file, room, at as u64)?,
                TextPiece::Fresh(bytes) => room.copy_from_slice(&bytes[at..at + n_bytes]),
            }
            self.n_filled += n_bytes;
            at += n_bytes;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let n_bytes = std::mem::take(&mut self.n_filled);
        self.out.write_all(&self.buffer[..n_bytes])
    }
}

/// Reads all of `bytes` from a place in a file.
#[cfg(unix)]
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(not(unix))]
pub fn read_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::Seek;

    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(bytes)
}
