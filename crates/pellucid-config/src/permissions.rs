//! What commands may do: sandbox and approval, from the configuration and within the requirements.
//!
//! Not here: the sandbox itself, and asking for approval.

use std::path::PathBuf;

use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TrustLevel;
use pellucid_protocol::settings::WebSearchMode;

use crate::config::Disallowed;
use crate::config::Permissions;
use crate::config::SandboxBackend;
use crate::error::listed;
use crate::keys::default;
use crate::keys::default::flag_or_default;
use crate::load::HarnessOverrides;
use crate::reader::Reader;
use crate::requirements::Allowed;
use crate::requirements::Requirements;

/// A value, and whether it was configured or is the default.
struct Choice<T> {
    value: T,
    is_explicit: bool,
}

/// Resolves the permissions; `disallowed` receives what the requirements forbid.
pub(crate) fn resolve(
    reader: &Reader<'_>,
    harness: &HarnessOverrides,
    trust: Option<TrustLevel>,
    features: &Features,
    requirements: &Requirements,
    disallowed: &mut Vec<Disallowed>,
) -> Permissions {
    let approval = choose(
        harness.approval_policy.or_else(|| reader.word("approval_policy", ApprovalPolicy::from_word)),
        match trust {
            Some(TrustLevel::Untrusted) => ApprovalPolicy::Untrusted,
            _ => const { ApprovalPolicy::named(default::text("approval_policy")) },
        },
    );
    let sandbox = choose(
        harness.sandbox_mode.or_else(|| reader.word("sandbox_mode", SandboxMode::from_word)),
        // Windows has no sandbox here, so no command writes without approval.
        if trust.is_some() && cfg!(not(windows)) {
            SandboxMode::WorkspaceWrite
        } else {
            const { SandboxMode::named(default::text("sandbox_mode")) }
        },
    );
    let approval_policy = within(
        "approval_policy",
        &approval,
        requirements.approval_policies.as_ref(),
        disallowed,
        ApprovalPolicy::as_str,
    );
    let sandbox_mode =
        within("sandbox_mode", &sandbox, requirements.sandbox_modes.as_ref(), disallowed, SandboxMode::as_str);
    let preferred = match features.is_on(Feature::UseLinuxSandboxBwrap) {
        true => SandboxBackend::Bubblewrap,
        false => const { SandboxBackend::named(default::text("sandbox_backend")) },
    };
    Permissions {
        approval_policy,
        sandbox_mode,
        sandbox_policy: policy(reader, sandbox_mode, &harness.additional_writable_roots),
        sandbox_backend: reader.word("sandbox_backend", SandboxBackend::from_word).unwrap_or(preferred),
        sandbox_protect: flag_or_default!(reader, "sandbox_protect"),
        trust,
    }
}

/// The web search mode within the requirements.
pub(crate) fn web_search(
    chosen: Option<WebSearchMode>,
    default: WebSearchMode,
    requirements: &Requirements,
    disallowed: &mut Vec<Disallowed>,
) -> WebSearchMode {
    let choice = choose(chosen, default);
    within("web_search", &choice, requirements.web_search_modes.as_ref(), disallowed, WebSearchMode::as_str)
}

fn choose<T>(chosen: Option<T>, default: T) -> Choice<T> {
    match chosen {
        Some(value) => Choice { value, is_explicit: true },
        None => Choice { value: default, is_explicit: false },
    }
}

/// The choice if it is allowed, else the preferred value. Only a configured choice is worth a warning.
fn within<T: Copy + PartialEq>(
    key: &'static str,
    choice: &Choice<T>,
    allowed: Option<&Allowed<T>>,
    disallowed: &mut Vec<Disallowed>,
    word: impl Fn(T) -> &'static str,
) -> T {
    let Some(allowed) = allowed.filter(|allowed| !allowed.allows(choice.value)) else { return choice.value };
    let used = allowed.preferred();
    if choice.is_explicit {
        disallowed.push(Disallowed {
            key,
            wanted: word(choice.value),
            used: word(used),
            reason: format!(
                "{} allows only {}",
                allowed.source.display(),
                listed(allowed.values().iter().map(|value| word(*value)))
            ),
        });
    }
    used
}

fn policy(reader: &Reader<'_>, mode: SandboxMode, further_roots: &[PathBuf]) -> SandboxPolicy {
    match mode {
        SandboxMode::ReadOnly => SandboxPolicy::ReadOnly,
        SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
        SandboxMode::WorkspaceWrite => {
            let mut writable_roots: Vec<PathBuf> = reader
                .texts("sandbox_workspace_write.writable_roots")
                .unwrap_or_default()
                .into_iter()
                .map(PathBuf::from)
                .collect();
            for root in further_roots {
                if !writable_roots.contains(root) {
                    writable_roots.push(root.clone());
                }
            }
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access: flag_or_default!(reader, "sandbox_workspace_write.network_access"),
                exclude_tmpdir_env_var: flag_or_default!(reader, "sandbox_workspace_write.exclude_tmpdir_env_var"),
                exclude_slash_tmp: flag_or_default!(reader, "sandbox_workspace_write.exclude_slash_tmp"),
            }
        }
    }
}
