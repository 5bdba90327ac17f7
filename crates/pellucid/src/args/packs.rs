//! The arguments of `context packs`.

use clap::Args as ClapArgs;

use crate::args::request::McpLists;
use crate::args::turn::TurnArgs;

/// The arguments of `context packs`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The columns are the built-in packs, and the one of --pack and each of --with-pack. A column adds up to the request that \
`pellucid --pack NAME context MESSAGE` reports.

Examples:
  pellucid context packs \"fix the tests\"
  pellucid context packs --only-differences

Exit status: 0 the table is printed, 1 a pack cannot be used, 2 wrong usage.")]
pub struct ContextPacksArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// What you would say to the model.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// A further pack, by its name or its folder; may be repeated.
    #[arg(long, value_name = "NAME_OR_DIR")]
    pub with_pack: Vec<String>,

    /// Show only facts that packs send differently.
    #[arg(long)]
    pub only_differences: bool,

    /// Print the table as JSON.
    #[arg(long)]
    pub json: bool,

    /// With --json: each cell has the text that the pack sends.
    #[arg(long, requires = "json")]
    pub texts: bool,

    /// Where the tools of MCP servers come from.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,
}
