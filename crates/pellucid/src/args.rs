//! The command line: the commands of the program. The arguments of each command are in a file of `args/`.

pub mod acp;
pub mod app_server;
pub mod apply;
pub mod apply_patch;
pub mod approvals;
pub mod bisect;
pub mod cache;
pub mod capsule;
pub mod certify;
pub mod compact;
pub mod context;
pub mod cost;
pub mod delete;
pub mod demo;
pub mod exec;
pub mod features;
pub mod from;
pub mod grep;
pub mod inspect;
pub mod interactive;
pub mod list;
pub mod lock;
pub mod login;
pub mod man;
pub mod mcp;
pub mod mcp_server;
pub mod memory;
pub mod models;
pub mod numbers;
pub mod pack;
pub mod packs;
pub mod phase;
pub mod prompt;
pub mod prompts;
pub mod request;
pub mod review;
pub mod sandbox;
pub mod schema;
pub mod seen;
pub mod session_ref;
pub mod sessions;
pub mod shared;
pub mod skills;
pub mod stored;
pub mod trust;
pub mod turn;
pub mod undo;
pub mod watch;
pub mod why;

use clap::Parser;
use clap::Subcommand;
use clap_complete::Shell;

use crate::args::acp::AcpArgs;
use crate::args::app_server::AppServerArgs;
use crate::args::apply::ApplyArgs;
use crate::args::apply_patch::ApplyPatchArgs;
use crate::args::approvals::ApprovalsArgs;
use crate::args::approvals::ExecpolicyArgs;
use crate::args::cache::CacheArgs;
use crate::args::capsule::CapsuleArgs;
use crate::args::compact::CompactArgs;
use crate::args::context::ContextArgs;
use crate::args::cost::CostArgs;
use crate::args::demo::DemoArgs;
use crate::args::exec::ExecArgs;
use crate::args::features::FeaturesArgs;
use crate::args::inspect::InspectArgs;
use crate::args::interactive::Interactive;
use crate::args::login::LoginArgs;
use crate::args::man::ManArgs;
use crate::args::mcp::McpArgs;
use crate::args::mcp_server::McpServerArgs;
use crate::args::memory::MemoryArgs;
use crate::args::models::ModelsArgs;
use crate::args::pack::PackArgs;
use crate::args::phase::PhaseArgs;
use crate::args::prompt::PromptArgs;
use crate::args::prompts::PromptsArgs;
use crate::args::review::ReviewCommandArgs;
use crate::args::sandbox::DoctorArgs;
use crate::args::sandbox::SandboxArgs;
use crate::args::schema::SchemaArgs;
use crate::args::sessions::ForkArgs;
use crate::args::sessions::ReplayArgs;
use crate::args::sessions::ResumeCommandArgs;
use crate::args::sessions::SessionsArgs;
use crate::args::shared::Shared;
use crate::args::skills::SkillsArgs;
use crate::args::trust::TrustArgs;
use crate::args::undo::RedoArgs;
use crate::args::undo::UndoArgs;
use crate::args::watch::WatchArgs;

/// A coding agent you can see through.
///
/// Pellucid works like the Codex CLI: same config.toml, same AGENTS.md, same requests. It also shows what the model
/// receives, where every byte of it comes from, and what was left out.
///
/// New here? `pellucid demo` shows it in a minute, with no key and no network.
#[derive(Debug, Parser)]
#[command(name = "pellucid", bin_name = "pellucid", version, subcommand_negates_reqs = true)]
#[command(
    override_usage = "pellucid [OPTIONS] [PROMPT]\n       pellucid COMMAND [ARGS]",
    after_help = "Without a command, a conversation begins in the terminal; `pellucid exec PROMPT` runs one turn without one."
)]
pub struct Args {
    #[command(flatten)]
    pub shared: Shared,

    #[command(flatten)]
    pub interactive: Interactive,

    #[command(subcommand)]
    pub command: Option<ProgramCommand>,

    /// With --version: print what the program was built from.
    #[arg(long, requires = "version")]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum ProgramCommand {
    /// Run one turn and print its answer, drawn as it comes at a terminal.
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
    /// Show how each request of a session used the provider's cache.
    Cache(CacheArgs),
    /// Show what sessions cost, or would cost under another setting.
    Cost(CostArgs),
    /// Serve a page about sessions and what they sent.
    Inspect(InspectArgs),
    /// Run another agent, and show and record what it sends to its model.
    Watch(WatchArgs),
    /// Open a session that was packed into one file.
    Capsule(CapsuleArgs),
    /// Print the JSON Schema of what a command prints with --json.
    Schema(SchemaArgs),
    /// Summarise the history of a stored session, or undo that.
    Compact(CompactArgs),
    /// Undo turns of a session: their file changes, or the turns themselves.
    Undo(UndoArgs),
    /// Redo what the last `undo` of a session took back.
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
    /// Serve sessions to editors that speak the Agent Client Protocol.
    Acp(AcpArgs),
    /// Serve sessions to programs that are MCP clients, as tools.
    McpServer(McpServerArgs),
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
    /// Show and set the phase of work, for packs that have phases.
    Phase(PhaseArgs),
    /// List skills, with those that are switched off or cannot be used.
    Skills(SkillsArgs),
    /// List custom prompts with their arguments.
    Prompts(PromptsArgs),
    /// Explain which commands run, which are asked about, and why.
    Approvals(ApprovalsArgs),
    /// Check files of rules against a command.
    Execpolicy(ExecpolicyArgs),
    /// Print a script that completes commands, options and values in a shell.
    ///
    /// The script asks the program for what can follow, so it also completes the names of sessions, packs, models and features.
    Completion {
        /// The shell that the script is for.
        #[arg(value_enum, default_value_t = Shell::Bash)]
        shell: Shell,
    },
    /// Print the manual page of a command, or write all pages into a folder.
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    mod doc_commands;

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
        assert_eq!(before.len(), 16);
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
