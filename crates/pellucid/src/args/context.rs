//! `context` and the commands that ask about requests.

use clap::ArgAction;
use clap::Args as ClapArgs;
use clap::Subcommand;
use clap::ValueEnum;

use crate::args::bisect::ContextBisectArgs;
use crate::args::from::FromArgs;
use crate::args::lock::ContextCheckArgs;
use crate::args::lock::ContextLockArgs;
use crate::args::packs::ContextPacksArgs;
use crate::args::request::McpLists;
use crate::args::request::NAMES;
use crate::args::request::RequestArgs;
use crate::args::seen::ContextSeenArgs;
use crate::args::turn::TurnArgs;
use crate::args::why::ContextWhyArgs;

/// The arguments of `context`.
#[derive(Debug, ClapArgs)]
#[command(after_help = NAMES, args_conflicts_with_subcommands = true)]
pub struct ContextArgs {
    #[command(subcommand)]
    pub command: Option<ContextCommand>,

    #[command(flatten)]
    pub turn: TurnArgs,

    #[command(flatten)]
    pub request: RequestArgs,

    #[command(flatten)]
    pub from: FromArgs,

    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,

    /// Open the groups of the first screen; twice: list every part of the request.
    ///
    /// With one -v the report also lists what was left out, every instruction file that was looked for, and
    /// characters that a terminal does not show.
    #[arg(short, long, action = ArgAction::Count, conflicts_with_all = ["json", "form"])]
    pub verbose: u8,

    /// Another form of the report.
    ///
    /// `map` draws the parts of the request by size, `injections` lists what was injected, and `list`,
    /// `detail` and `json` have the sizes of files, skills and tools in the system prompt.
    #[arg(long, value_enum, conflicts_with_all = ["json", "exact_tokens"])]
    pub form: Option<ContextForm>,

    /// Count tokens with the model's own encoding instead of estimating them from bytes.
    ///
    /// Each row is counted on its own text, escapes undone, so a row's figure is what any other
    /// program with that encoding says of the same text. Images are not counted.
    #[arg(long)]
    pub exact_tokens: bool,
}

/// Forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContextForm {
    List,
    Detail,
    Json,
    Map,
    Injections,
}

/// The subcommands of `context`.
#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Compare two requests, or two sessions.
    ///
    /// Shows what was added, removed, changed and moved, and where the provider's cache diverges.
    Diff(ContextDiffArgs),
    /// Lock what the first request of a new session is made of.
    ///
    /// Writes context.lock at the top of the project.
    Lock(ContextLockArgs),
    /// Compare the first request of a new session with the lock.
    Check(ContextCheckArgs),
    /// Say why something is in a request, or is not.
    ///
    /// The thing is a line of a file, a text, a byte, a part, a tool, a skill or a call.
    Why(ContextWhyArgs),
    /// Show what each pack sends of the same facts.
    ///
    /// Facts are files, skills, folder, shell, tools and the message.
    Packs(ContextPacksArgs),
    /// List what the model was shown, and which files changed since.
    Seen(ContextSeenArgs),
    /// Find the commit, the request or the parts at which an answer changes.
    Bisect(Box<ContextBisectArgs>),
}

/// The arguments of `context diff`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A and B are names of requests, each a REF (see `pellucid context --help`). Two names of sessions without a number compare the sessions, \
request by request.

Example: pellucid context diff now@HEAD~1 now

Exit status: 0 no difference, 1 a difference, 2 wrong usage, 3 the answer is unknown.")]
pub struct ContextDiffArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// The request that is compared from.
    #[arg(value_name = "A")]
    pub a: String,

    /// The request that is compared to.
    #[arg(value_name = "B")]
    pub b: String,

    /// Show the bytes as they are sent, not the texts behind them.
    #[arg(long, conflicts_with = "json")]
    pub bytes: bool,

    /// Show facts that differ between any two sessions too, such as the id of the session and the folder.
    #[arg(long)]
    pub all: bool,

    /// Print the diff as JSON.
    #[arg(long)]
    pub json: bool,

    /// Where the tools of MCP servers come from, for requests that were not sent.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,
}
