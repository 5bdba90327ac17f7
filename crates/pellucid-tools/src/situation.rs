//! What holds for all calls of a turn.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TruncationPolicy;

use crate::Tool;
use crate::When;

/// What holds for all calls of a turn.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// Where relative paths begin.
    pub cwd: PathBuf,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox_policy: SandboxPolicy,
    /// Where they may write.
    pub writable_roots: Vec<PathBuf>,
    /// The way of working together.
    pub mode: CollaborationModeKind,
    /// Whether the model can look at pictures.
    pub sees_pictures: bool,
    /// How outputs are cut.
    pub truncation: TruncationPolicy,
    /// The tools that the model was offered.
    pub offered: Vec<Offered>,
    /// The names of the tools that the program which drives the session runs itself.
    pub dynamic_tools: Vec<String>,
    /// Whether commands can be run at all.
    pub shell_is_on: bool,
    /// The person's shell.
    pub shell: PathBuf,
    /// What children see of the environment.
    pub environment: BTreeMap<OsString, OsString>,
}

/// A tool that the model was offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// Whether calls of it may run beside others.
    pub is_parallel: bool,
}

impl Situation {
    /// A folder that the model names, or the working one.
    pub(crate) fn folder(&self, named: Option<&str>) -> PathBuf {
        named.filter(|name| !name.is_empty()).map_or_else(|| self.cwd.clone(), |name| self.cwd.join(name))
    }

    /// Whether a tool can be called.
    pub(crate) fn has(&self, tool: &Tool) -> bool {
        match tool.when {
            When::Offered => self.offered.iter().any(|offered| offered.name == tool.name),
            When::ShellIsOn => self.shell_is_on,
        }
    }
}
