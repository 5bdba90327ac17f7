//! The driver: does what a turn wishes, waits, and reports back. The turn itself never awaits.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::future::Future;
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::Dropped;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::turn::Fact;
use pellucid_engine::turn::Pause;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::Turn;
use pellucid_engine::turn::Wish;
use pellucid_model::Ask;
use pellucid_model::ProviderSummary;
use pellucid_model::Reply;
use pellucid_model::budget::Ticket;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::failure::Failure;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_tasks::Task as OwnedTask;
use pellucid_tasks::contained;
use pellucid_tools::desk::Answer;
use pellucid_tools::desk::AskKey;
use pellucid_tools::desk::FromTool;
use pellucid_tools::desk::Question;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::door::FaceGone;
use crate::door::Inside;
use crate::held_back::HeldBack;
use crate::memory;
use crate::memory::Remembered;
use crate::metadata;
use crate::metadata::Repositories;
use crate::open_notes::Upto;
use crate::session::AskKind;
use crate::session::Attempt;
use crate::session::Session;
use crate::session::SummaryRequest;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Answering the person.
    Answer,
    /// Summarising the history.
    Compact,
    /// Running this command of the person.
    UserCommand(String),
}

/// Runs a turn to its end.
pub(crate) async fn drive(session: &mut Session, input: TurnInput, inside: &mut Inside) -> Result<(), FaceGone> {
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
            stood = stood.map(|told| told.into_iter().chain(session.take_events()).collect());
        }
        Task::UserCommand(_) => session.record_due_context(),
        Task::Answer | Task::Compact => {}
    }
    let settings = session.turn_settings(&input.id);
    session.learn_server_tools();
    let mut turn = Turn::new(settings, session.conversation.take_meter(), &session.setup.pack);
    let frame = session.frame(input.output_schema.clone());
    session.jobs.begin_turn(session.situation(&input.id));
    let mut driver = Driver {
        session,
        frame,
        input,
        request: None,
        waiting: Waiting::Nothing,
        facts: VecDeque::new(),
        git: Git::NotAsked,
        summary: None,
        asked: BTreeMap::new(),
        held_back: HeldBack::default(),
        is_unwanted: false,
        has_asked: false,
        has_asked_for_variables: false,
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
    /// Questions that are open.
    asked: BTreeMap<AskKey, oneshot::Sender<Answer>>,
    held_back: HeldBack,
    /// Whether a person answered a question by ending the turn.
    is_unwanted: bool,
    /// The command of the person that the turn is for.
    user_command: Option<String>,
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
    /// Whether the person was asked for variables in this turn.
    has_asked_for_variables: bool,
    /// What is wished once they have answered.
    held: Vec<Wish>,
}

/// A summary that is being made.
struct Summary {
    compaction: Compaction,
    /// The facts of the model that makes it.
    facts: Facts,
    /// What was given so far, where a summary that fails leaves no trace.
    reply: Option<Vec<(Item, Origin)>>,
    /// How many items the request had that was reported to clients last.
    n_told: Option<usize>,
}

/// What the turn waits for.
enum Waiting {
    Nothing,
    Asking(Pin<Box<dyn Future<Output = Result<Reply, ReplyError>> + Send>>),
    Summarising(Pin<Box<dyn Future<Output = Result<ProviderSummary, ReplyError>> + Send>>),
    Reading(Box<Reply>),
    Pausing(Pin<Box<tokio::time::Sleep>>),
    Remembering(Pin<Box<dyn Future<Output = Remembered> + Send>>),
    Starting(Pin<Box<dyn Future<Output = ()> + Send>>),
    Answering(Pin<Box<dyn Future<Output = Option<Answer>> + Send>>),
}

/// Something that happened: a fact for the turn, or something that the session needs first.
enum Happened {
    Fact(Fact),
    Remembered(Box<Remembered>),
    Summarised(ProviderSummary),
    ServersStarted,
    /// A person answered the question for variables, or will not.
    Answered(Box<Option<Answer>>),
}

/// What is known of the repository.
enum Git {
    NotAsked,
    Asked(OwnedTask<Repositories>),
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
                None => self.next_fact(inside).await?,
            };
            if let Happened::Fact(Fact::Reply(event)) = &happened
                && let Some(event) = self.session.note_reply(event)
            {
                inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
            }
            if let Happened::Fact(Fact::ReplyFailed(error)) = &happened {
                self.session.note_failure(error);
            }
            wishes = match happened {
                Happened::Fact(fact) => turn.step(fact),
                Happened::Remembered(remembered) => self.remembered(turn, *remembered, inside).await?,
                Happened::Summarised(ProviderSummary { items, usage }) => {
                    if let Some(event) = self.session.note_summary(usage.as_ref()) {
                        inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                    }
                    turn.step(Fact::Summarised(items))
                }
                Happened::ServersStarted => self.servers_started(turn, inside).await?,
                Happened::Answered(answer) => {
                    if let Some(Answer::Answers(answers)) = answer.as_ref() {
                        self.session.learn_variables(answers);
                    }
                    let situation = self.session.situation(&self.input.id);
                    self.session.jobs.set_situation(situation);
                    std::mem::take(&mut self.held)
                }
            };
        }
        Ok(())
    }

    async fn fulfil(&mut self, turn: &Turn, wishes: Vec<Wish>, inside: &Inside) -> Result<Flow, FaceGone> {
        let mut wishes = wishes.into_iter();
        while let Some(wish) = wishes.next() {
            match wish {
                Wish::Emit(event) => inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?,
                Wish::RecordSteered(inputs) => self.session.record_message(&inputs),
                Wish::RecordInput(inputs) if self.ask_for_variables(&inputs) => {
                    self.held = [Wish::RecordInput(inputs)].into_iter().chain(wishes).collect();
                    return Ok(Flow::On);
                }
                Wish::RecordInput(inputs) => {
                    let mut told = self.session.record_input(&inputs);
                    told.extend(self.session.take_events());
                    for warning in told {
                        inside.events.send(&mut self.session.log, self.input.id.as_str(), warning).await?;
                    }
                    if let Some(plan) = self.session.ghost_plan() {
                        self.session.jobs.take_snapshot(plan);
                    }
                }
                Wish::Record(item, origin) => {
                    self.session.record(&item, &origin);
                    self.session.log_answered(&item);
                }
                Wish::RecordDraft(draft) => self.session.record_draft(&draft),
                Wish::Note(item, origin) => match self.summary.as_mut().and_then(|summary| summary.reply.as_mut()) {
                    Some(reply) => reply.push((item, origin)),
                    None => self.session.note(&item, &origin),
                },
                Wish::Persist => self.session.log.persist(),
                Wish::LogSummary => self.session.log_summary(),
                Wish::RecordSkills => self.session.record_skills(),
                Wish::AskModel => {
                    if !self.wait_for_servers() {
                        self.ask_model(turn, inside).await?;
                    }
                }
                Wish::AskAgain => {
                    self.log_context();
                    if let Some(ticket) = self.admit_again() {
                        self.session.log_request(&self.input.id, Attempt::Again);
                        self.ask(turn, AskKind::LastRequest, ticket).await;
                    }
                }
                Wish::KeepCutOff(text) => {
                    self.session.keep_cut_off(&self.input.id, &text);
                    let event = EventMessage::ContextCutOff { text };
                    inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                }
                Wish::LeaveWebSocket => self.session.setup.model.leave_socket(),
                Wish::Pause(pause) => {
                    self.waiting = Waiting::Pausing(Box::pin(tokio::time::sleep(with_jitter(pause))));
                }
                Wish::RunTool { index, call } => {
                    self.held_back.expect(&call.call_id);
                    self.start_git();
                    self.session.touch(&call);
                    self.session.jobs.start(index, call);
                    // What is quick is done before the reply goes on.
                    tokio::task::yield_now().await;
                }
                Wish::CancelTools => {
                    let (last, _) = self.session.jobs.stop().await;
                    self.session.log_calls(Upto::End);
                    self.facts.clear();
                    for message in self.held_back.take().into_iter().chain(last) {
                        // What the calls say is forgotten with them; what the person ran is not.
                        let is_kept = matches!(message, FromTool::UserCommandEnded { .. });
                        let fact = self.heard(message, inside).await?;
                        self.facts.extend(fact.filter(|_| is_kept));
                    }
                }
                Wish::TellDiff => {
                    self.session.log_calls(Upto::End);
                    self.tell_diff(inside).await?;
                }
                // What is measured and asked for must not depend on how quickly servers start.
                wish @ (Wish::Measure(_) | Wish::StartCompaction(_))
                    if self.session.summary_needs_tools() && self.wait_for_servers() =>
                {
                    self.held = [wish].into_iter().chain(wishes).collect();
                    return Ok(Flow::On);
                }
                Wish::Measure(reasoning) => {
                    let unreported = self.session.measure(&input_text(&self.input.items), reasoning);
                    self.facts.push_back(Fact::Measured { unreported });
                }
                Wish::StartCompaction(summariser) => {
                    let compaction = self.session.compaction(Some(&input_text(&self.input.items)));
                    let facts = self.session.summary_facts(summariser);
                    if let Some(error) = compaction.failure() {
                        self.facts.push_back(Fact::WindowExceeded(error.clone()));
                    } else if compaction.has_question() {
                        let is_checked = self.session.compaction_rules().is_checked() && !compaction.is_by_window();
                        let reply = is_checked.then(Vec::new);
                        self.summary = Some(Summary { compaction, facts, reply, n_told: None });
                        if self.session.summarised_by() == SummarisedBy::Model {
                            self.log_context();
                        }
                        self.ask_for_summary(turn, inside).await?;
                    } else {
                        let rebuilt = self.session.rebuild(compaction, &facts);
                        self.facts.push_back(Fact::Rebuilt(rebuilt));
                    }
                }
                Wish::AskForSummaryAgain => {
                    if let Some(reply) = self.summary.as_mut().and_then(|summary| summary.reply.as_mut()) {
                        reply.clear();
                    }
                    self.ask_for_summary(turn, inside).await?;
                }
                Wish::DropHalf => {
                    let summary = self.summary.as_mut();
                    let dropped = summary.map_or(Dropped::Nothing, |summary| summary.compaction.drop_half());
                    self.facts.push_back(Fact::OldestDropped(dropped));
                }
                Wish::SummariseLocally => {
                    if let Some(summary) = self.summary.take() {
                        let rebuilt = self.session.rebuild_locally(summary.compaction, &summary.facts);
                        self.facts.push_back(Fact::Rebuilt(rebuilt));
                        self.tell(inside).await?;
                    }
                }
                Wish::DropOldest => {
                    let summary = self.summary.as_mut();
                    let dropped = summary.map_or(Dropped::Nothing, |summary| summary.compaction.drop_oldest());
                    self.facts.push_back(Fact::OldestDropped(dropped));
                }
                Wish::Replace(items) => {
                    if let Some(summary) = self.summary.take() {
                        let rebuilt = self.session.replace(summary.compaction, items, &summary.facts);
                        self.facts.push_back(Fact::Rebuilt(rebuilt));
                        self.tell(inside).await?;
                    }
                }
                Wish::Rebuild => {
                    let fact = self.summary.take().map(|summary| self.rebuild(summary));
                    self.facts.extend(fact);
                    self.tell(inside).await?;
                }
                Wish::Notify(last_message) => self.session.notify(&self.input.id, last_message.as_deref()),
                Wish::Finish => return Ok(Flow::Over),
            }
        }
        Ok(Flow::On)
    }

    /// Asks the person for variables that an input needs, once in a turn. Gives whether it has to wait.
    fn ask_for_variables(&mut self, inputs: &[UserInput]) -> bool {
        if std::mem::replace(&mut self.has_asked_for_variables, true) {
            return false;
        }
        let question = self.session.variable_question(&self.input.id, inputs);
        let Some(question) = question else {
            if self.session.has_skill_variables() {
                let situation = self.session.situation(&self.input.id);
                self.session.jobs.set_situation(situation);
            }
            return false;
        };
        let (desk, key) = (self.session.jobs.desk(), AskKey::Question(self.input.id.clone()));
        self.waiting =
            Waiting::Answering(Box::pin(async move { desk.ask(EventMessage::RequestUserInput(question), key).await }));
        true
    }

    /// Puts a summary in place of the history, unless it is refused.
    fn rebuild(&mut self, mut summary: Summary) -> Fact {
        let reply = summary.reply.take();
        if let Some(reply) = reply {
            let items: Vec<Item> = reply.iter().map(|(item, _)| item.clone()).collect();
            if let Some(error) = self.session.refusal(&summary.compaction, &items) {
                self.summary = Some(Summary { reply: Some(Vec::new()), ..summary });
                return Fact::SummaryRefused(error);
            }
            for (item, origin) in &reply {
                self.session.note(item, origin);
            }
        }
        Fact::Rebuilt(self.session.rebuild(summary.compaction, &summary.facts))
    }

    /// Tells what the session wants faces to know.
    async fn tell(&mut self, inside: &Inside) -> Result<(), FaceGone> {
        for event in self.session.take_events() {
            inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
        }
        Ok(())
    }

    /// Asks the model, after what has to be remembered for it.
    async fn ask_model(&mut self, turn: &Turn, inside: &Inside) -> Result<(), FaceGone> {
        self.session.record_before_request();
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
    fn wait_for_servers(&mut self) -> bool {
        let Some(starting) = self.session.servers_starting() else {
            return false;
        };
        self.waiting = Waiting::Starting(starting);
        true
    }

    /// Takes over what the servers that have started offer. Gives what is wished next, or asks the model.
    async fn servers_started(&mut self, turn: &Turn, inside: &Inside) -> Result<Vec<Wish>, FaceGone> {
        self.session.learn_server_tools();
        self.frame = self.session.frame(self.input.output_schema.clone());
        let situation = self.session.situation(&self.input.id);
        self.session.jobs.set_situation(situation);
        if self.held.is_empty() {
            self.ask_model(turn, inside).await?;
        }
        Ok(std::mem::take(&mut self.held))
    }

    /// Writes down under which settings the model is asked.
    fn log_context(&mut self) {
        let facts = self.summary.as_ref().map_or(&self.session.setup.gathered.facts, |summary| &summary.facts);
        self.session.log.turn_context(facts, &self.input.id, self.input.output_schema.as_ref());
    }

    /// Takes over what was remembered, and asks the model; or ends the turn, if nothing fits.
    async fn remembered(
        &mut self,
        turn: &mut Turn,
        mut remembered: Remembered,
        inside: &Inside,
    ) -> Result<Vec<Wish>, FaceGone> {
        let is_mistake = remembered.result.as_ref().is_err_and(|failure| failure.is_raised);
        let fit = if is_mistake { FailureCode::Other } else { FailureCode::Overflow };
        let code = remembered.failure.take().unwrap_or(fit);
        let remembered = self.session.remembered(remembered);
        self.tell(inside).await?;
        match remembered {
            Ok(events) => {
                for event in events {
                    inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                }
                self.send(turn, inside).await?;
                Ok(Vec::new())
            }
            Err(message) => {
                let error = ReplyError::new(ReplyErrorKind::Local, message);
                Ok(turn.step(Fact::ReplyFailed(error.coded(code))))
            }
        }
    }

    /// Sends a request with everything that is recorded.
    async fn send(&mut self, turn: &Turn, inside: &Inside) -> Result<(), FaceGone> {
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
                self.facts.push_back(Fact::ReplyFailed(error));
                return Ok(());
            }
        };
        for event in self.session.context_events() {
            inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
        }
        self.log_context();
        self.session.log_request(&self.input.id, Attempt::First);
        self.ask(turn, AskKind::LastRequest, ticket).await;
        Ok(())
    }

    /// Lets the last request out once more, if it may go.
    fn admit_again(&mut self) -> Option<Ticket> {
        let ticket = self.session.admit_again(self.request.as_ref()?);
        ticket.map_err(|error| self.facts.push_back(Fact::ReplyFailed(error))).ok()
    }

    async fn ask_for_summary(&mut self, turn: &Turn, inside: &Inside) -> Result<(), FaceGone> {
        let Some(summary) = &mut self.summary else {
            return Ok(());
        };
        let asked = self.session.summary_request(&summary.compaction, &summary.facts);
        let n_items = summary.compaction.n_items();
        let is_new = summary.n_told.replace(n_items) != Some(n_items);
        let mut ticket = None;
        if let Some(SummaryRequest { frame, request, report }) = &asked {
            match self.session.admit_again(request) {
                Ok(admitted) => ticket = Some(admitted),
                Err(error) => {
                    self.facts.push_back(Fact::ReplyFailed(error));
                    return Ok(());
                }
            }
            self.session.log_summary_request(&self.input.id, &summary.compaction, frame, request);
            if let Some(event) = self.session.summary_event(report).filter(|_| is_new) {
                inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
            }
        }
        let request = asked.map(|asked| asked.request);
        match self.session.summarised_by() {
            SummarisedBy::Model => {
                self.request = request;
                if let Some(ticket) = ticket {
                    self.ask(turn, AskKind::Summary, ticket).await;
                }
            }
            SummarisedBy::Provider => {
                let (model, headers) = (self.session.setup.model.clone(), self.session.own_headers());
                let attempts = self.session.attempts();
                self.waiting = Waiting::Summarising(Box::pin(async move {
                    match request {
                        Some(request) => {
                            let ask = Ask { body: request.segments, headers, ticket, attempts, ..Ask::default() };
                            model.compact(ask).await
                        }
                        None => Ok(ProviderSummary { items: Vec::new(), usage: None }),
                    }
                }));
            }
        }
        Ok(())
    }

    async fn ask(&mut self, turn: &Turn, kind: AskKind, ticket: Ticket) {
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

    /// Passes on what a call said; gives what the turn has to know of it.
    async fn heard(&mut self, message: FromTool, inside: &Inside) -> Result<Option<Fact>, FaceGone> {
        match message {
            FromTool::Event(event) => {
                inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                Ok(None)
            }
            FromTool::SessionEvent(event) => {
                inside.events.send(&mut self.session.log, "", event).await?;
                Ok(None)
            }
            FromTool::Notice(notice) => {
                self.session.record_notice(&notice);
                Ok(None)
            }
            FromTool::Picture(path) => Ok(Some(Fact::Attached(self.session.picture(&path)))),
            FromTool::Diff => {
                self.tell_diff(inside).await?;
                Ok(None)
            }
            FromTool::Ask(Question { event, key, answer }) => {
                self.asked.insert(key, answer);
                inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
                Ok(None)
            }
            FromTool::Snapshot(commit) => {
                self.session.record_snapshot(commit);
                Ok(None)
            }
            FromTool::UserCommandEnded { call_id, record } => {
                self.session.log_user_command(&call_id);
                Ok(Some(match &self.user_command {
                    Some(own) if *own == call_id => Fact::UserCommandEnded(record),
                    _ => Fact::Attached(record),
                }))
            }
            FromTool::Abort => {
                self.is_unwanted = true;
                Ok(None)
            }
            FromTool::Finished { index, answer } => Ok(Some(Fact::ToolFinished { index, answer })),
        }
    }

    /// Tells what the patches of this turn changed so far, if they changed something.
    async fn tell_diff(&mut self, inside: &Inside) -> Result<(), FaceGone> {
        if let Some(unified_diff) = self.session.jobs.toolbox.turn_diff() {
            let event = EventMessage::TurnDiff { unified_diff };
            inside.events.send(&mut self.session.log, self.input.id.as_str(), event).await?;
        }
        Ok(())
    }

    /// Passes an answer on to the call that asked. An answer to no open question, such as a second one, changes nothing.
    fn answer(&mut self, key: &AskKey, answer: Answer) {
        match self.asked.remove(key) {
            Some(waiting) => drop(waiting.send(answer)),
            None => tracing::warn!(?key, "an answer to no open question is ignored"),
        }
    }

    /// Stops everything; calls that ended in time keep their answers.
    async fn interrupt(&mut self, inside: &Inside) -> Fact {
        self.session.note_interruption();
        let mut said = self.held_back.take();
        said.extend(self.session.jobs.break_user_commands().await);
        let (last, running) = self.session.jobs.stop().await;
        said.extend(last);
        said.extend(self.session.jobs.end_terminals().await);
        for message in said {
            // Nothing is asked any more that could show it later.
            if let FromTool::UserCommandEnded { call_id, record } = &message {
                self.session.log_user_command(call_id);
                self.session.record_draft(record);
                continue;
            }
            // A face that is gone does not keep answers from being recorded.
            if let Ok(Some(fact)) = self.heard(message, inside).await {
                self.facts.push_back(fact);
            }
        }
        let interrupted = Fact::Interrupted { running };
        match self.facts.pop_front() {
            Some(first) => {
                self.facts.push_back(interrupted);
                first
            }
            None => interrupted,
        }
    }

    /// Waits for whatever comes first: a submission, what the turn waits for, or a tool. What a model has said already is
    /// noted before what its calls report, and what ends a call after the reply that made it, whichever was quicker.
    async fn next_fact(&mut self, inside: &mut Inside) -> Result<Happened, FaceGone> {
        loop {
            let is_reading = matches!(self.waiting, Waiting::Reading(_));
            if !is_reading && let Some(message) = self.held_back.next() {
                if let Some(fact) = self.heard(message, inside).await? {
                    return Ok(Happened::Fact(fact));
                }
                continue;
            }
            tokio::select! {
                biased;
                submission = inside.submissions.recv() => match submission {
                    Some(submission) => match submission.operation {
                        Operation::Interrupt => return Ok(Happened::Fact(self.interrupt(inside).await)),
                        Operation::Shutdown => {
                            inside.waiting.push_back(submission);
                            return Ok(Happened::Fact(self.interrupt(inside).await));
                        }
                        Operation::ThreadRollback { .. } => {
                            let error = EventMessage::Error {
                                message: "Cannot rollback while a turn is in progress.".to_owned(),
                                codex_error_info: Some(ErrorInfo::ThreadRollbackFailed),
                                failure: Failure::default(),
                            };
                            inside.events.send(&mut self.session.log, submission.id.as_str(), error).await?;
                        }
                        Operation::ExecApproval { id, decision, .. } | Operation::PatchApproval { id, decision } => {
                            self.answer(&AskKey::Approval(id), Answer::Decision(decision));
                        }
                        Operation::UserInputAnswer { id, response } => {
                            self.answer(&AskKey::Question(id), Answer::Answers(response));
                        }
                        Operation::DynamicToolResponse { id, response } => {
                            self.answer(&AskKey::DynamicTool(id), Answer::DynamicTool(response));
                        }
                        Operation::RunUserShellCommand { command } => {
                            self.session.jobs.start_user_command(command);
                        }
                        Operation::CleanBackgroundTerminals => {
                            self.session.jobs.toolbox.terminals.terminate_all().await;
                        }
                        Operation::UserInput { items, .. } if items.is_empty() => {}
                        Operation::UserInput { items, .. } => return Ok(Happened::Fact(Fact::Steered(items))),
                        Operation::OverrideTurnContext(_)
                        | Operation::Compact
                        | Operation::Review { .. }
                        | Operation::Undo => {
                            inside.waiting.push_back(submission);
                        }
                    },
                    // The face is gone; nobody would see the answer.
                    None => return Ok(Happened::Fact(self.interrupt(inside).await)),
                },
                happened = self.waiting.next() => return Ok(happened),
                message = self.session.jobs.hear() => {
                    let message = if is_reading { self.held_back.hold(message) } else { Some(message) };
                    let Some(message) = message else { continue };
                    if let Some(fact) = self.heard(message, inside).await? {
                        return Ok(Happened::Fact(fact));
                    }
                    if self.is_unwanted {
                        return Ok(Happened::Fact(self.interrupt(inside).await));
                    }
                }
            }
        }
    }

    fn start_git(&mut self) {
        if matches!(self.git, Git::NotAsked) {
            let setup = &self.session.setup;
            let (git, cwd) = (setup.sources.git.clone(), setup.gathered.facts.cwd.clone());
            self.git =
                Git::Asked(OwnedTask::blocking("asking git", move || metadata::repositories(&git, cwd.as_ref())));
        }
    }
}

impl Waiting {
    async fn next(&mut self) -> Happened {
        loop {
            match self {
                Self::Nothing => pending::<()>().await,
                Self::Asking(reply) => match contained("asking the model", reply).await.unwrap_or_else(broken) {
                    Ok(reply) => *self = Self::Reading(Box::new(reply)),
                    Err(error) => return self.over(Fact::ReplyFailed(error)),
                },
                Self::Summarising(summary) => {
                    match contained("asking for a summary", summary).await.unwrap_or_else(broken) {
                        Ok(summary) => {
                            *self = Self::Nothing;
                            return Happened::Summarised(summary);
                        }
                        Err(error) => return self.over(Fact::ReplyFailed(error)),
                    }
                }
                Self::Reading(reply) => {
                    match contained("reading a reply", reply.next()).await.unwrap_or_else(|it| Some(broken(it))) {
                        Some(Ok(event @ ReplyEvent::Completed { .. })) => return self.over(Fact::Reply(event)),
                        Some(Ok(event)) => return Happened::Fact(Fact::Reply(event)),
                        Some(Err(error)) => return self.over(Fact::ReplyFailed(error)),
                        None => {
                            let error = ReplyError::stream("stream closed before response.completed");
                            return self.over(Fact::ReplyFailed(error));
                        }
                    }
                }
                Self::Pausing(sleep) => {
                    sleep.await;
                    return self.over(Fact::PauseOver);
                }
                Self::Starting(starting) => {
                    starting.await;
                    *self = Self::Nothing;
                    return Happened::ServersStarted;
                }
                Self::Answering(answer) => {
                    let answer = answer.await;
                    *self = Self::Nothing;
                    return Happened::Answered(Box::new(answer));
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

/// A reply that cannot be had because an error of ours ended the work on it. Asking again would fail again.
fn broken<T>(failed: pellucid_tasks::Failed) -> Result<T, ReplyError> {
    Err(ReplyError::new(ReplyErrorKind::Local, failed.to_string()))
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
