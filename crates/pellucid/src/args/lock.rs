//! `context lock` and `context check`.

use clap::Args as ClapArgs;
use clap::ValueEnum;

use crate::args::turn::TurnArgs;

/// The arguments of `context lock`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The file is the same on every machine: only files and configuration of the project count, as if you trusted all of them, \
and facts of the machine are placeholders. The [policy] of an existing lock is kept. See docs/ci.md.

Example: pellucid context lock

Exit status: 0 written, 1 not written because something cannot be read, 2 wrong usage, 3 the existing lock has a later format.")]
pub struct ContextLockArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    #[command(flatten)]
    pub tools: LockToolArgs,

    /// Let your files and configuration count too; such a lock is yours, and fails on other machines.
    #[arg(long)]
    pub with_user: bool,
}

/// The arguments of `context check`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The check makes the request again and compares it with context.lock. It needs no key, no network and no model. \
[policy] in the lock says which findings are errors. See docs/ci.md.

Example: pellucid context check --format text

Exit status: 0 no errors, 1 errors, 2 wrong usage, 3 the answer is unknown: no lock, or a lock of a later format.")]
pub struct ContextCheckArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    #[command(flatten)]
    pub tools: LockToolArgs,

    /// The form of the findings: lines, one JSON object, or annotations for GitHub.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = CheckForm::Text)]
    pub format: CheckForm,

    /// Print the findings as JSON, as --format json does.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Write the lock again after the findings are printed; `[policy]` is kept.
    ///
    /// The status is 1 if the policy refuses the request as it is now, such as one with hidden characters.
    #[arg(long)]
    pub update: bool,

    /// Print what `context diff lock now` prints behind the findings.
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
}

/// Whether MCP servers of the project are started.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub struct LockToolArgs {
    /// Start the MCP servers of the project for their tools, or leave their tools out.
    ///
    /// A check never starts a program because the repository says so: a lock that was made with `connect` is checked with
    /// `connect`.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = LockMcp::Off)]
    pub mcp: LockMcp,
}

/// Where a lock has the tools of MCP servers from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockMcp {
    Off,
    Connect,
}

/// Forms of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckForm {
    Text,
    Json,
    Github,
}
