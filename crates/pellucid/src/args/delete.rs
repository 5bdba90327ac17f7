//! `sessions delete`: sessions that are no longer wanted.

use clap::Args as ClapArgs;

use crate::args::session_ref::SessionList;

/// `sessions delete`.
///
/// Deletes the session files, archived or not, the records of what was sent, whole outputs of commands, values beside the
/// sessions, their names, and long texts that no other session uses. This cannot be undone; `sessions archive` only puts a
/// session away. Nothing is ever deleted without this command.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Example: pellucid sessions delete --dry-run 019a7d31

Exit status: 0 if the sessions are deleted or listed, 1 if not, 2 for wrong usage.")]
pub struct DeleteArgs {
    #[command(flatten)]
    pub of: SessionList,

    /// Do not ask. Needed where there is no terminal.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,

    /// List what would be deleted, and delete nothing.
    #[arg(long)]
    pub dry_run: bool,
}
