//! `watch`: starts another program and records what it sends to its model.
//!
//! Not here: forwarding and recording (`pellucid-watch`), and the process (`pellucid-exec`).

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_exec::foreground::Foreground;
use pellucid_inspect::server::StartedFor;
use pellucid_watch::proxy::WatchPlan;
use pellucid_watch::proxy::WatchServer;
use pellucid_watch::record::DocumentPlaces;
use pellucid_watch::record::RecordPlan;
use pellucid_watch::record::WatchSummary;
use pellucid_watch::services::WatchedService;
use pellucid_watch::services::services;

use crate::args::shared::Shared;
use crate::args::watch::WatchArgs;
use crate::exec;
use crate::inspect;
use crate::print;
use crate::sessions;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;
use crate::style::counted;

/// Set for watched commands, so that a second `watch` inside of one is refused.
const WATCHED: &str = "PELLUCID_WATCH";

/// Variables that name the home folders of programs.
const PROGRAM_HOMES: [&str; 3] = ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "PELLUCID_HOME"];

/// The status of a command that is there and cannot be started.
const CANNOT_START: u8 = 126;

/// The status of a command that is not there.
const NOT_FOUND: u8 = 127;

pub fn run(shared: &Shared, args: &WatchArgs) -> Result<ExitCode, ProgramFailure> {
    let held = |name: &str| std::env::var(name).ok();
    let services = services(&args.variables, args.upstream.as_deref(), &held).map_err(ProgramFailure::usage)?;
    if args.print_env {
        print::out(&variables_text(&services))?;
        return Ok(ExitCode::SUCCESS);
    }
    if held(WATCHED).is_some() {
        return Err(ProgramFailure::usage(
            "this command runs inside of `pellucid watch` already\nhint: its requests are recorded by the outer one"
                .to_owned(),
        ));
    }
    let home = sessions::home()?;
    let plan = WatchPlan { services, port: args.port, record: record_plan(&home, args)? };
    let runtime = exec::runtime()?;
    let (status, summary) = runtime.block_on(watched(shared, &home, args, plan))?;
    tell(&home, &summary);
    Ok(status)
}

/// The variables with the addresses that they are forwarded to.
fn variables_text(services: &[WatchedService]) -> String {
    let width = services.iter().map(|it| it.variable.len()).max().unwrap_or(0);
    services.iter().map(|it| format!("{:width$}  forwarded to {}\n", it.variable, it.upstream)).collect()
}

fn record_plan(home: &Path, args: &WatchArgs) -> Result<RecordPlan, ProgramFailure> {
    let cwd = std::env::current_dir()
        .map_err(|error| ProgramFailure::new(format!("the working directory cannot be found: {error}")))?;
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = program_name(&words);
    let folder = |name: &&str| std::env::var_os(name).map(PathBuf::from);
    // `env CODEX_HOME=DIR codex` sets it for the command alone.
    let given = words.iter().filter_map(|word| word.split_once('='));
    let given = given.filter(|(name, _)| PROGRAM_HOMES.contains(name)).map(|(_, folder)| PathBuf::from(folder));
    let mut program_homes: Vec<PathBuf> = given.chain(PROGRAM_HOMES.iter().filter_map(folder)).collect();
    program_homes.retain(|path| path.is_absolute());
    let places = DocumentPlaces { cwd: cwd.clone(), home: std::env::home_dir(), program_homes };
    Ok(RecordPlan { home: home.to_owned(), cwd, program, words, name: args.name.clone(), places })
}

/// The name of the program that a command runs: the first word that does not start another program.
fn program_name(words: &[String]) -> String {
    const STARTERS: [&str; 9] = ["env", "nice", "nohup", "time", "npx", "bunx", "node", "bun", "timeout"];
    let name = |word: &String| {
        let name = Path::new(word).file_name().map_or_else(|| word.clone(), |name| name.to_string_lossy().into_owned());
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let is_program = !name.starts_with('-') && !name.contains('=') && !is_number;
        (is_program && !STARTERS.contains(&name.as_str())).then_some(name)
    };
    words.iter().find_map(name).or_else(|| words.first().cloned()).unwrap_or_default()
}

async fn watched(
    shared: &Shared,
    home: &Path,
    args: &WatchArgs,
    plan: WatchPlan,
) -> Result<(ExitCode, WatchSummary), ProgramFailure> {
    let port = plan.port;
    let server = WatchServer::bind(plan).map_err(|error| {
        let hint = "without --port a free one is taken";
        ProgramFailure::new(format!("cannot listen on port {port}: {error}\nhint: {hint}"))
    })?;
    let mut variables = server.variables();
    variables.push((WATCHED.to_owned(), "1".to_owned()));
    let page = if args.open {
        let started_for = StartedFor { is_live: true, ..StartedFor::default() };
        let page = inspect::tell_beside(shared, home.to_owned(), started_for)?;
        inspect::open(&page.url);
        Some(page)
    } else {
        None
    };
    let started = match Foreground::start(&args.command, &variables) {
        Ok(started) => started,
        Err(error) => return Ok((not_started(args, &error), WatchSummary::default())),
    };
    let (status, summary) = server.serve_until(started.wait()).await;
    drop(page);
    let status = status.map_err(|error| ProgramFailure::new(format!("the command cannot be waited for: {error}")))?;
    Ok((ExitCode::from(status), summary))
}

/// Reports why the command was not started. The status is the one that shells give.
fn not_started(args: &WatchArgs, error: &io::Error) -> ExitCode {
    let name = args.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if error.kind() == io::ErrorKind::NotFound {
        style::line(&format!("error: there is no command `{name}`\nhint: give its path, or add its folder to PATH"));
        return ExitCode::from(NOT_FOUND);
    }
    style::line(&format!("error: `{name}` cannot be started\n  caused by: {error}"));
    ExitCode::from(CANNOT_START)
}

/// Says on standard error what was recorded.
fn tell(home: &Path, summary: &WatchSummary) {
    for failure in &summary.failures {
        style::line(&format!("warning: what was sent could not be recorded: {failure}"));
    }
    let ids = stored::ids(home);
    let names: Vec<&str> = summary.sessions.iter().map(|id| stored::short_id(id, &ids)).collect();
    match names.first() {
        None => {
            style::line("nothing was recorded: the command sent no request through the addresses that it was given");
        }
        Some(first) => style::line(&format!(
            "recorded {} in {}: {}; `pellucid context {first}` shows the last",
            counted(summary.n_requests, "request"),
            counted(names.len(), "session"),
            names.join(", "),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_the_word_that_is_not_about_starting_it() {
        for (command, expected) in [
            ("codex exec hi", "codex"),
            ("/usr/bin/codex", "codex"),
            ("env A=1 /opt/claude -p hi", "claude"),
            ("npx -y @google/gemini-cli", "gemini-cli"),
            ("timeout 60 pi", "pi"),
            ("node --version", "node"),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(program_name(&words), expected, "{command}");
        }
    }
}
