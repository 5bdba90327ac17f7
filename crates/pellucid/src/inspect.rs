//! `inspect`: a page about what sessions sent, and its interface for programs.
//!
//! - `questions`: what the page asks, answered as commands answer it

pub mod questions;

use std::io;
use std::net::Ipv4Addr;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use pellucid_engine::request_name::RequestName;
use pellucid_inspect::schemas;
use pellucid_inspect::server::Inspector;
use pellucid_inspect::server::InspectorPlan;
use pellucid_inspect::server::N_THREADS_MAX;
use pellucid_inspect::server::StartedFor;
use pellucid_store::reconstructed::WantedSessions;
use pellucid_store::redact::Redactor;
use pellucid_tasks::Task;

use self::questions::CommandAnswers;
use self::questions::ServedCapsule;
use crate::app_server::asked_to_end;
use crate::args::inspect::InspectArgs;
use crate::args::shared::Shared;
use crate::browser;
use crate::capsule;
use crate::print;
use crate::sessions;
use crate::sessions::export;
use crate::start::ProgramFailure;
use crate::style;

pub fn run(shared: &Shared, args: &InspectArgs) -> Result<ExitCode, ProgramFailure> {
    if args.schema {
        print::json(format!("{}\n", schemas::all()).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let home = sessions::home()?;
    let wanted = match &args.reference {
        Some(text) => WantedSessions::Named(text.split('#').next().unwrap_or(text)),
        None => WantedSessions::All,
    };
    let home = args.from.home(&home, wanted)?;
    let (home, mut started_for, capsule) = match &args.reference {
        Some(text) => named(&home, text)?,
        None => (home, StartedFor { is_live: args.live, ..StartedFor::default() }, None),
    };
    started_for.allows_fork = args.allow_fork;
    let failed = |error: io::Error| ProgramFailure::new(format!("{error}"));
    let inspector = inspector(shared, home, started_for, args.port, capsule)?;
    // The page asks many times, and what a command would warn about is the same each time.
    style::print_each_line_once();
    let runtime = runtime()?;
    let end = runtime.block_on(async { asked_to_end() }).map_err(failed)?;
    print::out(&format!("{}\n", inspector.url()))?;
    if args.open {
        open(inspector.url());
    }
    let served = runtime.block_on(async {
        tokio::select! {
            served = inspector.serve() => served,
            () = end => Ok(()),
        }
    });
    // An answer that is being made would be waited for.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS).map_err(failed)
}

/// The runtime of a process that only serves the page, with as many threads as the page needs.
fn runtime() -> Result<tokio::runtime::Runtime, ProgramFailure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(N_THREADS_MAX).build();
    built.map_err(|error| ProgramFailure::new(format!("the runtime cannot start: {error}")))
}

/// A server for the sessions of a home folder, bound to a loopback address.
///
/// # Errors
/// When the address cannot be bound.
pub fn inspector(
    shared: &Shared,
    home: PathBuf,
    started_for: StartedFor,
    port: u16,
    capsule: Option<ServedCapsule>,
) -> Result<Inspector, ProgramFailure> {
    let plan = InspectorPlan {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        started_for,
        questions: Arc::new(CommandAnswers::new(shared.clone(), home.clone(), capsule)),
        redactor: Redactor::new(export::secrets(&home)),
        home,
    };
    Inspector::bind(plan).map_err(|error| ProgramFailure::new(format!("the page cannot be served: {error}")))
}

/// A page that is served as long as this value lives.
#[derive(Debug)]
pub struct ServedPage {
    /// The address that a person opens. It works once.
    pub url: String,
    _serving: Task<io::Result<()>>,
}

/// Serves a page beside something else. Must be called inside of a runtime.
///
/// # Errors
/// When the address cannot be bound.
pub fn beside(shared: &Shared, home: PathBuf, started_for: StartedFor) -> Result<ServedPage, ProgramFailure> {
    let inspector = inspector(shared, home, started_for, 0, None)?;
    let url = inspector.url().to_owned();
    Ok(ServedPage { url, _serving: Task::spawn("inspector", inspector.serve()) })
}

/// Serves a page beside something else, and prints its address on standard error.
///
/// # Errors
/// When the address cannot be bound.
pub fn tell_beside(shared: &Shared, home: PathBuf, started_for: StartedFor) -> Result<ServedPage, ProgramFailure> {
    let page = beside(shared, home, started_for)?;
    style::line(&format!("the page about this session: {}", page.url));
    Ok(page)
}

/// What is looked at: the home folder, the session or request in it, and the capsule if it is one.
type Looked = (PathBuf, StartedFor, Option<ServedCapsule>);

/// The home folder and the session or request that a name means.
fn named(home: &Path, text: &str) -> Result<Looked, ProgramFailure> {
    let name = RequestName::parse(text).map_err(|error| ProgramFailure::usage(error.to_string()))?;
    let (session, number) = match &name {
        RequestName::Sent { session, number } => (session.clone(), *number),
        RequestName::File { path } => (format!("file:{path}"), None),
        RequestName::Next { .. } | RequestName::Now { .. } | RequestName::Lock => {
            return Err(ProgramFailure::usage(format!(
                "the page shows what was sent, and `{text}` was not sent\nhint: `pellucid context {text}` shows it"
            )));
        }
    };
    let looked_at = capsule::look(home, &session)?;
    let request = number.and_then(|number| usize::try_from(number).ok());
    let capsule = ServedCapsule { session: looked_at.id.clone(), name: session };
    let capsule = capsule::is_named(&capsule.name).then_some(capsule);
    let started_for = StartedFor {
        session: Some(looked_at.id),
        request,
        capsule: capsule.as_ref().map(|capsule| capsule.name.clone()),
        ..StartedFor::default()
    };
    Ok((looked_at.home, started_for, capsule))
}

/// Opens an address in the user's browser. If that fails, the printed address is still there.
pub fn open(url: &str) {
    if let Err((program, error)) = browser::open(url) {
        style::line(&format!("warning: {program} cannot be started: {error}; open the printed address yourself"));
    }
}
