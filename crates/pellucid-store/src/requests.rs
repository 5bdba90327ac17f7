//! What was sent: one record for each request, in a file of its own beside the session's.
//!
//! A session file is the Codex CLI's to the byte, so what only we record stands elsewhere: under
//! `requests/` of the home folder, by the same date and id. Together the two files are enough to
//! rebuild every request. The session file has the items; a record has the digest of the body,
//! digests of its beginnings, and what surrounds the items ([`Frame`]). Long texts, such as
//! instructions and tools, are kept once for all sessions ([`parts`]).
//!
//! Every line holds the hash of the line before, so that nothing can be changed or taken out
//! without breaking the chain ([`chain`]).
//!
//! - [`entry`]: what a line says
//! - [`log`]: writing such a file
//! - [`chain`]: reading one, and verifying it
//! - [`parts`]: the long texts
//!
//! Not here: what a request is made of, and rebuilding one (`pellucid-agent`).

pub mod chain;
pub mod entry;
pub mod log;
pub mod parts;

pub use entry::Entry;
pub use entry::Frame;
pub use entry::Piece;
