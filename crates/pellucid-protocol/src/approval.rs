//! Requests for approval of a command or a patch, and the possible answers.
//!
//! Not here: when approval is needed. The engine decides that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::change::FileChange;
use crate::id::TurnId;
use crate::parsed_command::ParsedCommand;
use crate::settings::word_enum;

word_enum! {
    /// The rights with which the model wants to run a command.
    SandboxPermissions {
        /// The command runs in the sandbox.
        UseDefault = "use_default",
        /// The command runs without the limits of the sandbox.
        RequireEscalated = "require_escalated",
    }
}

word_enum! {
    /// The decision of a rule or a heuristic about a command, from weak to strict.
    RuleDecision {
        /// The command runs without a question.
        Allow = "allow",
        /// The command needs approval.
        Prompt = "prompt",
        /// The command does not run.
        Forbidden = "forbidden",
    }
}

word_enum! {
    /// The protocol by which a command wanted to reach another machine.
    NetworkProtocol {
        /// HTTP without encryption.
        Http = "http",
        /// HTTP over TLS.
        Https = "https",
        /// A TCP connection through a SOCKS proxy.
        Socks5Tcp = "socks5_tcp",
        /// UDP datagrams through a SOCKS proxy.
        Socks5Udp = "socks5_udp",
    }
}

/// A person's answer to a request for approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Run the command this time.
    Approved,
    /// Run the command, and add its prefix to the rules as allowed.
    ApprovedExecpolicyAmendment {
        /// The prefix that is added to the rules.
        proposed_execpolicy_amendment: Vec<String>,
    },
    /// Run the command, and the same again in this session without asking.
    ApprovedForSession,
    /// Do not run the command; the turn continues. This is also the answer when no client answers.
    #[default]
    Denied,
    /// Do not run the command, and end the turn.
    Abort,
}

/// The host that a command could not reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkApprovalContext {
    /// The name or address of the host.
    pub host: String,
    /// The protocol by which the command wanted to reach the host.
    pub protocol: NetworkProtocol,
}

/// Asks whether a command may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecApprovalRequest {
    /// The id of the tool call that runs the command.
    pub call_id: String,
    /// Distinguishes several questions about one call; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The turn that waits for the answer.
    pub turn_id: TurnId,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder in which the command would run.
    pub cwd: PathBuf,
    /// Why approval is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The host that the command could not reach, if the question is about the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// The command prefix that could be added to the rules as allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    /// What the command probably does, for display.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// Why the question is asked and how far the answers reach, a line each. The format of the event has no such member.
    #[serde(skip)]
    pub explanation: Vec<String>,
}

/// Asks whether a patch may be applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchApprovalRequest {
    /// The id of the tool call that applies the patch.
    pub call_id: String,
    /// The turn that waits for the answer.
    pub turn_id: TurnId,
    /// The changes of the patch, by absolute path.
    pub changes: BTreeMap<PathBuf, FileChange>,
    /// Why approval is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The folder that would become writable for the rest of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<PathBuf>,
    /// Why the question is asked, a line each. The format of the event has no such member.
    #[serde(skip)]
    pub explanation: Vec<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde::de::DeserializeOwned;

    use super::*;

    #[track_caller]
    fn check_json<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, expected: &Expect) {
        let json = serde_json::to_string(value).unwrap();
        expected.assert_eq(&json);
        assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value);
    }

    #[test]
    fn answers() {
        check_json(&ReviewDecision::Approved, &expect![[r#""approved""#]]);
        check_json(&ReviewDecision::ApprovedForSession, &expect![[r#""approved_for_session""#]]);
        check_json(
            &ReviewDecision::ApprovedExecpolicyAmendment {
                proposed_execpolicy_amendment: vec!["touch".to_owned(), "a".to_owned()],
            },
            &expect![[r#"{"approved_execpolicy_amendment":{"proposed_execpolicy_amendment":["touch","a"]}}"#]],
        );
        check_json(&ReviewDecision::Denied, &expect![[r#""denied""#]]);
        check_json(&ReviewDecision::Abort, &expect![[r#""abort""#]]);
        assert_eq!(ReviewDecision::default(), ReviewDecision::Denied);
    }

    #[test]
    fn questions_leave_out_what_is_not_known() {
        let mut request = ExecApprovalRequest {
            call_id: "c".to_owned(),
            approval_id: None,
            turn_id: TurnId::new("t"),
            command: vec!["cat".to_owned(), "a".to_owned()],
            cwd: "/w".into(),
            reason: None,
            network_approval_context: None,
            proposed_execpolicy_amendment: None,
            parsed_cmd: vec![ParsedCommand::Unknown { cmd: "cat a".to_owned() }],
            explanation: Vec::new(),
        };
        check_json(
            &request,
            &expect![[
                r#"{"call_id":"c","turn_id":"t","command":["cat","a"],"cwd":"/w","parsed_cmd":[{"type":"unknown","cmd":"cat a"}]}"#
            ]],
        );
        request.reason = Some("why".to_owned());
        request.network_approval_context =
            Some(NetworkApprovalContext { host: "a.test".to_owned(), protocol: NetworkProtocol::Socks5Tcp });
        request.proposed_execpolicy_amendment = Some(vec!["cat".to_owned()]);
        check_json(
            &request,
            &expect![[
                r#"{"call_id":"c","turn_id":"t","command":["cat","a"],"cwd":"/w","reason":"why","network_approval_context":{"host":"a.test","protocol":"socks5_tcp"},"proposed_execpolicy_amendment":["cat"],"parsed_cmd":[{"type":"unknown","cmd":"cat a"}]}"#
            ]],
        );
        let change = FileChange::Add { content: "x\n".to_owned() };
        check_json(
            &ApplyPatchApprovalRequest {
                call_id: "c".to_owned(),
                turn_id: TurnId::new("t"),
                changes: BTreeMap::from([("/w/a".into(), change)]),
                reason: None,
                grant_root: None,
                explanation: Vec::new(),
            },
            &expect![[r#"{"call_id":"c","turn_id":"t","changes":{"/w/a":{"type":"add","content":"x\n"}}}"#]],
        );
    }
}
