//! The calls that are being done, and commands that outlive their turn.
//!
//! Each call is a separate task. Calls of tools that may run side by side do; any other waits until it is alone. Dropping a
//! job stops it: a command that it runs is killed. What a call reports goes to the driver, which passes it to the turn.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use pellucid_engine::call;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::Item;
use pellucid_tasks::Tasks;
use pellucid_tasks::contained;
use pellucid_tools::CallContext;
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
    /// Commands of the person; they continue when a reply is asked for again, or the turn ends.
    user_commands: JoinSet<()>,
    /// Snapshots that are being made. A turn does not wait for the one of the turn before.
    snapshots: Tasks,
    /// Changes when the commands of the person are to be cancelled.
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
        Self::sharing(Arc::new(toolbox))
    }

    /// No calls yet, with the tools of another session.
    pub(crate) fn sharing(toolbox: Arc<Toolbox>) -> Self {
        let (desk, heard) = Desk::open();
        Self {
            toolbox,
            situation: None,
            desk,
            heard,
            tasks: JoinSet::new(),
            user_commands: JoinSet::new(),
            snapshots: Tasks::default(),
            breaks: watch::Sender::new(0),
            gate: watch::Sender::new(true).subscribe(),
            began: BTreeMap::new(),
            notes: OpenNotes::default(),
            order: Arc::default(),
        }
    }

    /// Prepares for the calls of a new turn.
    pub(crate) fn begin_turn(&mut self, situation: Situation) {
        self.situation = Some(Arc::new(situation));
        self.toolbox.begin_turn();
    }

    /// Replaces what holds for the calls of the turn, once more is known.
    pub(crate) fn set_situation(&mut self, situation: Situation) {
        self.situation = Some(Arc::new(situation));
    }

    /// The model was asked, and may answer with commands.
    pub(crate) fn expect_commands(&self) {
        if let Some(situation) = &self.situation {
            self.toolbox.prepare_login(situation);
        }
    }

    /// Whether nothing runs, and nothing waits to be heard.
    pub(crate) fn is_at_rest(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        while self.user_commands.try_join_next().is_some() {}
        self.tasks.is_empty()
            && self.user_commands.is_empty()
            && self.began.is_empty()
            && *self.gate.borrow()
            && self.heard.is_empty()
            && self.toolbox.is_at_rest()
    }

    /// Forgets what held for the calls of the last turn. The next turn begins with its own.
    pub(crate) fn forget_turn(&mut self) {
        self.situation = None;
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
        self.snapshots.spawn("making a snapshot", async move {
            plan.make(desk).await;
            // No call may be waiting.
            let _ = opens.send(true);
        });
    }

    /// A new reply begins: its calls have nothing to do with those before.
    pub(crate) fn next_reply(&mut self) {
        self.began.clear();
        self.order = Arc::default();
    }

    /// Begins a call. It always gets an answer, unless it is stopped: [`stop`](Self::stop) names those.
    pub(crate) fn start(&mut self, index: usize, call: ToolCall) {
        let job = self.situation.clone().map(|situation| {
            let notes = self.notes.of_call(&situation.turn_id, &call);
            CallContext { situation, toolbox: self.toolbox.clone(), desk: self.desk.clone(), notes }
        });
        let (desk, order, gate) = (self.desk.clone(), self.order.clone(), self.gate.clone());
        self.began.insert(index, Instant::now());
        self.tasks.spawn(async move {
            let done = contained("call", async { Some(carry_out(&call, &job?, &order, gate).await) });
            let answer = match done.await {
                Ok(Some(answer)) => answer,
                Ok(None) | Err(_) => Some(call::answer(&call, pellucid_tools::broken(&call, &desk).await)),
            };
            desk.say(FromTool::Finished { index, answer }).await;
        });
    }

    /// Begins a command of the person, and gives the call that its events name.
    pub(crate) fn start_user_command(&mut self, script: String) -> String {
        let call_id = uuid::Uuid::new_v4().to_string();
        let job = self.situation.clone().map(|situation| {
            let notes = self.notes.of_user_command(&situation.turn_id, &call_id);
            CallContext { situation, toolbox: self.toolbox.clone(), desk: self.desk.clone(), notes }
        });
        let (desk, name, mut breaks) = (self.desk.clone(), call_id.clone(), self.breaks.subscribe());
        self.user_commands.spawn(async move {
            let cancelled = async {
                if breaks.changed().await.is_err() {
                    // The session is gone, and this task with it.
                    std::future::pending::<()>().await;
                }
            };
            let done = contained("command of the person", async {
                user_command::run(&job?, name.clone(), &script, cancelled).await;
                Some(())
            });
            if !matches!(done.await, Ok(Some(()))) {
                desk.say(user_command::broken(name, &script)).await;
            }
        });
        call_id
    }

    /// Cancels the commands of the person. Returns every message that was received while they stopped, those of calls too.
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
            said.extend(self.counted(message));
        }
    }

    /// Notes the end of a call. A second answer to a call, or an answer to a call of an earlier reply, is dropped.
    fn counted(&mut self, message: FromTool) -> Option<FromTool> {
        if let FromTool::Finished { index, .. } = &message
            && self.began.remove(index).is_none()
        {
            tracing::warn!(index, "an answer to a call that is not open is ignored");
            return None;
        }
        Some(message)
    }

    /// Ends all terminals. Returns every message that was received meanwhile.
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
                    if let Some(message) = self.counted(message) {
                        return message;
                    }
                }
                // Both give their answers over the desk, panics included.
                Some(_) = self.tasks.join_next() => {}
                Some(_) = self.user_commands.join_next() => {}
                else => std::future::pending().await,
            }
        }
    }

    /// Stops all calls. Returns their last messages, and for how long each call had run that did not end.
    pub(crate) async fn stop(&mut self) -> (Vec<FromTool>, Vec<(usize, Duration)>) {
        self.tasks.shutdown().await;
        let mut last = Vec::new();
        while let Ok(message) = self.heard.try_recv() {
            last.extend(self.counted(message));
        }
        let running = std::mem::take(&mut self.began);
        (last, running.into_iter().map(|(index, began)| (index, began.elapsed())).collect())
    }
}

/// Runs a call when it is its turn. Gives the answer; absent when the tool leaves none.
async fn carry_out(
    call: &ToolCall,
    job: &CallContext,
    order: &RwLock<()>,
    mut gate: watch::Receiver<bool>,
) -> Option<Item> {
    if pellucid_tools::is_mutating(&job.situation, &call.name) {
        // If the task that makes the snapshot has ended, there is nothing to wait for.
        let _ = gate.wait_for(|is_open| *is_open).await;
    }
    let outcome = if pellucid_tools::is_parallel(&job.situation, &call.name) {
        let _beside_others = order.read().await;
        pellucid_tools::run(call, job).await
    } else {
        let _alone = order.write().await;
        pellucid_tools::run(call, job).await
    };
    match outcome {
        Ok(output) => Some(call::answer(call, output)),
        Err(NoOutcome::Unknown) => {
            tracing::warn!("a call of `{}` failed; there is no such tool", call.name);
            job.desk.tell(pellucid_tools::failed(call, "there is no such tool")).await;
            Some(call::answer(call, call::unsupported(call)))
        }
        Err(NoOutcome::Fatal(error)) => {
            tracing::error!(%error, "a tool leaves its call without an answer");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pellucid_engine::approval::rules::Rules;
    use pellucid_exec::sandbox::Protection;
    use pellucid_exec::sandbox::Sandbox;
    use pellucid_exec::sandbox::WantedBackend;
    use pellucid_protocol::call::Payload;
    use pellucid_protocol::event::EventMessage;
    use pellucid_protocol::item::ToolOutput;
    use pellucid_testkit::logged;
    use pellucid_tools::toolbox::Equipment;

    use super::*;

    fn jobs() -> Jobs {
        Jobs::new(Toolbox::new(Equipment {
            rules: Rules::default(),
            sandbox: Sandbox::new(WantedBackend::Strongest),
            protection: Protection::On,
            home: PathBuf::from("/none"),
            homes: Vec::new(),
            roots: Arc::default(),
            node_paths: Vec::new(),
            found_apps: Vec::new(),
            outputs: None,
            edits: None,
        }))
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    fn plan() -> ToolCall {
        let payload = Payload::Function { arguments: "{}".to_owned() };
        ToolCall { call_id: "c".to_owned(), name: "update_plan".to_owned(), payload }
    }

    #[test]
    fn a_call_outside_of_a_turn_is_answered() {
        run(async {
            let mut jobs = jobs();
            jobs.start(3, plan());
            let FromTool::Event(EventMessage::ToolCallFailed { call_id, .. }) = jobs.hear().await else { panic!() };
            assert_eq!(call_id, "c");
            let FromTool::Finished { index: 3, answer: Some(Item::FunctionCallOutput { output, .. }) } =
                jobs.hear().await
            else {
                panic!()
            };
            let told = "the tool failed: an error inside Pellucid ended this call before it was done";
            assert_eq!(output, ToolOutput::Text(told.to_owned()));
        });
    }

    #[test]
    fn a_command_outside_of_a_turn_ends() {
        run(async {
            let mut jobs = jobs();
            let started = jobs.start_user_command("echo".to_owned());
            let FromTool::UserCommandEnded { call_id, .. } = jobs.hear().await else { panic!() };
            assert_eq!(call_id, started);
        });
    }

    #[test]
    fn the_second_answer_of_a_call_is_ignored_and_logged() {
        let (last, log) = logged(|| {
            run(async {
                let mut jobs = jobs();
                let finished = || FromTool::Finished { index: 0, answer: None };
                jobs.began.insert(0, Instant::now());
                for message in [finished(), finished(), FromTool::Diff] {
                    jobs.desk.say(message).await;
                }
                (jobs.hear().await, jobs.hear().await)
            })
        });
        assert!(matches!(last, (FromTool::Finished { index: 0, .. }, FromTool::Diff)), "{last:?}");
        assert_eq!(log, ["WARN an answer to a call that is not open is ignored index=0"]);
    }
}
