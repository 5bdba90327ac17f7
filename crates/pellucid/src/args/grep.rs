//! `sessions grep`: which requests contain a text.

use clap::Args as ClapArgs;

use crate::args::from::FromArgs;

/// The arguments of `sessions grep`.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Prints `SESSION#N part: line` for each line that matches. A text that several requests share is one hit with their numbers \
(`SESSION#4-10`). An answer that no later request contains has the number of its own request and the part `answer`. Items \
of sessions without a record have no number.

Example: pellucid sessions grep 'cannot find -l\\w+' --since 7d

Exit status, as with grep: 0 if something matches, 1 if nothing does, 2 for wrong usage, 3 if nothing matches and a session \
cannot be read.")]
pub struct GrepArgs {
    /// A regular expression, matched line by line.
    pub pattern: String,

    /// The pattern is a text.
    #[arg(long, short = 'F')]
    pub fixed: bool,

    /// Ignore the case of letters.
    #[arg(long, short = 'i')]
    pub ignore_case: bool,

    /// Only this session: its id, the beginning of its id, or its name; may be repeated.
    #[arg(long, value_name = "SESSION", conflicts_with = "last")]
    pub session: Vec<String>,

    /// Only the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    #[command(flatten)]
    pub from: FromArgs,

    /// Only items of this role.
    #[arg(long, value_parser = ["system", "developer", "user", "assistant", "tool"])]
    pub role: Option<String>,

    /// Only this part of requests, as `context` names it; `*` is any text.
    #[arg(long)]
    pub part: Option<String>,

    /// Only text of this source: a kind such as `file`, or a file by its path or the end of its path; `*` is any text.
    #[arg(long)]
    pub source: Option<String>,

    /// Only calls of this tool and their output.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,

    /// Only requests since then: a date, a time, or how long ago (30min, 12h, 7d).
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Print the hits as JSON.
    #[arg(long)]
    pub json: bool,
}
