//! The arguments of `acp`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "An editor starts this command and speaks the Agent Client Protocol, version 1, on standard input and output. docs/acp.md shows how to set it up."
)]
pub struct AcpArgs {
    /// Let the embedded model answer from this script: no key, no network.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
}
