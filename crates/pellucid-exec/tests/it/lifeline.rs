//! Knowing that processes are gone without looking for them.

use std::fs::File;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use rustix::fs::OFlags;
use tempfile::TempDir;

/// A named pipe that ends when the last process is gone that holds it.
pub struct Lifeline {
    folder: TempDir,
    pipe: File,
}

impl Lifeline {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lifeline");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        // Without this flag, opening would wait for a writer.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let pipe = OpenOptions::new().read(true).custom_flags(flags).open(path).unwrap();
        Self { folder, pipe }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("lifeline")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A script that holds the line, itself and in the background, and reports that before it continues with `rest`.
    /// A process that lives on for long writes a line.
    pub fn script(&self, rest: &str) -> String {
        let path = self.path();
        format!("exec 9>{}; (sleep 30; echo survived >&9) & echo ready; {rest}", path.display())
    }

    /// Waits until no process holds the line. Returns what they wrote to it.
    pub fn ended(mut self) -> String {
        rustix::fs::fcntl_setfl(&self.pipe, OFlags::empty()).unwrap();
        let mut written = String::new();
        self.pipe.read_to_string(&mut written).unwrap();
        written
    }
}
