//! What a client submits while a turn runs.

use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;

use super::Driver;
use crate::door::ClientGone;
use crate::door::Inside;

impl Driver<'_> {
    /// Takes a submission; absent when the client has gone. Gives the event for the turn, if it is one.
    pub(super) async fn submitted(
        &mut self,
        submission: Option<Submission>,
        inside: &mut Inside,
    ) -> Result<Option<TurnEvent>, ClientGone> {
        let Some(submission) = submission else {
            return Ok(Some(TurnEvent::InterruptRequested));
        };
        Ok(match submission.operation {
            Operation::Interrupt => Some(TurnEvent::InterruptRequested),
            Operation::Shutdown => {
                inside.waiting.push_back(submission);
                Some(TurnEvent::InterruptRequested)
            }
            Operation::ThreadRollback { .. } => {
                let error = EventMessage::Error {
                    message: "Cannot rollback while a turn is in progress.".to_owned(),
                    codex_error_info: Some(ErrorInfo::ThreadRollbackFailed),
                    failure: Failure::default(),
                };
                self.emit_as(submission.id.as_str(), error, inside).await?;
                None
            }
            Operation::ExecApproval { id, turn_id: None, decision } => Some(TurnEvent::Answered {
                key: AskKey::Approval(id),
                answer: ClientAnswer::DecisionWithoutTurn(decision),
            }),
            Operation::ExecApproval { id, decision, .. } | Operation::PatchApproval { id, decision } => {
                Some(TurnEvent::Answered { key: AskKey::Approval(id), answer: ClientAnswer::Decision(decision) })
            }
            Operation::UserInputAnswer { id, response } => {
                Some(TurnEvent::Answered { key: AskKey::Question(id), answer: ClientAnswer::Answers(response) })
            }
            Operation::DynamicToolResponse { id, response } => {
                Some(TurnEvent::Answered { key: AskKey::DynamicTool(id), answer: ClientAnswer::DynamicTool(response) })
            }
            Operation::ResolveElicitation { server_name: server, request_id: id, decision, content } => {
                let answer = ElicitationAnswer { action: decision, content };
                Some(TurnEvent::Answered {
                    key: AskKey::Elicitation { server, id },
                    answer: ClientAnswer::Elicitation(answer),
                })
            }
            Operation::RunUserShellCommand { command } => {
                self.session.jobs.start_user_command(command);
                None
            }
            Operation::CleanBackgroundTerminals => {
                self.session.jobs.toolbox.terminals.terminate_all().await;
                None
            }
            // Servers are asked between turns.
            Operation::UserInput { ref items, .. } if self.session.wants_of_servers(items) => {
                inside.waiting.push_back(submission);
                None
            }
            Operation::UserInput { items, .. } => (!items.is_empty()).then_some(TurnEvent::Steered(items)),
            Operation::TerminateBackgroundTerminal { process_id } => {
                self.session.jobs.toolbox.terminals.terminate(process_id);
                None
            }
            Operation::OverrideTurnContext(_)
            | Operation::Compact
            | Operation::Review { .. }
            | Operation::InjectItems { .. }
            | Operation::Undo => {
                inside.waiting.push_back(submission);
                None
            }
        })
    }
}
