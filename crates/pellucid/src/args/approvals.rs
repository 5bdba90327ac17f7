//! The arguments of `approvals` and `execpolicy`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::Approval;
use crate::args::Sandbox;

/// `approvals`.
#[derive(Debug, ClapArgs)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    pub command: ApprovalsCommand,
}

/// Commands of `approvals`.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// Say what would happen to a command, by which rule, and why.
    ///
    /// Nothing is run. Several words are a command without a shell. A single word is a script, as the model
    /// writes it: approvals explain 'ls && rm -rf x'
    Explain(ExplainArgs),
}

/// `approvals explain`.
#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,

    /// What commands may touch, instead of what the configuration says.
    #[arg(short, long, value_enum)]
    pub sandbox: Option<Sandbox>,

    /// When a person is asked, instead of what the configuration says. `exec` never asks.
    #[arg(short = 'a', long = "ask-for-approval", value_enum, value_name = "POLICY")]
    pub approval: Option<Approval>,

    /// As if the model asked to leave the sandbox.
    #[arg(long)]
    pub escalated: bool,

    /// The configuration profile.
    #[arg(short, long)]
    pub profile: Option<String>,

    /// The working directory.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,

    /// The command.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

/// `execpolicy`.
#[derive(Debug, ClapArgs)]
pub struct ExecpolicyArgs {
    #[command(subcommand)]
    pub command: ExecpolicyCommand,
}

/// Commands of `execpolicy`.
#[derive(Debug, Subcommand)]
pub enum ExecpolicyCommand {
    /// Print the rules of these files that a command matches, as JSON.
    ///
    /// Scripts are not taken apart here.
    Check(ExecpolicyCheckArgs),
}

/// `execpolicy check`.
#[derive(Debug, ClapArgs)]
pub struct ExecpolicyCheckArgs {
    /// A file with rules; may be repeated.
    #[arg(short, long = "rules", value_name = "PATH", required = true)]
    pub rules: Vec<PathBuf>,

    /// Indent the JSON.
    #[arg(long)]
    pub pretty: bool,

    /// The words of the command.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}
