//! What a request says of the workspace in its `x-codex-turn-metadata` header.
//!
//! Git is only asked about changes once a turn goes beyond its first request, so that no program
//! is started before it.

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_git::Git;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::settings::SandboxPolicy;
use serde::Serialize;

/// What is known of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RepositoryMetadata {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    associated_remote_urls: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_git_commit_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_changes: Option<bool>,
}

/// Repositories by their root.
pub type Repositories = BTreeMap<String, RepositoryMetadata>;

/// Asks git about the repository of a folder. This starts a program, confined.
pub fn repositories(git: &Git, cwd: &Path) -> Repositories {
    let (Some(root), Some(found)) = (pellucid_git::work_tree_root(cwd), pellucid_git::Repository::discover(cwd)) else {
        return Repositories::new();
    };
    let repository = RepositoryMetadata {
        associated_remote_urls: found.remote_urls(),
        latest_git_commit_hash: found.head().map(|head| head.commit),
        has_changes: pellucid_git::has_changes(git, cwd),
    };
    if repository == RepositoryMetadata::default() {
        return Repositories::new();
    }
    Repositories::from([(root.to_string_lossy().into_owned(), repository)])
}

/// The value of the header with the metadata of a turn.
pub fn header(turn_id: &TurnId, repositories: &Repositories, sandbox: &'static str) -> String {
    #[derive(Serialize)]
    struct Metadata<'a> {
        turn_id: &'a TurnId,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        workspaces: &'a Repositories,
        sandbox: &'static str,
    }
    serde_json::to_string(&Metadata { turn_id, workspaces: repositories, sandbox }).expect("plain data has a JSON form")
}

/// The word for what confines commands.
pub fn sandbox_word(policy: &SandboxPolicy, features: &Features) -> &'static str {
    match policy {
        SandboxPolicy::DangerFullAccess => "none",
        SandboxPolicy::ExternalSandbox { .. } => "external",
        SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite { .. } => {
            if cfg!(target_os = "macos") {
                "seatbelt"
            } else if cfg!(windows) {
                "windows_sandbox"
            } else if features.is_on(Feature::UseLinuxSandboxBwrap) {
                "linux_bubblewrap"
            } else {
                "seccomp"
            }
        }
    }
}
