//! The record of requests: one line for each request, in a separate file beside the session's.
//!
//! A session file is the Codex CLI's to the byte, so our records are elsewhere: under `requests/` of the home folder,
//! by the same date and id. Together the two files are enough to rebuild every request. The session file has the
//! items; a record has the digest of the body, digests of its beginnings, and the bytes around the items ([`FrameEntry`]).
//! Long texts, such as instructions and tools, are kept once for all sessions ([`parts`]).
//!
//! Every line holds the hash of the line before, so that nothing can be changed or taken out
//! without breaking the chain ([`chain`]). Seals do the same for the session file ([`seal`]), and the last hash of
//! every record is kept in one more place ([`anchors`]).
//!
//! - [`entry`]: the content of a line; [`call`]: the line of a tool call
//! - [`log`]: writing such a file
//! - [`chain`]: reading one, and verifying it
//! - [`seal`], [`verify`]: digests of the session file in the record, and comparing them with the file
//! - `align`: finds unchanged, changed, missing and moved lines
//! - [`anchors`]: the last hash of every session
//! - [`damage`]: lines and files that were changed
//! - [`parts`]: the long texts
//!
//! Not here: what a request is made of, and rebuilding one (`pellucid-agent`).

pub mod anchors;
pub mod call;
pub mod chain;
pub mod damage;
pub mod entry;
pub mod log;
pub mod parts;
pub mod seal;
pub mod verify;

mod align;

pub use entry::FrameEntry;
pub use entry::LogEntry;
pub use entry::StoredPiece;
