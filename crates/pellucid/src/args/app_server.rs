//! The arguments of `app-server`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;
use pellucid_server::transport::listen::Listen;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AppServerArgs {
    /// Where clients connect: stdio:// for one client on standard input and output, ws://127.0.0.1:PORT for
    /// several over WebSockets.
    ///
    /// A WebSocket client needs a token: standard error says in which file it is; PELLUCID_APP_SERVER_TOKEN sets it.
    #[arg(long, value_name = "URL", default_value = "stdio://")]
    pub listen: Listen,

    /// Let the embedded model answer from this script: no key, no network.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Serve a page about the sessions as long as the server runs; standard error has its address.
    #[arg(long)]
    pub inspect: bool,

    #[command(subcommand)]
    pub command: Option<AppServerCommand>,
}

#[derive(Debug, Subcommand)]
pub enum AppServerCommand {
    /// Write the protocol as JSON Schemas.
    GenerateJsonSchema(GenerateArgs),
    /// Write the protocol as TypeScript types.
    GenerateTs(GenerateArgs),
}

#[derive(Debug, ClapArgs)]
pub struct GenerateArgs {
    /// The folder to write to; it is created if it does not exist.
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,

    /// With what may still change.
    #[arg(long)]
    pub experimental: bool,
}
