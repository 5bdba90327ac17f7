//! Notes of a call while it runs: when, on which grounds, who was asked, in which sandbox, how it ended.
//!
//! The session keeps it beside its file. The notes of a call that is stopped or panics hold what was noted until then.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;

use pellucid_engine::approval::app;
use pellucid_engine::approval::grounds::CallGrounds;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::Permission;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::call_record::Answerer;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::call_record::ApprovalWord;
use pellucid_protocol::call_record::CallAnswer;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::call_record::HeldSandbox;

use crate::NoOutcome;
use crate::toolbox::locked;

/// Says what time it is, as records write it.
pub type Clock = fn() -> String;

/// The notes of a call. Clones are the same notes.
#[derive(Debug, Clone)]
pub struct CallNotes {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

/// The record of a call.
#[derive(Debug, Clone)]
pub struct NotedCall {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// When the call began: when it was its turn, or when it was made if that never came.
    pub began_at: String,
    /// When it ended: when it was stopped, for one that did not end by itself.
    pub ended_at: String,
    /// How the call ended.
    pub outcome: CallOutcome,
    /// Why the call was allowed or refused.
    pub grounds: CallGrounds,
    /// The questions for approval that it led to.
    pub answers: Vec<CallAnswer>,
    /// The processes that it ran, one entry for each attempt.
    pub runs: Vec<Ran>,
    /// The calls that it made.
    pub inner: Vec<CallNotes>,
}

/// The record of a call so far.
#[derive(Debug, Default)]
struct State {
    call_id: String,
    tool: String,
    began_at: String,
    end: Option<(String, CallOutcome)>,
    grounds: CallGrounds,
    answers: Vec<CallAnswer>,
    runs: Vec<Ran>,
    inner: Vec<CallNotes>,
    is_refused: bool,
    has_failed: bool,
}

/// An attempt to run something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The sandbox that confined the process.
    pub sandbox: HeldSandbox,
    /// The exit code of the process, if it is known.
    pub exit_code: Option<i32>,
    /// Whether the sandbox seems to have stopped the process.
    pub is_denied: bool,
}

impl CallNotes {
    /// For a call that is made now.
    pub fn new(call_id: &str, tool: &str, clock: Clock) -> Self {
        let (call_id, tool) = (call_id.to_owned(), tool.to_owned());
        let state = State { call_id, tool, began_at: clock(), ..State::default() };
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    /// The notes for a call that this call makes.
    pub(crate) fn inner(&self, call_id: &str, tool: &str) -> Self {
        let inner = Self::new(call_id, tool, self.clock);
        self.lock().inner.push(inner.clone());
        inner
    }

    /// Takes what was noted. A call without an end is stopped now.
    pub fn take(&self) -> NotedCall {
        let state = std::mem::take(&mut *self.lock());
        let (ended_at, outcome) = state.end.unwrap_or_else(|| ((self.clock)(), CallOutcome::Interrupted));
        NotedCall {
            call_id: state.call_id,
            tool: state.tool,
            began_at: state.began_at,
            ended_at,
            outcome,
            grounds: state.grounds,
            answers: state.answers,
            runs: state.runs,
            inner: state.inner,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// The call begins now. If it panics before its end is noted, that is its end.
    pub(crate) fn begin(&self) -> Begun<'_> {
        self.lock().began_at = (self.clock)();
        Begun(self)
    }

    /// The call ends now.
    pub(crate) fn end(&self, outcome: CallOutcome) {
        let ended_at = (self.clock)();
        self.lock().end = Some((ended_at, outcome));
    }

    /// Notes the grounds of the decision about the call.
    pub(crate) fn decided(&self, grounds: CallGrounds) {
        self.lock().grounds = grounds;
    }

    /// Notes that the call, or its next attempt, is refused.
    pub(crate) fn refused(&self) {
        self.lock().is_refused = true;
    }

    /// Notes that the call fails, although the model gets an answer of the usual form.
    pub(crate) fn failed(&self) {
        self.lock().has_failed = true;
    }

    /// Whether the call failed, as far as was noted.
    pub(crate) fn has_failed(&self) -> bool {
        self.lock().has_failed
    }

    /// Notes what became of a question for approval.
    pub(crate) fn asked(&self, to: ApprovalSubject, outcome: &AskOutcome) {
        let (by, answer) = match outcome {
            AskOutcome::Granted => (Answerer::SessionGrant, ApprovalWord::ApprovedForSession),
            AskOutcome::Unanswered => (Answerer::Nobody, ApprovalWord::Denied),
            AskOutcome::Answered(answer) => (Answerer::Client, word(answer)),
        };
        let mut state = self.lock();
        state.answers.push(CallAnswer { to, by, client: None, answer });
        state.is_refused |= outcome.permission() != Permission::Given;
    }

    /// Notes that something is about to run, confined like this.
    pub(crate) fn runs(&self, sandbox: HeldSandbox) {
        self.lock().runs.push(Ran { sandbox, exit_code: None, is_denied: false });
    }

    /// Notes how the last thing that ran ended.
    pub(crate) fn ran(&self, exit_code: i32) {
        if let Some(last) = self.lock().runs.last_mut() {
            last.exit_code = Some(exit_code);
        }
    }

    /// The grounds of the decision so far, a line each.
    pub(crate) fn explanation(&self) -> Vec<String> {
        self.lock().grounds.to_string().lines().map(str::to_owned).collect()
    }

    /// Notes that the sandbox stopped the last thing that ran.
    pub(crate) fn denied(&self) {
        if let Some(last) = self.lock().runs.last_mut() {
            last.is_denied = true;
        }
    }

    /// The sandbox of the last process.
    pub(crate) fn sandbox(&self) -> Option<HeldSandbox> {
        self.lock().runs.last().map(|ran| ran.sandbox.clone())
    }
}

/// The decision of a client as records write it.
fn word(answer: &ClientAnswer) -> ApprovalWord {
    let decision = match answer {
        ClientAnswer::Decision(decision) | ClientAnswer::DecisionWithoutTurn(decision) => decision,
        ClientAnswer::Answers(answers) => {
            return match app::Choice::of(answers) {
                Some(app::Choice::ApproveOnce) => ApprovalWord::Approved,
                Some(app::Choice::ApproveForSession) => ApprovalWord::ApprovedForSession,
                Some(app::Choice::Deny | app::Choice::Cancel) | None => ApprovalWord::Denied,
            };
        }
        ClientAnswer::DynamicTool(_) | ClientAnswer::Elicitation(_) => return ApprovalWord::Denied,
    };
    match decision {
        ReviewDecision::Approved => ApprovalWord::Approved,
        ReviewDecision::ApprovedForSession => ApprovalWord::ApprovedForSession,
        ReviewDecision::ApprovedExecpolicyAmendment { .. } => ApprovalWord::ApprovedWithRule,
        ReviewDecision::Abort => ApprovalWord::Abort,
        ReviewDecision::Denied => ApprovalWord::Denied,
    }
}

impl State {
    /// The outcome of a call, from its answer or the lack of one.
    fn outcome<T>(&self, ended: &Result<T, NoOutcome>) -> CallOutcome {
        let exit_code = self.runs.last().and_then(|ran| ran.exit_code);
        if self.is_refused {
            CallOutcome::Refused
        } else if self.has_failed || ended.is_err() || exit_code.is_some_and(|code| code != 0) {
            CallOutcome::Failed
        } else {
            CallOutcome::Done
        }
    }
}

/// A call that has begun.
pub(crate) struct Begun<'a>(&'a CallNotes);

impl Begun<'_> {
    /// The call ends with this.
    pub(crate) fn end<T>(&self, ended: &Result<T, NoOutcome>) {
        let outcome = self.0.lock().outcome(ended);
        self.0.end(outcome);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(CallOutcome::Panicked);
        }
    }
}
