//! What records keep of a call of a tool: how it ended, who was asked, and what confined it.
//!
//! Not here: the grounds of a decision, which are the engine's (`approval::grounds`).

use serde::Deserialize;
use serde::Serialize;

use crate::settings::word_enum;

word_enum! {
    /// How a call ended.
    CallOutcome {
        /// The call did what it was called for.
        Done = "done",
        /// The call did not: its command, its server or the tool reported a failure.
        Failed = "failed",
        /// Rules, settings or a person refused the call, or its second attempt.
        Refused = "refused",
        /// The turn ended, or its reply was asked for again, before the call did.
        Interrupted = "interrupted",
        /// The tool panicked.
        Panicked = "panicked",
    }
}

word_enum! {
    /// Who answered a question for approval.
    Answerer {
        /// The client that the session was asked through.
        Client = "client",
        /// Nobody: the client that was asked allowed the same earlier, for the rest of the session.
        SessionGrant = "session_grant",
        /// Nobody: no client listened, or the client gave no answer. The call is refused then.
        Nobody = "nobody",
    }
}

word_enum! {
    /// What was asked about.
    ApprovalSubject {
        /// Whether a command may run.
        Command = "command",
        /// Whether a command that the sandbox stopped may run again without it.
        Retry = "retry",
        /// Whether a patch may be applied.
        Patch = "patch",
        /// Whether a patch may be applied although the sandbox would stop it.
        PatchRetry = "patch_retry",
    }
}

word_enum! {
    /// What was answered to a question for approval.
    ApprovalWord {
        /// Yes, this once.
        Approved = "approved",
        /// Yes, for the rest of the session.
        ApprovedForSession = "approved_for_session",
        /// Yes, and a rule that allows it was saved.
        ApprovedWithRule = "approved_with_rule",
        /// The call may not run.
        Denied = "denied",
        /// No, and the turn ends.
        Abort = "abort",
    }
}

/// A question for approval, answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// What was asked about.
    pub to: ApprovalSubject,
    /// Who answered the question.
    pub by: Answerer,
    /// The name of the client, if one answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The answer to the question.
    pub answer: ApprovalWord,
}

word_enum! {
    /// Why something ran outside of the sandbox that the settings ask for.
    OutsideBecause {
        /// Rules allow every part of the command.
        Rule = "rule",
        /// The model asked for it, and that was approved.
        Escalation = "escalation",
        /// The sandbox stopped it, or would have, and running it without was approved.
        Retry = "retry",
        /// A person ran it.
        Person = "person",
    }
}

/// What confined something while it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSandbox {
    /// The mode, by the name that settings give it; `none` for what ran outside of the sandbox that they ask for.
    pub mode: String,
    /// The mechanism; absent where nothing confined it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The folders that could be written; absent where nothing of ours limited that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_roots: Option<Vec<String>>,
    /// Whether the network could be reached.
    pub network: bool,
    /// Why there was no sandbox, if settings ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideBecause>,
}

impl HeldSandbox {
    /// What runs outside of the sandbox.
    pub fn outside(because: OutsideBecause) -> Self {
        Self { mode: "none".to_owned(), backend: None, writable_roots: None, network: true, outside: Some(because) }
    }
}
