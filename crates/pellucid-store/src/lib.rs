//! Session files: recorded as they happen, found again, read back.
//!
//! The format is the Codex CLI's rollout, exactly, so that either program continues what the other began. A file
//! appears with the first message of a person; every line is written before its event is emitted.
//!
//! - [`sessions`]: everything that can be done with stored sessions; clients begin here
//! - [`record`], [`recorder`], [`sink`]: the lines, and writing them
//! - `lock`: one writer for each file
//! - [`detail`]: which events are kept
//! - [`name`], [`names`]: the paths of session files, and the names that people give to sessions
//! - [`walk`], [`find`], [`called`]: all session files, and the one that is asked for or named
//! - [`parent`]: the session that another one was forked from or started by
//! - [`read`], [`lines`]: reading a file back, whatever state it is in, from either end
//! - [`copy`], [`delete`]: copying a session file, and deleting sessions
//! - [`summary`], [`query`], [`index`]: lists of sessions
//! - [`requests`], [`moment`]: the record of requests, and times
//! - [`search`]: the sessions that contain a text
//! - [`opened`]: home folders that were made from a capsule
//! - [`reconstructed`]: sessions of other agents, from the files that those agents keep
//! - [`redact`], [`fsck`]: removing secrets before an export, and checking all files
//! - [`side`]: values that are stored beside a session file
//! - [`phase`]: the phase of work of a session or a workspace
//! - [`memories`]: memories of past sessions for later sessions
//! - [`tool_lists`]: the tools that each MCP server listed last
//!
//! Not here: what a record means for the next request (`pellucid-agent`).

#![warn(missing_docs)]

pub mod called;
pub mod copy;
pub mod delete;
pub mod detail;
pub mod find;
pub mod fsck;
pub mod index;
pub mod lines;
pub mod memories;
pub mod moment;
pub mod name;
pub mod names;
pub mod opened;
pub mod parent;
pub mod phase;
pub mod query;
pub mod read;
pub mod reconstructed;
pub mod record;
pub mod recorder;
pub mod redact;
pub mod requests;
pub mod search;
pub mod sessions;
pub mod side;
pub mod sink;
pub mod summary;
pub mod token_counts;
pub mod tool_lists;
pub mod walk;

mod lock;

#[cfg(test)]
mod tests;
