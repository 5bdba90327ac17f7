//! Arguments of `skills`.

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::list::ListArgs;

#[derive(Debug, ClapArgs)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List every skill with its scope, whether it is used, and its path.
    List(ListArgs),
}
