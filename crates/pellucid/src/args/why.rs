//! The arguments of `context why`.

use clap::ArgGroup;
use clap::Args as ClapArgs;

use crate::args::request::McpLists;
use crate::args::turn::TurnArgs;

/// The arguments of `context why`.
#[derive(Debug, ClapArgs)]
#[command(
    group = ArgGroup::new("question").args(["text", "byte", "part", "tool", "skill", "call"]).multiple(false),
    after_help = "\
REF is the name of a request (see `pellucid context --help`); without one it is `now`. For a session the answer also says \
which of its requests had it.

A session is named by its id, the beginning of its id, or its name.

Examples:
  pellucid context why AGENTS.md:1
  pellucid context why --text \"read-only\"
  pellucid context why --tool apply_patch now

Exit status: 0 the request has it, 1 the request lacks it and the reason is printed, 2 wrong usage, 3 nothing that is \
known has it, or the answer is unknown."
)]
pub struct ContextWhyArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// A file or lines of it. With one of the options below: the name of a request.
    #[arg(value_name = "PATH[:LINE[-LINE]]")]
    pub what: Option<String>,

    /// The name of a request, after a file.
    #[arg(value_name = "REF", conflicts_with = "last")]
    pub reference: Option<String>,

    /// The last request of the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// A text, as it was before it was escaped.
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,

    /// A byte of the request, from 0.
    #[arg(long, value_name = "N")]
    pub byte: Option<usize>,

    /// A part, as `context` names it.
    #[arg(long, value_name = "NAME")]
    pub part: Option<String>,

    /// A tool, by its name.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,

    /// A skill, by its name or the path of its file.
    #[arg(long, value_name = "NAME")]
    pub skill: Option<String>,

    /// A call of a tool with its output, by the id of the call.
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,

    /// Your message, for a request that was not sent yet.
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,

    /// Where the tools of MCP servers come from, for requests that were not sent.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,
}
