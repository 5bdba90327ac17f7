//! `grep_files`: the files that a pattern matches, the latest first, found by ripgrep.

use std::time::Duration;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_exec::process;
use pellucid_exec::process::Command;
use pellucid_exec::process::ProcessEnd;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "grep_files",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::ReadsOnly),
    run: |call, job| Box::pin(run(call, job)),
};

const LIMIT_MAX: usize = 2000;
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    include: Option<String>,
    path: Option<String>,
    #[serde(default = "limit")]
    limit: usize,
}

fn limit() -> usize {
    100
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = arguments(call)?;
    let pattern = wanted.pattern.trim();
    if pattern.is_empty() {
        return Err(Failed::answered("pattern must not be empty"));
    }
    if wanted.limit == 0 {
        return Err(Failed::answered("limit must be greater than zero"));
    }
    let cwd = &job.situation.cwd;
    let path = wanted.path.as_ref().map_or_else(|| cwd.clone(), |path| cwd.join(path));
    let there = tokio::fs::metadata(&path).await;
    there.map_err(|error| Failed::answered(format!("unable to access `{}`: {error}", path.display())))?;

    let Some(searched) = path.to_str() else {
        return Err(Failed::answered(format!("unable to access `{}`: its name is not UTF-8", path.display())));
    };
    let mut argv = ["rg", "--files-with-matches", "--sortr=modified", "--regexp", pattern, "--no-messages"].to_vec();
    if let Some(include) = wanted.include.as_deref().map(str::trim).filter(|include| !include.is_empty()) {
        argv.extend(["--glob", include]);
    }
    argv.extend(["--", searched]);
    let argv = argv.into_iter().map(ToOwned::to_owned).collect();
    let rg = Command { argv, arg0: None, cwd: cwd.clone(), env: job.situation.children.environment.clone() };
    let ran = process::run(&rg, Some(PATIENCE), None).await.map_err(|error| {
        Failed::answered(format!("failed to launch rg: {error}. Ensure ripgrep is installed and on PATH."))
    })?;
    match ran.end {
        ProcessEnd::Exited(0) => {
            let text = String::from_utf8_lossy(&ran.stdout.bytes);
            // Of a list that was too long to be kept, the last line may be cut.
            let whole =
                if ran.stdout.n_dropped > 0 { text.rsplit_once('\n').map_or("", |(whole, _)| whole) } else { &text };
            let files: Vec<&str> =
                whole.lines().filter(|line| !line.is_empty()).take(wanted.limit.min(LIMIT_MAX)).collect();
            Ok(if files.is_empty() { nothing() } else { files.join("\n").into() })
        }
        ProcessEnd::Exited(1) => Ok(nothing()),
        ProcessEnd::TimedOut => Err(Failed::answered("rg timed out after 30 seconds")),
        ProcessEnd::Exited(_) | ProcessEnd::Signalled(_) => {
            Err(Failed::answered(format!("rg failed: {}", String::from_utf8_lossy(&ran.stderr.bytes))))
        }
    }
}

fn nothing() -> ToolOutput {
    "No matches found.".to_owned().into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use expect_test::Expect;
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;

    /// Searches with a script in place of ripgrep, and checks the answer to the model. `DIR` is the work folder.
    #[track_caller]
    fn check_search(script: &str, arguments: &str, expected: &Expect) {
        let mut bench = Bench::new();
        let rg = bench.home.path().join("rg");
        fs::write(&rg, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&rg, fs::Permissions::from_mode(0o755)).unwrap();
        bench.situation.children.environment = [("PATH".into(), bench.home.path().into())].into();
        expected.assert_eq(&bench.show(&function("grep_files", arguments)));
    }

    #[test]
    fn ripgrep_gets_the_pattern_and_its_files_come_back_up_to_the_limit() {
        check_search(
            r#"printf '%s\n' "$@""#,
            r#"{"pattern":" fn \\w+ ","include":"*.rs","limit":9}"#,
            &expect![[r#"
                => --files-with-matches
                --sortr=modified
                --regexp
                fn \w+
                --no-messages
                --glob
                *.rs
                --
                DIR
            "#]],
        );
        check_search(
            "printf 'b\n\na\nc\n'",
            r#"{"pattern":"x","limit":2}"#,
            &expect![[r#"
                => b
                a
            "#]],
        );
    }

    #[test]
    fn how_ripgrep_ends_is_what_the_model_gets() {
        let search = r#"{"pattern":"x"}"#;
        check_search(
            "exit 1",
            search,
            &expect![[r#"
                => No matches found.
            "#]],
        );
        check_search(
            "exit 0",
            search,
            &expect![[r#"
                => No matches found.
            "#]],
        );
        check_search(
            "echo 'regex parse error' >&2; exit 2",
            search,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"grep_files","why":"the model got the reason"}
                => rg failed: regex parse error

            "#]],
        );
    }

    #[test]
    fn without_ripgrep_the_model_learns_what_is_missing() {
        let mut bench = Bench::new();
        bench.situation.children.environment = [("PATH".into(), bench.home.path().into())].into();
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"grep_files","why":"the model got the reason"}
            => failed to launch rg: No such file or directory (os error 2). Ensure ripgrep is installed and on PATH.
        "#]]
        .assert_eq(&bench.show(&function("grep_files", r#"{"pattern":"x"}"#)));
    }

    #[test]
    fn wrong_arguments_are_said() {
        let bench = Bench::new();
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"grep_files","why":"the model got the reason"}
            => pattern must not be empty
        "#]]
        .assert_eq(&bench.show(&function("grep_files", r#"{"pattern":" "}"#)));
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"grep_files","why":"the model got the reason"}
            => limit must be greater than zero
        "#]]
        .assert_eq(&bench.show(&function("grep_files", r#"{"pattern":"x","limit":0}"#)));
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"grep_files","why":"the model got the reason"}
            => unable to access `DIR/none`: No such file or directory (os error 2)
        "#]]
        .assert_eq(&bench.show(&function("grep_files", r#"{"pattern":"x","path":"none"}"#)));
    }
}
