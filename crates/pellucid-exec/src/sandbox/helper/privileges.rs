//! Drops what the helper inherited and a command must not have: open files, capabilities, ways to gain privileges.
//!
//! Not here: what replaces them.

use std::os::fd::RawFd;

use rustix::thread::CapabilitySet;
use rustix::thread::CapabilitySets;

use super::HelperError;
use super::Step;

/// The capabilities that the superuser keeps: to work with files of other users as before, within the fences. Every
/// capability that reaches the kernel, devices, other processes or other users is dropped.
const KEPT: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::FOWNER).union(CapabilitySet::FSETID);

/// Closes everything but the standard three. A file that was left open by accident would be a way
/// round every fence, because fences are checked when a file is opened.
pub fn close_inherited_files() {
    let Ok(folder) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> =
        folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(|fd| *fd > 2).collect();
    for fd in open {
        // The one that lists the folder is closed by now, which is no failure.
        let _ = nix::unistd::close(fd);
    }
}

/// Gives up capabilities for good, also for programs that would bring them back.
pub fn drop_capabilities() -> Result<(), HelperError> {
    rustix::thread::set_no_new_privs(true).step("giving up the way to more rights")?;
    let now = rustix::thread::capabilities(None).step("reading capabilities")?;
    if now.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(KEPT).iter() {
            // A capability that this kernel does not know cannot be gained.
            let _ = rustix::thread::remove_capability_from_bounding_set(capability);
        }
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let kept = now.permitted.intersection(KEPT);
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).step("giving up capabilities")
}

/// Whether this process may make namespaces without a user namespace around them.
pub fn may_make_namespaces() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|it| it.effective.contains(CapabilitySet::SYS_ADMIN))
}
