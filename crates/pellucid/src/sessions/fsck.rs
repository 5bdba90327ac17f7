//! `sessions fsck`: whether everything is whole. Nothing is changed but the index, if that is
//! asked for.
//!
//! The verdict about a session is that of `replay`, and so is the exit status: that of the worst session.

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::fsck;
use pellucid_store::fsck::FsckReport;
use pellucid_store::index;
use pellucid_store::index::SessionIndex;

use super::print;
use super::print_json;
use super::progress;
use crate::args::sessions::FsckArgs;
use crate::replay::exit_code;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;

pub fn run(home: &Path, args: &FsckArgs) -> Result<ExitCode, ProgramFailure> {
    if args.rebuild_index {
        index::remove(home);
        let mut index = SessionIndex::open(home);
        index.refresh(std::time::Duration::ZERO, &mut progress);
        for warning in index.take_warnings() {
            style::line(&format!("warning: {warning}"));
        }
    }
    let only = args.of.given().map(|of| stored::meant(home, &of)).transpose()?.map(|(id, _)| id);
    let findings = fsck::check(home, only.as_deref());
    let text = if args.json {
        serde_json::to_string(&findings).map_err(|error| ProgramFailure::new(format!("{error}")))? + "\n"
    } else {
        text(&findings)
    };
    if args.json {
        print_json(&text)?
    } else {
        print(&text)?
    };
    Ok(exit_code(fsck::status(&findings)))
}

fn text(findings: &FsckReport) -> String {
    let mut text = String::new();
    for problem in &findings.problems {
        let word = if problem.is_serious { "error" } else { "note" };
        text += &format!("{word}: {}: {}\n", problem.path, problem.what);
    }
    let (sessions, n_chains) = (style::counted(findings.n_sessions, "session"), findings.n_chains);
    let found = style::counted(findings.problems.len(), "finding");
    text + &format!("{sessions}, {n_chains} with a record of what was sent, {found}\n")
}
