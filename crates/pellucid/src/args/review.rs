//! Arguments of `review`.

use clap::Args as ClapArgs;

use crate::args::exec::ExecOptions;

/// The changes to review: uncommitted ones, those since a branch, those of a commit, or free instructions.
#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("what").args(["uncommitted", "base", "commit", "instructions"]).multiple(false))]
pub struct ReviewArgs {
    /// Staged, unstaged and untracked changes.
    #[arg(long)]
    pub uncommitted: bool,

    /// The changes since this branch.
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,

    /// The changes of this commit.
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,

    /// The commit's title, for the reviewer.
    #[arg(long, requires = "commit")]
    pub title: Option<String>,

    /// Instructions for the reviewer. `-` reads them from standard input.
    #[arg(value_name = "PROMPT")]
    pub instructions: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct ReviewCommandArgs {
    #[command(flatten)]
    pub options: ExecOptions,

    #[command(flatten)]
    pub review: ReviewArgs,
}
