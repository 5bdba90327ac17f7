//! The calls of a turn and their questions: starts and stops calls as the turn wishes, carries questions to the client and
//! answers to the calls, and reports to the turn what calls say.
//!
//! Not here: who is asked, when, and what an answer means. The turn decides that (`questions` and `calls` of its module).

use std::collections::BTreeMap;

use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::Wish;
use pellucid_engine::turn::calls::CallEvent;
use pellucid_engine::turn::calls::CallWish;
use pellucid_engine::turn::questions::AskId;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::AskWish;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_engine::turn::questions::RuleNote;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_tools::desk::Asker;
use pellucid_tools::desk::Asking;
use pellucid_tools::desk::FromTool;

use super::Driver;
use crate::door::ClientGone;
use crate::door::Inside;
use crate::open_notes::Upto;

/// Who waits for the outcomes of questions, by the number of the question.
#[derive(Debug, Default)]
pub(super) struct Askers {
    n_asked: u64,
    waiting: BTreeMap<AskId, Waiter>,
}

/// Who asked a question.
#[derive(Debug)]
enum Waiter {
    /// A call that waits.
    Call(Asker),
    /// The session, which needs variables for skills before it records the input.
    Variables,
}

impl Askers {
    fn add(&mut self, waiter: Waiter) -> AskId {
        self.n_asked += 1;
        let ask = AskId(self.n_asked);
        self.waiting.insert(ask, waiter);
        ask
    }
}

impl Driver<'_> {
    /// Does what the turn wishes for its calls.
    pub(super) async fn handle_calls(&mut self, wish: CallWish, inside: &Inside) -> Result<(), ClientGone> {
        match wish {
            CallWish::Run { index, call } => {
                self.start_git();
                self.session.touch(&call);
                self.session.jobs.start(index, call);
                // A quick call has ended before the next piece of the reply is read.
                tokio::task::yield_now().await;
            }
            CallWish::Cancel => self.cancel(inside).await?,
            CallWish::Interrupt => self.interrupt(inside).await,
            CallWish::ShowDiff => self.show_diff(inside).await?,
            CallWish::Over => {
                self.askers.waiting.clear();
                self.session.log_calls(Upto::End);
                self.show_diff(inside).await?;
            }
        }
        Ok(())
    }

    /// Does what the turn wishes about a question. Gives the wishes that waited for the outcome.
    pub(super) async fn handle_question(&mut self, wish: AskWish, inside: &Inside) -> Result<Vec<Wish>, ClientGone> {
        match wish {
            AskWish::Client { event, .. } => self.emit(*event, inside).await?,
            AskWish::Answer { ask, outcome } => match self.askers.waiting.remove(&ask) {
                Some(Waiter::Call(asker)) => asker.give(outcome),
                Some(Waiter::Variables) => return Ok(self.learn_variables(&outcome)),
                None => {}
            },
            AskWish::Grant(keys) => self.session.jobs.toolbox.grant(keys),
            AskWish::SaveRule { prefix, note } => match self.session.jobs.toolbox.save_rule(prefix) {
                Ok(notice) => match note {
                    RuleNote::AtOnce => self.session.record_notice(&notice),
                    RuleNote::WithNextRequest => {
                        let draft = self.session.take_notice(&notice);
                        self.events.push_back(TurnEvent::Attached(draft));
                    }
                },
                Err(message) => self.emit(EventMessage::Warning { message }, inside).await?,
            },
            AskWish::Ignore(key) => tracing::warn!(?key, "an answer to no open question is ignored"),
        }
        Ok(Vec::new())
    }

    /// Takes over the variables that a person gave. Gives the wishes that waited for them.
    fn learn_variables(&mut self, outcome: &AskOutcome) -> Vec<Wish> {
        if let AskOutcome::Answered(ClientAnswer::Answers(answers)) = outcome {
            self.session.learn_variables(answers);
        }
        let situation = self.session.situation(&self.input.id);
        self.session.jobs.set_situation(situation);
        std::mem::take(&mut self.held)
    }

    /// Asks for variables that an input needs, once in a turn. Gives whether the input has to wait for them.
    pub(super) fn ask_for_variables(&mut self, inputs: &[UserInput]) -> bool {
        if std::mem::replace(&mut self.has_asked_for_variables, true) {
            return false;
        }
        let Some(question) = self.session.variable_question(&self.input.id, inputs) else {
            if self.session.has_skill_variables() {
                let situation = self.session.situation(&self.input.id);
                self.session.jobs.set_situation(situation);
            }
            return false;
        };
        let (key, event) =
            (AskKey::Question(self.input.id.clone()), Box::new(EventMessage::RequestUserInput(question)));
        let (ask, question) = (self.askers.add(Waiter::Variables), ClientQuestion { key, event, grants: Vec::new() });
        self.events.push_back(TurnEvent::Call(CallEvent::Asked { ask, question }));
        true
    }

    /// Takes what a call says. Gives the event for the turn, if it is one.
    pub(super) async fn heard(&mut self, message: FromTool, inside: &Inside) -> Result<Option<TurnEvent>, ClientGone> {
        Ok(Some(match message {
            FromTool::Event(event) => TurnEvent::Call(CallEvent::Event(Box::new(event))),
            FromTool::Diff => TurnEvent::Call(CallEvent::Patched),
            FromTool::Finished { index, answer } => TurnEvent::Call(CallEvent::Finished { index, answer }),
            FromTool::Ask(Asking { question, asker }) => {
                TurnEvent::Call(CallEvent::Asked { ask: self.askers.add(Waiter::Call(asker)), question })
            }
            FromTool::Image(path) => TurnEvent::Attached(self.session.attached_image(&path)),
            FromTool::UserCommandEnded { call_id, record } => {
                self.session.log_user_command(&call_id);
                match &self.user_command {
                    Some(own) if *own == call_id => TurnEvent::UserCommandEnded(record),
                    _ => TurnEvent::Attached(record),
                }
            }
            FromTool::SessionEvent(event) => {
                self.emit_as("", event, inside).await?;
                return Ok(None);
            }
            FromTool::Notice(notice) => {
                self.session.record_notice(&notice);
                return Ok(None);
            }
            FromTool::Snapshot(commit) => {
                self.session.record_snapshot(commit);
                return Ok(None);
            }
        }))
    }

    /// Stops the calls of the reply. Clients see what the calls said last; answers and questions are forgotten with them.
    async fn cancel(&mut self, inside: &Inside) -> Result<(), ClientGone> {
        let (last, _) = self.session.jobs.stop().await;
        self.session.log_calls(Upto::End);
        self.events.clear();
        for message in last {
            let is_of_person = matches!(message, FromTool::UserCommandEnded { .. });
            match self.heard(message, inside).await? {
                Some(TurnEvent::Call(CallEvent::Event(event))) => self.emit(*event, inside).await?,
                Some(TurnEvent::Call(CallEvent::Patched)) => self.show_diff(inside).await?,
                event => self.events.extend(event.filter(|_| is_of_person)),
            }
        }
        // No call waits any more.
        self.askers.waiting.clear();
        Ok(())
    }

    /// Stops everything, and reports that to the turn behind what was said meanwhile.
    async fn interrupt(&mut self, inside: &Inside) {
        self.is_interrupted = true;
        self.session.note_interruption();
        let mut said = self.session.jobs.break_user_commands().await;
        let (last, running) = self.session.jobs.stop().await;
        said.extend(last);
        said.extend(self.session.jobs.end_terminals().await);
        for message in said {
            // No further request of this turn could show it to the model.
            if let FromTool::UserCommandEnded { call_id, record } = &message {
                self.session.log_user_command(call_id);
                self.session.record_draft(record);
                continue;
            }
            if let Ok(Some(event)) = self.heard(message, inside).await {
                self.events.push_back(event);
            }
        }
        self.events.push_back(TurnEvent::Interrupted { running });
    }

    /// Shows what the patches of this turn changed so far, if they changed something.
    async fn show_diff(&mut self, inside: &Inside) -> Result<(), ClientGone> {
        if let Some(unified_diff) = self.session.jobs.toolbox.turn_diff() {
            self.emit(EventMessage::TurnDiff { unified_diff }, inside).await?;
        }
        Ok(())
    }
}
