//! The driver: does what a turn wishes, waits, and reports back. The only code that awaits.

use std::collections::VecDeque;
use std::future::Future;
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use pellucid_engine::call;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::Dropped;
use pellucid_engine::facts::Facts;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::turn::Fact;
use pellucid_engine::turn::FirstRetry;
use pellucid_engine::turn::Pause;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::Turn;
use pellucid_engine::turn::TurnSettings;
use pellucid_engine::turn::Wish;
use pellucid_model::Ask;
use pellucid_model::Reply;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_tools::NoOutcome;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::door::FaceGone;
use crate::door::Inside;
use crate::memory;
use crate::memory::Remembered;
use crate::metadata;
use crate::metadata::Repositories;
use crate::session::AskKind;
use crate::session::Session;
use crate::session::TurnHeaders;

/// How long a further request waits for git. Without an answer the header is sent as it was.
const GIT_WAIT: Duration = Duration::from_millis(300);

/// What starts a turn.
#[derive(Debug)]
pub(crate) struct TurnInput {
    pub id: TurnId,
    pub task: Task,
    pub items: Vec<UserInput>,
    pub output_schema: Option<Value>,
}

/// What a turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Answering the person.
    Answer,
    /// Summarising the history.
    Compact,
}

/// Runs a turn to its end.
pub(crate) async fn drive(session: &mut Session, input: TurnInput, inside: &mut Inside) -> Result<(), FaceGone> {
    let stood = match input.task {
        Task::Answer => session.stand(&input.items),
        Task::Compact => Ok(Vec::new()),
    };
    if input.task == Task::Answer && stood.is_ok() {
        session.begin_turn();
    }
    let facts = &session.setup.gathered.facts;
    let settings = TurnSettings {
        session_id: session.setup.session_id.clone(),
        turn_id: input.id.clone(),
        model: facts.model.slug.clone(),
        window: facts.model.effective_window(),
        mode: facts.collaboration_mode.mode,
        stream_retries_max: session.setup.provider.stream_retries(),
        compaction_limit: session.compaction_limit().filter(|_| !session.has_memory()),
        summarised_by: session.summarised_by(),
        takeover: session.takeover().filter(|_| !session.has_memory()),
        first_retry: if session.socket_version().is_some() { FirstRetry::Silent } else { FirstRetry::Told },
    };
    let mut turn = Turn::new(settings, std::mem::take(&mut session.meter), &session.setup.pack);
    let frame = session.frame(input.output_schema.clone());
    let mut driver = Driver {
        session,
        frame,
        input,
        request: None,
        waiting: Waiting::Nothing,
        facts: VecDeque::new(),
        git: Git::NotAsked,
        summary: None,
        has_asked: false,
    };
    let is_sent = stood.is_ok() && driver.input.task == Task::Answer;
    let first = match (stood, driver.input.task) {
        (Err(message), _) => turn.refuse(&message),
        (Ok(told), Task::Answer) => {
            let mut wishes = turn.begin(&driver.input.items);
            wishes.splice(1..1, told.into_iter().map(Wish::Emit));
            wishes
        }
        (Ok(_), Task::Compact) => turn.begin_compaction(),
    };
    let end = driver.run(&mut turn, first, inside).await;
    session.setup.model.end_turn();
    session.meter = turn.meter().clone();
    if is_sent {
        session.complete_turn();
    }
    session.end_task();
    end
}

struct Driver<'a> {
    session: &'a mut Session,
    frame: Frame,
    input: TurnInput,
    /// The last request, for asking again.
    request: Option<Request>,
    waiting: Waiting,
    /// Facts that are known already.
    facts: VecDeque<Fact>,
    git: Git,
    /// The summary that is being made.
    summary: Option<Summary>,
    /// Whether the model was asked in this turn.
    has_asked: bool,
}

/// A summary that is being made.
struct Summary {
    compaction: Compaction,
    /// The facts of the model that makes it.
    facts: Facts,
}

/// What the turn waits for.
enum Waiting {
    Nothing,
    Asking(Pin<Box<dyn Future<Output = Result<Reply, ReplyError>> + Send>>),
    Summarising(Pin<Box<dyn Future<Output = Result<Vec<Item>, ReplyError>> + Send>>),
    Reading(Box<Reply>),
    Pausing(Pin<Box<tokio::time::Sleep>>),
    Remembering(Pin<Box<dyn Future<Output = Remembered> + Send>>),
}

/// Something that happened: a fact for the turn, or something that the session needs first.
enum Happened {
    Fact(Fact),
    Remembered(Box<Remembered>),
}

/// What is known of the repository.
enum Git {
    NotAsked,
    Asked(JoinHandle<Repositories>),
    Answered(Repositories),
}

/// Whether the turn goes on.
#[derive(PartialEq)]
enum Flow {
    On,
    Over,
}

impl Driver<'_> {
    async fn run(&mut self, turn: &mut Turn, first: Vec<Wish>, inside: &mut Inside) -> Result<(), FaceGone> {
        let mut wishes = first;
        while self.fulfil(turn, wishes, inside).await? == Flow::On {
            let happened = match self.facts.pop_front() {
                Some(fact) => Happened::Fact(fact),
                None => self.next_fact(inside).await,
            };
            wishes = match happened {
                Happened::Fact(fact) => turn.step(fact),
                Happened::Remembered(remembered) => self.remembered(turn, *remembered, inside).await?,
            };
        }
        Ok(())
    }

    async fn fulfil(&mut self, turn: &Turn, wishes: Vec<Wish>, inside: &Inside) -> Result<Flow, FaceGone> {
        for wish in wishes {
            match wish {
                Wish::Emit(event) => inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?,
                Wish::RecordSteered(inputs) => self.session.record_message(&inputs),
                Wish::RecordInput(inputs) => {
                    for warning in self.session.record_input(&inputs) {
                        inside.events.send(&mut self.session.log, self.input.id.as_str(), warning).await?;
                    }
                }
                Wish::Record(item, origin) => self.session.record(&item, &origin),
                Wish::RecordDraft(draft) => self.session.record_draft(&draft),
                Wish::Note(item, origin) => self.session.transcript.record(&item, &origin),
                Wish::Persist => self.session.log.persist(),
                Wish::LogSummary => self.session.log_summary(),
                Wish::RecordSkills => self.session.record_skills(),
                Wish::AskModel => {
                    let is_first = !std::mem::replace(&mut self.has_asked, true);
                    match self.session.memory_job(&self.frame, is_first) {
                        Some(job) => {
                            let asker = self.session.memory_asker(self.session.own_headers());
                            self.waiting = Waiting::Remembering(Box::pin(memory::remember(job, asker)));
                        }
                        None => self.send(turn, inside).await?,
                    }
                }
                Wish::AskAgain => self.ask(turn, AskKind::LastRequest).await,
                Wish::LeaveWebSocket => self.session.setup.model.leave_socket(),
                Wish::Pause(pause) => {
                    self.waiting = Waiting::Pausing(Box::pin(tokio::time::sleep(with_jitter(pause))));
                }
                Wish::RunTool { index, call } => {
                    self.start_git();
                    self.run_tool(index, &call, inside).await?;
                }
                Wish::CancelTools => self.facts.clear(),
                Wish::Measure(reasoning) => {
                    let input = self.input_text();
                    let unreported = match self.session.fit(Some(&input)) {
                        Some(fit) => usize::try_from(fit.estimate(&self.session.transcript)).unwrap_or(usize::MAX),
                        None => self.session.transcript.tokens_unreported(reasoning),
                    };
                    self.facts.push_back(Fact::Measured { unreported });
                }
                Wish::StartCompaction(summariser) => {
                    let compaction = self.session.compaction(Some(&self.input_text()));
                    let facts = self.session.summary_facts(summariser);
                    if let Some(error) = compaction.failure() {
                        self.facts.push_back(Fact::WindowExceeded(error.clone()));
                    } else if compaction.has_question() {
                        self.summary = Some(Summary { compaction, facts });
                        self.ask_for_summary(turn).await;
                    } else {
                        let rebuilt = self.session.rebuild(compaction, &facts);
                        self.facts.push_back(Fact::Rebuilt(rebuilt));
                    }
                }
                Wish::AskForSummaryAgain => self.ask_for_summary(turn).await,
                Wish::DropOldest => {
                    let summary = self.summary.as_mut();
                    let dropped = summary.map_or(Dropped::Nothing, |summary| summary.compaction.drop_oldest());
                    self.facts.push_back(Fact::OldestDropped(dropped));
                }
                Wish::Replace(items) => {
                    if let Some(summary) = self.summary.take() {
                        let rebuilt = self.session.replace(summary.compaction, items, &summary.facts);
                        self.facts.push_back(Fact::Rebuilt(rebuilt));
                    }
                }
                Wish::Rebuild => {
                    if let Some(summary) = self.summary.take() {
                        let rebuilt = self.session.rebuild(summary.compaction, &summary.facts);
                        self.facts.push_back(Fact::Rebuilt(rebuilt));
                    }
                }
                Wish::Finish => return Ok(Flow::Over),
            }
        }
        Ok(Flow::On)
    }

    /// Takes over what was remembered, and asks the model; or ends the turn, if nothing fits.
    async fn remembered(
        &mut self,
        turn: &mut Turn,
        remembered: Remembered,
        inside: &Inside,
    ) -> Result<Vec<Wish>, FaceGone> {
        match self.session.remembered(remembered) {
            Ok(events) => {
                for event in events {
                    inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                }
                self.send(turn, inside).await?;
                Ok(Vec::new())
            }
            Err(message) => Ok(turn.step(Fact::ReplyFailed(ReplyError::new(ReplyErrorKind::Local, message)))),
        }
    }

    /// Sends a request with everything that is recorded.
    async fn send(&mut self, turn: &Turn, inside: &Inside) -> Result<(), FaceGone> {
        // The earlier request is let go first, so that its bytes can be added to.
        self.request = None;
        self.request = Some(self.session.request(&self.frame));
        for event in self.session.context_events() {
            inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
        }
        self.ask(turn, AskKind::LastRequest).await;
        Ok(())
    }

    /// What the person says in this turn.
    fn input_text(&self) -> String {
        let mut texts = Vec::new();
        for input in &self.input.items {
            if let UserInput::Text { text, .. } = input {
                texts.push(text.as_str());
            }
        }
        texts.join("\n")
    }

    async fn ask_for_summary(&mut self, turn: &Turn) {
        let Some(summary) = &self.summary else {
            return;
        };
        match self.session.summarised_by() {
            SummarisedBy::Model => {
                self.request = Some(summary.compaction.request(&self.session.summary_frame(&summary.facts)));
                self.ask(turn, AskKind::Summary).await;
            }
            SummarisedBy::Provider => {
                let request = self.session.provider_summary_request(&summary.compaction, &summary.facts);
                let (model, headers) = (self.session.setup.model.clone(), self.session.own_headers());
                self.waiting = Waiting::Summarising(Box::pin(async move {
                    match request {
                        Some(request) => model.compact(Ask { body: request.segments, headers, socket: None }).await,
                        None => Ok(Vec::new()),
                    }
                }));
            }
        }
    }

    async fn ask(&mut self, turn: &Turn, kind: AskKind) {
        let Some(request) = &self.request else {
            return;
        };
        let body = request.segments.clone();
        let facts = self.summary.as_ref().map_or(&self.session.setup.gathered.facts, |summary| &summary.facts);
        self.session.log.turn_context(facts, &self.input.id, self.input.output_schema.as_ref());
        let repositories = self.git.take_answer().await;
        let turn_headers =
            TurnHeaders { turn_id: &self.input.id, repositories: &repositories, state: turn.turn_state() };
        let headers = self.session.headers(&turn_headers);
        let socket = self.session.socket_ask(&self.input.id, kind);
        let model = self.session.setup.model.clone();
        self.waiting = Waiting::Asking(Box::pin(async move { model.ask(Ask { body, headers, socket }).await }));
    }

    async fn run_tool(&mut self, index: usize, call: &ToolCall, inside: &Inside) -> Result<(), FaceGone> {
        let answer = match pellucid_tools::run(call) {
            Ok(outcome) => {
                for event in outcome.events {
                    inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                }
                Some(call::answer(call, outcome.answer))
            }
            Err(NoOutcome::Unknown) => Some(call::answer(call, call::unsupported(call))),
            Err(NoOutcome::WrongPayload) => None,
        };
        self.facts.push_back(Fact::ToolFinished { index, answer });
        Ok(())
    }

    /// Waits for whatever comes first: a submission or what the turn waits for.
    async fn next_fact(&mut self, inside: &mut Inside) -> Happened {
        loop {
            tokio::select! {
                biased;
                submission = inside.submissions.recv() => match submission {
                    Some(submission) => match submission.operation {
                        Operation::Interrupt => return interrupted(),
                        Operation::Shutdown => {
                            inside.waiting.push_back(submission);
                            return interrupted();
                        }
                        Operation::ThreadRollback { .. } => {
                            let error = EventMessage::Error {
                                message: "Cannot rollback while a turn is in progress.".to_owned(),
                                codex_error_info: Some(ErrorInfo::ThreadRollbackFailed),
                            };
                            if inside.events.send(&mut self.session.log, submission.id.as_str(), error).await.is_err() {
                                return interrupted();
                            }
                        }
                        Operation::UserInput { items, .. } if items.is_empty() => {}
                        Operation::UserInput { items, .. } => return Happened::Fact(Fact::Steered(items)),
                        Operation::OverrideTurnContext(_) | Operation::Compact => {
                            inside.waiting.push_back(submission);
                        }
                    },
                    // The face is gone; nobody would see the answer.
                    None => return interrupted(),
                },
                happened = self.waiting.next() => return happened,
            }
        }
    }

    fn start_git(&mut self) {
        if matches!(self.git, Git::NotAsked) {
            let cwd = self.session.setup.gathered.facts.cwd.clone();
            self.git = Git::Asked(tokio::task::spawn_blocking(move || metadata::repositories(cwd.as_ref())));
        }
    }
}

fn interrupted() -> Happened {
    Happened::Fact(Fact::Interrupted { running: Vec::new() })
}

impl Waiting {
    async fn next(&mut self) -> Happened {
        loop {
            match self {
                Self::Nothing => pending::<()>().await,
                Self::Asking(reply) => match reply.await {
                    Ok(reply) => *self = Self::Reading(Box::new(reply)),
                    Err(error) => return self.over(Fact::ReplyFailed(error)),
                },
                Self::Summarising(items) => {
                    let fact = items.await.map_or_else(Fact::ReplyFailed, Fact::Summarised);
                    return self.over(fact);
                }
                Self::Reading(reply) => match reply.next().await {
                    Some(Ok(event @ ReplyEvent::Completed { .. })) => return self.over(Fact::Reply(event)),
                    Some(Ok(event)) => return Happened::Fact(Fact::Reply(event)),
                    Some(Err(error)) => return self.over(Fact::ReplyFailed(error)),
                    None => {
                        let error = ReplyError::stream("stream closed before response.completed");
                        return self.over(Fact::ReplyFailed(error));
                    }
                },
                Self::Pausing(sleep) => {
                    sleep.await;
                    return self.over(Fact::PauseOver);
                }
                Self::Remembering(remembering) => {
                    let remembered = remembering.await;
                    *self = Self::Nothing;
                    return Happened::Remembered(Box::new(remembered));
                }
            }
        }
    }

    fn over(&mut self, fact: Fact) -> Happened {
        *self = Self::Nothing;
        Happened::Fact(fact)
    }
}

impl Git {
    /// What is known by now; waits a little if the question is open.
    async fn take_answer(&mut self) -> Repositories {
        if let Self::Asked(asked) = self
            && let Ok(answer) = timeout(GIT_WAIT, asked).await
        {
            *self = Self::Answered(answer.unwrap_or_default());
        }
        match self {
            Self::Answered(repositories) => repositories.clone(),
            Self::NotAsked | Self::Asked(_) => Repositories::new(),
        }
    }
}

/// A pause, a tenth longer or shorter, so that many clients do not come back at once.
fn with_jitter(pause: Pause) -> Duration {
    match pause {
        Pause::Exactly(duration) => duration,
        Pause::Backoff { .. } => {
            let random = uuid::Uuid::new_v4().as_u128() % 2_001;
            let share = 0.9 + (random as f64) / 10_000.0;
            pause.base().mul_f64(share)
        }
    }
}
