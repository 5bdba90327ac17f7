//! Namespaces: a view of the files in which only some can be changed, and processes that see no others and end
//! together.
//!
//! The mounts take away what Landlock cannot take away: everything is read-only, writable roots are
//! put back, and what is protected in them is made read-only again. A folder that is a mount can be
//! neither renamed nor removed, so every folder on the way to something protected becomes one. What must stay missing is
//! covered with something empty. Roots are mounted by handles of the folders that are meant.
//!
//! In a folder that fences guard nothing is made read-only: the kernel looks at mounts first, and what they refuse reads
//! as a broken disk (`Read-only file system`), where fences say `Permission denied`.
//!
//! The superuser does without a user namespace, in which files of other users would be out of reach.
//!
//! Not here: Landlock and the filter, which come on top.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use nix::sched::CloneFlags;
use rustix::io::Errno;
use rustix::mount::MountFlags;
use rustix::mount::MountPropagationFlags;

use super::HelperError;
use super::Step;
use super::command;
use super::confine;
use super::handles;
use super::missing;
use super::missing::Sweeper;
use super::privileges;
use super::watch;
use super::watch::Init;
use super::watch::Left;
use crate::sandbox::order::Order;
use crate::sandbox::protected::is_of_agents;

/// Runs a command in new namespaces.
pub fn run(mut order: Order) -> Result<ExitCode, HelperError> {
    let agent = watch::agent(&order)?;
    let mounts = Mount::all()?;
    let sweeper = missing::make(&mut order)?.leave_to_sweeper()?;
    separate(OF_A_COMMAND | of_limits(&order))?;
    // Before the first process: it mounts another `/proc`, in which we do not exist.
    arrange(&order, &mounts)?;
    let mut init = Init::start(agent.as_ref())?;
    // The mounts exist until the first process ends.
    if let Some(sweeper) = &sweeper {
        write!(sweeper.pipe(), "{}", init.process().as_raw_nonzero()).step("telling the sweeper")?;
    }
    let sweeper = sweeper.map(Sweeper::close);
    init.is_ready_with_proc()?;
    confine(&order)?;
    let child = watch::spawn(&mut command(&order), &order.command[0])?;
    let status = watch::wait(child, agent.as_ref())?;
    let is_empty = status.is_some() && init.ended() == Left::Nothing;
    if let Some(sweeper) = sweeper.filter(|_| is_empty) {
        watch::wait_for(sweeper);
    }
    Ok(watch::end_like(status))
}

/// The namespaces that every command gets: its mounts, on which `/proc` shows its processes, and these processes.
pub const OF_A_COMMAND: CloneFlags =
    CloneFlags::CLONE_NEWNS.union(CloneFlags::CLONE_NEWPID).union(CloneFlags::CLONE_NEWIPC);

/// The namespaces that commands with the same limits can share: an empty network, or none.
pub fn of_limits(order: &Order) -> CloneFlags {
    if order.network { CloneFlags::empty() } else { CloneFlags::CLONE_NEWNET }
}

/// Makes namespaces of these kinds.
pub fn separate(flags: CloneFlags) -> Result<(), HelperError> {
    if privileges::may_make_namespaces() {
        return nix::sched::unshare(flags).step("making namespaces");
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if user.is_root() {
        let error = std::io::Error::from(Errno::PERM);
        let what = "the superuser lacks CAP_SYS_ADMIN here, and in a user namespace files of others are out of reach";
        return Err(HelperError::Step { what: what.to_owned(), error });
    }
    nix::sched::unshare(flags | CloneFlags::CLONE_NEWUSER).step("making a user namespace")?;
    let write = |file: &str, text: String| std::fs::write(file, text).step(format!("writing {file}"));
    write("/proc/self/setgroups", "deny".to_owned())?;
    let (user, group) = (user.as_raw(), group.as_raw());
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Arranges the files for a command.
pub fn arrange(order: &Order, mounts: &[Mount]) -> Result<(), HelperError> {
    // The folder is entered again afterwards: the old one is below the new mounts.
    let cwd = std::env::current_dir().step("finding the working directory")?;
    // No mount may be visible outside.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).step("keeping mounts to ourselves")?;

    for path in order.solid() {
        // Each path is looked up again, because an earlier mount may cover it.
        let opened = match order.root(&path) {
            Some(root) => handles::open_root(root)?,
            None => handles::open(&path).step(format!("opening {}", path.display()))?,
        };
        let name = handles::name(&opened);
        rustix::mount::mount_bind_recursive(&name, &name).step(format!("mounting {}", path.display()))?;
    }
    for mount in mounts.iter().filter(|it| !order.is_open(&it.path)) {
        make_read_only(&mount.path, mount.flags)?;
    }
    for path in &order.protected {
        if !order.is_open(path) {
            continue;
        }
        let Some(opened) = protected(path)? else { continue };
        let name = handles::name(&opened);
        rustix::mount::mount_bind_recursive(&name, &name).step(format!("mounting {}", path.display()))?;
        make_read_only(path, Mount::around(mounts, path))?;
        for mount in mounts.iter().filter(|it| it.path != *path && it.path.starts_with(path)) {
            make_read_only(&mount.path, mount.flags)?;
        }
    }
    for path in &order.missing {
        cover(path)?;
    }
    std::env::set_current_dir(&cwd).step(format!("entering {}", cwd.display()))
}

/// Something protected; nothing if it has just gone and need not be kept from coming back.
fn protected(path: &Path) -> Result<Option<OwnedFd>, HelperError> {
    match handles::open(path) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT) if !is_of_agents(path) => Ok(None),
        Err(error) => Err(error).step(format!("opening {}", path.display())),
    }
}

/// Mounts something empty over a placeholder.
fn cover(path: &Path) -> Result<(), HelperError> {
    let opened = handles::open(path).step(format!("opening {}", path.display()))?;
    let name = handles::name(&opened);
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("tmpfs", &name, "tmpfs", flags, Some(c"mode=555,size=4k"))
        .step(format!("mounting over {}", path.display()))
}

fn make_read_only(path: &Path, flags: MountFlags) -> Result<(), HelperError> {
    let flags = flags | MountFlags::BIND | MountFlags::RDONLY;
    match rustix::mount::mount_remount(path, flags, c"") {
        // Hidden below another mount, gone, or nothing that this user reaches: nor does the command.
        Ok(()) | Err(Errno::INVAL | Errno::NOENT | Errno::ACCESS) => Ok(()),
        Err(error) => Err(error).step(format!("making {} read-only", path.display())),
    }
}

/// Shows the namespace's own processes in `/proc`. Where parts of the old one are hidden, as in many
/// containers, the kernel refuses; the old one then stays, read-only.
pub fn mount_proc() -> bool {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    rustix::mount::mount("proc", "/proc", "proc", flags, None).is_ok()
}

/// A mount and what it was mounted with.
#[derive(Debug, PartialEq, Eq)]
pub struct Mount {
    path: PathBuf,
    flags: MountFlags,
}

impl Mount {
    /// All there are. To be asked for before there is another `/proc`, in which we do not exist.
    pub fn all() -> Result<Vec<Self>, HelperError> {
        std::fs::read("/proc/self/mountinfo").map(|text| Self::list(&text)).step("listing mounts")
    }

    /// Parses `/proc/self/mountinfo` into mounts.
    fn list(text: &[u8]) -> Vec<Self> {
        text.split(|byte| *byte == b'\n').filter_map(Self::read).collect()
    }

    /// Of a line: `36 35 98:0 /root /mount/point rw,noatime ...`.
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let path = PathBuf::from(plain(fields.nth(4)?));
        let options = fields.next()?.split(|byte| *byte == b',');
        let flags = options.filter_map(|option| {
            Some(match option {
                b"ro" => MountFlags::RDONLY,
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"noatime" => MountFlags::NOATIME,
                b"nodiratime" => MountFlags::NODIRATIME,
                b"relatime" => MountFlags::RELATIME,
                _ => return None,
            })
        });
        Some(Self { path, flags: flags.fold(MountFlags::empty(), MountFlags::union) })
    }

    /// The flags of the mount that holds a path. A remount must repeat them: the kernel does not allow removing such
    /// a limit.
    fn around(mounts: &[Self], path: &Path) -> MountFlags {
        let holding = mounts.iter().filter(|it| path.starts_with(&it.path));
        // Of several at the same place the last covers the others.
        let innermost = holding.max_by_key(|it| it.path.components().count());
        innermost.map_or(MountFlags::empty(), |it| it.flags)
    }
}

/// Undoes the notation of blanks and the like: a backslash and three octal digits.
fn plain(field: &[u8]) -> OsString {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|it| std::str::from_utf8(it).ok());
        match digits.and_then(|it| u8::from_str_radix(it, 8).ok()).filter(|_| *byte == b'\\') {
            Some(meant) => {
                text.push(meant);
                rest = &after[3..];
            }
            None => {
                text.push(*byte);
                rest = after;
            }
        }
    }
    OsString::from_vec(OsStr::from_bytes(&text).as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_limits() {
        let text = b"24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                     25 24 0:5 / /mnt/a\\040b ro,nosuid,nodev,noexec,noatime - tmpfs t rw\n";
        let mounts = Mount::list(text);
        let limits =
            MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
        assert_eq!(
            mounts,
            [Mount { path: "/".into(), flags: MountFlags::RELATIME }, Mount { path: "/mnt/a b".into(), flags: limits },]
        );
        assert_eq!(Mount::around(&mounts, Path::new("/mnt/a b/c")), limits);
        assert_eq!(Mount::around(&mounts, Path::new("/mnt")), MountFlags::RELATIME);
    }
}
