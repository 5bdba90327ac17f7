//! Questions for clients, and what follows from their answers.
//!
//! The session always gets an answer: a client that fails, sends something unreadable, or is disconnected counts as
//! declining.

use pellucid_engine::command_line::joined;
use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool::DynamicContent;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::question::UserAnswers;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Outgoing;
use super::ThreadView;
use super::known_turn;
use crate::rpc::RpcError;
use crate::types::change::PatchApplyStatus;
use crate::types::command::CommandExecutionStatus;
use crate::types::command::actions;
use crate::types::item::ThreadItem;
use crate::types::request::CommandExecutionRequestApprovalParams;
use crate::types::request::CommandExecutionRequestApprovalResponse;
use crate::types::request::DynamicToolCallParams;
use crate::types::request::DynamicToolCallResponse;
use crate::types::request::ElicitationMode;
use crate::types::request::FileChangeRequestApprovalParams;
use crate::types::request::FileChangeRequestApprovalResponse;
use crate::types::request::McpServerElicitationRequestParams;
use crate::types::request::McpServerElicitationRequestResponse;
use crate::types::request::ServerRequest;
use crate::types::request::ToolRequestUserInputParams;
use crate::types::request::ToolRequestUserInputResponse;

/// A question that a client must answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerQuestion {
    /// The request that the client receives.
    pub request: ServerRequest,
    /// The turn that waits for the answer.
    turn_id: String,
    /// What the question is about, and the id under which the session waits.
    subject: Subject,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq)]
enum Subject {
    Command(ExecApprovalRequest),
    Patch(ApplyPatchApprovalRequest),
    Input,
    Tool { call_id: String },
    Server { name: String, id: ElicitationId },
}

impl ThreadView {
    /// Asks the clients a question; notifications that must come first are put before it.
    pub(super) fn ask(&mut self, event: &Event) -> Vec<Outgoing> {
        let (thread_id, turn_id) = self.place(&event.id);
        match &event.msg {
            EventMessage::ExecApprovalRequest(request) => {
                let turn_id = known_turn(&request.turn_id, &turn_id);
                let params = CommandExecutionRequestApprovalParams {
                    thread_id,
                    turn_id: turn_id.clone(),
                    item_id: request.call_id.clone(),
                    approval_id: request.approval_id.clone(),
                    reason: request.reason.clone(),
                    command: Some(joined(&request.command)),
                    cwd: Some(request.cwd.clone()),
                    command_actions: Some(actions(&request.parsed_cmd)),
                    proposed_execpolicy_amendment: request.proposed_execpolicy_amendment.clone(),
                };
                let request_out = ServerRequest::CommandExecutionRequestApproval(params);
                vec![asked(request_out, turn_id, Subject::Command(request.clone()))]
            }
            EventMessage::ApplyPatchApprovalRequest(request) => {
                let params = FileChangeRequestApprovalParams {
                    thread_id,
                    turn_id: turn_id.clone(),
                    item_id: request.call_id.clone(),
                    reason: request.reason.clone(),
                    grant_root: request.grant_root.clone(),
                };
                let request_out = ServerRequest::FileChangeRequestApproval(params);
                let mut out = Vec::new();
                if self.patches.insert(request.call_id.clone()) {
                    let item = ThreadItem::patch(&request.call_id, &request.changes, PatchApplyStatus::InProgress);
                    out.push(self.started(&turn_id, item));
                }
                out.push(asked(request_out, turn_id, Subject::Patch(request.clone())));
                out
            }
            EventMessage::RequestUserInput(request) => {
                let turn_id = known_turn(&request.turn_id, &turn_id);
                let params = ToolRequestUserInputParams {
                    thread_id,
                    turn_id: turn_id.clone(),
                    item_id: request.call_id.clone(),
                    questions: request.questions.iter().cloned().map(Into::into).collect(),
                };
                vec![asked(ServerRequest::ToolRequestUserInput(params), turn_id, Subject::Input)]
            }
            EventMessage::DynamicToolCallRequest(call) => {
                let turn_id = known_turn(&call.turn_id, &turn_id);
                let params = DynamicToolCallParams {
                    thread_id,
                    turn_id: turn_id.clone(),
                    call_id: call.call_id.clone(),
                    tool: call.tool.clone(),
                    arguments: call.arguments.clone(),
                };
                let subject = Subject::Tool { call_id: call.call_id.clone() };
                vec![asked(ServerRequest::DynamicToolCall(params), turn_id, subject)]
            }
            EventMessage::ElicitationRequest(request) => {
                let params = McpServerElicitationRequestParams {
                    thread_id,
                    turn_id: Some(turn_id.clone()),
                    server_name: request.server_name.clone(),
                    mode: if request.url.is_some() { ElicitationMode::Url } else { ElicitationMode::Form },
                    message: request.message.clone(),
                    requested_schema: request.schema.clone(),
                    elicitation_id: request.url.as_ref().map(|_| request.id.to_string()),
                    url: request.url.clone(),
                };
                let subject = Subject::Server { name: request.server_name.clone(), id: request.id.clone() };
                vec![asked(ServerRequest::McpServerElicitation(params), turn_id, subject)]
            }
            _ => Vec::new(),
        }
    }

    /// The operation for the session, and notifications for clients, when a question was answered with a result or an
    /// error.
    pub fn answered(
        &mut self,
        question: ServerQuestion,
        outcome: Result<Value, RpcError>,
    ) -> (Operation, Vec<Outgoing>) {
        let ServerQuestion { turn_id, subject, .. } = question;
        match subject {
            Subject::Command(request) => self.command_answered(turn_id, &request, outcome),
            Subject::Patch(request) => self.patch_answered(&turn_id, &request, outcome),
            Subject::Input => {
                let response = read::<ToolRequestUserInputResponse>(outcome.ok());
                let response = response.map_or_else(UserAnswers::default, Into::into);
                (Operation::UserInputAnswer { id: TurnId::new(turn_id), response }, Vec::new())
            }
            Subject::Tool { call_id } => {
                let response = match outcome {
                    Err(_failed) => failed_tool("dynamic tool request failed"),
                    Ok(value) => read::<DynamicToolCallResponse>(Some(value))
                        .map_or_else(|| failed_tool("dynamic tool response was invalid"), Into::into),
                };
                (Operation::DynamicToolResponse { id: call_id, response }, Vec::new())
            }
            Subject::Server { name: server_name, id: request_id } => {
                let response = read::<McpServerElicitationRequestResponse>(outcome.ok());
                let (decision, content) = match response {
                    Some(response) => (response.action.into(), response.content),
                    None => (ElicitationAction::Decline, None),
                };
                (Operation::ResolveElicitation { server_name, request_id, decision, content }, Vec::new())
            }
        }
    }

    /// The same when no client can be asked.
    pub fn unheard(&mut self, question: ServerQuestion) -> (Operation, Vec<Outgoing>) {
        self.answered(question, Err(RpcError::internal("no client follows this thread")))
    }

    fn command_answered(
        &self,
        turn_id: String,
        request: &ExecApprovalRequest,
        outcome: Result<Value, RpcError>,
    ) -> (Operation, Vec<Outgoing>) {
        let is_error = outcome.is_err();
        let response = read::<CommandExecutionRequestApprovalResponse>(outcome.ok());
        let decision = response.map_or(ReviewDecision::Denied, |response| response.decision.into());
        let status = match &decision {
            _ if is_error => Some(CommandExecutionStatus::Failed),
            ReviewDecision::Denied | ReviewDecision::Abort => Some(CommandExecutionStatus::Declined),
            _ => None,
        };
        // A refused part of a command does not complete the item of the whole command.
        let is_part = request.approval_id.is_some() && self.commands.contains_key(&request.call_id);
        let notification =
            status.filter(|_| !is_part).map(|status| self.completed(&turn_id, ThreadItem::unrun(request, status)));
        let id = request.approval_id.clone().unwrap_or_else(|| request.call_id.clone());
        let operation = Operation::ExecApproval { id, turn_id: Some(TurnId::new(turn_id)), decision };
        (operation, notification.into_iter().collect())
    }

    fn patch_answered(
        &mut self,
        turn_id: &str,
        request: &ApplyPatchApprovalRequest,
        outcome: Result<Value, RpcError>,
    ) -> (Operation, Vec<Outgoing>) {
        let is_error = outcome.is_err();
        let response = read::<FileChangeRequestApprovalResponse>(outcome.ok());
        let decision = response.map_or(ReviewDecision::Denied, |response| response.decision.into());
        let status = match &decision {
            _ if is_error => Some(PatchApplyStatus::Failed),
            ReviewDecision::Denied | ReviewDecision::Abort => Some(PatchApplyStatus::Declined),
            _ => None,
        };
        let notification = status.map(|status| {
            self.patches.remove(&request.call_id);
            self.completed(turn_id, ThreadItem::patch(&request.call_id, &request.changes, status))
        });
        (Operation::PatchApproval { id: request.call_id.clone(), decision }, notification.into_iter().collect())
    }
}

fn asked(request: ServerRequest, turn_id: String, subject: Subject) -> Outgoing {
    Outgoing::Asked(Box::new(ServerQuestion { request, turn_id, subject }))
}

/// A client's answer, if it can be read.
fn read<T: DeserializeOwned>(value: Option<Value>) -> Option<T> {
    value.and_then(|value| serde_json::from_value(value).ok())
}

fn failed_tool(text: &str) -> DynamicToolResponse {
    let content_items = vec![DynamicContent::InputText { text: text.to_owned() }];
    DynamicToolResponse { content_items, success: false }
}
