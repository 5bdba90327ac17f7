//! Arguments of `apply`.

use clap::Args as ClapArgs;

use crate::args::session_ref::SessionIfAny;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The diff is that of the last turn in which the model applied patches; changes made by commands are not part of it. It is applied as a whole or not at all, in the repository of this folder, and nothing is staged. Exit codes: 0 applied or already applied, 1 nothing was changed (with --3way: there are conflicts)."
)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub of: SessionIfAny,

    /// See whether the diff fits, and change nothing.
    #[arg(long)]
    pub check: bool,

    /// Print the diff, and change nothing.
    #[arg(long, conflicts_with_all = ["check", "three_way"])]
    pub print: bool,

    /// Where the diff does not fit, merge it with the current files and mark conflicts in them, as git does.
    #[arg(long = "3way", short = '3', conflicts_with = "check")]
    pub three_way: bool,
}
