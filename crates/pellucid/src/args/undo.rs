//! The command line of `undo` and `redo`.

use clap::Args as ClapArgs;

use crate::args::numbers::number_from_one;
use crate::args::session_ref::SessionRef;

/// The arguments of `undo`.
#[derive(Debug, ClapArgs)]
#[command(
    group = clap::ArgGroup::new("extent").args(["files", "conversation", "both"]).multiple(false),
    after_help = "\
Files are undone from what the session kept when it applied patches, so this works outside of git too. A file whose text is \
not the one that the session wrote is never overwritten: it is named, and nothing is written. What commands did is not undone: \
those commands are listed. `pellucid redo` undoes the last undo.

Examples:
  pellucid undo --last --dry-run
  pellucid undo SESSION --turn 2 --both

Exit status: 0 undone, 1 if a file changed since or there is nothing to undo, 2 for wrong usage."
)]
pub struct UndoArgs {
    #[command(flatten)]
    pub of: SessionRef,

    /// Go back to the state before this turn, your message number N. Default: the last turn.
    #[arg(long, value_name = "N", value_parser = number_from_one)]
    pub turn: Option<usize>,

    /// Undo what patches changed in files, and keep the conversation (the default).
    #[arg(long)]
    pub files: bool,

    /// Remove the turns from the conversation, and keep the files.
    #[arg(long)]
    pub conversation: bool,

    /// Undo files and conversation.
    #[arg(long)]
    pub both: bool,

    /// Leave files as they are that changed since, and undo the others.
    #[arg(long)]
    pub skip_changed: bool,

    /// Show what would be undone, and change nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `redo`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A file that changed since the undo is never overwritten: it is named, and nothing is written. Turns come back only if no turn \
followed the undo.

Exit status: 0 done, 1 if a file changed since or there is nothing to redo, 2 for wrong usage.")]
pub struct RedoArgs {
    #[command(flatten)]
    pub of: SessionRef,

    /// Show what would be done again, and change nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}
