//! The arguments of `approvals` and `execpolicy`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::turn::Approval;
use crate::args::turn::SandboxArg;

#[derive(Debug, ClapArgs)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    pub command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// Say what would happen to a command, by which rule, and why.
    ///
    /// Nothing is run. Several words are a command without a shell. A single word is a script, as the model
    /// writes it: approvals explain 'ls && rm -rf x'
    Explain(ExplainArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// Print the explanation as JSON.
    #[arg(long)]
    pub json: bool,

    /// The sandbox mode, instead of the configured one.
    #[arg(short, long, value_enum)]
    pub sandbox: Option<SandboxArg>,

    /// When a person is asked, instead of what the configuration says. `exec` never asks.
    #[arg(short = 'a', long = "ask-for-approval", value_enum, value_name = "POLICY")]
    pub approval: Option<Approval>,

    /// As if the model asked to leave the sandbox.
    #[arg(long)]
    pub escalated: bool,

    /// The configuration profile to use.
    #[arg(short, long)]
    pub profile: Option<String>,

    /// The working directory of the command.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,

    /// The command to explain, with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct ExecpolicyArgs {
    #[command(subcommand)]
    pub command: ExecpolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum ExecpolicyCommand {
    /// Print the rules of these files that a command matches, as JSON.
    ///
    /// Scripts are not taken apart here.
    Check(ExecpolicyCheckArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ExecpolicyCheckArgs {
    /// A file with rules; may be repeated.
    #[arg(short, long = "rules", value_name = "PATH", required = true)]
    pub rules: Vec<PathBuf>,

    /// Indent the JSON output.
    #[arg(long)]
    pub pretty: bool,

    /// The words of the command.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}
