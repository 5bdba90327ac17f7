//! Options of commands that list something.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// How something is listed.
#[derive(Debug, Clone, ClapArgs)]
pub struct ListArgs {
    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,

    /// The working directory whose skills and prompts count.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,
}
