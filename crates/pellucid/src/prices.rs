//! The prices of this machine: `prices.toml` in the home folder over those of the program.

use std::io;
use std::path::Path;

use pellucid_answers::prices::PriceTable;

use crate::start::ProgramFailure;

/// The name of the file in the home folder.
const FILE: &str = "prices.toml";

/// How long the file may be.
const BYTES_MAX: u64 = 1 << 20;

/// The prices that count here.
///
/// # Errors
/// When the user's file cannot be read or has a wrong entry.
pub fn table(home: &Path) -> Result<PriceTable, ProgramFailure> {
    let path = home.join(FILE);
    let text = match pellucid_files::read_given(&path, BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ProgramFailure::new(format!("{} cannot be read: {error}", path.display()))),
    };
    let failed = |error| {
        let hint = "docs/prices.md describes the file";
        ProgramFailure::with_hint(&format!("{}: {error}", path.display()), hint)
    };
    PriceTable::with_users(&text).map_err(failed)
}
