//! `execpolicy check`: which rules of some files a command matches.

use std::process::ExitCode;

use pellucid_engine::approval::rules::Rule;
use pellucid_protocol::approval::RuleDecision;
use pellucid_rules::PolicyError;
use serde::Serialize;

use crate::args::approvals::ExecpolicyArgs;
use crate::args::approvals::ExecpolicyCheckArgs;
use crate::args::approvals::ExecpolicyCommand;
use crate::print;
use crate::start::ProgramFailure;

/// The JSON that `execpolicy check` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    matched_rules: Vec<Matched<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<RuleDecision>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Matched<'a> {
    #[serde(rename_all = "camelCase")]
    PrefixRuleMatch {
        matched_prefix: &'a [String],
        decision: RuleDecision,
        #[serde(skip_serializing_if = "Option::is_none")]
        justification: Option<&'a str>,
    },
}

pub fn run(args: ExecpolicyArgs) -> Result<ExitCode, ProgramFailure> {
    let ExecpolicyCommand::Check(args) = args.command;
    let text = check(&args)?;
    print::json(format!("{text}\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &ExecpolicyCheckArgs) -> Result<String, ProgramFailure> {
    let policy = pellucid_rules::load_files(&args.rules).map_err(|error| failure(&error))?;
    let rules: Vec<&Rule> = policy.rules.matching(&args.command).collect();
    let checked = Checked {
        matched_rules: rules.iter().map(|rule| matched(rule, &args.command)).collect(),
        decision: rules.iter().map(|rule| rule.decision).max(),
    };
    let text = if args.pretty { serde_json::to_string_pretty(&checked) } else { serde_json::to_string(&checked) };
    text.map_err(|error| ProgramFailure::new(format!("{error}")))
}

fn matched<'a>(rule: &'a Rule, command: &'a [String]) -> Matched<'a> {
    Matched::PrefixRuleMatch {
        matched_prefix: rule.matched(command).unwrap_or_default(),
        decision: rule.decision,
        justification: rule.justification.as_deref(),
    }
}

/// The failed step, then its cause.
fn failure(error: &PolicyError) -> ProgramFailure {
    let (what, cause) = match error {
        PolicyError::File { path, source } => (format!("could not read {}", path.display()), source.to_string()),
        PolicyError::Fault { path, fault } => (format!("could not parse {}", path.display()), fault.detail.clone()),
        error => return ProgramFailure::new(format!("{error}")),
    };
    ProgramFailure::new(format!("{what}\n  caused by: {}", cause.trim_end().replace('\n', "\n    ")))
}
