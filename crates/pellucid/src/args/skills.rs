//! Arguments of `skills`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::list::ListArgs;

#[derive(Debug, ClapArgs)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List every skill with its scope, whether it is used, and its path.
    List(ListArgs),
    /// Check skills against the format of Agent Skills.
    Check(SkillsCheckArgs),
}

/// `skills check`.
///
/// The rules are those of the validator `skills-ref`. A skill that breaks them still works here, but may not with other
/// agents.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Example: pellucid skills check .agents/skills/release-notes

Exit status: 0 if nothing is wrong, 1 for a finding, 2 for wrong usage.")]
pub struct SkillsCheckArgs {
    /// Folders of skills, each with a SKILL.md. Without one, all skills that sessions here would find.
    #[arg(value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,

    /// Print the findings as JSON.
    #[arg(long)]
    pub json: bool,

    /// The working directory whose skills count.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,
}
