//! Injection: items that a layout or a caller puts into a prompt, and the sources that make them.
//!
//! An [`InjectionItem`] is a text with a target (a section of the system prompt, or a message before the history), an order
//! and the modes in which it is used. Four kinds of sources make items: `file_set`, `repo_docs`, `provided` and
//! `text_store`. Their options are loosely typed, as people and programs write them; unusable values are left out and
//! reported as [`ItemOutcome`].
//!
//! A source that needs files says which ([`ItemSource::wants`]); the caller reads them from disk into [`InjectionRead`], and
//! [`collect`] makes the items. So the same files always make the same items.
//!
//! - `item`: items and the modes they are used in
//! - `file_set`, `repo_docs`, `provided`, `text_store`: the sources, each in two versions
//! - `sections`: turns items and sections of the layout into a system prompt and messages
//! - `texts`: what a layout says for options that sources leave out
//! - `cut`, `substitute`, `scalar`: budgets in bytes, slots, loosely typed values
//!
//! Not here: how long a history may be (`window`).

mod file_set;
mod item;
mod options;
mod provided;
mod read;
mod repo_docs;
mod report;
pub mod scalar;
mod sections;
mod source;
pub mod substitute;
mod text_store;
mod texts;
mod totals;

pub use item::InjectionItem;
pub use item::ItemError;
pub use item::ItemTarget;
pub use item::PreambleRole;
pub use item::Version;
pub(crate) use options::check;
pub use read::Counts;
pub use read::FileCost;
pub use read::FileRead;
pub use read::FileText;
pub use read::FileWanted;
pub use read::InjectionRead;
pub use read::ReadCost;
pub use read::ReadExtent;
pub use read::RepoRead;
pub use read::RepoWanted;
pub use read::Wants;
pub(crate) use repo_docs::PLACE as REPO_DOCS;
pub use report::Injected;
pub use report::InjectedOrigin;
pub use report::ItemOrigin;
pub use report::ItemOutcome;
pub use report::Truncation;
pub use sections::OwnSection;
pub use sections::PreambleMessage;
pub use sections::SystemParts;
pub use sections::blank;
pub(crate) use sections::filled;
pub use sections::preamble;
pub use sections::system_prompt;
pub use source::Collected;
pub use source::Inputs;
pub use source::ItemSource;
pub use source::collect;
pub use source::sources;
pub(crate) use texts::SourceTextKeys;
pub use texts::SourceTexts;
pub use totals::InjectionTotals;
pub use totals::Total;

/// The kinds of sources.
pub const KINDS: [&str; 5] = ["file_set", "repo_docs", "provided", "text_store", "text_store_entries"];

#[cfg(test)]
mod tests;
