//! Whether a command may run, and where: rules, heuristics, people, the sandbox.
//!
//! The engine decides: `approval::decide` whether an approval is needed, the turn who is asked and what the answer means.
//! Commands that run within a call and those that are left running take the same way.

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::approval::Platform;
use pellucid_engine::approval::asked;
use pellucid_engine::approval::asked::AskedCommand;
use pellucid_engine::approval::decide;
use pellucid_engine::approval::decide::ApprovalQuestion;
use pellucid_engine::approval::decide::Attempt;
use pellucid_engine::approval::decide::Requirement;
use pellucid_engine::approval::denial;
use pellucid_engine::approval::denial::AfterDenial;
use pellucid_engine::approval::denial::Consent;
use pellucid_engine::approval::denial::Denied;
use pellucid_engine::approval::grants;
use pellucid_engine::approval::grants::GrantKey;
use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::approval::grounds::RefusedBecause;
use pellucid_engine::approval::part::CommandParts;
use pellucid_engine::approval::program::Programs;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_engine::turn::questions::Permission;
use pellucid_exec::process::Variables;
use pellucid_exec::programs;
use pellucid_exec::programs::ProgramSearch;
use pellucid_exec::quiet_git;
use pellucid_exec::sandbox::HELPER_FAILED;
use pellucid_exec::script;
use pellucid_exec::summary::summary;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::SandboxPermissions;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::call_record::OutsideBecause;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::failure::FailureCode;

use crate::CallContext;
use crate::held;
use crate::outside::Outside;
use crate::toolbox::Confined;

/// The rights that the model asks for, as its arguments say it.
///
/// Tools list these arguments themselves: read as a part of theirs, a mistake in one would be placed at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rights {
    pub sandbox_permissions: Option<SandboxPermissions>,
    pub justification: Option<String>,
    pub prefix_rule: Option<Vec<String>>,
}

impl Rights {
    pub(crate) fn permissions(&self) -> SandboxPermissions {
        self.sandbox_permissions.unwrap_or(SandboxPermissions::UseDefault)
    }
}

/// A command that may need an approval.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub call_id: &'a str,
    pub argv: &'a [String],
    pub cwd: &'a Path,
    pub rights: &'a Rights,
    /// Whether it has a terminal; absent for tools that give none.
    pub tty: Option<bool>,
}

/// Where a command may run.
#[derive(Debug)]
pub(crate) struct Permit {
    pub is_sandboxed: bool,
    consent: Consent,
    proposed_amendment: Option<Vec<String>>,
    /// Whether programs that a repository names are kept from running.
    is_git_quiet: bool,
    /// What holds while it runs, if it runs outside of the sandbox.
    outside: Option<Outside>,
    /// Why it runs outside of the sandbox that the settings ask for, if it does.
    because: Option<OutsideBecause>,
}

/// Why a command did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Rules, heuristics or settings say so, in these words.
    ByPolicy(String),
    /// The client refused, or did not answer.
    ByPerson,
}

/// The answer to a model that asks for rights which it may not ask for; absent if it may.
pub(crate) fn escalation_refusal(job: &CallContext, rights: &Rights) -> Option<String> {
    let policy = job.situation.approval_policy;
    let text = decide::escalation_refusal(policy, rights.permissions())?;
    let because = RefusedBecause::EscalationNotAllowed;
    job.notes.decided(CallGrounds::Refused { because, policy });
    job.notes.refused();
    Some(text)
}

/// Decides whether and where a command may run, and asks for an approval if it needs one.
pub(crate) async fn permit(job: &CallContext, request: &Request<'_>) -> Result<Permit, Refused> {
    let situation = &job.situation;
    let parts = script::parts(request.argv);
    let programs = programs(job, request, &parts);
    let keys = keys(request, &parts, &programs);
    let decision = {
        let (rules, grants) = (job.toolbox.rules(), job.toolbox.grants());
        decide::decide(&ApprovalQuestion {
            argv: request.argv,
            parts: &parts,
            rules: &rules,
            policy: situation.approval_policy,
            sandbox: &situation.sandbox_policy,
            permissions: request.rights.permissions(),
            prefix_rule: request.rights.prefix_rule.as_deref(),
            grants: &grants,
            keys: &keys,
            programs: &programs,
            platform: Platform::HERE,
        })
    };
    job.notes.decided(CallGrounds::of_command(&decision, parts.split(), situation.approval_policy));
    let is_sandboxed = decision.attempt == Attempt::Inside;
    let because = match decision.attempt {
        Attempt::Inside | Attempt::Outside(decide::Outside::NoSandbox) => None,
        Attempt::Outside(decide::Outside::Rule) => Some(OutsideBecause::Rule),
        Attempt::Outside(decide::Outside::Escalation) => Some(OutsideBecause::Escalation),
    };
    let explanation = match &decision.requirement {
        Requirement::Ask { proposed_amendment, .. } => asked::explanation(&AskedCommand {
            decision: &decision,
            split: parts.split(),
            sandbox: &situation.sandbox_policy,
            writable: &situation.writable_roots,
            justification: request.rights.justification.as_deref(),
            proposed: proposed_amendment.as_deref(),
        }),
        Requirement::Run { .. } | Requirement::Reject { .. } => Vec::new(),
    };
    let is_git_quiet = decision.guards_git();
    let lacks_approval = decision.lacks_approval();
    let (consent, question, proposed_amendment) = match decision.requirement {
        Requirement::Reject { text } => {
            if lacks_approval {
                tell_refusal(job, request.call_id, FailureCode::Approval, &text).await;
            }
            job.notes.refused();
            return Err(Refused::ByPolicy(text));
        }
        Requirement::Run { is_granted, proposed_amendment } => {
            let consent = if is_granted { Consent::Given } else { Consent::NotAsked };
            (consent, None, proposed_amendment)
        }
        Requirement::Ask { reason, proposed_amendment } => {
            let reason = reason.or_else(|| request.rights.justification.clone());
            (Consent::Given, Some(reason), proposed_amendment)
        }
    };
    let outside = if is_sandboxed { None } else { Some(outside(job, request, &parts).await?) };
    if let Some(reason) = question {
        let proposed = proposed_amendment.clone();
        let asked = Asked { subject: ApprovalSubject::Command, reason, proposed, explanation };
        ask(job, request, keys, asked).await?;
    }
    Ok(Permit { is_sandboxed, consent, proposed_amendment, is_git_quiet, outside, because })
}

/// Keeps what a command runs from being changed, from now on.
async fn outside(job: &CallContext, request: &Request<'_>, parts: &CommandParts) -> Result<Outside, Refused> {
    let outside = Outside::of_command(job, request.argv, parts, request.cwd).await;
    outside.map_err(|why| refused(job, why))
}

/// Whether a sandbox seems to have stopped a command, and if so, whether it may run without.
pub(crate) async fn after(
    job: &CallContext,
    request: &Request<'_>,
    permit: &Permit,
    exit_code: i32,
    outputs: &[&str],
) -> After {
    job.notes.ran(exit_code);
    let ended = denial::EndedAttempt { is_sandboxed: permit.is_sandboxed, exit_code, outputs };
    if permit.is_sandboxed
        && let Some(why) = helper_failure(exit_code, outputs)
    {
        tell_refusal(job, request.call_id, FailureCode::Sandbox, &why).await;
    }
    if denial::denial(&ended, Platform::HERE).is_none() {
        return After::NotDenied;
    }
    job.notes.denied();
    let after_denial = denial::after_denial(job.situation.approval_policy, Denied::Command, permit.consent);
    if after_denial == AfterDenial::Fail {
        return After::Denied;
    }
    let parts = script::parts(request.argv);
    let outside = match outside(job, request, &parts).await {
        Ok(outside) => outside,
        Err(refused) => return After::Refused(refused),
    };
    if after_denial == AfterDenial::Ask {
        let keys = keys(request, &parts, &programs(job, request, &parts));
        let reason = Some(denial::RETRY_REASON.to_owned());
        let (proposed, explanation) = (permit.proposed_amendment.clone(), job.notes.explanation());
        let asked = Asked { subject: ApprovalSubject::Retry, reason, proposed, explanation };
        if let Err(refused) = ask(job, request, keys, asked).await {
            return After::Refused(refused);
        }
    }
    After::Again(Permit {
        is_sandboxed: false,
        consent: Consent::Given,
        proposed_amendment: None,
        is_git_quiet: false,
        outside: Some(outside),
        because: Some(OutsideBecause::Retry),
    })
}

/// What the sandbox's own program says when it could not confine a command, which it then did not run.
fn helper_failure(exit_code: i32, outputs: &[&str]) -> Option<String> {
    const MARK: &str = "pellucid sandbox: ";
    let said = outputs.iter().find_map(|output| output.strip_prefix(MARK)).filter(|_| exit_code == HELPER_FAILED)?;
    said.lines().next().map(str::to_owned)
}

/// What follows an attempt.
#[derive(Debug)]
pub(crate) enum After {
    /// The sandbox did not stop it: its exit code is the result.
    NotDenied,
    /// The sandbox stopped it, and that is all.
    Denied,
    /// It runs again, outside of the sandbox.
    Again(Permit),
    /// It may not run again.
    Refused(Refused),
}

impl Permit {
    /// Whether what is to be run is still what was asked about. To be asked right before it is started.
    pub(crate) async fn check(&self, job: &CallContext) -> Result<(), Refused> {
        match &self.outside {
            Some(outside) => outside.check().await.map_err(|why| refused(job, why)),
            None => Ok(()),
        }
    }

    /// The command as it is started: behind the sandbox, if it runs in one. `env` becomes what it has to be given.
    pub(crate) async fn argv(
        &self,
        job: &CallContext,
        request: &Request<'_>,
        env: &mut Variables,
    ) -> Result<Vec<String>, Refused> {
        let argv = job.toolbox.with_login(request.argv, request.cwd, &job.situation, env);
        if self.is_git_quiet {
            quiet_git::quiet(env);
        }
        if !self.is_sandboxed {
            let policy = &job.situation.sandbox_policy;
            job.notes.runs(self.because.map_or_else(|| held::unconfined(policy), HeldSandbox::outside));
            return Ok(argv);
        }
        let confined = job.toolbox.confine(&argv, request.cwd, &job.situation);
        if let Err(why) = &confined {
            tell_refusal(job, request.call_id, FailureCode::Sandbox, why).await;
        }
        let Confined { argv, sandbox } = confined.map_err(|why| refused(job, why))?;
        job.notes.runs(sandbox);
        Ok(argv)
    }
}

/// Notes that the call is refused for this reason.
fn refused(job: &CallContext, why: String) -> Refused {
    job.notes.refused();
    Refused::ByPolicy(why)
}

/// Reports to clients that a call was not done, and why.
pub(crate) async fn tell_refusal(job: &CallContext, call_id: &str, code: FailureCode, why: &str) {
    let event = EventMessage::ContextRefusal { call_id: call_id.to_owned(), code, why: why.to_owned() };
    job.desk.tell(event).await;
}

/// Where the programs of a command lie.
fn programs(job: &CallContext, request: &Request<'_>, parts: &CommandParts) -> Programs {
    let situation = &job.situation;
    let temporary = situation.children.environment.get(OsStr::new("TMPDIR")).map(PathBuf::from);
    let writable = situation.writable_roots.iter().chain([&situation.cwd]).cloned().chain(temporary).collect();
    let search_path = job.toolbox.search_path(request.argv, situation);
    let ground = ProgramSearch {
        cwd: request.cwd,
        search_path: search_path.as_deref(),
        writable,
        shell: &situation.children.shell,
    };
    programs::look_up(parts, &ground)
}

fn keys(request: &Request<'_>, parts: &CommandParts, programs: &Programs) -> Vec<GrantKey> {
    vec![GrantKey::Command {
        command: grants::canonical(request.argv, parts, programs),
        cwd: request.cwd.to_string_lossy().into_owned(),
        permissions: request.rights.permissions(),
        tty: request.tty,
    }]
}

/// A question that a command leads to.
struct Asked {
    subject: ApprovalSubject,
    reason: Option<String>,
    proposed: Option<Vec<String>>,
    explanation: Vec<String>,
}

async fn ask(job: &CallContext, request: &Request<'_>, keys: Vec<GrantKey>, asked: Asked) -> Result<(), Refused> {
    let Asked { subject, reason, proposed, explanation } = asked;
    let event = EventMessage::ExecApprovalRequest(ExecApprovalRequest {
        call_id: request.call_id.to_owned(),
        approval_id: None,
        turn_id: job.situation.turn_id.clone(),
        command: request.argv.to_vec(),
        cwd: PathBuf::from(request.cwd),
        reason,
        network_approval_context: None,
        proposed_execpolicy_amendment: proposed,
        parsed_cmd: summary(request.argv),
        explanation,
    });
    approved(job, event, subject, request.call_id, keys).await
}

/// Asks for an approval. The turn decides whether the client is asked, and what follows from the answer.
pub(crate) async fn approved(
    job: &CallContext,
    event: EventMessage,
    subject: ApprovalSubject,
    call_id: &str,
    grants: Vec<GrantKey>,
) -> Result<(), Refused> {
    let question = ClientQuestion { key: AskKey::Approval(call_id.to_owned()), event: Box::new(event), grants };
    match job.desk.ask_for_approval(question, &job.notes, subject).await.permission() {
        Permission::Given => Ok(()),
        Permission::Refused => Err(Refused::ByPerson),
        // The session stops this call.
        Permission::TurnEnds => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::settings::ApprovalPolicy;

    use crate::bench::Bench;
    use crate::bench::function;

    /// Where there is no sandbox, reading commands run unasked only if they are the system's and start nothing.
    #[test]
    fn programs_count_by_where_they_lie() {
        let mut bench = Bench::new();
        bench.situation.approval_policy = ApprovalPolicy::Untrusted;
        std::fs::write(bench.path().join("ls"), "#!/bin/sh\n").unwrap();
        let is_asked = |command: &str| {
            let shown = bench.show(&function("shell", &format!(r#"{{"command":{command}}}"#)));
            shown.contains("exec_approval_request")
        };
        for command in [r#"["ls"]"#, r#"["/bin/ls"]"#, r#"["bash","-c","ls && cat ls"]"#] {
            assert!(!is_asked(command), "{command}");
        }
        for command in [r#"["./ls"]"#, r#"["bash","-c","./ls"]"#, r#"["./bash","-c","ls"]"#, r#"["git","status"]"#] {
            assert!(is_asked(command), "{command}");
        }
    }
}
