//! `context bisect`: at which commit, request or part an answer changes.

use clap::ArgGroup;
use clap::Args as ClapArgs;
use clap::ValueEnum;

use crate::args::numbers::amount;
use crate::args::numbers::limit;
use crate::args::numbers::number;
use crate::args::request::McpLists;
use crate::args::turn::TurnArgs;

/// The arguments of `context bisect`.
#[derive(Debug, ClapArgs)]
#[command(
    group = ArgGroup::new("search").args(["good", "sessions", "parts"]).required(true),
    group = ArgGroup::new("question").args(["contains", "lacks", "part", "tokens_over", "finding", "run"]),
    after_help = "\
Commits: the request is that of `now@REV`, so nothing is checked out. The answer to the question is yes for bad commits and no \
for good ones. Only first parents are followed: a merge is one commit.

CMD runs with `sh -c` in the sandbox (read-only, or as --sandbox says) and gets the body of the request on standard input, or \
with --parts the model's answer. It ends with 0 for good, 125 to skip, anything else for bad.

Examples:
  pellucid context bisect --good HEAD~5 --bad HEAD --lacks \"Never push.\"
  pellucid context bisect --good HEAD~5 --bad HEAD --finding drift
  pellucid context bisect --good HEAD~5 --bad HEAD --run 'grep -q \"Never push\"'
  pellucid context bisect --sessions 019a0000 019b0000
  pellucid context bisect --parts 019a0000#1 --script answers.toml --run 'grep -q done'

Exit status: 0 found, 1 the ends do not differ as said, 2 wrong usage, 3 the answer is unknown: only skipped commits remain, or a \
limit is reached."
)]
pub struct ContextBisectArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// A commit for which the answer is no; an ancestor of --bad.
    #[arg(long, value_name = "REV", requires_all = ["bad", "question"])]
    pub good: Option<String>,

    /// A commit for which the answer is yes.
    #[arg(long, value_name = "REV", requires = "good")]
    pub bad: Option<String>,

    /// The request contains this text.
    #[arg(long, value_name = "TEXT", requires = "good", allow_hyphen_values = true)]
    pub contains: Option<String>,

    /// The request does not contain this text.
    #[arg(long, value_name = "TEXT", requires = "good", allow_hyphen_values = true)]
    pub lacks: Option<String>,

    /// This part or file is not what it is at --good.
    #[arg(long, value_name = "NAME", requires = "good")]
    pub part: Option<String>,

    /// The request has more tokens than this.
    #[arg(long, value_name = "N", value_parser = number, requires = "good")]
    pub tokens_over: Option<usize>,

    /// The report of the request has a finding of this kind.
    ///
    /// For the kinds that compare with a lock, the lock is the context.lock of today, and the request is the one that `context
    /// check` makes. Other kinds of `context check` are not listed, because pack, tools, settings and program are those of today
    /// for every commit.
    #[arg(long, value_enum, value_name = "KIND", requires = "good")]
    pub finding: Option<FindingArg>,

    /// This command ends neither with 0 nor with 125.
    #[arg(long, value_name = "CMD", allow_hyphen_values = true, conflicts_with = "sessions")]
    pub run: Option<String>,

    /// Find the first request at which two sessions diverge, and the first row.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub sessions: Option<Vec<String>>,

    /// Find a smallest set of parts of this request without which the outcome of --run goes away.
    ///
    /// Parts are files, sections of files by heading, skills, tools, memories and older turns. The request is sent again with
    /// fewer and fewer of them. The outcome is what CMD says of the answer to the whole request.
    #[arg(long, value_name = "SESSION#N", requires = "run")]
    pub parts: Option<String>,

    /// Send at most so many requests. With --parts, this or --max-cost is required where no --script answers.
    #[arg(long, value_name = "N", value_parser = limit, requires = "parts")]
    pub max_requests: Option<u64>,

    /// Spend at most this much money, in the currency of the model's price (see docs/prices.md).
    #[arg(long, value_name = "AMOUNT", value_parser = amount, requires = "parts")]
    pub max_cost: Option<f64>,

    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,

    /// Where the tools of MCP servers come from, for requests that were not sent.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,
}

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindingArg {
    /// A text is cut or left out because a budget was spent.
    Truncated,
    /// A file is not read, because another file comes first.
    Shadowed,
    /// An instruction file has characters that a person does not see.
    Hidden,
    /// A file that a layout or a setting names is not there.
    Missing,
    /// A file or skill has the same content as another, and is sent once.
    Duplicate,
    /// A source has another text than context.lock says.
    Drift,
    /// A source is not in context.lock.
    Added,
    /// A source of context.lock is not in the request.
    Removed,
    /// The request or a part has more tokens than the policy of context.lock allows.
    #[value(name = "over_budget")]
    OverBudget,
}
