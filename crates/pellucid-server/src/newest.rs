//! What clients of today receive beyond the protocol of 0.104.0: members, notifications, and what a session knows for them.
//!
//! Methods and views speak the protocol of 0.104.0. On the way to a client of today ([`crate::surface`]), a message is
//! given the members that this client expects.

pub(crate) mod live;
pub(crate) mod members;
pub mod notice;
pub mod settings;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::server::Server;
use crate::types::notification::ServerNotification;

/// The result of a method, as clients of today expect it.
pub(crate) fn answer(server: &Server, method: &str, result: &impl Serialize) -> Value {
    // The results are plain data with text keys, which can always be written.
    let mut value = serde_json::to_value(result).unwrap_or_default();
    match method {
        "initialize" => {
            members::set(&mut value, "codexHome", json!(server.ground.home));
            members::set(&mut value, "platformFamily", json!(std::env::consts::FAMILY));
            members::set(&mut value, "platformOs", json!(std::env::consts::OS));
        }
        "thread/start" | "thread/resume" | "thread/fork" => members::opened(server, &mut value),
        "thread/read" | "thread/unarchive" | "thread/rollback" => members::thread(server, &mut value["thread"]),
        "thread/list" => {
            members::threads(server, &mut value["data"]);
            members::add(&mut value, &["readStates", "backwardsCursor"]);
        }
        "thread/turns/list" => value["data"].as_array_mut().into_iter().flatten().for_each(members::turn),
        "thread/items/list" => {
            for entry in value["data"].as_array_mut().into_iter().flatten() {
                let time = entry["completedAtMs"].clone();
                members::set(&mut entry["item"], "completedAtMs", time);
                members::item(&mut entry["item"]);
            }
        }
        "turn/start" | "review/start" => members::turn(&mut value["turn"]),
        "account/read" => members::add(&mut value, &["workspaceRouting"]),
        "mcpServerStatus/list" => {
            for server in value["data"].as_array_mut().into_iter().flatten() {
                members::add(server, members::MCP_SERVER);
            }
        }
        "skills/list" => {
            for entry in value["data"].as_array_mut().into_iter().flatten() {
                for skill in entry["skills"].as_array_mut().into_iter().flatten() {
                    members::add(skill, &["pluginId"]);
                }
            }
        }
        "model/list" => {
            for model in value["data"].as_array_mut().into_iter().flatten() {
                members::model(model);
            }
        }
        _ => {}
    }
    value
}

/// A notification that concerns no loaded session, as clients of today expect it.
pub(crate) fn notification(server: &Server, notification: &ServerNotification) -> Bytes {
    let mut value = serde_json::to_value(notification).unwrap_or_default();
    if matches!(notification, ServerNotification::ThreadStarted(_)) {
        members::thread(server, &mut value["params"]["thread"]);
    }
    live::stamped(value, jiff::Timestamp::now().as_millisecond())
}
