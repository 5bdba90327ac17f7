//! What a session asks its client, and what an answer means for the session: values in, values out.

use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool::DynamicContent;
use pellucid_protocol::dynamic_tool::DynamicToolCall;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;

/// A question of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum CallQuestion {
    /// Whether a command may run.
    Command(ExecApprovalRequest),
    /// Whether a patch may be applied.
    Patch(ApplyPatchApprovalRequest),
    /// What an MCP server of the session wants to know.
    Server(ElicitationRequest),
    /// What the model wants to know.
    Input(RequestUserInput),
    /// A call of a tool of another client.
    Tool(DynamicToolCall),
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum CallReply {
    /// A decision about a command or a patch.
    Decision(ReviewDecision),
    /// What a person said to a server.
    Form(ElicitationAnswer),
    /// No answer: commands and patches are denied, servers are declined.
    Nothing,
}

impl CallQuestion {
    /// The question of an event, if it asks one.
    pub fn of(message: &EventMessage) -> Option<Self> {
        Some(match message {
            EventMessage::ExecApprovalRequest(request) => Self::Command(request.clone()),
            EventMessage::ApplyPatchApprovalRequest(request) => Self::Patch(request.clone()),
            EventMessage::ElicitationRequest(request) => Self::Server(request.clone()),
            EventMessage::RequestUserInput(request) => Self::Input(request.clone()),
            EventMessage::DynamicToolCallRequest(call) => Self::Tool(call.clone()),
            _ => return None,
        })
    }

    /// What the answer means for the session.
    pub fn operation(self, reply: CallReply) -> Operation {
        let decision = match &reply {
            CallReply::Decision(decision) => decision.clone(),
            CallReply::Form(_) | CallReply::Nothing => ReviewDecision::Denied,
        };
        match self {
            Self::Command(request) => Operation::ExecApproval {
                id: request.approval_id.unwrap_or(request.call_id),
                turn_id: Some(request.turn_id),
                decision,
            },
            Self::Patch(request) => Operation::PatchApproval { id: request.call_id, decision },
            Self::Server(request) => {
                let answer = match reply {
                    CallReply::Form(answer) => answer,
                    _ => ElicitationAnswer::without_content(ElicitationAction::Decline),
                };
                Operation::ResolveElicitation {
                    server_name: request.server_name,
                    request_id: request.id,
                    decision: answer.action,
                    content: answer.content,
                }
            }
            Self::Input(request) => {
                Operation::UserInputAnswer { id: request.turn_id, response: UserAnswers::default() }
            }
            Self::Tool(call) => {
                let text = format!("the tool {} belongs to another client", call.tool);
                let response =
                    DynamicToolResponse { content_items: vec![DynamicContent::InputText { text }], success: false };
                Operation::DynamicToolResponse { id: call.call_id, response }
            }
        }
    }
}
