//! Selects the request that `prompt` and `context` show.

use clap::Args as ClapArgs;
use clap::ValueEnum;

use crate::args::stored::StoredArgs;

/// The explanation of REF below the help of `prompt` and `context`.
pub const NAMES: &str = "\
REF is the name of a request:
  SESSION        the last request of a session: its id, the beginning of its id, or its name
  SESSION#N      its request number N, from 1, as `replay` counts
  SESSION#next   what it would send next; a message may follow
  now            the first request of a new session here; a message may follow
  now@REV        the same with the project's files of a git revision; your own files stay as they are
  lock           what context.lock says, for `context diff`
  file:PATH      a report that `context --json` printed
  file:PATH.html#N
                 request N of the session in a capsule, or its last request without #N

A word that has one of these forms is a REF, and so is any text that is the name of a stored session or the beginning of \
its id (4 characters or more). Everything else is your message. `--` comes before a message that looks like a REF: \
pellucid prompt -- now. With --session or --last the word is always your message.

A note on standard error says why the bytes cannot be promised, if they cannot (in JSON: certain, reasons).";

/// Selects the request that `prompt` and `context` show, and the source of its MCP tools.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct RequestArgs {
    #[command(flatten)]
    pub stored: StoredArgs,

    /// Source of the tools of MCP servers: the list that each server sent last, the servers themselves, which are
    /// started for it, or none.
    #[arg(long, value_enum, value_name = "FROM", default_value_t = McpLists::Cached)]
    pub mcp: McpLists,

    /// Fail when something is left out or cut that the model should see.
    #[arg(long)]
    pub strict_context: bool,

    /// Begins the options of `now` or `now@REV`.
    #[arg(long)]
    pub with: bool,

    /// The name of a request, or your message. Without a message the request stops before it.
    #[arg(value_name = "REF|MESSAGE")]
    pub word: Option<String>,

    /// Your message, after a REF.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// Your message, after `--`, even if it looks like a REF.
    #[arg(last = true, value_name = "MESSAGE", conflicts_with = "message")]
    pub said: Option<String>,

    /// Whether warnings are left out, for a request that is made only to be compared.
    #[arg(skip)]
    pub is_quiet: bool,
}

/// Source of the tools of MCP servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum McpLists {
    /// The list that each server gave last; none is started.
    #[default]
    Cached,
    /// The servers, which are started and asked.
    Connect,
    /// The request has no tools of MCP servers.
    Off,
}
