//! How much of a text is used, and where it is cut. Cuts in bytes never fall within a character.
//!
//! - `slot`: the budget of a slot: the beginning of a text, with a mark, and what is said of the rest
//! - [`shares`]: one budget for several instruction files
//! - [`files`]: a budget for each file and one for all, with shares for beginning and end
//! - [`ends`]: beginning and end with a marker between them, of texts and of fragments
//! - [`middle`]: the middle taken out of what a program printed
//! - [`output`]: the output of a call when it is recorded
//!
//! Not here: counting tokens ([`crate::tokens`]).

pub mod ends;
pub mod files;
pub mod middle;
pub mod output;
pub mod shares;
pub(crate) mod slot;

/// The longest beginning of at most so many bytes.
///
/// ```
/// assert_eq!(pellucid_engine::cut::first("日本", 5), "日");
/// ```
pub fn first(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The longest end of at most so many bytes.
///
/// ```
/// assert_eq!(pellucid_engine::cut::last("日本", 5), "本");
/// ```
pub fn last(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}
