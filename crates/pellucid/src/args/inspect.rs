//! `inspect`: a page about what sessions sent.

use clap::Args as ClapArgs;

use crate::args::from::FromArgs;

/// The arguments of `inspect`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The page is served on a loopback address of this machine. The printed address has a code that works once: the first browser that \
opens it gets a cookie, and every other request is refused. The page reads session files and their records and \
changes nothing, unless --allow-fork lets it copy a session. It ends with Ctrl-C, or 30 minutes after the last browser has left.

Examples:
  pellucid inspect
  pellucid inspect 019a7d31#7
  pellucid inspect --live
  pellucid inspect --from ~/.claude/projects

Exit status: 0, 1 if the address cannot be bound, 2 for wrong usage.")]
pub struct InspectArgs {
    /// A session, or one of its requests as SESSION#N; without one the page lists all sessions.
    #[arg(value_name = "REF")]
    pub reference: Option<String>,

    #[command(flatten)]
    pub from: FromArgs,

    /// Follow the session that was used last.
    #[arg(long, conflicts_with_all = ["reference", "from"])]
    pub live: bool,

    /// Open the page in a browser.
    ///
    /// The browser is started with the address, code included, which other users of this machine can see among its
    /// arguments until the browser has opened the page.
    #[arg(long)]
    pub open: bool,

    /// Let the page copy a session up to a request, as `pellucid fork SESSION#N` does.
    #[arg(long, conflicts_with = "from")]
    pub allow_fork: bool,

    /// Listen on this port instead of a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,

    /// Print the JSON Schemas of the answers for programs, and end.
    #[arg(long, conflicts_with_all = ["reference", "from", "live", "open", "allow_fork", "port"])]
    pub schema: bool,
}
