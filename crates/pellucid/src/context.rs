//! `context`: what a request is made of, and questions about requests.

mod below;
mod bisect;
mod check;
pub mod diff;
mod forms;
pub mod head;
mod inherited;
pub mod lock;
pub mod outputs;
mod overview;
pub mod packs;
mod reconstructed;
pub mod report;
mod saved;
pub mod seen;
mod table;
pub mod why;

use std::process::ExitCode;

use crate::args::context::ContextArgs;
use crate::args::context::ContextCommand;
use crate::args::shared::Shared;
use crate::start::ProgramFailure;

pub fn run(shared: &Shared, args: &ContextArgs) -> Result<ExitCode, ProgramFailure> {
    if let Some(command) = &args.command {
        return match command {
            ContextCommand::Diff(args) => diff::run(shared, args),
            ContextCommand::Lock(args) => lock::run(shared, args),
            ContextCommand::Check(args) => check::run(shared, args),
            ContextCommand::Why(args) => why::run(shared, args),
            ContextCommand::Packs(args) => packs::run(shared, args),
            ContextCommand::Seen(args) => seen::run(shared, args),
            ContextCommand::Bisect(args) => bisect::run(shared, args),
        };
    }
    if args.from.from.is_some() {
        return reconstructed::run(args);
    }
    match report::print_report(shared, args) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refusal.show()),
    }
}
