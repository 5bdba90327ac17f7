//! `trust accept --instructions`: the instruction files of a project, shown with hashes and hidden characters, and accepted.

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::prepare::instruction_files_of_project;
use pellucid_config::accepted;
use pellucid_config::accepted::Accepted;
use pellucid_engine::digest::Digest;
use pellucid_engine::documents::listed::InstructionFile;

use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::pack;
use crate::print;
use crate::screen::name;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;
use crate::style::counted;

/// Shows the files of a project that were not accepted as they are now, and accepts them.
pub fn accept(shared: &Shared, home: &Path, folder: &Path, is_sure: bool) -> Result<ExitCode, ProgramFailure> {
    let start = Start::in_home(home, shared, &StartArgs { cd: Some(folder.to_owned()), ..StartArgs::default() })?;
    let root = start.config.folders.project_root.clone();
    if start.config.layers().is_untrusted() {
        let root = root.display();
        return Err(ProgramFailure::new(format!(
            "the project {root} is marked as untrusted, so its instruction files are not used at all"
        )));
    }
    let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}"));
    let known = Accepted::read(home).map_err(|error| failed(&error))?;
    let known = known.texts_of(&root).unwrap_or_default();
    let pack = pack::selected(&start.config)?;
    let files = instruction_files_of_project(start.config, start.env, &pack).map_err(|error| failed(&error))?;
    let open: Vec<&InstructionFile> =
        files.iter().filter(|it| known.get(Path::new(&it.path)) != Some(&it.hash.to_string())).collect();
    if open.is_empty() {
        print::out(&match files.len() {
            0 => format!("{} has no instruction files here.\n", root.display()),
            n => format!("All of it is accepted already ({} of {}).\n", counted(n, "file"), root.display()),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let text: String = open.iter().map(|file| shown(file, known.contains_key(Path::new(&file.path)))).collect();
    print::out(&text)?;
    if !is_sure && !super::ask("Accept these files?")? {
        style::line("Nothing was accepted.");
        return Ok(ExitCode::FAILURE);
    }
    let accepted: Vec<(String, String)> = open.iter().map(|it| (it.path.clone(), it.hash.to_string())).collect();
    accepted::accept_instructions(home, &accepted).map_err(|error| failed(&error))?;
    let (n, root) = (counted(open.len(), "file"), root.display());
    print::out(&format!(
        "Accepted {n}. Other or changed instruction files of {root} are left out until you accept them.\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// A file with its hash, and what a person would not see in it.
fn shown(file: &InstructionFile, is_known: bool) -> String {
    let state = if is_known { "changed since it was accepted" } else { "not accepted yet" };
    let mut text = format!("{} ({state})\n  {} bytes\n", name(&file.path), file.size);
    if let Some(target) = &file.target {
        text += &format!("  leads to {}\n", name(target));
    }
    for hidden in &file.hidden {
        text += &format!("  hidden: {hidden}\n");
    }
    text + &format!("  SHA-256 {}\n\n", file.hash)
}

/// The accepted files, and whether they still count.
pub fn list(accepted: &Accepted) -> String {
    let line = |(file, hash): (&Path, &str)| {
        let state = match pellucid_files::read(file, pellucid_files::TEXT_BYTES_MAX) {
            Ok(bytes) if Digest::of([&*bytes]).to_string() == hash => "as accepted",
            Ok(_) => "changed: is left out",
            Err(_) => "gone",
        };
        format!("{}  {state}  {hash}\n", name(&file.to_string_lossy()))
    };
    accepted.instructions().map(line).collect()
}
