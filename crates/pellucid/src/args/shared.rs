//! Options that every command takes.

use clap::Args as ClapArgs;

/// The heading of options that every command takes.
const EVERYWHERE: &str = "Options of every command";

/// Options that every command takes, before or after its name.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Shared {
    /// Set a configuration value; the value is TOML, or text if it is not.
    ///
    /// May be given several times. Example: -c model_reasoning_effort=high
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Append)]
    pub config: Vec<String>,

    /// Switch a feature on (see `pellucid features list`).
    #[arg(long, value_name = "FEATURE", global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Append)]
    pub enable: Vec<String>,

    /// Switch a feature off.
    #[arg(long, value_name = "FEATURE", global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Append)]
    pub disable: Vec<String>,

    /// The prompt pack: a name, or a folder by its path (see `pellucid pack list`).
    #[arg(long, value_name = "NAME_OR_DIR", global = true, help_heading = EVERYWHERE)]
    pub pack: Option<String>,
}
