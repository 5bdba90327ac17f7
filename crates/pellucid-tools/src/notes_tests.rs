//! The notes of calls: of every tool of the registry, of tools of servers and clients, and of every way to end.

use std::sync::Arc;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;

use crate::Asks;
use crate::CallContext;
use crate::TOOLS;
use crate::Takes;
use crate::bench::Bench;
use crate::bench::Ran;
use crate::bench::custom;
use crate::bench::function;
use crate::desk::Desk;
use crate::mcp_tool::McpRoute;
use crate::mcp_tool::tests::Rote;
use crate::notes::CallNotes;
use crate::notes::NotedCall;
use crate::permit;
use crate::permit::After;
use crate::permit::Rights;
use crate::user_command;

/// Notes in a few lines.
fn text(noted: &NotedCall) -> String {
    let grounds = serde_json::to_string(&noted.grounds).unwrap();
    let tool = if noted.tool.is_empty() { "-" } else { &noted.tool };
    let mut text = format!("{tool} {} {}..{} {grounds}\n", noted.outcome, noted.began_at, noted.ended_at);
    for answer in &noted.answers {
        text += &format!("  {}\n", serde_json::to_string(answer).unwrap());
    }
    for ran in &noted.runs {
        let (sandbox, code) = (serde_json::to_string(&ran.sandbox).unwrap(), ran.exit_code);
        text += &format!("  {sandbox} {code:?}{}\n", if ran.is_denied { " denied" } else { "" });
    }
    for inner in &noted.inner {
        text += &format!("  within: {}", self::text(&inner.take()).replace('\n', "\n  ").trim_end());
        text += "\n";
    }
    text
}

fn shown(bench: &Bench, ran: &[Ran]) -> String {
    let text: String = ran.iter().map(|ran| text(&ran.noted)).collect();
    text.replace(&*bench.folder.path().to_string_lossy(), "DIR")
}

#[track_caller]
fn check_noted(bench: &Bench, calls: &[ToolCall], expected: &Expect) {
    expected.assert_eq(&shown(bench, &bench.run_all(calls)));
}

#[test]
fn every_tool_says_whether_it_needs_a_decision() {
    let bench = Bench::new();
    for tool in TOOLS {
        // Arguments that no tool can parse: nothing is done, and nothing has to be decided.
        let call =
            if tool.takes.contains(&Takes::Function) { function(tool.name, "[]") } else { custom(tool.name, "") };
        let noted = bench.run(&call).noted;
        let expected = match tool.asks {
            Asks::Nothing(because) => CallGrounds::not_needed(because),
            Asks::Decision => CallGrounds::Undecided,
        };
        assert_eq!((noted.grounds, noted.tool.as_str()), (expected, tool.name));
        assert_ne!(noted.outcome, CallOutcome::Interrupted, "{}", tool.name);
        let is_decided = ["shell", "container.exec", "local_shell", "shell_command", "exec_command", "apply_patch"];
        assert_eq!(tool.asks == Asks::Decision, is_decided.contains(&tool.name), "{}", tool.name);
    }
}

#[test]
fn commands_have_their_grounds_and_their_sandbox() {
    let mut bench = Bench::new();
    let calls = [
        function("shell", r#"{"command":["true"]}"#),
        function("shell_command", r#"{"command":"exit 3","login":false}"#),
        function("exec_command", r#"{"cmd":"exit 4","login":false}"#),
        function("shell", r#"{"command":["rm","-rf","x"]}"#),
        function("shell", r#"{"command":["true"],"sandbox_permissions":"require_escalated"}"#),
        function("shell", r#"{"command":["/no/such/program"]}"#),
        function("nothing", "{}"),
    ];
    check_noted(
        &bench,
        &calls,
        &expect![[r#"
        shell done T..T {"decision":"command","policy":"never","outcome":"run","outside":"no_sandbox","split":"no_script","parts":[{"decision":"allow","heuristic":"known_safe"}]}
          {"mode":"danger-full-access","network":true} Some(0)
        shell_command failed T..T {"decision":"command","policy":"never","outcome":"run","outside":"no_sandbox","split":"plain","parts":[{"decision":"allow","heuristic":"not_asked"}]}
          {"mode":"danger-full-access","network":true} Some(3)
        exec_command failed T..T {"decision":"command","policy":"never","outcome":"run","outside":"no_sandbox","split":"plain","parts":[{"decision":"allow","heuristic":"not_asked"}]}
          {"mode":"danger-full-access","network":true} Some(4)
        shell refused T..T {"decision":"command","policy":"never","outcome":"reject","outside":"no_sandbox","split":"no_script","parts":[{"decision":"forbidden","heuristic":"dangerous_unasked"}]}
        shell refused T..T {"decision":"refused","because":"escalation_not_allowed","policy":"never"}
        shell failed T..T {"decision":"command","policy":"never","outcome":"run","outside":"no_sandbox","split":"no_script","parts":[{"decision":"allow","heuristic":"not_asked"}]}
          {"mode":"danger-full-access","network":true} None
        nothing failed T..T {"decision":"undecided"}
    "#]],
    );
    bench.situation.sandbox_policy =
        SandboxPolicy::ExternalSandbox { network_access: pellucid_protocol::settings::NetworkAccess::Restricted };
    check_noted(
        &bench,
        &calls[..1],
        &expect![[r#"
        shell done T..T {"decision":"command","policy":"never","outcome":"run","outside":"no_sandbox","split":"no_script","parts":[{"decision":"allow","heuristic":"known_safe"}]}
          {"mode":"external-sandbox","network":false} Some(0)
    "#]],
    );
}

#[test]
fn rules_are_noted_with_file_and_line() {
    let mut bench = Bench::new();
    let file = bench.home.path().join("rules/default.rules");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "prefix_rule(pattern=[\"false\"], decision=\"forbidden\")\n").unwrap();
    bench.rules = pellucid_rules::load_files(std::slice::from_ref(&file)).unwrap().rules;
    let ran = bench.run(&function("shell", r#"{"command":["false","secret"]}"#));
    let noted = text(&ran.noted).replace(&*file.to_string_lossy(), "FILE");
    expect![[r#"
        shell refused T..T {"decision":"command","policy":"never","outcome":"reject","outside":"no_sandbox","split":"no_script","parts":[{"decision":"forbidden","rules":[{"place":"FILE:1","rule":"prefix_rule(pattern=[\"false\"], decision=\"forbidden\")"}]}]}
    "#]].assert_eq(&noted);
}

#[test]
fn patches_are_checked_by_this_process() {
    let mut bench = Bench::new();
    let patch =
        |path: &str| custom("apply_patch", &format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"));
    bench.situation.sandbox_policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    };
    bench.situation.writable_roots = vec![bench.path().to_owned()];
    let through_shell =
        function("shell", r#"{"command":["apply_patch","*** Begin Patch\n*** Add File: c\n+x\n*** End Patch"]}"#);
    check_noted(
        &bench,
        &[patch("a"), patch("../b"), patch("a/b"), through_shell],
        &expect![[r#"
        apply_patch done T..T {"decision":"patch","policy":"never","outcome":"run","because":"confined"}
          {"mode":"workspace-write","backend":"own-checks","writable_roots":["DIR"],"network":false} None
        apply_patch refused T..T {"decision":"patch","policy":"never","outcome":"reject","because":"outside_unasked"}
        apply_patch failed T..T {"decision":"patch","policy":"never","outcome":"run","because":"confined"}
          {"mode":"workspace-write","backend":"own-checks","writable_roots":["DIR"],"network":false} None
        shell done T..T {"decision":"patch","policy":"never","outcome":"run","because":"confined"}
          {"mode":"workspace-write","backend":"own-checks","writable_roots":["DIR"],"network":false} None
    "#]],
    );
    bench.situation.approval_policy = ApprovalPolicy::OnRequest;
    bench.situation.sandbox_policy = SandboxPolicy::ReadOnly;
    let yes = bench.run_answered(&patch("d"), Some(ClientAnswer::Decision(ReviewDecision::Approved)));
    let unanswered = bench.run(&patch("e"));
    expect![[r#"
        apply_patch done T..T {"decision":"patch","policy":"on-request","outcome":"ask","because":"outside"}
          {"to":"patch","by":"client","answer":"approved"}
          {"mode":"read-only","backend":"own-checks","writable_roots":["DIR"],"network":false} None
        apply_patch refused T..T {"decision":"patch","policy":"on-request","outcome":"ask","because":"outside"}
          {"to":"patch","by":"nobody","answer":"denied"}
    "#]]
    .assert_eq(&shown(&bench, &[yes, unanswered]));
}

#[test]
fn who_answered_is_noted() {
    let mut bench = Bench::new();
    bench.situation.approval_policy = ApprovalPolicy::Untrusted;
    let call = function("shell", r#"{"command":["/no/such/program"]}"#);
    let mut ran = Vec::new();
    for answer in [
        Some(ReviewDecision::Denied),
        Some(ReviewDecision::ApprovedForSession),
        Some(ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: vec!["x".to_owned()] }),
        None,
    ] {
        ran.push(bench.run_answered(&call, answer.map(ClientAnswer::Decision)));
    }
    expect![[r#"
        shell refused T..T {"decision":"command","policy":"untrusted","outcome":"ask","outside":"no_sandbox","split":"no_script","parts":[{"decision":"prompt","heuristic":"untrusted"}]}
          {"to":"command","by":"client","answer":"denied"}
        shell failed T..T {"decision":"command","policy":"untrusted","outcome":"ask","outside":"no_sandbox","split":"no_script","parts":[{"decision":"prompt","heuristic":"untrusted"}]}
          {"to":"command","by":"client","answer":"approved_for_session"}
          {"mode":"danger-full-access","network":true} None
        shell failed T..T {"decision":"command","policy":"untrusted","outcome":"ask","outside":"no_sandbox","split":"no_script","parts":[{"decision":"prompt","heuristic":"untrusted"}]}
          {"to":"command","by":"client","answer":"approved_with_rule"}
          {"mode":"danger-full-access","network":true} None
        shell refused T..T {"decision":"command","policy":"untrusted","outcome":"ask","outside":"no_sandbox","split":"no_script","parts":[{"decision":"prompt","heuristic":"untrusted"}]}
          {"to":"command","by":"nobody","answer":"denied"}
    "#]].assert_eq(&shown(&bench, &ran));
}

/// A command that a sandbox stopped runs again without it, if that is allowed: two runs.
#[tokio::test]
async fn a_second_attempt_outside_of_the_sandbox_is_noted() {
    let mut bench = Bench::new();
    bench.situation.approval_policy = ApprovalPolicy::OnFailure;
    bench.situation.sandbox_policy = SandboxPolicy::ReadOnly;
    let (desk, mut heard) = Desk::open();
    let notes = CallNotes::new("c", "shell", || "T".to_owned());
    let (situation, toolbox) = (Arc::new(bench.situation.clone()), bench.toolbox());
    let job = CallContext { situation, toolbox, desk, notes: notes.clone() };
    let argv = vec!["/no/such/program".to_owned()];
    let rights = Rights::default();
    let request = permit::Request { call_id: "c", argv: &argv, cwd: bench.path(), rights: &rights, tty: None };
    let trying = async {
        let permit = permit::permit(&job, &request).await.unwrap();
        assert!(permit.is_sandboxed);
        job.notes.runs(HeldSandbox {
            mode: "read-only".to_owned(),
            backend: Some("namespaces".to_owned()),
            writable_roots: Some(Vec::new()),
            network: false,
            outside: None,
        });
        let after = permit::after(&job, &request, &permit, 1, &["Read-only file system"]).await;
        let After::Again(permit) = after else { panic!("{after:?}") };
        permit.argv(&job, &request, &mut bench.situation.children.environment.clone()).await.unwrap();
        job.notes.ran(0);
    };
    let answering = async {
        while let Some(message) = heard.recv().await {
            if let crate::desk::FromTool::Ask(asking) = message {
                asking.asker.give(AskOutcome::Answered(ClientAnswer::Decision(ReviewDecision::Approved)));
                return;
            }
        }
    };
    tokio::join!(trying, answering);
    expect![[r#"
        shell interrupted T..T {"decision":"command","policy":"on-failure","outcome":"run","split":"no_script","parts":[{"decision":"allow","heuristic":"not_asked"}]}
          {"to":"retry","by":"client","answer":"approved"}
          {"mode":"read-only","backend":"namespaces","writable_roots":[],"network":false} Some(1) denied
          {"mode":"none","network":true,"outside":"retry"} Some(0)
    "#]].assert_eq(&text(&notes.take()));
}

#[tokio::test]
async fn what_is_typed_into_a_terminal_has_the_sandbox_of_its_command() {
    let bench = Bench::new();
    let (desk, mut heard) = Desk::open();
    // The output is read as long as the command runs.
    let hearing = tokio::spawn(async move { while heard.recv().await.is_some() {} });
    let (situation, toolbox) = (Arc::new(bench.situation.clone()), bench.toolbox());
    let run = async |call: &ToolCall| {
        let notes = CallNotes::new(&call.call_id, &call.name, || "T".to_owned());
        let (situation, toolbox) = (situation.clone(), toolbox.clone());
        let answer =
            crate::run(call, &CallContext { situation, toolbox, desk: desk.clone(), notes: notes.clone() }).await;
        (format!("{answer:?}"), notes.take())
    };
    let start = function("exec_command", r#"{"cmd":"cat","login":false,"tty":true,"yield_time_ms":250}"#);
    let (answer, started) = run(&start).await;
    let number: String = answer.split("session ID ").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    let (_, written) = run(&function("write_stdin", &format!(r#"{{"session_id":{number},"chars":"a"}}"#))).await;
    assert_eq!((started.runs.len(), &written.runs), (1, &started.runs));
    let because = Unasked::OpenTerminal;
    assert_eq!(written.grounds, CallGrounds::NotNeeded { because, call: Some("c".to_owned()) });
    assert_eq!(written.outcome, CallOutcome::Done);
    toolbox.close().await;
    hearing.abort();
}

#[test]
fn servers_clients_and_scripts_do_the_work() {
    let mut bench = Bench::new();
    bench.node_paths = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/js_repl/fake_node.sh")];
    bench.servers = Some(Arc::new(Rote));
    let route = |tool: &str| McpRoute {
        name: format!("mcp__{tool}"),
        server: "depot".to_owned(),
        tool: tool.to_owned(),
        app: None,
    };
    bench.situation.tools.mcp_tools = ["echo", "broken"].map(route).into();
    check_noted(
        &bench,
        &[
            function("mcp__echo", "{}"),
            function("mcp__broken", "{}"),
            custom("js_repl", "tool list_dir"),
            custom("js_repl", "tool js_repl"),
            custom("js_repl", "throw"),
        ],
        &expect![[r#"
            mcp__echo done T..T {"decision":"not_needed","because":"server"}
            mcp__broken failed T..T {"decision":"not_needed","because":"server"}
            js_repl done T..T {"decision":"not_needed","because":"sandbox"}
              {"mode":"danger-full-access","network":true} None
              within: list_dir failed T..T {"decision":"not_needed","because":"reads_only"}
            js_repl done T..T {"decision":"not_needed","because":"sandbox"}
              {"mode":"danger-full-access","network":true} None
              within: js_repl failed T..T {"decision":"undecided"}
            js_repl failed T..T {"decision":"not_needed","because":"sandbox"}
              {"mode":"danger-full-access","network":true} None
        "#]],
    );
    bench.situation.tools.dynamic_tools = vec!["lookup".to_owned()];
    for (is_done, outcome) in [(true, CallOutcome::Done), (false, CallOutcome::Failed)] {
        let answer = DynamicToolResponse { content_items: Vec::new(), success: is_done };
        let ran = bench.run_answered(&function("lookup", "{}"), Some(ClientAnswer::DynamicTool(answer)));
        assert_eq!((ran.noted.outcome, ran.noted.grounds), (outcome, CallGrounds::not_needed(Unasked::Client)));
    }
    bench.situation.tools.only = Some(vec!["js_repl".to_owned()]);
    check_noted(
        &bench,
        &[function("list_dir", "{}")],
        &expect![[r#"
        list_dir refused T..T {"decision":"refused","because":"direct_calls_disabled","policy":"never"}
    "#]],
    );
}

#[tokio::test]
async fn a_command_that_a_person_types_is_noted() {
    let mut bench = Bench::new();
    let mut shown = String::new();
    for (policy, script, is_stopped) in [
        (SandboxPolicy::DangerFullAccess, "exit 3", false),
        (SandboxPolicy::ReadOnly, "true", false),
        (SandboxPolicy::ReadOnly, "sleep 60", true),
    ] {
        bench.situation.sandbox_policy = policy;
        let (desk, mut heard) = Desk::open();
        let notes = CallNotes::new("c", "", || "T".to_owned());
        let (situation, toolbox) = (Arc::new(bench.situation.clone()), bench.toolbox());
        let job = CallContext { situation, toolbox, desk, notes: notes.clone() };
        let stopped = async {
            if !is_stopped {
                std::future::pending::<()>().await;
            }
        };
        let running = async {
            user_command::run(&job, "c".to_owned(), script, stopped).await;
            drop(job);
        };
        tokio::join!(running, async { while heard.recv().await.is_some() {} });
        shown += &text(&notes.take());
    }
    expect![[r#"
        - failed T..T {"decision":"not_needed","because":"person"}
          {"mode":"danger-full-access","network":true} Some(3)
        - done T..T {"decision":"not_needed","because":"person"}
          {"mode":"none","network":true,"outside":"person"} Some(0)
        - interrupted T..T {"decision":"not_needed","because":"person"}
          {"mode":"none","network":true,"outside":"person"} None
    "#]]
    .assert_eq(&shown);
}

#[tokio::test]
async fn a_call_that_is_stopped_or_panics_says_so() {
    let notes = CallNotes::new("c", "shell", || "T".to_owned());
    drop(notes.begin());
    assert_eq!(notes.take().outcome, CallOutcome::Interrupted);
    let notes = CallNotes::new("c", "shell", || "T".to_owned());
    let inside = notes.clone();
    let task = tokio::spawn(async move {
        let _begun = inside.begin();
        panic!("on purpose");
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(notes.take().outcome, CallOutcome::Panicked);
}
