//! `resume` and `fork`: continue earlier sessions, in place or as a copy.

use std::process::ExitCode;

use pellucid_store::find;
use pellucid_store::find::SessionFilter;
use pellucid_store::name;
use pellucid_store::parent::ParentSession;

use crate::args::exec::ExecOptions;
use crate::args::interactive;
use crate::args::interactive::ClientOptions;
use crate::args::sessions::ForkArgs;
use crate::args::sessions::ResumeCommandArgs;
use crate::args::shared::Shared;
use crate::exec;
use crate::exec::Absent;
use crate::exec::ExecJob;
use crate::exec::Manner;
use crate::exec::Otherwise;
use crate::exec::SessionTarget;
use crate::exec::Work;
use crate::fork::CopyEnd;
use crate::print;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::stored;
use crate::stored::NoSession;
use crate::style;
use crate::tui;
use crate::tui::ClientJob;
use crate::tui::ClientTarget;

/// The failure for a command that needs a session and names none.
pub fn which() -> ProgramFailure {
    NoSession::listing("say which session: its id, the beginning of its id, its name, or --last".to_owned()).failure()
}

/// Whether the session continues in the terminal client: there is a terminal, and nothing asks for one turn only.
fn is_for_client(options: &ExecOptions, client: ClientOptions) -> bool {
    !client.once && !options.json && tui::has_terminal()
}

fn client_job(options: &ExecOptions, client: ClientOptions, target: ClientTarget, prompt: Option<String>) -> ClientJob {
    let turn = options.turn.clone();
    ClientJob {
        target,
        policy: interactive::policy(client.approval, turn.start.full_auto, turn.start.bypass),
        turn,
        prompt,
        has_alternate_screen: !client.no_alt_screen,
        is_for_screen_reader: client.screen_reader,
    }
}

pub fn resume(shared: &Shared, args: &ResumeCommandArgs) -> Result<ExitCode, ProgramFailure> {
    let (which, prompt) = args.wish();
    if is_for_client(&args.options, args.client) {
        let which = match which {
            Some(which) if args.parent => Some(parent(&which)?),
            which => which,
        };
        let target = ClientTarget::Resumed { which, everywhere: args.all };
        return tui::run_job(shared, client_job(&args.options, args.client, target, prompt));
    }
    let which = which.ok_or_else(self::which)?;
    if prompt.is_none() {
        return Err(ProgramFailure::usage(tui::no_terminal(None).text()));
    }
    let which = if args.parent { parent(&which)? } else { which };
    let images = args.options.turn.image.clone();
    let target = SessionTarget::Resumed { which, otherwise: Otherwise::Fail };
    exec::run_job(shared, &args.options, ExecJob { target, work: Work::Answer { prompt, images }, manner: Manner::Own })
}

/// The parent of a session.
fn parent(which: &Which) -> Result<Which, ProgramFailure> {
    let home = sessions::home()?;
    let file = match which {
        Which::Id(session) => stored::session(&home, session)?.1,
        Which::Newest { everywhere: false } => stored::last(&home)?.1,
        Which::Newest { everywhere: true } => find::newest(&home, SessionFilter::default()).ok_or_else(self::which)?,
    };
    let parent = ParentSession::of_file(&file).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let parent = parent.ok_or_else(|| {
        let id = file.file_name().and_then(|name| name::session_id(name.to_str()?)).unwrap_or_default();
        let text = format!("session {id} has no parent: it was neither forked nor started by another");
        ProgramFailure::with_hint(&text, "`pellucid sessions list --json` shows the parents of sessions")
    })?;
    Ok(Which::Id(parent.id))
}

pub fn fork(shared: &Shared, args: &ForkArgs) -> Result<ExitCode, ProgramFailure> {
    let (end, (which, prompt)) = args.wish()?;
    if end == CopyEnd::Whole && is_for_client(&args.options, args.client) {
        let target = ClientTarget::Forked { which, everywhere: args.all };
        return tui::run_job(shared, client_job(&args.options, args.client, target, prompt));
    }
    let which = which.ok_or_else(self::which)?;
    let target = SessionTarget::Forked { which, end };
    if prompt.is_some() {
        let images = args.options.turn.image.clone();
        return exec::run_job(
            shared,
            &args.options,
            ExecJob { target, work: Work::Answer { prompt, images }, manner: Manner::Own },
        );
    }
    let id = copied(shared, &args.options, &target)?;
    print::out(&format!("{id}\n"))?;
    style::note(&format!("to continue: pellucid resume {id} PROMPT"));
    Ok(ExitCode::SUCCESS)
}

/// Copies the session that the arguments of `fork` name, and runs no turn. Gives the id of the copy.
///
/// # Errors
/// When there is no such session or place, or the copy cannot be written.
pub fn copy(shared: &Shared, args: &ForkArgs) -> Result<String, ProgramFailure> {
    let (end, (which, _)) = args.wish()?;
    let which = which.ok_or_else(self::which)?;
    copied(shared, &args.options, &SessionTarget::Forked { which, end })
}

fn copied(shared: &Shared, options: &ExecOptions, target: &SessionTarget) -> Result<String, ProgramFailure> {
    let start = Start::new(shared, &options.turn.start)?;
    let opening = exec::opening(&start, target, options, Absent::Refused)?;
    let session = start.session(opening)?;
    match session.file_failure() {
        Some(failure) => Err(ProgramFailure::new(format!("the new session cannot be written: {failure}"))),
        None => Ok(session.id().to_string()),
    }
}
