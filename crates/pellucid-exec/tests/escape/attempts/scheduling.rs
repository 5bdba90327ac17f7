//! Making others wait: how much of the machine other processes get, files that they want to open, and what changes a
//! file that is open for reading only.
//!
//! No safe function makes these calls, so a program does that is nearly everywhere.

use std::fs;
use std::io;
use std::process::Command;

use nix::libc;

use super::Attempt;
use super::Failure;
use super::Tried;
use super::attempt;
use crate::world::World;

pub const ATTEMPTS: &[Attempt] = &[
    attempt("agent-priority", "the agent's priority", |world| {
        call(libc::SYS_setpriority, &format!("0, {}, 0", world.agent))
    }),
    attempt("agent-processors", "the processors that the agent runs on", |world| {
        // The very ones it has: those of this process, which inherited them.
        let own = "my $m = \"\\0\" x 128; syscall(ASK, 0, 128, $m) > 0 or exit $!;";
        let own = own.replace("ASK", &libc::SYS_sched_getaffinity.to_string());
        perl(&format!("{own} {}", said(libc::SYS_sched_setaffinity, &format!("{}, 128, $m", world.agent))), world)
    }),
    attempt("agent-scheduler", "how the agent is scheduled", |world| {
        call(libc::SYS_sched_setscheduler, &format!("{}, 0, my $p = pack('i', 0)", world.agent))
    }),
    attempt("agent-scheduler-settings", "the settings of that", |world| {
        call(libc::SYS_sched_setparam, &format!("{}, my $p = pack('i', 0)", world.agent))
    }),
    attempt("agent-scheduler-attributes", "the same by a newer system call", |world| {
        call(libc::SYS_sched_setattr, &format!("{}, my $p = pack('LLQlLQQQ', 48, 0, 0, 0, 0, 0, 0, 0), 0", world.agent))
    }),
    attempt("agent-disk-priority", "the agent's turn at the disk", |world| {
        call(libc::SYS_ioprio_set, &format!("1, {}, {}", world.agent, (2 << 13) | 4))
    }),
    attempt("agent-pages", "where the agent's memory lies", |world| {
        call(libc::SYS_migrate_pages, &format!("{}, 2, my $p = pack('Q', 1), my $q = pack('Q', 1)", world.agent))
    }),
    attempt("agent-open-files", "the numbers of the agent's open files", |world| {
        let folder = format!("/proc/{}/fd", world.agent);
        fs::read_dir(folder).map(drop).map_err(|error| Failure::Denied(error.to_string()))
    })
    .gap("open-files"),
    attempt("lease", "a lease on a file, for which others wait", |world| {
        // One of readers, for which a file is open for reading.
        perl("exit(defined fcntl(F, 1024, 0) ? 0 : $!);", world)
    }),
    attempt("file-generation", "the generation of a file that is open for reading", |world| {
        perl("my $n = pack('l', 4242); exit(defined ioctl(F, 0x40087602, $n) ? 0 : $!);", world)
    }),
    attempt("file-extended-flags", "the extended flags of a file that is open for reading", |world| {
        perl(
            "my $x = \"\\0\" x 28; defined ioctl(F, 0x801c581f, $x) or exit $!; \
             exit(defined ioctl(F, 0x401c5820, $x) ? 0 : $!);",
            world,
        )
    }),
];

fn call(number: i64, arguments: &str) -> Tried {
    perl(&said(number, arguments), &World::told())
}

/// A system call whose success is the program's.
fn said(number: i64, arguments: &str) -> String {
    format!("exit(syscall({number}, {arguments}) < 0 ? $! : 0);")
}

/// Runs a piece of Perl with the file outside open for reading. It ends with the number of an error, or 0.
fn perl(text: &str, world: &World) -> Tried {
    let text = format!("open(F, '<', $ARGV[0]) or exit $!; {text}");
    let ended = Command::new("perl").args(["-e", &text]).arg(world.outside.join("quiet")).output();
    let status = match ended {
        Ok(output) => output.status,
        Err(error) => return Err(Failure::Skipped(format!("perl: {error}"))),
    };
    match status.code() {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number).into()),
        None => Err(Failure::Denied(status.to_string())),
    }
}
