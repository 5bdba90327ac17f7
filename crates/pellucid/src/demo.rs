//! `demo`: what Pellucid is, in a minute, with no key and no network.
//!
//! Makes a small project in a throw-away folder, runs a scripted turn in it, and prints the report
//! of the last request that the turn sent.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use pellucid_protocol::operation::Operation;
use pellucid_tui::cells::transcript::ShownReasoning;

use crate::args::demo::DemoArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::context;
use crate::exec;
use crate::exec::Show;
use crate::start;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;
use crate::style::Paint;

const SCRIPT: &str = include_str!("../demo/script.toml");

const PROMPT: &str = "Which rules apply here?";

/// The project: a repository with two instruction files, one of them blank.
const FILES: [(&str, &str); 4] = [
    ("project/.git/HEAD", "ref: refs/heads/main\n"),
    ("project/AGENTS.md", "# Rules\n\nEvery change comes with a test.\n"),
    ("project/api/AGENTS.md", "Document every function.\n"),
    ("project/api/notes/AGENTS.md", "\n"),
];

pub fn run(args: &DemoArgs) -> Result<ExitCode, ProgramFailure> {
    let folder = tempfile::tempdir()
        .map_err(|error| ProgramFailure::new(format!("no throw-away folder can be made: {error}")))?;
    let project = make_project(folder.path())
        .map_err(|error| ProgramFailure::new(format!("the demo's project cannot be written: {error}")))?;
    style::line("A small project with instruction files, and an embedded model that plays a script:\n");
    let turn = StartArgs {
        cd: Some(project.join("api/notes")),
        script: Some(folder.path().join("script.toml")),
        ..StartArgs::default()
    };
    let start = Start::in_home(&folder.path().join("home"), &Shared::default(), &turn)?;
    let env = start.env.clone();
    let session = start.session(Opening::New { session_id: None, keep: Persistence::Nothing })?;
    let color = crate::args::exec::Color::Auto;
    let mut show = Show::people(color, ShownReasoning::Summary, PROMPT.to_owned(), &env, &session);
    let inputs = start::inputs(&[], Some(PROMPT.to_owned()));
    let input = Operation::UserInput { items: inputs, final_output_json_schema: None };
    let (session, outcome) = exec::run_operation(session, input, &mut show)?;
    show.finish(outcome.last_message.as_deref())?;
    style::line("\nAnd this is everything the model was given in the last request:\n");
    context::report::print(&session, args.json, Paint::new(color))?;
    style::line("\nTry it on your project: `pellucid context \"hello\"` shows the same for your next request.");
    Ok(ExitCode::SUCCESS)
}

fn make_project(folder: &Path) -> io::Result<std::path::PathBuf> {
    for (path, text) in FILES.into_iter().chain([("script.toml", SCRIPT), ("home/config.toml", "")]) {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(folder.join("project"))
}
