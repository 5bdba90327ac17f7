//! `sessions calls`: what the tools of a session were called for, when, on which grounds and in which sandbox.

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::calls::Calls;
use pellucid_agent::calls::RecordedCall;
use pellucid_agent::calls::RecordedRun;
use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::CallAnswer;
use pellucid_protocol::call_record::HeldSandbox;

use super::print;
use super::print_json;
use crate::args::sessions::CallsArgs;
use crate::capsule;
use crate::capsule::LookedAt;
use crate::pack::table::table;
use crate::start::ProgramFailure;
use crate::style;

pub fn run(home: &Path, args: &CallsArgs) -> Result<ExitCode, ProgramFailure> {
    let (of, call) = args.of.split(args.call.as_ref());
    let LookedAt { home, id, path: file } = &capsule::meant(home, &of)?;
    let failed = |error| ProgramFailure::new(format!("the record of session {id} cannot be read: {error}"));
    let Calls { calls, broken } = Calls::read(home, file).map_err(failed)?;
    if let Some(broken) = broken {
        style::line(&format!(
            "warning: the record of this session is damaged, so calls may be missing or wrong: {broken}; `pellucid \
             sessions fsck {id}` checks the whole session"
        ));
    }
    let chosen: Vec<&RecordedCall> = match &call {
        Some(call) => calls.iter().filter(|it| it.call == *call || it.within.as_ref() == Some(call)).collect(),
        None => calls.iter().collect(),
    };
    if let (Some(call), true) = (&call, chosen.is_empty()) {
        return Err(ProgramFailure::usage(format!(
            "the record has no call `{call}`; `pellucid sessions calls {id}` lists those that it has"
        )));
    }
    if args.json {
        let text = serde_json::to_string(&chosen).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        return print_json(&format!("{text}\n"));
    }
    print(&match (&call, chosen.is_empty()) {
        (Some(_), _) => chosen.iter().map(|call| whole(call)).collect::<Vec<_>>().join("\n"),
        (None, true) => "the record of this session has no calls\n".to_owned(),
        (None, false) => list(&chosen),
    })
}

/// A table of the calls; below each call the decision about it and the sandbox that held it.
fn list(calls: &[&RecordedCall]) -> String {
    let row = |it: &&RecordedCall| {
        let began = it.began_at.get(..19).unwrap_or(&it.began_at).replace('T', " ");
        vec![it.call.clone(), tool(it), began, format!("{} ms", it.duration_ms), it.outcome.to_string()]
    };
    let rows: Vec<Vec<String>> = calls.iter().map(row).collect();
    let table = table(&["CALL", "TOOL", "BEGAN (UTC)", "TOOK", "OUTCOME"], &rows);
    let mut lines = table.lines();
    let heading = lines.next().unwrap_or_default();
    let below = |(line, call): (&str, &&RecordedCall)| {
        let sandboxes: Vec<String> = call.runs.iter().map(sandbox_word).collect();
        let sandbox = if sandboxes.is_empty() { String::new() } else { format!("; {}", sandboxes.join(", then ")) };
        format!("{line}\n  {}{sandbox}\n", first_line(call))
    };
    format!("{heading}\n{}", lines.zip(calls).map(below).collect::<String>())
}

/// The tool of a call, or a placeholder for a call without one.
fn tool(call: &RecordedCall) -> String {
    match (call.tool.as_str(), &call.within) {
        ("", _) => "(typed by a person)".to_owned(),
        (tool, Some(_)) => format!("  {tool}"),
        (tool, None) => tool.to_owned(),
    }
}

/// The grounds in one line: the decision, and the answers that followed.
fn first_line(call: &RecordedCall) -> String {
    let text = call.grounds_text();
    let decision = text.lines().next().unwrap_or_default().to_owned();
    call.answers.iter().fold(decision, |line, answer| format!("{line}; {}", answer_text(answer)))
}

fn answer_text(answer: &CallAnswer) -> String {
    let by = match (answer.by, &answer.client) {
        (Answerer::Client, Some(client)) => format!("by the client {client}"),
        (Answerer::Client, None) => "by the client".to_owned(),
        (Answerer::SessionGrant, _) => "by an earlier answer for this session".to_owned(),
        (Answerer::Nobody, _) => "because no one answered".to_owned(),
    };
    let word = answer.answer.as_str().replace('_', " ");
    format!("{} {word} {by}", answer.to.as_str().replace('_', " "))
}

/// A sandbox in a word or two.
fn sandbox_word(run: &RecordedRun) -> String {
    let mode = match &run.sandbox {
        None => "not in the record".to_owned(),
        Some(HeldSandbox { outside: Some(because), .. }) => format!("none ({because})"),
        Some(sandbox) => match &sandbox.backend {
            Some(backend) => format!("{} ({backend})", sandbox.mode),
            None => sandbox.mode.clone(),
        },
    };
    if run.denied { format!("{mode}, denied") } else { mode }
}

/// Everything about one call, a fact on each line.
fn whole(call: &RecordedCall) -> String {
    let mut text = format!("call      {}\n", call.call);
    let mut row = |name: &str, value: &str| text += &format!("{name:10}{value}\n");
    row("tool", tool(call).trim_start());
    if let Some(within) = &call.within {
        row("within", within);
    }
    row("turn", &call.turn);
    row("began", &call.began_at);
    row("ended", &format!("{} (after {} ms)", call.ended_at, call.duration_ms));
    row("outcome", call.outcome.as_str());
    for (n, line) in call.grounds_text().lines().enumerate() {
        row(if n == 0 { "grounds" } else { "" }, line);
    }
    for answer in &call.answers {
        row("answer", &answer_text(answer));
    }
    for (n, run) in call.runs.iter().enumerate() {
        row(&format!("run {}", n + 1), &sandbox_word(run));
        let Some(sandbox) = &run.sandbox else { continue };
        match &sandbox.writable_roots {
            None => row("", "writable: not limited by Pellucid"),
            Some(roots) if roots.is_empty() => row("", "writable: nothing"),
            Some(roots) => roots.iter().for_each(|root| row("", &format!("writable: {root}"))),
        }
        row("", if sandbox.network { "network: yes" } else { "network: no" });
        if let Some(exit_code) = run.exit_code {
            row("", &format!("exit code: {exit_code}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::call_record::ApprovalSubject;
    use pellucid_protocol::call_record::ApprovalWord;
    use pellucid_protocol::call_record::CallOutcome;
    use pellucid_protocol::call_record::OutsideBecause;
    use serde_json::json;

    use super::*;

    /// A command that the sandbox stopped, and that ran again without it.
    fn escalated() -> RecordedCall {
        let inside = HeldSandbox {
            mode: "workspace-write".to_owned(),
            backend: Some("namespaces".to_owned()),
            writable_roots: Some(vec!["/w".to_owned(), "/tmp".to_owned()]),
            network: false,
            outside: None,
        };
        let run = |sandbox, exit_code, denied| RecordedRun { sandbox: Some(sandbox), exit_code, denied };
        RecordedCall {
            call: "call_1".to_owned(),
            tool: "shell".to_owned(),
            turn: "t".to_owned(),
            within: None,
            began_at: "2026-01-02T03:04:05.678Z".to_owned(),
            ended_at: "2026-01-02T03:04:06.678Z".to_owned(),
            duration_ms: 1000,
            outcome: CallOutcome::Done,
            grounds: Some(json!({
                "decision": "command", "policy": "on-failure", "outcome": "run", "split": "plain",
                "parts": [{ "decision": "allow", "heuristic": "not_asked" }],
            })),
            answers: vec![CallAnswer {
                to: ApprovalSubject::Retry,
                by: Answerer::Client,
                client: Some("codex_vscode".to_owned()),
                answer: ApprovalWord::Approved,
            }],
            runs: vec![run(inside, Some(1), true), run(HeldSandbox::outside(OutsideBecause::Retry), Some(0), false)],
            line: 7,
        }
    }

    #[test]
    fn a_call_is_drawn_with_every_attempt() {
        expect![[r#"
            call      call_1
            tool      shell
            turn      t
            began     2026-01-02T03:04:05.678Z
            ended     2026-01-02T03:04:06.678Z (after 1000 ms)
            outcome   done
            grounds   run: it runs in the sandbox
                      approval policy: on-failure
                      taken apart: yes, its script consists of plain commands
                      part 1: allow
                        no rule matches; the approval policy does not ask before a command runs
            answer    retry approved by the client codex_vscode
            run 1     workspace-write (namespaces), denied
                      writable: /w
                      writable: /tmp
                      network: no
                      exit code: 1
            run 2     none (retry)
                      writable: not limited by Pellucid
                      network: yes
                      exit code: 0
        "#]]
        .assert_eq(&whole(&escalated()));
        let later = RecordedCall {
            grounds: Some(json!({ "decision": "of another version" })),
            answers: Vec::new(),
            runs: Vec::new(),
            within: Some("call_1".to_owned()),
            ..escalated()
        };
        let gone = RecordedCall { grounds: None, tool: String::new(), within: None, ..later.clone() };
        expect![[r#"
            CALL    TOOL                 BEGAN (UTC)          TOOK     OUTCOME
            call_1  shell                2026-01-02 03:04:05  1000 ms  done
              run: it runs in the sandbox; retry approved by the client codex_vscode; workspace-write (namespaces), denied, then none (retry)
            call_1    shell              2026-01-02 03:04:05  1000 ms  done
              {"decision":"of another version"}
            call_1  (typed by a person)  2026-01-02 03:04:05  1000 ms  done
              not in the record any more
        "#]]
        .assert_eq(&list(&[&escalated(), &later, &gone]));
    }
}
