//! `cache`: why something is paid for again.

use clap::Args as ClapArgs;

use crate::args::from::FromArgs;
use crate::args::numbers::limit;
use crate::args::numbers::number;
use crate::args::numbers::number_from_one;
use crate::args::session_ref::SessionRef;

/// The arguments of `cache`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A provider bills what it has read before at a lower price, as long as a request begins with it. Verdicts: `cold` is the first \
request, `extended` begins with the request before, `broken` does not, `shortened` lost turns at its end, `expired` came \
later than the provider keeps what it read, `missed` came in time and was not read from the cache, `unknown` has no figures \
of the provider. Tokens are estimated from bytes, but for those that the provider read.

Example: pellucid cache --last

Exit status: 0, or 1 if a limit is exceeded, 2 for wrong usage, 3 if the session has neither a record nor token counts.")]
pub struct CacheArgs {
    #[command(flatten)]
    pub of: SessionRef,

    #[command(flatten)]
    pub from: FromArgs,

    /// Show the two texts around the place where this request diverges from the one before.
    #[arg(long, value_name = "N", value_parser = number_from_one)]
    pub explain: Option<usize>,

    /// Fail if more requests than this diverge from the one before.
    #[arg(long, value_name = "N", value_parser = number)]
    pub max_breaks: Option<usize>,

    /// Fail if more tokens than this were paid for again.
    #[arg(long, value_name = "TOKENS", value_parser = limit)]
    pub max_rebilled: Option<u64>,

    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}
