//! `gitDiffToRemote`: the changes of a work tree that no remote branch has, as git shows them.
//!
//! Git runs in the sandbox, and ignores everything that the repository configures.

use pellucid_agent::own_git;
use pellucid_config::HarnessOverrides;
use pellucid_git::history;
use pellucid_tasks::Task;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::rpc::RpcError;
use crate::server::Server;

/// The parameters of `gitDiffToRemote`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GitDiffToRemoteParams {
    /// A folder of the work tree.
    pub cwd: String,
}

/// The result of `gitDiffToRemote`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GitDiffToRemoteResponse {
    /// The nearest commit that a remote branch contains.
    pub sha: String,
    /// The changes since that commit, committed or not.
    pub diff: String,
}

/// Handles `gitDiffToRemote`.
///
/// # Errors
/// When the folder is in no work tree, there is no remote branch, or git fails.
pub async fn git_diff_to_remote(
    server: &Server,
    params: GitDiffToRemoteParams,
) -> Result<GitDiffToRemoteResponse, RpcError> {
    let cwd = params.cwd;
    let failed =
        |reason: &str| RpcError::invalid(format!("failed to compute git diff to remote for cwd: {cwd:?} ({reason})"));
    let folder = server.ground.cwd.join(&cwd);
    if pellucid_git::work_tree_root(&folder).is_none() {
        return Err(failed("it is in no work tree of git"));
    }
    let (config, _) = server
        .ground
        .config(Some(&folder), Vec::new(), HarnessOverrides::default())
        .map_err(|error| failed(&error.to_string()))?;
    let git = own_git::of(&config, &server.ground.env);
    let ahead = Task::blocking("asking git", move || history::ahead_of_remotes(&git, &folder)).await;
    let ahead = ahead.map_err(|error| failed(&error.to_string()))?.map_err(|reason| failed(&reason))?;
    Ok(GitDiffToRemoteResponse { sha: ahead.commit, diff: ahead.diff })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::methods::fixture::world;

    /// The output of git is tested where git is run; this process cannot confine it.
    #[tokio::test]
    async fn where_git_is_not_run_the_answer_says_why() {
        let untrusted = "[projects.\"$R/work\"]\ntrust_level = \"untrusted\"\n";
        let world = world(&[("work/file", "one\n"), ("home/config.toml", untrusted)], &[]);
        let params = GitDiffToRemoteParams { cwd: world.filled("$R/work") };
        expect![[r#"-32600: failed to compute git diff to remote for cwd: "$R/work" (it is in no work tree of git)"#]]
            .assert_eq(&world.answer(git_diff_to_remote(&world.server, params.clone()).await));
        world.write("work/.git/HEAD", "ref: refs/heads/main\n");
        expect![[r#"-32600: failed to compute git diff to remote for cwd: "$R/work" ($R/work is marked as untrusted, so git is not run there)"#]]
            .assert_eq(&world.answer(git_diff_to_remote(&world.server, params).await));
    }
}
