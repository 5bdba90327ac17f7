//! Options before a command.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::turn::Approval;
use crate::args::turn::SandboxArg;

/// Options of the terminal interface. Before another command they are accepted and do nothing.
///
/// Their ids are their own: clap counts an option that every subcommand of a command takes as given above that command
/// too, if something there has the same id.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Interactive {
    #[arg(id = "before_model", short = 'm', long = "model", hide = true)]
    model: Option<String>,
    #[arg(id = "before_profile", short = 'p', long = "profile", hide = true)]
    profile: Option<String>,
    #[arg(id = "before_sandbox", short = 's', long = "sandbox", hide = true, value_enum)]
    sandbox: Option<SandboxArg>,
    #[arg(id = "before_approval", short = 'a', long = "ask-for-approval", hide = true, value_enum)]
    approval: Option<Approval>,
    #[arg(id = "before_cd", short = 'C', long = "cd", hide = true)]
    cd: Option<PathBuf>,
    #[arg(id = "before_full_auto", long = "full-auto", hide = true)]
    full_auto: bool,
    #[arg(id = "before_bypass", long = "dangerously-bypass-approvals-and-sandbox", alias = "yolo", hide = true)]
    bypass: bool,
    #[arg(id = "before_search", long = "search", hide = true)]
    search: bool,
    #[arg(id = "before_add_dir", long = "add-dir", hide = true)]
    add_dir: Vec<PathBuf>,
}

impl Interactive {
    /// Whether any of these options was typed.
    pub fn is_given(&self) -> bool {
        self.model.is_some()
            || self.profile.is_some()
            || self.sandbox.is_some()
            || self.approval.is_some()
            || self.cd.is_some()
            || self.full_auto
            || self.bypass
            || self.search
            || !self.add_dir.is_empty()
    }
}
