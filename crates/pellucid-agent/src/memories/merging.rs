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
use pellucid_protocol::memories::Extract;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_store::memories::Memories;
use serde::Serialize;
use tokio::time::MissedTickBehavior;

use super::Pipeline;
use super::blocking;
use super::ledger;
use super::ledger::Merging;
use super::scope::MemoriesOf;
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

/// What was merged.
struct MergedExtracts {
    /// Up to which change of sessions.
    watermark: i64,
    extracts: Vec<Extract>,
}

impl Pipeline {
    /// Merges, if that is due and no other process does.
    pub(super) async fn merge(&self, worker: Option<Session>) -> Merged {
        let (home, name) = (self.config().folders.home.clone(), self.worker.to_string());
        let scope = MemoriesOf::configured(self.config());
        let key = scope.key.clone();
        let taken = blocking(move || ledger::take_merging(&home, &key, &name)).await;
        let (token, watermark) = match taken.and_then(|taken| taken.map_err(|error| error.to_string())) {
            Err(why) => return Merged::Failed { why },
            Ok(Merging::Not(claim)) => return refused(&claim),
            Ok(Merging::Taken { token, watermark }) => (token, watermark),
        };
        let result = self.merge_taken(worker, &scope, &token, watermark).await;
        let home = self.config().folders.home.clone();
        let merged = match &result {
            Ok(done) if done.extracts.is_empty() => Merged::Empty,
            Ok(_) => Merged::Done,
            Err(why) => Merged::Failed { why: why.clone() },
        };
        let kept = blocking(move || {
            let noted = result.as_ref().map(|it| (it.watermark, &it.extracts[..])).map_err(String::as_str);
            ledger::finish_merging(&home, &scope.key, &token, noted)
        });
        match kept.await.and_then(|kept| kept.map_err(|error| error.to_string())) {
            Err(why) if !matches!(merged, Merged::Failed { .. }) => Merged::Failed { why },
            _ => merged,
        }
    }

    /// Merges the extracts of a scope.
    async fn merge_taken(
        &self,
        mut worker: Option<Session>,
        scope: &MemoriesOf,
        token: &str,
        watermark: i64,
    ) -> Result<MergedExtracts, String> {
        let (home, n_max) = (self.config().folders.home.clone(), self.config().tools.memories.raw_memories_max);
        let (folder, project) = (scope.folder.clone(), scope.project.clone());
        let extracts = blocking(move || {
            let extracts = Memories::open(&home).and_then(|memories| memories.newest(project.as_deref(), n_max));
            let extracts = extracts.map_err(|error| error.to_string())?;
            super::folder::write(&folder, &extracts).map_err(|error| format!("{}: {error}", folder.display()))?;
            Ok::<_, String>(extracts)
        })
        .await??;
        let newest = extracts.iter().map(|it| it.updated_at).max();
        let watermark = newest.map_or(watermark, |newest| newest.max(watermark));
        if extracts.is_empty() {
            return Ok(MergedExtracts { watermark, extracts });
        }
        self.worker(&mut worker).await?;
        let Some(worker) = worker else { return Err("there is no session to ask with".to_owned()) };
        let prompt = concat(&files::prompt(worker.pack(), &scope.folder.to_string_lossy()));
        let (door, inside) = door::open(&worker);
        let (_, status) =
            tokio::join!(Box::pin(door::run(worker, inside)), self.watch(door, prompt, &scope.key, token));
        match status {
            AgentStatus::Completed(_) => Ok(MergedExtracts { watermark, extracts }),
            AgentStatus::Errored(why) => Err(why),
            other => Err(format!("the agent ended as {other:?}")),
        }
    }

    /// Has the agent work until its turn is over, and says how that ended.
    async fn watch(&self, mut door: Door, prompt: String, scope: &str, token: &str) -> AgentStatus {
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
                    lost = self.renew(scope, token).await.err();
                    if lost.is_some() {
                        let _ = door.submissions.send(submit(Operation::Interrupt)).await;
                    }
                }
            }
        }
        lost.map_or(status, AgentStatus::Errored)
    }

    /// Renews the lease that keeps other processes from merging.
    async fn renew(&self, scope: &str, token: &str) -> Result<(), String> {
        let (home, scope, token) = (self.config().folders.home.clone(), scope.to_owned(), token.to_owned());
        match blocking(move || ledger::renew_merging(&home, &scope, &token)).await? {
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
