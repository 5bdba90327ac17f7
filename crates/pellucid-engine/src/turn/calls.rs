//! The calls of a turn: begun as the model makes them, answered in their order, stopped together.
//!
//! Calls run while the model is still talking, and a quick call ends before its reply does or after it, as it happens. A call
//! has its cause in its reply, so that it ended, and what a person is asked because of it, is passed on after the reply, in
//! every run in the same order. That a call began and what it prints is passed on at once.

use std::time::Duration;

use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;

use super::Next;
use super::Round;
use super::RunningTurn;
use super::Stage;
use super::Wish;
use super::questions::AskId;
use super::questions::AskKey;
use super::questions::AskOutcome;
use super::questions::AskWish;
use super::questions::ClientAnswer;
use super::questions::ClientQuestion;
use super::questions::Permission;
use crate::call;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::transcript::Draft;
use crate::transcript::DraftPart;

/// Something that a call reports.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvent {
    /// The client is to see this event.
    Event(Box<EventMessage>),
    /// The call applied a patch.
    Patched,
    /// The call asks the client, or the session does before the first request.
    Asked {
        /// The number of the question.
        ask: AskId,
        /// What the call asks.
        question: ClientQuestion,
    },
    /// The call has ended.
    Finished {
        /// Which call, counted within the reply.
        index: usize,
        /// The answer for the model; absent when the tool broke in a way that leaves none.
        answer: Option<Item>,
    },
}

/// What is to be done about calls.
#[derive(Debug, Clone, PartialEq)]
pub enum CallWish {
    /// Run a tool; its answer is reported under this index.
    Run {
        /// Which call, counted within the reply.
        index: usize,
        /// The call as the model made it.
        call: ToolCall,
    },
    /// Stop all calls, because their reply is asked for again or the turn is over.
    Cancel,
    /// Stop all calls and commands of the person, and report the interruption.
    Interrupt,
    /// Show what the patches of this turn changed so far, if they changed something.
    ShowDiff,
    /// All calls of the reply have ended: write down how, and show what patches changed.
    Over,
}

/// A call that has begun.
#[derive(Debug)]
pub(super) struct RunningCall {
    call: ToolCall,
    finished: Option<Option<Item>>,
}

impl RunningTurn {
    /// The model makes a call.
    pub(super) fn call_made(&mut self, item: Item, call: ToolCall) -> Vec<Wish> {
        self.round.answers_needed = true;
        let index = self.round.calls.len();
        self.round.calls.push(RunningCall { call: call.clone(), finished: None });
        vec![Wish::Record(item, Origin::Model), Wish::Call(CallWish::Run { index, call })]
    }

    /// A call reports something, which may have to wait for the end of the reply.
    pub(super) fn call_reported(&mut self, fact: CallEvent) -> Vec<Wish> {
        if self.round.holds_back(&fact) {
            self.round.held_back.push_back(fact);
            return Vec::new();
        }
        self.pass_on(fact)
    }

    fn pass_on(&mut self, fact: CallEvent) -> Vec<Wish> {
        match fact {
            CallEvent::Event(event) => vec![Wish::Emit(*event)],
            CallEvent::Patched => vec![Wish::Call(CallWish::ShowDiff)],
            CallEvent::Asked { ask, question } => {
                self.questions.ask(ask, question).into_iter().map(Wish::Ask).collect()
            }
            CallEvent::Finished { index, answer } => self.call_finished(index, answer),
        }
    }

    /// Passes on what was held back.
    pub(super) fn release(&mut self) -> Vec<Wish> {
        let held_back = std::mem::take(&mut self.round.held_back);
        held_back.into_iter().flat_map(|fact| self.pass_on(fact)).collect()
    }

    /// The client answers a question. It may end the turn with it.
    pub(super) fn answered(&mut self, key: AskKey, answer: ClientAnswer) -> Vec<Wish> {
        let ask_wishes = self.questions.answer(key, answer);
        let ends_turn = ask_wishes.iter().any(is_end_of_turn);
        let mut wishes: Vec<Wish> = ask_wishes.into_iter().map(Wish::Ask).collect();
        if ends_turn {
            wishes.extend(self.interrupt_requested());
        }
        wishes
    }

    fn call_finished(&mut self, index: usize, answer: Option<Item>) -> Vec<Wish> {
        match self.round.calls.get_mut(index) {
            Some(running) if running.finished.is_none() => running.finished = Some(answer),
            _ => return Vec::new(),
        }
        self.settle()
    }

    /// Once the reply is complete, records answers in the order of the calls, then continues or ends the turn.
    pub(super) fn settle(&mut self) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if !self.round.is_complete {
            return wishes;
        }
        while let Some(running) = self.round.calls.get_mut(self.round.n_recorded) {
            let Some(answer) = running.finished.take() else {
                return wishes;
            };
            if let Some(answer) = answer {
                wishes.push(Wish::Record(answer, Origin::Tool { name: running.call.name.as_str().into() }));
            }
            running.finished = Some(None);
            self.round.n_recorded += 1;
        }
        let round = std::mem::take(&mut self.round);
        self.retries = 0;
        self.questions.forget();
        wishes.push(Wish::Call(CallWish::Over));
        if round.answers_needed || !self.pending.is_empty() {
            self.stage = Stage::Measuring(Next::FollowUp);
            wishes.push(Wish::Measure(self.reasoning));
        } else {
            wishes.push(Wish::Notify(round.last_message.clone()));
            wishes.extend(self.complete(round.last_message));
        }
        wishes
    }

    /// Stops the calls of a reply that broke off. What they reported for the client is shown; their answers and questions
    /// are forgotten.
    pub(super) fn forget_calls(&mut self) -> Vec<Wish> {
        if self.round.calls.is_empty() {
            return Vec::new();
        }
        self.questions.forget();
        let shown = std::mem::take(&mut self.round.held_back).into_iter().filter_map(|fact| match fact {
            CallEvent::Event(event) => Some(Wish::Emit(*event)),
            CallEvent::Patched => Some(Wish::Call(CallWish::ShowDiff)),
            CallEvent::Asked { .. } | CallEvent::Finished { .. } => None,
        });
        shown.chain([Wish::Call(CallWish::Cancel)]).collect()
    }

    /// The turn has to end now, because the client says so or is gone. From here on nothing is asked.
    pub(super) fn interrupt_requested(&mut self) -> Vec<Wish> {
        self.questions.close();
        let mut wishes = vec![Wish::Call(CallWish::Interrupt)];
        wishes.extend(self.release());
        wishes
    }

    /// Everything was stopped. Calls that ended in time keep their answers.
    pub(super) fn interrupted(&mut self, running: &[(usize, Duration)]) -> Vec<Wish> {
        self.questions.close();
        let mut wishes = self.release();
        wishes.push(Wish::Call(CallWish::Cancel));
        wishes.extend(self.cut_off());
        for (index, open) in self.round.calls.iter_mut().enumerate().skip(self.round.n_recorded) {
            let after = running.iter().find(|(n, _)| *n == index).map(|(_, after)| *after);
            let answer = match open.finished.take() {
                Some(answer) => answer,
                None => Some(call::answer(&open.call, call::aborted(&open.call, after.unwrap_or_default()))),
            };
            if let Some(answer) = answer {
                wishes.push(Wish::Record(answer, Origin::Tool { name: open.call.name.as_str().into() }));
            }
        }
        let mut note = vec![Fragment::layout("<turn_aborted>\n")];
        note.extend(self.aborted_note.iter().cloned());
        note.push(Fragment::layout("\n</turn_aborted>"));
        wishes.push(Wish::RecordDraft(Draft {
            part: "turn_aborted".into(),
            role: "user",
            parts: vec![DraftPart::Text(note)],
        }));
        wishes.push(Wish::Emit(EventMessage::TurnAborted {
            turn_id: self.settings.turn_id.clone(),
            reason: AbortReason::Interrupted,
        }));
        wishes.push(Wish::Finish);
        self.is_over = true;
        wishes
    }
}

impl Round {
    /// Whether a report of a call has to wait for the end of the reply.
    fn holds_back(&self, fact: &CallEvent) -> bool {
        if self.is_complete || self.calls.is_empty() {
            return false;
        }
        match fact {
            CallEvent::Event(event) => ended_call(event).is_some_and(|call_id| self.made(call_id)),
            CallEvent::Asked { question, .. } => {
                matches!(&question.key, AskKey::Approval(call_id) if self.made(call_id))
            }
            CallEvent::Finished { .. } => true,
            // The diff is shown because of the patch whose end is held back.
            CallEvent::Patched => !self.held_back.is_empty(),
        }
    }

    fn made(&self, call_id: &str) -> bool {
        self.calls.iter().any(|running| running.call.call_id == call_id)
    }
}

/// Whether a client answered so that the turn has to end.
fn is_end_of_turn(wish: &AskWish) -> bool {
    let AskWish::Answer { outcome: outcome @ AskOutcome::Answered(_), .. } = wish else {
        return false;
    };
    outcome.permission() == Permission::TurnEnds
}

/// The call whose end an event reports.
fn ended_call(event: &EventMessage) -> Option<&str> {
    match event {
        EventMessage::ExecCommandEnd(end) => Some(&end.begin.call_id),
        EventMessage::PatchApplyEnd(end) => Some(&end.call_id),
        EventMessage::McpToolCallEnd(end) => Some(&end.call_id),
        _ => None,
    }
}
