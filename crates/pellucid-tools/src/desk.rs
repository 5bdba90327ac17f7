//! A tool's line to its session: what people see, what they are asked, what the model gets later.
//!
//! The line is bounded: a tool that says more than the session can take waits. Everything that a
//! tool says arrives before its answer.

use std::path::PathBuf;

use pellucid_engine::transcript::Draft;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::GhostCommit;
use pellucid_protocol::item::Item;
use pellucid_protocol::question::UserAnswers;
use tokio::sync::oneshot;

use crate::queue;
use crate::queue::Receiver;
use crate::queue::Sender;

/// How many messages may wait.
const WAITING_MAX: usize = 64;

/// What a tool says to its session.
#[derive(Debug)]
pub enum FromTool {
    /// People are told.
    Event(EventMessage),
    /// People are told of something that belongs to no turn.
    SessionEvent(EventMessage),
    /// The model is told, at once and beside the answer.
    Notice(Notice),
    /// The model is shown a picture with the next request.
    Picture(PathBuf),
    /// A person is asked.
    Ask(Question),
    /// A patch was applied, so what the turn changed is told.
    Diff,
    /// There is a snapshot of the work tree.
    Snapshot(GhostCommit),
    /// A command of the person has ended.
    UserCommandEnded {
        /// Which.
        call_id: String,
        /// What the model sees of it.
        record: Draft,
    },
    /// A person wants the turn to end.
    Abort,
    /// The call is done.
    Finished {
        /// Which call, counted within the reply.
        index: usize,
        /// Its answer; absent when it leaves none.
        answer: Option<Item>,
    },
}

/// A question to a person.
#[derive(Debug)]
pub struct Question {
    /// How it is asked.
    pub event: EventMessage,
    /// By what the answer is known.
    pub key: AskKey,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Answer>,
}

/// By what an answer is known. A question replaces an earlier one of the same key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AskKey {
    /// By the call that wants to do something.
    Approval(String),
    /// By the turn in which the model asks.
    Question(TurnId),
    /// By the call of a tool that the face runs.
    DynamicTool(String),
}

/// What a person answers.
#[derive(Debug)]
pub enum Answer {
    /// Whether something may be done.
    Decision(ReviewDecision),
    /// What the model wanted to know.
    Answers(UserAnswers),
    /// What a tool of the face answers.
    DynamicTool(DynamicToolResponse),
}

/// What the model is told beside an answer. The words are the pack's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A patch came through a tool that runs commands.
    PatchThroughShell {
        /// Which tool.
        tool: String,
    },
    /// A person allowed commands that begin so, for good.
    PrefixSaved {
        /// The words.
        prefix: Vec<String>,
    },
    /// Many terminals are open.
    ManyTerminals {
        /// So many.
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

    /// Says something. When nobody listens any more, the turn is over and nobody misses it.
    pub async fn say(&self, message: FromTool) {
        let _nobody_listens = self.sender.send(message).await;
    }

    /// Asks, and waits for the answer; absent when nobody will give one.
    pub async fn ask(&self, event: EventMessage, key: AskKey) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        self.say(FromTool::Ask(Question { event, key, answer })).await;
        answered.await.ok()
    }

    /// Tells people, and waits until the session has heard it, so that nothing that comes of it is told before it.
    pub async fn tell_first(&self, event: EventMessage) {
        self.tell(event).await;
        // There is room for as many messages as may wait when none does.
        self.sender.emptied(WAITING_MAX).await;
    }

    /// Tells people.
    pub async fn tell(&self, event: EventMessage) {
        self.say(FromTool::Event(event)).await;
    }
}
