//! Names of folders that do not exist and must not be taken.
//!
//! A mount needs a place, so an empty folder is made for the time in which commands run (a placeholder), and
//! something empty and read-only is mounted over it. A process that makes or finds a placeholder holds a lock on it
//! for as long as its mount may be there, and the last process removes it: if no other process holds it, if it is
//! still the same folder, and if it is empty. A placeholder that a killed process left behind is found and removed by
//! the next process.
//!
//! Commands see what is mounted, not the placeholder, so they cannot hold the lock.
//!
//! Not here: mounting (`namespaces`, `bubblewrap`).

use std::ffi::OsString;
use std::io;
use std::io::PipeReader;
use std::io::PipeWriter;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use pellucid_files::PLACEHOLDER_MODE;
use pellucid_files::is_placeholder;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::fs::AtFlags;
use rustix::fs::FlockOperation;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::process::PidfdFlags;

use super::HelperError;
use super::Step;
use super::fork::fork;
use super::handles;
use super::watch;
use crate::sandbox::order::Order;
use crate::sandbox::protected::is_of_agents;

/// How often a placeholder is made again that another process removes at the same moment, and how long to wait for
/// that process.
const ATTEMPTS: usize = 16;
const PATIENCE: Duration = Duration::from_millis(5);

/// A placeholder that is held.
#[derive(Debug)]
pub struct HeldPlaceholder {
    parent: OwnedFd,
    name: OsString,
    folder: OwnedFd,
    /// Whether it was made for this, and not found.
    pub is_new: bool,
}

/// The placeholders of an order.
#[derive(Debug, Default)]
pub struct Placeholders {
    held: Vec<HeldPlaceholder>,
}

/// The result of making a placeholder.
#[derive(Debug)]
pub enum Made {
    Held(HeldPlaceholder),
    /// A file or folder exists, which is protected instead.
    There,
    /// This process cannot make it, so no command can.
    Impossible,
}

/// Makes placeholders for paths that must stay missing. Updates the order to the current files: names may have come
/// and gone since it was written.
pub fn make(order: &mut Order) -> Result<Placeholders, HelperError> {
    for path in std::mem::take(&mut order.protected) {
        match path.symlink_metadata() {
            Ok(_) => order.protected.push(path),
            // A missing path needs no protection, unless a new file there would be read.
            Err(_) if is_of_agents(&path) => order.missing.push(path),
            Err(_) => {}
        }
    }
    let mut placeholders = Placeholders::default();
    for path in std::mem::take(&mut order.missing) {
        if !order.is_open(&path) {
            continue;
        }
        match hold(&path)? {
            Made::Held(held) => {
                placeholders.held.push(held);
                order.missing.push(path);
            }
            Made::There => order.protected.push(path),
            Made::Impossible => {}
        }
    }
    Ok(placeholders)
}

/// Makes a placeholder or finds one, and holds it.
pub fn hold(path: &Path) -> Result<Made, HelperError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(Made::Impossible) };
    let failed = |error: Errno| match error {
        Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::LOOP => Ok(Made::Impossible),
        error => Err(error).step(format!("keeping {} from being made", path.display())),
    };
    let parent = match handles::open(parent) {
        Ok(parent) => parent,
        Err(error) => return failed(error),
    };
    for _ in 0..ATTEMPTS {
        let is_made = match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(PLACEHOLDER_MODE)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return failed(error),
        };
        // Not every file system keeps the mark. Others see an ordinary folder then; this one goes all the same.
        if !is_made && !is_placeholder(path) {
            return Ok(Made::There);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::openat(&parent, name, flags, Mode::empty()) {
            Ok(folder) => folder,
            // The last holder has just removed it.
            Err(Errno::NOENT) => continue,
            Err(error) => return failed(error),
        };
        if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockShared).is_err() {
            // Another process is about to remove it.
            thread::sleep(PATIENCE);
            continue;
        }
        let held = HeldPlaceholder {
            parent: rustix::io::dup(&parent).step("holding a folder")?,
            name: name.to_owned(),
            folder,
            is_new: is_made,
        };
        // The folder may have been removed before it was held.
        if held.is_in_place() {
            return Ok(Made::Held(held));
        }
    }
    // A folder whose lock is held for long was not made by us: it is an ordinary folder.
    if is_placeholder(path) {
        return Ok(Made::There);
    }
    Err(io::Error::from(io::ErrorKind::TimedOut)).step(format!("keeping {} from being made", path.display()))
}

impl HeldPlaceholder {
    /// Whether the name still leads to this folder.
    pub fn is_in_place(&self) -> bool {
        let now = rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        now.is_ok_and(|now| handles::identity(&self.folder).is_ok_and(|it| it == handles::identity_of(&now)))
    }

    /// Removes it, unless another process holds it or put something into it. The folder's inode stays reserved as
    /// long as this value exists.
    pub fn let_go(&self) {
        let is_alone = || rustix::fs::flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok();
        let release = || rustix::fs::flock(&self.folder, FlockOperation::Unlock);
        // Of two that let go at the same moment each sees the other, so both look again while they hold nothing.
        let is_last = is_alone() || {
            let _ = release();
            is_alone()
        };
        if is_last && self.is_in_place() {
            let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        }
        let _ = release();
    }
}

impl Placeholders {
    /// Whether no placeholder has to be removed.
    pub fn are_none(&self) -> bool {
        self.held.is_empty()
    }

    /// Lets them go. No mount of ours may be left.
    pub fn remove(self) {
        for held in &self.held {
            held.let_go();
        }
    }

    /// Has the placeholders removed by a separate process, once that process has received the id of another process
    /// and that one has ended, or once no id can come any more. `None` if there are no placeholders.
    ///
    /// The one that makes mounts cannot do it: it confines itself, and may be ended by force.
    pub fn leave_to_sweeper(self) -> Result<Option<Sweeper>, HelperError> {
        if self.are_none() {
            return Ok(None);
        }
        let (told, tell) = io::pipe().step("making a pipe")?;
        let (mut is_apart, apart) = io::pipe().step("making a pipe")?;
        let (mut tell, mut apart, mut placeholders) = (Some(tell), Some(apart), Some(self));
        let process = fork(|| {
            // Only the helper may hold the writing end, so that its end can be noticed.
            drop(tell.take());
            let Some(told) = stay_behind(&told) else { return 1 };
            drop(apart.take());
            sweep(told);
            if let Some(placeholders) = placeholders.take() {
                placeholders.remove();
            }
            0
        });
        // Our copies of the handles go; the lock stays with those of the other.
        drop(placeholders);
        let process = process.step("copying the helper")?;
        drop(apart);
        // The command is started only after this: code that pauses the command must be able to distinguish the two
        // processes.
        is_apart.read_to_end(&mut Vec::new()).step("waiting for the sweeper")?;
        Ok(tell.map(|tell| Sweeper { process, tell }))
    }
}

/// The helper's end of the process that removes placeholders.
#[derive(Debug)]
pub struct Sweeper {
    process: Pid,
    tell: PipeWriter,
}

impl Sweeper {
    /// The pipe for the id of the process, as text.
    pub fn pipe(&self) -> &PipeWriter {
        &self.tell
    }

    /// Closes the pipe: no id follows.
    pub fn close(self) -> Pid {
        self.process
    }
}

/// Leaves everything behind that would be missed by others: files, the folder, the session.
fn stay_behind(told: &PipeReader) -> Option<OwnedFd> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
    rustix::process::setsid().ok()?;
    rustix::process::chdir("/").ok()?;
    rustix::stdio::dup2_stdin(told).ok()?;
    rustix::stdio::dup2_stdout(&null).ok()?;
    rustix::stdio::dup2_stderr(&null).ok()?;
    rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok()
}

/// Waits for the process whose id comes through the pipe.
fn sweep(told: OwnedFd) {
    let mut text = String::new();
    let _ = std::fs::File::from(told).read_to_string(&mut text);
    let Some(process) = number(&text).and_then(Pid::from_raw) else { return };
    if let Ok(handle) = rustix::process::pidfd_open(process, PidfdFlags::empty()) {
        let mut watched = [PollFd::new(&handle, PollFlags::IN)];
        while watch::poll(&mut watched).is_ok() && watched[0].revents().is_empty() {}
    }
}

/// The number in a text, which may be bubblewrap's: `{"child-pid": 123, ...}`.
fn number(text: &str) -> Option<i32> {
    let digits = text.find(|c: char| c.is_ascii_digit()).map(|at| &text[at..])?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use pellucid_protocol::protected::AGENT_FOLDERS;

    use super::*;
    use crate::sandbox::Backend;
    use crate::sandbox::roots::WritableFolder;

    fn order(folder: &Path) -> Order {
        let root = WritableFolder::find(folder).unwrap();
        let missing = AGENT_FOLDERS.iter().map(|name| root.path.join(name)).collect();
        Order { writable: vec![root], missing, ..Order::new(Backend::Namespaces, Vec::new()) }
    }

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_last_holder_removes_what_is_still_a_placeholder() {
        let folder = tempfile::tempdir().unwrap();
        let mut order = order(folder.path());
        let first = make(&mut order).unwrap();
        let second = make(&mut order).unwrap();
        assert_eq!(entries(folder.path()), [".agents", ".codex", ".pellucid"]);
        first.remove();
        assert_eq!(entries(folder.path()), [".agents", ".codex", ".pellucid"]);
        fs::write(folder.path().join(".codex/config.toml"), "").unwrap();
        fs::remove_dir(folder.path().join(".agents")).unwrap();
        fs::create_dir(folder.path().join(".agents")).unwrap();
        second.remove();
        assert_eq!(entries(folder.path()), [".agents", ".codex"]);
    }

    #[test]
    fn where_groups_are_handed_down_nothing_is_left_either() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o2775)).unwrap();
        let mut order = order(folder.path());
        make(&mut order).unwrap().remove();
        assert_eq!(entries(folder.path()).len(), 0);
    }

    #[test]
    fn of_two_that_let_go_at_once_one_removes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join(".codex");
        for _ in 0..100 {
            let held = [hold(&path).unwrap(), hold(&path).unwrap()];
            let threads = held.map(|made| {
                let Made::Held(held) = made else { panic!("{made:?}") };
                thread::spawn(move || held.let_go())
            });
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(!path.exists());
        }
    }

    #[test]
    fn who_never_lets_go_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join(".codex");
        let Made::Held(first) = hold(&path).unwrap() else { panic!("it was not there") };
        let other = fs::File::open(&path).unwrap();
        assert!(rustix::fs::flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
        drop(first);
        rustix::fs::flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(matches!(hold(&path).unwrap(), Made::There));
    }

    #[test]
    fn what_a_killed_process_left_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut order = order(folder.path());
        // Letting go without removing is what the kernel does for the dead.
        drop(make(&mut order).unwrap());
        assert_eq!(entries(folder.path()).len(), 3);
        make(&mut order).unwrap().remove();
        assert_eq!(entries(folder.path()).len(), 0);
    }

    #[test]
    fn what_came_and_went_meanwhile_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let mut order = order(&top);
        order.protected = vec![top.join(".git"), order.missing.remove(0)];
        fs::create_dir(top.join(".codex")).unwrap();
        let held = make(&mut order).unwrap();
        assert_eq!(order.protected, [top.join(".codex")]);
        assert_eq!(order.missing, [top.join(".pellucid"), top.join(".agents")]);
        held.remove();
        assert_eq!(entries(&top), [".codex"]);
    }

    #[test]
    fn a_process_is_found_in_what_is_told() {
        assert_eq!(number("{\n    \"child-pid\": 4711\n}\n"), Some(4711));
        assert_eq!(number("12"), Some(12));
        assert_eq!(number(""), None);
    }
}
