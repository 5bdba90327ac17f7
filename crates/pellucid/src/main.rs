//! The `pellucid` program: reads arguments, wires the rooms together, shows what comes out.
//!
//! - `args`: what can be typed
//! - `start`: from arguments to a session
//! - `exec`: one turn without a terminal interface
//! - `prompt`, `context`: what the model would be given, and where it comes from
//! - `memory`: the cards of a session's memory
//! - `pack`: the user's prompt packs
//! - `skills`, `prompts`: what lies on disk for the model or for a person to use
//! - `demo`: a scripted turn for newcomers
//!
//! Not here: behaviour. That is in the libraries.

mod args;
mod context;
mod demo;
mod environment;
mod exec;
mod features;
mod memory;
mod pack;
mod prompt;
mod prompts;
mod skills;
mod start;
mod stdin;
mod style;

use std::process::ExitCode;

use clap::CommandFactory;
use clap::Parser;

use crate::args::Args;
use crate::args::Command;
use crate::start::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    start_log();
    match run(args) {
        Ok(code) => code,
        Err(failure) => failure.show(),
    }
}

fn run(args: Args) -> Result<ExitCode, Failure> {
    let Args { shared, interactive, command } = args;
    if interactive.is_given() {
        style::note("options before the command do not apply to it; put them after it");
    }
    match command {
        Command::Exec(exec) => exec::run(&shared, &exec),
        Command::Prompt(args) => prompt::run(&shared, &args),
        Command::Context(args) => context::run(&shared, &args),
        Command::Demo(args) => demo::run(&args),
        Command::Features(args) => features::run(&shared, &args),
        Command::Pack(args) => pack::run(&shared, &args),
        Command::Memory(args) => memory::run(&shared, &args),
        Command::Skills(args) => skills::run(&shared, args),
        Command::Prompts(args) => prompts::run(&shared, args),
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "pellucid", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Diagnostics go to standard error when `RUST_LOG` names a level.
fn start_log() {
    let level = std::env::var("RUST_LOG").ok().and_then(|level| level.parse::<tracing::Level>().ok());
    if let Some(level) = level {
        tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false).init();
    }
}
