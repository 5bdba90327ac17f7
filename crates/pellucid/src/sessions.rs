//! `sessions`: what is stored, for people and for programs.

mod archive;
mod calls;
mod capsule;
mod certify;
mod delete;
mod export;
mod fsck;
mod grep;
mod output;
pub mod parent;
mod show;

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_config::Env;
use pellucid_store::find;
use pellucid_store::find::SessionFilter;
use pellucid_store::index::Progress;
use pellucid_store::query::Cursor;
use pellucid_store::query::Page;
use pellucid_store::query::Query;
use pellucid_store::query::Sort;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use pellucid_store::sessions::StoreError;
use pellucid_store::summary::SessionSummary;
use pellucid_store::walk;

use crate::args::SessionOrder;
use crate::args::SessionsCommand;
use crate::args::SessionsListArgs;
use crate::args::Shared;
use crate::pack::table::table;
use crate::print;
use crate::screen;
use crate::screen::StandardStream;
use crate::start::NoSession;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;

/// How many characters of a first message a table shows.
const TITLE_CHARS: usize = 60;

pub fn run(shared: &Shared, command: SessionsCommand) -> Result<ExitCode, ProgramFailure> {
    let home = home()?;
    match command {
        SessionsCommand::List(args) => list(&home, &args),
        SessionsCommand::Show(args) => show::run(&home, &args),
        SessionsCommand::Output { session, call } => output::run(&home, &session, call.as_deref()),
        SessionsCommand::Calls(args) => calls::run(&home, &args),
        SessionsCommand::Export(args) => export::run(&home, &args),
        SessionsCommand::Grep(args) => grep::run(&home, &args),
        SessionsCommand::Delete(args) => delete::run(&home, &args),
        SessionsCommand::Certify(args) => certify::run(&home, shared, &args),
        SessionsCommand::Capsule(args) => capsule::run(&home, &args),
        SessionsCommand::Fsck(args) => fsck::run(&home, &args),
        SessionsCommand::Rename { session, name } => {
            let mut sessions = LocalSessions::new(&home);
            let id = resolve(&home, &session)?;
            let name = sessions.rename(&id, &name).map_err(|error| failed(&error))?;
            print(&format!("{id} is now called {name}\n"))
        }
        SessionsCommand::Archive(args) => archive::run(&home, &args),
        SessionsCommand::Unarchive { session } => {
            let mut sessions = LocalSessions::new(&home);
            let id = resolve(&home, &session)?;
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

/// The file of the session that a text names, archived or not.
pub fn file(home: &Path, session: &str) -> Result<PathBuf, ProgramFailure> {
    stored::session(home, session).map(|(_, path)| path).map_err(|error| error.failure())
}

/// The file of the session that was used last in this folder.
pub fn last_file(home: &Path) -> Result<PathBuf, ProgramFailure> {
    let cwd =
        std::env::current_dir().map_err(|error| ProgramFailure::new(format!("there is no current folder: {error}")))?;
    find::newest(home, SessionFilter { cwd: Some(&cwd), provider: None })
        .ok_or_else(|| NoSession::listing(format!("no session has worked in {} yet", cwd.display())).failure())
}

/// The id of the session that a person means.
fn resolve(home: &Path, session: &str) -> Result<String, ProgramFailure> {
    stored::session(home, session).map(|(id, _)| id).map_err(|error| error.failure())
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
        ProgramFailure::new(format!(
            "--cursor {}: {error}; the line below a page has the one of the next page",
            args.cursor.as_deref().unwrap_or_default()
        ))
    })?;
    let cwd = args.cwd.as_ref().map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.clone()));
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
        let value = parent::page_json(&page).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        return print_json(&format!("{value}\n")).map(done);
    }
    if page.sessions.is_empty() && !unreadable.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    print(&list_text(&page)).map(done)
}

fn list_text(page: &Page) -> String {
    if page.sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    let row = |it: &SessionSummary| {
        vec![
            it.id.clone(),
            time(it.updated_at),
            it.source.clone(),
            style::thousands(it.usage.blended_total()),
            it.cwd.clone(),
            title(it),
        ]
    };
    let rows: Vec<Vec<String>> = page.sessions.iter().map(row).collect();
    let mut text = table(&["ID", "UPDATED", "CLIENT", "TOKENS", "FOLDER", "SESSION"], &rows);
    if let Some(next) = &page.next {
        text += &format!("more: pellucid sessions list --cursor '{next}'\n");
    }
    text
}

/// A time in the local time zone.
fn time(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A session's title: its name, or the beginning of its first message.
fn title(summary: &SessionSummary) -> String {
    if let Some(name) = &summary.name {
        return name.clone();
    }
    let line: String = summary.first_message.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    format!("{}…", line.chars().take(TITLE_CHARS).collect::<String>())
}
