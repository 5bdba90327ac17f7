//! The decision about a patch: it is applied, the client is asked, or it is refused.
//!
//! Not here: what a patch does to files (`pellucid-patch`), and links on the disk. Paths are compared as written; the
//! sandbox stops writes through links that lead elsewhere.

use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::protected::GitAccess;
use pellucid_protocol::protected::is_at_or_below;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use serde::Deserialize;
use serde::Serialize;

/// A patch, with everything that the decision about it depends on.
#[derive(Debug, Clone, Copy)]
pub struct PatchQuestion<'a> {
    /// Every file that is changed, and where files are moved to; absolute, without `.` and `..`.
    pub paths: &'a [PathBuf],
    /// When a person is asked.
    pub policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox: &'a SandboxPolicy,
    /// The folders in which the sandbox lets commands write.
    pub roots: &'a [WritableRoot],
    /// Whether this system has a sandbox.
    pub platform_sandbox: PlatformSandbox,
}

/// A folder that commands may write in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritableRoot {
    /// The path of the folder.
    pub root: PathBuf,
    /// Paths in the folder that may not be written, whether or not they exist.
    pub protected: Vec<PathBuf>,
    /// Whether repositories in the folder may be written.
    pub git: GitAccess,
}

/// Whether a system has a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformSandbox {
    /// The system has a sandbox.
    Present,
    /// The system has no sandbox.
    Absent,
}

/// A decision about a patch, with its grounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchDecision {
    /// Whether the patch is applied, the client is asked, or the patch is refused.
    pub requirement: PatchRequirement,
    /// Why this was decided.
    pub grounds: PatchGrounds,
}

/// What follows from a decision about a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchRequirement {
    /// The patch is applied without a sandbox.
    Apply,
    /// The patch is applied in the sandbox.
    ApplyInSandbox,
    /// The client is asked whether the patch may be applied.
    Ask,
    /// The patch is not applied, and the model gets this answer.
    Reject(&'static str),
}

/// What a decision about a patch is based on, in the order in which it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchGrounds {
    /// The patch changes no file.
    Empty,
    /// The policy asks about every patch.
    Untrusted,
    /// The patch writes only where it may, and the settings switch the sandbox off.
    Unconfined,
    /// The patch writes only where it may, or the policy asks only after the sandbox has stopped it.
    Confined,
    /// The patch would need a sandbox, but this system has none.
    NoPlatformSandbox,
    /// The patch writes where it may not, and the policy never asks.
    OutsideUnasked,
    /// The patch writes where it may not, and the client can be asked.
    Outside,
}

impl PatchRequirement {
    /// Whether the patch is applied without a question.
    pub fn is_auto_approved(self) -> bool {
        matches!(self, Self::Apply | Self::ApplyInSandbox)
    }
}

/// Decides whether a patch is applied, where, and on which grounds.
pub fn decide_patch(question: &PatchQuestion<'_>) -> PatchDecision {
    let grounds = grounds(question);
    let requirement = match grounds {
        PatchGrounds::Empty => PatchRequirement::Reject("patch rejected: empty patch"),
        PatchGrounds::OutsideUnasked => PatchRequirement::Reject(
            "patch rejected: writing outside of the project; rejected by user approval settings",
        ),
        PatchGrounds::Unconfined => PatchRequirement::Apply,
        PatchGrounds::Confined => PatchRequirement::ApplyInSandbox,
        PatchGrounds::Untrusted | PatchGrounds::NoPlatformSandbox | PatchGrounds::Outside => PatchRequirement::Ask,
    };
    PatchDecision { requirement, grounds }
}

fn grounds(question: &PatchQuestion<'_>) -> PatchGrounds {
    if question.paths.is_empty() {
        return PatchGrounds::Empty;
    }
    if question.policy == ApprovalPolicy::Untrusted {
        return PatchGrounds::Untrusted;
    }
    let is_unconfined =
        matches!(question.sandbox, SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. });
    let is_writable = question.paths.iter().all(|path| may_write(path, question));
    if is_writable || question.policy == ApprovalPolicy::OnFailure {
        return match (is_unconfined, question.platform_sandbox) {
            (true, _) => PatchGrounds::Unconfined,
            (false, PlatformSandbox::Present) => PatchGrounds::Confined,
            (false, PlatformSandbox::Absent) => PatchGrounds::NoPlatformSandbox,
        };
    }
    if question.policy == ApprovalPolicy::Never { PatchGrounds::OutsideUnasked } else { PatchGrounds::Outside }
}

fn may_write(path: &Path, question: &PatchQuestion<'_>) -> bool {
    match question.sandbox {
        SandboxPolicy::ReadOnly => false,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. } => true,
        SandboxPolicy::WorkspaceWrite { .. } => question.roots.iter().any(|root| root.lets_write(path)),
    }
}

impl WritableRoot {
    fn lets_write(&self, path: &Path) -> bool {
        let is_protected = || self.protected.iter().any(|protected| is_at_or_below(path, protected));
        path.strip_prefix(&self.root).is_ok_and(|below| self.git.lets_write(below)) && !is_protected()
    }
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::settings::NetworkAccess;

    use super::*;

    const WORKSPACE: SandboxPolicy = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };
    const EXTERNAL: SandboxPolicy = SandboxPolicy::ExternalSandbox { network_access: NetworkAccess::Enabled };

    #[track_caller]
    fn check_patch(
        policy: ApprovalPolicy,
        sandbox: &SandboxPolicy,
        platform_sandbox: PlatformSandbox,
        paths: &[&str],
        expected: PatchGrounds,
    ) {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let roots = [
            WritableRoot { root: "/w".into(), protected: vec!["/w/.codex".into()], git: GitAccess::Protected },
            WritableRoot { root: "/tmp".into(), protected: Vec::new(), git: GitAccess::Writable },
        ];
        let question = PatchQuestion { paths: &paths, policy, sandbox, roots: &roots, platform_sandbox };
        assert_eq!(decide_patch(&question).grounds, expected, "{policy} {sandbox:?} {paths:?}");
    }

    #[test]
    fn every_row() {
        use ApprovalPolicy::Never;
        use ApprovalPolicy::OnFailure;
        use ApprovalPolicy::OnRequest;
        use ApprovalPolicy::Untrusted;
        use PatchGrounds as Grounds;
        use PlatformSandbox::Absent;
        use PlatformSandbox::Present;
        use SandboxPolicy::DangerFullAccess;
        use SandboxPolicy::ReadOnly;
        check_patch(Untrusted, &WORKSPACE, Present, &[], Grounds::Empty);
        check_patch(Untrusted, &DangerFullAccess, Present, &["/w/a"], Grounds::Untrusted);
        for policy in [OnFailure, OnRequest, Never] {
            check_patch(policy, &DangerFullAccess, Present, &["/etc/x"], Grounds::Unconfined);
            check_patch(policy, &EXTERNAL, Absent, &["/etc/x"], Grounds::Unconfined);
            check_patch(policy, &WORKSPACE, Present, &["/w/a", "/tmp/b"], Grounds::Confined);
            check_patch(policy, &WORKSPACE, Absent, &["/w/a"], Grounds::NoPlatformSandbox);
        }
        check_patch(OnFailure, &ReadOnly, Present, &["/w/a"], Grounds::Confined);
        check_patch(OnFailure, &WORKSPACE, Present, &["/etc/x"], Grounds::Confined);
        check_patch(Never, &WORKSPACE, Present, &["/w/a", "/etc/x"], Grounds::OutsideUnasked);
        check_patch(Never, &ReadOnly, Present, &["/w/a"], Grounds::OutsideUnasked);
        check_patch(OnRequest, &WORKSPACE, Present, &["/etc/x"], Grounds::Outside);
        check_patch(OnRequest, &ReadOnly, Present, &["/w/a"], Grounds::Outside);
    }

    #[test]
    fn protected_folders_are_outside() {
        for path in [
            "/w/.git",
            "/w/.git/config",
            "/w/a/.git/hooks/post-checkout",
            "/w/.GIT/config",
            "/w/.codex/rules/x.rules",
            "/w/.Codex",
            "/wx/a",
            "/",
        ] {
            let (policy, present) = (ApprovalPolicy::OnRequest, PlatformSandbox::Present);
            check_patch(policy, &WORKSPACE, present, &[path], PatchGrounds::Outside);
        }
        let (policy, present) = (ApprovalPolicy::OnRequest, PlatformSandbox::Present);
        let paths = ["/w/.gitignore", "/w/.github/x", "/w/sub/.codex/x", "/tmp/.git/config"];
        check_patch(policy, &WORKSPACE, present, &paths, PatchGrounds::Confined);
    }

    #[test]
    fn only_what_runs_is_approved_by_itself() {
        assert!(PatchRequirement::Apply.is_auto_approved());
        assert!(PatchRequirement::ApplyInSandbox.is_auto_approved());
        assert!(!PatchRequirement::Ask.is_auto_approved());
    }
}
