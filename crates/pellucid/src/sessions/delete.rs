//! `sessions delete`: deletes sessions with everything that is stored of them.

use std::path::Path;
use std::process::ExitCode;

use pellucid_files::RealDisk;
use pellucid_store::delete::DeletePlan;
use pellucid_store::delete::DoomedFile;
use pellucid_tools::edits::EditLog;
use pellucid_tools::outputs::Outputs;

use super::print;
use crate::args::delete::DeleteArgs;
use crate::start::ProgramFailure;
use crate::stdin;
use crate::stored;
use crate::style;
use crate::style::counted;

pub fn run(home: &Path, args: &DeleteArgs) -> Result<ExitCode, ProgramFailure> {
    let sessions = stored::all_meant(home, &args.of)?;
    let beside = |id: &str| {
        vec![Outputs::of(home, id).folder().to_owned(), EditLog::of(RealDisk::shared(), home, id).path().to_owned()]
    };
    let failed = |error| ProgramFailure::new(format!("{error}"));
    let plan = DeletePlan::new(home, &sessions, &beside).map_err(failed)?;
    if args.dry_run {
        return print(&list(home, &plan));
    }
    if !args.yes {
        style::part(&list(home, &plan));
        let no_terminal = "there is no terminal to ask on, so nothing was deleted; \
                           use a terminal, or add --yes to delete without a question";
        if !stdin::confirm(&format!("Delete {}?", counted(plan.sessions.len(), "session")), no_terminal)? {
            style::line("nothing was deleted");
            return Ok(ExitCode::FAILURE);
        }
    }
    plan.carry_out().map_err(failed)?;
    print(&sessions.iter().map(|(id, _)| format!("{id} is deleted\n")).collect::<String>())
}

/// What would be deleted, file by file.
fn list(home: &Path, plan: &DeletePlan) -> String {
    let line = |file: &DoomedFile| {
        let path = file.path.strip_prefix(home).unwrap_or(&file.path);
        format!("  {} ({})\n", path.display(), bytes(file.bytes))
    };
    let mut text = String::new();
    for session in &plan.sessions {
        text += &format!("{}\n", session.id);
        text += &session.files.iter().map(line).collect::<String>();
    }
    if !plan.parts.is_empty() {
        text += "long texts that no other session uses\n";
        text += &plan.parts.iter().map(line).collect::<String>();
    }
    if plan.n_parts_kept > 0 {
        let is_kept = if plan.n_parts_kept == 1 { "is" } else { "are" };
        let kept = counted(plan.n_parts_kept, "long text");
        text += &format!("{kept} {is_kept} kept, because other sessions have the same\n");
    }
    text + &format!("{} in all\n", bytes(plan.bytes()))
}

fn bytes(n: u64) -> String {
    counted(usize::try_from(n).unwrap_or(usize::MAX), "byte")
}
