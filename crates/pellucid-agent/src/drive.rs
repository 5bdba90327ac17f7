//! The driver: does what a turn wishes, waits for the model, the calls and the client, and reports back. It decides nothing
//! that the turn decides, and the turn never awaits.

mod calls;
mod requests;
mod submissions;
mod summary;
mod waiting;

use std::collections::VecDeque;
use std::time::Duration;

use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::turn::RetryDelay;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::Wish;
use pellucid_engine::turn::compacting::CompactionWish;
use pellucid_engine::turn::questions::Questions;
use pellucid_model::ProviderSummary;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use serde_json::Value;

use calls::Askers;
use summary::Summary;
use waiting::Git;
use waiting::Happened;
use waiting::Waiting;

use crate::door::ClientGone;
use crate::door::Inside;
use crate::session::Session;

/// What starts a turn.
#[derive(Debug)]
pub(crate) struct TurnInput {
    pub id: TurnId,
    pub task: Task,
    pub items: Vec<UserInput>,
    pub output_schema: Option<Value>,
}

/// What a turn is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Answering what the person said.
    Answer,
    /// Making the history shorter.
    Compact,
    /// Running this command of the person.
    UserCommand(String),
}

/// Runs a turn to its end.
pub(crate) async fn drive(session: &mut Session, input: TurnInput, inside: &mut Inside) -> Result<(), ClientGone> {
    // Before anything of the project is read again.
    for aside in session.jobs.toolbox.take_aside() {
        let warning = EventMessage::Warning { message: aside.to_string() };
        inside.events.send(&mut session.log, input.id.as_str(), warning).await?;
    }
    let mut stood = match input.task {
        Task::Answer => session.prepare_input(&input.items),
        Task::Compact | Task::UserCommand(_) => Ok(Vec::new()),
    };
    match input.task {
        Task::Answer if stood.is_ok() => {
            session.begin_turn();
            stood = stood.map(|events| events.into_iter().chain(session.take_events()).collect());
        }
        Task::UserCommand(_) => session.record_due_context(),
        Task::Answer | Task::Compact => {}
    }
    session.events_are_about(&input.id, matches!(input.task, Task::Compact));
    let settings = session.turn_settings(&input.id);
    session.exchange_servers().await;
    session.learn_server_tools();
    if stood.is_ok() && input.task == Task::Answer {
        session.record_changed_resources();
    }
    let questions = Questions::new(session.setup.origin.audience(), session.jobs.toolbox.grants());
    let mut turn =
        RunningTurn::new(settings, session.conversation.take_meter(), &session.setup.pack).with_questions(questions);
    let frame = session.frame(input.output_schema.clone());
    session.jobs.begin_turn(session.situation(&input.id));
    let mut driver = Driver {
        session,
        frame,
        input,
        request: None,
        waiting: Waiting::Nothing,
        events: VecDeque::new(),
        git: Git::NotAsked,
        summary: None,
        askers: Askers::default(),
        is_interrupted: false,
        has_asked: false,
        has_asked_for_variables: false,
        has_asked_servers: false,
        held: Vec::new(),
        user_command: None,
    };
    let is_sent = stood.is_ok() && driver.input.task == Task::Answer;
    let first = match (stood, &driver.input.task) {
        (Err(message), _) => turn.refuse(&message),
        (Ok(told), Task::Answer) => {
            let mut wishes = turn.begin(&driver.input.items);
            wishes.splice(1..1, told.into_iter().map(Wish::Emit));
            wishes
        }
        (Ok(_), Task::Compact) => turn.begin_compaction(),
        (Ok(_), Task::UserCommand(script)) => {
            driver.user_command = Some(driver.session.jobs.start_user_command(script.clone()));
            turn.begin_user_command()
        }
    };
    let end = driver.run(&mut turn, first, inside).await;
    session.setup.model.end_turn();
    session.conversation.put_meter(turn.meter().clone());
    if is_sent {
        session.complete_turn();
    }
    session.end_task();
    end
}

struct Driver<'a> {
    session: &'a mut Session,
    /// The calls that wait for the outcomes of questions.
    askers: Askers,
    /// Whether everything was stopped. Then the turn records its end even if no client is left to see it.
    is_interrupted: bool,
    /// The command of the person that the turn is for.
    user_command: Option<String>,
    frame: Frame,
    input: TurnInput,
    /// The last request, for asking again.
    request: Option<Request>,
    waiting: Waiting,
    /// Facts that are known already.
    events: VecDeque<TurnEvent>,
    git: Git,
    /// The summary that is being made.
    summary: Option<Summary>,
    /// Whether the model was asked in this turn.
    has_asked: bool,
    /// Whether the person was asked for variables in this turn.
    has_asked_for_variables: bool,
    /// Whether servers were asked for what the input wants of them.
    has_asked_servers: bool,
    /// Wishes that wait for an answer of the person, or for servers.
    held: Vec<Wish>,
}

/// Whether the turn continues.
#[derive(PartialEq)]
enum Flow {
    On,
    Over,
}

impl Driver<'_> {
    async fn run(&mut self, turn: &mut RunningTurn, first: Vec<Wish>, inside: &mut Inside) -> Result<(), ClientGone> {
        let mut wishes = first;
        while self.fulfil(turn, wishes, inside).await? == Flow::On {
            let happened = match self.events.pop_front() {
                Some(event) => Happened::Event(event),
                None => self.next(inside).await?,
            };
            if let Happened::Event(TurnEvent::Reply(event)) = &happened
                && let Some(event) = self.session.note_reply(event)
            {
                self.emit(event, inside).await?;
            }
            if let Happened::Event(TurnEvent::ReplyFailed(error)) = &happened {
                self.session.note_failure(error);
            }
            wishes = match happened {
                Happened::Event(event) => turn.step(event),
                Happened::Remembered(remembered) => self.remembered(turn, *remembered, inside).await?,
                Happened::Summarised(ProviderSummary { items, usage }) => {
                    if let Some(event) = self.session.note_summary(usage.as_ref()) {
                        self.emit(event, inside).await?;
                    }
                    turn.step(TurnEvent::Summarised(items))
                }
                Happened::ServersStarted => self.servers_started(turn, inside).await?,
                Happened::ServersGave(gave) => self.servers_gave(turn, gave),
            };
        }
        Ok(())
    }

    async fn fulfil(&mut self, turn: &RunningTurn, wishes: Vec<Wish>, inside: &Inside) -> Result<Flow, ClientGone> {
        let mut wishes = VecDeque::from(wishes);
        while let Some(wish) = wishes.pop_front() {
            if self.has_to_wait(&wish) {
                self.held = [wish].into_iter().chain(wishes).collect();
                return Ok(Flow::On);
            }
            match wish {
                Wish::Emit(event) => self.emit(event, inside).await?,
                Wish::RecordSteered(inputs) => self.session.record_message(&inputs),
                Wish::RecordInput(inputs) => self.record_input(&inputs, inside).await?,
                Wish::Record(item, origin) => {
                    self.session.record(&item, &origin);
                    self.session.log_answered(&item);
                }
                Wish::RecordDraft(draft) => self.session.record_draft(&draft),
                Wish::RecordSkills => self.session.record_skills(),
                Wish::Persist => self.session.log.persist(),
                Wish::AskModel => {
                    if !self.wait_for_servers() {
                        self.ask_model(turn, inside).await?;
                    }
                }
                Wish::AskAgain => self.ask_again(turn).await,
                Wish::Pause(pause) => {
                    self.waiting = Waiting::Pausing(Box::pin(tokio::time::sleep(with_jitter(pause))));
                }
                Wish::LeaveWebSocket => self.session.setup.model.leave_socket(),
                Wish::Call(wish) => self.handle_calls(wish, inside).await?,
                Wish::Ask(wish) => wishes.extend(self.handle_question(wish, inside).await?),
                Wish::Measure(reasoning) => {
                    let unreported = self.session.measure(&input_text(&self.input.items), reasoning);
                    self.events.push_back(TurnEvent::Measured { unreported });
                }
                Wish::Compact(wish) => self.compact(turn, wish, inside).await?,
                Wish::KeepCutOff(text) => {
                    self.session.keep_cut_off(&self.input.id, &text);
                    self.emit(EventMessage::ContextCutOff { text }, inside).await?;
                }
                Wish::Notify(last_message) => self.session.notify(&self.input.id, last_message.as_deref()),
                Wish::Finish => return Ok(Flow::Over),
            }
        }
        Ok(Flow::On)
    }

    /// Whether a wish has to wait for an answer of the person, or for servers that are starting.
    fn has_to_wait(&mut self, wish: &Wish) -> bool {
        match wish {
            // Whether a name means a skill depends on the apps that there are.
            Wish::RecordInput(inputs) => {
                (self.session.input_needs_servers(inputs) && self.wait_for_servers()) || self.ask_for_variables(inputs)
            }
            Wish::Measure(_) if self.ask_servers() => true,
            // What is measured and asked for must not depend on how quickly servers start.
            Wish::Measure(_) | Wish::Compact(CompactionWish::Start(_)) => {
                self.session.summary_needs_tools() && self.wait_for_servers()
            }
            _ => false,
        }
    }

    async fn record_input(&mut self, inputs: &[UserInput], inside: &Inside) -> Result<(), ClientGone> {
        let mut warnings = self.session.record_input(inputs);
        warnings.extend(self.session.take_events());
        for warning in warnings {
            self.emit(warning, inside).await?;
        }
        if let Some(plan) = self.session.ghost_plan() {
            self.session.jobs.take_snapshot(plan);
        }
        Ok(())
    }

    /// Shows clients an event of this turn.
    async fn emit(&mut self, event: EventMessage, inside: &Inside) -> Result<(), ClientGone> {
        let id = self.input.id.clone();
        self.emit_as(id.as_str(), event, inside).await
    }

    /// Shows clients an event under another id. Once everything was stopped, a client that has gone is no error.
    async fn emit_as(&mut self, id: &str, event: EventMessage, inside: &Inside) -> Result<(), ClientGone> {
        let sent = inside.events.send(&mut self.session.log, id, event).await;
        if self.is_interrupted { Ok(()) } else { sent }
    }

    /// Shows clients the events that the session has for them.
    async fn tell(&mut self, inside: &Inside) -> Result<(), ClientGone> {
        for event in self.session.take_events() {
            self.emit(event, inside).await?;
        }
        Ok(())
    }

    /// Waits for what comes first: a submission, what the turn waits for, or a call. What the model has said already comes
    /// before what its calls report.
    async fn next(&mut self, inside: &mut Inside) -> Result<Happened, ClientGone> {
        loop {
            let event = tokio::select! {
                biased;
                submission = inside.submissions.recv() => self.submitted(submission, inside).await?,
                Some(question) = inside.looks.recv() => {
                    question.in_turn(self.session);
                    None
                }
                happened = self.waiting.next() => return Ok(happened),
                message = self.session.jobs.hear() => self.heard(message, inside).await?,
            };
            if let Some(event) = event {
                return Ok(Happened::Event(event));
            }
        }
    }
}

/// What a person says in a turn.
pub(crate) fn input_text(items: &[UserInput]) -> String {
    let mut texts = Vec::new();
    for input in items {
        if let UserInput::Text { text, .. } = input {
            texts.push(text.as_str());
        }
    }
    texts.join("\n")
}

/// A pause, a tenth longer or shorter, so that many clients do not come back at once.
fn with_jitter(pause: RetryDelay) -> Duration {
    match pause {
        RetryDelay::Exactly(duration) => duration,
        RetryDelay::Backoff { .. } => {
            let random = uuid::Uuid::new_v4().as_u128() % 2_001;
            let share = 0.9 + (random as f64) / 10_000.0;
            pause.base().mul_f64(share)
        }
    }
}
