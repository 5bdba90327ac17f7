//! Session files: recorded as they happen, found again, read back.
//!
//! The format is the Codex CLI's rollout, exactly, so that either program continues what the other
//! began. A file appears with the first message of a person; every line is on its way to the disk
//! before anybody hears of what it says.
//!
//! - [`record`]: the lines
//! - [`recorder`]: writing them
//! - [`name`]: where files are
//! - [`find`]: which file is meant
//! - [`read`]: reading a file back, whatever state it is in
//! - [`side`]: what is known of a session beside its file
//!
//! Not here: what a record means for the next request (`pellucid-agent`).

#![warn(missing_docs)]

pub mod find;
pub mod name;
pub mod read;
pub mod record;
pub mod recorder;
pub mod side;
