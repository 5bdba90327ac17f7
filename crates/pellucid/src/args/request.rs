//! Which request `prompt` and `context` show.

use clap::Args as ClapArgs;
use clap::ValueEnum;

use crate::args::StoredArgs;

/// What is said below the help of both.
pub const NAMES: &str = "\
REF is the name of a request:
  SESSION        the last request of a session: its id, the beginning of its id, or its name
  SESSION#N      its request number N, from 1, as `replay` counts
  SESSION#next   what it would send next; a message may follow
  now            the first request of a new session here; a message may follow
  now@REV        the same with the project's files of a git revision; your own files stay as they are
  lock           what the lock file says (this version writes none)
  file:PATH      a report that `context --json` printed

A word that has one of these forms is a REF, and so is any text that is the name of a stored session or the beginning of \
its id (4 characters or more). Everything else is your message. `--` comes before a message that looks like a REF: \
pellucid prompt -- now. With --session or --last the word is always your message.

A note on standard error says why the bytes cannot be promised, if they cannot (in JSON: certain, reasons).";

/// Which request is shown, and with which tools.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct RequestArgs {
    #[command(flatten)]
    pub stored: StoredArgs,

    /// Where the tools of MCP servers come from: the list that each server gave last, the servers themselves, which are
    /// started for it, or nowhere.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,

    /// Fail when something is left out or cut that the model should see.
    #[arg(long)]
    pub strict_context: bool,

    /// Begins the options of `now` or `now@REV`.
    #[arg(long)]
    pub with: bool,

    /// The name of a request, or what you would say. Without a message the request stops before it.
    #[arg(value_name = "REF|MESSAGE")]
    pub word: Option<String>,

    /// What you would say, after a REF.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// What you would say, whatever it looks like.
    #[arg(last = true, value_name = "MESSAGE", conflicts_with = "message")]
    pub said: Option<String>,
}

/// Where the tools of MCP servers come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum McpLists {
    /// The list that each server gave last; none is started.
    #[default]
    Cached,
    /// The servers, which are started and asked.
    Connect,
    /// They are left out.
    Off,
}
