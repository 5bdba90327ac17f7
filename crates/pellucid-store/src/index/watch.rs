//! Which session files changed since the last look, from the kernel: a list of a program that stays then asks the system for
//! the times of changed files only, and not for those of ten thousand.
//!
//! All folders of session files are watched, and the folders above them. What cannot be followed by single files (a folder
//! that comes or goes, more events than the kernel keeps, a file system of a network) is [`Changes::Unknown`], and the
//! caller looks at all files, as without a watch.
//!
//! Not here: looking at files (`walk`), and what their rows become (`index`).

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::inotify::AddWatchFlags;
use nix::sys::inotify::InitFlags;
use nix::sys::inotify::Inotify;
use nix::sys::inotify::InotifyEvent;
use nix::sys::inotify::WatchDescriptor;
use nix::sys::statfs;

use crate::name;
use crate::walk::SessionFolder;

/// How long a watch is relied on: the kernel does not report a file that changed through a second name in another folder.
const TRUSTED: Duration = Duration::from_secs(60);

/// The number of XFS, which `nix` has no name for where musl is the C library.
const XFS_SUPER_MAGIC: statfs::FsType = statfs::FsType(0x5846_5342);

/// File systems whose changes are all made on this machine, so that its kernel sees them.
const LOCAL: [statfs::FsType; 4] =
    [statfs::EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, statfs::BTRFS_SUPER_MAGIC, statfs::TMPFS_MAGIC];

/// What changed since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// These files may have changed, come or gone; paths relative to the home folder.
    Files(BTreeSet<String>),
    /// Any file may have.
    Unknown,
}

/// A watch over the session files of a home folder.
#[derive(Debug)]
pub(super) struct FolderWatch {
    events: Inotify,
    folders: HashMap<WatchDescriptor, SessionFolder>,
    begun: Instant,
}

impl FolderWatch {
    /// Begins to watch; absent where the changes of a file may stay unseen.
    pub(super) fn begin(home: &Path) -> Option<Self> {
        let events = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
        let mut watch = Self { events, folders: HashMap::new(), begun: Instant::now() };
        watch.add(home, SessionFolder::home())?;
        Some(watch)
    }

    /// Watches a folder and the folders in it. The watch begins before its folders are listed, so none is missed.
    fn add(&mut self, home: &Path, folder: SessionFolder) -> Option<()> {
        let mut flags = AddWatchFlags::IN_ONLYDIR
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF;
        if folder.holds_sessions() {
            flags |= AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_ATTRIB;
        }
        let path = folder.path(home);
        match self.events.add_watch(&path, flags) {
            Ok(descriptor) => {
                if !LOCAL.contains(&statfs::statfs(&path).ok()?.filesystem_type()) {
                    return None;
                }
                let within = folder.folders(home);
                // A folder with two names has one descriptor, and its events would be about one name only.
                if self.folders.insert(descriptor, folder).is_some() {
                    return None;
                }
                within.into_iter().try_for_each(|folder| self.add(home, folder))
            }
            // The folder above reports when it comes.
            Err(Errno::ENOENT | Errno::ENOTDIR) => Some(()),
            Err(_) => None,
        }
    }

    /// What changed since the last call.
    pub(super) fn changes(&mut self) -> Changes {
        let mut files = BTreeSet::new();
        if self.begun.elapsed() >= TRUSTED {
            return Changes::Unknown;
        }
        loop {
            match self.events.read_events() {
                Ok(events) => {
                    for event in events {
                        match self.changed(&event) {
                            Ok(file) => files.extend(file),
                            Err(Unfollowed) => return Changes::Unknown,
                        }
                    }
                }
                Err(Errno::EAGAIN) => return Changes::Files(files),
                Err(Errno::EINTR) => {}
                Err(_) => return Changes::Unknown,
            }
        }
    }

    /// The session file that an event is about, if it is about one.
    fn changed(&self, event: &InotifyEvent) -> Result<Option<String>, Unfollowed> {
        let folder = self.folders.get(&event.wd).ok_or(Unfollowed)?;
        // An event about the folder itself has no name.
        let name = event.name.as_ref().ok_or(Unfollowed)?;
        match name.to_str() {
            Some(name) if folder.takes_folder(name) => Err(Unfollowed),
            Some(name) if folder.holds_sessions() && name::session_id(name).is_some() => Ok(Some(folder.child(name))),
            _ => Ok(None),
        }
    }
}

/// An event that is not about a single session file.
struct Unfollowed;
