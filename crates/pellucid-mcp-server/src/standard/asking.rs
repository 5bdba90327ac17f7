//! Questions as forms, and what a filled form means: values in, values out.

use pellucid_engine::command_line::joined;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use rmcp::model::ElicitRequestParams;
use rmcp::model::ElicitResult;
use rmcp::model::ElicitationAction as FormAction;
use serde_json::Value;
use serde_json::json;

use crate::question::CallQuestion;
use crate::question::CallReply;

const APPROVED: &str = "approved";
const APPROVED_FOR_SESSION: &str = "approved_for_session";
const APPROVED_PREFIX: &str = "approved_prefix";
const DENIED: &str = "denied";
const ABORT: &str = "abort";

/// How many files a question about a patch names.
const N_FILES: usize = 20;

/// The form for a question, if a form can ask it.
pub fn form(question: &CallQuestion) -> Option<ElicitRequestParams> {
    let (message, schema) = match question {
        CallQuestion::Command(request) => {
            let command = joined(&request.command);
            let mut message = format!("Allow `{command}` in `{}`?", request.cwd.display());
            for line in request.reason.iter().chain(&request.explanation) {
                message += &format!("\n{line}");
            }
            let prefix = request.proposed_execpolicy_amendment.as_deref();
            (message, decisions(prefix.map(joined)))
        }
        CallQuestion::Patch(request) => {
            let mut message = "Allow changes of these files?".to_owned();
            for path in request.changes.keys().take(N_FILES) {
                message += &format!("\n{}", path.display());
            }
            if let Some(n_more) = request.changes.len().checked_sub(N_FILES).filter(|n| *n > 0) {
                message += &format!("\nand {n_more} more");
            }
            for line in request.reason.iter().chain(&request.explanation) {
                message += &format!("\n{line}");
            }
            (message, decisions(None))
        }
        CallQuestion::Server(request) => {
            (format!("{}: {}", request.server_name, request.message), request.schema.clone())
        }
        CallQuestion::Input(_) | CallQuestion::Tool(_) => return None,
    };
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The form for a decision. Without a choice, accepting allows once.
fn decisions(prefix: Option<String>) -> Value {
    let mut choices =
        vec![(APPROVED, "allow once".to_owned()), (APPROVED_FOR_SESSION, "allow for this session".to_owned())];
    if let Some(prefix) = prefix {
        choices.push((APPROVED_PREFIX, format!("allow every command that begins with `{prefix}`")));
    }
    choices.extend([(DENIED, "deny, and go on".to_owned()), (ABORT, "deny, and end the turn".to_owned())]);
    let (words, names): (Vec<_>, Vec<_>) = choices.into_iter().unzip();
    json!({
        "type": "object",
        "properties": { "decision": { "type": "string", "title": "Decision", "enum": words, "enumNames": names } },
    })
}

/// What a filled form means.
pub fn reply(question: &CallQuestion, result: ElicitResult) -> CallReply {
    if let CallQuestion::Server(_) = question {
        let action = match result.action {
            FormAction::Accept => ElicitationAction::Accept,
            FormAction::Cancel => ElicitationAction::Cancel,
            _ => ElicitationAction::Decline,
        };
        let content = match action {
            ElicitationAction::Accept => Some(result.content.unwrap_or_else(|| json!({}))),
            ElicitationAction::Decline | ElicitationAction::Cancel => None,
        };
        return CallReply::Form(ElicitationAnswer { action, content });
    }
    CallReply::Decision(match result.action {
        FormAction::Accept => chosen(question, result.content.as_ref()),
        FormAction::Cancel => ReviewDecision::Abort,
        _ => ReviewDecision::Denied,
    })
}

fn chosen(question: &CallQuestion, content: Option<&Value>) -> ReviewDecision {
    let Some(word) = content.and_then(|content| content.get("decision")) else { return ReviewDecision::Approved };
    match (word.as_str(), question) {
        (Some(APPROVED), _) => ReviewDecision::Approved,
        (Some(APPROVED_FOR_SESSION), _) => ReviewDecision::ApprovedForSession,
        (Some(APPROVED_PREFIX), CallQuestion::Command(request)) => match &request.proposed_execpolicy_amendment {
            Some(prefix) => {
                ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: prefix.clone() }
            }
            None => ReviewDecision::Denied,
        },
        (Some(ABORT), _) => ReviewDecision::Abort,
        _ => ReviewDecision::Denied,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pellucid_protocol::approval::ExecApprovalRequest;
    use pellucid_protocol::id::TurnId;

    use super::*;

    fn question() -> CallQuestion {
        CallQuestion::Command(ExecApprovalRequest {
            call_id: "c".to_owned(),
            approval_id: None,
            turn_id: TurnId::new("t"),
            command: vec!["touch".to_owned(), "a b".to_owned()],
            cwd: "/w".into(),
            reason: Some("writes".to_owned()),
            network_approval_context: None,
            proposed_execpolicy_amendment: Some(vec!["touch".to_owned()]),
            parsed_cmd: Vec::new(),
            explanation: Vec::new(),
        })
    }

    #[test]
    fn a_command_is_asked_about_in_a_form() {
        let asked = serde_json::to_string(&form(&question()).unwrap()).unwrap();
        expect![[r#"{"mode":"form","message":"Allow `touch 'a b'` in `/w`?\nwrites","requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approved","approved_for_session","approved_prefix","denied","abort"],"enumNames":["allow once","allow for this session","allow every command that begins with `touch`","deny, and go on","deny, and end the turn"]}}}}"#]]
            .assert_eq(&asked);
    }

    #[test]
    fn every_standard_reply_has_a_meaning() {
        let said = |action, content: Value| {
            let mut result = ElicitResult::new(action);
            result.content = Some(content).filter(|it| !it.is_null());
            match reply(&question(), result) {
                CallReply::Decision(decision) => decision,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(said(FormAction::Accept, Value::Null), ReviewDecision::Approved);
        assert_eq!(said(FormAction::Accept, json!({})), ReviewDecision::Approved);
        assert_eq!(said(FormAction::Accept, json!({ "decision": "denied" })), ReviewDecision::Denied);
        assert_eq!(said(FormAction::Accept, json!({ "decision": 1 })), ReviewDecision::Denied);
        assert_eq!(
            said(FormAction::Accept, json!({ "decision": "approved_for_session" })),
            ReviewDecision::ApprovedForSession
        );
        let prefix =
            ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: vec!["touch".to_owned()] };
        assert_eq!(said(FormAction::Accept, json!({ "decision": "approved_prefix" })), prefix);
        assert_eq!(said(FormAction::Decline, Value::Null), ReviewDecision::Denied);
        assert_eq!(said(FormAction::Cancel, Value::Null), ReviewDecision::Abort);
    }
}
