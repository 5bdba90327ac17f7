//! Asking a person: what is asked before a command or a patch, and what may be answered.
//!
//! Not here: when somebody is asked. The engine decides that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::change::FileChange;
use crate::id::TurnId;
use crate::parsed_command::ParsedCommand;
use crate::settings::word_enum;

word_enum! {
    /// Which rights the model asks for.
    SandboxPermissions {
        /// Those of the sandbox.
        UseDefault = "use_default",
        /// None of its limits.
        RequireEscalated = "require_escalated",
    }
}

word_enum! {
    /// What a rule or a heuristic says of a command, from weak to strict.
    RuleDecision {
        /// It runs.
        Allow = "allow",
        /// Somebody is asked.
        Prompt = "prompt",
        /// It does not run.
        Forbidden = "forbidden",
    }
}

word_enum! {
    /// How a command wanted to reach another machine.
    NetworkProtocol {
        /// Plain HTTP.
        Http = "http",
        /// HTTP in TLS.
        Https = "https",
        /// SOCKS for streams.
        Socks5Tcp = "socks5_tcp",
        /// SOCKS for datagrams.
        Socks5Udp = "socks5_udp",
    }
}

/// What a person answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Run it.
    Approved,
    /// Run it, and commands like it are saved as allowed.
    ApprovedExecpolicyAmendment {
        /// The prefix that is saved.
        proposed_execpolicy_amendment: Vec<String>,
    },
    /// Run it, and do not ask again for the same in this session.
    ApprovedForSession,
    /// Do not run it; the turn goes on. This is also meant when nobody answers.
    #[default]
    Denied,
    /// Do not run it, and end the turn.
    Abort,
}

/// The host that a command was kept from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkApprovalContext {
    /// The host.
    pub host: String,
    /// How it was to be reached.
    pub protocol: NetworkProtocol,
}

/// May this command run?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecApprovalRequest {
    /// The call it belongs to.
    pub call_id: String,
    /// Which of several questions of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// In which turn.
    pub turn_id: TurnId,
    /// The command.
    pub command: Vec<String>,
    /// Where it would run.
    pub cwd: PathBuf,
    /// Why somebody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The host that it was kept from, if that is the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// The prefix that could be saved as allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    /// What the command seems to do, for display.
    pub parsed_cmd: Vec<ParsedCommand>,
}

/// May this patch be applied?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplyPatchApprovalRequest {
    /// The call it belongs to.
    pub call_id: String,
    /// In which turn.
    pub turn_id: TurnId,
    /// What would change, by absolute path.
    pub changes: BTreeMap<PathBuf, FileChange>,
    /// Why somebody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The folder that would be opened for writing for the rest of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<PathBuf>,
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
            },
            &expect![[r#"{"call_id":"c","turn_id":"t","changes":{"/w/a":{"type":"add","content":"x\n"}}}"#]],
        );
    }
}
