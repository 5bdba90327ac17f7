//! The `pellucid` program: reads arguments, connects the libraries, prints the results.
//!
//! - `args`, `advice`: the command line, and advice after an unknown command or option
//! - `acp`: sessions for editors that speak the Agent Client Protocol
//! - `app_server`: sessions for editors and other programs
//! - `apply`: applies the changes of a stored session's last turn with `git apply`
//! - `apply_patch`: patches from the command line, also when started as `apply_patch` or `applypatch`
//! - `start`: from arguments to a session
//! - `exec`: one turn that asks nothing
//! - `resume`, `sessions`, `replay`: stored sessions
//! - `prompt`, `context`: the next request, and the origins of its bytes
//! - `inspect`: a page about what sessions sent
//! - `watch`: what another program sends to its model
//! - `compact`: replaces a stored session's history by a summary
//! - `undo`: goes back to before a turn
//! - `memory`: the cards of a session's memory
//! - `pack`: the user's prompt packs
//! - `skills`, `prompts`: texts on disk for the model or the user
//! - `sandbox`: one command under the sandbox
//! - `doctor`: whether a turn could run here
//! - `login`: the stored API key
//! - `models`: the models that are known
//! - `mcp`: MCP servers in the configuration; `mcp_server`: sessions as tools of one
//! - `tui`: a conversation in the terminal
//! - `trust`: what a project's configuration may reach
//! - `approvals`, `execpolicy`: the decision about a command, and the rule behind it
//! - `demo`: a scripted turn for newcomers
//! - `completion`, `man`, `version`: what shells complete, pages of the manual, what the program was built from
//! - `print`, `style`, `screen`: standard output and standard error
//!
//! Not here: behaviour. That is in the libraries.

mod acp;
mod advice;
mod app_server;
mod apply;
mod apply_patch;
mod approvals;
mod args;
mod browser;
mod cache;
mod called;
mod capsule;
mod compact;
mod completion;
mod context;
mod cost;
mod demo;
mod doctor;
mod edits;
mod environment;
mod exec;
mod execpolicy;
mod features;
mod fit;
mod fork;
mod inspect;
mod inspected;
mod log;
mod login;
mod man;
mod mcp;
mod mcp_server;
mod memory;
mod models;
mod other;
mod pack;
mod phase;
mod prices;
mod print;
mod prompt;
mod prompts;
mod replay;
mod request;
mod resume;
mod sandbox;
mod schema;
mod screen;
mod sessions;
mod skills;
mod start;
mod stdin;
mod stored;
mod style;
mod trust;
mod tui;
mod undo;
mod version;
mod watch;

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use pellucid_agent::telemetry;
use pellucid_engine::visible::visible;
use pellucid_tasks::hook;

use crate::args::Args;
use crate::args::ProgramCommand;
use crate::exec::Manner;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;

/// Statically linked, the program has no allocator of the system but musl's, which takes a lock for every call.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Confined commands are started by this program too, and that must not cost what follows.
    if let Some(code) = pellucid_exec::sandbox::take_over() {
        return code;
    }
    if let Some(code) = apply_patch::run_if_asked() {
        return code;
    }
    if let Some(code) = completion::answer_if_asked() {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return unreadable(&error),
    };
    log::start(matches!(
        args.command,
        Some(ProgramCommand::Exec(_) | ProgramCommand::Review(_) | ProgramCommand::Resume(_) | ProgramCommand::Fork(_))
    ));
    hook::log_panics();
    let code = match catch_unwind(AssertUnwindSafe(|| run(args))) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => failure.show(),
        Err(_panic) => broken().show(),
    };
    for message in telemetry::close_all() {
        style::line(&format!("warning: {message}"));
    }
    capsule::close_all();
    other::close_all();
    code
}

/// The message after a panic. It has the place only, because the panic's message may quote private text.
fn broken() -> ProgramFailure {
    let place = hook::last_place().unwrap_or_else(|| "an unknown place".to_owned());
    ProgramFailure::new(format!(
        "Pellucid failed at {place}\nhint: this is a bug; RUST_LOG=debug shows what the failure says"
    ))
}

/// Prints help, the version, or the error in the arguments. Arguments may be names of files that another person chose
/// (`pellucid pack check *`), so hidden characters in them are made visible. A line that is wider than the terminal is
/// folded, as clap folds help but no error. Other texts keep their colours.
fn unreadable(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::DisplayVersion && (version::is_verbose() || called::is_codex()) {
        let told = if version::is_verbose() { version::run() } else { called::tell_version() };
        return told.map_or_else(|failure| failure.show(), |()| ExitCode::SUCCESS);
    }
    let text = error.render().to_string();
    let columns = StandardStream::Error.columns_of_terminal();
    let is_wide = text.lines().any(|line| fit::width(line) > columns);
    if error.use_stderr() && (is_wide || visible(&text) != text) {
        style::part(&text);
    } else {
        // A closed pipe needs no message.
        let _ = error.print();
    }
    if let Some(hint) = advice::of(error) {
        style::line(&format!("hint: {hint}"));
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn run(args: Args) -> Result<ExitCode, ProgramFailure> {
    let Args { shared, interactive, command, verbose: _ } = args;
    let Some(command) = command else {
        return tui::run(&shared, &interactive);
    };
    if interactive.is_given() {
        style::note("options before the command have no effect; put them after the command");
    }
    match command {
        ProgramCommand::Exec(exec) => exec::run(&shared, &exec),
        ProgramCommand::Resume(args) => resume::resume(&shared, &args),
        ProgramCommand::Fork(args) => resume::fork(&shared, &args),
        ProgramCommand::Sessions(args) => sessions::run(&shared, args.command),
        ProgramCommand::Replay(args) => replay::run(&args).map_err(ProgramFailure::of_question),
        ProgramCommand::Review(args) => exec::run_review(&shared, &args.options, &args.review, Manner::Own),
        ProgramCommand::Prompt(args) => prompt::run(&shared, &args),
        ProgramCommand::Context(args) => context::run(&shared, &args),
        ProgramCommand::Cache(args) => cache::run(&shared, &args).map_err(ProgramFailure::of_question),
        ProgramCommand::Cost(args) => cost::run(&shared, &args).map_err(ProgramFailure::of_question),
        ProgramCommand::Inspect(args) => inspect::run(&shared, &args),
        ProgramCommand::Watch(args) => watch::run(&shared, &args),
        ProgramCommand::Capsule(args) => capsule::run(&args),
        ProgramCommand::Schema(args) => schema::run(&args),
        ProgramCommand::Compact(args) => compact::run(&shared, &args),
        ProgramCommand::Undo(args) => undo::undo(&shared, &args),
        ProgramCommand::Redo(args) => undo::redo(&shared, &args),
        ProgramCommand::Demo(args) => demo::run(&args),
        ProgramCommand::Apply(args) => apply::run(&shared, &args),
        ProgramCommand::ApplyPatch(args) => Ok(apply_patch::run(&args)),
        ProgramCommand::Sandbox(args) => sandbox::run(&shared, &args),
        ProgramCommand::Acp(args) => acp::run(&shared, &args),
        ProgramCommand::McpServer(args) => mcp_server::run(&shared, &args),
        ProgramCommand::AppServer(args) => app_server::run(&shared, &args),
        ProgramCommand::Doctor(args) => doctor::run(&shared, &args),
        ProgramCommand::Login(args) => login::run(&shared, &args),
        ProgramCommand::Logout => login::log_out(&shared),
        ProgramCommand::Mcp(args) => mcp::run(&shared, args),
        ProgramCommand::Trust(args) => trust::run(&shared, &args),
        ProgramCommand::Models(args) => models::run(&shared, &args).map_err(ProgramFailure::of_question),
        ProgramCommand::Features(args) => features::run(&shared, &args),
        ProgramCommand::Pack(args) => pack::run(&shared, &args),
        ProgramCommand::Memory(args) => memory::run(&shared, &args),
        ProgramCommand::Phase(args) => phase::run(&shared, &args),
        ProgramCommand::Skills(args) => skills::run(&shared, args),
        ProgramCommand::Prompts(args) => prompts::run(&shared, args),
        ProgramCommand::Approvals(args) => approvals::run(&shared, args),
        ProgramCommand::Execpolicy(args) => execpolicy::run(args),
        ProgramCommand::Completion { shell } => completion::print_script(shell),
        ProgramCommand::Man(args) => man::run(&args),
    }
}
