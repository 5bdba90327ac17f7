//! `phase`: shows and sets the phase of work of a workspace or of a session.

use std::process::ExitCode;

use pellucid_agent::phases::PhaseOwner;
use pellucid_agent::phases::PhaseScope;
use pellucid_agent::phases::PhaseView;
use pellucid_agent::phases::Phases;
use pellucid_agent::phases::SetPhaseError;
use pellucid_engine::reinject::phases::PhaseNames;
use serde_json::json;

use crate::args::phase::PhaseArgs;
use crate::args::phase::PhaseCommand;
use crate::args::phase::PhaseOf;
use crate::args::shared::Shared;
use crate::pack;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;

/// What to do with the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseWish<'a> {
    /// Report the phases and change nothing.
    Show,
    /// Set a phase.
    Set(&'a str),
    /// Set the phase after the one that holds.
    Next,
    /// Set no phase.
    Clear,
}

impl<'a> PhaseWish<'a> {
    /// The wish behind `/phase`.
    pub fn of(words: &'a str) -> Self {
        match words {
            "next" => Self::Next,
            "clear" => Self::Clear,
            name => Self::Set(name),
        }
    }
}

/// Does what is wished in a scope. Gives the phases as they are then.
///
/// # Errors
/// The pack has no such phase, or the setting cannot be written.
pub fn changed(phases: &Phases, scope: PhaseScope, wish: PhaseWish<'_>) -> Result<PhaseView, SetPhaseError> {
    match wish {
        PhaseWish::Show => {}
        PhaseWish::Set(name) => phases.set(scope, name)?,
        PhaseWish::Next => drop(phases.next(scope)?),
        PhaseWish::Clear => phases.clear(scope)?,
    }
    Ok(phases.view())
}

pub fn run(shared: &Shared, args: &PhaseArgs) -> Result<ExitCode, ProgramFailure> {
    let (of, wish) = match &args.command {
        PhaseCommand::Show(of) => (of, PhaseWish::Show),
        PhaseCommand::Set(args) => (&args.of, PhaseWish::Set(&args.name)),
        PhaseCommand::Next(of) => (of, PhaseWish::Next),
        PhaseCommand::Clear(of) => (of, PhaseWish::Clear),
    };
    let (phases, scope) = opened(shared, of)?;
    let view = changed(&phases, scope, wish).map_err(|error| match error {
        SetPhaseError::Write(_) => ProgramFailure::new(error.to_string()),
        SetPhaseError::Unknown(_) | SetPhaseError::NoNext(_) => ProgramFailure::usage(error.to_string()),
    })?;
    let text = if of.json { format!("{}\n", json!(view)) } else { view.lines().join("\n") + "\n" };
    print::report(&text, OutputFormat::of(of.json))?;
    Ok(ExitCode::SUCCESS)
}

/// The phases that are meant, and what a change is for.
fn opened(shared: &Shared, of: &PhaseOf) -> Result<(Phases, PhaseScope), ProgramFailure> {
    let start = Start::new(shared, &of.start)?;
    let pack = pack::selected(&start.config)?;
    let folders = &start.config.folders;
    let config = start.config.prompt.phase.clone();
    let names = PhaseNames::of(&pack);
    Ok(match &of.session {
        Some(session) => {
            let file = start.existing_of_any(&Which::Id(session.clone()))?;
            // The phase of a session's workspace is that of the folder that it works in.
            let owner = PhaseOwner { names, home: &folders.home, config, cwd: file.meta.cwd.as_ref() };
            (Phases::kept(owner, &file.meta.id), PhaseScope::Session)
        }
        None => {
            let owner = PhaseOwner { names, home: &folders.home, config, cwd: &folders.cwd };
            (Phases::held(owner, None), PhaseScope::Workspace)
        }
    })
}
