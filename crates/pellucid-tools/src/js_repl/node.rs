//! Finds the Node that runs the kernel, and checks whether it is new enough.
//!
//! The first configured path that exists counts; configured paths that do not exist are skipped.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::ProcessEnd;

/// The oldest that will do.
const REQUIRED: Version = Version(24, 13, 1);

/// How long Node may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// A version of Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u64, u64, u64);

/// Why Node cannot be used. The text is sent to the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum NodeError {
    #[error("Node runtime not found; install Node or set CODEX_JS_REPL_NODE_PATH")]
    NotFound,
    #[error("failed to execute Node: {0}")]
    NotRun(String),
    #[error("failed to read Node version (status {status}){details}")]
    Failed { status: String, details: String },
    #[error("failed to parse Node version output `{output}`: {problem}")]
    NotUnderstood { output: String, problem: String },
    #[error(
        "Node runtime too old for js_repl (resolved {}): found v{found}, requires >= v{REQUIRED}. \
         Install/update Node or set js_repl_node_path to a newer runtime.",
        path.display()
    )]
    TooOld { path: PathBuf, found: Found },
}

/// A version that is too old.
#[derive(Debug)]
pub(super) struct Found(Version);

/// The path of Node: one of these files, or the first in `PATH`.
pub(super) fn find(named: &[PathBuf], path: Option<&OsStr>) -> Result<PathBuf, NodeError> {
    let in_path = path.into_iter().flat_map(env::split_paths).filter(|folder| folder.is_absolute());
    let candidates = named.iter().cloned().chain(in_path.map(|folder| folder.join("node")));
    candidates.into_iter().find(|path| path.is_file()).ok_or(NodeError::NotFound)
}

/// Asks Node for its version, with a command that runs it so, and says whether that will do.
pub(super) async fn check(node: &Path, asking: &Command) -> Result<(), NodeError> {
    let ran = process::run(asking, Some(VERSION_LIMIT), None).await;
    let finished = ran.map_err(|error| NodeError::NotRun(error.to_string()))?;
    let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
    if finished.end != ProcessEnd::Exited(0) {
        let status = match finished.end {
            ProcessEnd::Exited(code) => format!("exit status: {code}"),
            ProcessEnd::Signalled(signal) => format!("signal: {signal}"),
            ProcessEnd::TimedOut => "timed out".to_owned(),
        };
        return Err(NodeError::Failed { status, details: details(&stdout, &stderr) });
    }
    verdict(node, stdout.trim())
}

fn verdict(node: &Path, output: &str) -> Result<(), NodeError> {
    let found =
        Version::parse(output).map_err(|problem| NodeError::NotUnderstood { output: output.to_owned(), problem })?;
    if found < REQUIRED {
        return Err(NodeError::TooOld { path: node.to_owned(), found: Found(found) });
    }
    Ok(())
}

/// Whether a Node that says this of its version will do.
#[cfg(test)]
pub(super) fn will_do(output: &str) -> bool {
    verdict(Path::new(""), output).is_ok()
}

fn details(stdout: &str, stderr: &str) -> String {
    let said = [("stdout", stdout.trim()), ("stderr", stderr.trim())];
    let said: Vec<_> = said.iter().filter(|(_, text)| !text.is_empty()).collect();
    if said.is_empty() {
        return String::new();
    }
    let said: String = said.iter().map(|(stream, text)| format!(" {stream}: {text}")).collect();
    format!(" ({said})")
}

impl Version {
    /// Reads `v24.13.1`; what follows the numbers, as of a nightly build, does not count.
    fn parse(output: &str) -> Result<Self, String> {
        let mut numbers = output.strip_prefix('v').unwrap_or(output).splitn(3, '.');
        let mut next = |what: &str| {
            let text = numbers.next().ok_or_else(|| format!("missing {what} version"))?;
            let digits = text.split(['-', '+']).next().unwrap_or_default();
            digits.parse().map_err(|error| format!("invalid {what} version: {error}"))
        };
        Ok(Self(next("major")?, next("minor")?, next("patch")?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_version(output: &str, expected: &Expect) {
        let shown = verdict(Path::new("/n/node"), output).map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_new_node_will_do_and_an_old_one_is_named() {
        check_version("v24.13.1", &expect!["ok"]);
        check_version("v25.0.0-nightly20260101", &expect!["ok"]);
        check_version("v24.14.0", &expect!["ok"]);
        check_version(
            "v24.13.0",
            &expect![
                "Node runtime too old for js_repl (resolved /n/node): found v24.13.0, requires >= v24.13.1. Install/update Node or set js_repl_node_path to a newer runtime."
            ],
        );
        check_version(
            "v20.20.2",
            &expect![
                "Node runtime too old for js_repl (resolved /n/node): found v20.20.2, requires >= v24.13.1. Install/update Node or set js_repl_node_path to a newer runtime."
            ],
        );
    }

    #[test]
    fn what_is_no_version_is_said() {
        check_version(
            "echo 9",
            &expect![
                "failed to parse Node version output `echo 9`: invalid major version: invalid digit found in string"
            ],
        );
        check_version("v24", &expect!["failed to parse Node version output `v24`: missing minor version"]);
        check_version("v24.1", &expect!["failed to parse Node version output `v24.1`: missing patch version"]);
        assert_eq!(details("out\n", " err"), " ( stdout: out stderr: err)");
        assert_eq!(details("", ""), "");
    }

    #[test]
    fn what_is_named_first_and_there_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a/node", "b/node", "named"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        let path = env::join_paths([Path::new("relative"), &at("none"), &at("b"), &at("a")]).unwrap();
        let found = |named: &[PathBuf]| find(named, Some(&path)).unwrap();
        assert_eq!(found(&[]), at("b/node"));
        assert_eq!(found(&[at("missing"), at("named")]), at("named"));
        assert_eq!(found(&[at("missing")]), at("b/node"));
        let error = find(&[at("missing")], None).unwrap_err().to_string();
        assert_eq!(error, "Node runtime not found; install Node or set CODEX_JS_REPL_NODE_PATH");
    }
}
