//! The settings of a thread as they are now, which clients of today receive when they change.

use std::path::PathBuf;

use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use serde_json::Value;
use serde_json::json;

use super::members;
use crate::loaded::StartSettings;
use crate::rpc::RpcError;
use crate::types::settings;

/// The settings with which a thread works.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrentSettings {
    pub model: String,
    pub model_provider: String,
    pub cwd: String,
    /// When commands and patches need approval.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox: SandboxPolicy,
    /// The reasoning effort, if one is set.
    pub effort: Option<ReasoningEffort>,
    /// How the model answers.
    pub ways: Ways,
}

/// How the model answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ways {
    /// How reasoning is summarised.
    pub summary: Option<ReasoningSummary>,
    /// The tone of the model's answers.
    pub personality: Option<Personality>,
    /// The collaboration mode.
    pub mode: Option<CollaborationMode>,
}

impl CurrentSettings {
    /// The settings of a thread that has just been opened.
    pub fn new(start: &StartSettings, ways: Ways) -> Self {
        Self {
            model: start.model.clone(),
            model_provider: start.model_provider.clone(),
            cwd: start.cwd.clone(),
            approval_policy: start.approval_policy,
            sandbox: start.sandbox.clone(),
            effort: start.effort,
            ways,
        }
    }

    /// Takes over what a change has. The settings of a collaboration mode count more than the model and the effort beside
    /// it, as in the session itself.
    pub fn apply(&mut self, change: &SettingsChange) {
        if let Some(cwd) = &change.cwd {
            self.cwd = cwd.to_string_lossy().into_owned();
        }
        self.approval_policy = change.approval_policy.unwrap_or(self.approval_policy);
        if let Some(sandbox) = &change.sandbox_policy {
            self.sandbox = sandbox.clone();
        }
        if let Some(model) = &change.model {
            self.model.clone_from(model);
        }
        self.effort = change.effort.unwrap_or(self.effort);
        self.ways.summary = change.summary.or(self.ways.summary);
        self.ways.personality = change.personality.or(self.ways.personality);
        if let Some(mode) = &change.collaboration_mode {
            self.model.clone_from(&mode.settings.model);
            self.effort = mode.settings.reasoning_effort;
            self.ways.mode = Some(mode.clone());
        }
    }

    /// The settings as clients of today expect them.
    pub fn shown(&self) -> Value {
        let mut sandbox = json!(settings::SandboxPolicy::from(self.sandbox.clone()));
        members::sandbox_policy(&mut sandbox);
        let usual = || CollaborationMode {
            mode: CollaborationModeKind::Default,
            settings: CollaborationSettings {
                model: self.model.clone(),
                reasoning_effort: self.effort,
                developer_instructions: None,
            },
        };
        members::object([
            ("activePermissionProfile", members::permission_profile(&sandbox)),
            ("approvalPolicy", json!(self.approval_policy)),
            ("approvalsReviewer", json!("user")),
            ("collaborationMode", json!(self.ways.mode.clone().unwrap_or_else(usual))),
            ("cwd", json!(self.cwd)),
            ("disabledPluginIds", json!([])),
            ("effort", json!(self.effort)),
            ("model", json!(self.model)),
            ("modelProvider", json!(self.model_provider)),
            ("multiAgentMode", json!("explicitRequestOnly")),
            ("personality", json!(self.ways.personality)),
            ("sandboxPolicy", sandbox),
            ("serviceTier", Value::Null),
            ("summary", json!(self.ways.summary)),
        ])
    }
}

/// The sandbox mode of a permission profile, by the profile's id.
///
/// # Errors
/// If there is no such profile.
pub fn mode_of_profile(id: &str) -> Result<SandboxMode, RpcError> {
    match id {
        ":read-only" => Ok(SandboxMode::ReadOnly),
        ":workspace" => Ok(SandboxMode::WorkspaceWrite),
        ":danger-full-access" => Ok(SandboxMode::DangerFullAccess),
        other => Err(RpcError::invalid(format!(
            "unknown permission profile `{other}`; hint: `permissionProfile/list` has those that can be used"
        ))),
    }
}

/// The sandbox policy of a permission profile, by the profile's id.
///
/// # Errors
/// If there is no such profile.
pub fn policy_of_profile(id: &str) -> Result<SandboxPolicy, RpcError> {
    Ok(match mode_of_profile(id)? {
        SandboxMode::ReadOnly => SandboxPolicy::ReadOnly,
        SandboxMode::WorkspaceWrite => SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::<PathBuf>::new(),
            network_access: false,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        },
        SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
    })
}
