//! `wait`: until one of some agents has finished, or the time is over.

use std::collections::BTreeMap;
use std::time::Duration;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::agent::AgentStatus;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::agents;
use crate::arguments;

const DEFAULT_MS: i64 = 30_000;
const MIN_MS: i64 = 10_000;
const MAX_MS: i64 = 300_000;

pub(crate) const TOOL: Tool = Tool {
    name: "wait",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Agent),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    ids: Vec<String>,
    timeout_ms: Option<i64>,
}

#[derive(Serialize)]
struct Waited {
    status: BTreeMap<SessionId, AgentStatus>,
    timed_out: bool,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let Arguments { ids, timeout_ms } = arguments(call)?;
    if ids.is_empty() {
        return Err(Failed::answered("ids must be non-empty"));
    }
    let ids = ids.iter().map(|id| agents::parse_id(id)).collect::<Result<Vec<_>, _>>()?;
    let patience = patience(timeout_ms)?;
    let agents = job.agents()?;
    let (call_id, sender_thread_id) = (call.call_id.clone(), job.situation.session_id.clone());
    let begin = EventMessage::CollabWaitingBegin {
        sender_thread_id: sender_thread_id.clone(),
        receiver_thread_ids: ids.clone(),
        call_id: call_id.clone(),
    };
    job.desk.tell(begin).await;
    let mut watched: BTreeMap<_, _> = ids.into_iter().map(|id| (id.clone(), agents.status(&id))).collect();
    let mut status = finished(&mut watched);
    if status.is_empty() {
        let waiting = first_to_finish(watched.values().cloned());
        // When the time is over there may still be one that has just finished.
        let _time_is_over = tokio::time::timeout(patience, waiting).await;
        status = finished(&mut watched);
    }
    let end = EventMessage::CollabWaitingEnd { sender_thread_id, call_id, statuses: status.clone() };
    job.desk.tell(end).await;
    let timed_out = status.is_empty();
    Ok(agents::json(&Waited { status, timed_out })?.into())
}

/// How long to wait, within bounds that keep a model from asking all the time.
fn patience(timeout_ms: Option<i64>) -> Result<Duration, Failed> {
    match timeout_ms.unwrap_or(DEFAULT_MS) {
        ..=0 => Err(Failed::answered("timeout_ms must be greater than zero")),
        ms => Ok(Duration::from_millis(ms.clamp(MIN_MS, MAX_MS).unsigned_abs())),
    }
}

/// The agents that have finished.
fn finished(watched: &mut BTreeMap<SessionId, watch::Receiver<AgentStatus>>) -> BTreeMap<SessionId, AgentStatus> {
    let status = |(id, status): (&SessionId, &mut watch::Receiver<AgentStatus>)| {
        let status = status.borrow_and_update().clone();
        status.is_final().then(|| (id.clone(), status))
    };
    watched.iter_mut().filter_map(status).collect()
}

/// Waits until one has finished, or is gone.
async fn first_to_finish(watched: impl Iterator<Item = watch::Receiver<AgentStatus>>) {
    let mut waiting = JoinSet::new();
    for mut status in watched {
        waiting.spawn(async move {
            // An agent that is gone has no further status.
            let _is_gone = status.wait_for(AgentStatus::is_final).await.is_err();
        });
    }
    waiting.join_next().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_has_bounds() {
        let ms =
            [None, Some(1), Some(10_000), Some(25_000), Some(i64::MAX)].map(|it| patience(it).unwrap().as_millis());
        assert_eq!(ms, [30_000, 10_000, 10_000, 25_000, 300_000]);
        for nothing in [0, -5, i64::MIN] {
            assert_eq!(patience(Some(nothing)), Err(Failed::answered("timeout_ms must be greater than zero")));
        }
    }
}
