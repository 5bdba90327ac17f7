//! Files that a repository or a command may have prepared.
//!
//! A repository, or a command that ran confined in it, can leave anything where the agent looks for a file: a
//! named pipe that never answers, a device without end, a link to somewhere else. Whatever the agent reads or
//! writes in such a place goes through this crate.
//!
//! - `read`: regular files only, and no more of them than a limit
//! - `disk`: writing what a client was shown, on a disk that may fail
//! - `identity`: the identity of a file, whatever its name leads to later
//! - `near`: shorter names for places near the current directory of the process
//! - `normal`: paths without `.` and `..`, worked out by name
//! - `real`: the path of an open file, all links resolved
//! - `folder`: writing below a folder that another process may change at the same time
//! - `status`: the metadata of a file, without opening it
//! - `target`: a file that the user named before commands ran, written after them
//! - `dot_git`, `git_config`: the folder of a repository, and its configuration
//! - `private`: folders and files that no other user of the machine can read
//! - `placeholder`: empty folders that keep a name from being taken, for a while
//!
//! Not here: the meaning of files, except for `dot_git` and `git_config`: trust, the sandbox and git must read them
//! alike.

#![warn(missing_docs)]

mod disk;
pub mod dot_git;
mod folder;
pub mod git_config;
mod identity;
mod near;
mod normal;
mod placeholder;
mod private;
mod read;
mod real;
mod status;
mod target;

pub use disk::Disk;
pub use disk::Existing;
pub use disk::PartlyWritten;
pub use disk::RealDisk;
pub use disk::add_line;
pub use disk::append_all;
pub use disk::ends_with_newline;
pub use folder::Folder;
pub use identity::FileIdentity;
pub use near::WorkingFolder;
pub use normal::normal;
pub use placeholder::PLACEHOLDER_MODE;
pub use placeholder::is_placeholder;
pub use private::append_private;
pub use private::create_or_empty_private;
pub use private::create_private;
pub use private::make_private_folder;
pub use private::write_private;
pub use read::TEXT_BYTES_MAX;
pub use read::open;
pub use read::open_with_status;
pub use read::open_without_waiting;
pub use read::read;
pub use read::read_given;
pub use read::read_text;
pub use real::LocatedFile;
pub use status::FileKind;
pub use status::FileStatus;
pub use target::NameTarget;
