//! The arguments of `context seen`.

use clap::Args as ClapArgs;

use crate::args::session_ref::SessionIfAny;

/// The arguments of `context seen`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Without a session it is the one that was used last in this folder. A file is `current` if it has the text that the model was shown, \
`old` if it changed since, and `as the model left it` after a patch of the model. A file that is not listed was not shown.

Example: pellucid context seen --json

Exit status: 0 printed, 2 wrong usage, 3 the answer is unknown.")]
pub struct ContextSeenArgs {
    #[command(flatten)]
    pub of: SessionIfAny,

    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}
