//! Arguments of `exec`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;
use clap::ValueEnum;

use crate::args::numbers::amount;
use crate::args::numbers::limit;
use crate::args::review::ReviewArgs;
use crate::args::turn::TurnArgs;
use crate::start::Persistence;
use crate::start::Which;

#[derive(Debug, ClapArgs)]
#[command(after_help = "The answer is printed on standard output, everything else on standard error. \
`-i` takes every word that follows it, so put `--` before the prompt: pellucid exec -i a.png -- PROMPT")]
pub struct ExecArgs {
    #[command(flatten)]
    pub options: ExecOptions,

    /// The task for the model. `-` or no prompt reads it from standard input.
    pub prompt: Option<String>,

    #[command(subcommand)]
    pub command: Option<ExecCommand>,
}

/// How one turn is run that asks nothing.
#[derive(Debug, ClapArgs)]
pub struct ExecOptions {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// Work outside of a git repository.
    #[arg(long, global = true)]
    pub skip_git_repo_check: bool,

    /// Keep no session file.
    #[arg(long, global = true)]
    pub ephemeral: bool,

    /// Serve a page about the session while the turn runs; standard error has its address.
    #[arg(long, global = true, conflicts_with = "ephemeral")]
    pub inspect: bool,

    /// Colours on standard error.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// How questions of MCP servers are answered: `accept-defaults`, or a JSON file with values by server and field. Without
    /// this they are declined.
    #[arg(long, value_name = "ANSWERS", global = true)]
    pub elicitation: Option<PathBuf>,

    /// Stop before any request if instructions would be cut or left out.
    #[arg(long, global = true)]
    pub strict_context: bool,

    /// Send no request that makes the provider read earlier text again without an expected cause (see docs/exec.md).
    #[arg(long, global = true)]
    pub strict_cache: bool,

    /// Add events about what each request is made of to the JSON stream.
    #[arg(long, requires = "json", global = true)]
    pub context_events: bool,

    /// Spend at most N tokens; beyond that no request is sent.
    #[arg(long, value_name = "N", global = true, value_parser = limit)]
    pub max_tokens: Option<u64>,

    /// Send at most N requests.
    #[arg(long, value_name = "N", global = true, value_parser = limit)]
    pub max_requests: Option<u64>,

    /// Spend at most this much money, in the currency of the model's price (see docs/prices.md).
    #[arg(long, value_name = "AMOUNT", global = true, value_parser = amount)]
    pub max_cost: Option<f64>,

    /// Use a separate exit code for each kind of failure (see docs/exec.md).
    #[arg(long, global = true)]
    pub typed_exit_codes: bool,

    /// Print events as JSON, one on each line.
    #[arg(long, alias = "experimental-json", global = true)]
    pub json: bool,

    /// Write the final answer to this file.
    #[arg(short, long, value_name = "FILE", global = true)]
    pub output_last_message: Option<PathBuf>,

    /// Write the model's replies to this file, for `--script` (JSONL if it ends in .jsonl, else TOML).
    #[arg(long, value_name = "FILE", global = true)]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ExecCommand {
    /// Continue an earlier session.
    Resume(ResumeArgs),
    /// Review changes and print the findings.
    Review(ReviewArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    /// The session's id, the beginning of its id, or its name. An unknown one begins a new session, with a warning; with
    /// --typed-exit-codes or --strict-context it is an error.
    #[arg(value_name = "SESSION")]
    pub session_id: Option<String>,

    /// The task for the model. `-` or no prompt reads it from standard input.
    pub prompt: Option<String>,

    /// Continue the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// With --last: in any folder.
    #[arg(long)]
    pub all: bool,

    /// An image to attach; may be repeated.
    #[arg(short = 'i', long = "image", value_name = "FILE", value_delimiter = ',')]
    pub image: Vec<PathBuf>,
}

impl ExecOptions {
    /// Whether the session keeps a file.
    pub fn keep(&self) -> Persistence {
        if self.ephemeral { Persistence::Nothing } else { Persistence::File }
    }
}

impl ExecArgs {
    /// The session to continue; absent for a new session.
    pub fn resume(&self) -> Option<Which> {
        let Some(ExecCommand::Resume(resume)) = &self.command else {
            return None;
        };
        if resume.last {
            return Some(Which::Newest { everywhere: resume.all });
        }
        resume.session_id.clone().map(Which::Id)
    }

    /// The prompt: that of the subcommand if it has one, else the one before it. With `--last` a single word is the
    /// prompt.
    pub fn prompt(&self) -> Option<String> {
        let Some(ExecCommand::Resume(resume)) = &self.command else {
            return self.prompt.clone();
        };
        let own = if resume.last && resume.prompt.is_none() { &resume.session_id } else { &resume.prompt };
        own.clone().or_else(|| self.prompt.clone())
    }

    /// The images given before and after the subcommand.
    pub fn images(&self) -> Vec<PathBuf> {
        let more = match &self.command {
            Some(ExecCommand::Resume(resume)) => resume.image.as_slice(),
            Some(ExecCommand::Review(_)) | None => &[],
        };
        self.options.turn.image.iter().chain(more).cloned().collect()
    }
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Always,
    Never,
    Auto,
}
