//! Arguments of `compact`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::session_ref::SessionRef;
use crate::args::turn::StartArgs;
use crate::start::Which;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Prints the tokens of the history before and after, the replaced items, the summary, and which paths, names, open \
tasks and requirements are missing from the summary. The session file only grows: replaced items stay in it, and \
--undo restores them, for this program and for the Codex CLI.")]
pub struct CompactArgs {
    #[command(flatten)]
    pub start: StartArgs,

    #[command(flatten)]
    pub of: SessionRef,

    /// Show what would change and leave the session unchanged. Without --summary the model is still asked, and that
    /// request is recorded.
    #[arg(long)]
    pub dry_run: bool,

    /// Use the text of this file instead of asking the model for a summary.
    #[arg(long, value_name = "FILE", conflicts_with = "undo")]
    pub summary: Option<PathBuf>,

    /// Change the summary in $VISUAL or $EDITOR before it is stored.
    #[arg(long, conflicts_with = "undo")]
    pub edit: bool,

    /// Undo the last compaction; repeat it to undo the one before.
    #[arg(long)]
    pub undo: bool,

    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}

impl CompactArgs {
    /// The session that is meant.
    pub fn which(&self) -> Which {
        self.of.session.clone().map_or(Which::Newest { everywhere: false }, Which::Id)
    }
}
