//! What the request log keeps of a tool call: how it ended, how it was approved, and the sandbox in which it ran.
//!
//! Not here: the reasons of a decision, which are the engine's (`approval::grounds`).

use serde::Deserialize;
use serde::Serialize;

use crate::settings::word_enum;

word_enum! {
    /// How a call ended.
    CallOutcome {
        /// The call succeeded.
        Done = "done",
        /// The command, the server or the tool reported a failure.
        Failed = "failed",
        /// Rules, settings or a person refused the call, or its second attempt.
        Refused = "refused",
        /// The turn ended, or its request was retried, before the call ended.
        Interrupted = "interrupted",
        /// The tool panicked; the call is answered with an error.
        Panicked = "panicked",
    }
}

word_enum! {
    /// What answered a request for approval.
    Answerer {
        /// The session's client, for a person or a program.
        Client = "client",
        /// An earlier answer of the client, which allowed the same for the rest of the session.
        SessionGrant = "session_grant",
        /// Nothing: no client was connected, or the client gave no answer. The call is refused then.
        Nobody = "nobody",
    }
}

word_enum! {
    /// The subject of a request for approval.
    ApprovalSubject {
        /// Whether a command may run.
        Command = "command",
        /// Whether a command that the sandbox stopped may run again without it.
        Retry = "retry",
        /// Whether a patch may be applied.
        Patch = "patch",
        /// Whether a patch may be applied although the sandbox would stop it.
        PatchRetry = "patch_retry",
        /// Whether a tool of a connected app may be called.
        AppTool = "app_tool",
    }
}

word_enum! {
    /// The answer to a request for approval.
    ApprovalWord {
        /// The call may run this time.
        Approved = "approved",
        /// The call may run, and the same again for the rest of the session.
        ApprovedForSession = "approved_for_session",
        /// The call may run, and a rule that allows it was saved.
        ApprovedWithRule = "approved_with_rule",
        /// The call may not run.
        Denied = "denied",
        /// The call may not run, and the turn ends.
        Abort = "abort",
    }
}

/// A request for approval and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The subject of the request.
    pub to: ApprovalSubject,
    /// What answered the request.
    pub by: Answerer,
    /// The name of the client, if one answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The answer to the request.
    pub answer: ApprovalWord,
}

word_enum! {
    /// Why something ran outside of the sandbox that the settings ask for.
    OutsideBecause {
        /// Rules allow every part of the command.
        Rule = "rule",
        /// The model asked to leave the sandbox, and a person approved.
        Escalation = "escalation",
        /// The sandbox stopped the command, or would have, and a person approved running it outside.
        Retry = "retry",
        /// A person ran the command.
        Person = "person",
    }
}

/// The sandbox in which something ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSandbox {
    /// The mode, as settings name it; `none` for what ran outside of the sandbox that the settings ask for.
    pub mode: String,
    /// The mechanism of the sandbox; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The writable folders; absent if Pellucid did not limit writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_roots: Option<Vec<String>>,
    /// Whether the network could be reached.
    pub network: bool,
    /// Why there was no sandbox, if the settings ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideBecause>,
}

impl HeldSandbox {
    /// Describes something that ran outside of the sandbox.
    pub fn outside(because: OutsideBecause) -> Self {
        Self { mode: "none".to_owned(), backend: None, writable_roots: None, network: true, outside: Some(because) }
    }
}
