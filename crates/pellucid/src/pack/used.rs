//! `pack use`: the pack that is used from now on, in the user's `config.toml`.

use std::path::Path;
use std::process::ExitCode;

use pellucid_config::edit::Edit;
use pellucid_config::edit::ValueEdit;
use pellucid_workspace::pack_files;

use crate::edits;
use crate::start::ProgramFailure;

pub fn run(home: &Path, pack: &str) -> Result<ExitCode, ProgramFailure> {
    select(home, pack)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pack into the user's file, if it can be loaded.
pub fn select(home: &Path, pack: &str) -> Result<(), ProgramFailure> {
    pack_files::load(pack, home).map_err(|error| super::failure(&error))?;
    let file = home.join("config.toml");
    edits::change(&file, |_| vec![Edit::top("pack", ValueEdit::Replace(pack.into()))])?;
    super::print(&format!("The pack `{pack}` is used from now on: `pack` in {}\n", file.display()))
}
