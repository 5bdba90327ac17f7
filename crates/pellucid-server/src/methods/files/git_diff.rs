//! `gitDiffToRemote`: what a work tree has that no remote branch has, as git shows it.
//!
//! Git itself is asked, with nothing of the repository's own programs but its filters.

use std::path::Path;
use std::time::Duration;

use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::End;
use pellucid_workspace::git;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::rpc::RpcError;
use crate::server::Server;

/// How long git may take for one question.
const LIMIT: Duration = Duration::from_secs(30);

/// How many files that git does not know are shown.
const UNTRACKED_MAX: usize = 2_000;

/// What `gitDiffToRemote` takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitDiffToRemoteParams {
    /// A folder of the work tree.
    pub cwd: String,
}

/// What `gitDiffToRemote` gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitDiffToRemoteResponse {
    /// The nearest commit that a remote branch has.
    pub sha: String,
    /// What came after it, committed or not.
    pub diff: String,
}

/// `gitDiffToRemote`.
///
/// # Errors
/// When the folder is in no work tree, there is no remote branch, or git fails.
pub async fn git_diff_to_remote(
    server: &Server,
    params: GitDiffToRemoteParams,
) -> Result<GitDiffToRemoteResponse, RpcError> {
    let cwd = params.cwd;
    let failed =
        |reason: String| RpcError::invalid(format!("failed to compute git diff to remote for cwd: {cwd:?} ({reason})"));
    let root = git::work_tree_root(&server.ground.cwd.join(&cwd));
    let root = root.ok_or_else(|| failed("it is in no work tree of git".to_owned()))?;
    let git = Git { server, root: &root };
    diff(&git).await.map_err(failed)
}

async fn diff(git: &Git<'_>) -> Result<GitDiffToRemoteResponse, String> {
    if git.ask(&["for-each-ref", "--count=1", "refs/remotes"]).await?.is_empty() {
        return Err("there is no remote branch".to_owned());
    }
    // The commits that no remote branch has, and after them those where these begin.
    let ahead = git.ask(&["rev-list", "--boundary", "HEAD", "--not", "--remotes"]).await?;
    let sha = match ahead.lines().find_map(|line| line.strip_prefix('-')) {
        Some(boundary) => boundary.to_owned(),
        None if ahead.is_empty() => git.ask(&["rev-parse", "HEAD"]).await?.trim().to_owned(),
        None => return Err("no commit of it is on a remote branch".to_owned()),
    };
    let mut diff = git.ask(&["diff", "--no-color", "--no-textconv", "--no-ext-diff", &sha]).await?;
    let untracked = git.ask(&["ls-files", "--others", "--exclude-standard", "-z"]).await?;
    let untracked: Vec<_> = untracked.split_terminator('\0').collect();
    if untracked.len() > UNTRACKED_MAX {
        return Err(format!("git does not know {} of its files, which are more than are shown", untracked.len()));
    }
    for file in untracked {
        let arguments = ["diff", "--no-color", "--no-textconv", "--no-ext-diff", "--no-index", "--", "/dev/null", file];
        diff.push_str(&git.ask(&arguments).await?);
    }
    Ok(GitDiffToRemoteResponse { sha, diff })
}

struct Git<'a> {
    server: &'a Server,
    root: &'a Path,
}

impl Git<'_> {
    async fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        // The repository may name programs that watch files or that run on events; asking must not start them.
        let quiet = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        let argv = quiet.iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        let mut env = self.server.ground.env.variables().clone();
        env.insert("GIT_OPTIONAL_LOCKS".into(), "0".into());
        let command = Command { argv, arg0: None, cwd: self.root.to_owned(), env };
        let finished = process::run(&command, Some(LIMIT), None).await.map_err(|error| format!("git: {error}"))?;
        // A difference from nothing is reported by the code 1.
        match finished.end {
            End::Exited(0 | 1) if finished.stdout.n_dropped > 0 => Err("it is longer than 1 MiB".to_owned()),
            End::Exited(0) => Ok(finished.stdout.text()),
            End::Exited(1) if arguments.contains(&"--no-index") => Ok(finished.stdout.text()),
            End::TimedOut => Err(format!("git {} took longer than {} s", arguments[0], LIMIT.as_secs())),
            _ => Err(format!("git {} failed: {}", arguments[0], finished.stderr.text().trim())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use expect_test::expect;

    use super::*;
    use crate::methods::fixture::World;
    use crate::methods::fixture::world;

    fn git(world: &World, folder: &str, arguments: &[&str]) {
        let done = Command::new("git")
            .args([
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@b.test",
                "-c",
                "commit.gpgsign=false",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(world.path(folder))
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    async fn answer(world: &World) -> String {
        let params = GitDiffToRemoteParams { cwd: world.filled("$R/work") };
        match git_diff_to_remote(&world.server, params).await {
            Ok(found) => {
                assert_eq!(found.sha.len(), 40);
                found.diff
            }
            error => world.answer(error),
        }
    }

    #[tokio::test]
    async fn what_no_remote_has() {
        let world = world(&[("work/file", "one\n")], &[]);
        expect![[r#"-32600: failed to compute git diff to remote for cwd: "$R/work" (it is in no work tree of git)"#]]
            .assert_eq(&answer(&world).await);
        git(&world, "work", &["init", "-q"]);
        git(&world, "work", &["add", "file"]);
        git(&world, "work", &["commit", "-qm", "one"]);
        expect![[r#"-32600: failed to compute git diff to remote for cwd: "$R/work" (there is no remote branch)"#]]
            .assert_eq(&answer(&world).await);
        git(&world, "", &["clone", "-q", "--bare", "work", "bare"]);
        git(&world, "work", &["remote", "add", "origin", "../bare"]);
        git(&world, "work", &["fetch", "-q", "origin"]);
        assert_eq!(answer(&world).await, "");
        world.write("work/file", "one\ntwo\n");
        git(&world, "work", &["commit", "-qam", "two"]);
        world.write("work/file", "one\ntwo\nthree\n");
        world.write("work/new", "new\n");
        world.write("work/.gitignore", "ignored\n");
        world.write("work/ignored", "x\n");
        expect![[r#"
            diff --git a/file b/file
            index 5626abf..4cb29ea 100644
            --- a/file
            +++ b/file
            @@ -1 +1,3 @@
             one
            +two
            +three
            diff --git a/.gitignore b/.gitignore
            new file mode 100644
            index 0000000..ea10ec8
            --- /dev/null
            +++ b/.gitignore
            @@ -0,0 +1 @@
            +ignored
            diff --git a/new b/new
            new file mode 100644
            index 0000000..3e75765
            --- /dev/null
            +++ b/new
            @@ -0,0 +1 @@
            +new
        "#]]
        .assert_eq(&answer(&world).await);
    }
}
