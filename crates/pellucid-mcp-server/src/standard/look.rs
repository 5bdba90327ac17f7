//! What would be sent, and the proof of what was sent. No model is asked.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_agent::identity;
use pellucid_agent::open::Opening;
use pellucid_agent::open::Persistence;
use pellucid_agent::replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_agent::session::ComingRequest;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::input::UserInput;
use pellucid_store::find;
use pellucid_store::read;
use pellucid_tasks::Task;
use rmcp::model::CallToolResult;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use super::tools;
use super::tools::ContextCall;
use super::tools::ReplayCall;
use crate::open;
use crate::open::OpenFailure;
use crate::server::ToolServer;
use crate::session::CalledAgents;

/// How many requests an answer lists. A proof counts all of them.
const REQUESTS_MAX: usize = 1_000;

/// Works on a call of `context`.
pub async fn context(server: &Arc<ToolServer>, arguments: Value) -> Result<CallToolResult, String> {
    let call: ContextCall = tools::read(tools::CONTEXT, arguments)?;
    let inputs: Vec<UserInput> = call.prompt.iter().map(|prompt| UserInput::text(prompt.as_str())).collect();
    let id = call.session.as_deref().map(known_id).transpose()?;
    let open = id.as_deref().and_then(|id| server.find(id));
    let copy = match open {
        Some(session) => Some(session.look().await.ok_or("the session ended meanwhile")?),
        None => None,
    };
    let (server, rows) = (server.clone(), call.rows);
    let settings = call.settings;
    let made = Task::blocking("the next request", move || {
        let copy = match copy {
            Some(copy) => copy,
            None => {
                let home = &server.ground.home;
                let keep = Persistence::Nothing;
                let opening = match &id {
                    Some(id) => {
                        let file = read::open(&stored(home, id)?).map_err(|error| error.to_string())?;
                        Opening::Resumed { file: Box::new(file), keep }
                    }
                    None => Opening::New { session_id: None, keep },
                };
                let (nursery, _no_agents) = CalledAgents::open();
                let opened = open::open(&server, settings, None, RawItems::Hidden, opening, nursery);
                let mut session = opened.map_err(|failure| match failure {
                    OpenFailure::Config(why) | OpenFailure::Session(why) => why,
                })?;
                session.copy()
            }
        };
        copy.next(None, &inputs).map(|coming| report(&coming, rows))
    });
    let report = made.await.map_err(|error| error.to_string())??;
    Ok(CallToolResult::structured(report))
}

/// The report of a request.
fn report(coming: &ComingRequest, has_rows: bool) -> Value {
    let next = &coming.next;
    let digest = Sha256::digest(next.request.body());
    let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let json = next.report.to_json();
    let mut report = if has_rows { json!(json) } else { json.head };
    if !has_rows && let Some(report) = report.as_object_mut() {
        report.shift_remove("rows");
    }
    report["purpose"] = json!(next.purpose.as_str());
    report["sha256"] = json!(sha256);
    report["reasons"] = json!(next.reasons);
    report["warnings"] = json!(next.warnings);
    report["in_turn"] = json!(coming.is_in_turn);
    report
}

/// Works on a call of `replay`.
pub async fn replay(server: &Arc<ToolServer>, arguments: Value) -> Result<CallToolResult, String> {
    let ReplayCall { thread_id } = tools::read(tools::REPLAY, arguments)?;
    let id = known_id(&thread_id)?;
    let server = server.clone();
    let proved = Task::blocking("a replay", move || {
        let home = &server.ground.home;
        let file = read::open_damaged(&stored(home, &id)?).map_err(|error| error.to_string())?;
        let replay = replay::replay(home, &file, None).map_err(|error| error.to_string())?;
        let status = match replay.status() {
            ReplayStatus::Proved => "proved",
            ReplayStatus::Refuted => "refuted",
            ReplayStatus::NotProvable => "not provable",
        };
        let (equal, different, unproved) = replay.counts();
        let requests: Vec<_> = replay.requests.iter().take(REQUESTS_MAX).collect();
        Ok(json!({
            "threadId": id,
            "status": status,
            "equal": equal,
            "different": different,
            "unproved": unproved,
            "requests": requests,
            "anchor": replay.anchor,
            "notes": replay.notes,
        }))
    });
    proved.await.map_err(|error| error.to_string())?.map(CallToolResult::structured)
}

fn known_id(id: &str) -> Result<String, String> {
    identity::parse_session_id(id).ok_or_else(|| format!("threadId: `{id}` is not a UUID"))
}

fn stored(home: &Path, id: &str) -> Result<PathBuf, String> {
    find::anywhere(home, id).ok_or_else(|| format!("no session with the id {id} is stored"))
}
