//! The plain window: the oldest entries go until the rest fits.
//!
//! The entry that opens a chat is not counted when it comes and counted when it goes. That is how
//! the reference does it, and it is why a window can hold a little more than its limit says.

use super::MemoryFailure;
use super::count::EntryCounter;
use super::entry::ChatEntry;

/// The chat after the oldest entries were dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatWindow {
    /// The entries that stay.
    pub entries: Vec<ChatEntry>,
    /// The tokens of the remaining entries.
    pub tokens: f64,
    /// The memo of the first that stays.
    pub last_memory: Option<String>,
    /// The number of dropped entries.
    pub n_dropped: usize,
}

/// Lets the oldest entries go until the tokens fit.
///
/// # Errors
/// When a single entry is left and does not fit either.
pub fn window(
    entries: Vec<ChatEntry>,
    mut tokens: f64,
    max: f64,
    count: &EntryCounter<'_>,
) -> Result<ChatWindow, MemoryFailure> {
    let mut n_dropped = 0;
    while tokens > max {
        if entries.len() - n_dropped <= 1 {
            return Err(MemoryFailure::new("too_many_tokens", vec![tokens], tokens));
        }
        tokens -= count.entry(&entries[n_dropped]);
        n_dropped += 1;
    }
    let entries: Vec<ChatEntry> = entries.into_iter().skip(n_dropped).collect();
    let last_memory = entries.first().and_then(|entry| entry.memo.clone());
    Ok(ChatWindow { entries, tokens, last_memory, n_dropped })
}
