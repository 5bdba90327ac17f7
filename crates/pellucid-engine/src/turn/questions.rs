//! The questions of a turn: whom a call asks, when, and what follows from the answer.
//!
//! A question is shown to the client as soon as it is asked, so several may be open at a time. Each has a key by which the
//! client names it in its answer. The first answer to an open question counts; an answer to any other is ignored. A question
//! with the key of an open one takes its place, and the earlier question stays without an answer. Questions end with the
//! reply whose call asked, and with the turn; so do questions of MCP servers, which ask while a call of theirs runs.
//!
//! Not here: whether a command or patch needs an approval at all (`approval::decide`, `approval::patch`).

use std::collections::BTreeMap;

use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::question::UserAnswers;

use crate::approval::app;
use crate::approval::grants::GrantKey;
use crate::approval::grants::Grants;

/// The number of a question within its turn. The driver gives it, and finds by it who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// What the client names a question by when it answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AskKey {
    /// Whether something may be done: the call that wants to do it.
    Approval(String),
    /// What the model wants to know from a person: the turn in which it asks.
    Question(TurnId),
    /// What a tool of the client gives: the call of that tool.
    DynamicTool(String),
    /// What an MCP server wants to know from a person.
    Elicitation {
        /// The server that asks.
        server: String,
        /// The id that the server gave to its question.
        id: ElicitationId,
    },
}

/// A question for the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuestion {
    /// What the client names the question by.
    pub key: AskKey,
    /// The event that shows the question.
    pub event: Box<EventMessage>,
    /// What an approval for the rest of the session would cover; empty if there can be none.
    pub grants: Vec<GrantKey>,
}

/// What a client answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientAnswer {
    /// Whether something may be done, in an answer that names its turn.
    Decision(ReviewDecision),
    /// The same in an answer that names no turn.
    DecisionWithoutTurn(ReviewDecision),
    /// What the model wanted to know.
    Answers(UserAnswers),
    /// What a tool of the client gives.
    DynamicTool(DynamicToolResponse),
    /// What an MCP server gets.
    Elicitation(ElicitationAnswer),
}

/// What became of a question, for the call that asked it.
#[derive(Debug, Clone, PartialEq)]
pub enum AskOutcome {
    /// The client gave this answer.
    Answered(ClientAnswer),
    /// The client was not asked: it allowed the same before, for the rest of the session.
    Granted,
    /// There is no client that could answer, or the client was asked something else in place of it.
    Unanswered,
}

impl AskOutcome {
    /// What an MCP server gets. A server that no one can be asked for is declined.
    pub fn elicited(self) -> ElicitationAnswer {
        match self {
            Self::Answered(ClientAnswer::Elicitation(answer)) => answer,
            Self::Answered(_) | Self::Granted | Self::Unanswered => {
                ElicitationAnswer::without_content(ElicitationAction::Decline)
            }
        }
    }
}

/// Whether a call that asked for approval may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// The call does what it asked for.
    Given,
    /// The call answers that it was refused, and the turn continues.
    Refused,
    /// The turn ends, and with it the call.
    TurnEnds,
}

impl AskOutcome {
    /// What the outcome means for a call that asked for approval. Without a decision it is refused.
    pub fn permission(&self) -> Permission {
        match self {
            Self::Granted => Permission::Given,
            Self::Answered(ClientAnswer::Decision(decision) | ClientAnswer::DecisionWithoutTurn(decision)) => {
                match decision {
                    ReviewDecision::Approved
                    | ReviewDecision::ApprovedForSession
                    | ReviewDecision::ApprovedExecpolicyAmendment { .. } => Permission::Given,
                    ReviewDecision::Denied => Permission::Refused,
                    ReviewDecision::Abort => Permission::TurnEnds,
                }
            }
            Self::Answered(ClientAnswer::Answers(answers)) => match app::Choice::of(answers) {
                Some(app::Choice::ApproveOnce | app::Choice::ApproveForSession) => Permission::Given,
                Some(app::Choice::Deny | app::Choice::Cancel) | None => Permission::Refused,
            },
            Self::Answered(ClientAnswer::DynamicTool(_) | ClientAnswer::Elicitation(_)) | Self::Unanswered => {
                Permission::Refused
            }
        }
    }
}

/// Who can answer the questions of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audience {
    /// The client that follows the session.
    #[default]
    Client,
    /// There is none, as in `exec`: a question is unanswered at once, and no event shows it.
    Absent,
}

/// When the model learns that a rule was saved. The order of messages is that of the Codex CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleNote {
    /// At once: the message comes before the outputs of the running calls.
    AtOnce,
    /// With the next request: the message comes behind the outputs.
    WithNextRequest,
}

/// What is to be done about questions.
#[derive(Debug, Clone, PartialEq)]
pub enum AskWish {
    /// Show the client a question.
    Client {
        /// Which question of the turn.
        ask: AskId,
        /// The event that shows the question.
        event: Box<EventMessage>,
    },
    /// Give the call that asked the outcome of its question.
    Answer {
        /// Which question of the turn.
        ask: AskId,
        /// What became of the question.
        outcome: AskOutcome,
    },
    /// Remember for the rest of the session that this is allowed.
    Grant(Vec<GrantKey>),
    /// Save the rule that commands which begin with these words are allowed.
    SaveRule {
        /// The words that such commands begin with.
        prefix: Vec<String>,
        /// When the model learns of the rule.
        note: RuleNote,
    },
    /// Note that an answer is ignored, because no open question has this key.
    Ignore(AskKey),
}

/// The questions of a turn, and what the client allowed for the rest of the session.
#[derive(Debug, Clone, Default)]
pub struct Questions {
    audience: Audience,
    granted: Grants,
    open: BTreeMap<AskKey, OpenQuestion>,
    is_closed: bool,
}

#[derive(Debug, Clone)]
struct OpenQuestion {
    ask: AskId,
    grants: Vec<GrantKey>,
}

impl Questions {
    /// For a turn that begins: who can answer, and what was allowed in earlier turns.
    pub fn new(audience: Audience, granted: Grants) -> Self {
        Self { audience, granted, ..Self::default() }
    }

    /// A call asks: the client is shown the question, or the outcome is known already.
    pub fn ask(&mut self, ask: AskId, question: ClientQuestion) -> Vec<AskWish> {
        let ClientQuestion { key, event, grants } = question;
        if self.is_closed {
            // The call that asks is being stopped.
            return Vec::new();
        }
        if self.granted.cover(&grants) {
            return vec![AskWish::Answer { ask, outcome: AskOutcome::Granted }];
        }
        if self.audience == Audience::Absent {
            return vec![AskWish::Answer { ask, outcome: AskOutcome::Unanswered }];
        }
        let earlier = self.open.insert(key, OpenQuestion { ask, grants });
        let replaced = earlier.map(|it| AskWish::Answer { ask: it.ask, outcome: AskOutcome::Unanswered });
        replaced.into_iter().chain([AskWish::Client { ask, event }]).collect()
    }

    /// The client answers. What it allows for longer holds before the call continues.
    pub fn answer(&mut self, key: AskKey, answer: ClientAnswer) -> Vec<AskWish> {
        let Some(OpenQuestion { ask, grants }) = self.open.remove(&key) else {
            return vec![AskWish::Ignore(key)];
        };
        let (decision, note) = match &answer {
            ClientAnswer::Decision(decision) => (Some(decision), RuleNote::AtOnce),
            ClientAnswer::DecisionWithoutTurn(decision) => (Some(decision), RuleNote::WithNextRequest),
            ClientAnswer::Answers(answers) if app::Choice::of(answers) == Some(app::Choice::ApproveForSession) => {
                (Some(&ReviewDecision::ApprovedForSession), RuleNote::AtOnce)
            }
            _ => (None, RuleNote::AtOnce),
        };
        let lasting = match decision {
            Some(ReviewDecision::ApprovedForSession) if !grants.is_empty() => {
                self.granted.remember(grants.iter().cloned());
                Some(AskWish::Grant(grants))
            }
            Some(ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment }) => {
                Some(AskWish::SaveRule { prefix: proposed_execpolicy_amendment.clone(), note })
            }
            _ => None,
        };
        lasting.into_iter().chain([AskWish::Answer { ask, outcome: AskOutcome::Answered(answer) }]).collect()
    }

    /// The calls that asked have ended: answers to their questions are ignored from now on.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    /// The turn is being interrupted: open questions are forgotten, and nothing is asked any more.
    pub fn close(&mut self) {
        self.forget();
        self.is_closed = true;
    }
}
