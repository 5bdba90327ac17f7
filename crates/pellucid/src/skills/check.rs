//! `skills check`: skills against the format that other agents read.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::skills;
use pellucid_engine::skills::format_check;
use serde_json::Value;
use serde_json::json;

use crate::args::shared::Shared;
use crate::args::skills::SkillsCheckArgs;
use crate::args::turn::StartArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style::counted;

/// The name of the file in the folder of a skill.
const FILE: &str = "SKILL.md";

/// The form of the JSON.
const SCHEMA: &str = "pellucid.skills-check/1";

/// A skill that was checked.
struct Checked {
    path: PathBuf,
    faults: Vec<String>,
}

pub fn run(shared: &Shared, args: &SkillsCheckArgs) -> Result<ExitCode, ProgramFailure> {
    let paths = if args.folders.is_empty() { found(shared, args)? } else { named(args)? };
    let checked: Vec<Checked> = paths.into_iter().map(check).collect();
    let is_good = checked.iter().all(|it| it.faults.is_empty());
    let text = if args.json { format!("{}\n", to_json(&checked)) } else { described(&checked) };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The files of all skills that sessions would find, those that cannot be used too.
fn found(shared: &Shared, args: &SkillsCheckArgs) -> Result<Vec<PathBuf>, ProgramFailure> {
    let start = Start::new(shared, &StartArgs { cd: args.cd.clone(), ..StartArgs::default() })?;
    let skills = skills::search(&start.config, &start.env).load();
    let good = skills.all().iter().map(|skill| &skill.path);
    let bad = skills.problems.iter().map(|problem| &problem.path).filter(|path| path.ends_with(FILE));
    let mut paths: Vec<PathBuf> = good.chain(bad).map(PathBuf::from).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The files of the folders that were named.
fn named(args: &SkillsCheckArgs) -> Result<Vec<PathBuf>, ProgramFailure> {
    let top = args.cd.clone().unwrap_or_default();
    let file = |folder: &PathBuf| {
        let folder = top.join(folder);
        let file = if folder.ends_with(FILE) { folder } else { folder.join(FILE) };
        let real = file.canonicalize();
        real.map_err(|error| ProgramFailure::new(format!("{} cannot be read: {error}", file.display())))
    };
    args.folders.iter().map(file).collect()
}

fn check(path: PathBuf) -> Checked {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let faults = match pellucid_files::read_text(&path, pellucid_files::TEXT_BYTES_MAX) {
        Ok(text) => format_check::faults(&text, &folder).iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("the file cannot be read: {error}")],
    };
    Checked { path, faults }
}

fn to_json(checked: &[Checked]) -> Value {
    let skill = |it: &Checked| json!({ "path": it.path, "faults": it.faults });
    json!({ "schema": SCHEMA, "skills": checked.iter().map(skill).collect::<Vec<_>>() })
}

fn described(checked: &[Checked]) -> String {
    let line =
        |it: &Checked| it.faults.iter().map(|fault| format!("{}: {fault}\n", it.path.display())).collect::<String>();
    let text: String = checked.iter().map(line).collect();
    let n_bad = checked.iter().filter(|it| !it.faults.is_empty()).count();
    let skills = counted(checked.len(), "skill");
    match n_bad {
        0 => format!("{skills} checked: nothing is wrong\n"),
        n => format!("{text}{skills} checked: {n} with faults\n"),
    }
}
