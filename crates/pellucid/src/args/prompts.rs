//! Arguments of `prompts`.

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::list::ListArgs;

#[derive(Debug, ClapArgs)]
pub struct PromptsArgs {
    #[command(subcommand)]
    pub command: PromptsCommand,
}

#[derive(Debug, Subcommand)]
pub enum PromptsCommand {
    /// List every custom prompt with its arguments and description.
    List(ListArgs),
}
