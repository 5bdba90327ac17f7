//! A disk of which one step fails.
//!
//! A test runs the same thing again and again, each time with the next step failing, until a run has no such step: then
//! every change that the code makes on disk has failed once.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use pellucid_files::Disk;
use pellucid_files::Existing;
use pellucid_files::RealDisk;

/// How a disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// The step fails with an input/output error, and later ones succeed.
    Once,
    /// The disk is full: half of the bytes are written, and no byte after them. Files can be shortened.
    Full,
    /// The disk is gone: half of the bytes are written, and every later step fails.
    Gone,
}

/// The disk of this machine, of which one step fails.
#[derive(Debug)]
pub struct FaultyDisk {
    fault: DiskFault,
    /// How many steps succeed before.
    n_good: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    n_steps: usize,
    has_failed: bool,
}

/// What a step does to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The step writes these many bytes to a file that is open.
    Append(usize),
    /// The step makes a file, or replaces one.
    Make,
    /// The step makes a file shorter.
    Shorten,
}

/// What becomes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Only these many bytes are written.
    Short(usize),
    Fails(io::ErrorKind),
}

impl FaultyDisk {
    /// A disk whose first steps succeed, and then one fails.
    pub fn new(n_good: usize, fault: DiskFault) -> Arc<Self> {
        Arc::new(Self { fault, n_good, state: Mutex::default() })
    }

    /// Whether the step that fails was reached.
    pub fn has_failed(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.has_failed)
    }

    fn step(&self, step: Step) -> io::Result<Outcome> {
        let Ok(mut state) = self.state.lock() else {
            return Err(io::Error::other("a test panicked while it held the disk"));
        };
        let is_the_one = state.n_steps == self.n_good;
        state.n_steps += 1;
        let outcome = match (self.fault, step) {
            _ if state.n_steps <= self.n_good => Outcome::Done,
            (DiskFault::Once, _) if is_the_one => Outcome::Fails(io::ErrorKind::Other),
            (DiskFault::Once, _) | (DiskFault::Full, Step::Shorten) => Outcome::Done,
            (DiskFault::Full | DiskFault::Gone, Step::Append(n)) if is_the_one && n > 1 => Outcome::Short(n / 2),
            (DiskFault::Full, _) => Outcome::Fails(io::ErrorKind::StorageFull),
            (DiskFault::Gone, _) => Outcome::Fails(io::ErrorKind::Other),
        };
        state.has_failed |= outcome != Outcome::Done;
        Ok(outcome)
    }

    fn whole(&self, step: Step) -> io::Result<()> {
        match self.step(step)? {
            Outcome::Done | Outcome::Short(_) => Ok(()),
            Outcome::Fails(kind) => Err(error(kind)),
        }
    }
}

fn error(kind: io::ErrorKind) -> io::Error {
    match kind {
        io::ErrorKind::Other => io::Error::other("input/output error"),
        _ => kind.into(),
    }
}

impl Disk for FaultyDisk {
    fn open_to_append(&self, path: &Path, existing: Existing) -> io::Result<File> {
        self.whole(Step::Make)?;
        RealDisk.open_to_append(path, existing)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        match self.step(Step::Append(bytes.len()))? {
            Outcome::Done => RealDisk.append(file, bytes),
            Outcome::Short(n_bytes) => RealDisk.append(file, &bytes[..n_bytes]),
            Outcome::Fails(kind) => Err(error(kind)),
        }
    }

    fn shorten(&self, file: &File, len: u64) -> io::Result<()> {
        self.whole(Step::Shorten)?;
        RealDisk.shorten(file, len)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.whole(Step::Make)?;
        RealDisk.replace(path, bytes)
    }
}
