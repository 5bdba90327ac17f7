//! Questions about commands and patches as `elicitation/create` requests, and what replies mean: values in, values out.
//!
//! The reply has its own form, `{"decision": …}`; a reply of the standard form has no decision and therefore says no.

use pellucid_engine::command_line::joined;
use pellucid_protocol::approval::ReviewDecision;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use crate::question::CallQuestion;
use crate::question::CallReply;

/// Where a question comes from.
#[derive(Debug)]
pub struct QuestionPlace<'a> {
    pub session: &'a str,
    /// The id of the request that called the tool.
    pub request: &'a str,
    /// The id of the event that asks.
    pub event: &'a str,
}

/// The parameters of the request, if the question is one that this client is asked.
pub fn params(question: &CallQuestion, place: &QuestionPlace<'_>) -> Option<Value> {
    let (message, kind, call) = match question {
        CallQuestion::Command(request) => {
            let command = joined(&request.command);
            let message = format!("Allow Codex to run `{command}` in `{}`?", request.cwd.display());
            (message, "exec-approval", &request.call_id)
        }
        CallQuestion::Patch(request) => {
            let question = "Allow Codex to apply proposed code changes?".to_owned();
            let message = request.reason.iter().cloned().chain([question]).collect::<Vec<_>>().join("\n");
            (message, "patch-approval", &request.call_id)
        }
        CallQuestion::Server(_) | CallQuestion::Input(_) | CallQuestion::Tool(_) => return None,
    };
    let mut params = json!({
        "message": message,
        "requestedSchema": { "type": "object", "properties": {} },
        "threadId": place.session,
        "codex_elicitation": kind,
        "codex_mcp_tool_call_id": place.request,
        "codex_event_id": place.event,
        "codex_call_id": call,
    });
    match question {
        CallQuestion::Command(request) => {
            params["codex_command"] = json!(request.command);
            params["codex_cwd"] = json!(request.cwd);
            params["codex_parsed_cmd"] = json!(request.parsed_cmd);
        }
        CallQuestion::Patch(request) => {
            if let Some(reason) = &request.reason {
                params["codex_reason"] = json!(reason);
            }
            if let Some(root) = &request.grant_root {
                params["codex_grant_root"] = json!(root);
            }
            params["codex_changes"] = json!(request.changes);
        }
        CallQuestion::Server(_) | CallQuestion::Input(_) | CallQuestion::Tool(_) => {}
    }
    Some(params)
}

/// What a reply means. An error and a reply without a decision mean no.
pub fn reply(result: Option<&Value>) -> CallReply {
    #[derive(Deserialize)]
    struct Decided {
        decision: ReviewDecision,
    }
    let decided = result.and_then(|result| Decided::deserialize(result).ok());
    CallReply::Decision(decided.map_or(ReviewDecision::Denied, |it| it.decision))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use expect_test::expect;
    use pellucid_protocol::approval::ApplyPatchApprovalRequest;
    use pellucid_protocol::change::FileChange;
    use pellucid_protocol::id::TurnId;

    use super::*;

    #[test]
    fn a_patch_is_asked_about_with_its_reason_first() {
        let change = FileChange::Add { content: "x\n".to_owned() };
        let question = CallQuestion::Patch(ApplyPatchApprovalRequest {
            call_id: "c".to_owned(),
            turn_id: TurnId::new("t"),
            changes: BTreeMap::from([("/w/a".into(), change)]),
            reason: Some("outside".to_owned()),
            grant_root: Some("/w".into()),
            explanation: Vec::new(),
        });
        let params = params(&question, &QuestionPlace { session: "s", request: "1", event: "e" }).unwrap();
        expect![[r#"{"message":"outside\nAllow Codex to apply proposed code changes?","requestedSchema":{"type":"object","properties":{}},"threadId":"s","codex_elicitation":"patch-approval","codex_mcp_tool_call_id":"1","codex_event_id":"e","codex_call_id":"c","codex_reason":"outside","codex_grant_root":"/w","codex_changes":{"/w/a":{"type":"add","content":"x\n"}}}"#]]
            .assert_eq(&params.to_string());
    }

    #[test]
    fn only_a_decision_says_yes() {
        let said = |value: Value| match reply(Some(&value)) {
            CallReply::Decision(decision) => decision,
            other => panic!("{other:?}"),
        };
        assert_eq!(said(json!({ "decision": "approved" })), ReviewDecision::Approved);
        assert_eq!(said(json!({ "decision": "abort" })), ReviewDecision::Abort);
        let prefix = json!({ "approved_execpolicy_amendment": { "proposed_execpolicy_amendment": ["touch"] } });
        let amended =
            ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: vec!["touch".to_owned()] };
        assert_eq!(said(json!({ "decision": prefix })), amended);
        assert_eq!(said(json!({ "action": "accept", "content": { "decision": "approved" } })), ReviewDecision::Denied);
        assert_eq!(said(json!({ "decision": "yes" })), ReviewDecision::Denied);
        assert_eq!(reply(None), CallReply::Decision(ReviewDecision::Denied));
    }
}
