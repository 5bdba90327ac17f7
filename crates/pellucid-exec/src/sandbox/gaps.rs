//! The gaps of each backend, and the costs of its protection. They are documented, and `doctor` prints them.
//!
//! Not here: what every backend allows on purpose, such as reading.

use super::Backend;
use super::ProbeFinding;
use super::ProbeFindings;
use super::Protection;

/// Something to know about a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// A short name for machines.
    pub id: &'static str,
    /// A sentence for people.
    pub text: &'static str,
}

const fn gap(id: &'static str, text: &'static str) -> Gap {
    Gap { id, text }
}

const NOT_YET_THERE: Gap = gap(
    "missing-protected-folder",
    "an agent's folder that does not exist yet can be created; it is moved away after the command, before anything reads it",
);
const LINKED: Gap = gap(
    "linked-protected-folder",
    "a protected name that is a symbolic link can be replaced; its target stays, and the replacement is moved away",
);
const NESTED: Gap = gap(
    "nested-repositories",
    "hooks and configuration of repositories further down can be changed, unless they are work trees, above the working \
     folder, or submodules in `.gitmodules`",
);
const ALL_NESTED: Gap =
    gap("nested-repositories", "hooks and configuration of repositories below the top folder can be changed");
const UNPROTECTED: Gap = gap("protection-off", "`.git` and the agents' folders can be changed under writable roots");
const LOCAL_SERVICES: Gap =
    gap("local-services", "with network access, services of this machine are reached by their sockets too");
const METADATA: Gap = gap(
    "metadata",
    "under workspace-write, owners, permissions, times and attributes of the user's files can be changed anywhere",
);
const TOP_FOLDER: Gap = gap(
    "top-folder",
    "nothing can be added to, removed from or renamed in a folder with something protected directly in it",
);
const SHARED_MEMORY: Gap =
    gap("shared-memory", "shared memory and message queues of the user's other programs are reached");
const OPEN_FILES: Gap = gap(
    "open-files",
    "`/proc` lists the user's other processes and the numbers of their open files, though not what these are",
);
const ENDS: Gap = gap("background", "processes that a command leaves in the background end with it");
const SIGNALS: Gap = gap("signals", "signals reach the user's other processes (needs Linux 6.12)");
const TRUNCATION: Gap = gap("truncation", "files can be emptied where they cannot be written (needs Linux 6.2)");
const DEVICES: Gap = gap("devices", "devices that the user may write can be written (Landlock is missing)");
const OLD_PROC: Gap = gap("proc", "`/proc` lists processes outside, which cannot be touched");

/// The gaps of a backend on this machine.
pub fn of(backend: Backend, findings: &ProbeFindings, protection: Protection) -> Vec<Gap> {
    let abi = findings.landlock_abi;
    let is_older = |version| abi.is_some_and(|abi| abi < version);
    let is_mounted = matches!(backend, Backend::Namespaces | Backend::Bubblewrap);
    let is_landlock = backend == Backend::Landlock;
    let is_protected = protection == Protection::On;
    [
        (!is_protected, UNPROTECTED),
        (is_protected && is_landlock, NOT_YET_THERE),
        (is_protected && backend != Backend::Seatbelt, LINKED),
        (is_protected && !is_landlock, NESTED),
        (is_protected && is_landlock, ALL_NESTED),
        (is_protected && is_landlock, TOP_FOLDER),
        (is_landlock, METADATA),
        (is_landlock, SHARED_MEMORY),
        (is_landlock, OPEN_FILES),
        (is_landlock && is_older(6), SIGNALS),
        (is_landlock && is_older(3), TRUNCATION),
        (is_landlock || backend == Backend::Bubblewrap, ENDS),
        (is_mounted && abi.is_none(), DEVICES),
        (is_mounted && !findings.has_fresh_proc, OLD_PROC),
        (backend != Backend::Seatbelt, LOCAL_SERVICES),
    ]
    .into_iter()
    .filter_map(|(applies, gap)| applies.then_some(gap))
    .collect()
}

/// A remedy for the user to get a stronger backend than this one.
pub fn remedy(backend: Backend, findings: &ProbeFindings) -> Option<&'static str> {
    if backend != Backend::Landlock {
        return None;
    }
    Some(match findings.of(Backend::Bubblewrap) {
        ProbeFinding::Fails(why) if why.contains("not installed") => {
            "allow user namespaces (sysctl kernel.unprivileged_userns_clone, \
             kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile), or install bubblewrap"
        }
        _ => {
            "allow user namespaces (sysctl kernel.unprivileged_userns_clone, \
             kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile)"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(backend: Backend, abi: Option<u32>, protection: Protection) -> Vec<&'static str> {
        let findings = ProbeFindings { landlock_abi: abi, ..ProbeFindings::fixture(Ok(()), Ok(())) };
        of(backend, &findings, protection).iter().map(|it| it.id).collect()
    }

    #[test]
    fn stronger_backends_have_fewer() {
        assert_eq!(
            ids(Backend::Namespaces, Some(7), Protection::On),
            ["linked-protected-folder", "nested-repositories", "local-services"]
        );
        assert_eq!(
            ids(Backend::Landlock, Some(7), Protection::On),
            [
                "missing-protected-folder",
                "linked-protected-folder",
                "nested-repositories",
                "top-folder",
                "metadata",
                "shared-memory",
                "open-files",
                "background",
                "local-services"
            ]
        );
    }

    #[test]
    fn an_older_kernel_has_more() {
        assert!(ids(Backend::Landlock, Some(2), Protection::Off).ends_with(&[
            "signals",
            "truncation",
            "background",
            "local-services"
        ]));
        assert!(ids(Backend::Namespaces, None, Protection::On).contains(&"devices"));
    }
}
