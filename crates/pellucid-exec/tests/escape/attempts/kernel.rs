//! Namespaces, mounts, privileges and parts of the kernel that no build needs.

use std::fs::File;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

use nix::sched::CloneFlags;
use rustix::fs::CWD;
use rustix::fs::FileType;
use rustix::fs::MemfdFlags;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::mount::UnmountFlags;
use rustix::thread::CapabilitySet;

use super::Attempt;
use super::Failure;
use super::Tried;
use super::attempt;
use crate::world::World;

pub const ATTEMPTS: &[Attempt] = &[
    attempt("unshare-user", "a user namespace", |_| unshare(CloneFlags::CLONE_NEWUSER)),
    attempt("unshare-mount", "a mount namespace", |_| unshare(CloneFlags::CLONE_NEWNS)),
    attempt("unshare-network", "a network namespace", |_| unshare(CloneFlags::CLONE_NEWNET)),
    attempt("mount-memory", "a mount of memory over a folder", |world| {
        let folder = world.outside.join("empty");
        rustix::mount::mount("tmpfs", &folder, "tmpfs", MountFlags::empty(), None)?;
        Ok(rustix::mount::unmount(&folder, UnmountFlags::DETACH)?)
    }),
    attempt("mount-bind", "a folder outside mounted inside", |world| {
        rustix::mount::mount_bind(&world.outside, "src")?;
        Ok(rustix::mount::unmount("src", UnmountFlags::DETACH)?)
    }),
    attempt("mount-writable", "a read-only mount made writable", |_| {
        // Changing nothing is as good: it takes the same right.
        match rustix::mount::mount_remount("/", MountFlags::BIND, c"") {
            Err(Errno::INVAL) => Ok(()),
            other => Ok(other?),
        }
    }),
    attempt("mount-new-interface", "the same by newer system calls", |_| {
        Ok(rustix::mount::fsopen("tmpfs", rustix::mount::FsOpenFlags::empty()).map(drop)?)
    }),
    attempt("open-tree", "a copy of the tree of mounts", |_| {
        let flags = rustix::mount::OpenTreeFlags::OPEN_TREE_CLONE;
        Ok(rustix::mount::open_tree(CWD, "/", flags).map(drop)?)
    }),
    attempt("pivot-root", "another root of all files", |_| match rustix::process::pivot_root("/", "/") {
        // The kernel looked at it, which is further than it may come.
        Err(Errno::INVAL | Errno::BUSY) => Ok(()),
        other => Ok(other?),
    }),
    attempt("chroot", "another root for itself", |_| Ok(rustix::process::chroot("/")?)),
    attempt("setuid", "another user's rights", |_| {
        let other = nix::unistd::Uid::from_raw(if rustix::process::getuid().is_root() { 65_534 } else { 0 });
        Ok(nix::unistd::setuid(other)?)
    }),
    attempt("set-user-program", "a program that brings its owner's rights", |_| {
        if rustix::thread::no_new_privs()? { Err(Failure::Denied("rights cannot grow".to_owned())) } else { Ok(()) }
    }),
    attempt("capabilities", "the superuser's privileges", |_| {
        let dangerous = CapabilitySet::SYS_ADMIN
            | CapabilitySet::SYS_PTRACE
            | CapabilitySet::SYS_MODULE
            | CapabilitySet::MKNOD
            | CapabilitySet::NET_RAW
            | CapabilitySet::NET_ADMIN
            | CapabilitySet::SETUID
            | CapabilitySet::DAC_READ_SEARCH;
        let now = rustix::thread::capabilities(None)?;
        let has_any = now.permitted.intersects(dangerous);
        if has_any { Ok(()) } else { Err(Failure::Denied("none is left".to_owned())) }
    }),
    attempt("device-node", "a device node that it makes", |_| {
        let memory = rustix::fs::makedev(1, 1);
        rustix::fs::mknodat(CWD, "src/memory", FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, memory)?;
        Ok(std::fs::remove_file("src/memory")?)
    })
    .writing(),
    attempt("disk", "a disk of this machine", |_| {
        let disk = ["/dev/vda", "/dev/sda", "/dev/nvme0n1"].into_iter().find(|path| Path::new(path).exists());
        let disk = disk.ok_or_else(|| Failure::Skipped("there is no disk".to_owned()))?;
        Ok(OpenOptions::new().write(true).open(disk).map(drop)?)
    }),
    attempt("kernel-settings", "a setting of the kernel", |_| {
        Ok(OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern").map(drop)?)
    }),
    attempt("control-group", "a new control group", |world| {
        let folder = format!("/sys/fs/cgroup/unified/escape-{}", world.agent);
        let folder = if Path::new("/sys/fs/cgroup/unified").is_dir() { folder } else { folder.replace("/unified", "") };
        std::fs::create_dir(&folder)?;
        Ok(std::fs::remove_dir(&folder)?)
    }),
    attempt("io-uring", "system calls that no filter sees", |_| Ok(io_uring::IoUring::new(2).map(drop)?)),
    attempt("memory-program", "a program that is no file", memory_program),
    attempt("host-name", "the machine's name", |_| {
        let name = rustix::system::uname();
        Ok(rustix::system::sethostname(name.nodename().to_bytes())?)
    }),
    attempt("module", "a module of the kernel", |_| match nix::kmod::init_module(b"none", c"") {
        // The kernel looked at it, which is further than it may come.
        Err(nix::errno::Errno::ENOEXEC) => Ok(()),
        other => Ok(other?),
    }),
    attempt("watch-files", "watching all files", |_| {
        use nix::sys::fanotify::EventFFlags;
        use nix::sys::fanotify::Fanotify;
        use nix::sys::fanotify::InitFlags;
        Ok(Fanotify::init(InitFlags::FAN_CLASS_NOTIF, EventFFlags::O_RDONLY).map(drop)?)
    }),
    attempt("clock", "the machine's clock", |_| {
        // A clock that cannot be set at all, so that the control does no harm.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        match rustix::time::clock_settime(rustix::time::ClockId::Monotonic, now) {
            Err(Errno::INVAL) => Ok(()),
            other => Ok(other?),
        }
    }),
];

fn unshare(flags: CloneFlags) -> Tried {
    Ok(nix::sched::unshare(flags)?)
}

fn memory_program(_: &World) -> Tried {
    let mut file = File::from(rustix::fs::memfd_create("program", MemfdFlags::empty())?);
    let mut program = File::open("/bin/true").or_else(|_| File::open("/usr/bin/true"))?;
    std::io::copy(&mut program, &mut file)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let status = Command::new(path).status()?;
    if status.success() { Ok(()) } else { Err(Failure::Denied(status.to_string())) }
}
