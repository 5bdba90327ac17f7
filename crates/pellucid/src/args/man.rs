//! The arguments of `man`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: pellucid man sessions list | man -l -")]
pub struct ManArgs {
    /// The command, such as `sessions list`; without one, the page of the program.
    #[arg(value_name = "COMMAND", conflicts_with = "to")]
    pub path: Vec<String>,

    /// Write the pages of all commands into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}
