//! Sandbox policies, as clients spell them.
//!
//! Most settings are spelt the same in session files; they are re-exported here under the names that clients know.

use std::path::PathBuf;

pub use pellucid_protocol::settings::ApprovalPolicy as AskForApproval;
pub use pellucid_protocol::settings::CollaborationMode;
pub use pellucid_protocol::settings::NetworkAccess;
pub use pellucid_protocol::settings::Personality;
pub use pellucid_protocol::settings::ReasoningEffort;
pub use pellucid_protocol::settings::ReasoningSummary;
pub use pellucid_protocol::settings::SandboxMode;

use pellucid_protocol::settings as inner;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error as _;

/// What commands may read, write and reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum SandboxPolicy {
    /// Commands run without a sandbox.
    DangerFullAccess,
    /// Commands may not write files.
    ReadOnly {
        /// What commands may read.
        #[serde(default)]
        access: ReadOnlyAccess,
    },
    /// Pellucid itself runs in a sandbox that another program made.
    #[serde(rename_all = "camelCase")]
    ExternalSandbox {
        /// Whether the outer sandbox allows network access.
        #[serde(default = "restricted")]
        network_access: NetworkAccess,
    },
    /// Commands may write in the workspace and in these roots.
    #[serde(rename_all = "camelCase")]
    WorkspaceWrite {
        /// Further folders that commands may write in.
        #[serde(default, deserialize_with = "absolute")]
        writable_roots: Vec<PathBuf>,
        /// What commands may read.
        #[serde(default)]
        read_only_access: ReadOnlyAccess,
        /// Whether commands may use the network.
        #[serde(default)]
        network_access: bool,
        /// Whether `$TMPDIR` is not writable.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Whether `/tmp` is not writable.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

/// What commands may read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReadOnlyAccess {
    /// Commands may read only some folders.
    #[serde(rename_all = "camelCase")]
    Restricted {
        /// Whether the folders that the system's programs need are readable too.
        #[serde(default = "yes")]
        include_platform_defaults: bool,
        /// The folders that commands may read.
        #[serde(default, deserialize_with = "absolute")]
        readable_roots: Vec<PathBuf>,
    },
    /// Commands may read everything.
    #[default]
    FullAccess,
}

fn restricted() -> NetworkAccess {
    NetworkAccess::Restricted
}

fn yes() -> bool {
    true
}

/// Roots must be absolute: a request has no folder that relative ones could start from.
fn absolute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<PathBuf>::deserialize(deserializer)?;
    match paths.iter().find(|path| !path.is_absolute()) {
        Some(path) => Err(D::Error::custom(format!("`{}` is not an absolute path", path.display()))),
        None => Ok(paths),
    }
}

/// The requested sandbox limits reading, which Pellucid's sandbox cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("restricted read access is not supported; use {{\"type\":\"fullAccess\"}}")]
pub struct RestrictedRead;

impl TryFrom<SandboxPolicy> for inner::SandboxPolicy {
    type Error = RestrictedRead;

    fn try_from(policy: SandboxPolicy) -> Result<Self, RestrictedRead> {
        Ok(match policy {
            SandboxPolicy::DangerFullAccess => Self::DangerFullAccess,
            SandboxPolicy::ReadOnly { access: ReadOnlyAccess::FullAccess } => Self::ReadOnly,
            SandboxPolicy::ExternalSandbox { network_access } => Self::ExternalSandbox { network_access },
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                read_only_access: ReadOnlyAccess::FullAccess,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => Self::WorkspaceWrite { writable_roots, network_access, exclude_tmpdir_env_var, exclude_slash_tmp },
            SandboxPolicy::ReadOnly { access: ReadOnlyAccess::Restricted { .. } }
            | SandboxPolicy::WorkspaceWrite { read_only_access: ReadOnlyAccess::Restricted { .. }, .. } => {
                return Err(RestrictedRead);
            }
        })
    }
}

impl From<inner::SandboxPolicy> for SandboxPolicy {
    fn from(policy: inner::SandboxPolicy) -> Self {
        match policy {
            inner::SandboxPolicy::DangerFullAccess => Self::DangerFullAccess,
            inner::SandboxPolicy::ReadOnly => Self::ReadOnly { access: ReadOnlyAccess::FullAccess },
            inner::SandboxPolicy::ExternalSandbox { network_access } => Self::ExternalSandbox { network_access },
            inner::SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => Self::WorkspaceWrite {
                writable_roots,
                read_only_access: ReadOnlyAccess::FullAccess,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            },
        }
    }
}
