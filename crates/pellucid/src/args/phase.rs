//! `phase` and its commands.

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::turn::StartArgs;

#[derive(Debug, ClapArgs)]
pub struct PhaseArgs {
    #[command(subcommand)]
    pub command: PhaseCommand,
}

#[derive(Debug, Subcommand)]
pub enum PhaseCommand {
    /// Show the phases of the pack, and the one that holds.
    Show(PhaseOf),
    /// Set the phase.
    Set(SetPhaseArgs),
    /// Set the phase after the one that holds; the first one if none does.
    Next(PhaseOf),
    /// Set no phase, so that the next setting decides.
    Clear(PhaseOf),
}

/// What a phase is set for, and the output format.
///
/// The phase of a session precedes that of its workspace, and that precedes `phase` of config.toml.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(after_help = "\
Example: pellucid phase set review --session 019a7d31

Exit status: 0 if it is done, 1 if not, 2 for a phase or a session that does not exist.")]
pub struct PhaseOf {
    /// A session: its id, the beginning of its id, or its name. Without it, the workspace.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,

    /// Print the phases as JSON.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub start: StartArgs,
}

#[derive(Debug, ClapArgs)]
pub struct SetPhaseArgs {
    /// The name of the phase, as the pack has it.
    pub name: String,

    #[command(flatten)]
    pub of: PhaseOf,
}
