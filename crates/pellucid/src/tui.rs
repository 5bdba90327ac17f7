//! The terminal client: from arguments to a conversation in the terminal, and its end.
//!
//! - `host`: what the client asks of the program
//! - `history`, `drafts`: the files of messages that were sent, and of texts that were not
//! - `settings`: what the client is started with
//! - `entries`, `describe`: menus and texts that the client shows
//! - `export`: the session as a file
//! - `editor`: the user's editor
//! - `look`: what the model will see
//! - `past`: summaries on trial, and going back with files
//! - `dumb`, `before`: the questions before the session
//! - `clipboard`: the image of the clipboard

mod before;
mod clipboard;
mod describe;
mod drafts;
mod dumb;
mod editor;
mod entries;
mod export;
mod history;
mod host;
mod look;
mod past;
pub mod settings;

use std::process::ExitCode;

use pellucid_engine::command_line::joined;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_tui::app::App;
use pellucid_tui::app::settings::FirstMessage;
use pellucid_tui::run::Client;
use pellucid_tui::run::RunEnd;
use pellucid_tui::run::lines;
use pellucid_tui::run::signals::EndSignals;
use pellucid_tui::terminal::ClientTerminal;

use crate::advice;
use crate::args::interactive::Interactive;
use crate::args::shared::Shared;
use crate::args::turn::TurnArgs;
use crate::exec;
use crate::fork;
use crate::fork::CopyEnd;
use crate::print;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::tui::before::Before;
use crate::tui::drafts::DraftFile;
use crate::tui::host::HowToOpen;
use crate::tui::host::SessionHost;

/// The status after a word that is no command.
const WRONG_USAGE: u8 = 2;

/// The session that the client begins with.
#[derive(Debug)]
pub enum ClientTarget {
    /// A session without a history.
    New,
    /// A stored session that continues; absent to choose one from a list.
    Resumed { which: Option<Which>, everywhere: bool },
    /// A copy of a stored session; absent to choose one from a list.
    Forked { which: Option<Which>, everywhere: bool },
}

/// The session that was chosen, if one had to be.
#[derive(Debug)]
pub enum SessionChoice {
    /// A session without a history.
    New,
    /// A stored session that continues.
    Resumed(Which),
    /// A copy of a stored session.
    Forked(Which),
}

/// What the client is asked to do.
#[derive(Debug)]
pub struct ClientJob {
    pub target: ClientTarget,
    pub turn: TurnArgs,
    pub policy: Option<ApprovalPolicy>,
    pub prompt: Option<String>,
    pub has_alternate_screen: bool,
    /// Whether plain lines are written for a screen reader, whatever the configuration says.
    pub is_for_screen_reader: bool,
}

/// Whether there is a terminal that a person sits at.
pub fn has_terminal() -> bool {
    ClientTerminal::is_there()
}

/// Opens the client with a new session.
pub fn run(shared: &Shared, args: &Interactive) -> Result<ExitCode, ProgramFailure> {
    if let Some(hint) = args.prompt.as_deref().and_then(advice::of_word) {
        let word = args.prompt.as_deref().unwrap_or_default();
        ProgramFailure::with_hint(&format!("`{word}` is no command"), &hint).show();
        return Ok(ExitCode::from(WRONG_USAGE));
    }
    let mut shared = shared.clone();
    if args.wants_search() {
        shared.config.push("web_search=\"live\"".to_owned());
    }
    let job = ClientJob {
        target: ClientTarget::New,
        turn: args.turn(),
        policy: args.approval_policy(),
        prompt: args.prompt.clone(),
        has_alternate_screen: !args.no_alt_screen,
        is_for_screen_reader: args.screen_reader,
    };
    run_job(&shared, job)
}

/// Opens the client.
pub fn run_job(shared: &Shared, job: ClientJob) -> Result<ExitCode, ProgramFailure> {
    if !has_terminal() {
        return Err(no_terminal(job.prompt.as_deref()));
    }
    let ClientJob { target, mut turn, policy, prompt, has_alternate_screen, is_for_screen_reader } = job;
    let mut shared = shared.clone();
    if is_for_screen_reader {
        shared.config.push("tui.screen_reader=true".to_owned());
    }
    let shared = &shared;
    let mut start = Start::in_terminal(shared, &turn.start, policy)?;
    start.enforce_login()?;
    start.read_rules()?;
    if !start.config.terminal.is_for_screen_reader && !dumb::may_draw(&start.env)? {
        return Ok(ExitCode::FAILURE);
    }
    exec::runtime()?.block_on(async {
        // Until the client takes them, a signal ends what is asked; dropping it restores the terminal.
        let mut signals = EndSignals::new().map_err(unusable)?;
        let asked = async {
            match before::screens(&start).await? {
                Before::Ready => {}
                Before::Changed => start = Start::in_terminal(shared, &turn.start, policy)?,
                Before::Ended => return Ok(None),
            }
            let Some(target) = before::target(&start, target).await? else { return Ok(None) };
            // The status of the Codex CLI for a session that does not exist is 1 here, as for every fatal error of the client.
            let opening = opening(&start, &target).map_err(|failure| ProgramFailure::new(failure.text()))?;
            if let Some(folder) = before::folder(&start, &opening, turn.start.cd.is_some()).await? {
                turn.start.cd = Some(folder);
                start = Start::in_terminal(shared, &turn.start, policy)?;
            }
            Ok(Some(opening))
        };
        let asked = tokio::select! {
            biased;
            number = signals.next() => return Ok(ended_by(number)),
            asked = asked => asked?,
        };
        let Some(opening) = asked else { return Ok(ExitCode::SUCCESS) };
        let first = (prompt.is_some() || !turn.image.is_empty())
            .then(|| FirstMessage { text: prompt.unwrap_or_default(), images: turn.image.clone() });
        let mut settings = settings::read(&start, first);
        settings.has_alternate_screen &= has_alternate_screen;
        let (drafts, kept) = DraftFile::open(&start.config);
        settings.kept = kept;
        let how = HowToOpen { shared: shared.clone(), turn, policy };
        let (mut host, opened) = tokio::select! {
            biased;
            number = signals.next() => return Ok(ended_by(number)),
            opened = SessionHost::open(how, start, opening) => opened?,
        };
        host.drafts = drafts;
        let is_spoken = settings.manner.is_spoken;
        let app = App::new(settings);
        let (end, app) = if is_spoken {
            lines::run(&mut host, app, opened).await.map_err(unusable)?
        } else {
            let client = Client::start(&mut host, app, opened).await.map_err(unusable)?;
            client.run().await.map_err(unusable)?
        };
        for line in app.farewell("pellucid") {
            let printed = print::out(&format!("{line}\n"));
            // After a signal the terminal may be gone.
            if !matches!(end, RunEnd::Signal(_)) {
                printed?;
            }
        }
        Ok(match end {
            RunEnd::Quit => ExitCode::SUCCESS,
            RunEnd::Signal(number) => ended_by(number),
            RunEnd::Failed => ExitCode::FAILURE,
        })
    })
}

/// The exit status that shells give to a program that a signal ended.
fn ended_by(signal: u8) -> ExitCode {
    ExitCode::from(128 + signal)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
fn unusable(error: std::io::Error) -> ProgramFailure {
    ProgramFailure::new(format!("the terminal cannot be used: {error}"))
}

/// The failure without a terminal, for a conversation that would begin with `prompt`.
pub fn no_terminal(prompt: Option<&str>) -> ProgramFailure {
    const WHY: &str = "standard input and standard output are not both a terminal, which a conversation needs";
    match prompt {
        None => ProgramFailure::with_hint(WHY, "`pellucid exec PROMPT` runs one turn without a terminal"),
        Some(prompt) => {
            let prompt = joined(&[prompt.to_owned()]);
            let hint = format!("to run one turn without a terminal: pellucid exec {prompt}");
            ProgramFailure::with_hint(&format!("{prompt} would begin a conversation, but {WHY}"), &hint)
        }
    }
}

fn opening(start: &Start, target: &SessionChoice) -> Result<Opening, ProgramFailure> {
    let keep = Persistence::File;
    Ok(match target {
        SessionChoice::New => Opening::New { session_id: None, keep },
        SessionChoice::Resumed(which) => Opening::Resumed { file: Box::new(start.existing(which)?), keep },
        SessionChoice::Forked(which) => {
            let file = start.existing(which)?;
            let (file, upto) = fork::place(&start.config.folders.home, file, CopyEnd::Whole)?;
            Opening::Forked { file: Box::new(file), upto, session_id: None, keep }
        }
    })
}
