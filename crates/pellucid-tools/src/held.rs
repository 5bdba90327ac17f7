//! The sandbox of a process that a call runs, in the words of records.

use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::SandboxPolicy;

/// The name of the mechanism where this process itself checks what it writes.
pub(crate) const OWN_CHECKS: &str = "own-checks";

/// The sandbox that results from a policy with this mechanism and these folders.
pub(crate) fn held(policy: &SandboxPolicy, backend: Option<&str>, roots: Vec<String>) -> HeldSandbox {
    let (mode, network, is_confined) = match policy {
        SandboxPolicy::DangerFullAccess => ("danger-full-access", true, false),
        SandboxPolicy::ExternalSandbox { network_access } => {
            ("external-sandbox", *network_access == NetworkAccess::Enabled, false)
        }
        SandboxPolicy::ReadOnly => ("read-only", false, true),
        SandboxPolicy::WorkspaceWrite { network_access, .. } => ("workspace-write", *network_access, true),
    };
    HeldSandbox {
        mode: mode.to_owned(),
        backend: backend.filter(|_| is_confined).map(str::to_owned),
        writable_roots: is_confined.then_some(roots),
        network,
        outside: None,
    }
}

/// The record of a policy without a sandbox.
pub(crate) fn unconfined(policy: &SandboxPolicy) -> HeldSandbox {
    held(policy, None, Vec::new())
}
