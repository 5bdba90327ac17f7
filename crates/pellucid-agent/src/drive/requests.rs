//! The requests of a turn: what has to be known first, sending, and sending once more.

use pellucid_engine::server_input::Given;
use pellucid_engine::server_input::Wanted;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::Wish;
use pellucid_model::Ask;
use pellucid_model::budget::Ticket;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;

use super::Driver;
use super::Task;
use super::waiting::Waiting;
use crate::door::ClientGone;
use crate::door::Inside;
use crate::memory;
use crate::memory::Remembered;
use crate::session::AskKind;
use crate::session::Attempt;
use crate::session::TurnHeaders;

impl Driver<'_> {
    /// Asks the model, after what has to be remembered for it.
    pub(super) async fn ask_model(&mut self, turn: &RunningTurn, inside: &Inside) -> Result<(), ClientGone> {
        self.session.record_before_request();
        if self.session.choose_apps() {
            self.offer_others();
        }
        self.tell(inside).await?;
        let is_first = !std::mem::replace(&mut self.has_asked, true);
        match self.session.memory_job(&self.frame, is_first) {
            Some(job) => {
                let asker = self.session.memory_asker(self.session.own_headers(), &self.input.id);
                self.waiting = Waiting::Remembering(Box::pin(memory::remember(job, asker)));
            }
            None => self.send(turn, inside).await?,
        }
        Ok(())
    }

    /// Begins to wait for servers that are starting. Gives whether there is something to wait for.
    pub(super) fn wait_for_servers(&mut self) -> bool {
        let Some(starting) = self.session.servers_starting() else {
            return false;
        };
        self.waiting = Waiting::Starting(starting);
        true
    }

    /// Takes over what the servers that have started offer. Gives what is wished next, or asks the model.
    pub(super) async fn servers_started(
        &mut self,
        turn: &RunningTurn,
        inside: &Inside,
    ) -> Result<Vec<Wish>, ClientGone> {
        self.session.learn_server_tools();
        self.offer_others();
        if self.held.is_empty() {
            self.ask_model(turn, inside).await?;
        }
        Ok(std::mem::take(&mut self.held))
    }

    /// Asks servers for the prompts and resources that the input wants. Gives whether the turn has to wait.
    pub(super) fn ask_servers(&mut self) -> bool {
        if std::mem::replace(&mut self.has_asked_servers, true) || self.input.task != Task::Answer {
            return false;
        }
        let Some(asking) = self.session.ask_servers(&self.input.items) else {
            return false;
        };
        self.waiting = Waiting::AskingServers(asking);
        true
    }

    /// Takes over what servers gave for the input, or ends the turn.
    pub(super) fn servers_gave(
        &mut self,
        turn: &mut RunningTurn,
        gave: Result<Vec<(Wanted, Given)>, String>,
    ) -> Vec<Wish> {
        let held = std::mem::take(&mut self.held);
        match gave {
            Ok(given) => {
                self.input.items = self.session.place_given(&self.input.items, given);
                turn.replace_input(&self.input.items);
                held
            }
            Err(message) => turn.refuse_input(&message),
        }
    }

    /// Offers other tools than before, from the next request on.
    fn offer_others(&mut self) {
        self.frame = self.session.frame(self.input.output_schema.clone());
        let situation = self.session.situation(&self.input.id);
        self.session.jobs.set_situation(situation);
    }

    /// Writes down under which settings the model is asked.
    pub(super) fn log_context(&mut self) {
        let facts = self.summary.as_ref().map_or(&*self.session.setup.gathered.facts, |summary| summary.facts());
        self.session.log.turn_context(facts, &self.input.id, self.input.output_schema.as_ref());
    }

    /// Takes over what was remembered, and asks the model; or ends the turn, if nothing fits.
    pub(super) async fn remembered(
        &mut self,
        turn: &mut RunningTurn,
        mut remembered: Remembered,
        inside: &Inside,
    ) -> Result<Vec<Wish>, ClientGone> {
        let is_mistake = remembered.result.as_ref().is_err_and(|failure| failure.is_raised);
        let fit = if is_mistake { FailureCode::Other } else { FailureCode::Overflow };
        let code = remembered.failure.take().unwrap_or(fit);
        let remembered = self.session.remembered(remembered);
        self.tell(inside).await?;
        match remembered {
            Ok(events) => {
                for event in events {
                    self.emit(event, inside).await?;
                }
                self.send(turn, inside).await?;
                Ok(Vec::new())
            }
            Err(message) => {
                let error = ReplyError::new(ReplyErrorKind::Local, message);
                Ok(turn.step(TurnEvent::ReplyFailed(error.coded(code))))
            }
        }
    }

    /// Sends a request with everything that is recorded.
    pub(super) async fn send(&mut self, turn: &RunningTurn, inside: &Inside) -> Result<(), ClientGone> {
        self.session.jobs.next_reply();
        // The earlier request is let go first, so that its bytes can be added to.
        self.request = None;
        let request = self.session.request(&self.frame);
        let admitted = self.session.admit(&request);
        self.request = Some(request);
        let ticket = match admitted {
            Ok(ticket) => ticket,
            Err(error) => {
                self.session.take_request_back();
                // The Codex CLI writes it down before it looks for the variable of a key.
                if error.kind == ReplyErrorKind::MissingKey && self.session.setup.provider.env_key.is_some() {
                    self.log_context();
                    self.session.log_not_sent(&self.input.id, "missing_key");
                }
                self.events.push_back(TurnEvent::ReplyFailed(error));
                return Ok(());
            }
        };
        for event in self.session.context_events() {
            self.emit(event, inside).await?;
        }
        self.log_context();
        self.session.log_request(&self.input.id, Attempt::First);
        self.ask(turn, AskKind::LastRequest, ticket).await;
        Ok(())
    }

    /// Sends the last request once more, if the limits allow it.
    pub(super) async fn ask_again(&mut self, turn: &RunningTurn) {
        self.log_context();
        if let Some(ticket) = self.admit_again() {
            self.session.log_request(&self.input.id, Attempt::Again);
            self.ask(turn, AskKind::LastRequest, ticket).await;
        }
    }

    /// Lets the last request out once more, if it may go.
    fn admit_again(&mut self) -> Option<Ticket> {
        let ticket = self.session.admit_again(self.request.as_ref()?);
        ticket.map_err(|error| self.events.push_back(TurnEvent::ReplyFailed(error))).ok()
    }

    /// Sends the request that was made last, and begins to wait for the reply.
    pub(super) async fn ask(&mut self, turn: &RunningTurn, kind: AskKind, ticket: Ticket) {
        let Some(request) = &self.request else {
            return;
        };
        let body = request.segments.clone();
        let repositories = self.git.take_answer().await;
        let turn_headers =
            TurnHeaders { turn_id: &self.input.id, repositories: &repositories, state: turn.turn_state() };
        let headers = self.session.headers(&turn_headers);
        let socket = self.session.socket_ask(&self.input.id, kind);
        let (model, attempts) = (self.session.setup.model.clone(), self.session.attempts());
        let ask = Ask { body, headers, socket, ticket: Some(ticket), attempts };
        self.waiting = Waiting::Asking(Box::pin(async move { model.ask(ask).await }));
        self.session.jobs.expect_commands();
    }
}
