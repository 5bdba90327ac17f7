//! `approvals explain`: what would happen to a command, and why. Nothing is run.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_engine::approval::Platform;
use pellucid_engine::approval::decide::ApprovalQuestion;
use pellucid_engine::approval::decide::decide;
use pellucid_engine::approval::decide::escalation_refusal;
use pellucid_engine::approval::explain::Explanation;
use pellucid_engine::approval::explain::explain;
use pellucid_engine::approval::grants::Grants;
use pellucid_engine::approval::part::CommandParts;
use pellucid_engine::approval::program::Programs;
use pellucid_engine::approval::rules::Rule;
use pellucid_engine::command_line::joined;
use pellucid_exec::programs;
use pellucid_exec::programs::ProgramSearch;
use pellucid_exec::script;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_rules::Policy;
use pellucid_workspace::shell;
use serde_json::Value;
use serde_json::json;

use crate::args::approvals::ApprovalsArgs;
use crate::args::approvals::ApprovalsCommand;
use crate::args::approvals::ExplainArgs;
use crate::args::shared::Shared;
use crate::args::turn::Approval;
use crate::args::turn::StartArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::screen::name;
use crate::start::EXEC_POLICY;
use crate::start::IGNORED_RULE;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::UNREAD_RULES;
use crate::start::UNUSABLE_RULES;

pub fn run(shared: &Shared, args: ApprovalsArgs) -> Result<ExitCode, ProgramFailure> {
    let ApprovalsCommand::Explain(ExplainArgs { json, sandbox, approval, escalated, profile, cd, command }) =
        args.command;
    let turn = StartArgs { sandbox, profile, cd, ..StartArgs::default() };
    let mut start = Start::asking(shared, &turn, approval.map(policy))?;
    let policy = start.read_rules()?.clone();
    let permissions = if escalated { SandboxPermissions::RequireEscalated } else { SandboxPermissions::UseDefault };
    let explained = Explained::new(&start, policy, argv(command, &start.env), permissions);
    let text = if json { format!("{:#}\n", explained.json()) } else { explained.text() };
    print::report(&text, OutputFormat::of(json))?;
    Ok(ExitCode::SUCCESS)
}

fn policy(approval: Approval) -> ApprovalPolicy {
    match approval {
        Approval::Untrusted => ApprovalPolicy::Untrusted,
        Approval::OnFailure => ApprovalPolicy::OnFailure,
        Approval::OnRequest => ApprovalPolicy::OnRequest,
        Approval::Never => ApprovalPolicy::Never,
    }
}

/// The command as the tools run it: a single word is a script for the user's shell.
fn argv(command: Vec<String>, env: &Env) -> Vec<String> {
    match <[String; 1]>::try_from(command) {
        Ok([script]) => {
            let shell = shell::user_shell(&|name| env.var_os(name)).path;
            vec![shell.to_string_lossy().into_owned(), "-lc".to_owned(), script]
        }
        Err(words) => words,
    }
}

/// An explanation with what it holds under.
struct Explained {
    argv: Vec<String>,
    approval_policy: ApprovalPolicy,
    sandbox_mode: &'static str,
    /// The refusal that comes before anything else, or the explanation.
    outcome: Result<Explanation, String>,
    /// The same for `exec`, which never asks.
    in_exec: Result<Explanation, String>,
    /// Rules that would match, but do not count.
    ignored: Vec<Rule>,
    /// Files of rules that were not read.
    unread: Vec<PathBuf>,
    unusable: Vec<String>,
}

impl Explained {
    fn new(start: &Start, policy: Policy, argv: Vec<String>, permissions: SandboxPermissions) -> Self {
        let config = &start.config;
        let parts = script::parts(&argv);
        let programs = programs(config, &start.env, &parts);
        let (approval_policy, sandbox) = (config.permissions.approval_policy, &config.permissions.sandbox_policy);
        let question = ApprovalQuestion {
            argv: &argv,
            parts: &parts,
            rules: &policy.rules,
            policy: approval_policy,
            sandbox,
            permissions,
            prefix_rule: None,
            grants: &Grants::default(),
            keys: &[],
            programs: &programs,
            platform: Platform::HERE,
        };
        let outcome = |policy| match escalation_refusal(policy, permissions) {
            Some(refusal) => Err(refusal),
            None => Ok(explain(&decide(&ApprovalQuestion { policy, ..question }), parts.split())),
        };
        let (outcome, in_exec) = (outcome(approval_policy), outcome(EXEC_POLICY));
        let ignored = policy.ignored.into_iter().filter(|rule| matches_any(rule, &parts)).collect();
        let sandbox_mode = config.permissions.sandbox_mode.as_str();
        let Policy { unread, unusable, .. } = policy;
        Self { argv, approval_policy, sandbox_mode, outcome, in_exec, ignored, unread, unusable }
    }

    /// What `exec` does with the command, if that differs from the answer for other clients.
    fn exec_text(&self) -> Option<String> {
        let (here, in_exec) = (&self.outcome, &self.in_exec);
        let is_same = outcome_word(here) == outcome_word(in_exec);
        (!is_same).then(|| match in_exec {
            Ok(Explanation { outcome, what, .. }) => {
                format!("in `pellucid exec`, which never asks: {outcome}: {what}\n")
            }
            Err(refusal) => format!("in `pellucid exec`, which never asks: reject: {refusal}\n"),
        })
    }

    fn json(&self) -> Value {
        let mut value = json!({
            "command": self.argv,
            "approval_policy": self.approval_policy,
            "sandbox_mode": self.sandbox_mode,
        });
        let explanation = match &self.outcome {
            Ok(explanation) => json!(explanation),
            Err(refusal) => json!({ "outcome": "reject", "what": refusal }),
        };
        let ignored: Vec<Value> = self
            .ignored
            .iter()
            .map(|rule| json!({ "place": rule.place.to_string(), "rule": rule.to_string(), "why": IGNORED_RULE }))
            .collect();
        if let (Value::Object(all), Value::Object(more)) = (&mut value, explanation) {
            all.extend(more);
            all.insert("in_exec".to_owned(), outcome_word(&self.in_exec).into());
            all.insert("ignored_rules".to_owned(), ignored.into());
            all.insert("unread_files".to_owned(), json!(self.unread));
            all.insert("unusable_rules".to_owned(), json!(self.unusable));
        }
        value
    }

    fn text(&self) -> String {
        let (command, policy, mode) = (joined(&self.argv), self.approval_policy, self.sandbox_mode);
        let command = name(&command);
        let mut text = format!("{command}\nunder approval policy {policy} and sandbox {mode}\n");
        match &self.outcome {
            Ok(explanation) => text += &explanation.to_string(),
            Err(refusal) => {
                let _ = writeln!(text, "reject: {refusal}");
            }
        }
        text += &self.exec_text().unwrap_or_default();
        for rule in &self.ignored {
            let _ = writeln!(text, "note: {}: {IGNORED_RULE}: {rule}", rule.place);
        }
        for file in &self.unread {
            let _ = writeln!(text, "note: {}: {UNREAD_RULES}", file.display());
        }
        for why in &self.unusable {
            let _ = writeln!(text, "note: {why}; {UNUSABLE_RULES}");
        }
        text
    }
}

fn outcome_word(outcome: &Result<Explanation, String>) -> &'static str {
    outcome.as_ref().map_or("reject", |explanation| explanation.outcome)
}

fn matches_any(rule: &Rule, parts: &CommandParts) -> bool {
    parts.iter().any(|part| rule.matched(&part.words).is_some())
}

/// Looks up the programs of a command, as a session in this folder would find them.
fn programs(config: &Config, env: &Env, parts: &CommandParts) -> Programs {
    let roots = match &config.permissions.sandbox_policy {
        SandboxPolicy::WorkspaceWrite { writable_roots, .. } => writable_roots.as_slice(),
        _ => &[],
    };
    let search_path = env.var_os("PATH");
    let shell = shell::user_shell(&|name| env.var_os(name)).path;
    let ground = ProgramSearch {
        cwd: &config.folders.cwd,
        search_path: search_path.as_deref(),
        writable: roots.iter().cloned().chain(env.var_os("TMPDIR").map(PathBuf::from)).collect(),
        shell: &shell,
    };
    programs::look_up(parts, &ground)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_word_is_a_script_and_several_are_a_command() {
        let env = Env::from_pairs([]);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let script = argv(words(&["ls && pwd"]), &env);
        assert_eq!(script[1..], words(&["-lc", "ls && pwd"]));
        assert_eq!(argv(words(&["ls", "-l"]), &env), words(&["ls", "-l"]));
    }
}
