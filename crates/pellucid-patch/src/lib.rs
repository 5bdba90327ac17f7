//! Patches in the format of the `apply_patch` tool.
//!
//! - `parse`: from text to hunks
//! - `matching`: finds the lines of a hunk in a file
//! - `edit`, `text`: one file's text before and after its chunks
//! - `base`, `window`: the same for files that are not held in memory
//! - `files`: the files that verification reads
//! - `verify`: checks a whole patch in memory against the current disk
//! - `changes`: the changes of a verified patch, as events and approvals show them
//! - `writable`: the folders that a patch may write in, and the resolution of links
//! - `place`: the folders of a patch, held so that no process can put a link in their place
//! - `apply`, `replace`: write a patch, all or nothing
//! - `exact`: whole texts before and after a patch, and exchanging them
//! - `reverse`: the text before a patch, from the text after it
//! - `run`: all of these for one text, with the messages of the program
//! - `diff`: unified differences, and the diff of a whole turn
//!
//! Not here: which paths may be written. The caller passes a [`Writable`], and nothing is written before the whole
//! patch is known to fit.

#![warn(missing_docs)]

mod apply;
mod base;
mod changes;
pub mod diff;
mod edit;
mod exact;
pub mod files;
mod matching;
pub mod parse;
mod place;
mod replace;
mod reverse;
mod run;
mod text;
mod verify;
mod window;
mod writable;

pub use apply::PatchApplyError;
pub use edit::Misfit;
pub use edit::edit;
pub use exact::FoundText;
pub use exact::TextChange;
pub use exact::TextExchange;
pub use exact::is_executable_file;
pub use exact::make_executable;
pub use parse::ParseError;
pub use parse::Patch;
pub use parse::is_patch_text;
pub use parse::parse;
pub use reverse::Irreversible;
pub use reverse::reverse;
pub use run::PatchError;
pub use run::run;
pub use verify::PatchSummary;
pub use verify::Reader;
pub use verify::VerifiedPatch;
pub use verify::VerifyError;
pub use verify::normal;
pub use verify::verify;
pub use writable::PatchFolder;
pub use writable::Writable;
