//! `apply_patch`: changes files by a patch, given as raw text or as JSON.

use pellucid_protocol::call::Payload;
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
use crate::patch;

pub(crate) const TOOL: Tool = Tool {
    name: "apply_patch",
    takes: &[Takes::Function, Takes::Custom],
    when: When::Offered,
    effect: Effect::Files,
    asks: Asks::Decision,
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    input: String,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let body = match &call.payload {
        Payload::Custom { input } => input.clone(),
        _ => arguments::<Arguments>(call)?.input,
    };
    patch::apply(job, &call.call_id, &body, &job.situation.cwd).await
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_engine::turn::questions::ClientAnswer;
    use pellucid_protocol::approval::ReviewDecision;
    use pellucid_protocol::event::EventMessage;
    use pellucid_protocol::item::ToolOutput;
    use pellucid_protocol::settings::ApprovalPolicy;
    use pellucid_protocol::settings::SandboxPolicy;

    use crate::bench::Bench;
    use crate::bench::Said;
    use crate::bench::custom;
    use crate::desk::FromTool;

    #[track_caller]
    fn check_patch(sandbox: SandboxPolicy, lines: &str, expected: &Expect) {
        let mut bench = Bench::new();
        bench.situation.sandbox_policy = sandbox;
        bench.situation.writable_roots = vec![bench.path().to_owned()];
        std::fs::write(bench.path().join("a"), "one\ntwo\n").unwrap();
        std::fs::create_dir(bench.path().join(".git")).unwrap();
        let shown = bench.show(&custom("apply_patch", &format!("*** Begin Patch\n{lines}\n*** End Patch")));
        // How long it took is nothing to compare.
        let shown = match shown.split_once("\"duration_seconds\":") {
            Some((before, after)) => format!(
                "{before}\"duration_seconds\":N{}",
                after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            ),
            None => shown,
        };
        expected.assert_eq(&shown);
    }

    fn workspace() -> SandboxPolicy {
        SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        }
    }

    #[test]
    fn a_patch_is_shown_and_applied() {
        check_patch(
            workspace(),
            "*** Update File: a\n@@\n-one\n+1\n two",
            &expect![[r#"
                {"type":"patch_apply_begin","call_id":"c","turn_id":"t","auto_approved":true,"changes":{"DIR/a":{"type":"update","unified_diff":"@@ -1,2 +1,2 @@\n-one\n+1\n two\n","move_path":null}}}
                {"type":"exec_command_output_delta","call_id":"c","stream":"stdout","chunk":"U3VjY2Vzcy4gVXBkYXRlZCB0aGUgZm9sbG93aW5nIGZpbGVzOgpNIGEK"}
                {"type":"patch_apply_end","call_id":"c","turn_id":"t","stdout":"Success. Updated the following files:\nM a\n","stderr":"","success":true,"changes":{"DIR/a":{"type":"update","unified_diff":"@@ -1,2 +1,2 @@\n-one\n+1\n two\n","move_path":null}},"status":"completed"}
                Diff
                => {"output":"Success. Updated the following files:\nM a\n","metadata":{"exit_code":0,"duration_seconds":N}}
            "#]],
        );
    }

    #[test]
    fn what_may_not_be_written_is_not() {
        check_patch(
            SandboxPolicy::ReadOnly,
            "*** Add File: b\n+x",
            &expect![[r#"
                {"type":"context_refusal","call_id":"c","code":"approval","why":"patch rejected: writing outside of the project; rejected by user approval settings"}
                {"type":"tool_call_failed","call_id":"c","name":"apply_patch","why":"the model got the reason"}
                => patch rejected: writing outside of the project; rejected by user approval settings
            "#]],
        );
        check_patch(
            workspace(),
            "*** Add File: .git/hooks/x\n+x",
            &expect![[r#"
                {"type":"context_refusal","call_id":"c","code":"approval","why":"patch rejected: writing outside of the project; rejected by user approval settings"}
                {"type":"tool_call_failed","call_id":"c","name":"apply_patch","why":"the model got the reason"}
                => patch rejected: writing outside of the project; rejected by user approval settings
            "#]],
        );
        check_patch(
            workspace(),
            "*** Add File: ../outside\n+x",
            &expect![[r#"
                {"type":"context_refusal","call_id":"c","code":"approval","why":"patch rejected: writing outside of the project; rejected by user approval settings"}
                {"type":"tool_call_failed","call_id":"c","name":"apply_patch","why":"the model got the reason"}
                => patch rejected: writing outside of the project; rejected by user approval settings
            "#]],
        );
    }

    /// Whether a patch that adds a file is applied, where no existing file is protected.
    fn is_applied(path: &str) -> bool {
        let mut bench = Bench::new();
        bench.situation.sandbox_policy = workspace();
        bench.situation.cwd = bench.path().join("project/sub");
        bench.situation.project_root = bench.path().join("project");
        bench.situation.writable_roots = vec![bench.path().to_owned(), bench.situation.cwd.clone()];
        std::fs::create_dir_all(&bench.situation.cwd).unwrap();
        bench.run(&custom("apply_patch", &format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch")));
        bench.situation.cwd.join(path).exists()
    }

    #[test]
    fn folders_whose_content_runs_later_are_not_made() {
        for path in [
            ".codex/config.toml",
            ".CODEX/config.toml",
            ".agents/skills/x/SKILL.md",
            ".pellucid/x",
            "../.codex/rules/x.rules",
            "../../.codex/config.toml",
            ".git",
            ".git/hooks/post-checkout",
            "deeper/.git/config",
            "../other/.GIT/config",
        ] {
            assert!(!is_applied(path), "{path}");
        }
        for path in [".codexrc", ".gitignore", "deeper/.codex/config.toml", "../.github/x", "../../other/x"] {
            assert!(is_applied(path), "{path}");
        }
    }

    #[test]
    fn what_the_sandbox_refuses_is_shown_before_it_is_done_outside() {
        let mut bench = Bench::new();
        bench.situation.approval_policy = ApprovalPolicy::OnRequest;
        bench.situation.sandbox_policy = SandboxPolicy::ReadOnly;
        let patch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch";
        let ran =
            bench.run_answered(&custom("apply_patch", patch), Some(ClientAnswer::Decision(ReviewDecision::Approved)));
        let shown = ran.said.iter().filter_map(|said| match said {
            Said::Asked(_) => Some("asked".to_owned()),
            Said::Other(other) => match &**other {
                FromTool::Event(EventMessage::ExecCommandOutputDelta { chunk, .. }) => {
                    Some(String::from_utf8(STANDARD.decode(chunk).unwrap()).unwrap())
                }
                _ => None,
            },
        });
        expect![[r#"
            ["asked", "Failed to write file new\n", "Success. Updated the following files:\nA new\n"]"#]]
        .assert_eq(&format!("{:?}", shown.collect::<Vec<_>>()));
    }

    /// The answer to the model for a patch in a folder with a link that leads out of the writable folders.
    fn answer_beside_a_link(body: &str) -> String {
        let (mut bench, outside) = (Bench::new(), tempfile::tempdir().unwrap());
        bench.situation.sandbox_policy = workspace();
        bench.situation.writable_roots = vec![bench.path().to_owned()];
        std::fs::write(outside.path().join("there"), "x\n").unwrap();
        std::fs::create_dir(bench.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path(), bench.path().join("link")).unwrap();
        let ran = bench.run(&custom("apply_patch", &format!("*** Begin Patch\n{body}\n*** End Patch")));
        let Ok(ToolOutput::Text(text)) = ran.outcome else { panic!("there is no answer") };
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        format!("{} {}", answer["metadata"]["exit_code"], answer["output"])
    }

    #[test]
    fn a_patch_that_is_refused_is_answered_in_the_words_of_the_program() {
        for (body, expected) in [
            ("*** Add File: link/x\n+x", r#"1 "Failed to write file link/x\n""#),
            ("*** Update File: ./link/there\n-x\n+y", r#"1 "Failed to write file ./link/there\n""#),
            ("*** Delete File: link/there", r#"1 "Failed to delete file link/there\n""#),
            ("*** Add File: folder\n+x", r#"1 "Failed to write file folder\n""#),
        ] {
            assert_eq!(answer_beside_a_link(body), expected, "{body}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        check_patch(
            workspace(),
            "*** Update File: a\n@@\n-three\n+3",
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"apply_patch","why":"the model got the reason"}
                => apply_patch verification failed: Failed to find expected lines in DIR/a:
                three
            "#]],
        );
    }
}
