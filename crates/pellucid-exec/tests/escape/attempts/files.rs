//! Changing files outside of the writable roots, by every name they have.

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::fs::CWD;
use rustix::fs::FileType;
use rustix::fs::IFlags;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::Timespec;
use rustix::fs::Timestamps;
use rustix::fs::XattrFlags;

use super::Attempt;
use super::Failure;
use super::Tried;
use super::attempt;
use crate::world::World;

pub const ATTEMPTS: &[Attempt] = &[
    attempt("write-absolute", "a new file by its absolute path", |world| write(&world.outside.join("new"))),
    attempt("write-dotdot", "a new file by a path with `..`", |_| write(Path::new("src/../../outside/new"))),
    attempt("write-symlink", "a new file through a link that was there", |_| write(Path::new("way-out/new"))),
    attempt("write-own-symlink", "a new file through a link that it makes", write_own_symlink).writing(),
    attempt("write-home", "a start file of the shell", |world| write(&world.base.join(".bashrc"))),
    attempt("write-dev-shm", "shared memory as a file", write_shared_memory),
    attempt("overwrite", "the text of a file", |world| write(&world.secret)),
    attempt("append", "the end of a file", |world| open_writing(&world.secret, OpenOptions::new().append(true))),
    attempt("truncate", "the length of a file", truncate).gap("truncation"),
    attempt("truncate-on-open", "the length of a file while opening it", truncate_on_open).gap("truncation"),
    attempt("delete", "removing a file", |world| Ok(fs::remove_file(&world.secret)?)),
    attempt("delete-folder", "removing a folder", |world| Ok(fs::remove_dir(world.outside.join("empty"))?)),
    attempt("make-folder", "a new folder", |world| Ok(fs::create_dir(world.outside.join("made"))?)),
    attempt("make-fifo", "a new named pipe", |world| make_node(&world.outside.join("fifo"), FileType::Fifo)),
    attempt("make-symlink", "a new link", |world| Ok(symlink("/", world.outside.join("link"))?)),
    attempt("hard-link-out", "a second name outside for a file inside", hard_link_out),
    attempt("hard-link-in", "a second name inside for a file outside, to write that", hard_link_in).writing(),
    attempt("rename-out", "moving a file out", |world| Ok(fs::rename("src/lib.rs", world.outside.join("moved"))?)),
    attempt("rename-in", "moving a file in", |world| Ok(fs::rename(&world.secret, "src/moved")?)),
    attempt("rename-root", "moving the root itself", |world| Ok(fs::rename(&world.root, world.base.join("r"))?)),
    attempt("unnamed-file", "a file without a name that is given one", unnamed_file),
    attempt("folder-handle", "a new file by a handle of its folder", folder_handle),
    attempt("proc-self-fd", "a file that is open for reading, opened again by its number", proc_self_fd),
    attempt("proc-self-root", "a new file below `/proc/self/root`", |world| {
        write(&Path::new("/proc/self/root").join(world.outside.strip_prefix("/").unwrap_or(&world.outside)).join("new"))
    }),
    attempt("proc-self-cwd", "a new file from `/proc/self/cwd` upwards", |_| {
        write(Path::new("/proc/self/cwd/../outside/new"))
    }),
    attempt("proc-agent-cwd", "a new file from the agent's working directory", |world| {
        let folder = format!("/proc/{}/cwd", world.agent);
        fs::read_link(&folder).map_err(|error| Failure::Denied(error.to_string()))?;
        write(&Path::new(&folder).join(format!("escape-{}", world.agent)))
    }),
    attempt("inherited-file", "a file that the agent left open", inherited_file),
    attempt("chmod", "the permissions of a file", |world| {
        Ok(fs::set_permissions(&world.secret, fs::Permissions::from_mode(0o600))?)
    })
    .gap("metadata"),
    attempt("utimes", "the times of a file", utimes).gap("metadata"),
    attempt("setxattr", "the attributes of a file", setxattr).gap("metadata"),
    attempt("file-flags", "the flags of a file", file_flags),
];

pub fn write(path: &Path) -> Tried {
    let was_there = path.exists();
    fs::write(path, "after\n")?;
    // What the control run leaves outside of its world.
    if !was_there {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

pub fn open_writing(path: &Path, how: &mut OpenOptions) -> Tried {
    Ok(how.open(path)?.write_all(b"after\n")?)
}

fn write_own_symlink(world: &World) -> Tried {
    symlink(&world.outside, "src/own-way-out")?;
    write(Path::new("src/own-way-out/new"))
}

fn write_shared_memory(world: &World) -> Tried {
    if !Path::new("/dev/shm").is_dir() {
        return Err(Failure::Skipped("there is no /dev/shm".to_owned()));
    }
    write(&Path::new("/dev/shm").join(format!("escape-{}", world.agent)))
}

fn truncate(world: &World) -> Tried {
    Ok(nix::unistd::truncate(&world.secret, 0)?)
}

fn truncate_on_open(world: &World) -> Tried {
    let flags = OFlags::RDONLY | OFlags::TRUNC;
    Ok(rustix::fs::open(&world.secret, flags, Mode::empty()).map(drop)?)
}

fn make_node(path: &Path, kind: FileType) -> Tried {
    Ok(rustix::fs::mknodat(CWD, path, kind, Mode::RUSR, 0)?)
}

fn hard_link_out(world: &World) -> Tried {
    Ok(fs::hard_link("src/lib.rs", world.outside.join("linked"))?)
}

fn hard_link_in(world: &World) -> Tried {
    fs::hard_link(&world.secret, "src/linked")?;
    open_writing(Path::new("src/linked"), OpenOptions::new().write(true))
}

fn unnamed_file(world: &World) -> Tried {
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    let file = rustix::fs::open(&world.outside, flags, Mode::RUSR | Mode::WUSR)?;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, name, CWD, world.outside.join("named"), AtFlags::SYMLINK_FOLLOW)?)
}

fn folder_handle(world: &World) -> Tried {
    let folder = rustix::fs::open(&world.outside, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    Ok(rustix::fs::openat(folder, "new", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).map(drop)?)
}

fn proc_self_fd(world: &World) -> Tried {
    let file = File::open(&world.secret)?;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    open_writing(Path::new(&name), OpenOptions::new().write(true))
}

fn inherited_file(world: &World) -> Tried {
    for entry in fs::read_dir("/proc/self/fd")? {
        let path = entry?.path();
        if fs::read_link(&path).is_ok_and(|target| target == world.secret) {
            return Ok(());
        }
    }
    Err(Failure::Denied("it is closed".to_owned()))
}

fn utimes(world: &World) -> Tried {
    let time = Timespec { tv_sec: 1, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, &world.secret, &times, AtFlags::empty())?)
}

/// By a request to a file that is open for reading only.
fn file_flags(world: &World) -> Tried {
    let file = File::open(&world.secret)?;
    let Ok(flags) = rustix::fs::ioctl_getflags(&file) else {
        return Err(Failure::Skipped("this file system has no flags".to_owned()));
    };
    match rustix::fs::ioctl_setflags(&file, flags | IFlags::NODUMP) {
        Err(rustix::io::Errno::NOTSUP) => Err(Failure::Skipped("this file system has no such flag".to_owned())),
        other => Ok(other?),
    }
}

fn setxattr(world: &World) -> Tried {
    match rustix::fs::setxattr(&world.secret, "user.escape", b"after", XattrFlags::empty()) {
        Err(rustix::io::Errno::NOTSUP) => Err(Failure::Skipped("this file system has no attributes".to_owned())),
        other => Ok(other?),
    }
}
