//! The members that clients of today expect in threads, turns, items and settings.
//!
//! A member whose subject Pellucid does not have is `null`, as in the protocol itself.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use pellucid_store::names;
use pellucid_store::summary;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::notice::ThreadActiveFlag;
use crate::rpc;
use crate::rpc::RequestId;
use crate::server::Server;
use crate::types::request::ServerRequest;

/// How far the parents of an agent are followed to the thread that began the work.
const PARENTS_MAX: usize = 16;

/// The members of an MCP server whose values are not known.
pub(crate) const MCP_SERVER: &[&str] =
    &["runtimeStatus", "pluginId", "httpOrigin", "serverInfo", "serverCapabilities", "toolListMeta", "toolsError"];

/// Sets a member of an object.
pub(crate) fn set(value: &mut Value, name: &str, member: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(name.to_owned(), member);
    }
}

/// Adds members with the value `null`; those that are there stay.
pub(crate) fn add(value: &mut Value, names: &[&str]) {
    for name in names {
        or(value, name, Value::Null);
    }
}

fn or(value: &mut Value, name: &str, member: Value) {
    if let Some(object) = value.as_object_mut() {
        object.entry(name).or_insert(member);
    }
}

/// The result of opening a thread.
pub(crate) fn opened(server: &Server, value: &mut Value) {
    thread(server, &mut value["thread"]);
    let cwd = value["cwd"].clone();
    sandbox_policy(&mut value["sandbox"]);
    let profile = permission_profile(&value["sandbox"]);
    set(value, "activePermissionProfile", profile);
    set(value, "approvalsReviewer", json!("user"));
    set(value, "disabledPluginIds", json!([]));
    set(value, "multiAgentMode", json!("explicitRequestOnly"));
    set(value, "runtimeWorkspaceRoots", json!([cwd]));
    set(value, "serviceTier", Value::Null);
    let loaded = value["thread"]["id"].as_str().and_then(|id| server.find_loaded(id));
    set(value, "instructionSources", json!(loaded.map(|it| it.instruction_sources.clone()).unwrap_or_default()));
    add(value, &["collaborationMode", "initialTurnsPage", "turnsBackwardsCursor", "itemsBackwardsCursor"]);
}

/// The permission profile that a sandbox policy, as clients of today spell it, is the same as.
pub(crate) fn permission_profile(policy: &Value) -> Value {
    let is_plain = policy["networkAccess"] == false
        && policy["writableRoots"].as_array().is_none_or(Vec::is_empty)
        && policy["excludeTmpdirEnvVar"] != true
        && policy["excludeSlashTmp"] != true;
    let id = match policy["type"].as_str() {
        Some("readOnly") if is_plain => ":read-only",
        Some("workspaceWrite") if is_plain => ":workspace",
        Some("dangerFullAccess") => ":danger-full-access",
        _ => return Value::Null,
    };
    json!({ "id": id, "extends": null })
}

/// A sandbox policy: clients of today do not know limits on reading, which Pellucid's sandbox does not have.
pub(crate) fn sandbox_policy(policy: &mut Value) {
    let is_read_only = policy["type"] == "readOnly";
    if let Some(object) = policy.as_object_mut() {
        object.remove("access");
        object.remove("readOnlyAccess");
        if is_read_only {
            object.insert("networkAccess".to_owned(), json!(false));
        }
    }
}

/// A list of threads.
pub(crate) fn threads(server: &Server, list: &mut Value) {
    let names = names::all(&server.ground.home);
    for value in list.as_array_mut().into_iter().flatten() {
        thread_named(server, &names, value);
    }
}

/// A thread with its turns.
pub(crate) fn thread(server: &Server, value: &mut Value) {
    thread_named(server, &names::all(&server.ground.home), value);
}

fn thread_named(server: &Server, names: &BTreeMap<String, String>, value: &mut Value) {
    let Some(id) = value["id"].as_str().map(str::to_owned) else {
        return;
    };
    let loaded = server.find_loaded(&id);
    let head = value["path"].as_str().and_then(|path| summary::head(Path::new(path)));
    let (status, settings) = match &loaded {
        Some(loaded) => (loaded.status(), Some(loaded.current())),
        None => (json!({ "type": "notLoaded" }), None),
    };
    let parent = parent_of(&value["source"]);
    let cwd = value["cwd"].clone();
    let environment = json!([{ "environmentId": "local", "cwd": cwd, "runtimeWorkspaceRoots": [cwd] }]);
    set(value, "sessionId", json!(root_of(server, &id, parent.clone())));
    set(value, "parentThreadId", json!(parent));
    set(value, "ephemeral", json!(value["path"].is_null()));
    set(value, "status", status);
    set(value, "canAcceptDirectInput", if loaded.is_some() { json!(true) } else { Value::Null });
    set(value, "environments", if loaded.is_some() { environment } else { Value::Null });
    set(value, "historyMode", json!("legacy"));
    set(value, "model", json!(settings.as_ref().map(|it| it.model.clone())));
    set(value, "reasoningEffort", json!(settings.as_ref().and_then(|it| it.effort)));
    set(value, "recencyAt", value["updatedAt"].clone());
    set(value, "name", json!(names.get(&id)));
    let originator = head.as_ref().map(|head| head.originator.clone()).filter(|it| !it.is_empty());
    set(value, "originator", json!(originator.or_else(|| Some(server.identity()?.originator.clone()))));
    set(value, "forkedFromId", json!(head.and_then(|head| head.forked_from_id)));
    add(
        value,
        &[
            "agentNickname",
            "agentRole",
            "daybreakEnabled",
            "extra",
            "projectId",
            "section",
            "sectionEnteredAt",
            "threadSource",
        ],
    );
    for value in value["turns"].as_array_mut().into_iter().flatten() {
        turn(value);
    }
}

/// The thread that started an agent, by the agent's source.
fn parent_of(source: &Value) -> Option<String> {
    let spawn = source.get("subAgent").and_then(|kind| kind.get("thread_spawn"));
    spawn.and_then(|spawn| spawn["parent_thread_id"].as_str()).map(str::to_owned)
}

/// The thread with which the work began that a thread is part of.
fn root_of(server: &Server, id: &str, parent: Option<String>) -> String {
    let mut root = parent.unwrap_or_else(|| id.to_owned());
    for _ in 0..PARENTS_MAX {
        let source = server.find_loaded(&root).and_then(|it| serde_json::to_value(&it.about.source).ok());
        match source.as_ref().and_then(parent_of) {
            Some(next) => root = next,
            None => break,
        }
    }
    root
}

/// A turn with its items.
pub(crate) fn turn(value: &mut Value) {
    let is_begun = value["status"] == "inProgress" && value["items"].as_array().is_none_or(Vec::is_empty);
    or(value, "itemsView", json!(if is_begun { "notLoaded" } else { "full" }));
    set(value, "rootTurnId", value["id"].clone());
    let times = value.as_object_mut().and_then(|turn| turn.remove("itemTimes"));
    let times = times.and_then(|times| serde_json::from_value::<Vec<Option<i64>>>(times).ok()).unwrap_or_default();
    for (at, it) in value["items"].as_array_mut().into_iter().flatten().enumerate() {
        if let Some(Some(time)) = times.get(at) {
            or(it, "completedAtMs", json!(time));
        }
        item(it);
    }
    add(value, &["startedAt", "completedAt", "durationMs"]);
}

/// An item of a turn.
pub(crate) fn item(value: &mut Value) {
    add(value, &["startedAtMs", "completedAtMs"]);
    match value["type"].as_str() {
        Some("userMessage") => add(value, &["clientId"]),
        Some("agentMessage") => add(value, &["phase", "memoryCitation", "delivery", "questions"]),
        Some("commandExecution") => {
            let source = if value["processId"].is_null() { "agent" } else { "unifiedExecStartup" };
            or(value, "source", json!(source));
            add(value, &["pluginId", "scriptPath"]);
        }
        Some("mcpToolCall") => add(value, &["appContext", "mcpAppUi", "pluginId", "readOnlyHint"]),
        Some("collabAgentToolCall") => add(value, &["model", "reasoningEffort"]),
        _ => {}
    }
}

/// A model of the list of models.
pub(crate) fn model(value: &mut Value) {
    or(value, "additionalSpeedTiers", json!([]));
    or(value, "serviceTiers", json!([]));
    add(
        value,
        &["availabilityNux", "availableAccessPrograms", "defaultServiceTier", "modelSpecialty", "multiAgentVersion"],
    );
    add(value, &["upgradeInfo"]);
}

/// What a session waits for that asks this.
pub(crate) fn waits_for(request: &ServerRequest) -> Option<ThreadActiveFlag> {
    match request {
        ServerRequest::CommandExecutionRequestApproval(_) | ServerRequest::FileChangeRequestApproval(_) => {
            Some(ThreadActiveFlag::WaitingOnApproval)
        }
        ServerRequest::ToolRequestUserInput(_) | ServerRequest::McpServerElicitation(_) => {
            Some(ThreadActiveFlag::WaitingOnUserInput)
        }
        ServerRequest::DynamicToolCall(_) | ServerRequest::ChatgptAuthTokensRefresh(_) => None,
    }
}

/// A request of the server, encoded.
pub(crate) fn request(id: &RequestId, request: &ServerRequest) -> Bytes {
    // Requests are plain data with text keys, which can always be written.
    let mut value = serde_json::to_value(request).unwrap_or_default();
    let params = &mut value["params"];
    let now = json!(jiff::Timestamp::now().as_millisecond());
    match request {
        ServerRequest::CommandExecutionRequestApproval(about) => {
            let amendment = about.proposed_execpolicy_amendment.as_ref();
            let amendment =
                amendment.map(|prefix| json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": prefix } }));
            let decisions: Vec<Value> = [json!("accept"), json!("acceptForSession")]
                .into_iter()
                .chain(amendment)
                .chain([json!("decline"), json!("cancel")])
                .collect();
            set(params, "kind", json!("command"));
            set(params, "environmentId", json!("local"));
            set(params, "startedAtMs", now);
            set(params, "availableDecisions", json!(decisions));
        }
        ServerRequest::FileChangeRequestApproval(_) => set(params, "startedAtMs", now),
        ServerRequest::ToolRequestUserInput(_) => {
            set(params, "isBlocking", json!(true));
            set(params, "autoResolutionMs", Value::Null);
        }
        ServerRequest::DynamicToolCall(_) => or(params, "namespace", Value::Null),
        ServerRequest::McpServerElicitation(_) | ServerRequest::ChatgptAuthTokensRefresh(_) => {}
    }
    rpc::request(id, &value)
}

/// The figures about tokens in a notification: the tokens that a request wrote into the provider's cache are not known.
pub(crate) fn token_usage(usage: &mut Value) {
    for name in ["total", "last"] {
        or(&mut usage[name], "cacheWriteInputTokens", json!(0));
    }
}

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Map::from_iter(members.map(|(name, value)| (name.to_owned(), value))))
}
