//! The calls that are being done, and commands that outlive their turn.
//!
//! Each call is a task of its own. Calls of tools that may run side by side do; any other waits
//! until it is alone. Dropping a job stops it: a command that it runs is killed.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use pellucid_engine::call;
use pellucid_protocol::call::ToolCall;
use pellucid_tools::Job;
use pellucid_tools::NoOutcome;
use pellucid_tools::desk::Desk;
use pellucid_tools::desk::FromTool;
use pellucid_tools::queue::Receiver;
use pellucid_tools::situation::Situation;
use pellucid_tools::toolbox::Toolbox;
use pellucid_tools::user_command;
use tokio::sync::RwLock;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::ghost::GhostPlan;
use crate::open_notes::OpenNotes;

/// The calls of a session.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub toolbox: Arc<Toolbox>,
    /// What holds for the calls of the turn that runs.
    situation: Option<Arc<Situation>>,
    desk: Desk,
    heard: Receiver<FromTool>,
    tasks: JoinSet<()>,
    /// Commands of the person; they go on when a reply is asked for again, or the turn ends.
    user_commands: JoinSet<()>,
    /// Changes when they are to be broken off.
    breaks: watch::Sender<u64>,
    /// Whether calls that may change something can begin: the snapshot before them is made.
    gate: watch::Receiver<bool>,
    /// When each call of this reply began.
    began: BTreeMap<usize, Instant>,
    /// What is noted of calls whose end is not written down yet, and of commands of the person.
    pub notes: OpenNotes,
    /// Held by every call of this reply: shared, or alone.
    order: Arc<RwLock<()>>,
}

impl Jobs {
    pub(crate) fn new(toolbox: Toolbox) -> Self {
        let (desk, heard) = Desk::open();
        Self {
            toolbox: Arc::new(toolbox),
            situation: None,
            desk,
            heard,
            tasks: JoinSet::new(),
            user_commands: JoinSet::new(),
            breaks: watch::Sender::new(0),
            gate: watch::Sender::new(true).subscribe(),
            began: BTreeMap::new(),
            notes: OpenNotes::default(),
            order: Arc::default(),
        }
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&mut self, situation: Situation) {
        self.situation = Some(Arc::new(situation));
        self.toolbox.begin_turn();
    }

    /// More is known of what holds for the calls of the turn.
    pub(crate) fn set_situation(&mut self, situation: Situation) {
        self.situation = Some(Arc::new(situation));
    }

    /// The model was asked, and may answer with commands.
    pub(crate) fn expect_commands(&self) {
        if let Some(situation) = &self.situation {
            self.toolbox.prepare_login(situation);
        }
    }

    /// A line to the session.
    pub(crate) fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Makes a snapshot of the work tree beside the turn.
    pub(crate) fn take_snapshot(&mut self, plan: GhostPlan) {
        let (opens, gate) = watch::channel(false);
        let desk = self.desk.clone();
        self.gate = gate;
        tokio::spawn(async move {
            plan.make(desk).await;
            // Nobody may wait.
            let _ = opens.send(true);
        });
    }

    /// A new reply begins: its calls have nothing to do with those before.
    pub(crate) fn next_reply(&mut self) {
        self.began.clear();
        self.order = Arc::default();
    }

    /// Begins a call.
    pub(crate) fn start(&mut self, index: usize, call: ToolCall) {
        let Some(situation) = self.situation.clone() else { return };
        let notes = self.notes.of_call(&situation.turn_id, &call);
        let job = Job { situation, toolbox: self.toolbox.clone(), desk: self.desk.clone(), notes };
        let (order, mut gate) = (self.order.clone(), self.gate.clone());
        self.began.insert(index, Instant::now());
        self.tasks.spawn(async move {
            if pellucid_tools::is_mutating(&job.situation, &call.name) {
                // A gate that is gone stands open.
                let _ = gate.wait_for(|is_open| *is_open).await;
            }
            let outcome = if pellucid_tools::is_parallel(&job.situation, &call.name) {
                let _beside_others = order.read().await;
                pellucid_tools::run(&call, &job).await
            } else {
                let _alone = order.write().await;
                pellucid_tools::run(&call, &job).await
            };
            let answer = match outcome {
                Ok(output) => Some(call::answer(&call, output)),
                Err(NoOutcome::Unknown) => {
                    tracing::warn!("a call of `{}` failed; there is no such tool", call.name);
                    job.desk.tell(pellucid_tools::failed(&call, "there is no such tool")).await;
                    Some(call::answer(&call, call::unsupported(&call)))
                }
                Err(NoOutcome::Fatal(error)) => {
                    tracing::error!(%error, "a tool leaves its call without an answer");
                    None
                }
            };
            job.desk.say(FromTool::Finished { index, answer }).await;
        });
    }

    /// Begins a command of the person, and gives the call that its events name.
    pub(crate) fn start_user_command(&mut self, script: String) -> String {
        let call_id = uuid::Uuid::new_v4().to_string();
        if let Some(situation) = self.situation.clone() {
            let notes = self.notes.of_user_command(&situation.turn_id, &call_id);
            let job = Job { situation, toolbox: self.toolbox.clone(), desk: self.desk.clone(), notes };
            let (name, mut breaks) = (call_id.clone(), self.breaks.subscribe());
            self.user_commands.spawn(async move {
                let cancelled = async {
                    if breaks.changed().await.is_err() {
                        // The session is gone, and this task with it.
                        std::future::pending::<()>().await;
                    }
                };
                user_command::run(&job, name, script, cancelled).await;
            });
        }
        call_id
    }

    /// Breaks the commands of the person off. Gives all that was said meanwhile, by calls too.
    pub(crate) async fn break_user_commands(&mut self) -> Vec<FromTool> {
        self.breaks.send_modify(|n_breaks| *n_breaks += 1);
        let mut said = Vec::new();
        loop {
            let message = tokio::select! {
                biased;
                Some(message) = self.heard.recv() => message,
                ended = self.user_commands.join_next() => match ended {
                    Some(_) => continue,
                    None => return said,
                },
            };
            if let FromTool::Finished { index, .. } = &message {
                self.began.remove(index);
            }
            said.push(message);
        }
    }

    /// Ends all terminals. Gives all that was said of them, and by others meanwhile.
    pub(crate) async fn end_terminals(&mut self) -> Vec<FromTool> {
        let toolbox = self.toolbox.clone();
        let mut ended = pin!(toolbox.end_terminals());
        let mut said = Vec::new();
        loop {
            tokio::select! {
                biased;
                Some(message) = self.heard.recv() => said.push(message),
                () = &mut ended => break,
            }
        }
        while let Ok(message) = self.heard.try_recv() {
            said.push(message);
        }
        said
    }

    /// The next thing that a call says.
    pub(crate) async fn hear(&mut self) -> FromTool {
        loop {
            tokio::select! {
                biased;
                Some(message) = self.heard.recv() => {
                    if let FromTool::Finished { index, .. } = &message {
                        self.began.remove(index);
                    }
                    return message;
                }
                Some(ended) = self.tasks.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!(%error, "a tool broke");
                    }
                }
                Some(ended) = self.user_commands.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!(%error, "a command of the person broke");
                    }
                }
                else => std::future::pending().await,
            }
        }
    }

    /// Stops all calls. Gives what they said last, and for how long those had run that did not end.
    pub(crate) async fn stop(&mut self) -> (Vec<FromTool>, Vec<(usize, Duration)>) {
        self.tasks.shutdown().await;
        let mut last = Vec::new();
        while let Ok(message) = self.heard.try_recv() {
            if let FromTool::Finished { index, .. } = &message {
                self.began.remove(index);
            }
            last.push(message);
        }
        let running = std::mem::take(&mut self.began);
        (last, running.into_iter().map(|(index, began)| (index, began.elapsed())).collect())
    }
}
