//! A tool's line to its session: what clients see and are asked, what the model gets later.
//!
//! The line is bounded: a tool that says more than the session can take waits. Everything that a
//! tool says arrives before its answer.

use std::path::PathBuf;

use pellucid_engine::elicitation;
use pellucid_engine::transcript::Draft;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_protocol::call_record::ApprovalSubject;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::GhostCommit;
use pellucid_protocol::item::Item;
use tokio::sync::oneshot;

use crate::notes::CallNotes;
use crate::queue;
use crate::queue::Receiver;
use crate::queue::Sender;

/// How many messages may wait in the line.
const WAITING_MAX: usize = 64;

/// A message from a tool to its session.
#[derive(Debug)]
pub enum FromTool {
    /// Clients see an event of the turn.
    Event(EventMessage),
    /// Clients see an event that belongs to no turn.
    SessionEvent(EventMessage),
    /// The model sees a message beside the answer. It is recorded at once.
    Notice(Notice),
    /// The model sees this image with the next request.
    Image(PathBuf),
    /// The call asks the client a question.
    Ask(Asking),
    /// A patch was applied, so clients see what the turn changed.
    Diff,
    /// There is a snapshot of the work tree.
    Snapshot(GhostCommit),
    /// A command of the person has ended.
    UserCommandEnded {
        /// The id in the events of the command.
        call_id: String,
        /// What the model sees of it.
        record: Draft,
    },
    /// The call has ended.
    Finished {
        /// Which call, counted within the reply.
        index: usize,
        /// The answer of the call; absent if there is none.
        answer: Option<Item>,
    },
}

/// A question that a call waits for.
#[derive(Debug)]
pub struct Asking {
    /// What the call asks.
    pub question: ClientQuestion,
    /// The call that waits for the outcome.
    pub asker: Asker,
}

/// A call that waits for the outcome of its question.
#[derive(Debug)]
pub struct Asker {
    outcome: oneshot::Sender<AskOutcome>,
    /// The notes of the call and what it asks for, if it asks for an approval.
    notes: Option<(CallNotes, ApprovalSubject)>,
}

impl Asker {
    /// Notes the outcome and gives it to the call. A call that has ended meanwhile does not need it.
    pub fn give(self, outcome: AskOutcome) {
        if let Some((notes, subject)) = self.notes {
            notes.asked(subject, &outcome);
        }
        drop(self.outcome.send(outcome));
    }
}

/// What the model sees beside an answer. The words are the pack's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A patch came through a tool that runs commands.
    PatchThroughShell {
        /// The tool that ran the patch.
        tool: String,
    },
    /// A person allowed commands that begin so, for good.
    PrefixSaved {
        /// The words that such commands begin with.
        prefix: Vec<String>,
    },
    /// Many terminals are open.
    ManyTerminals {
        /// How many are open.
        n: usize,
        /// There should be at most so many.
        max: usize,
    },
}

/// A tool's end of the line.
#[derive(Debug, Clone)]
pub struct Desk {
    sender: Sender<FromTool>,
}

impl Desk {
    /// A line; the session holds the other end.
    pub fn open() -> (Self, Receiver<FromTool>) {
        let (sender, receiver) = queue::channel(WAITING_MAX);
        (Self { sender }, receiver)
    }

    /// Sends the session a message. If the session has gone, no client is left that could miss it.
    pub async fn say(&self, message: FromTool) {
        let _session_gone = self.sender.send(message).await;
    }

    /// Asks the client, and waits for the outcome.
    pub async fn ask(&self, question: ClientQuestion) -> AskOutcome {
        self.ask_noted(question, None).await.unwrap_or(AskOutcome::Unanswered)
    }

    /// Asks the client for an MCP server, and waits for the answer. A question that the session drops, because its turn
    /// ended or none runs, is cancelled.
    pub async fn elicit(&self, request: ElicitationRequest) -> ElicitationAnswer {
        let key = AskKey::Elicitation { server: request.server_name.clone(), id: request.id.clone() };
        let schema = request.schema.clone();
        let event = Box::new(EventMessage::ElicitationRequest(request));
        match self.ask_noted(ClientQuestion { key, event, grants: Vec::new() }, None).await {
            Some(outcome) => elicitation::completed(&schema, outcome.elicited()),
            None => ElicitationAnswer::without_content(ElicitationAction::Cancel),
        }
    }

    /// Asks the client for an approval, and waits for the outcome, which is noted with the call.
    pub(crate) async fn ask_for_approval(
        &self,
        question: ClientQuestion,
        notes: &CallNotes,
        subject: ApprovalSubject,
    ) -> AskOutcome {
        self.ask_noted(question, Some((notes.clone(), subject))).await.unwrap_or(AskOutcome::Unanswered)
    }

    /// The outcome of a question; absent if the session dropped the question.
    async fn ask_noted(
        &self,
        question: ClientQuestion,
        notes: Option<(CallNotes, ApprovalSubject)>,
    ) -> Option<AskOutcome> {
        let (outcome, given) = oneshot::channel();
        self.say(FromTool::Ask(Asking { question, asker: Asker { outcome, notes } })).await;
        given.await.ok()
    }

    /// Shows clients an event, and waits until the session has received it, so that nothing that follows from it is shown
    /// before it.
    pub async fn tell_first(&self, event: EventMessage) {
        self.tell(event).await;
        // There is room for as many messages as may wait when none does.
        self.sender.emptied(WAITING_MAX).await;
    }

    /// Shows clients an event.
    pub async fn tell(&self, event: EventMessage) {
        self.say(FromTool::Event(event)).await;
    }
}
