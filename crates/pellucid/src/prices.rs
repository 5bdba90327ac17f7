//! The prices of this machine, for commands.

use std::io;
use std::path::Path;

use pellucid_agent::prices::PRICES_FILE;
use pellucid_agent::prices::price_table;
use pellucid_engine::prices::PriceTable;

use crate::start::ProgramFailure;

/// The prices that count here.
///
/// # Errors
/// When the user's file cannot be read or has a wrong entry.
pub fn table(home: &Path) -> Result<PriceTable, ProgramFailure> {
    price_table(home).map_err(|error| ProgramFailure::new(error.to_string()))
}

/// Copies the user's prices into a home folder that a command made, so that they count there.
///
/// # Errors
/// When they cannot be read or written.
pub fn keep_for(home: &Path, made: &Path) -> Result<(), ProgramFailure> {
    let copied = match pellucid_files::read(&home.join(PRICES_FILE), pellucid_files::TEXT_BYTES_MAX) {
        Ok(prices) => pellucid_files::write_private(&made.join(PRICES_FILE), &prices),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    copied.map_err(|error| ProgramFailure::new(format!("{}: {error}", home.join(PRICES_FILE).display())))
}
