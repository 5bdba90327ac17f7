//! The arguments of `sandbox` and `doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: pellucid sandbox linux --full-auto -- sh -c 'echo hello > file'")]
pub struct SandboxArgs {
    #[command(subcommand)]
    pub command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Use namespaces, bubblewrap or Landlock, the strongest that works.
    #[command(visible_alias = "landlock")]
    Linux(SandboxedArgs),
    /// Use Seatbelt on macOS.
    #[command(visible_alias = "seatbelt")]
    Macos(SandboxedArgs),
    /// Not available: there is no sandbox for Windows yet.
    Windows(SandboxedArgs),
}

/// A command and what it may do.
#[derive(Debug, ClapArgs)]
pub struct SandboxedArgs {
    /// Let it write in the working directory and the folders for temporary files.
    #[arg(long)]
    pub full_auto: bool,

    /// The command. Its exit status becomes this program's.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Exits with 1 if something keeps a turn from running, else with 0.")]
pub struct DoctorArgs {
    /// Print what is found as JSON.
    #[arg(long)]
    pub json: bool,

    /// The working directory to check.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,
}
