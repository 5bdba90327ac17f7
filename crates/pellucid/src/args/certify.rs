//! `sessions certify`: the resume certificate.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::request::McpLists;
use crate::args::session_ref::SessionRef;
use crate::args::turn::TurnArgs;

/// `sessions certify`.
///
/// Prints one JSON object with the digests of the last request and of the beginning of the next one. It has no time, no path
/// and no text of the session.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Example: pellucid sessions certify 019a7d31 > before.json; pellucid sessions certify 019a7d31 --check before.json

Exit status: 0 if the next request extends the last one, 1 if it diverges or the certificate differs from FILE, 2 for wrong \
usage, 3 if it cannot be proved.")]
pub struct CertifyArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    #[command(flatten)]
    pub of: SessionRef,

    /// Compare with this certificate, and print what differs.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,

    /// Where the tools of MCP servers come from.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,
}
