//! The attempts: what each does, and what to make of how it went.
//!
//! Not here: running them on backends (`suite`).

mod files;
mod kernel;
mod processes;
mod protected;
mod roots;
mod scheduling;
mod sockets;

use std::io;
use std::process::Command;
use std::process::ExitCode;

use rustix::io::Errno;

use crate::world::World;

/// One attempt to leave the sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// The name in the table and on the command line.
    pub name: &'static str,
    /// A description for people.
    pub what: &'static str,
    /// The gap of a backend, by its id, through which it may go if the backend says so openly.
    pub gap: Option<&'static str>,
    /// On which backends that gap is.
    pub leaks: Leaks,
    /// Under which policies it means something.
    pub under: Under,
    run: fn(&World) -> Tried,
}

/// Backends with a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaks {
    /// Landlock alone has the gap.
    Landlock,
    /// Backends with mounts have the gap.
    Mounts,
    /// All backends have the gap.
    All,
}

/// Policies under which an attempt means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    /// Under any sandbox policy.
    Any,
    /// Under policies that allow writing somewhere.
    Writing,
}

/// How an attempt went.
pub type Tried = Result<(), Failure>;

/// Why it did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The attempt failed; the error shows whether it was denied.
    Failed(io::Error),
    /// The attempt was denied, as far as can be seen.
    Denied(String),
    /// The attempt cannot be made on this machine.
    Skipped(String),
}

impl<E: Into<io::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

const fn attempt(name: &'static str, what: &'static str, run: fn(&World) -> Tried) -> Attempt {
    Attempt { name, what, gap: None, leaks: Leaks::Landlock, under: Under::Any, run }
}

impl Attempt {
    const fn gap(mut self, id: &'static str) -> Self {
        self.gap = Some(id);
        self
    }

    const fn leaks(mut self, leaks: Leaks) -> Self {
        self.leaks = leaks;
        self
    }

    const fn writing(mut self) -> Self {
        self.under = Under::Writing;
        self
    }
}

/// The attempts, grouped by subject.
pub const GROUPS: &[(&str, &[Attempt])] = &[
    ("Files outside of writable roots", files::ATTEMPTS),
    ("What is protected inside of them", protected::ATTEMPTS),
    ("What is missing, linked or further down", roots::ATTEMPTS),
    ("Network and sockets", sockets::ATTEMPTS),
    ("Other processes", processes::ATTEMPTS),
    ("Making others wait", scheduling::ATTEMPTS),
    ("The kernel", kernel::ATTEMPTS),
];

/// All attempts of all groups.
pub fn all() -> impl Iterator<Item = &'static Attempt> {
    GROUPS.iter().flat_map(|(_, attempts)| attempts.iter())
}

/// The result of an attempt, in words that are passed between processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The attempt got out.
    Out,
    /// The attempt was denied.
    Denied,
    /// The attempt failed for an unrelated reason.
    Odd,
    /// The attempt cannot be made on this machine.
    Skipped,
}

impl Outcome {
    const ALL: [(Self, &'static str); 4] =
        [(Self::Out, "out"), (Self::Denied, "denied"), (Self::Odd, "odd"), (Self::Skipped, "skipped")];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(it, _)| *it == self).map_or("odd", |(_, word)| word)
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, it)| *it == word).map(|(it, _)| *it)
    }
}

/// How a denial looks: no right, no write, another mount, in use, unknown call, no such process.
const DENIALS: [Errno; 7] =
    [Errno::PERM, Errno::ACCESS, Errno::ROFS, Errno::XDEV, Errno::BUSY, Errno::NOSYS, Errno::SRCH];

/// Makes one attempt in this process and says how it went.
pub fn run_one(name: &str) -> ExitCode {
    let Some(attempt) = all().find(|it| it.name == name) else {
        println!("odd no attempt is called {name}");
        return ExitCode::FAILURE;
    };
    let (outcome, detail) = match (attempt.run)(&World::told()) {
        Ok(()) => (Outcome::Out, String::new()),
        Err(Failure::Denied(why)) => (Outcome::Denied, why),
        Err(Failure::Skipped(why)) => (Outcome::Skipped, why),
        Err(Failure::Failed(error)) => {
            let is_denial = Errno::from_io_error(&error).is_some_and(|it| DENIALS.contains(&it));
            (if is_denial { Outcome::Denied } else { Outcome::Odd }, error.to_string())
        }
    };
    println!("{} {}", outcome.word(), detail.replace('\n', " "));
    ExitCode::SUCCESS
}

/// Makes attempts one after the other, each in a separate process.
pub fn run_each(names: &[&str]) -> ExitCode {
    let ourselves = std::env::current_exe().unwrap();
    for name in names {
        let output = Command::new(&ourselves).args(["attempt", name]).output();
        let said = match output {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            // A filter that ends the process denies as well.
            Ok(output) => format!("denied the process ended with {}", output.status),
            Err(error) => format!("odd {error}"),
        };
        println!("{name} {said}");
    }
    ExitCode::SUCCESS
}

/// Reads a line of [`run_each`]: name, outcome, detail.
pub fn read_line(line: &str) -> Option<(&str, Outcome, &str)> {
    let (name, rest) = line.split_once(' ')?;
    let (word, detail) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((name, Outcome::from_word(word)?, detail))
}
