//! Options of a turn, and the values of these options.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::ValueEnum;

/// Options of a turn: all that a command starts with, and what goes with the message.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct TurnArgs {
    /// Images to attach; several by commas or by repeating.
    #[arg(short, long = "image", value_name = "FILE", value_delimiter = ',', num_args = 1..)]
    pub image: Vec<PathBuf>,

    #[command(flatten)]
    pub start: StartArgs,

    /// A JSON schema for the final answer.
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,

    /// The id of the new session, instead of a fresh one. With it `prompt` and `exec` send the same bytes.
    #[arg(long, value_name = "UUID")]
    pub session_id: Option<String>,
}

/// Options of every command that reads the configuration for a model: model, provider, sandbox and folder.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct StartArgs {
    /// The model to use, instead of the configured one.
    #[arg(short, long, global = true)]
    pub model: Option<String>,

    /// The model provider: one of the configuration, or `scripted` for the embedded model.
    #[arg(long, value_name = "ID", global = true)]
    pub provider: Option<String>,

    /// A script for the embedded model (TOML or JSONL); means `--provider scripted`.
    #[arg(long, value_name = "FILE", global = true)]
    pub script: Option<PathBuf>,

    /// Use a local model server (see --local-provider).
    #[arg(long)]
    pub oss: bool,

    /// The local model server that --oss uses.
    #[arg(long, value_enum)]
    pub local_provider: Option<LocalProvider>,

    /// What commands may read and write.
    #[arg(short, long, value_enum)]
    pub sandbox: Option<SandboxArg>,

    /// The configuration profile to use.
    #[arg(short, long)]
    pub profile: Option<String>,

    /// The working directory of the session.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,

    /// A further folder that commands may write in, under workspace-write.
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,

    /// Short for `--sandbox workspace-write`.
    #[arg(long, conflicts_with = "bypass", global = true)]
    pub full_auto: bool,

    /// No sandbox. Only for machines that are confined by other means.
    #[arg(long = "dangerously-bypass-approvals-and-sandbox", alias = "yolo", global = true)]
    pub bypass: bool,

    /// A JSON file with items, sources or texts to inject (see docs/packs/agentcore.md), or `-` for standard input; may be
    /// repeated.
    #[arg(long, value_name = "FILE.json")]
    pub inject: Vec<PathBuf>,
}

/// The values of `--sandbox`, as the configuration has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SandboxArg {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

/// The values of `--ask-for-approval`, as the configuration has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Approval {
    Untrusted,
    OnFailure,
    OnRequest,
    Never,
}

/// The values of `--local-provider`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LocalProvider {
    Lmstudio,
    Ollama,
}
