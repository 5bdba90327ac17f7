//! `sessions`: what is stored, for people and for programs.

mod archive;
mod calls;
pub mod capsule;
mod certify;
mod delete;
pub mod export;
mod fsck;
pub mod grep;
mod injections;
mod list;
mod output;
mod show;
mod transcript;

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_config::Env;
use pellucid_store::index::Progress;
use pellucid_store::parent;
use pellucid_store::query::Cursor;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::reconstructed::WantedSessions;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::StoreError;
use pellucid_store::walk;

use crate::args::sessions::SessionOrder;
use crate::args::sessions::SessionsCommand;
use crate::args::sessions::SessionsListArgs;
use crate::args::shared::Shared;
use crate::print;
use crate::screen;
use crate::screen::StandardStream;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;
use crate::style::Paint;

pub fn run(shared: &Shared, command: SessionsCommand) -> Result<ExitCode, ProgramFailure> {
    let home = home()?;
    match command {
        SessionsCommand::List(args) => list(&home, &args).map_err(ProgramFailure::of_question),
        SessionsCommand::Show(args) => show::run(&home, &args).map_err(ProgramFailure::of_question),
        SessionsCommand::Output { of, call } => {
            let (of, call) = of.split(call.as_ref());
            output::run(&home, &of, call.as_deref()).map_err(ProgramFailure::of_question)
        }
        SessionsCommand::Calls(args) => calls::run(&home, &args).map_err(ProgramFailure::of_question),
        SessionsCommand::Export(args) => export::run(&home, &args),
        SessionsCommand::Grep(args) => grep::run(&home, &args),
        SessionsCommand::Delete(args) => delete::run(&home, &args),
        SessionsCommand::Certify(args) => certify::run(&home, shared, &args),
        SessionsCommand::Capsule(args) => capsule::run(shared, &home, &args),
        SessionsCommand::Fsck(args) => fsck::run(&home, &args).map_err(ProgramFailure::of_question),
        SessionsCommand::Rename { of, name } => {
            let (of, name) = of.split(name.as_ref());
            let hint = "`pellucid sessions rename SESSION NAME` gives a session a name";
            let name = name.ok_or_else(|| ProgramFailure::usage(format!("the new name is missing\nhint: {hint}")))?;
            let mut sessions = LocalSessions::new(&home);
            let (id, _) = stored::meant(&home, &of)?;
            let name = sessions.rename(&id, &name).map_err(|error| failed(&error))?;
            print(&format!("{id} is now called {name}\n"))
        }
        SessionsCommand::Archive(args) => archive::run(&home, &args),
        SessionsCommand::Unarchive { of } => {
            let mut sessions = LocalSessions::new(&home);
            let (id, _) = stored::meant_archived(&home, &of)?;
            let to = sessions.unarchive(&id).map_err(|error| failed(&error))?;
            print(&format!("{id} is no longer archived: {}\n", to.display()))
        }
    }
}

/// The home folder. Sessions can be looked at whatever the configuration says.
pub fn home() -> Result<PathBuf, ProgramFailure> {
    pellucid_config::home::find(&Env::process())
        .map_err(|error| ProgramFailure::new(format!("the home folder cannot be found: {error}")))
}

fn failed(error: &StoreError) -> ProgramFailure {
    ProgramFailure::new(format!("{error}"))
}

fn print(text: &str) -> Result<ExitCode, ProgramFailure> {
    print::out(text)?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(text: &str) -> Result<ExitCode, ProgramFailure> {
    print::json(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Reports the progress of long work on standard error: a counting line on a terminal, one line elsewhere.
fn progress(progress: Progress) {
    let Progress { done, total } = progress;
    let is_watched = StandardStream::Error.is_terminal();
    if is_watched {
        let end = if done == total { "\n" } else { "" };
        let start = screen::line_start();
        style::part(&format!("{start}reading session files for the index: {done} of {total}{end}"));
    } else if done == 0 {
        style::line(&format!("reading {total} session files for the index"));
    }
}

fn list(home: &Path, args: &SessionsListArgs) -> Result<ExitCode, ProgramFailure> {
    let cursor = args.cursor.as_deref().map(str::parse::<Cursor>).transpose();
    let cursor = cursor.map_err(|error| {
        ProgramFailure::usage(format!(
            "--cursor {}: {error}; the line below a page has the one of the next page",
            args.cursor.as_deref().unwrap_or_default()
        ))
    })?;
    // Programs that read the list get every folder, as long as they do not choose one.
    let is_here = args.cwd.is_none() && !args.all && !args.json;
    let here = if is_here { std::env::current_dir().ok() } else { None };
    let cwd = args.cwd.clone().or(here).map(|cwd| cwd.canonicalize().unwrap_or(cwd));
    let query = Query {
        archived: args.archived,
        sources: args.source.clone(),
        providers: args.provider.clone(),
        default_provider: None,
        cwd,
        search: args.search.clone(),
        sort: match args.sort {
            SessionOrder::Created => Sort::Created,
            SessionOrder::Updated => Sort::Updated,
        },
        cursor,
        limit: args.limit,
    };
    let home = &args.from.home(home, WantedSessions::Listed)?;
    let mut sessions = LocalSessions::new(home).with_progress(progress);
    let page = sessions.list(&query);
    for warning in sessions.take_warnings() {
        style::line(&format!("warning: {warning}"));
    }
    let unreadable = walk::unreadable(home);
    for (folder, error) in &unreadable {
        style::line(&format!("warning: {} cannot be read, so its sessions are missing: {error}", folder.display()));
    }
    let done = |code: ExitCode| if unreadable.is_empty() { code } else { ExitCode::FAILURE };
    if args.json {
        let mut value = parent::page_json(&page).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        if args.from.from.is_some() {
            value["reconstructed"] = true.into();
        }
        return print_json(&format!("{value}\n")).map(done);
    }
    if page.sessions.is_empty() && !unreadable.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if page.sessions.is_empty() && is_here {
        let elsewhere = sessions.list(&Query { cwd: None, limit: 1, ..query });
        if !elsewhere.sessions.is_empty() {
            return print("no sessions in this folder; --all lists those of every folder\n").map(done);
        }
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let list = list::ListDrawing {
        columns: StandardStream::Out.columns(),
        paint: Paint::out(),
        now: jiff::Timestamp::now().as_second(),
        folder: (!is_here).then_some(folder.as_path()),
        ids: &stored::ids(home),
    };
    print(&(list::text(&page, &list) + &args.from.note())).map(done)
}

/// A time in the local time zone.
fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
