//! The arguments of `trust`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;

#[derive(Debug, ClapArgs)]
pub struct TrustArgs {
    #[command(subcommand)]
    pub command: TrustCommand,
}

#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Show what a trusted project's config.toml may reach, and accept it.
    ///
    /// Values about programs, providers, addresses and permissions count once you have accepted them, for as long as
    /// they stay as they are. See docs/trust.md.
    Accept(TrustAcceptArgs),
    /// List accepted files, and whether they changed since.
    List,
    /// Take back what was accepted of a file, or of all files in a folder.
    Revoke(TrustRevokeArgs),
}

#[derive(Debug, ClapArgs)]
pub struct TrustAcceptArgs {
    /// The project: a folder of it, or its config.toml.
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,

    /// Accept what is shown without being asked.
    #[arg(short, long)]
    pub yes: bool,

    /// Show and accept the project's instruction files instead.
    ///
    /// From then on, a file of the project that is new or has changed is left out, with a warning, until you accept it.
    #[arg(long)]
    pub instructions: bool,
}

#[derive(Debug, ClapArgs)]
pub struct TrustRevokeArgs {
    /// The project: a folder of it, or its config.toml.
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
}
