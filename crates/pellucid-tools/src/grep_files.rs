//! `grep_files`: the files that a pattern matches, the latest first, found by ripgrep.

use std::process::Stdio;
use std::time::Duration;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;
use tokio::time::timeout;

use crate::Asks;
use crate::Failed;
use crate::Job;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "grep_files",
    takes: &[Takes::Function],
    when: When::Offered,
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

async fn run(call: &ToolCall, job: &Job) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = arguments(call)?;
    let pattern = wanted.pattern.trim();
    if pattern.is_empty() {
        return Err(Failed::told("pattern must not be empty"));
    }
    if wanted.limit == 0 {
        return Err(Failed::told("limit must be greater than zero"));
    }
    let cwd = &job.situation.cwd;
    let path = wanted.path.as_ref().map_or_else(|| cwd.clone(), |path| cwd.join(path));
    let there = tokio::fs::metadata(&path).await;
    there.map_err(|error| Failed::told(format!("unable to access `{}`: {error}", path.display())))?;

    let mut rg = tokio::process::Command::new("rg");
    rg.args(["--files-with-matches", "--sortr=modified", "--regexp", pattern, "--no-messages"]);
    if let Some(include) = wanted.include.as_deref().map(str::trim).filter(|include| !include.is_empty()) {
        rg.args(["--glob", include]);
    }
    rg.arg("--").arg(&path).current_dir(cwd).env_clear().envs(&job.situation.environment);
    let rg = rg.stdin(Stdio::null()).kill_on_drop(true).output();
    let Ok(ran) = timeout(PATIENCE, rg).await else {
        return Err(Failed::told("rg timed out after 30 seconds"));
    };
    let output = ran.map_err(|error| {
        Failed::told(format!("failed to launch rg: {error}. Ensure ripgrep is installed and on PATH."))
    })?;
    match output.status.code() {
        Some(0) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let files: Vec<&str> =
                text.lines().filter(|line| !line.is_empty()).take(wanted.limit.min(LIMIT_MAX)).collect();
            Ok(if files.is_empty() { nothing() } else { files.join("\n").into() })
        }
        Some(1) => Ok(nothing()),
        _ => Err(Failed::told(format!("rg failed: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}

fn nothing() -> ToolOutput {
    "No matches found.".to_owned().into()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;

    #[test]
    fn without_ripgrep_the_model_learns_what_is_missing() {
        let mut bench = Bench::new();
        bench.situation.environment.clear();
        let search = function("grep_files", r#"{"pattern":"x"}"#);
        // With no search path at all, the system's own may still have it.
        let shown = bench.show(&search);
        assert!(shown.contains("failed to launch rg: ") || shown.contains("No matches found."), "{shown}");
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
