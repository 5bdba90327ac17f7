//! The command line: commands, options and their help.

mod app_server;
mod approvals;
mod bisect;
mod cache;
mod capsule;
mod certify;
mod context;
mod cost;
mod delete;
mod grep;
mod lock;
mod login;
mod mcp;
mod memory;
mod models;
mod pack;
mod packs;
mod request;
mod sandbox;
mod schema;
mod session_ref;
mod sessions;
mod trust;
mod undo;
mod why;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;
use clap_complete::Shell;

use crate::start::Persistence;
use crate::start::Which;
pub use app_server::AppServerArgs;
pub use app_server::AppServerCommand;
pub use app_server::GenerateArgs;
pub use approvals::ApprovalsArgs;
pub use approvals::ApprovalsCommand;
pub use approvals::ExecpolicyArgs;
pub use approvals::ExecpolicyCheckArgs;
pub use approvals::ExecpolicyCommand;
pub use approvals::ExplainArgs;
pub use bisect::ContextBisectArgs;
pub use bisect::FindingArg;
pub use cache::CacheArgs;
pub use capsule::CapsuleArgs;
pub use capsule::CapsuleCommand;
pub use capsule::CapsuleOpenArgs;
pub use capsule::MakeCapsuleArgs;
pub use capsule::RedactLevel;
pub use certify::CertifyArgs;
pub use context::ContextArgs;
pub use context::ContextCommand;
pub use context::ContextDiffArgs;
pub use context::ContextForm;
pub use cost::CostArgs;
pub use delete::DeleteArgs;
pub use grep::GrepArgs;
pub use lock::CheckForm;
pub use lock::ContextCheckArgs;
pub use lock::ContextLockArgs;
pub use lock::LockMcp;
pub use login::LoginArgs;
pub use login::LoginCommand;
pub use mcp::McpAddArgs;
pub use mcp::McpArgs;
pub use mcp::McpCommand;
pub use mcp::McpGetArgs;
pub use mcp::McpListArgs;
pub use memory::MemoryArgs;
pub use memory::MemoryCommand;
pub use memory::OfSession;
pub use memory::RunArgs;
pub use memory::StatusArgs;
pub use models::ModelsArgs;
pub use models::ModelsCommand;
pub use models::ModelsListArgs;
pub use pack::PackArgs;
pub use pack::PackCommand;
pub use pack::PackImportArgs;
#[cfg(test)]
pub use pack::Project;
pub use packs::ContextPacksArgs;
pub use request::McpLists;
pub use request::RequestArgs;
pub use sandbox::DoctorArgs;
pub use sandbox::SandboxArgs;
pub use sandbox::SandboxCommand;
pub use sandbox::SandboxedArgs;
pub use schema::SchemaArgs;
pub use session_ref::SessionRef;
pub use session_ref::SessionThenWord;
pub use sessions::ArchiveArgs;
pub use sessions::CallsArgs;
pub use sessions::ExportArgs;
pub use sessions::ForkArgs;
pub use sessions::FsckArgs;
pub use sessions::ReplayArgs;
pub use sessions::ResumeCommandArgs;
pub use sessions::SessionOrder;
pub use sessions::SessionsArgs;
pub use sessions::SessionsCommand;
pub use sessions::SessionsListArgs;
pub use sessions::ShowArgs;
pub use trust::TrustAcceptArgs;
pub use trust::TrustArgs;
pub use trust::TrustCommand;
pub use undo::RedoArgs;
pub use undo::UndoArgs;
pub use why::ContextWhyArgs;

/// A coding agent you can see through.
///
/// Pellucid works like the Codex CLI: same config.toml, same AGENTS.md, same requests. It also shows what the model
/// receives, where every byte of it comes from, and what was left out.
///
/// New here? `pellucid demo` shows it in a minute, with no key and no network.
#[derive(Debug, Parser)]
#[command(name = "pellucid", bin_name = "pellucid", version, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "There is no terminal interface yet: `pellucid exec PROMPT` runs one turn.")]
pub struct Args {
    #[command(flatten)]
    pub shared: Shared,

    #[command(flatten)]
    pub interactive: Interactive,

    #[command(subcommand)]
    pub command: ProgramCommand,
}

/// The heading of options that every command takes.
const EVERYWHERE: &str = "Options of every command";

/// Options that every command takes, before or after its name.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct Shared {
    /// Set a configuration value; the value is TOML, or text if it is not.
    ///
    /// May be given several times. Example: -c model_reasoning_effort=high
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Append)]
    pub config: Vec<String>,

    /// Switch a feature on (see `pellucid features list`).
    #[arg(long, value_name = "FEATURE", global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Append)]
    pub enable: Vec<String>,

    /// Switch a feature off.
    #[arg(long, value_name = "FEATURE", global = true, help_heading = EVERYWHERE, action = clap::ArgAction::Append)]
    pub disable: Vec<String>,

    /// The prompt pack: a name, or a folder by its path (see `pellucid pack list`).
    #[arg(long, value_name = "NAME_OR_DIR", global = true, help_heading = EVERYWHERE)]
    pub pack: Option<String>,
}

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

#[derive(Debug, Subcommand)]
pub enum ProgramCommand {
    /// Run one turn without a terminal interface.
    #[command(visible_alias = "e")]
    Exec(ExecArgs),
    /// Review changes; the same as `exec review`.
    Review(ReviewCommandArgs),
    /// Continue an earlier session.
    Resume(ResumeCommandArgs),
    /// Copy a session, or the beginning of it, into a new one.
    Fork(ForkArgs),
    /// List, show, name, archive, export and check sessions.
    Sessions(SessionsArgs),
    /// Rebuild every request of a session and compare it with what was sent.
    Replay(ReplayArgs),
    /// Show the exact request that the next turn would send.
    Prompt(PromptArgs),
    /// Show what a request is made of, with bytes, tokens and origins.
    Context(Box<ContextArgs>),
    /// Show what came of the provider's cache for every request of a session.
    Cache(CacheArgs),
    /// Show what sessions cost, or would cost under another setting.
    Cost(CostArgs),
    /// Open a session that was packed into one file.
    Capsule(CapsuleArgs),
    /// Print the JSON Schema of what a command prints with --json.
    Schema(SchemaArgs),
    /// Summarise the history of a stored session, or undo that.
    Compact(CompactArgs),
    /// Undo what a session's turns changed in files, or the turns.
    Undo(UndoArgs),
    /// Take the last undo of a session back.
    Redo(RedoArgs),
    /// Run a scripted turn in a throw-away folder and show what was sent.
    Demo(DemoArgs),
    /// Apply what a session's last turn changed, as a diff, with `git apply`.
    #[command(visible_alias = "a")]
    Apply(ApplyArgs),
    /// Apply a patch in the format of the apply_patch tool.
    ///
    /// All of it is applied, or nothing.
    ApplyPatch(ApplyPatchArgs),
    /// Run one command under the sandbox, by hand.
    Sandbox(SandboxArgs),
    /// Check whether a turn could run here: key, sandbox, git, shell.
    Doctor(DoctorArgs),
    /// Serve sessions to editors and other programs, over JSON-RPC.
    AppServer(AppServerArgs),
    /// Log in with an API key, or see who is logged in.
    Login(LoginArgs),
    /// Remove the stored login.
    Logout,
    /// List, add and remove MCP servers, which run tools for the model.
    Mcp(McpArgs),
    /// See, accept and revoke what a project's configuration may reach.
    Trust(TrustArgs),
    /// List the models that are known, with their limits and prices.
    Models(ModelsArgs),
    /// List feature switches, and set them.
    Features(FeaturesArgs),
    /// See, copy, change, check and import packs: the texts of model input.
    Pack(PackArgs),
    /// Manage memories of a session, and extract those of past sessions.
    ///
    /// A session with a memory keeps cards of what left the window: see, change, pin and forget them. `run` and `status` are
    /// about memories of past sessions.
    Memory(MemoryArgs),
    /// List skills, with those that are switched off or cannot be used.
    Skills(SkillsArgs),
    /// List custom prompts with their arguments.
    Prompts(PromptsArgs),
    /// Explain which commands run, which are asked about, and why.
    Approvals(ApprovalsArgs),
    /// Check files of rules against a command.
    Execpolicy(ExecpolicyArgs),
    /// Print a completion script for a shell.
    Completion {
        /// The shell that the script is for.
        #[arg(value_enum, default_value_t = Shell::Bash)]
        shell: Shell,
    },
}

/// Parses a whole number; the error is for people.
fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a whole number is needed".to_owned())
}

/// The same for limits, which may be larger.
fn limit(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a whole number is needed".to_owned())
}

/// An amount of money.
fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "an amount of money is needed, such as 0.50".to_owned())
}

/// A whole number that is not 0.
fn number_from_one(text: &str) -> Result<usize, String> {
    number(text).ok().filter(|number| *number > 0).ok_or_else(|| "a whole number from 1 on is needed".to_owned())
}

/// Options of a turn: model, provider, sandbox, folder and attachments.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct TurnArgs {
    /// Images to attach; several by commas or by repeating.
    #[arg(short, long = "image", value_name = "FILE", value_delimiter = ',', num_args = 1..)]
    pub image: Vec<PathBuf>,

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

    /// A JSON schema for the final answer.
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,

    /// A JSON file with items, sources or texts to inject (see docs/packs/agentcore.md); may be repeated.
    #[arg(long, value_name = "FILE.json")]
    pub inject: Vec<PathBuf>,

    /// The id of the new session, instead of a fresh one. With it `prompt` and `exec` send the same bytes.
    #[arg(long, value_name = "UUID")]
    pub session_id: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "The answer is printed on standard output, everything else on standard error. \
`-i` takes every word that follows it, so put `--` before the prompt: pellucid exec -i a.png -- PROMPT")]
pub struct ExecArgs {
    #[command(flatten)]
    pub options: ExecOptions,

    /// The task for the model. `-` or no prompt reads it from standard input.
    pub prompt: Option<String>,

    #[command(subcommand)]
    pub command: Option<ExecCommand>,
}

/// How one turn is run without a terminal interface.
#[derive(Debug, ClapArgs)]
pub struct ExecOptions {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// Work outside of a git repository.
    #[arg(long, global = true)]
    pub skip_git_repo_check: bool,

    /// Keep no session file.
    #[arg(long, global = true)]
    pub ephemeral: bool,

    /// Colours on standard error.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// Stop before any request if instructions would be cut or left out.
    #[arg(long, global = true)]
    pub strict_context: bool,

    /// Send no request that makes the provider read earlier text again without an expected cause (see docs/exec.md).
    #[arg(long, global = true)]
    pub strict_cache: bool,

    /// Add events about what each request is made of to the JSON stream.
    #[arg(long, requires = "json", global = true)]
    pub context_events: bool,

    /// Spend at most N tokens; beyond that no request is sent.
    #[arg(long, value_name = "N", global = true, value_parser = limit)]
    pub max_tokens: Option<u64>,

    /// Send at most N requests.
    #[arg(long, value_name = "N", global = true, value_parser = limit)]
    pub max_requests: Option<u64>,

    /// Spend at most this much money, in the currency of the model's price (see docs/prices.md).
    #[arg(long, value_name = "AMOUNT", global = true, value_parser = amount)]
    pub max_cost: Option<f64>,

    /// Use a separate exit code for each kind of failure (see docs/exec.md).
    #[arg(long, global = true)]
    pub typed_exit_codes: bool,

    /// Print events as JSON, one on each line.
    #[arg(long, alias = "experimental-json", global = true)]
    pub json: bool,

    /// Write the final answer to this file.
    #[arg(short, long, value_name = "FILE", global = true)]
    pub output_last_message: Option<PathBuf>,

    /// Write the model's replies to this file, for `--script` (JSONL if it ends in .jsonl, else TOML).
    #[arg(long, value_name = "FILE", global = true)]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ExecCommand {
    /// Continue an earlier session.
    Resume(ResumeArgs),
    /// Review changes and print the findings.
    Review(ReviewArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    /// The session's id or name. An unknown one begins a new session, with a warning; with --typed-exit-codes or
    /// --strict-context it is an error.
    pub session_id: Option<String>,

    /// The task for the model. `-` or no prompt reads it from standard input.
    pub prompt: Option<String>,

    /// Continue the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// With --last: in any folder.
    #[arg(long)]
    pub all: bool,

    /// An image to attach; may be repeated.
    #[arg(short = 'i', long = "image", value_name = "FILE", value_delimiter = ',')]
    pub image: Vec<PathBuf>,
}

/// The changes to review: uncommitted ones, those since a branch, those of a commit, or free instructions.
#[derive(Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("what").args(["uncommitted", "base", "commit", "instructions"]).multiple(false))]
pub struct ReviewArgs {
    /// Staged, unstaged and untracked changes.
    #[arg(long)]
    pub uncommitted: bool,

    /// The changes since this branch.
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,

    /// The changes of this commit.
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,

    /// The commit's title, for the reviewer.
    #[arg(long, requires = "commit")]
    pub title: Option<String>,

    /// Instructions for the reviewer. `-` reads them from standard input.
    #[arg(value_name = "PROMPT")]
    pub instructions: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct ReviewCommandArgs {
    #[command(flatten)]
    pub options: ExecOptions,

    #[command(flatten)]
    pub review: ReviewArgs,
}

impl ExecOptions {
    /// Whether the session keeps a file.
    pub fn keep(&self) -> Persistence {
        if self.ephemeral { Persistence::Nothing } else { Persistence::File }
    }
}

impl ExecArgs {
    /// The session to continue; absent for a new session.
    pub fn resume(&self) -> Option<Which> {
        let Some(ExecCommand::Resume(resume)) = &self.command else {
            return None;
        };
        if resume.last {
            return Some(Which::Newest { everywhere: resume.all });
        }
        resume.session_id.clone().map(Which::Id)
    }

    /// The prompt: that of the subcommand if it has one, else the one before it. With `--last` a single word is the
    /// prompt.
    pub fn prompt(&self) -> Option<String> {
        let Some(ExecCommand::Resume(resume)) = &self.command else {
            return self.prompt.clone();
        };
        let own = if resume.last && resume.prompt.is_none() { &resume.session_id } else { &resume.prompt };
        own.clone().or_else(|| self.prompt.clone())
    }

    /// The images given before and after the subcommand.
    pub fn images(&self) -> Vec<PathBuf> {
        let more = match &self.command {
            Some(ExecCommand::Resume(resume)) => resume.image.as_slice(),
            Some(ExecCommand::Review(_)) | None => &[],
        };
        self.options.turn.image.iter().chain(more).cloned().collect()
    }
}

/// A stored session to look at without continuing it.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct StoredArgs {
    /// Look at the next request of this session: its id, the beginning of its id, or its name.
    #[arg(long, value_name = "ID", conflicts_with = "last")]
    pub session: Option<String>,

    /// Look at the next request of the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,
}

impl StoredArgs {
    /// The session that is meant, if any.
    pub fn which(&self) -> Option<Which> {
        let last = self.last.then_some(Which::Newest { everywhere: false });
        self.session.clone().map(Which::Id).or(last)
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = request::NAMES)]
pub struct PromptArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    #[command(flatten)]
    pub request: RequestArgs,

    /// How to print it: readable, as indented JSON, or the exact bytes.
    #[arg(long, value_enum, default_value_t = PromptFormat::Text)]
    pub format: PromptFormat,

    /// Print the instructions and, for every API format, the exact body with its SHA-256.
    #[arg(long, conflicts_with = "format")]
    pub full: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Prints the tokens of the history before and after, the replaced items, the summary, and which paths, names, open \
tasks and requirements are missing from the summary. The session file only grows: replaced items stay in it, and \
--undo restores them, for this program and for the Codex CLI.")]
pub struct CompactArgs {
    #[command(flatten)]
    pub turn: TurnArgs,

    /// The session's id, the beginning of its id, or its name.
    #[arg(conflicts_with = "last")]
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// Show what would change and leave the session unchanged. Without --summary the model is still asked, and that
    /// request is recorded.
    #[arg(long)]
    pub dry_run: bool,

    /// Use the text of this file instead of asking the model for a summary.
    #[arg(long, value_name = "FILE", conflicts_with = "undo")]
    pub summary: Option<PathBuf>,

    /// Change the summary in $VISUAL or $EDITOR before it is stored.
    #[arg(long, conflicts_with = "undo")]
    pub edit: bool,

    /// Undo the last compaction; repeat it to undo the one before.
    #[arg(long)]
    pub undo: bool,

    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}

impl CompactArgs {
    /// The session that is meant, if any.
    pub fn which(&self) -> Option<Which> {
        let last = self.last.then_some(Which::Newest { everywhere: false });
        self.session.clone().map(Which::Id).or(last)
    }
}

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The diff is that of the last turn in which the model applied patches; changes made by commands are not part of it. It is applied as a whole or not at all, in the repository of this folder, and nothing is staged. Exit codes: 0 applied or already applied, 1 nothing was changed (with --3way: there are conflicts)."
)]
pub struct ApplyArgs {
    /// The session's id, the beginning of its id, or its name; without it the one that was used last in this folder.
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long, conflicts_with = "session")]
    pub last: bool,

    /// See whether the diff fits, and change nothing.
    #[arg(long)]
    pub check: bool,

    /// Print the diff, and change nothing.
    #[arg(long, conflicts_with_all = ["check", "three_way"])]
    pub print: bool,

    /// Where the diff does not fit, merge it with the current files and mark conflicts in them, as git does.
    #[arg(long = "3way", short = '3', conflicts_with = "check")]
    pub three_way: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The format is described in docs/apply-patch.md. Exit codes: 0 applied, 1 nothing was changed, 2 usage."
)]
pub struct ApplyPatchArgs {
    /// The patch, from `*** Begin Patch` to `*** End Patch`. Without it the patch is read from standard input.
    pub patch: Option<OsString>,
}

#[derive(Debug, ClapArgs)]
pub struct FeaturesArgs {
    #[command(subcommand)]
    pub command: FeaturesCommand,
}

#[derive(Debug, Subcommand)]
pub enum FeaturesCommand {
    /// List every feature with its stage and whether it is on.
    List,
    /// Switch a feature on in the user's `config.toml`.
    Enable {
        /// The feature's key, as `features list` shows it.
        #[arg(value_name = "FEATURE")]
        feature: String,
    },
    /// Switch a feature off in the user's `config.toml`.
    Disable {
        /// The feature's key, as `features list` shows it.
        #[arg(value_name = "FEATURE")]
        feature: String,
    },
}

#[derive(Debug, ClapArgs)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List every skill with its scope, whether it is used, and its path.
    List(ListArgs),
}

#[derive(Debug, ClapArgs)]
pub struct PromptsArgs {
    #[command(subcommand)]
    pub command: PromptsCommand,
}

#[derive(Debug, Subcommand)]
pub enum PromptsCommand {
    /// List every custom prompt with its arguments and description.
    List(ListArgs),
}

/// How something is listed.
#[derive(Debug, Clone, ClapArgs)]
pub struct ListArgs {
    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,

    /// The working directory whose skills and prompts count.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,
}

/// How a request is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PromptFormat {
    Text,
    Json,
    Body,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Always,
    Never,
    Auto,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Args as _;
    use clap::CommandFactory;

    use super::*;

    fn ids(command: &clap::Command) -> BTreeSet<String> {
        let own = command.get_arguments().map(|arg| arg.get_id().to_string());
        own.chain(command.get_subcommands().flat_map(ids)).collect()
    }

    #[test]
    fn no_command_has_an_option_with_the_id_of_one_that_stands_before_commands() {
        let before = ids(&Interactive::augment_args(clap::Command::new("before")));
        assert_eq!(before.len(), 9);
        let commands = Args::command();
        for command in commands.get_subcommands() {
            let common: Vec<_> = ids(command).intersection(&before).cloned().collect();
            assert_eq!(common, Vec::<String>::new(), "{}", command.get_name());
        }
    }

    fn check_first_lines(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let first = command.get_about().unwrap_or_else(|| panic!("{path} has no help")).to_string();
        assert!(first.chars().count() <= 70, "{path}: {first}");
        assert!(!first.contains(['.', '\n']) || first.contains(".toml"), "{path}: {first}");
        command.get_subcommands().for_each(|command| check_first_lines(command, &path));
    }

    #[test]
    fn every_command_says_what_it_does_in_one_short_line() {
        for command in Args::command().get_subcommands() {
            check_first_lines(command, "pellucid");
        }
    }

    #[test]
    fn options_count_as_given_before_a_command_only_there() {
        let is_before = |words: &[&str]| {
            let words = std::iter::once("pellucid").chain(words.iter().copied());
            Args::try_parse_from(words).unwrap().interactive.is_given()
        };
        for words in [
            &["exec", "-m", "m", "hi"][..],
            &["exec", "--full-auto", "hi"],
            &["exec", "--dangerously-bypass-approvals-and-sandbox", "hi"],
            &["exec", "--yolo", "-s", "read-only", "-p", "p", "-C", "/", "--add-dir", "/tmp", "hi"],
            &["exec", "--script", "s.toml", "--provider", "scripted", "hi"],
            &["exec", "resume", "ID", "-m", "m", "--full-auto", "go"],
            &["resume", "ID", "-m", "m", "go"],
            &["fork", "ID", "--full-auto"],
            &["review", "-m", "m", "--uncommitted"],
            &["prompt", "-m", "m"],
            &["context", "--full-auto"],
            &["compact", "--last", "-m", "m"],
        ] {
            assert!(!is_before(words), "{words:?}");
        }
        for words in [&["-m", "m", "exec", "hi"][..], &["--full-auto", "exec", "hi"], &["--yolo", "context"]] {
            assert!(is_before(words), "{words:?}");
        }
    }
}
