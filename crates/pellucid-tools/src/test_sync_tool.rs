//! `test_sync_tool`: lets calls wait for each other, so that tests see which of them overlap.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;
use tokio::sync::Barrier;
use tokio::time::sleep;
use tokio::time::timeout;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "test_sync_tool",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::SessionOnly),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    sleep_before_ms: Option<u64>,
    sleep_after_ms: Option<u64>,
    barrier: Option<BarrierArguments>,
}

#[derive(Deserialize)]
struct BarrierArguments {
    id: String,
    participants: usize,
    #[serde(default = "timeout_ms")]
    timeout_ms: u64,
}

fn timeout_ms() -> u64 {
    1000
}

/// Barriers that calls wait at, with how many they wait for.
static BARRIERS: Mutex<BTreeMap<String, (usize, Arc<Barrier>)>> = Mutex::new(BTreeMap::new());

async fn run(call: &ToolCall, _job: &CallContext) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = arguments(call)?;
    if let Some(before) = wanted.sleep_before_ms {
        sleep(Duration::from_millis(before)).await;
    }
    if let Some(barrier) = &wanted.barrier {
        wait(barrier).await?;
    }
    if let Some(after) = wanted.sleep_after_ms {
        sleep(Duration::from_millis(after)).await;
    }
    Ok("ok".to_owned().into())
}

async fn wait(wanted: &BarrierArguments) -> Result<(), Failed> {
    if wanted.participants == 0 {
        return Err(Failed::answered("barrier participants must be greater than zero"));
    }
    if wanted.timeout_ms == 0 {
        return Err(Failed::answered("barrier timeout must be greater than zero"));
    }
    let barrier = join(wanted)?;
    let met = timeout(Duration::from_millis(wanted.timeout_ms), barrier.wait()).await;
    let met = met.map_err(|_too_late| Failed::answered("test_sync_tool barrier wait timed out"))?;
    if met.is_leader() {
        let mut barriers = BARRIERS.lock().unwrap_or_else(PoisonError::into_inner);
        if barriers.get(&wanted.id).is_some_and(|(_, known)| Arc::ptr_eq(known, &barrier)) {
            barriers.remove(&wanted.id);
        }
    }
    Ok(())
}

fn join(wanted: &BarrierArguments) -> Result<Arc<Barrier>, Failed> {
    let mut barriers = BARRIERS.lock().unwrap_or_else(PoisonError::into_inner);
    match barriers.entry(wanted.id.clone()) {
        Entry::Occupied(known) => {
            let (participants, barrier) = known.get();
            if *participants != wanted.participants {
                let id = &wanted.id;
                let text = format!("barrier {id} already registered with {participants} participants");
                return Err(Failed::answered(text));
            }
            Ok(barrier.clone())
        }
        Entry::Vacant(free) => {
            let barrier = Arc::new(Barrier::new(wanted.participants));
            free.insert((wanted.participants, barrier.clone()));
            Ok(barrier)
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;

    #[test]
    fn a_barrier_for_one_is_no_barrier() {
        let bench = Bench::new();
        let call = function("test_sync_tool", r#"{"sleep_after_ms":0,"barrier":{"id":"one","participants":1}}"#);
        expect![[r#"
            => ok
        "#]]
        .assert_eq(&bench.show(&call));
    }

    #[test]
    fn wrong_barriers_are_said() {
        let bench = Bench::new();
        let nobody = function("test_sync_tool", r#"{"barrier":{"id":"x","participants":0}}"#);
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"test_sync_tool","why":"the model got the reason"}
            => barrier participants must be greater than zero
        "#]]
        .assert_eq(&bench.show(&nobody));
        let no_time = function("test_sync_tool", r#"{"barrier":{"id":"x","participants":2,"timeout_ms":0}}"#);
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"test_sync_tool","why":"the model got the reason"}
            => barrier timeout must be greater than zero
        "#]]
        .assert_eq(&bench.show(&no_time));
        let alone = function("test_sync_tool", r#"{"barrier":{"id":"x","participants":2,"timeout_ms":1}}"#);
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"test_sync_tool","why":"the model got the reason"}
            => test_sync_tool barrier wait timed out
        "#]]
        .assert_eq(&bench.show(&alone));
        let others = function("test_sync_tool", r#"{"barrier":{"id":"x","participants":3,"timeout_ms":1}}"#);
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"test_sync_tool","why":"the model got the reason"}
            => barrier x already registered with 2 participants
        "#]]
        .assert_eq(&bench.show(&others));
    }
}
