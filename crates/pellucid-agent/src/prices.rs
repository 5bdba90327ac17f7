//! The prices of this machine: `prices.toml` in the home folder over those of the program.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::prices::PriceError;
use pellucid_engine::prices::PriceTable;
use pellucid_model::budget::PriceSource;
use pellucid_protocol::price::TokenPrice;

/// The name of the file in the home folder.
pub const PRICES_FILE: &str = "prices.toml";

/// How long the file may be.
const BYTES_MAX: u64 = 1 << 20;

/// Why the user's prices cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PriceFileError {
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file has a wrong entry.
    #[error("{}:{source}; docs/prices.md describes the file", path.display())]
    Wrong {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong.
        source: PriceError,
    },
}

/// The prices that count for a home folder.
///
/// # Errors
/// When the user's file cannot be read or has a wrong entry.
pub fn price_table(home: &Path) -> Result<PriceTable, PriceFileError> {
    let path = home.join(PRICES_FILE);
    let text = match pellucid_files::read_given(&path, BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(PriceFileError::Unreadable { path, source }),
    };
    PriceTable::with_users(&text).map_err(|source| PriceFileError::Wrong { path, source })
}

/// The prices of the day on which they are asked for.
#[derive(Debug)]
pub(crate) struct PricesToday(pub(crate) PriceTable);

impl PriceSource for PricesToday {
    fn price(&self, model: &str) -> Option<TokenPrice> {
        let now = jiff::Timestamp::now().to_string();
        self.0.of(model, &now).map(|entry| entry.rates.clone())
    }
}
