//! `exec -o`: the file that the last message is written to.

use std::path::Path;

use crate::start::ProgramFailure;
use crate::style;

/// The file that the last message goes to.
#[derive(Debug)]
pub struct LastMessage<'a> {
    file: &'a Path,
    target: pellucid_files::NameTarget,
}

impl<'a> LastMessage<'a> {
    /// Notes where the file is, and finds out whether it can be written.
    pub fn note(file: &'a Path) -> Result<Self, ProgramFailure> {
        let noted = pellucid_files::NameTarget::note(file).and_then(|target| target.check().map(|()| target));
        let shown = file.display();
        let target = noted.map_err(|error| {
            ProgramFailure::new(format!("--output-last-message {shown} cannot be written: {error}; nothing was sent"))
        })?;
        Ok(Self { file, target })
    }

    /// Writes the message, or nothing.
    pub fn write(&self, message: Option<&str>) -> Result<(), ProgramFailure> {
        let shown = self.file.display();
        if message.is_none() {
            style::line(&format!("warning: there is no last message, so {shown} is empty"));
        }
        let written = self.target.write(message.unwrap_or_default().as_bytes());
        written.map_err(|error| ProgramFailure::new(format!("the last message cannot be written to {shown}: {error}")))
    }
}
