//! `context check`: whether the request of today is as locked.

use std::process::ExitCode;

use pellucid_answers::diff::RequestDiff;
use pellucid_answers::lock::ContextLock;
use pellucid_answers::lock::FindingKind;
use pellucid_answers::lock::FindingLevel;
use pellucid_answers::lock::LOCK_FILE;
use pellucid_answers::lock::LockError;
use pellucid_answers::lock::LockFinding;
use pellucid_answers::lock::LockVerdict;
use pellucid_answers::lock::compare;
use pellucid_answers::lock::without_commands;

use super::diff;
use super::lock::LockedProject;
use super::lock::choices_now;
use super::lock::no_lock;
use crate::args::lock::CheckForm;
use crate::args::lock::ContextCheckArgs;
use crate::args::lock::LockMcp;
use crate::args::shared::Shared;
use crate::print;
use crate::request::RequestRefusal;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::style;
use crate::style::Paint;

pub fn run(shared: &Shared, args: &ContextCheckArgs) -> Result<ExitCode, ProgramFailure> {
    match check(shared, args) {
        Ok(status) => Ok(ExitCode::from(status)),
        Err(refusal) => Ok(refusal.show()),
    }
}

/// Checks the project. Gives the status to end with.
fn check(shared: &Shared, args: &ContextCheckArgs) -> Result<u8, RequestRefusal> {
    let project = LockedProject::find(shared, &args.turn.start)?;
    let Some(text) = project.read()? else {
        return Err(no_lock(&project));
    };
    let form = if args.json { CheckForm::Json } else { args.format };
    let (lock, policy) = match ContextLock::parse(&text) {
        Ok(read) => read,
        Err(error) => {
            let status = if matches!(error, LockError::Later(_)) { 3 } else { 1 };
            show(&unusable(&error, &text), form, "")?;
            return Ok(status);
        }
    };
    let choices = choices_now(&lock.choices, args.tools.mcp == LockMcp::Connect)?;
    let now = project.made(shared, &args.turn, &choices)?;
    let verdict = compare(&lock, &policy, &now, &text);
    let explained = match args.explain {
        true => {
            let (a, b) = (lock.to_inspected("lock"), now.lock.to_inspected("now"));
            format!("\n{}", diff::sizes_text(&RequestDiff::of(&a, &b), Paint::out()))
        }
        false => String::new(),
    };
    show(&verdict, form, &explained)?;
    if args.update {
        let text = project.write(&now, &policy)?;
        style::note("context.lock is rewritten, and now has the request of today");
        // What the policy refuses whether it is new or not.
        let left = compare(&now.lock, &policy, &now, &text);
        if !left.is_passed() {
            let errors = match left.count(FindingLevel::Error) {
                1 => "1 error stays".to_owned(),
                n => format!("{n} errors stay"),
            };
            style::note(&format!("{errors}: the policy of the lock refuses this in every request"));
        }
        return Ok(u8::from(!left.is_passed()));
    }
    Ok(u8::from(!verdict.is_passed()))
}

fn show(verdict: &LockVerdict, form: CheckForm, behind: &str) -> Result<(), ProgramFailure> {
    match form {
        CheckForm::Text => print::out(&(verdict.to_text() + behind)),
        CheckForm::Json => print::either(&format!("{}\n", verdict.to_json()), OutputFormat::Json),
        CheckForm::Github => print::out(&(verdict.to_github() + &without_commands(&(verdict.to_text() + behind)))),
    }
}

/// The finding about a lock file that cannot be used.
fn unusable(error: &LockError, text: &str) -> LockVerdict {
    let line = match error {
        LockError::Later(_) => text.lines().position(|line| line.trim_start().starts_with("format")).map(|n| n + 1),
        LockError::Malformed { line, .. } => *line,
    };
    LockVerdict {
        findings: vec![LockFinding {
            kind: FindingKind::LockFormat,
            level: FindingLevel::Error,
            source: LOCK_FILE.to_owned(),
            line,
            bytes: text.len() as u64,
            tokens: 0,
            message: error.to_string(),
            shown_at: (LOCK_FILE.to_owned(), line),
        }],
    }
}
