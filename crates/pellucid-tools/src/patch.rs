//! Applying a patch: verified first, then asked about, then written, all of it or nothing.
//!
//! A patch is written by this process, which checks every path, links followed, against the folders that the sandbox
//! would let a command write, and holds the folders that it checked. The user approves the files that the paths led
//! to at that time.

use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pellucid_engine::approval::denial::RETRY_REASON;
use pellucid_engine::approval::grants::GrantKey;
use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::approval::patch::PatchGrounds;
use pellucid_engine::approval::patch::PatchQuestion;
use pellucid_engine::approval::patch::PatchRequirement;
use pellucid_engine::approval::patch::PlatformSandbox;
use pellucid_engine::approval::patch::WritableRoot;
use pellucid_engine::approval::patch::decide_patch;
use pellucid_engine::exec_output::EndedCommand;
use pellucid_exec::script;
use pellucid_exec::script::PatchIn;
use pellucid_patch::PatchApplyError;
use pellucid_patch::PatchFolder;
use pellucid_patch::Reader;
use pellucid_patch::VerifiedPatch;
use pellucid_patch::Writable;
use pellucid_patch::files::Disk;
use pellucid_patch::is_patch_text;
use pellucid_patch::parse;
use pellucid_patch::verify;
use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::call_record::HeldSandbox;
use pellucid_protocol::call_record::OutsideBecause;
use pellucid_protocol::change::Changes;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::change::PatchApplyBegin;
use pellucid_protocol::change::PatchApplyEnd;
use pellucid_protocol::change::PatchStatus;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::exec::OutputStream;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;

use crate::CallContext;
use crate::Failed;
use crate::blocking;
use crate::desk::FromTool;
use crate::desk::Notice;
use crate::held;
use crate::outside::Outside;
use crate::permit;
use crate::toolbox::PatchRoot;

/// Applies a patch and answers as a command would.
pub(crate) async fn apply(job: &CallContext, call_id: &str, body: &str, cwd: &Path) -> Result<ToolOutput, Failed> {
    let (verified, texts) = {
        let (body, cwd) = (body.to_owned(), cwd.to_owned());
        blocking(move || {
            let verified = check(&body, &cwd)?;
            let texts = verified.text_changes();
            Ok((verified, texts))
        })
        .await?
    };
    let roots = job.toolbox.patch_roots(&job.situation);
    let named: Vec<WritableRoot> = roots.iter().map(named).collect();
    let paths: Vec<PathBuf> = verified.paths().map(Path::to_owned).collect();
    let decision = decide_patch(&PatchQuestion {
        paths: &paths,
        policy: job.situation.approval_policy,
        sandbox: &job.situation.sandbox_policy,
        roots: &named,
        platform_sandbox: PlatformSandbox::Present,
    });
    job.notes.decided(CallGrounds::of_patch(&decision, job.situation.approval_policy));
    if let PatchRequirement::Reject(text) = decision.requirement {
        job.notes.refused();
        if decision.grounds == PatchGrounds::OutsideUnasked {
            permit::tell_refusal(job, call_id, FailureCode::Approval, text).await;
        }
        return Err(Failed::answered(text));
    }
    let changes = verified.changes();
    let is_auto = decision.requirement.is_auto_approved();
    job.toolbox.diff().begin(&verified);
    job.desk
        .tell(EventMessage::PatchApplyBegin(PatchApplyBegin {
            call_id: call_id.to_owned(),
            turn_id: job.situation.turn_id.clone(),
            auto_approved: is_auto,
            changes: changes.clone(),
        }))
        .await;
    let began = Instant::now();
    let targets = texts.iter().map(|it| it.target.clone()).collect();
    let patch = Patch { call_id, changes: &changes, targets };
    let outcome = write(job, &patch, verified, decision.requirement, roots).await;
    if let (Ok(_), Some(edits)) = (&outcome, job.toolbox.edits())
        && let Err(message) = edits.applied(job.situation.turn_id.as_str(), call_id, &texts)
    {
        job.desk.tell(EventMessage::Warning { message }).await;
    }
    match &outcome {
        Ok(summary) => patch.show(job, OutputStream::Stdout, summary).await,
        Err(Unwritten::Failed(text)) => patch.show(job, OutputStream::Stderr, text).await,
        // The refusal of the sandbox was shown when the user was asked.
        Err(Unwritten::Declined) => {}
    }
    let (stdout, stderr, status) = match &outcome {
        Ok(summary) => (summary.clone(), String::new(), PatchStatus::Completed),
        Err(Unwritten::Failed(text)) => (String::new(), text.clone(), PatchStatus::Failed),
        Err(Unwritten::Declined) => (String::new(), DECLINED.to_owned(), PatchStatus::Declined),
    };
    job.desk
        .tell(EventMessage::PatchApplyEnd(PatchApplyEnd {
            call_id: call_id.to_owned(),
            turn_id: job.situation.turn_id.clone(),
            success: status == PatchStatus::Completed,
            stdout,
            stderr,
            changes,
            status,
        }))
        .await;
    job.desk.say(FromTool::Diff).await;
    let ended = |exit_code, output: &str| {
        let ended = EndedCommand { exit_code, duration: began.elapsed(), output };
        ToolOutput::Text(ended.structured(job.situation.truncation))
    };
    match &outcome {
        Ok(summary) => Ok(ended(0, summary)),
        Err(Unwritten::Failed(text)) => Ok(ended(1, text)),
        Err(Unwritten::Declined) => Err(Failed::answered(DECLINED)),
    }
}

const DECLINED: &str = "patch rejected by user";

/// Why a patch was not written.
enum Unwritten {
    /// The output of a command that failed to do it, with its line end.
    Failed(String),
    Declined,
}

impl Unwritten {
    fn failed(error: &dyn std::fmt::Display) -> Self {
        Self::Failed(format!("{error}\n"))
    }
}

/// Reads the patch and computes what it would change.
fn check(body: &str, cwd: &Path) -> Result<VerifiedPatch, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::Answered(format!("apply_patch verification failed: {error}"));
    let patch = parse(body).map_err(|error| failed(&error))?;
    verify(&patch, cwd, &Disk, Reader::Model).map_err(|error| failed(&error))
}

/// A root under the name that the policy gives it, as which paths of a patch are looked at first.
fn named(root: &PatchRoot) -> WritableRoot {
    WritableRoot { root: root.name.clone(), protected: root.protected.clone(), git: root.git }
}

/// A patch that people see.
struct Patch<'a> {
    call_id: &'a str,
    changes: &'a Changes,
    /// The paths that it would have written when it was verified, with links followed.
    targets: Vec<PathBuf>,
}

impl Patch<'_> {
    /// Emits output while the patch is applied, as if a command printed it.
    async fn show(&self, job: &CallContext, stream: OutputStream, text: &str) {
        let (call_id, chunk) = (self.call_id.to_owned(), STANDARD.encode(text));
        job.desk.tell(EventMessage::ExecCommandOutputDelta { call_id, stream, chunk }).await;
    }

    /// The output of a command that the sandbox stopped from doing this.
    fn refused(&self, verified: &VerifiedPatch, error: &PatchApplyError) -> String {
        let PatchApplyError::Outside { path, .. } = error else {
            return format!("{error}\n");
        };
        let change = self.changes.get(&verified.written(path));
        let verb = if let Some(FileChange::Delete { .. }) = change { "delete" } else { "write" };
        format!("Failed to {verb} file {}\n", verified.in_patch(path).display())
    }
}

async fn write(
    job: &CallContext,
    patch: &Patch<'_>,
    verified: VerifiedPatch,
    requirement: PatchRequirement,
    roots: Vec<PatchRoot>,
) -> Result<String, Unwritten> {
    // The approval is for these files, and for none that a link leads to later.
    let keys: Vec<GrantKey> =
        patch.targets.iter().map(|path| GrantKey::File { path: path.to_string_lossy().into_owned() }).collect();
    let is_confined = match job.situation.sandbox_policy {
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. } => false,
        SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite { .. } => true,
    };
    let is_asked = matches!(requirement, PatchRequirement::Ask);
    let root = |it: PatchRoot| {
        let (path, identity) = (it.root.path, Some(it.root.identity));
        PatchFolder { path, identity, protected: it.protected, git: it.git }
    };
    let names = roots.iter().map(|it| it.root.path.to_string_lossy().into_owned()).collect();
    let mut sandbox = held::held(&job.situation.sandbox_policy, Some(held::OWN_CHECKS), names);
    let inside = Writable::In(roots.into_iter().map(root).collect());
    let mut outside = None;
    if !is_confined || verified.check_writable(&inside).is_err() {
        let paths = verified.paths().map(Path::to_owned).collect();
        let paused = Outside::of_patch(job, paths).await;
        outside = Some(paused.map_err(|error| {
            job.notes.failed();
            Unwritten::failed(&error)
        })?);
    }
    if is_asked {
        ask(job, patch, ApprovalSubject::Patch, None, keys.clone()).await?;
    }
    let mut writable = if is_confined { inside } else { Writable::Everywhere };
    if is_confined && let Err(error) = verified.check_writable(&writable) {
        // The user is asked about what the sandbox would refuse, unless it is approved already or no one can be
        // asked.
        if job.situation.approval_policy == ApprovalPolicy::Never {
            tracing::warn!(%error, "a patch is refused");
            job.notes.runs(sandbox);
            job.notes.denied();
            job.notes.failed();
            return Err(Unwritten::Failed(patch.refused(&verified, &error)));
        }
        if let PatchApplyError::Outside { .. } = &error {
            patch.show(job, OutputStream::Stderr, &patch.refused(&verified, &error)).await;
        }
        job.notes.runs(sandbox);
        job.notes.denied();
        if outside.is_none() {
            // The path was inside a moment ago, also for the user who was asked.
            job.notes.failed();
            return Err(Unwritten::failed(&error));
        }
        if !is_asked {
            ask(job, patch, ApprovalSubject::PatchRetry, Some(RETRY_REASON.to_owned()), keys).await?;
        }
        sandbox = HeldSandbox::outside(OutsideBecause::Retry);
        writable = Writable::Only(patch.targets.clone());
    } else if is_confined {
        // A patch inside of the sandbox changes nothing that commands could not change.
        outside = None;
    }
    job.notes.runs(sandbox);
    let written = blocking(move || {
        let summary = verified.summary().to_string();
        verified.apply(&writable).map_err(|error| Failed::Answered(error.to_string()))?;
        Ok(summary)
    });
    let written = written.await.map_err(|error| Unwritten::failed(&error));
    drop(outside);
    if written.is_err() {
        job.notes.failed();
    }
    written
}

async fn ask(
    job: &CallContext,
    patch: &Patch<'_>,
    subject: ApprovalSubject,
    reason: Option<String>,
    keys: Vec<GrantKey>,
) -> Result<(), Unwritten> {
    let call_id = patch.call_id;
    let event = EventMessage::ApplyPatchApprovalRequest(ApplyPatchApprovalRequest {
        call_id: call_id.to_owned(),
        turn_id: job.situation.turn_id.clone(),
        changes: patch.changes.clone(),
        reason,
        grant_root: None,
        explanation: job.notes.explanation(),
    });
    permit::approved(job, event, subject, call_id, keys).await.map_err(|_refused| Unwritten::Declined)
}

/// A command that is a patch: applies it, says so to the model, and answers. Absent for any other.
pub(crate) async fn intercept(
    job: &CallContext,
    tool: &str,
    call_id: &str,
    argv: &[String],
    cwd: &Path,
) -> Option<Result<ToolOutput, Failed>> {
    match script::patch_in(argv, is_patch_text)? {
        PatchIn::Bare => Some(Err(Failed::answered(
            "apply_patch verification failed: patch detected without explicit call to apply_patch. \
             Rerun as [\"apply_patch\", \"<patch>\"]",
        ))),
        PatchIn::Call(call) => {
            let cwd = call.cd.as_ref().map_or_else(|| cwd.to_owned(), |folder| cwd.join(folder));
            job.desk.say(FromTool::Notice(Notice::PatchThroughShell { tool: tool.to_owned() })).await;
            Some(apply(job, call_id, &call.body, &cwd).await)
        }
    }
}
