//! Arguments of `prompt`.

use clap::Args as ClapArgs;
use clap::ValueEnum;

use crate::args::request::NAMES;
use crate::args::request::RequestArgs;
use crate::args::turn::TurnArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = NAMES)]
pub struct PromptArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    #[command(flatten)]
    pub request: RequestArgs,

    /// How to print it: readable, as indented JSON, or the exact bytes.
    #[arg(long, value_enum, default_value_t = PromptFormat::Text)]
    pub format: PromptFormat,

    /// Print the instructions and, for every API format, the exact body with its SHA-256.
    #[arg(long, conflicts_with = "format")]
    pub full: bool,
}

/// How a request is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PromptFormat {
    Text,
    Json,
    Body,
}
