//! The command line of `models`.

use clap::Args as ClapArgs;
use clap::Subcommand;

#[derive(Debug, ClapArgs)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List every known model, and mark the one that is configured.
    ///
    /// Prices are for a million tokens; a model without a known price has none (see docs/prices.md).
    List(ModelsListArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ModelsListArgs {
    /// The configuration profile to use.
    #[arg(id = "models_profile", short = 'p', long = "profile", value_name = "PROFILE")]
    pub profile: Option<String>,

    /// List models too that pickers do not show.
    #[arg(long)]
    pub all: bool,

    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,
}
