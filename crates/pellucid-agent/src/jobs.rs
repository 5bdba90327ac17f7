//! The calls that are being done, and commands that outlive their turn.
//!
//! Each call is a task of its own. Calls of tools that may run side by side do; any other waits
//! until it is alone. Dropping a job stops it: a command that it runs is killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use pellucid_engine::call;
use pellucid_protocol::call::ToolCall;
use pellucid_tools::Job;
use pellucid_tools::NoOutcome;
use pellucid_tools::desk::Desk;
use pellucid_tools::desk::FromTool;
use pellucid_tools::situation::Situation;
use pellucid_tools::toolbox::Toolbox;
use tokio::sync::RwLock;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The calls of a session.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub toolbox: Arc<Toolbox>,
    /// What holds for the calls of the turn that runs.
    situation: Option<Arc<Situation>>,
    desk: Desk,
    heard: mpsc::Receiver<FromTool>,
    tasks: JoinSet<()>,
    /// When each call of this reply began.
    began: BTreeMap<usize, Instant>,
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
            began: BTreeMap::new(),
            order: Arc::default(),
        }
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&mut self, situation: Situation) {
        self.situation = Some(Arc::new(situation));
        self.toolbox.begin_turn();
    }

    /// A new reply begins: its calls have nothing to do with those before.
    pub(crate) fn next_reply(&mut self) {
        self.began.clear();
        self.order = Arc::default();
    }

    /// Begins a call.
    pub(crate) fn start(&mut self, index: usize, call: ToolCall) {
        let Some(situation) = self.situation.clone() else { return };
        let job = Job { situation, toolbox: self.toolbox.clone(), desk: self.desk.clone() };
        let order = self.order.clone();
        self.began.insert(index, Instant::now());
        self.tasks.spawn(async move {
            let outcome = if pellucid_tools::is_parallel(&job.situation, &call.name) {
                let _beside_others = order.read().await;
                pellucid_tools::run(&call, &job).await
            } else {
                let _alone = order.write().await;
                pellucid_tools::run(&call, &job).await
            };
            let answer = match outcome {
                Ok(output) => Some(call::answer(&call, output)),
                Err(NoOutcome::Unknown) => Some(call::answer(&call, call::unsupported(&call))),
                Err(NoOutcome::Fatal(error)) => {
                    tracing::error!(%error, "a tool leaves its call without an answer");
                    None
                }
            };
            job.desk.say(FromTool::Finished { index, answer }).await;
        });
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
