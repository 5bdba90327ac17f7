//! Applies one patch from text to disk, with the messages of the program.

use std::path::Path;

use crate::apply::PatchApplyError;
use crate::files::Disk;
use crate::parse::ParseError;
use crate::parse::parse;
use crate::verify::PatchSummary;
use crate::verify::Reader;
use crate::verify::Texts;
use crate::verify::VerifyError;
use crate::verify::verify_with;
use crate::writable::Writable;

/// Why a patch was not applied, as the program says it.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The text is not a patch.
    #[error("{}", .0.for_program())]
    Parse(ParseError),
    /// The patch has no hunks.
    #[error("No files were modified.")]
    Empty,
    /// The patch does not fit the files.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The patch could not be written.
    #[error(transparent)]
    Apply(#[from] PatchApplyError),
}

/// Applies a patch to the files below `cwd`, which is absolute: all of it, or nothing.
///
/// # Errors
///
/// See [`PatchError`].
pub fn run(text: &str, cwd: &Path, writable: &Writable) -> Result<PatchSummary, PatchError> {
    let patch = parse(text).map_err(PatchError::Parse)?;
    if patch.hunks.is_empty() {
        return Err(PatchError::Empty);
    }
    let verified = verify_with(&patch, cwd, &Disk, Reader::Program, Texts::OnDisk)?;
    let summary = verified.summary().clone();
    verified.apply(writable)?;
    Ok(summary)
}
