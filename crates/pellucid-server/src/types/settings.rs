//! What commands may touch, as clients spell it.
//!
//! Most settings are spelt the same inside: these are here under the names that clients know.

use std::path::PathBuf;

pub use pellucid_protocol::settings::ApprovalPolicy as AskForApproval;
pub use pellucid_protocol::settings::CollaborationMode;
pub use pellucid_protocol::settings::NetworkAccess;
pub use pellucid_protocol::settings::Personality;
pub use pellucid_protocol::settings::ReasoningEffort;
pub use pellucid_protocol::settings::ReasoningSummary;
pub use pellucid_protocol::settings::SandboxMode;

use pellucid_protocol::settings as inner;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error as _;

/// What commands may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum SandboxPolicy {
    /// No sandbox.
    DangerFullAccess,
    /// Write nothing.
    ReadOnly {
        /// What may be read.
        #[serde(default)]
        access: ReadOnlyAccess,
    },
    /// Somebody else confines us.
    #[serde(rename_all = "camelCase")]
    ExternalSandbox {
        /// Whether their sandbox lets traffic through.
        #[serde(default = "restricted")]
        network_access: NetworkAccess,
    },
    /// Write in the workspace and these roots.
    #[serde(rename_all = "camelCase")]
    WorkspaceWrite {
        /// Further roots.
        #[serde(default, deserialize_with = "absolute")]
        writable_roots: Vec<PathBuf>,
        /// What may be read.
        #[serde(default)]
        read_only_access: ReadOnlyAccess,
        /// Whether traffic is let through.
        #[serde(default)]
        network_access: bool,
        /// Leaves `$TMPDIR` out.
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        /// Leaves `/tmp` out.
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

/// What may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReadOnlyAccess {
    /// Some of it.
    #[serde(rename_all = "camelCase")]
    Restricted {
        /// Whether what the system needs is among it.
        #[serde(default = "yes")]
        include_platform_defaults: bool,
        /// Further roots.
        #[serde(default, deserialize_with = "absolute")]
        readable_roots: Vec<PathBuf>,
    },
    /// All of it.
    #[default]
    FullAccess,
}

fn restricted() -> NetworkAccess {
    NetworkAccess::Restricted
}

fn yes() -> bool {
    true
}

/// Roots must be absolute, as there is no folder that they could start from.
fn absolute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<PathBuf>::deserialize(deserializer)?;
    match paths.iter().find(|path| !path.is_absolute()) {
        Some(path) => Err(D::Error::custom(format!("`{}` is not an absolute path", path.display()))),
        None => Ok(paths),
    }
}

/// A sandbox that cannot be made: reading is limited, and ours does not limit reading.
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
