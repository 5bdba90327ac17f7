//! Questions for the client, and what its answers mean: values in, values out.
//!
//! A question about a call is a permission request. What the model or an MCP server wants to know is a form where the client
//! has forms; a single choice is a permission request elsewhere, and everything else is declined.

use std::path::Path;

use agent_client_protocol::v1::schema::CreateElicitationRequest;
use agent_client_protocol::v1::schema::CreateElicitationResponse;
use agent_client_protocol::v1::schema::ElicitationAction as FormAction;
use agent_client_protocol::v1::schema::ElicitationFormMode;
use agent_client_protocol::v1::schema::ElicitationMode;
use agent_client_protocol::v1::schema::ElicitationSchema;
use agent_client_protocol::v1::schema::ElicitationSessionScope;
use agent_client_protocol::v1::schema::ElicitationUrlMode;
use agent_client_protocol::v1::schema::EnumOption;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::PermissionOption;
use agent_client_protocol::v1::schema::PermissionOptionKind;
use agent_client_protocol::v1::schema::RequestPermissionOutcome;
use agent_client_protocol::v1::schema::RequestPermissionRequest;
use agent_client_protocol::v1::schema::RequestPermissionResponse;
use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::v1::schema::StringPropertySchema;
use agent_client_protocol::v1::schema::ToolCall;
use agent_client_protocol::v1::schema::ToolCallContent;
use agent_client_protocol::v1::schema::ToolCallStatus;
use agent_client_protocol::v1::schema::ToolCallUpdate;
use agent_client_protocol::v1::schema::ToolCallUpdateFields;
use agent_client_protocol::v1::schema::ToolKind;
use pellucid_engine::approval::app;
use pellucid_engine::command_line::joined;
use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool::DynamicContent;
use pellucid_protocol::dynamic_tool::DynamicToolCall;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswer;
use pellucid_protocol::question::UserAnswers;
use pellucid_protocol::question::UserQuestion;
use serde_json::Value;

use crate::view::cut;
use crate::view::title;

/// How many bytes of a command the name of an option has.
const NAME_BYTES: usize = 80;

const ALLOW: &str = "allow";
const ALLOW_SESSION: &str = "allow-session";
const ALLOW_RULE: &str = "allow-rule";
const REJECT: &str = "reject";
const REJECT_AND_STOP: &str = "reject-stop";
const CHOICE: &str = "choice-";
const NO_CHOICE: &str = "no-choice";

/// The key of a form's field for an answer that is not among the choices.
const OTHER: &str = "_other";

/// A question of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionQuestion {
    /// Whether a command may run.
    Command(ToolCall, ExecApprovalRequest),
    /// Whether a patch may be applied.
    Patch(ToolCall, ApplyPatchApprovalRequest),
    /// What the model wants to know.
    Input(RequestUserInput),
    /// What an MCP server wants to know.
    Server(ElicitationRequest),
    /// A call of a tool of another client.
    Tool(DynamicToolCall),
}

/// A question in the words of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientQuestion {
    /// The question is sent as `session/request_permission`.
    Permission(RequestPermissionRequest),
    /// The question is sent as `elicitation/create`.
    Form(CreateElicitationRequest),
    /// The client cannot answer, so it is not asked.
    Nothing,
}

/// What a client can answer.
#[derive(Debug, Clone, Copy)]
pub struct Askable<'a> {
    /// The session that asks.
    pub session: &'a str,
    /// Whether the client shows forms.
    pub has_forms: bool,
    /// The file to which rules are added.
    pub rules: &'a Path,
}

impl SessionQuestion {
    /// The question as it is sent.
    pub fn asked(&self, askable: Askable<'_>) -> ClientQuestion {
        match self {
            Self::Command(call, request) => {
                let options = command_options(request, askable.rules);
                permission(askable.session, call, &request.explanation, request.reason.as_deref(), options)
            }
            Self::Patch(call, request) => {
                let all = match &request.grant_root {
                    Some(root) => format!("Allow changes below {} for this session", root.display()),
                    None => "Allow changes of these files for this session".to_owned(),
                };
                let options = vec![allow_once(), option(ALLOW_SESSION, &all, PermissionOptionKind::AllowAlways)];
                let options = options.into_iter().chain(rejections()).collect();
                permission(askable.session, call, &request.explanation, request.reason.as_deref(), options)
            }
            Self::Input(request) if askable.has_forms && app::Choice::all_of(request).is_none() => {
                form(askable.session, request)
            }
            Self::Input(request) => choice(askable.session, request),
            Self::Server(request) => server_form(askable, request),
            Self::Tool(_) => ClientQuestion::Nothing,
        }
    }

    /// The decision about a call, if the question is about one.
    pub fn decision(&self, outcome: Option<&Result<Value, Error>>) -> Option<(&str, ReviewDecision)> {
        match self {
            Self::Command(_, request) => Some((&request.call_id, decision(outcome, request))),
            Self::Patch(_, request) => Some((&request.call_id, plain_decision(selected(outcome).as_ref()))),
            Self::Input(_) | Self::Server(_) | Self::Tool(_) => None,
        }
    }

    /// What the answer means for the session. An error, a client that is gone, and no answer mean no.
    pub fn operation(&self, outcome: Option<&Result<Value, Error>>) -> Operation {
        match self {
            Self::Command(_, request) => Operation::ExecApproval {
                id: request.approval_id.clone().unwrap_or_else(|| request.call_id.clone()),
                turn_id: Some(request.turn_id.clone()),
                decision: decision(outcome, request),
            },
            Self::Patch(_, request) => Operation::PatchApproval {
                id: request.call_id.clone(),
                decision: plain_decision(selected(outcome).as_ref()),
            },
            Self::Input(request) => {
                Operation::UserInputAnswer { id: request.turn_id.clone(), response: answers(request, outcome) }
            }
            Self::Server(request) => {
                let (decision, content) = server_answer(outcome);
                Operation::ResolveElicitation {
                    server_name: request.server_name.clone(),
                    request_id: request.id.clone(),
                    decision,
                    content,
                }
            }
            Self::Tool(call) => {
                let text = format!("the tool {} belongs to another client", call.tool);
                let content_items = vec![DynamicContent::InputText { text }];
                let response = DynamicToolResponse { content_items, success: false };
                Operation::DynamicToolResponse { id: call.call_id.clone(), response }
            }
        }
    }
}

fn option(id: &str, name: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption::new(id.to_owned(), name.to_owned(), kind)
}

fn allow_once() -> PermissionOption {
    option(ALLOW, "Allow", PermissionOptionKind::AllowOnce)
}

fn rejections() -> [PermissionOption; 2] {
    [
        option(REJECT, "Reject", PermissionOptionKind::RejectOnce),
        option(REJECT_AND_STOP, "Reject and stop", PermissionOptionKind::RejectOnce),
    ]
}

fn command_options(request: &ExecApprovalRequest, rules: &Path) -> Vec<PermissionOption> {
    let session = format!("Allow `{}` for this session", cut(&title(&request.command), NAME_BYTES));
    let mut options = vec![allow_once(), option(ALLOW_SESSION, &session, PermissionOptionKind::AllowAlways)];
    if let Some(prefix) = &request.proposed_execpolicy_amendment {
        let prefix = cut(&joined(prefix), NAME_BYTES);
        let name = format!("Always allow commands that begin with `{prefix}` (rule in {})", rules.display());
        options.push(option(ALLOW_RULE, &name, PermissionOptionKind::AllowAlways));
    }
    options.extend(rejections());
    options
}

fn permission(
    session: &str,
    call: &ToolCall,
    explanation: &[String],
    reason: Option<&str>,
    options: Vec<PermissionOption>,
) -> ClientQuestion {
    let mut call = call.clone();
    let why: Vec<&str> = reason.into_iter().chain(explanation.iter().map(String::as_str)).collect();
    if !why.is_empty() {
        call.content.insert(0, ToolCallContent::from(why.join("\n")));
    }
    let call = ToolCallUpdate::from(call.status(ToolCallStatus::Pending));
    ClientQuestion::Permission(RequestPermissionRequest::new(SessionId::new(session), call, options))
}

/// The option that was chosen; an error if the client cancelled the question, or could not answer.
fn selected(outcome: Option<&Result<Value, Error>>) -> Result<String, NoChoice> {
    let response = outcome.and_then(|outcome| outcome.as_ref().ok());
    let response = response.and_then(|it| serde_json::from_value::<RequestPermissionResponse>(it.clone()).ok());
    match response.map(|response| response.outcome) {
        Some(RequestPermissionOutcome::Selected(selected)) => Ok(selected.option_id.to_string()),
        Some(RequestPermissionOutcome::Cancelled) => Err(NoChoice::Cancelled),
        Some(_) | None => Err(NoChoice::Failed),
    }
}

/// Why no option was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoChoice {
    /// The client cancelled the turn.
    Cancelled,
    /// The client could not answer, or is gone.
    Failed,
}

fn decision(outcome: Option<&Result<Value, Error>>, request: &ExecApprovalRequest) -> ReviewDecision {
    let selected = selected(outcome);
    match (&selected, &request.proposed_execpolicy_amendment) {
        (Ok(id), Some(prefix)) if id == ALLOW_RULE => {
            ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: prefix.clone() }
        }
        _ => plain_decision(selected.as_ref()),
    }
}

fn plain_decision(selected: Result<&String, &NoChoice>) -> ReviewDecision {
    match selected.map(String::as_str) {
        Ok(ALLOW) => ReviewDecision::Approved,
        Ok(ALLOW_SESSION) => ReviewDecision::ApprovedForSession,
        Ok(REJECT_AND_STOP) | Err(NoChoice::Cancelled) => ReviewDecision::Abort,
        Ok(_) | Err(NoChoice::Failed) => ReviewDecision::Denied,
    }
}

/// A form with a field for each question.
fn form(session: &str, request: &RequestUserInput) -> ClientQuestion {
    let mut schema = ElicitationSchema::new();
    for question in &request.questions {
        let field = StringPropertySchema::new().title(question.header.clone()).description(question.question.clone());
        let choices: Vec<EnumOption> = question
            .options
            .iter()
            .flatten()
            .map(|choice| EnumOption::new(choice.label.clone(), named(&choice.label, &choice.description)))
            .collect();
        let may_differ = question.is_other || choices.is_empty();
        let field = if choices.is_empty() { field } else { field.one_of(choices) };
        let has_other = question.is_other && question.options.is_some();
        schema = schema.property(question.id.clone(), field, !may_differ);
        if has_other {
            let other = StringPropertySchema::new().title(format!("{}: other", question.header));
            schema = schema.property(format!("{}{OTHER}", question.id), other, false);
        }
    }
    let message: Vec<&str> = request.questions.iter().map(|question| question.question.as_str()).collect();
    let scope = ElicitationSessionScope::new(SessionId::new(session)).tool_call_id(request.call_id.as_str());
    let mode = ElicitationMode::Form(ElicitationFormMode::new(scope, schema));
    ClientQuestion::Form(CreateElicitationRequest::new(mode, message.join("\n")))
}

fn named(label: &str, description: &str) -> String {
    if description.is_empty() { label.to_owned() } else { format!("{label}: {description}") }
}

/// A single choice as a permission request; nothing if there is more to answer.
fn choice(session: &str, request: &RequestUserInput) -> ClientQuestion {
    let Some((question, choices)) = single_choice(request) else {
        return ClientQuestion::Nothing;
    };
    let of_app = app::Choice::all_of(request);
    let options = choices.iter().enumerate().map(|(n, choice)| {
        let name = named(&choice.label, &choice.description);
        let kind = of_app.and_then(|choices| choices.get(n).copied()).map_or(PermissionOptionKind::AllowOnce, kind);
        option(&format!("{CHOICE}{n}"), &name, kind)
    });
    let none = option(NO_CHOICE, "Do not answer", PermissionOptionKind::RejectOnce);
    let none = of_app.is_none().then_some(none);
    let fields = ToolCallUpdateFields::new()
        .title(question.question.clone())
        .kind(if of_app.is_some() { ToolKind::Other } else { ToolKind::Think })
        .status(ToolCallStatus::Pending);
    let call = ToolCallUpdate::new(request.call_id.clone(), fields);
    let options = options.chain(none).collect();
    ClientQuestion::Permission(RequestPermissionRequest::new(SessionId::new(session), call, options))
}

/// What an answer about the call of a connected app's tool is to a client that asks about calls.
fn kind(choice: app::Choice) -> PermissionOptionKind {
    match choice {
        app::Choice::ApproveOnce => PermissionOptionKind::AllowOnce,
        app::Choice::ApproveForSession => PermissionOptionKind::AllowAlways,
        app::Choice::Deny | app::Choice::Cancel => PermissionOptionKind::RejectOnce,
    }
}

fn single_choice(request: &RequestUserInput) -> Option<(&UserQuestion, &[pellucid_protocol::question::UserChoice])> {
    match request.questions.as_slice() {
        [question] => Some((question, question.options.as_deref().filter(|choices| !choices.is_empty())?)),
        _ => None,
    }
}

fn answers(request: &RequestUserInput, outcome: Option<&Result<Value, Error>>) -> UserAnswers {
    let mut answers = UserAnswers::default();
    if let (Ok(id), Some((question, choices))) = (selected(outcome), single_choice(request)) {
        let chosen = id.strip_prefix(CHOICE).and_then(|n| choices.get(n.parse::<usize>().ok()?));
        if let Some(choice) = chosen {
            let answer = UserAnswer { answers: vec![choice.label.clone()] };
            answers.answers.insert(question.id.clone(), answer);
        }
        return answers;
    }
    let (ElicitationAction::Accept, Some(content)) = server_answer(outcome) else {
        return answers;
    };
    for question in &request.questions {
        let given = [question.id.clone(), format!("{}{OTHER}", question.id)];
        let given = given.iter().filter_map(|key| content.get(key)?.as_str()).filter(|text| !text.is_empty());
        let given: Vec<String> = given.map(str::to_owned).collect();
        if !given.is_empty() {
            answers.answers.insert(question.id.clone(), UserAnswer { answers: given });
        }
    }
    answers
}

/// The form of a server, if the client shows forms and the protocol has all of its fields.
fn server_form(askable: Askable<'_>, request: &ElicitationRequest) -> ClientQuestion {
    if let Some(url) = &request.url {
        let scope = ElicitationSessionScope::new(SessionId::new(askable.session));
        let id = format!("{}-{}", request.server_name, request.id);
        let mode = ElicitationMode::Url(ElicitationUrlMode::new(scope, id, url.clone()));
        let message = format!("{}: {}", request.server_name, request.message);
        return ClientQuestion::Form(CreateElicitationRequest::new(mode, message));
    }
    let Some(schema) =
        askable.has_forms.then(|| serde_json::from_value::<ElicitationSchema>(request.schema.clone()).ok()).flatten()
    else {
        return ClientQuestion::Nothing;
    };
    let scope = ElicitationSessionScope::new(SessionId::new(askable.session));
    let mode = ElicitationMode::Form(ElicitationFormMode::new(scope, schema));
    ClientQuestion::Form(CreateElicitationRequest::new(mode, format!("{}: {}", request.server_name, request.message)))
}

fn server_answer(outcome: Option<&Result<Value, Error>>) -> (ElicitationAction, Option<Value>) {
    let response = outcome.and_then(|outcome| outcome.as_ref().ok());
    let response = response.and_then(|it| serde_json::from_value::<CreateElicitationResponse>(it.clone()).ok());
    match response.map(|response| response.action) {
        Some(FormAction::Accept(accepted)) => {
            let content = accepted.content.and_then(|content| serde_json::to_value(content).ok());
            (ElicitationAction::Accept, Some(content.unwrap_or_else(|| Value::Object(serde_json::Map::new()))))
        }
        Some(FormAction::Cancel) => (ElicitationAction::Cancel, None),
        _ => (ElicitationAction::Decline, None),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::id::TurnId;
    use serde_json::json;

    use super::*;

    fn askable(has_forms: bool) -> Askable<'static> {
        Askable { session: "s", has_forms, rules: Path::new("/h/rules/default.rules") }
    }

    fn asked(question: &SessionQuestion, has_forms: bool) -> String {
        match question.asked(askable(has_forms)) {
            ClientQuestion::Permission(request) => serde_json::to_string(&request).unwrap(),
            ClientQuestion::Form(request) => serde_json::to_string(&request).unwrap(),
            ClientQuestion::Nothing => "nothing".to_owned(),
        }
    }

    fn selected(id: &str) -> Result<Value, Error> {
        Ok(json!({ "outcome": { "outcome": "selected", "optionId": id } }))
    }

    fn command() -> SessionQuestion {
        let request = json!({
            "call_id": "c", "turn_id": "t", "command": ["make", "all"], "cwd": "/w",
            "proposed_execpolicy_amendment": ["make"], "parsed_cmd": [], "reason": "May I?",
        });
        SessionQuestion::Command(ToolCall::new("c".to_owned(), "make all"), serde_json::from_value(request).unwrap())
    }

    #[test]
    fn every_answer_about_the_call_of_an_app_has_its_meaning() {
        let call = app::AppCall {
            call_id: "c",
            turn_id: &TurnId::new("t"),
            app: "Calendar",
            tool: "Create Event",
            risk: app::Risk::Reaches,
        };
        let question = SessionQuestion::Input(app::question(&call));
        expect![[r#"{"sessionId":"s","toolCall":{"toolCallId":"c","kind":"other","status":"pending","title":"The tool \"Create Event\" of Calendar may have an effect outside of the app. Is it allowed to run?"},"options":[{"optionId":"choice-0","name":"Approve Once: Make this call.","kind":"allow_once"},{"optionId":"choice-1","name":"Approve this Session: Make this call, and later ones of this tool in this session without a question.","kind":"allow_always"},{"optionId":"choice-2","name":"Deny: Do not make this call; the turn continues.","kind":"reject_once"},{"optionId":"choice-3","name":"Cancel: Cancel this call.","kind":"reject_once"}]}"#]].assert_eq(&asked(&question, true));
        assert_eq!(asked(&question, true), asked(&question, false));
        let means = |id: &str| match question.operation(Some(&selected(id))) {
            Operation::UserInputAnswer { response, .. } => app::Choice::of(&response),
            _ => None,
        };
        use app::Choice::*;
        assert_eq!(
            ["choice-0", "choice-1", "choice-2", "choice-3", "no-choice"].map(means),
            [Some(ApproveOnce), Some(ApproveForSession), Some(Deny), Some(Cancel), None]
        );
    }

    #[test]
    fn every_answer_about_a_command_has_its_meaning() {
        expect![[r#"{"sessionId":"s","toolCall":{"toolCallId":"c","kind":"other","status":"pending","title":"make all","content":[{"type":"content","content":{"type":"text","text":"May I?"}}],"locations":[]},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"allow-session","name":"Allow `make all` for this session","kind":"allow_always"},{"optionId":"allow-rule","name":"Always allow commands that begin with `make` (rule in /h/rules/default.rules)","kind":"allow_always"},{"optionId":"reject","name":"Reject","kind":"reject_once"},{"optionId":"reject-stop","name":"Reject and stop","kind":"reject_once"}]}"#]].assert_eq(&asked(&command(), true));
        let means = |outcome: Option<Result<Value, Error>>, expected: ReviewDecision| {
            assert_eq!(command().decision(outcome.as_ref()), Some(("c", expected)));
        };
        let rule =
            ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: vec!["make".to_owned()] };
        means(Some(selected("allow")), ReviewDecision::Approved);
        means(Some(selected("allow-session")), ReviewDecision::ApprovedForSession);
        means(Some(selected("allow-rule")), rule);
        means(Some(selected("reject")), ReviewDecision::Denied);
        means(Some(selected("reject-stop")), ReviewDecision::Abort);
        means(Some(selected("unknown")), ReviewDecision::Denied);
        means(Some(Ok(json!({ "outcome": { "outcome": "cancelled" } }))), ReviewDecision::Abort);
        means(Some(Ok(json!({}))), ReviewDecision::Denied);
        means(Some(Err(Error::internal_error())), ReviewDecision::Denied);
        means(None, ReviewDecision::Denied);
    }

    fn question(options: &Value) -> SessionQuestion {
        let question =
            json!({ "id": "q", "header": "Colour", "question": "Which?", "isOther": true, "options": options });
        let request = json!({ "call_id": "c", "turn_id": "t", "questions": [question] });
        SessionQuestion::Input(serde_json::from_value(request).unwrap())
    }

    #[track_caller]
    fn check_answer(question: &SessionQuestion, outcome: Value, expected: &Expect) {
        let operation = question.operation(Some(&Ok(outcome)));
        expected.assert_eq(&serde_json::to_string(&operation).unwrap());
    }

    #[test]
    fn questions_are_forms_or_choices_or_declined() {
        let choices = json!([{ "label": "Red", "description": "warm" }, { "label": "Blue", "description": "" }]);
        expect![[r#"{"mode":"form","sessionId":"s","toolCallId":"c","requestedSchema":{"type":"object","properties":{"q":{"type":"string","title":"Colour","description":"Which?","oneOf":[{"const":"Red","title":"Red: warm"},{"const":"Blue","title":"Blue"}]},"q_other":{"type":"string","title":"Colour: other"}}},"message":"Which?"}"#]].assert_eq(&asked(&question(&choices), true));
        expect![[r#"{"sessionId":"s","toolCall":{"toolCallId":"c","kind":"think","status":"pending","title":"Which?"},"options":[{"optionId":"choice-0","name":"Red: warm","kind":"allow_once"},{"optionId":"choice-1","name":"Blue","kind":"allow_once"},{"optionId":"no-choice","name":"Do not answer","kind":"reject_once"}]}"#]].assert_eq(&asked(&question(&choices), false));
        assert_eq!(asked(&question(&Value::Null), false), "nothing");
        check_answer(
            &question(&choices),
            json!({ "action": "accept", "content": { "q": "Red", "q_other": "Green" } }),
            &expect![[
                r#"{"type":"user_input_answer","id":"t","response":{"answers":{"q":{"answers":["Red","Green"]}}}}"#
            ]],
        );
        check_answer(
            &question(&choices),
            selected("choice-1").unwrap(),
            &expect![[r#"{"type":"user_input_answer","id":"t","response":{"answers":{"q":{"answers":["Blue"]}}}}"#]],
        );
        check_answer(
            &question(&choices),
            json!({ "action": "decline" }),
            &expect![[r#"{"type":"user_input_answer","id":"t","response":{"answers":{}}}"#]],
        );
    }

    #[test]
    fn questions_of_servers_are_forms_or_declined() {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let id = pellucid_protocol::elicitation::ElicitationId::Number(1);
        let (server_name, message) = ("srv".to_owned(), "How many?".to_owned());
        let question = SessionQuestion::Server(ElicitationRequest { server_name, id, message, schema, url: None });
        expect![[r#"{"mode":"form","sessionId":"s","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"message":"srv: How many?"}"#]].assert_eq(&asked(&question, true));
        assert_eq!(asked(&question, false), "nothing");
        let SessionQuestion::Server(form) = &question else { panic!("a question of a server") };
        let page = ElicitationRequest { url: Some("https://a.test/x".to_owned()), ..form.clone() };
        expect![[r#"{"mode":"url","sessionId":"s","elicitationId":"srv-1","url":"https://a.test/x","message":"srv: How many?"}"#]]
            .assert_eq(&asked(&SessionQuestion::Server(page), false));
        check_answer(
            &question,
            json!({ "action": "accept", "content": { "n": 3 } }),
            &expect![[
                r#"{"type":"resolve_elicitation","server_name":"srv","request_id":1,"decision":"accept","content":{"n":3}}"#
            ]],
        );
        check_answer(
            &question,
            json!({ "action": "cancel" }),
            &expect![[r#"{"type":"resolve_elicitation","server_name":"srv","request_id":1,"decision":"cancel"}"#]],
        );
    }
}
