//! `capsule open`: a home folder from a session that another person packed into one file.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use pellucid_answers::capsule::Capsule;
use pellucid_files::Folder;
use pellucid_files::make_private_folder;

use crate::args::capsule::CapsuleArgs;
use crate::args::capsule::CapsuleCommand;
use crate::args::capsule::CapsuleOpenArgs;
use crate::print;
use crate::request::RequestRefusal;
use crate::start::ProgramFailure;

/// How long a capsule may be.
const BYTES_MAX: u64 = 4 << 30;

pub fn run(args: &CapsuleArgs) -> Result<ExitCode, ProgramFailure> {
    let CapsuleCommand::Open(args) = &args.command;
    match open(args) {
        Ok(code) => Ok(code),
        Err(refusal) => Ok(refusal.show()),
    }
}

fn open(args: &CapsuleOpenArgs) -> Result<ExitCode, RequestRefusal> {
    let refused =
        |path: &Path, why: &dyn std::fmt::Display| RequestRefusal::usage(format!("{}: {why}", path.display()));
    let html = pellucid_files::read(&args.file, BYTES_MAX).map_err(|error| refused(&args.file, &error))?;
    let capsule = Capsule::from_html(&html).map_err(|error| refused(&args.file, &error))?;
    if fs::read_dir(&args.to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(refused(&args.to, &"the folder is not empty; name one that is empty or missing"));
    }
    let failed = |error: std::io::Error| ProgramFailure::new(format!("{}: {error}", args.to.display()));
    make_private_folder(&args.to).map_err(failed)?;
    let folder = Folder::open(&args.to, None).map_err(failed)?;
    for (path, text) in &capsule.files {
        folder.write_private(Path::new(path), text.as_bytes()).map_err(failed)?;
    }
    print::out(&format!(
        "{} has the session {}; next: PELLUCID_HOME={} pellucid replay {}\n",
        args.to.display(),
        capsule.session,
        args.to.display(),
        capsule.session
    ))?;
    Ok(ExitCode::SUCCESS)
}
