//! The system calls that a confined command may make (seccomp).
//!
//! The filter allows all system calls except those named here, and these fail as if the user lacked the right, so
//! programs can report it. It covers what the fences cannot see: sockets, other processes, namespaces, and parts of
//! the kernel no build needs.
//!
//! Not here: files. Paths cannot be seen from a filter.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::BpfProgram;
use seccompiler::SeccompAction;
use seccompiler::SeccompCmpArgLen;
use seccompiler::SeccompCmpOp;
use seccompiler::SeccompCondition;
use seccompiler::SeccompFilter;
use seccompiler::SeccompRule;
use seccompiler::TargetArch;

use super::HelperError;
use crate::sandbox::Backend;
use crate::sandbox::order::Order;

/// System calls that read, write or control other processes.
const PROCESSES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
];

/// Rings, by which other system calls are made unseen by this filter.
const RINGS: &[i64] = &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Namespaces and the tree of mounts.
const MOUNTS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
];

/// The kernel itself: keys, programs inside of it, modules, its log, its clock, its files by handle.
const KERNEL: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_open_by_handle_at,
    libc::SYS_memfd_secret,
];

/// System calls that transfer data through a socket.
const TRAFFIC: &[i64] = &[
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_shutdown,
    libc::SYS_sendto,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
];

/// Owners, permissions, times and attributes of files, which Landlock does not guard. They are only
/// refused where nothing may be written anyway.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

/// The same, and what reaches devices directly, by names that only this processor has.
#[cfg(target_arch = "x86_64")]
const OLD_METADATA: &[i64] =
    &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(not(target_arch = "x86_64"))]
const OLD_METADATA: &[i64] = &[];
#[cfg(target_arch = "x86_64")]
const OLD_KERNEL: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load];
#[cfg(not(target_arch = "x86_64"))]
const OLD_KERNEL: &[i64] = &[];

// Newer calls have the same number on every processor.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// Kinds of namespaces that a new process can be given.
const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests that type on the terminal in a person's place: `TIOCSTI` and `TIOCLINUX`, whose type
/// differs between C libraries.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// Ranges of requests that are let through: those to terminals, among them what is asked of any open file (`FIONREAD`,
/// `FIONBIO`, `FIOCLEX`), and those to sockets, which change nothing without a privilege.
const TERMINALS: (u64, u64) = (0x5400, 0x54ff);
const SOCKETS: (u64, u64) = (0x8900, 0x89ff);

/// The size of a file's blocks, `FIGETBSZ`. Its number is below all ranges.
const BLOCK_SIZE: u64 = 2;

/// Further requests that are let through, with numbers above all ranges. Any other may change a file that is open for
/// reading only, in a way that neither mounts nor fences see on every file system, so what is not known is refused.
const FURTHER: [u64; 20] = [
    // Terminals by newer numbers: settings of any speed, and the ends of a new terminal.
    0x802c_542a,
    0x402c_542b,
    0x402c_542c,
    0x402c_542d,
    0x8004_5430,
    0x4004_5431,
    0x8004_5432,
    0x4004_5436,
    0x8004_5438,
    0x8004_5439,
    0x8004_5440,
    // Sharing the blocks of a file with another that is open for writing.
    0x4004_9409,
    0x4020_940d,
    // Asking for flags, extended flags, generation, places on the disk, the disk's label and the size of a disk.
    0x8008_6601,
    0x801c_581f,
    0x8008_7601,
    0xc020_660b,
    0x8100_9431,
    0x8008_1272,
    // Asking how much chance there is.
    0x8004_5200,
];

/// Commands of `fcntl` that have every other process wait which wants to open or change the file: a lease, and the same
/// for folders.
const LEASES: [u64; 2] = [1024, 1040];

/// Other processes: how much of the machine they get, and where. The number is in this argument, and 0 is oneself.
/// Namespaces show none but a command's own processes, so there is nothing to refuse with them.
const SCHEDULING: [(i64, u8); 8] = [
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];

/// Calls of those that take a kind of number first, with the kind that means all processes of a user.
const OF_A_USER: [(i64, u64); 2] = [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];

/// Families of sockets that are meant by network access.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The part of a socket's type that is not a flag.
const SOCKET_TYPE: u64 = 0xf;

/// Types of local sockets that can be sent through without connecting: datagrams and what means them.
const UNCONNECTED: [i32; 4] = [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_DCCP];

/// Says that a file in memory is never to be executed.
const MFD_NOEXEC_SEAL: u64 = 8;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies the filter to this process for good.
pub fn apply(order: &Order) -> Result<(), HelperError> {
    install(&compile(order)?)
}

/// The filter, for processes that are yet to come.
pub fn compile(order: &Order) -> Result<Vec<BpfProgram>, HelperError> {
    Ok(programs(order).map_err(seccompiler::Error::from)?)
}

/// Applies a filter that was made before.
pub fn install(programs: &[BpfProgram]) -> Result<(), HelperError> {
    for program in programs {
        seccompiler::apply_filter(program)?;
    }
    Ok(())
}

fn programs(order: &Order) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let program = |rules: Rules, errno: i32| -> Result<BpfProgram, seccompiler::BackendError> {
        let errno = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)?.try_into()
    };
    let mut programs = vec![program(refused(order)?, libc::EPERM)?, program(unknown()?, libc::ENOSYS)?];
    programs.extend(other_numbering());
    Ok(programs)
}

/// The system calls that fail as if the user lacked the right.
fn refused(order: &Order) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let mut whole = |calls: &[i64]| rules.extend(calls.iter().map(|call| (*call, Vec::new())));
    for calls in [PROCESSES, RINGS, MOUNTS, KERNEL, OLD_KERNEL] {
        whole(calls);
    }
    if order.writable.is_empty() {
        whole(METADATA);
        whole(OLD_METADATA);
    }
    if !order.network {
        whole(TRAFFIC);
    }
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.insert(call, if order.network { foreign_sockets()? } else { reaching_sockets()? });
    }
    let clone = NEW_NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        SeccompRule::new(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    });
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    // A process reads and sets its own limits with the process id 0.
    let limits = SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, 0)?])?;
    rules.insert(libc::SYS_prlimit64, vec![limits]);
    rules.insert(libc::SYS_ioctl, requests()?);
    let leases = LEASES.map(|lease| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, lease)?]));
    rules.insert(libc::SYS_fcntl, leases.into_iter().collect::<Result<_, _>>()?);
    if order.backend == Backend::Landlock {
        for (call, argument) in SCHEDULING {
            let of_others = SeccompRule::new(vec![condition(argument, SeccompCmpOp::Ne, 0)?])?;
            rules.entry(call).or_default().push(of_others);
        }
        for (call, kind) in OF_A_USER {
            rules.entry(call).or_default().push(SeccompRule::new(vec![condition(0, SeccompCmpOp::Eq, kind)?])?);
        }
    }
    Ok(rules)
}

/// Requests to files and devices that are refused: all that are not known to do no harm.
fn requests() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let is_below = |value| condition(1, SeccompCmpOp::Lt, value);
    let is_above = |value| condition(1, SeccompCmpOp::Gt, value);
    let is_not = |value| condition(1, SeccompCmpOp::Ne, value);
    let mut rules = Vec::new();
    for request in TYPING {
        rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, request)?])?);
    }
    rules.push(SeccompRule::new(vec![is_below(TERMINALS.0)?, is_not(BLOCK_SIZE)?])?);
    rules.push(SeccompRule::new(vec![is_above(TERMINALS.1)?, is_below(SOCKETS.0)?])?);
    let mut others = vec![is_above(SOCKETS.1)?];
    for request in FURTHER {
        others.push(is_not(request)?);
    }
    rules.push(SeccompRule::new(others)?);
    Ok(rules)
}

/// Sockets of families that network access does not mean: hosts of virtual machines, raw packets.
fn foreign_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let not = FAMILIES.iter().map(|family| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    Ok(vec![SeccompRule::new(not.collect::<Result<_, _>>()?)?])
}

/// Sockets that reach anything: every family but the local one, and of that one those that need no
/// connection. What is left is good for pairs of sockets between a command's own processes.
fn reaching_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let local = u64::from(libc::AF_UNIX.unsigned_abs());
    let mut rules = vec![SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, local)?])?];
    for kind in UNCONNECTED {
        let kind = u64::from(kind.unsigned_abs());
        rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?])?);
    }
    Ok(rules)
}

/// The system calls that fail as on a kernel that is too old for them, because programs then use an older call that
/// can be inspected.
fn unknown() -> Result<Rules, seccompiler::BackendError> {
    let executable = condition(1, SeccompCmpOp::MaskedEq(MFD_NOEXEC_SEAL), 0)?;
    Ok(Rules::from([
        (libc::SYS_clone3, Vec::new()),
        (libc::SYS_memfd_create, vec![SeccompRule::new(vec![executable])?]),
    ]))
}

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

/// Refuses the second numbering of system calls that some kernels have on this processor: the rest
/// of the filter knows the first only.
#[cfg(target_arch = "x86_64")]
fn other_numbering() -> Option<BpfProgram> {
    const FIRST_OF_OTHER: u32 = 0x4000_0000;
    let instruction = |code: u32, jt, jf, k| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    Some(vec![
        // The number is the first field of what a filter sees.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, FIRST_OF_OTHER),
        instruction(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        instruction(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbering() -> Option<BpfProgram> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::roots::WritableFolder;

    fn order(writable: &[&str], network: bool) -> Order {
        let identity = pellucid_files::FileIdentity { device: 0, number: 0 };
        Order {
            network,
            writable: writable.iter().map(|path| WritableFolder { path: path.into(), identity }).collect(),
            ..Order::new(Backend::Landlock, vec!["true".into()])
        }
    }

    #[test]
    fn every_policy_has_a_filter() {
        for (writable, network) in [(&[][..], false), (&["/w"], false), (&["/w"], true)] {
            assert!(programs(&order(writable, network)).is_ok());
        }
    }

    #[test]
    fn traffic_and_metadata_depend_on_the_policy() {
        let has = |order: &Order, call| refused(order).unwrap().contains_key(&call);
        assert!(has(&order(&[], false), libc::SYS_connect));
        assert!(!has(&order(&["/w"], true), libc::SYS_connect));
        assert!(has(&order(&[], false), libc::SYS_fchmod));
        assert!(!has(&order(&["/w"], false), libc::SYS_fchmod));
        assert!(has(&order(&["/w"], true), libc::SYS_ptrace));
    }

    #[test]
    fn scheduling_is_refused_where_other_processes_have_numbers() {
        let has = |backend| {
            let order = Order { backend, ..order(&["/w"], false) };
            refused(&order).unwrap().contains_key(&libc::SYS_sched_setaffinity)
        };
        assert_eq!([Backend::Namespaces, Backend::Bubblewrap, Backend::Landlock].map(has), [false, false, true]);
    }
}
