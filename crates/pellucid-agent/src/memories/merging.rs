//! The second phase: an agent merges all extracts, confined to the folder of memories.
//!
//! One process at a time does it. Its lease is renewed while the agent works; a process that lost the lease stops its
//! agent.

use std::time::Duration;

use pellucid_engine::agent_status;
use pellucid_engine::fragment::concat;
use pellucid_engine::memories::files;
use pellucid_engine::memories::job;
use pellucid_engine::memories::job::Claim;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_store::memories::Memories;
use serde::Serialize;
use tokio::time::MissedTickBehavior;

use super::Pipeline;
use super::blocking;
use super::ledger;
use super::ledger::Merging;
use crate::door;
use crate::door::Door;
use crate::identity;
use crate::session::Session;

/// What came of the second phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Merged {
    /// The agent is done.
    Done,
    /// Nothing is kept of any session, so no agent was asked.
    Empty,
    /// There is nothing new to merge.
    UpToDate,
    /// Another process does it.
    Held,
    /// It failed before, and rests.
    Waits {
        /// Until when, in seconds of Unix time.
        until: i64,
    },
    /// It failed too often. It is tried again when another session was read.
    GivenUp,
    /// It could not be done.
    Failed {
        /// Why the memories could not be merged.
        why: String,
    },
}

impl Pipeline {
    /// Merges, if that is due and no other process does.
    pub(super) async fn merge(&self, worker: Option<Session>) -> Merged {
        let (home, name) = (self.config().folders.home.clone(), self.worker.to_string());
        let taken = blocking(move || ledger::take_merging(&home, &name)).await;
        let (token, watermark) = match taken.and_then(|taken| taken.map_err(|error| error.to_string())) {
            Err(why) => return Merged::Failed { why },
            Ok(Merging::Not(claim)) => return refused(&claim),
            Ok(Merging::Taken { token, watermark }) => (token, watermark),
        };
        let result = self.merge_taken(worker, &token, watermark).await;
        let home = self.config().folders.home.clone();
        let noted: Result<i64, String> = result.as_ref().map(|(_, watermark)| *watermark).map_err(Clone::clone);
        let kept =
            blocking(move || ledger::finish_merging(&home, &token, noted.as_ref().map_err(String::as_str))).await;
        match (result, kept.and_then(|kept| kept.map_err(|error| error.to_string()))) {
            (Ok((merged, _)), Ok(())) => merged,
            (Err(why), _) | (Ok(_), Err(why)) => Merged::Failed { why },
        }
    }

    /// Does it, and says up to which watermark.
    async fn merge_taken(
        &self,
        mut worker: Option<Session>,
        token: &str,
        watermark: i64,
    ) -> Result<(Merged, i64), String> {
        let (home, n_max) = (self.config().folders.home.clone(), self.config().tools.memories.raw_memories_max);
        let folder = super::folder(self.config());
        let place = folder.clone();
        let extracts = blocking(move || {
            let extracts = Memories::open(&home).and_then(|memories| memories.newest(n_max));
            let extracts = extracts.map_err(|error| error.to_string())?;
            super::folder::write(&folder, &extracts).map_err(|error| format!("{}: {error}", folder.display()))?;
            Ok::<_, String>(extracts)
        })
        .await??;
        let newest = extracts.iter().map(|it| it.updated_at).max();
        let watermark = newest.map_or(watermark, |newest| newest.max(watermark));
        if extracts.is_empty() {
            return Ok((Merged::Empty, watermark));
        }
        self.worker(&mut worker).await?;
        let Some(worker) = worker else { return Err("there is no session to ask with".to_owned()) };
        let prompt = concat(&files::prompt(worker.pack(), &place.to_string_lossy()));
        let (door, inside) = door::open(&worker);
        let (_, status) = tokio::join!(Box::pin(door::run(worker, inside)), self.watch(door, prompt, token));
        match status {
            AgentStatus::Completed(_) => Ok((Merged::Done, watermark)),
            AgentStatus::Errored(why) => Err(why),
            other => Err(format!("the agent ended as {other:?}")),
        }
    }

    /// Has the agent work until its turn is over, and says how that ended.
    async fn watch(&self, mut door: Door, prompt: String, token: &str) -> AgentStatus {
        let submit = |operation| Submission { id: identity::new_turn_id(), operation };
        let input = Operation::UserInput { items: vec![UserInput::text(prompt)], final_output_json_schema: None };
        // A send only fails when the agent has ended, and then its events say so.
        let _ = door.submissions.send(submit(input)).await;
        let mut renewal = tokio::time::interval(Duration::from_secs(job::RENEWAL));
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut status = AgentStatus::default();
        let mut lost = None;
        loop {
            tokio::select! {
                biased;
                event = door.events.recv() => {
                    let Some(event) = event else { break };
                    // What ends it first counts: a turn that failed is over as well.
                    let Some(now) = agent_status::after(&event.msg).filter(|_| !status.is_final()) else { continue };
                    status = now;
                    if status.is_final() {
                        let _ = door.submissions.send(submit(Operation::Shutdown)).await;
                    }
                }
                _ = renewal.tick(), if lost.is_none() => {
                    lost = self.renew(token).await.err();
                    if lost.is_some() {
                        let _ = door.submissions.send(submit(Operation::Interrupt)).await;
                    }
                }
            }
        }
        lost.map_or(status, AgentStatus::Errored)
    }

    /// Renews the lease that keeps other processes from merging.
    async fn renew(&self, token: &str) -> Result<(), String> {
        let (home, token) = (self.config().folders.home.clone(), token.to_owned());
        match blocking(move || ledger::renew_merging(&home, &token)).await? {
            Ok(true) => Ok(()),
            Ok(false) => Err("another process took over".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn refused(claim: &Claim) -> Merged {
    match claim {
        Claim::UpToDate | Claim::Taken(_) => Merged::UpToDate,
        Claim::Held => Merged::Held,
        Claim::Waits { until } => Merged::Waits { until: *until },
        Claim::GivenUp => Merged::GivenUp,
    }
}
