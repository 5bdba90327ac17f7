//! `--from`: sessions of other agents.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// A folder with the session files of another agent, for commands that change nothing.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct FromArgs {
    /// Take sessions of another agent from this folder, such as ~/.claude/projects or ~/.codex/sessions.
    ///
    /// Files of Claude Code and of the Codex CLI are read and not changed; one file may be named, too. Answers are
    /// reconstructed: tokens are those that the file has, sizes are estimated.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
}
