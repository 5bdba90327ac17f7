//! Changes that commands make to the user's `config.toml`.
//!
//! A file that does not load is not changed, and neither is one that would not load after the change.

use std::path::Path;

use pellucid_config::ConfigError;
use pellucid_config::edit;
use pellucid_config::edit::Edit;
use pellucid_config::user_file;
use pellucid_config::user_file::UserFileError;
use pellucid_config::value::Table;
use pellucid_config::verify;

use crate::start::ProgramFailure;

/// Why the user's file was not changed.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error(transparent)]
    Write(#[from] UserFileError),
    #[error(transparent)]
    Edit(#[from] edit::EditError),
    #[error("{}", .0.report())]
    Config(#[from] ConfigError),
}

/// Changes a file: `choose` receives its values and returns the changes, none for a file that does not need any.
pub fn change(file: &Path, choose: impl FnOnce(&Table) -> Vec<Edit>) -> Result<(), ProgramFailure> {
    let changed = user_file::rewrite(file, |text| {
        let edits = choose(&verify::verify(file, text)?);
        if edits.is_empty() {
            return Ok(text.to_owned());
        }
        let new = edit::apply(text, &edits)?;
        verify::verify(file, &new)?;
        Ok::<_, ChangeError>(new)
    });
    changed.map(drop).map_err(|error| ProgramFailure::new(error.to_string()))
}
