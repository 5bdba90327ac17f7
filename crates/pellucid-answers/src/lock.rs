//! `context.lock`: what the first request of a new session in a project is made of, so that a change is noticed.
//!
//! The file is the same on every machine: paths begin at the project's root, and facts of the machine are replaced by
//! placeholders before anything is hashed or measured.
//!
//! - `file`: the file, printed and parsed
//! - `policy`: which findings are errors; the user edits it, and it is kept
//! - `places`: what of a request depends on the machine
//! - `made`: a lock of a request
//! - `compared`: what differs between the lock and the request of today
//! - `finding`: a finding, and its forms for people, programs and GitHub
//!
//! Reading and writing the file belongs to the clients.

mod compared;
mod file;
mod finding;
mod made;
mod places;
mod policy;
#[cfg(test)]
mod tests;

use pellucid_engine::tokens::tokens_of_bytes;

pub use self::compared::compare;
pub use self::file::LockError;
pub use self::finding::FindingKind;
pub use self::finding::FindingLevel;
pub use self::finding::LockFinding;
pub use self::finding::LockVerdict;
pub use self::finding::without_commands;
pub use self::made::LockInputs;
pub use self::made::MadeLock;
pub use self::made::UnreadSource;
pub use self::places::LockPlaces;
pub use self::policy::LockPolicy;
pub use self::policy::PolicyLevel;
use crate::inspected::Inspected;
use crate::inspected::InspectedRow;

/// The name of the file at the project's root.
pub const LOCK_FILE: &str = "context.lock";

/// The format that this version writes and reads.
pub const LOCK_FORMAT: u64 = 1;

/// What the first request of a new session in a project is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLock {
    /// The program and its version.
    pub made_with: String,
    /// The pack that made the request.
    pub pack: LockedPack,
    /// The API format of the request.
    pub wire: String,
    /// The model that the request asks.
    pub model: String,
    /// The SHA-256 of the body without facts of the machine.
    pub digest: String,
    /// The choices that the request was made with.
    pub choices: LockChoices,
    /// The parts, in the order of the request.
    pub parts: Vec<LockedPart>,
    /// Files, skills, values of the configuration and servers, by name.
    pub sources: Vec<LockedSource>,
    /// The tools, in the order of the request.
    pub tools: Vec<LockedTool>,
}

/// A pack, by its name and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPack {
    /// The name that the pack gives itself.
    pub name: String,
    /// The SHA-256 of the names and texts of all files of the pack.
    pub sha256: String,
}

/// The choices that a request was made with. The file has those that are not the usual ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockChoices {
    /// The working directory of the session, from the project's root; empty for the root.
    pub folder: String,
    /// How much of the pack's layout is used; empty for all of it.
    pub prompt_mode: String,
    /// Whether the MCP servers of the project were asked for their tools.
    pub has_mcp_tools: bool,
    /// Whether the user's files and configuration were used.
    pub has_user_files: bool,
}

/// A part of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPart {
    /// The name of the part.
    pub name: String,
    /// How many bytes the part has, with those of its sources.
    pub bytes: usize,
    /// How many tokens these bytes have.
    pub tokens: usize,
    /// The SHA-256 of the text of the part that does not come from a source.
    pub sha256: String,
}

/// A file, skill, value of the configuration or server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedSource {
    /// The path from the project's root, or the name.
    pub path: String,
    /// Whether the source is in the request, as reports say it.
    pub status: String,
    /// How many bytes the source has.
    pub bytes: u64,
    /// The SHA-256 of the source, where it was read.
    pub sha256: Option<String>,
}

/// A tool that the request offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedTool {
    /// The name of the tool.
    pub name: String,
    /// How many bytes its definition has.
    pub bytes: usize,
    /// The SHA-256 of its definition.
    pub sha256: String,
}

impl ContextLock {
    /// The lock as a request of which only parts and their sizes are known.
    pub fn to_inspected(&self, name: &str) -> Inspected {
        // Tokens add up to those of the whole, as in reports.
        let mut end = 0;
        let mut row = |part: String, bytes: usize| {
            let before = tokens_of_bytes(end);
            end += bytes;
            InspectedRow::of_part(part.into(), bytes, tokens_of_bytes(end) - before)
        };
        let parts = self.parts.iter().map(|part| (part.name.clone(), part.bytes));
        let tools = self.tools.iter().map(|tool| (format!("tools/{}", tool.name), tool.bytes));
        let rows = parts.chain(tools).map(|(name, bytes)| row(name, bytes)).collect();
        Inspected {
            name: name.to_owned(),
            model: self.model.clone(),
            pack: Some(self.pack.name.clone()),
            wire: None,
            rows,
        }
    }
}
