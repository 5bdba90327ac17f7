//! Swaps folders for links, as fast as possible.
//!
//! Code that writes into a folder which a command may change must hold the folder open: a path that was checked leads
//! elsewhere a moment later. A race test runs its writer beside a [`Swapper`] and then examines what the links led to:
//! no byte there may have changed.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// How often a race test runs its writer in the ordinary tests.
const N_ROUNDS: usize = 20;

/// How often a race test runs its writer: a few times, or as often as `PELLUCID_RACE_ROUNDS` says.
///
/// # Panics
/// When that variable is not a number.
pub fn n_race_rounds() -> usize {
    std::env::var("PELLUCID_RACE_ROUNDS")
        .map_or(N_ROUNDS, |rounds| rounds.parse().expect("PELLUCID_RACE_ROUNDS is a number"))
}

/// Swaps folders for links to another folder and back, in a separate thread, until it is stopped.
#[derive(Debug)]
pub struct Swapper {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<usize>>>,
}

impl Swapper {
    /// Begins to swap `folders`, one after the other, for a link to `outside`: moved away and a link made in its place,
    /// then both exchanged atomically where the system can. When this returns, the swapping has begun.
    pub fn start(folders: &[PathBuf], outside: &Path) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (begun, has_begun) = std::sync::mpsc::channel();
        let thread = std::thread::spawn({
            let (is_over, folders, outside) = (Arc::clone(&is_over), folders.to_vec(), outside.to_owned());
            move || {
                let mut n_swaps = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let folder = &folders[n_swaps / 2 % folders.len()];
                    swap(n_swaps, folder, &outside, || rest(n_swaps / 3, &is_over))?;
                    n_swaps += 1;
                    let _ = begun.send(());
                    rest(n_swaps, &is_over);
                }
                Ok(n_swaps)
            }
        });
        let _ = has_begun.recv();
        Self { is_over, thread: Some(thread) }
    }

    /// Stops, with every folder at its place again, and returns how often one was swapped. A folder that the writer
    /// made while there was none is moved beside it, with the suffix `.made`.
    ///
    /// # Panics
    /// When a folder could not be swapped, or not be put back.
    pub fn stop(mut self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it was not stopped before");
        thread.join().expect("the swapper does not panic").expect("folders can be swapped")
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Lets other threads run: usually for a moment, sometimes long enough that they have checked a path and not used it
/// yet.
fn rest(n_swaps: usize, is_over: &AtomicBool) {
    const RESTS: [u32; 7] = [0, 1000, 10, 300, 1, 600, 100];
    for _ in 0..RESTS[n_swaps % RESTS.len()] {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        std::thread::yield_now();
    }
}

/// Swaps a folder, does something, and swaps it back.
fn swap(n_swaps: usize, folder: &Path, outside: &Path, meanwhile: impl FnOnce()) -> io::Result<()> {
    let beside = folder.with_extension("swapped");
    if n_swaps.is_multiple_of(2) {
        fs::rename(folder, &beside)?;
        // A writer that finds nothing for a moment may make a folder there.
        let is_swapped = symlink(outside, folder).is_ok();
        meanwhile();
        if is_swapped {
            fs::remove_file(folder)?;
        }
        match fs::rename(&beside, folder) {
            Err(_) if folder.is_dir() => {
                fs::rename(folder, folder.with_extension("made"))?;
                fs::rename(&beside, folder)
            }
            result => result,
        }
    } else {
        symlink(outside, &beside)?;
        exchange(&beside, folder)?;
        meanwhile();
        exchange(&beside, folder)?;
        fs::remove_file(&beside)
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::CWD;
    Ok(rustix::fs::renameat_with(CWD, one, CWD, other, rustix::fs::RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let third = one.with_extension("third");
    fs::rename(one, &third)?;
    fs::rename(other, one)?;
    fs::rename(third, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_back_in_the_end() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for folder in ["out", "a", "b"] {
            fs::create_dir(at(folder)).unwrap();
        }
        let n_swaps = Swapper::start(&[at("a"), at("b")], &at("out")).stop();
        assert!(n_swaps >= 1);
        let mut names: Vec<_> = fs::read_dir(top.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "b", "out"]);
        assert!(!at("a").is_symlink() && !at("b").is_symlink());
    }
}
