//! The arguments of `mcp-server`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "A program that is an MCP client starts this command and calls its tools on standard input and output. docs/mcp-server.md shows how to set it up."
)]
pub struct McpServerArgs {
    /// Answer everything that the protocol has, and offer `pellucid`, `reply`, `context` and `replay` as tools.
    ///
    /// Without this option the answers are those of Codex CLI. `mcp_server.standard = true` in the configuration is the same.
    #[arg(long)]
    pub standard: bool,

    /// Listen for streamable HTTP on this loopback address, such as 127.0.0.1:8787, with the answers of --standard.
    ///
    /// A client needs a token: standard error says in which file it is; PELLUCID_MCP_SERVER_TOKEN sets it.
    #[arg(long, value_name = "IP:PORT", value_parser = loopback)]
    pub listen: Option<SocketAddr>,

    /// Let the embedded model answer from this script: no key, no network.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
}

/// A loopback address.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "expected an address such as 127.0.0.1:8787".to_owned())?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => {
            Err("other machines could reach the address; use a loopback address such as 127.0.0.1:8787".to_owned())
        }
    }
}
