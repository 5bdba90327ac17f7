//! The prices of this machine, for commands.

use std::path::Path;

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
