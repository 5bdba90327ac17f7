//! Arguments of `features`.

use clap::Args as ClapArgs;
use clap::Subcommand;

#[derive(Debug, ClapArgs)]
pub struct FeaturesArgs {
    #[command(subcommand)]
    pub command: FeaturesCommand,
}

#[derive(Debug, Subcommand)]
pub enum FeaturesCommand {
    /// List every feature with its stage and whether it is on.
    List,
    /// Switch a feature on in the user's `config.toml`.
    Enable {
        /// The feature's key, as `features list` shows it.
        #[arg(value_name = "FEATURE")]
        feature: String,
    },
    /// Switch a feature off in the user's `config.toml`.
    Disable {
        /// The feature's key, as `features list` shows it.
        #[arg(value_name = "FEATURE")]
        feature: String,
    },
}
